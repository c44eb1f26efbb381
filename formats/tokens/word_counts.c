/* word_counts.c - counts the words of a corpus and takes the most frequent
 * ones; reads no file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/word_counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/tokens/pretokens.h"

/* A word that occurs less often has no id. */
#define COUNT_MIN 2u

typedef struct word {
    uint64_t count;
    uint32_t at; /* in text, which is shorter than 4 GiB: see room below */
    uint32_t bytes;
} word_t;

struct skn_word_counts {
    word_t *word; /* [word_room]; word_count are in use */
    size_t word_count, word_room;
    size_t room; /* the most words that are counted at once */
    char *text;  /* of the words, one after the other */
    size_t text_bytes, text_room;
    uint32_t *table; /* [table_mask + 1] word + 1; 0: free */
    size_t table_mask;
    uint64_t floor; /* words that were met this often were forgotten */
};

skn_word_counts_t *
skn_word_counts_new(size_t room)
{
    assert(room >= 2 && room <= UINT32_MAX / (SKN_WORD_BYTES_MAX + 1));
    skn_word_counts_t *counts = calloc(1, sizeof(*counts));
    if (!counts)
        return NULL;
    counts->room = room;
    counts->table_mask = 1023;
    counts->table = calloc(counts->table_mask + 1, sizeof(*counts->table));
    if (!counts->table)
        skn_word_counts_destroy(&counts);
    return counts;
}

void
skn_word_counts_destroy(skn_word_counts_t **counts)
{
    skn_word_counts_t *dying = *counts;
    *counts = NULL;
    if (!dying)
        return;
    free(dying->word);
    free(dying->text);
    free(dying->table);
    free(dying);
}

/* The slot of a word, or the free one where it would be. */
static uint32_t *
slot_of(const skn_word_counts_t *counts, const char *text, size_t bytes)
{
    size_t at = (size_t)XXH3_64bits(text, bytes) & counts->table_mask;
    for (;; at = (at + 1) & counts->table_mask) {
        if (counts->table[at] == 0)
            return &counts->table[at];
        const word_t *word = &counts->word[counts->table[at] - 1];
        if (word->bytes == bytes &&
            memcmp(counts->text + word->at, text, bytes) == 0)
            return &counts->table[at];
    }
}

static void
table_fill(skn_word_counts_t *counts)
{
    memset(counts->table, 0, (counts->table_mask + 1) * sizeof(*counts->table));
    for (size_t k = 0; k < counts->word_count; k++)
        *slot_of(counts, counts->text + counts->word[k].at,
                 counts->word[k].bytes) = (uint32_t)k + 1;
}

/* Forgets the words that were met most seldom, until half of the room is
 * free. */
static void
forget(skn_word_counts_t *counts)
{
    while (counts->word_count > counts->room / 2) {
        size_t kept = 0, text_bytes = 0;
        counts->floor++;
        for (size_t k = 0; k < counts->word_count; k++) {
            word_t word = counts->word[k];
            if (word.count <= counts->floor)
                continue;
            memmove(counts->text + text_bytes, counts->text + word.at,
                    word.bytes);
            word.at = (uint32_t)text_bytes;
            text_bytes += word.bytes;
            counts->word[kept++] = word;
        }
        counts->word_count = kept;
        counts->text_bytes = text_bytes;
    }
    table_fill(counts);
}

static void *
grown(void *at, size_t *room, size_t wanted, size_t item_bytes)
{
    size_t more = *room < 1024 ? 1024 : *room;
    while (more < wanted)
        more *= 2;
    void *larger = realloc(at, more * item_bytes);
    if (larger)
        *room = more;
    return larger;
}

