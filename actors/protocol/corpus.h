/* corpus.h - opens the text of a run with the same options everywhere, so that
 * it is cut into tokens once, and by one tokenizer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_CORPUS_H
#define ACTORS_PROTOCOL_CORPUS_H

#include "actors/protocol/settings.h"
#include "formats/tokens/sequences.h"

typedef struct skn_corpus {
    const char *tokenizer; /* "bytes", "words", or the path of a tokenizer's
                            * file (formats/tokens/tokenizer.h) */
    uint32_t vocabulary;   /* of "words": ids at most */
    const char *cache;     /* "auto", "none", or the stem of the token files */
} skn_corpus_t;

/* Options of a kind of actor that reads text, beside `cache`. Without `tokens`
 * it reads a data set. */
/* clang-format off */
#define SKN_TEXT_OPTIONS                                                       \
    { "tokens", SKN_OPTION_BOOL, "false", 0, 0, NULL,                          \
      "the files are text, each token of which is a point" },                  \
    SKN_OPTION_OF("tokenizer", "bytes", SKN_SETTING_TOKENIZER),                \
    SKN_OPTION_OF("vocabulary", "32768", SKN_SETTING_VOCABULARY)
/* clang-format on */

/* The options of `actor`, which has SKN_TEXT_OPTIONS and `cache`. */
skn_corpus_t skn_corpus_of(const skn_actor_t *actor);

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
