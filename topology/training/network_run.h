/* network_run.h - plans and trains one network, from its config to the end of
 * its actors: the thread's part of a training.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_NETWORK_RUN_H
#define TOPOLOGY_TRAINING_NETWORK_RUN_H

#include "topology/training/training_internal.h"

/* Reads the config, plans the run and wires its topology. The caller has set
 * the fields of `network` above `is_done`. Problems of the config are sent as
 * events, and kept as the failure of the training. */
skn_status_t skn_network_run_plan(skn_training_t *training,
                                  skn_network_run_t *network,
                                  skn_error_t *error);
/* Runs the planned topology to its end, and passes its events on. Sets is_done,
 * or is_stopped. */
skn_status_t skn_network_run_train(skn_training_t *training,
                                   skn_network_run_t *network,
                                   skn_error_t *error);
/* Frees; a running topology ends without saving. */
void skn_network_run_fini(skn_network_run_t *network);

#endif
