/* ranking_metrics.h - P@k, PSP@k and nDCG@k of ranked labels.
 *
 *     P@k    = hits among the first k / k
 *     PSP@k  = sum of 1/p over those hits, over the greatest possible sum:
 *              a ratio of means over the points, as in pyxclib
 *     nDCG@k = sum of 1/log2(r + 2) over those hits, over the greatest
 *
 * Points without labels count, as misses. Propensities p: Jain, Prabhu, Varma
 * 2016, "Extreme multi-label loss functions", equation 2. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_RANKING_METRICS_H
#define ACTORS_COURSE_RANKING_METRICS_H

#include "actors/protocol/messages.h"
#include "kernels/topk.h"

#define SKN_RANKING_CUT 5 /* the greatest k that is reported */

/* { 0 } is empty; [k - 1] is for k. */
typedef struct skn_ranking_sums {
    uint64_t rows;
    double precision[SKN_RANKING_CUT];
    double gain[SKN_RANKING_CUT], best_gain[SKN_RANKING_CUT];
    double ndcg[SKN_RANKING_CUT];
} skn_ranking_sums_t;

/* inverse[l] = 1/p = 1 + C (N_l + b)^-a, C = (ln N - 1) (b + 1)^a, for labels
 * that frequency[l] = N_l of N = `points` points have. */
void skn_inverse_propensities(float *inverse, const uint32_t *frequency,
                              uint32_t label_count, uint64_t points, double a,
                              double b);
/* Adds a point with the best labels ranked->id[0..], of which the first
 * SKN_RANKING_CUT count, and the true labels label[0..label_count). */
void skn_ranking_add(skn_ranking_sums_t *sums, const float *inverse,
                     const skn_topk_t *ranked, const uint32_t *label,
                     uint32_t label_count);
/* The means; all 0 when no point was added. */
skn_metrics_t skn_ranking_metrics(const skn_ranking_sums_t *sums,
                                  uint32_t purpose);

#endif
