/* generator_internal.h - the fields of a generator, for sources that measure
 * and export it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_GENERATOR_INTERNAL_H
#define TOPOLOGY_PREDICT_GENERATOR_INTERNAL_H

#include "actors/predict/decoder_network.h"
#include "formats/tokens/tokenizer.h"
#include "actors/predict/token_choice.h"
#include "skein/generator.h"
#include "topology/run/trained.h"

/* Tokens whose logits are in memory at once. */
#define SKN_GENERATOR_LOGIT_ROWS 16u

struct skn_generator {
    skn_trained_t trained;
    skn_decoder_network_t network;
    skn_decoder_reader_t reader;
    skn_tokenizer_t *tokenizer;
    skn_generator_info_t info;
    float *logits;            /* [SKN_GENERATOR_LOGIT_ROWS][ids] */
    skn_token_weight_t *room; /* [ids] */
    uint32_t *window;         /* [context] the tokens that the reader has */
    uint32_t chosen;          /* the last token, which it has not */
    bool has_chosen;
    uint64_t number; /* of the next choice */
};

/* Reads `count` more tokens, for which the context has room. */
void skn_generator_read(skn_generator_t *generator, const uint32_t *id,
                        uint32_t count);
/* SKN_USAGE and a sentence about `function`, if `bad`. */
skn_status_t skn_generator_refuse_null(const char *function, bool bad,
                                       skn_error_t *error);
/* SKN_BAD_DATA unless the `count` logits are finite. */
skn_status_t skn_generator_check(const skn_generator_t *generator, size_t count,
                                 skn_error_t *error);

#endif
