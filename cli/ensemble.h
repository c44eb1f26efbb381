/* ensemble.h - trains several networks one after the other and joins them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ENSEMBLE_H
#define CLI_ENSEMBLE_H

#include "cli/base/training.h"

/* Trains the networks of `whole` with the call's own overrides, each in its own
 * folder in whole->path, joins them there, prints the scores of the result, and
 * removes the folders. Networks that are trained already are kept. Returns the
 * exit code; *stopped: it was asked to stop before it was done. */
int cli_ensemble(const cli_call_t *call, const cli_outcome_t *whole,
                 bool *stopped);
/* Prints the scores of an ensemble that is complete. Returns the exit code. */
int cli_ensemble_tell(const cli_call_t *call, const cli_outcome_t *whole);
/* Removes the folders of networks in the run folder `path` that are joined in
 * it, if a crash has left them; keeps others. */
void cli_ensemble_sweep(const char *path);

#endif
