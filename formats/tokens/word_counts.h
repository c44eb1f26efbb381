/* word_counts.h - learns a tokenizer: counts the words of a corpus and takes
 * the most frequent ones.
 *
 * The words are chosen by their number, the greater first, and then by their
 * bytes, the smaller first; a word that occurs once is not taken, since its id
 * would be trained once. Memory is bounded: when there are more different words
 * than have room, those that were met most seldom are forgotten (lossy
 * counting: Manku & Motwani 2002, section 4.2), which depends on the text and
 * its order alone. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_WORD_COUNTS_H
#define FORMATS_TOKENS_WORD_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/tokens/tokenizer.h"

typedef struct skn_word_counts skn_word_counts_t;

/* `room`: different words that are counted at once, at least 2. NULL: no
 * memory. */
skn_word_counts_t *skn_word_counts_new(size_t room);
/* Frees, sets *counts to NULL. *counts may be NULL already. */
void skn_word_counts_destroy(skn_word_counts_t **counts);

/* Counts the words of `bytes` bytes of `text`; `is_end` and *used are those of
 * skn_tokenizer_encode. SKN_NO_MEMORY. */
skn_status_t skn_word_counts_add(skn_word_counts_t *counts, const char *text,
                                 size_t bytes, bool is_end, size_t *used,
                                 skn_error_t *error);
/* A tokenizer of at most `words` words; `name` is the corpus in sentences.
 * NULL: SKN_NO_MEMORY. */
skn_tokenizer_t *skn_word_counts_take(const skn_word_counts_t *counts,
                                      const char *name, uint32_t words,
                                      skn_error_t *error);

#endif
