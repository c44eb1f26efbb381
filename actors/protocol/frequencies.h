/* frequencies.h - how often each label occurs in the training data of a run,
 * which is a data set or a text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_FREQUENCIES_H
#define ACTORS_PROTOCOL_FREQUENCIES_H

#include "actors/protocol/corpus.h"
#include "actors/protocol/data.h"
#include "skein/actor.h"

/* { 0 }: closed. */
typedef struct skn_frequencies {
    const uint32_t *label; /* [labels of the model] points that have it */
    uint64_t point_count;
    skn_dataset_t *dataset; /* one of the two */
    skn_tokens_t *tokens;
} skn_frequencies_t;

/* Opens the data that the options of `actor` name: `train`, `features`,
 * `labels`, SKN_DATA_OPTIONS and SKN_TEXT_OPTIONS. As skn_data_open_train and
 * skn_corpus_open; closed after a failure. */
skn_status_t skn_frequencies_open(skn_frequencies_t *frequencies,
                                  const skn_actor_t *actor, skn_error_t *error);
void skn_frequencies_close(skn_frequencies_t *frequencies);

#endif
