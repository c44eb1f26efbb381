/* tokenizer.c - turns text into token ids and back; learns and stores nothing.
 *
 * The texts of all ids lie one after the other, bytes first, so that decoding
 * knows no kinds; words are found by a table of open addressing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/source/stream.h"
#include "formats/tokens/pretokens.h"

const char *const skn_tokenizer_names[SKN_TOKENIZER_KIND_COUNT] = { "bytes",
                                                                    "words" };

struct skn_tokenizer {
    skn_tokenizer_kind_t kind;
    uint32_t ids;
    char *text;       /* of id k: [offset[k], offset[k + 1]) */
    uint32_t *offset; /* [ids + 1] */
    uint32_t *table;  /* [table_mask + 1] ids of words; 0: free */
    size_t table_mask;
    uint64_t hash;
};

/* The slot of a word, or the free one where it would be. */
static uint32_t *
slot_of(const skn_tokenizer_t *tokenizer, const char *word, size_t bytes)
{
    size_t at = (size_t)XXH3_64bits(word, bytes) & tokenizer->table_mask;
    for (;; at = (at + 1) & tokenizer->table_mask) {
        uint32_t id = tokenizer->table[at];
        uint32_t first = tokenizer->offset[id];
        if (id == 0 || (tokenizer->offset[id + 1] - first == bytes &&
                        memcmp(tokenizer->text + first, word, bytes) == 0))
            return &tokenizer->table[at];
    }
}

static skn_status_t
no_memory(const char *name, uint32_t count, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY,
                    "%s: no memory for a tokenizer of %u words",
                    skn_stream_name_shown(name), count);
}

/* Lays out the texts of all ids. */
static skn_status_t
texts_make(skn_tokenizer_t *tokenizer, const char *name, const char *text,
           const uint32_t *offset, uint32_t count, skn_error_t *error)
{
    size_t bytes = count > 0 ? offset[count] : 0, slots = 16;
    while (slots < 2 * (size_t)count)
        slots *= 2;
    tokenizer->table_mask = slots - 1;
    tokenizer->text = malloc(SKN_TOKEN_END + bytes);
    tokenizer->offset =
        malloc((tokenizer->ids + (size_t)1) * sizeof(*tokenizer->offset));
    tokenizer->table = calloc(slots, sizeof(*tokenizer->table));
    if (!tokenizer->text || !tokenizer->offset || !tokenizer->table)
        return no_memory(name, count, error);
    for (uint32_t id = 0; id < SKN_TOKEN_END; id++) {
        tokenizer->text[id] = (char)id;
        tokenizer->offset[id] = id;
    }
    tokenizer->offset[SKN_TOKEN_END] = SKN_TOKEN_END;
    tokenizer->offset[SKN_TOKEN_WORDS] = SKN_TOKEN_END;
    if (bytes > 0)
        memcpy(tokenizer->text + SKN_TOKEN_END, text, bytes);
    for (uint32_t k = 0; k < count; k++)
        tokenizer->offset[SKN_TOKEN_WORDS + k + 1] =
            SKN_TOKEN_END + offset[k + 1];
    return SKN_OK;
}

/* Enters every word into the table, and hashes them as the file form does. */
static skn_status_t
words_enter(skn_tokenizer_t *tokenizer, const char *name, skn_error_t *error)
{
    XXH3_state_t *hash = XXH3_createState();
    skn_status_t status = SKN_OK;
    if (!hash)
        return no_memory(name, tokenizer->ids - SKN_TOKEN_WORDS, error);
    (void)XXH3_64bits_reset(hash);
    for (uint32_t id = SKN_TOKEN_WORDS; id < tokenizer->ids && status == SKN_OK;
         id++) {
        size_t bytes;
        const char *word = skn_tokenizer_text(tokenizer, id, &bytes);
        skn_pretoken_t pretoken = { 0 };
        if (bytes > 0)
            pretoken = skn_pretoken_next(word, word + bytes);
        if (!pretoken.is_word || pretoken.bytes != bytes) {
            status =
                skn_fail(error, SKN_BAD_DATA,
                         "%s: word %u of the tokenizer is not one word",
                         skn_stream_name_shown(name), id - SKN_TOKEN_WORDS + 1);
            break;
        }
        uint32_t *slot = slot_of(tokenizer, word, bytes);
        if (*slot != 0)
            status =
                skn_fail(error, SKN_BAD_DATA,
                         "%s: words %u and %u of the tokenizer are the "
                         "same",
                         skn_stream_name_shown(name),
                         *slot - SKN_TOKEN_WORDS + 1, id - SKN_TOKEN_WORDS + 1);
        *slot = id;
        (void)XXH3_64bits_update(hash, word, bytes);
        (void)XXH3_64bits_update(hash, "\n", 1);
    }
    tokenizer->hash = XXH3_64bits_digest(hash);
    (void)XXH3_freeState(hash);
    return status;
}

