/* shortfall.h - warns where a file asks this machine for more than it has.
 *
 * Cores that are not there, or that a mask renames, and a control group's quota
 * below the cores that a run takes. Each is a warning and no refusal: a file
 * may be planned on another machine than the one that runs it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_SHORTFALL_H
#define TOPOLOGY_RUN_SHORTFALL_H

#include "topology/model/model.h"
#include "topology/spec/spec.h"

/* What is called for each warning; `place` is where the file asks, or NULL. */
typedef void skn_shortfall_tell_t(const void *state,
                                  const skn_model_place_t *place,
                                  const char *message, const char *hint);

/* For skn_shortfall_model: the file is only looked at. */
#define SKN_SHORTFALL_NOBODY UINT32_MAX

/* The cores that the file gives this process, which runs `node`, or is nobody:
 * then those of nodes, which are on other machines, are left alone. What runs
 * leaves out what the runtime itself warns of. */
void skn_shortfall_model(const skn_model_t *model, uint32_t node,
                         skn_shortfall_tell_t *tell, const void *state);
/* The cores of the actors of a topology without nodes. */
void skn_shortfall_spec(const skn_spec_t *spec, skn_shortfall_tell_t *tell,
                        const void *state);
/* How many cores the actors of `node` were given by their numbers; 0: some may
 * run on any. */
uint32_t skn_shortfall_units(const skn_wiring_t *wiring, uint32_t node);
/* A quota that is less than the `units` of a run. `root` as in groups.h. The
 * hint has `fewer`, such as "give -o resources.cores=", and how many. */
void skn_shortfall_quota(const char *root, uint32_t units, const char *fewer,
                         skn_shortfall_tell_t *tell, const void *state);
#define SKN_SHORTFALL_CORES "give -o resources.cores="

#endif
