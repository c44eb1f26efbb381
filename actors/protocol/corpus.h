/* corpus.h - opens the text of a run with the same options everywhere, so that
 * it is cut into tokens once, and by one tokenizer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_CORPUS_H
#define ACTORS_PROTOCOL_CORPUS_H

#include "formats/tokens/sequences.h"

typedef struct skn_corpus {
    const char *tokenizer; /* "bytes", "words", or the path of a tokenizer's
                            * file (formats/tokens/tokenizer.h) */
    uint32_t vocabulary;   /* of "words": ids at most */
    const char *cache;     /* "auto", "none", or the stem of the token files */
} skn_corpus_t;

/* The same for text as skn_data_hash for data sets: a hash of the texts of a
 * run and of their tokenizer. */
uint64_t skn_corpus_hash(uint64_t before, const skn_tokens_t *tokens);

/* Opens `path`, the run's "train" or "test" file or folder, as tokens.
 * `trained`: the tokenizer of the training text, which the test text is read
 * with; NULL: that of `corpus`. As skn_tokens_open and skn_tokenizer_open. */
skn_status_t skn_corpus_open(const skn_corpus_t *corpus, const char *path,
                             const char *which, const skn_tokenizer_t *trained,
                             skn_tokens_t **tokens, skn_error_t *error);

#endif
