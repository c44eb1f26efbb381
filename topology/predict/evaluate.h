/* evaluate.h - measures the precision of a trained model on a data file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_EVALUATE_H
#define TOPOLOGY_PREDICT_EVALUATE_H

#include "skein/evaluation.h"

/* Ranks all labels for each point of `test` (NULL: the test file of the run).
 * Propensities need the frequencies of labels in `train` (NULL: the training
 * file of the run). *evaluation has every member of this library. */
skn_status_t skn_evaluate(const skn_predictor_t *predictor, const char *test,
                          const char *train, skn_evaluation_t *evaluation,
                          skn_error_t *error);

#endif
