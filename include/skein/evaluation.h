/* evaluation.h - scores a trained model on a data file, as `skein eval` does.
 *
 *     skn_evaluation_t found = SKN_ZERO;
 *     found.struct_bytes = sizeof(found);
 *     status = skn_predictor_evaluate(predictor, NULL, &found, &error);
 *     printf("P@1 %.4f of %llu points\n", found.scores.p1,
 *            (unsigned long long)found.points);
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_EVALUATION_H
#define SKEIN_EVALUATION_H

#include <stdint.h>

#include "skein/limits.h"
#include "skein/predictor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* P@k: the share of the k best labels that the point has. PSP@k: the same, each
 * label weighted by its inverse propensity, so that rare labels count more.
 * nDCG@k: the same, each rank weighted. Means over the points, from 0 to 1; -1:
 * not known. */
typedef struct skn_scores {
    double p1, p3, p5, psp1, psp3, psp5, ndcg3, ndcg5;
} skn_scores_t;

/* Zeros and NULL are the defaults. */
typedef struct skn_evaluation_options {
    uint32_t struct_bytes; /* sizeof(skn_evaluation_options_t) */
    uint32_t override_count;
    /* Other files than those of the run: "data.test=FILE", whose points are
     * scored, and "data.train=FILE", which gives the propensities. A trained
     * model has no other keys to set. */
    const char *const *overrides;
} skn_evaluation_options_t;

#define SKN_EVALUATION_WARNINGS_MAX 4u

typedef struct skn_evaluation {
    uint32_t struct_bytes; /* set by the caller before the call */
    uint32_t warning_count;
    skn_scores_t scores;
    uint64_t points;
    uint64_t unlabelled; /* points without labels, which count as wrong */
    /* Points whose logits are not finite, which count as wrong; the first of
     * them, counted from 0. */
    uint64_t overflows, overflow_first;
    /* Labels and features that the model does not have, which are left out; the
     * points that have any. */
    uint64_t unknown_labels, unknown_features, unknown_points;
    double seconds;          /* taken by the evaluation */
    char test[SKN_TEXT_MAX]; /* the file that was scored */
    /* Likely mistakes in the data, and what was left out: each a sentence with
     * a hint, or "". */
    skn_error_t warnings[SKN_EVALUATION_WARNINGS_MAX];
    /* The expected calibration error of each point's best label, and of its
     * first five, in 15 bins of equal width (Guo et al. 2017, equation 3). 0:
     * labels with a probability of .7 are right 7 times of 10. Where the model
     * was calibrated on points of this test, each half of them is judged by
     * what is fitted to the other half. */
    double calibration_error, calibration_error_5;
} skn_evaluation_t;

/* Ranks the labels for each point of the test file, through the index if the
 * predictor has one, and scores them. `options` may be NULL. The scores are
 * those of an evaluation in training. Takes as long as skn_predictor_best for
 * the same points, on the calling thread; other threads may use the predictor
 * meanwhile. The file is read through a cache beside it (docs/reference/
 * config.md, data.cache). Without the training file PSP@k are -1, and a warning
 * says so. SKN_USAGE for a NULL, wrong options, or a run without a test file;
 * SKN_NO_INPUT; SKN_BAD_DATA with file, line and column; SKN_NO_MEMORY. */
SKN_API skn_status_t skn_predictor_evaluate(
    const skn_predictor_t *predictor, const skn_evaluation_options_t *options,
    skn_evaluation_t *evaluation, skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
