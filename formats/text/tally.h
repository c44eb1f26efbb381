/* tally.h - counts byte strings in bounded memory, and takes the most frequent.
 *
 * When there are more different strings than have room, those that were met
 * most seldom are forgotten (lossy counting: Manku & Motwani 2002, section
 * 4.2), which depends on the strings and their order alone. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_TALLY_H
#define FORMATS_TEXT_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/text/span.h"

typedef struct skn_tally skn_tally_t;

/* `room`: different strings that are counted at once, at least 2; SIZE_MAX:
 * all. NULL: no memory. */
skn_tally_t *skn_tally_new(size_t room);
/* Frees, sets *tally to NULL. *tally may be NULL already. */
void skn_tally_destroy(skn_tally_t **tally);

/* Counts a string: once in each group, whose numbers ascend; always if `group`
 * is 0. False: no memory. */
bool skn_tally_add(skn_tally_t *tally, const char *text, size_t bytes,
                   uint64_t group);
/* The same for at most SKN_TALLY_TOGETHER strings, which wait for memory
 * together. */
#define SKN_TALLY_TOGETHER 64u
bool skn_tally_add_all(skn_tally_t *tally, const skn_span_t *string,
                       size_t count, uint64_t group);

/* Adds the strings of `part` as often as they were counted, in their order, and
 * empties it. No group has strings in both. False: no memory. */
bool skn_tally_merge(skn_tally_t *tally, skn_tally_t *part);

/* A string that was counted; its bytes live as long as the tally. */
typedef struct skn_tally_entry {
    const char *at;
    size_t bytes;
    uint64_t count;
} skn_tally_entry_t;

/* Strings that were counted at least `count_min` times, for free(): the greater
 * number first, then the smaller bytes; at most `most` of them. NULL: no
 * memory. */
skn_tally_entry_t *skn_tally_take(const skn_tally_t *tally, uint64_t count_min,
                                  size_t most, size_t *taken);

#endif
