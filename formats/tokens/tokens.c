/* tokens.c - opens text as an array of token ids, by its token file.
 *
 * This file owns: the decision whether a token file fits, and the list of those
 * that are open in this process. Not here: the checks
 * (tokens_check.c), the writing (tokens_build.c), the layout (tokens_file.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokens.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "formats/source/stream.h"
#include "formats/tokens/tokens_file.h"

/* The longest suffix of a token file's name, with its NUL. */
#define SUFFIX_BYTES 48

struct skn_tokens {
    char *key; /* what it was made of, and how */
    size_t holders;
    skn_tokens_t *next; /* in the list of those that are open */
    skn_cache_t cache;
    skn_tokenizer_t *tokenizer;
    const void *id;         /* [token_count], u16 or u32 */
    bool is_short;          /* u16 */
    const uint64_t *offset; /* [document_count + 1] */
    const uint64_t *hash;   /* [document_count] */
    skn_tokens_info_t info;
};

/* An open in progress. */
typedef struct tokens_opening {
    const char *name; /* of the corpus */
    const skn_tokens_options_t *options;
    skn_files_t texts;
} tokens_opening_t;

static bool
file_fits(void *owner, const skn_cache_t *cache)
{
    const tokens_opening_t *opening = owner;
    const skn_tokens_options_t *options = opening->options;
    const skn_tokens_head_t *head = cache->file;
    if (skn_tokens_head_fault(head, cache->file_bytes) ||
        head->fingerprint != opening->texts.fingerprint ||
        head->learned_ids != skn_tokens_learned_ids(options))
        return false;
    if (options->tokenizer
            ? head->tokenizer_hash != skn_tokenizer_hash(options->tokenizer)
            : head->kind != (uint32_t)options->kind)
        return false;
    (void)madvise(cache->file, cache->file_bytes, MADV_WILLNEED);
    return !skn_tokens_body_fault(head);
}

static skn_status_t
file_write(void *owner, skn_cache_temp_t *temp, skn_error_t *error)
{
    const tokens_opening_t *opening = owner;
    return skn_tokens_build(opening->name, &opening->texts, opening->options,
                            temp, error);
}

/* Caches with different tokenizers have different names, so that two runs do
 * not replace each other's. */
static void
suffix_write(char suffix[SUFFIX_BYTES], const skn_tokens_options_t *options)
{
    if (options->tokenizer)
        (void)snprintf(suffix, SUFFIX_BYTES, ".%016" PRIx64 ".skt",
                       skn_tokenizer_hash(options->tokenizer));
    else if (options->kind == SKN_TOKENIZER_BYTES)
        (void)snprintf(suffix, SUFFIX_BYTES, ".bytes.skt");
    else
        (void)snprintf(suffix, SUFFIX_BYTES, ".words-%u.skt",
                       options->vocabulary);
}

static skn_status_t
texts_open(skn_tokens_t *tokens, const char *suffix, tokens_opening_t *opening,
           skn_error_t *error)
{
    const skn_tokens_options_t *options = opening->options;
    skn_cache_places_t places = { 0 };
    char *stem = skn_files_cache_stem(&opening->texts, opening->name);
    const skn_cache_form_t form = {
        .source = stem,
        .can_be_named = true,
        .mode = opening->texts.mode,
        .place = options->cache,
        .path = options->cache_path,
        .magic = SKN_TOKENS_MAGIC,
        .suffix = suffix,
    };
    skn_status_t status =
        stem ? skn_cache_places_init(&places, &form, error)
             : skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its tokens",
                        skn_stream_name_shown(opening->name));
    if (status == SKN_OK &&
        !skn_cache_find(&places, file_fits, opening, &tokens->cache))
        status = skn_cache_build(&places, file_write, opening, &tokens->cache,
                                 error);
    skn_cache_places_fini(&places);
    free(stem);
    return status;
}

/* --- a token file as the source ------------------------------------------- */

