/* rank.h - fits a ranker to what a trained network takes for each other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_RANK_H
#define TOPOLOGY_PREDICT_RANK_H

#include "actors/predict/ranker.h"

typedef struct skn_rank_options {
    uint32_t trees, threads;
} skn_rank_options_t;

/* What it took. */
typedef struct skn_ranked {
    uint64_t nodes, weights, bytes;
    double seconds, cpu_seconds;
} skn_ranked_t;

/* Fits the ranker of the network `path` (a run folder or a checkpoint) to the
 * training points of its run. The number of threads changes nothing of the
 * outcome. Some points are shown to the network; the labels that
 * it puts first and the point has not, are what the point is no example of.
 * *ranker is the caller's to fini; { 0 } if no weight is worth keeping.
 * SKN_NO_INPUT: the training file is gone; SKN_BAD_DATA: it is another one. */
skn_status_t skn_rank(skn_ranker_t *ranker, const char *path,
                      const skn_rank_options_t *options, skn_ranked_t *ranked,
                      skn_error_t *error);

#endif
