/* words.h - cuts text into words in one spelling each.
 *
 * A word is a run of letters, digits and the marks on them, as Unicode has
 * them, in NFKC and with case folded (UAX 15; The Unicode Standard 15, 3.13):
 * "Straße" and "STRASSE" are one word. Characters of scripts that are written
 * without blanks, such as Chinese, Japanese and Thai, are words by themselves:
 * groups of them are what groups of words are elsewhere. Bytes that are not
 * UTF-8 separate words. A word is not empty, has at most SKN_WORD_MAX_BYTES
 * bytes, and has no blank in it; of a longer one the beginning is taken.
 * One cutter is for one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FEATURES_WORDS_H
#define FORMATS_FEATURES_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKN_WORD_MAX_BYTES 250u

/* The words of a text, one after the other in `bytes`, with a blank behind
 * each: words k to l, joined by blanks, are [end[k - 1] + 1, end[l]), with
 * end[-1] = -1. { 0 } is empty. */
typedef struct skn_words {
    char *bytes;
    uint32_t *end;
    size_t count, byte_count;
    size_t byte_room, end_room;
    int32_t *points; /* scratch */
    size_t point_room;
} skn_words_t;

void skn_words_fini(skn_words_t *words);
static inline void
skn_words_clear(skn_words_t *words)
{
    words->count = words->byte_count = 0;
}

/* Adds the words of a text, of less than 2^31 bytes together with those that
 * are there. False: no memory. */
bool skn_words_add(skn_words_t *words, const char *text, size_t bytes);

static inline const char *
skn_words_at(const skn_words_t *words, size_t k, size_t *bytes)
{
    size_t from = k == 0 ? 0 : words->end[k - 1] + 1;
    *bytes = words->end[k] - from;
    return words->bytes + from;
}

#endif