static skn_status_t
other_tokenizer(const char *name, const skn_tokens_head_t *head,
                const skn_tokens_options_t *options, skn_error_t *error)
{
    const skn_tokenizer_t *given = options->tokenizer;
    if (given ? head->tokenizer_hash == skn_tokenizer_hash(given)
              : head->kind == (uint32_t)options->kind &&
                    (head->learned_ids == 0 ||
                     head->learned_ids == skn_tokens_learned_ids(options)))
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s: its tokens are those of another tokenizer: %s, %u "
                   "tokens",
                   skn_stream_name_shown(name), skn_tokenizer_names[head->kind],
                   head->ids);
    if (given)
        return skn_fail_hint(
            error, SKN_BAD_DATA,
            "make the token file with the tokenizer of the model, or name the "
            "texts instead");
    char tokenizer[32] = "", vocabulary[40] = "";
    if (head->kind != (uint32_t)options->kind)
        (void)snprintf(tokenizer, sizeof(tokenizer), "set data.tokenizer=%s",
                       skn_tokenizer_names[head->kind]);
    if (head->kind == SKN_TOKENIZER_WORDS && head->learned_ids > 0)
        (void)snprintf(vocabulary, sizeof(vocabulary), "set data.vocabulary=%u",
                       head->learned_ids);
    return skn_fail_hint(error, SKN_BAD_DATA, "%s%s%s", tokenizer,
                         tokenizer[0] && vocabulary[0] ? " and " : "",
                         vocabulary);
}

/* Maps the file `name` if it is a token file. *is_one: it is, or says that it
 * is. */
static skn_status_t
token_file_open(skn_tokens_t *tokens, const char *name,
                const skn_tokens_options_t *options, bool *is_one,
                skn_error_t *error)
{
    *is_one = skn_cache_map(name, SKN_CACHE_MAGIC_BYTES, &tokens->cache) &&
              memcmp(tokens->cache.file, SKN_TOKENS_MAGIC,
                     SKN_CACHE_MAGIC_BYTES) == 0;
    if (!*is_one) {
        skn_cache_unmap(&tokens->cache);
        return SKN_OK;
    }
    const char *fault =
        skn_tokens_head_fault(tokens->cache.file, tokens->cache.file_bytes);
    if (!fault)
        fault = skn_tokens_body_fault(tokens->cache.file);
    if (!fault)
        return other_tokenizer(name, tokens->cache.file, options, error);
    (void)skn_fail(error, SKN_BAD_DATA, "%s: %s", skn_stream_name_shown(name),
                   fault);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "copy it again, or name the texts instead");
}

/* --- the whole ------------------------------------------------------------ */

static skn_status_t
view_open(skn_tokens_t *tokens, const char *name, skn_error_t *error)
{
    const uint8_t *byte = tokens->cache.file;
    const skn_tokens_head_t *head = tokens->cache.file;
    skn_tokens_layout_t layout = skn_tokens_layout(head);
    tokens->tokenizer =
        skn_tokenizer_read(name, (const char *)byte + layout.tokenizer_at,
                           (size_t)head->tokenizer_bytes, error);
    if (!tokens->tokenizer)
        return error ? error->status : SKN_BAD_DATA;
    if (skn_tokenizer_ids(tokens->tokenizer) != head->ids ||
        skn_tokenizer_hash(tokens->tokenizer) != head->tokenizer_hash)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: the token file is damaged: its tokenizer is "
                        "another one",
                        skn_stream_name_shown(name));
    tokens->id = byte + layout.id_at;
    tokens->is_short = head->id_bytes == sizeof(uint16_t);
    tokens->offset = (const void *)(byte + layout.offset_at);
    tokens->hash = (const void *)(byte + layout.hash_at);
    tokens->info = (skn_tokens_info_t){
        .token_count = head->token_count,
        .document_count = head->document_count,
        .text_bytes = head->text_bytes,
        .skipped_count = head->skipped_count,
        .first_skipped = head->first_skipped,
        .ids = head->ids,
        .frequency = (const void *)(byte + layout.frequency_at),
        .content_hash = head->content_hash,
        .mapped_bytes = tokens->cache.file_bytes,
        .cache_path = tokens->cache.path,
    };
    return SKN_OK;
}

/* --- those that are open -------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static skn_tokens_t *all_open; /* under the lock, with key, holders, next */

