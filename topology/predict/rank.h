/* rank.h - fits a ranker to the labels that a trained network confuses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_RANK_H
#define TOPOLOGY_PREDICT_RANK_H

#include <stdatomic.h>

#include "actors/predict/ranker.h"
#include "formats/text/json_text.h"

typedef struct skn_rank_options {
    uint32_t trees, threads;
    const atomic_bool *stop; /* true: end soon, without a ranker; or NULL */
} skn_rank_options_t;

/* The size and the cost of a ranker. */
typedef struct skn_ranked {
    uint64_t nodes, weights, bytes;
    double seconds, cpu_seconds;
} skn_ranked_t;

/* Fits the ranker of the network `path` (a run folder or a checkpoint) to the
 * training points of its run. The result does not depend on the number of
 * threads. Some points are given to the network; the labels that it ranks first
 * and that a point does not have become its negatives. *ranker is the caller's
 * to fini; { 0 } if no weight is worth keeping. SKN_NO_INPUT: the training file
 * is gone; SKN_BAD_DATA: it is another one; SKN_UNAVAILABLE: it was stopped.
 */
skn_status_t skn_rank(skn_ranker_t *ranker, const char *path,
                      const skn_rank_options_t *options, skn_ranked_t *ranked,
                      skn_error_t *error);

/* Appends the event `ranker`: what `trees` trees have cost. */
void skn_ranked_write_event(const skn_ranked_t *ranked, uint32_t trees,
                            skn_json_text_t *event);

#endif
