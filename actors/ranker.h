/* ranker.h - a sparse linear model of each label, over the features of a point
 * as they stand in the data: it ranks anew what a network puts first.
 *
 * A network squeezes a point into some hundred numbers, and a label of three
 * points has learnt little of them by the end. Which features its points have,
 * and those that are taken for its points do not, is still there to be read:
 * the margin z = b_l + w_l . x. The network's best labels are ordered by
 *
 *     log p_l - SHARE max(0, 1 - z_l)^2
 *
 * the squared hinge by which w_l was fitted (ranker_fit.h), so a label that the
 * features speak for is left as it is. The two stages are those of matcher and
 * ranker in Yu, Zhong, Zhang, Chang, Dhillon, "PECOS" (2022), section 3.
 *
 * Read only once it is loaded: any number of threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RANKER_H
#define ACTORS_RANKER_H

#include <stdbool.h>

#include "formats/checkpoint.h"

/* Labels of the network that are ranked anew, at least. */
#define SKN_RANKER_CANDIDATES 100u

/* A point's features, ascending, and their values. */
typedef struct skn_sparse {
    const uint32_t *feature;
    const float *value;
    size_t count;
} skn_sparse_t;

/* { 0 }: there is none. */
typedef struct skn_ranker {
    uint32_t label_count, feature_count;
    uint64_t weight_count;
    uint64_t *offset;  /* [label_count + 1] into `feature` and `weight` */
    uint32_t *feature; /* [weight_count], ascending within a label */
    float *weight;     /* [weight_count] */
    float *bias;       /* [label_count] */
} skn_ranker_t;

void skn_ranker_fini(skn_ranker_t *ranker);

/* Reads that of the output layer `layer`; { 0 } where the checkpoint has none.
 * Freed by skn_ranker_fini, also after a failure. SKN_BAD_DATA for one that
 * does not fit the network, or is damaged; SKN_NO_MEMORY. */
skn_status_t skn_ranker_load(skn_ranker_t *ranker, skn_checkpoint_t *checkpoint,
                             const char *layer, uint32_t feature_count,
                             uint32_t label_count, skn_error_t *error);
/* Writes it as a file of its own of an unfinished checkpoint. */
skn_status_t skn_ranker_write(const skn_ranker_t *ranker,
                              skn_checkpoint_writer_t *writer,
                              const char *layer, skn_error_t *error);
/* What it takes in memory, and in a checkpoint. */
uint64_t skn_ranker_bytes(uint64_t label_count, uint64_t weight_count);
/* Of the ranker that a checkpoint has; 0: none. */
uint64_t skn_ranker_bytes_of(const skn_checkpoint_t *checkpoint,
                             const char *layer);

/* z of one label. */
float skn_ranker_margin(const skn_ranker_t *ranker, uint32_t label,
                        const skn_sparse_t *point);
/* Orders `count` labels of a point and their probabilities anew, best first,
 * of equal ones the lower label. `shares`: probabilities are shares of all
 * labels, and what these have together is shared out among them again; else
 * each stands by itself. */
void skn_ranker_order(const skn_ranker_t *ranker, const skn_sparse_t *point,
                      bool shares, uint32_t count, uint32_t *label,
                      float *probability);

#endif
