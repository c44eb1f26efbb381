/* shortfall.h - warns if a file asks this machine for more than it has.
 *
 * It checks for cores that do not exist or that a mask renames, and for a
 * control group's quota below the cores that a run uses. Each is a warning, not
 * a refusal: a file may be planned on another machine than the one that runs
 * it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_SHORTFALL_H
#define TOPOLOGY_RUN_SHORTFALL_H

#include "topology/model/model.h"
#include "topology/spec/spec.h"

/* Called for each warning; `place` is the place of the request in the file, or
 * NULL. */
typedef void skn_shortfall_tell_t(const void *state,
                                  const skn_model_place_t *place,
                                  const char *message, const char *hint);

/* For skn_shortfall_model: the file is only checked. */
#define SKN_SHORTFALL_NOBODY UINT32_MAX

/* Checks the cores that the file gives this process, which runs `node`. With
 * SKN_SHORTFALL_NOBODY the cores of nodes, which are on other machines, are not
 * checked. For a process that runs, warnings that the runtime gives itself are
 * left out. */
void skn_shortfall_model(const skn_model_t *model, uint32_t node,
                         skn_shortfall_tell_t *tell, const void *state);
/* Checks the cores of the actors of a topology without nodes. */
void skn_shortfall_spec(const skn_spec_t *spec, skn_shortfall_tell_t *tell,
                        const void *state);
/* The number of cores that the actors of `node` were given by number; 0: some
 * may run on any. */
uint32_t skn_shortfall_units(const skn_wiring_t *wiring, uint32_t node);
/* Warns of a quota that is less than the `units` of a run. `root` as in
 * groups.h. The hint consists of `fewer`, such as "set resources.cores=",
 * and the number. */
void skn_shortfall_quota(const char *root, uint32_t units, const char *fewer,
                         skn_shortfall_tell_t *tell, const void *state);
#define SKN_SHORTFALL_CORES "set resources.cores="
#define SKN_SHORTFALL_NODE "set its `cores` in the file to "

#endif
