/* token_choice.h - chooses the next token of a text from its logits: the
 * likeliest one, or one at random.
 *
 * At a temperature T above 0 the tokens are those of softmax(logits / T), cut
 * to the top_k likeliest ones (Fan et al. 2018), and of these to the fewest
 * whose probabilities sum to top_p (Holtzman et al. 2020, nucleus sampling); 0
 * cuts nothing.
 * Choice number n of a seed has the same random number everywhere. Pure
 * functions; the room belongs to one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_TOKEN_CHOICE_H
#define ACTORS_PREDICT_TOKEN_CHOICE_H

#include "skein/generator.h"

/* A token and its weight, in a room of one for each id. */
typedef struct skn_token_weight {
    float logit;
    uint32_t id;
    double weight;
} skn_token_weight_t;

/* Returns the id of choice `number` of a text, from finite logits [ids]. `room`
 * is [ids]. */
uint32_t skn_token_choose(const skn_token_choice_t *choice, uint64_t number,
                          const float *logits, uint32_t ids,
                          skn_token_weight_t *room);

#endif
