/* ranker_fit.h - fits the sparse rows of a ranker, each by itself.
 *
 * Row l parts the points that have label l from those that a network takes for
 * such: a linear support vector machine with squared hinge loss,
 *
 *     min over (w, b)  |w|^2 / 2 + b^2 / 2 + COST sum_i max(0, 1 - y_i z_i)^2
 *
 * by dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan, "A Dual
 * Coordinate Descent Method for Large-scale Linear SVM", ICML 2008, algorithm
 * 1 with D_ii = 1 / (2 COST)). Then what is small is left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RANKER_FIT_H
#define TOPOLOGY_RANKER_FIT_H

#include "actors/ranker.h"
#include "formats/dataset.h"

/* Points with a label, and points that were taken for such. */
typedef struct skn_ranker_examples {
    uint32_t label_count;
    uint64_t *offset; /* [label_count + 1] into `point` */
    uint32_t *point;  /* point * 2 + 1: has the label; point * 2: has not */
} skn_ranker_examples_t;

#define SKN_RANKER_THREADS_MAX 64u

void skn_ranker_examples_fini(skn_ranker_examples_t *examples);

/* Fits all rows on `thread_count` threads: their number changes nothing of the
 * outcome. At most `weight_max` weights are kept, and a few for each label,
 * which shares in them by its examples. `feature_count` is at least that of
 * the data. *ranker is empty if no weight is worth keeping, and after a
 * failure. SKN_NO_MEMORY. */
skn_status_t skn_ranker_fit(skn_ranker_t *ranker, const skn_dataset_t *dataset,
                            const skn_ranker_examples_t *examples,
                            uint32_t feature_count, uint64_t weight_max,
                            uint32_t thread_count, skn_error_t *error);

#endif
