/* rowset.h - a set of rows of a shard, which returns them in order.
 *
 * One bit for each row, and for each 64 words a word that marks those that are
 * not empty, so that a set of few rows out of many is traversed quickly:
 *
 *     summary  . . 1 . . . . 1 . .        a bit a word
 *                  |         |
 *     bits     0 0 w 0 0 0 0 w 0 0        a bit a row
 *
 * Header only, since adding a row is the inner loop of drawing one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_ROWSET_H
#define ACTORS_PROTOCOL_ROWSET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "skein/error.h"

typedef struct skn_rowset {
    uint64_t *bits, *summary;
    uint32_t rows, word_count, summary_count;
} skn_rowset_t;

/* An empty set of rows [0, rows). SKN_NO_MEMORY. */
static inline skn_status_t
skn_rowset_init(skn_rowset_t *set, uint32_t rows, skn_error_t *error)
{
    set->rows = rows;
    set->word_count = rows / 64 + 1;
    set->summary_count = set->word_count / 64 + 1;
    set->bits = calloc(set->word_count, sizeof(uint64_t));
    set->summary = calloc(set->summary_count, sizeof(uint64_t));
    if (set->bits && set->summary)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no memory for a set of %u rows",
                    rows);
}

/* Frees the set; also after a failed init, or if it is all zeros. */
static inline void
skn_rowset_fini(skn_rowset_t *set)
{
    free(set->bits);
    free(set->summary);
    memset(set, 0, sizeof(*set));
}

static inline void
skn_rowset_add(skn_rowset_t *set, uint32_t row)
{
    set->bits[row / 64] |= (uint64_t)1 << (row % 64);
    set->summary[row / 4096] |= (uint64_t)1 << (row / 64 % 64);
}

/* Adds every row. */
static inline void
skn_rowset_fill(skn_rowset_t *set)
{
    for (uint32_t row = 0; row < set->rows; row++)
        skn_rowset_add(set, row);
}

/* The first word from `word` on that is not empty; word_count: none. */
static inline uint32_t
skn_rowset_word(const skn_rowset_t *set, uint32_t word)
{
    uint32_t k = word / 64;
    uint64_t left = k < set->summary_count
                        ? set->summary[k] & ~(uint64_t)0 << (word % 64)
                        : 0;
    while (left == 0 && ++k < set->summary_count)
        left = set->summary[k];
    return left ? k * 64 + (uint32_t)__builtin_ctzll(left) : set->word_count;
}

/* Removes up to `most` rows, from *cursor on, in ascending order, and moves the
 * cursor past the last one checked (to `rows` at the end). Returns their
 * number. */
static inline uint32_t
skn_rowset_take(skn_rowset_t *set, uint32_t *cursor, uint32_t *row,
                uint32_t most)
{
    uint32_t count = 0, at = *cursor;
    while (count < most) {
        uint32_t word = skn_rowset_word(set, at / 64);
        if (word == set->word_count) {
            at = set->rows;
            break;
        }
        uint64_t mask =
            word == at / 64 ? ~(uint64_t)0 << (at % 64) : ~(uint64_t)0;
        uint64_t left = set->bits[word] & mask;
        for (; left && count < most; left &= left - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            row[count++] = word * 64 + bit;
            set->bits[word] &= ~((uint64_t)1 << bit);
        }
        if (set->bits[word] == 0)
            set->summary[word / 64] &= ~((uint64_t)1 << (word % 64));
        at = left ? word * 64 + (uint32_t)__builtin_ctzll(left)
                  : (word + 1) * 64;
        if (at >= set->rows) {
            at = set->rows;
            break;
        }
    }
    *cursor = at;
    return count;
}

#endif
