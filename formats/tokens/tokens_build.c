/* tokens_build.c - writes the token file of a corpus in bounded memory.
 *
 * This file owns: the passes over the texts. The first finds the documents and
 * their hashes, and leaves out what is not text; the second, if a tokenizer is
 * to be learned, counts words; the last writes the ids. Each compares the
 * hashes with those of the first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokens_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/source/stream.h"
#include "formats/tokens/pretokens.h"
#include "formats/tokens/word_counts.h"

/* Larger writes are not faster. */
#define WRITE_BYTES (4u << 20)
/* Text that is encoded at once: its ids stay in the second-level cache. */
#define ENCODE_BYTES (1u << 16)
/* Different words that are counted, for each one that is wanted: the words that
 * are forgotten are then rarer by far than the last one that is taken. */
#define COUNTED_PER_WORD 4u
#define COUNTED_MIN (1u << 20)

typedef struct token_writing {
    const char *name; /* of the corpus */
    const skn_files_t *texts;
    const skn_tokens_options_t *options;
    skn_tokenizer_t *learned; /* NULL: it was given */
    const skn_tokenizer_t *tokenizer;
    skn_word_counts_t *counts;
    skn_cache_writer_t writer;
    char *room;          /* [SKN_TEXT_ROOM_BYTES] */
    uint32_t *id;        /* [ENCODE_BYTES] */
    uint16_t *short_id;  /* [ENCODE_BYTES] */
    uint32_t *frequency; /* [ids] */
    uint64_t *offset;    /* [document_count + 1] */
    uint64_t *hash;      /* [document_count] */
    size_t *document;    /* [document_count] the file that it is */
    skn_tokens_head_t head;
} token_writing_t;

static skn_status_t
no_memory(const token_writing_t *build, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its tokens",
                    skn_stream_name_shown(build->name));
}

/* --- the documents -------------------------------------------------------- */

static skn_status_t
refuse_empty(const token_writing_t *build, skn_error_t *error)
{
    const char *why = build->head.skipped_count > 0
                          ? "none of the files in it is UTF-8"
                          : "it is empty";
    (void)skn_fail(error, SKN_BAD_DATA, "%s has no text: %s",
                   skn_stream_name_shown(build->name), why);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "name a text file, or a folder of them");
}

static void
keep_end(char name[SKN_TOKENS_NAME_BYTES], const char *path)
{
    size_t bytes = strlen(path), most = SKN_TOKENS_NAME_BYTES - 1;
    (void)snprintf(name, SKN_TOKENS_NAME_BYTES, "%s",
                   path + (bytes > most ? bytes - most : 0));
}

/* Keeps the files that are text and not empty. */
static skn_status_t
documents_find(token_writing_t *build, skn_error_t *error)
{
    const skn_files_t *texts = build->texts;
    skn_tokens_head_t *head = &build->head;
    for (size_t k = 0; k < texts->count; k++) {
        skn_text_facts_t facts;
        skn_status_t status = skn_text_scan(texts->path[k], build->room, NULL,
                                            NULL, &facts, error);
        if (status == SKN_OK && !facts.is_text && texts->is_named[k])
            status = skn_text_refuse(texts->path[k], &facts, error);
        if (status != SKN_OK)
            return status;
        if (!facts.is_text && head->skipped_count++ == 0)
            keep_end(head->first_skipped, texts->path[k]);
        if (!facts.is_text || facts.bytes == 0)
            continue;
        build->document[head->document_count] = k;
        build->hash[head->document_count++] = facts.hash;
        head->text_bytes += facts.bytes;
    }
    return head->document_count > 0 ? SKN_OK : refuse_empty(build, error);
}

/* Reads document `k` again, for `visit`. */
static skn_status_t
document_scan(token_writing_t *build, uint64_t k, skn_text_visit_t *visit,
              skn_error_t *error)
{
    skn_text_facts_t facts;
    const char *path = build->texts->path[build->document[k]];
    skn_status_t status =
        skn_text_scan(path, build->room, visit, build, &facts, error);
    if (status == SKN_OK && (!facts.is_text || facts.hash != build->hash[k]))
        status = skn_fail(error, SKN_BUSY, "%s: changed while it was read",
                          skn_stream_name_shown(path));
    return status;
}

/* --- the tokenizer -------------------------------------------------------- */

