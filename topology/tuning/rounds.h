/* rounds.h - runs the rounds of a tuning, one trial after the other, on its
 * thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_ROUNDS_H
#define TOPOLOGY_TUNING_ROUNDS_H

#include "topology/tuning/tuning_internal.h"

/* Runs all trials without a result and sends the results; until the end, the
 * end of the budget (`is_late`), or a stop (`was_stopped`). A failed trial is
 * not an error, except the first one of auto. */
skn_status_t skn_rounds_run(skn_tuning_t *tuning, skn_error_t *error);
/* Judges by the last round with two scores or, if none has, with one. False:
 * nothing was trained. */
bool skn_rounds_judge(const skn_tuning_t *tuning, skn_tuned_result_t *result);

#endif
