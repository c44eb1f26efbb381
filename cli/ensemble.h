/* ensemble.h - several networks, trained one after the other and joined.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ENSEMBLE_H
#define CLI_ENSEMBLE_H

#include "cli/base/training.h"

/* Trains the networks that `whole` tells of with the call's own overrides, each
 * in a folder of its own in whole->path, joins them there, says how good the
 * whole is, and removes the folders. Those that are trained already are left
 * as they are. Returns the exit code; *stopped: told to stop, it is not done.
 */
int cli_ensemble(const cli_call_t *call, const cli_outcome_t *whole,
                 bool *stopped);
/* Says how good the whole is, which is there already. Returns the exit code. */
int cli_ensemble_tell(const cli_call_t *call, const cli_outcome_t *whole);
/* Removes those folders of networks in the run folder `path` that are joined in
 * it, and that a death in between has left; others stay. */
void cli_ensemble_sweep(const char *path);

#endif