static skn_status_t
count_visit(void *visitor, const char *text, size_t bytes, bool is_end,
            size_t *used, skn_error_t *error)
{
    const token_writing_t *build = visitor;
    return skn_word_counts_add(build->counts, text, bytes, is_end, used, error);
}

static skn_status_t
words_learn(token_writing_t *build, skn_error_t *error)
{
    uint32_t words = build->options->vocabulary - SKN_TOKEN_WORDS;
    size_t room = (size_t)words * COUNTED_PER_WORD;
    skn_status_t status = SKN_OK;
    build->counts =
        skn_word_counts_new(room < COUNTED_MIN ? COUNTED_MIN : room);
    if (!build->counts)
        return no_memory(build, error);
    for (uint64_t k = 0; k < build->head.document_count && status == SKN_OK;
         k++)
        status = document_scan(build, k, count_visit, error);
    if (status != SKN_OK)
        return status;
    build->learned =
        skn_word_counts_take(build->counts, build->name, words, error);
    skn_word_counts_destroy(&build->counts);
    return build->learned ? SKN_OK : no_memory(build, error);
}

static skn_status_t
tokenizer_make(token_writing_t *build, skn_error_t *error)
{
    static const uint32_t none[1] = { 0 };
    const skn_tokens_options_t *options = build->options;
    skn_status_t status = SKN_OK;
    if (!options->tokenizer && options->kind == SKN_TOKENIZER_WORDS)
        status = words_learn(build, error);
    else if (!options->tokenizer)
        build->learned = skn_tokenizer_new(build->name, SKN_TOKENIZER_BYTES, "",
                                           none, 0, error);
    build->tokenizer = options->tokenizer ? options->tokenizer : build->learned;
    if (status == SKN_OK && !build->tokenizer)
        status = SKN_NO_MEMORY;
    if (status != SKN_OK)
        return status;
    skn_tokens_head_t *head = &build->head;
    head->kind = (uint32_t)skn_tokenizer_kind(build->tokenizer);
    head->learned_ids = skn_tokens_learned_ids(options);
    head->tokenizer_hash = skn_tokenizer_hash(build->tokenizer);
    head->ids = skn_tokenizer_ids(build->tokenizer);
    head->id_bytes = skn_tokens_id_bytes(head->ids);
    build->frequency = calloc(head->ids, sizeof(*build->frequency));
    return build->frequency ? SKN_OK : no_memory(build, error);
}

static skn_status_t
tokenizer_put(token_writing_t *build, skn_error_t *error)
{
    size_t bytes;
    char *text = skn_tokenizer_write(build->tokenizer, &bytes);
    if (!text)
        return no_memory(build, error);
    build->head.tokenizer_bytes = bytes;
    skn_status_t status = skn_cache_put(&build->writer, text, bytes, error);
    free(text);
    return status == SKN_OK ? skn_cache_align(&build->writer, error) : status;
}

/* --- the ids -------------------------------------------------------------- */

static skn_status_t
ids_put(token_writing_t *build, size_t count, skn_error_t *error)
{
    build->head.token_count += count;
    for (size_t k = 0; k < count; k++)
        build->frequency[build->id[k]] +=
            build->frequency[build->id[k]] < UINT32_MAX;
    if (build->head.id_bytes == sizeof(uint32_t))
        return skn_cache_put(&build->writer, build->id,
                             count * sizeof(*build->id), error);
    for (size_t k = 0; k < count; k++)
        build->short_id[k] = (uint16_t)build->id[k];
    return skn_cache_put(&build->writer, build->short_id,
                         count * sizeof(*build->short_id), error);
}

static skn_status_t
encode_visit(void *visitor, const char *text, size_t bytes, bool is_end,
             size_t *used, skn_error_t *error)
{
    token_writing_t *build = visitor;
    skn_status_t status = SKN_OK;
    size_t step = 1;
    *used = 0;
    while (status == SKN_OK && *used < bytes && step > 0) {
        size_t left = bytes - *used;
        bool is_last = left <= ENCODE_BYTES;
        size_t count = skn_tokenizer_encode(
            build->tokenizer, text + *used, is_last ? left : ENCODE_BYTES,
            is_end && is_last, build->id, &step);
        *used += step;
        status = ids_put(build, count, error);
    }
    return status;
}

