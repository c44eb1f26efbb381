/* shortfall.h - warns where a file asks this machine for more than it has.
 *
 * Cores that are not there, or that a mask renames, and a control group's quota
 * below the cores that a run takes. Each is a warning and no refusal: a file
 * may be planned on another machine than the one that runs it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_SHORTFALL_H
#define TOPOLOGY_SHORTFALL_H

#include "topology/model.h"
#include "topology/spec.h"

/* What is called for each warning. */
typedef void skn_shortfall_tell_t(const void *state, const char *message,
                                  const char *hint);

/* The cores that the file gives this process. Those of its nodes are on other
 * machines, where each is looked at as it starts. `runs`: leaves out what the
 * runtime itself warns of. */
void skn_shortfall_model(const skn_model_t *model, bool runs,
                         skn_shortfall_tell_t *tell, const void *state);
/* The cores of the actors of a topology without nodes. */
void skn_shortfall_spec(const skn_spec_t *spec, skn_shortfall_tell_t *tell,
                        const void *state);
/* A quota that is less than the `units` of a run. `root` as in groups.h. */
void skn_shortfall_quota(const char *root, uint32_t units,
                         skn_shortfall_tell_t *tell, const void *state);

#endif