/* Makes room for one more word. False: no memory. */
static bool
room_make(skn_word_counts_t *counts)
{
    if (counts->word_count == counts->room)
        forget(counts);
    if (counts->word_count == counts->word_room) {
        word_t *word = grown(counts->word, &counts->word_room,
                             counts->word_count + 1, sizeof(*word));
        if (!word)
            return false;
        counts->word = word;
    }
    if (counts->text_room - counts->text_bytes < SKN_WORD_BYTES_MAX + 1) {
        char *text = grown(counts->text, &counts->text_room,
                           counts->text_bytes + SKN_WORD_BYTES_MAX + 1, 1);
        if (!text)
            return false;
        counts->text = text;
    }
    if (2 * counts->word_count > counts->table_mask) {
        size_t slots = 2 * (counts->table_mask + 1);
        uint32_t *table = malloc(slots * sizeof(*table));
        if (!table)
            return false;
        free(counts->table);
        counts->table = table;
        counts->table_mask = slots - 1;
        table_fill(counts);
    }
    return true;
}

static bool
word_count(skn_word_counts_t *counts, const char *text, size_t bytes)
{
    uint32_t *slot = slot_of(counts, text, bytes);
    if (*slot != 0) {
        counts->word[*slot - 1].count++;
        return true;
    }
    if (!room_make(counts))
        return false;
    /* A word that is met again after it was forgotten may have been met as
     * often as those that were forgotten with it, and is not favoured. */
    word_t word = { 1, (uint32_t)counts->text_bytes, (uint32_t)bytes };
    memcpy(counts->text + word.at, text, bytes);
    counts->text_bytes += bytes;
    counts->word[counts->word_count] = word;
    *slot_of(counts, text, bytes) = (uint32_t)++counts->word_count;
    return true;
}

skn_status_t
skn_word_counts_add(skn_word_counts_t *counts, const char *text, size_t bytes,
                    bool is_end, size_t *used, skn_error_t *error)
{
    size_t at = 0;
    while (at < bytes && (is_end || bytes - at >= SKN_PRETOKEN_BYTES_MAX)) {
        skn_pretoken_t pretoken = skn_pretoken_next(text + at, text + bytes);
        if (pretoken.is_word && !word_count(counts, text + at, pretoken.bytes))
            return skn_fail(error, SKN_NO_MEMORY, "no memory to count words");
        at += pretoken.bytes;
    }
    *used = at;
    return SKN_OK;
}

/* --- the most frequent ones ----------------------------------------------- */

static int
by_count_and_bytes(const void *left, const void *right, void *text)
{
    const word_t *one = left, *other = right;
    const char *bytes = text;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    uint32_t shorter = one->bytes < other->bytes ? one->bytes : other->bytes;
    int order = memcmp(bytes + one->at, bytes + other->at, shorter);
    if (order != 0)
        return order;
    return one->bytes < other->bytes ? -1 : one->bytes > other->bytes;
}

skn_tokenizer_t *
skn_word_counts_take(const skn_word_counts_t *counts, const char *name,
                     uint32_t words, skn_error_t *error)
{
    size_t found = 0, bytes = 0;
    word_t *sorted = malloc((counts->word_count + 1) * sizeof(*sorted));
    uint32_t *offset = malloc(((size_t)words + 1) * sizeof(*offset));
    char *text = malloc(counts->text_bytes + 1);
    skn_tokenizer_t *tokenizer = NULL;
    if (!sorted || !offset || !text) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to sort %zu words",
                       counts->word_count);
        goto done;
    }
    for (size_t k = 0; k < counts->word_count; k++)
        if (counts->word[k].count >= COUNT_MIN)
            sorted[found++] = counts->word[k];
    if (found > 1)
        qsort_r(sorted, found, sizeof(*sorted), by_count_and_bytes,
                counts->text);
    if (found > words)
        found = words;
    offset[0] = 0;
    for (size_t k = 0; k < found; k++) {
        memcpy(text + bytes, counts->text + sorted[k].at, sorted[k].bytes);
        bytes += sorted[k].bytes;
        offset[k + 1] = (uint32_t)bytes;
    }
    tokenizer = skn_tokenizer_new(name, SKN_TOKENIZER_WORDS, text, offset,
                                  (uint32_t)found, error);
done:
    free(sorted);
    free(offset);
    free(text);
    return tokenizer;
}
