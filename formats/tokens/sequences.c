/* sequences.c - splits tokens into a training and a validation part, and cuts
 * each into sequences; does not order them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/sequences.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/source/stream.h"

/* Ids that are read at once where all of a stream is read. */
#define READ_IDS 4096u

/* A document or a block: what is held back as a whole. */
typedef struct unit {
    uint64_t hash, from, end; /* tokens [from, end) */
    bool is_held;
} unit_t;

typedef struct units {
    unit_t *unit;    /* in the order of the tokens */
    uint64_t *order; /* scratch: by hash */
    uint64_t count;
    const char *noun;
} units_t;

static skn_status_t
no_memory(const char *name, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory to split its tokens",
                    skn_stream_name_shown(name));
}

static void
units_fini(units_t *units)
{
    free(units->unit);
    free(units->order);
    *units = (units_t){ 0 };
}

static bool
units_init(units_t *units, uint64_t count, const char *noun)
{
    *units = (units_t){ .count = count, .noun = noun };
    units->unit = calloc(count, sizeof(*units->unit));
    units->order = calloc(count, sizeof(*units->order));
    if (units->unit && units->order)
        return true;
    units_fini(units);
    return false;
}

static bool
documents_make(units_t *units, const skn_tokens_t *tokens, uint64_t seed)
{
    if (!units_init(units, skn_tokens_info(tokens)->document_count,
                    "documents"))
        return false;
    for (uint64_t k = 0; k < units->count; k++) {
        uint64_t hash = skn_tokens_document_hash(tokens, k);
        units->unit[k] = (unit_t){
            .hash = XXH3_64bits_withSeed(&hash, sizeof(hash), seed),
            .from = skn_tokens_document(tokens, k),
            .end = skn_tokens_document(tokens, k + 1),
        };
    }
    return true;
}

/* Blocks of whole contexts, at most SKN_SEQUENCES_BLOCK, of which a whole
 * number has `wanted` tokens, and less than a context each beyond them. */
static bool
blocks_make(units_t *units, uint64_t token_count, uint32_t context,
            uint64_t wanted, uint64_t seed)
{
    uint64_t longest = (uint64_t)context * SKN_SEQUENCES_BLOCK;
    uint64_t held = (wanted + longest - 1) / longest;
    uint64_t block = (wanted + held * context - 1) / (held * context) * context;
    if (!units_init(units, (token_count + block - 1) / block, "blocks"))
        return false;
    for (uint64_t k = 0; k < units->count; k++)
        units->unit[k] = (unit_t){
            .hash = XXH3_64bits_withSeed(&k, sizeof(k), seed),
            .from = k * block,
            .end =
                (k + 1) * block < token_count ? (k + 1) * block : token_count,
        };
    return true;
}

static int
by_hash(const void *left, const void *right, void *units)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    const unit_t *unit = units;
    if (unit[a].hash != unit[b].hash)
        return unit[a].hash < unit[b].hash ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Holds back units in the order of their hashes until they have `wanted`
 * tokens; passes over those that are longer than `longest`. Returns the tokens
 * that are held back. */
static uint64_t
units_hold(units_t *units, uint64_t wanted, uint64_t longest)
{
    uint64_t held = 0, last = 0;
    for (uint64_t k = 0; k < units->count; k++)
        units->order[k] = k;
    if (units->count > 1)
        qsort_r(units->order, units->count, sizeof(*units->order), by_hash,
                units->unit);
    for (uint64_t k = 0; k < units->count; k++) {
        unit_t *unit = &units->unit[units->order[k]];
        bool is_copy = held > 0 && unit->hash == last;
        if (held >= wanted && !is_copy)
            break;
        if (unit->end - unit->from > longest)
            continue;
        unit->is_held = true;
        held += unit->end - unit->from;
        last = unit->hash;
    }
    return held;
}

/* Chooses the units of `share` of the tokens: documents, or blocks if there are
 * few documents, or too many tokens are in long ones. */