static skn_status_t
documents_put(token_writing_t *build, skn_error_t *error)
{
    skn_tokens_head_t *head = &build->head;
    skn_status_t status = SKN_OK;
    for (uint64_t k = 0; k < head->document_count && status == SKN_OK; k++) {
        build->offset[k] = head->token_count;
        status = document_scan(build, k, encode_visit, error);
        build->id[0] = SKN_TOKEN_END;
        if (status == SKN_OK)
            status = ids_put(build, 1, error);
    }
    build->offset[head->document_count] = head->token_count;
    return status;
}

/* --- the whole ------------------------------------------------------------ */

static skn_status_t
build_init(token_writing_t *build, skn_error_t *error)
{
    size_t files = build->texts->count;
    build->room = malloc(SKN_TEXT_ROOM_BYTES);
    build->id = malloc(ENCODE_BYTES * sizeof(*build->id));
    build->short_id = malloc(ENCODE_BYTES * sizeof(*build->short_id));
    build->offset = malloc((files + 1) * sizeof(*build->offset));
    build->hash = malloc((files + 1) * sizeof(*build->hash));
    build->document = malloc((files + 1) * sizeof(*build->document));
    if (!build->room || !build->id || !build->short_id || !build->offset ||
        !build->hash || !build->document)
        return no_memory(build, error);
    skn_tokens_head_t *head = &build->head;
    memcpy(head->magic, SKN_TOKENS_MAGIC, sizeof(head->magic));
    head->version = SKN_TOKENS_VERSION;
    head->byte_order = SKN_TOKENS_BYTE_ORDER;
    head->fingerprint = build->texts->fingerprint;
    return SKN_OK;
}

static void
build_fini(token_writing_t *build)
{
    skn_cache_writer_fini(&build->writer);
    skn_word_counts_destroy(&build->counts);
    skn_tokenizer_destroy(&build->learned);
    free(build->room);
    free(build->id);
    free(build->short_id);
    free(build->frequency);
    free(build->offset);
    free(build->hash);
    free(build->document);
}

/* Writes what follows the ids, and the head. */
static skn_status_t
tables_put(token_writing_t *build, skn_error_t *error)
{
    skn_tokens_head_t *head = &build->head;
    skn_cache_writer_t *writer = &build->writer;
    const struct {
        const void *at;
        size_t bytes;
    } tables[] = {
        { build->offset, (head->document_count + 1) * sizeof(*build->offset) },
        { build->hash, head->document_count * sizeof(*build->hash) },
        { build->frequency, head->ids * sizeof(*build->frequency) },
    };
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
        if (status == SKN_OK)
            status = skn_cache_align(writer, error);
        if (status == SKN_OK)
            status =
                skn_cache_put(writer, tables[k].at, tables[k].bytes, error);
    }
    if (status == SKN_OK)
        status = skn_cache_flush(writer, error);
    if (status != SKN_OK)
        return status;
    head->content_hash = XXH3_64bits_withSeed(
        build->hash, head->document_count * sizeof(*build->hash),
        head->tokenizer_hash ^ head->ids);
    head->file_bytes = skn_tokens_layout(head).file_bytes;
    assert(head->file_bytes == writer->at);
    head->payload_hash = skn_cache_payload_hash(writer);
    head->head_hash = skn_tokens_head_hash(head);
    return skn_cache_put_head(writer, head, sizeof(*head), error);
}

skn_status_t
skn_tokens_build(const char *name, const skn_files_t *texts,
                 const skn_tokens_options_t *options, skn_cache_temp_t *temp,
                 skn_error_t *error)
{
    token_writing_t build = { .name = name,
                              .texts = texts,
                              .options = options };
    skn_status_t status = build_init(&build, error);
    if (status == SKN_OK)
        status = documents_find(&build, error);
    if (status == SKN_OK)
        status = tokenizer_make(&build, error);
    if (status == SKN_OK)
        status = skn_cache_writer_init(&build.writer, temp, sizeof(build.head),
                                       WRITE_BYTES, error);
    if (status == SKN_OK)
        status = tokenizer_put(&build, error);
    if (status == SKN_OK)
        status = documents_put(&build, error);
    if (status == SKN_OK)
        status = tables_put(&build, error);
    build_fini(&build);
    return status;
}
