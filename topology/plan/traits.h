/* traits.h - what about a data set decides `auto`: how many points there are,
 * and how many for each label.
 *
 * Decision 0018 has the measurements behind the limits. For plan_auto*.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_TRAITS_H
#define TOPOLOGY_PLAN_TRAITS_H

#include "topology/plan/plan.h"

/* Up to this many labels, exact softmax costs no more than sampling would
 * save. */
#define SKN_EXACT_LABELS_MAX 8192u
/* Numbers of points at which the width of layers and the size of batches
 * change. */
#define SKN_FEW_POINTS 4096
#define SKN_SOME_POINTS 65536
/* Below this many points a label, labels are rare. */
#define SKN_RARE_POINTS 5
/* Below this many points a label, labels are hardly more than names of
 * points. */
#define SKN_SINGLE_POINTS 2.5
/* From this many labels a point, points have several labels (decision 0038). */
#define SKN_SEVERAL_LABELS 2.0

/* The nearest whole number in [least, most]. */
int64_t skn_traits_clamp(double value, int64_t least, int64_t most);

/* Points of the training file for each label that occurs. */
double skn_traits_points_per_label(const skn_plan_data_t *data);
/* Whether there are many labels that are hardly more than names of points. With
 * a negative for every 85 of them, as in sets whose labels have more points, a
 * point hardly ever meets the labels that it is mistaken for (decision
 * 0025). */
bool skn_traits_has_names(const skn_plan_data_t *data);
/* Whether there are many labels with few points each. */
bool skn_traits_has_rare_labels(const skn_plan_data_t *data);

/* "29,515 training points are fewer than 65,536" */
void skn_traits_why_points(skn_why_t why, const skn_plan_data_t *data,
                           const char *what);
/* "labels have 2.9 points each, fewer than 5" */
void skn_traits_why_labels(skn_why_t why, const skn_plan_data_t *data,
                           const char *what);

#endif
