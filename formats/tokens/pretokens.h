/* pretokens.h - cuts text into words and single bytes, in one direction.
 *
 * A word is a run of letters, digits and underscores, of at most
 * SKN_WORD_BYTES_MAX bytes (a longer run is several words), together with the
 * one space before it, if there is one, as in GPT-2 (Radford et al. 2019,
 * section 2.2). Whatever else there is, bytes that are not UTF-8 included, is
 * one pretoken a byte. The pretokens of a text, joined, are the text. A
 * pretoken depends on the SKN_PRETOKEN_BYTES_MAX bytes from its beginning
 * alone, so that text can be cut while it is read. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_PRETOKENS_H
#define FORMATS_TOKENS_PRETOKENS_H

#include <stdbool.h>
#include <stddef.h>

/* Longer words are rare in every language, and are mostly numbers and hashes
 * that occur once. */
#define SKN_WORD_BYTES_MAX 64u
/* A space, a word, and the character after it, which ends it. */
#define SKN_PRETOKEN_BYTES_MAX (1u + SKN_WORD_BYTES_MAX + 4u)

typedef struct skn_pretoken {
    size_t bytes; /* at least 1 */
    bool is_word;
    bool has_space; /* a word that begins with its space */
} skn_pretoken_t;

/* The pretoken that begins at `at`, which is before `end`. It is the final one
 * if at least SKN_PRETOKEN_BYTES_MAX bytes are there, or the text ends. */
skn_pretoken_t skn_pretoken_next(const char *at, const char *end);

#endif
