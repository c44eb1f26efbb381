/* evaluate.h - measures the precision of a trained model on a data file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_EVALUATE_H
#define TOPOLOGY_PREDICT_EVALUATE_H

#include "actors/course/progress.h"
#include "formats/dataset/dataset.h"
#include "skein/predictor.h"

typedef struct skn_evaluation {
    skn_scores_t scores; /* psp* are -1 without a training file */
    uint64_t points, unlabelled;
    uint64_t overflows; /* points whose sums are not finite; counted as wrong */
    uint64_t overflow_first;   /* the first of them, counted from 0 */
    skn_xmc_unknown_t unknown; /* features and labels not in the model */
    skn_error_t note[2];       /* warnings about the test file */
    uint32_t note_count;
    const char *test; /* the file; owned by the predictor or caller */
    char warning[SKN_ERROR_TEXT_BYTES]; /* "", or why there is no psp* */
} skn_evaluation_t;

/* Ranks all labels for each point of `test` (NULL: the test file of the run).
 * Propensities need the frequencies of labels in `train` (NULL: the training
 * file of the run). The scores are the same as those of an evaluation in
 * training. */
skn_status_t skn_evaluate(const skn_predictor_t *predictor, const char *test,
                          const char *train, skn_evaluation_t *evaluation,
                          skn_error_t *error);

#endif