skn_tokenizer_t *
skn_tokenizer_new(const char *name, skn_tokenizer_kind_t kind, const char *text,
                  const uint32_t *offset, uint32_t count, skn_error_t *error)
{
    if (count > SKN_VOCABULARY_MAX - SKN_TOKEN_WORDS) {
        (void)skn_fail(error, SKN_BAD_DATA,
                       "%s: the tokenizer has %u words, at most %u allowed",
                       skn_stream_name_shown(name), count,
                       SKN_VOCABULARY_MAX - SKN_TOKEN_WORDS);
        return NULL;
    }
    skn_tokenizer_t *tokenizer = calloc(1, sizeof(*tokenizer));
    if (!tokenizer) {
        (void)no_memory(name, count, error);
        return NULL;
    }
    tokenizer->kind = kind;
    tokenizer->ids = SKN_TOKEN_WORDS + count;
    skn_status_t status =
        texts_make(tokenizer, name, text, offset, count, error);
    if (status == SKN_OK)
        status = words_enter(tokenizer, name, error);
    if (status != SKN_OK)
        skn_tokenizer_destroy(&tokenizer);
    return tokenizer;
}

void
skn_tokenizer_destroy(skn_tokenizer_t **tokenizer)
{
    skn_tokenizer_t *dying = *tokenizer;
    *tokenizer = NULL;
    if (!dying)
        return;
    free(dying->text);
    free(dying->offset);
    free(dying->table);
    free(dying);
}

skn_tokenizer_kind_t
skn_tokenizer_kind(const skn_tokenizer_t *tokenizer)
{
    return tokenizer->kind;
}

uint32_t
skn_tokenizer_ids(const skn_tokenizer_t *tokenizer)
{
    return tokenizer->ids;
}

uint64_t
skn_tokenizer_hash(const skn_tokenizer_t *tokenizer)
{
    return tokenizer->hash;
}

static size_t
spell(const char *text, size_t bytes, uint32_t *id)
{
    for (size_t k = 0; k < bytes; k++)
        id[k] = (unsigned char)text[k];
    return bytes;
}

/* Without its space a word may be known: then the space is spelled alone. */
static size_t
word_encode(const skn_tokenizer_t *tokenizer, const char *word,
            skn_pretoken_t pretoken, uint32_t *id)
{
    for (size_t spelled = 0; spelled <= pretoken.has_space; spelled++) {
        uint32_t found =
            *slot_of(tokenizer, word + spelled, pretoken.bytes - spelled);
        if (found == 0)
            continue;
        size_t count = spell(word, spelled, id);
        id[count] = found;
        return count + 1;
    }
    return spell(word, pretoken.bytes, id);
}

size_t
skn_tokenizer_encode(const skn_tokenizer_t *tokenizer, const char *text,
                     size_t bytes, bool is_end, uint32_t *id, size_t *used)
{
    size_t at = 0, count = 0;
    if (tokenizer->ids == SKN_TOKEN_WORDS) {
        *used = bytes;
        return spell(text, bytes, id);
    }
    while (at < bytes && (is_end || bytes - at >= SKN_PRETOKEN_BYTES_MAX)) {
        skn_pretoken_t pretoken = skn_pretoken_next(text + at, text + bytes);
        count += pretoken.is_word
                     ? word_encode(tokenizer, text + at, pretoken, id + count)
                     : spell(text + at, pretoken.bytes, id + count);
        at += pretoken.bytes;
    }
    *used = at;
    return count;
}

const char *
skn_tokenizer_text(const skn_tokenizer_t *tokenizer, uint32_t id, size_t *bytes)
{
    *bytes = 0;
    if (id >= tokenizer->ids)
        return "";
    *bytes = tokenizer->offset[id + 1] - tokenizer->offset[id];
    return tokenizer->text + tokenizer->offset[id];
}

skn_status_t
skn_tokenizer_check_ids(const skn_tokenizer_t *tokenizer, const char *name,
                        uint32_t wanted, skn_error_t *error)
{
    if (tokenizer->ids == wanted)
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s: its tokenizer has %u tokens, but the model has %u",
                   skn_stream_name_shown(name), tokenizer->ids, wanted);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "use the tokenizer that the model was trained with");
}