static skn_status_t
units_choose(units_t *units, const skn_tokens_t *tokens, const char *name,
             uint32_t context, double share, uint64_t seed, skn_error_t *error)
{
    uint64_t total = skn_tokens_info(tokens)->token_count;
    uint64_t wanted = (uint64_t)(share * (double)total);
    if (share == 0) { /* one unit, whatever the length of the text */
        if (!units_init(units, 1, "blocks"))
            return no_memory(name, error);
        units->unit[0].end = total;
        return SKN_OK;
    }
    if (wanted <= context)
        wanted = (uint64_t)context + 1;
    if (skn_tokens_info(tokens)->document_count >=
        SKN_SEQUENCES_DOCUMENTS_MIN) {
        if (!documents_make(units, tokens, seed))
            return no_memory(name, error);
        if (units_hold(units, wanted, wanted) >= wanted)
            return SKN_OK;
        units_fini(units);
    }
    if (!blocks_make(units, total, context, wanted, seed))
        return no_memory(name, error);
    (void)units_hold(units, wanted, UINT64_MAX);
    return SKN_OK;
}

/* --- streams -------------------------------------------------------------- */

/* Makes a stream of the units that are held back, or of the others. */
static skn_status_t
stream_make(skn_sequences_t *sequences, const units_t *units, bool is_held,
            const char *name, skn_error_t *error)
{
    size_t ranges = 0;
    uint64_t end = UINT64_MAX;
    for (uint64_t k = 0; k < units->count; k++)
        if (units->unit[k].is_held == is_held) {
            ranges += units->unit[k].from != end;
            end = units->unit[k].end;
        }
    sequences->first = calloc(ranges + 1, sizeof(*sequences->first));
    sequences->from = calloc(ranges + 1, sizeof(*sequences->from));
    if (!sequences->first || !sequences->from)
        return no_memory(name, error);
    end = UINT64_MAX;
    for (uint64_t k = 0; k < units->count; k++) {
        const unit_t *unit = &units->unit[k];
        if (unit->is_held != is_held)
            continue;
        if (unit->from != end) {
            sequences->first[sequences->range_count] = sequences->token_count;
            sequences->from[sequences->range_count++] = unit->from;
        }
        end = unit->end;
        sequences->token_count += unit->end - unit->from;
    }
    if (sequences->token_count == 0)
        return SKN_OK;
    uint64_t count = (sequences->token_count - 1) / sequences->context;
    if (count > UINT32_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %" PRIu64 " sequences of %u tokens, at most %u "
                        "allowed",
                        skn_stream_name_shown(name), count, sequences->context,
                        UINT32_MAX);
    sequences->count = (uint32_t)count;
    return SKN_OK;
}

static skn_status_t
refuse_short(const char *name, uint64_t tokens, uint32_t context,
             skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s: %" PRIu64 " tokens are fewer than one sequence, which "
                   "has %u",
                   skn_stream_name_shown(name), tokens, context + 1);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "give more text, or a shorter data.context");
}

static skn_status_t
refuse_share(const char *name, const units_t *units, double share,
             const char *part, skn_error_t *error)
{
    char held[32];
    (void)skn_text_write(held, sizeof(held), "%g", share);
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s: train.validate %s leaves no sequence %s (%s to split: "
                   "%" PRIu64 ")",
                   skn_stream_name_shown(name), held, part, units->noun,
                   units->count);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "give more text, or set train.validate to 0");
}

skn_status_t
skn_sequences_split(const skn_tokens_t *tokens, const char *name,
                    uint32_t context, double share, uint64_t seed,
                    skn_sequences_split_t *split, skn_error_t *error)
{
    uint64_t total = skn_tokens_info(tokens)->token_count;
    units_t units = { 0 };
    *split = (skn_sequences_split_t){
        .train = { .tokens = tokens, .context = context },
        .validate = { .tokens = tokens, .context = context },
    };
    assert(context > 0 && share >= 0 && share < 1);
    if (total <= context)
        return refuse_short(name, total, context, error);
    skn_status_t status =
        units_choose(&units, tokens, name, context, share, seed, error);
    if (status == SKN_OK)
        status = stream_make(&split->train, &units, false, name, error);
    if (status == SKN_OK)
        status = stream_make(&split->validate, &units, true, name, error);
    if (status == SKN_OK && split->train.count == 0)
        status = refuse_share(name, &units, share, "to train on", error);
    else if (status == SKN_OK && share > 0 && split->validate.count == 0)
        status = refuse_share(name, &units, share, "to validate with", error);
    units_fini(&units);
    if (status != SKN_OK)
        skn_sequences_split_fini(split);
    return status;
}

