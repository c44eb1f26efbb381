/* search.h - prepares the search of a tuning, and writes its result.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_SEARCH_H
#define TOPOLOGY_TUNING_SEARCH_H

#include "topology/tuning/tuning_internal.h"

/* Reads the config and the data, decides every auto, and draws the candidates.
 * Faults of the config go to tuning->problems. */
skn_status_t skn_search_prepare(skn_tuning_t *tuning, skn_error_t *error);
/* Chooses the folder and opens its journal. */
skn_status_t skn_search_open(skn_tuning_t *tuning, skn_error_t *error);
/* Writes the best config, and sends its event. SKN_USAGE: no trial is done. */
skn_status_t skn_search_conclude(skn_tuning_t *tuning, skn_error_t *error);

#endif
