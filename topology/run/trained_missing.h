/* trained_missing.h - explains which files of a model are missing in the
 * folders of its nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_TRAINED_MISSING_H
#define TOPOLOGY_RUN_TRAINED_MISSING_H

#include "topology/run/trained.h"

/* On entry `error` is why no checkpoint of `place` could be opened. If the
 * reason is that files are in none of the nodes' folders, it is replaced by the
 * names of these files and the folders that lack something. */
void skn_trained_missing(const skn_trained_place_t *place, skn_error_t *error);

#endif
