/* calibration.h - turns the scores of a model into probabilities that an answer
 * is right, by two curves that are fitted to points that were held back: one
 * for the best label of a point, and one for those after it.
 *
 * A curve leads from the log-odds ln(s / (1 - s)) of a score to those of the
 * probability, and never falls, so that it suits scores of any loss, with or
 * without a ranker, and the order of answers stays. It has steps with lines
 * between them: a step is the share of right answers among equally many, pooled
 * where it would fall (docs/concepts/equations.md, (76) and (77)).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_CALIBRATION_H
#define ACTORS_PREDICT_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* The steps of a curve, and their ends. */
#define SKN_STEPS_MAX 32u
#define SKN_KNOTS_MAX (2 * SKN_STEPS_MAX)

/* From the log-odds of scores, which ascend, to those of probabilities, which
 * do not fall. No knots: scores stay as they are. */
typedef struct skn_curve {
    uint32_t count;
    double score[SKN_KNOTS_MAX], probability[SKN_KNOTS_MAX];
} skn_curve_t;

/* Fitted to no point, { 0 }, it leaves scores as they are. */
typedef struct skn_calibration {
    skn_curve_t first, later; /* of the best labels, and of those after them */
    uint64_t points;          /* that it was fitted to */
} skn_calibration_t;

/* One answer to a point whose labels are known; the answers to a point are next
 * to each other, the best first. */
typedef struct skn_outcome {
    float score;    /* NaN: there was no answer, and it is not fitted to */
    bool right;     /* the point has the label */
    bool first;     /* the best label of its point */
    uint8_t parity; /* of its point's number */
} skn_outcome_t;

#define SKN_EITHER_PARITY 2u

/* Replaces the scores of a point's answers, best first, by probabilities. A NaN
 * stays one. */
void skn_calibration_apply(const skn_calibration_t *calibration, float *score,
                           size_t count);

/* Fits to the outcomes of points with this parity, or with either. The same
 * outcomes in the same order give the same bits. { 0 } if there are none.
 * SKN_NO_MEMORY. */
skn_status_t skn_calibration_fit(skn_calibration_t *calibration,
                                 const skn_outcome_t *outcome, size_t count,
                                 uint32_t parity, skn_error_t *error);

/* The expected calibration error in 15 bins of equal width (Guo et al. 2017,
 * equation 3) of the best labels of all points, and of all answers. 0: of
 * answers with a probability of .7, seven in ten are right. */
typedef struct skn_calibration_error {
    double first, all;
} skn_calibration_error_t;

/* Over the points with this parity, or with either. */
skn_calibration_error_t skn_calibration_measure(
    const skn_calibration_t *calibration, const skn_outcome_t *outcome,
    size_t count, uint32_t parity);
/* The mean of the errors of either half of the points, by parity, judged by
 * what is fitted to the other half. SKN_NO_MEMORY. */
skn_status_t skn_calibration_cross(skn_calibration_error_t *found,
                                   const skn_outcome_t *outcome, size_t count,
                                   skn_error_t *error);

#endif
