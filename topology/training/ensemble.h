/* ensemble.h - trains several networks one after the other, fits the ranker and
 * joins them: the thread's part of a training that has more than one run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_ENSEMBLE_H
#define TOPOLOGY_TRAINING_ENSEMBLE_H

#include "topology/training/training_internal.h"

/* Sets *is_ensemble if the planned run of the whole training is one of several
 * networks, or gets a ranker, which is not so if its folder has a run of a
 * single network. Refuses a folder, or numbers, that do not fit. */
skn_status_t skn_ensemble_check(skn_training_t *training, bool *is_ensemble,
                                skn_error_t *error);
/* Trains the networks of the planned ensemble in folders network-N of its run,
 * keeps those that are trained already, joins them there, and removes their
 * folders. A stop ends it with SKN_OK. */
skn_status_t skn_ensemble_train(skn_training_t *training, skn_error_t *error);
/* Fits the ranker of an elastic run, whose network is done, and joins the two
 * in the folder that holds those of its nodes. If that fails, the run is done
 * without it, and a warning has the reason. A stop ends it with SKN_OK. */
skn_status_t skn_ensemble_rank(skn_training_t *training, skn_error_t *error);
/* Sends the event `done` of a joined run, with its scores. */
skn_status_t skn_ensemble_score(skn_training_t *training, skn_error_t *error);
/* Removes the folders of networks in the run folder `path` that are joined in
 * it, if a crash has left them; keeps others. */
void skn_ensemble_sweep(const char *path);

#endif
