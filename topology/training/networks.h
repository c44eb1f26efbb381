/* networks.h - finds the folders of an ensemble's networks: network-1, ...
 *
 * They are in the folder of the ensemble.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_NETWORKS_H
#define TOPOLOGY_TRAINING_NETWORKS_H

#include "topology/run/model_run.h"

#define SKN_NETWORK_PATH_BYTES (SKN_TEXT_MAX + 32)

/* Writes the folder of network `k`, counted from 0. Returns `path`. */
const char *skn_network_path(const char *whole, uint32_t k,
                             char path[SKN_NETWORK_PATH_BYTES]);
/* Whether a run was begun in that folder. */
bool skn_network_begun(const char *whole, uint32_t k);
/* Whether one was begun for any network from number `first` on. */
bool skn_networks_begun(const char *whole, uint32_t first);
/* Checks whether `run`, one of several networks, may continue with the networks
 * in the folder `whole`: SKN_BAD_CONFIG, with the line of the config that
 * differs, or SKN_BAD_DATA. Settings that do not affect the trained model may
 * differ. */
skn_status_t skn_networks_fit(const skn_model_run_t *run, const char *whole,
                              skn_error_t *error);

#endif