static skn_tokens_t *
share(const char *key)
{
    (void)pthread_mutex_lock(&lock);
    skn_tokens_t *found = all_open;
    while (found && strcmp(found->key, key) != 0)
        found = found->next;
    if (found)
        found->holders++;
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static void
list_add(skn_tokens_t *tokens)
{
    (void)pthread_mutex_lock(&lock);
    tokens->holders = 1;
    tokens->next = all_open;
    all_open = tokens;
    (void)pthread_mutex_unlock(&lock);
}

/* Whether another one still holds it. */
static bool
list_leave(skn_tokens_t *tokens)
{
    (void)pthread_mutex_lock(&lock);
    bool is_held = tokens->holders > 0 && --tokens->holders > 0;
    skn_tokens_t **at = &all_open;
    while (!is_held && *at && *at != tokens)
        at = &(*at)->next;
    if (!is_held && *at)
        *at = tokens->next;
    (void)pthread_mutex_unlock(&lock);
    return is_held;
}

static skn_status_t
open_new(tokens_opening_t *opening, const char *suffix, char *key,
         skn_tokens_t **tokens_out, skn_error_t *error)
{
    bool is_one = false;
    skn_tokens_t *tokens = calloc(1, sizeof(*tokens));
    if (!tokens) {
        free(key);
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its tokens",
                        skn_stream_name_shown(opening->name));
    }
    tokens->key = key;
    skn_status_t status = token_file_open(tokens, opening->name,
                                          opening->options, &is_one, error);
    if (status == SKN_OK && !is_one)
        status = texts_open(tokens, suffix, opening, error);
    if (status == SKN_OK)
        status = view_open(tokens, opening->name, error);
    if (status == SKN_OK)
        list_add(tokens);
    else
        skn_tokens_close(&tokens);
    *tokens_out = tokens;
    return status;
}

skn_status_t
skn_tokens_open(const char *source, const skn_tokens_options_t *options,
                skn_tokens_t **tokens, skn_error_t *error)
{
    char suffix[SUFFIX_BYTES], *key = NULL;
    tokens_opening_t opening = { .name = source, .options = options };
    *tokens = NULL;
    assert(options->tokenizer || options->kind != SKN_TOKENIZER_WORDS ||
           (options->vocabulary > SKN_TOKEN_WORDS &&
            options->vocabulary <= SKN_VOCABULARY_MAX));
    skn_status_t status = skn_files_init(&opening.texts, source, error);
    if (status == SKN_OK)
        status = skn_files_check_regular(&opening.texts, source, error);
    suffix_write(suffix, options);
    if (status == SKN_OK &&
        asprintf(&key, "%s\n%s\n%d\n%s\n%016" PRIx64, source, suffix,
                 (int)options->cache,
                 options->cache_path ? options->cache_path : "",
                 opening.texts.fingerprint) < 0) {
        key = NULL;
        status = skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its tokens",
                          skn_stream_name_shown(source));
    }
    if (status == SKN_OK)
        *tokens = share(key);
    if (status == SKN_OK && !*tokens)
        status = open_new(&opening, suffix, key, tokens, error);
    else
        free(key);
    skn_files_fini(&opening.texts);
    return status;
}

void
skn_tokens_close(skn_tokens_t **tokens)
{
    skn_tokens_t *closing = *tokens;
    *tokens = NULL;
    if (!closing || list_leave(closing))
        return;
    skn_tokenizer_destroy(&closing->tokenizer);
    skn_cache_unmap(&closing->cache);
    free(closing->key);
    free(closing);
}

const skn_tokens_info_t *
skn_tokens_info(const skn_tokens_t *tokens)
{
    return &tokens->info;
}

const skn_tokenizer_t *
skn_tokens_tokenizer(const skn_tokens_t *tokens)
{
    return tokens->tokenizer;
}

void
skn_tokens_read(const skn_tokens_t *tokens, uint64_t at, size_t count,
                uint32_t *id)
{
    assert(at <= tokens->info.token_count &&
           count <= tokens->info.token_count - at);
    if (!tokens->is_short) {
        memcpy(id, (const uint32_t *)tokens->id + at, count * sizeof(*id));
        return;
    }
    const uint16_t *from = (const uint16_t *)tokens->id + at;
    for (size_t k = 0; k < count; k++)
        id[k] = from[k];
}

uint64_t
skn_tokens_document(const skn_tokens_t *tokens, uint64_t at)
{
    assert(at <= tokens->info.document_count);
    return tokens->offset[at];
}

uint64_t
skn_tokens_document_hash(const skn_tokens_t *tokens, uint64_t at)
{
    assert(at < tokens->info.document_count);
    return tokens->hash[at];
}
