/* ranker_fit.h - grows the trees of a ranker and fits their rows.
 *
 * A tree splits the labels into halves of similar ones until a group has about
 * a hundred. Labels are similar if their points have the same features:
 * balanced spherical 2-means over the sums of their points (Prabhu et al.,
 * "Parabel", WWW 2018, section 3.2). Row n then separates, among the points
 * that have a label of the node above, those with a label of n from the others:
 * a linear support vector machine with squared hinge loss,
 *
 *     min over (w, b)  |w|^2 / 2 + b^2 / 2 + COST sum_i max(0, 1 - y_i z_i)^2
 *
 * by dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan, "A Dual
 * Coordinate Descent Method for Large-scale Linear SVM", ICML 2008, algorithm 1
 * with D_ii = 1 / (2 COST)). A label's own row is also fitted to the points to
 * which the network wrongly gives it. Small weights are left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_RANKER_FIT_H
#define TOPOLOGY_PREDICT_RANKER_FIT_H

#include <stdatomic.h>

#include "actors/predict/ranker.h"
#include "formats/dataset/dataset.h"

/* The points of each label, ascending and each once. */
typedef struct skn_label_points {
    uint32_t label_count;
    uint64_t *offset; /* [label_count + 1] into `point` */
    uint32_t *point;
} skn_label_points_t;

void skn_label_points_fini(skn_label_points_t *points);

typedef struct skn_ranker_source {
    const skn_dataset_t *dataset;
    const skn_label_points_t *has;   /* points that have the label */
    const skn_label_points_t *taken; /* points wrongly given the label */
    uint32_t feature_count;          /* at least that of the data */
    uint32_t tree_count, thread_count;
    uint64_t weight_max; /* weights kept in all rows; and some for each row */
    uint64_t seed;
    const atomic_bool *stop; /* true: fail soon; or NULL */
} skn_ranker_source_t;

/* The result does not depend on the number of threads. *ranker is empty if no
 * label has a point, and after a failure. SKN_NO_MEMORY. */
skn_status_t skn_ranker_fit(skn_ranker_t *ranker,
                            const skn_ranker_source_t *source,
                            skn_error_t *error);

#endif
