/* trained_missing.h - what is missing of a model that several nodes keep.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_TRAINED_MISSING_H
#define TOPOLOGY_RUN_TRAINED_MISSING_H

#include "topology/run/trained.h"

/* `error` says why no checkpoint of `place` could be opened. Where that is
 * because files are in none of the nodes' folders, it says so instead: which
 * files, and which folder lacks what. */
void skn_trained_missing(const skn_trained_place_t *place, skn_error_t *error);

#endif