void
skn_sequences_fini(skn_sequences_t *sequences)
{
    free(sequences->first);
    free(sequences->from);
    *sequences = (skn_sequences_t){ 0 };
}

skn_status_t
skn_sequences_whole(const skn_tokens_t *tokens, const char *name,
                    uint32_t context, skn_sequences_t *sequences,
                    skn_error_t *error)
{
    unit_t all = { .end = skn_tokens_info(tokens)->token_count };
    const units_t units = { .unit = &all, .count = 1 };
    *sequences = (skn_sequences_t){ .tokens = tokens, .context = context };
    if (all.end < 2) {
        (void)skn_fail(error, SKN_BAD_DATA,
                       "%s: it has no token to predict, only one to begin with",
                       skn_stream_name_shown(name));
        return skn_fail_hint(error, SKN_BAD_DATA, "give more text");
    }
    skn_status_t status = stream_make(sequences, &units, false, name, error);
    if (status != SKN_OK)
        skn_sequences_fini(sequences);
    return status;
}

void
skn_sequences_split_fini(skn_sequences_split_t *split)
{
    skn_sequences_fini(&split->train);
    skn_sequences_fini(&split->validate);
}

/* The last range that begins at or before position `at` of the stream. */
static size_t
range_of(const skn_sequences_t *sequences, uint64_t at)
{
    size_t low = 0, high = sequences->range_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (sequences->first[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void
stream_read(const skn_sequences_t *sequences, uint64_t at, size_t count,
            uint32_t *id)
{
    size_t range = range_of(sequences, at);
    while (count > 0) {
        uint64_t end = range + 1 < sequences->range_count
                           ? sequences->first[range + 1]
                           : sequences->token_count;
        size_t now = end - at < count ? (size_t)(end - at) : count;
        skn_tokens_read(sequences->tokens,
                        sequences->from[range] + at - sequences->first[range],
                        now, id);
        id += now;
        at += now;
        count -= now;
        range++;
    }
}

void
skn_sequences_read(const skn_sequences_t *sequences, uint32_t which,
                   uint32_t *id)
{
    assert(which < sequences->count);
    stream_read(sequences, (uint64_t)which * sequences->context,
                (size_t)sequences->context + 1, id);
}

uint32_t
skn_sequences_read_rest(const skn_sequences_t *sequences, uint32_t *id)
{
    uint64_t at = (uint64_t)sequences->count * sequences->context;
    if (sequences->token_count <= at + 1)
        return 0;
    size_t count = (size_t)(sequences->token_count - at);
    stream_read(sequences, at, count, id);
    return (uint32_t)count - 1;
}

uint64_t
skn_sequences_bytes(const skn_sequences_t *sequences, uint32_t count)
{
    const skn_tokenizer_t *tokenizer = skn_tokens_tokenizer(sequences->tokens);
    uint64_t at = 1, end = (uint64_t)count * sequences->context + 1, bytes = 0;
    uint32_t id[READ_IDS];
    assert(count <= sequences->count);
    while (count > 0 && at < end) {
        size_t now = end - at < READ_IDS ? (size_t)(end - at) : READ_IDS;
        stream_read(sequences, at, now, id);
        for (size_t k = 0; k < now; k++) {
            size_t id_bytes;
            (void)skn_tokenizer_text(tokenizer, id[k], &id_bytes);
            bytes += id_bytes;
        }
        at += now;
    }
    return bytes;
}
