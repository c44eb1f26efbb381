/* placement.h - the processing unit on which each actor's thread runs.
 *
 * Units are numbered 0, 1, ... within the mask with which the process was
 * started, in hwloc's logical order. Compute actors get one unit each, round
 * robin; the others float on the whole mask.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_PLACEMENT_H
#define ACTORS_RUNTIME_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actors/runtime/wiring.h"

typedef struct skn_placement skn_placement_t;

/* A unit for skn_placement_bind: the thread is not bound. */
#define SKN_UNIT_UNBOUND (-2)

/* Reads the machine if `description` is NULL; for tests, hwloc's synthetic
 * description such as "pack:2 core:4 pu:2" (binding then does nothing). */
skn_placement_t *skn_placement_new(const char *description, skn_error_t *error);
void skn_placement_destroy(skn_placement_t **placement);

/* Whether any actor of `node` needs its own unit. If none does, the machine
 * need not be read: all threads stay on the units of the thread that starts
 * them. */
bool skn_placement_is_needed(const skn_wiring_t *wiring, uint32_t node);

/* The number of units that the process may use, at least 1. */
uint32_t skn_placement_unit_count(const skn_placement_t *placement);
/* The operating system's number of `unit`: the N of /proc's
 * Cpus_allowed_list. */
uint32_t skn_placement_os_index(const skn_placement_t *placement,
                                uint32_t unit);

/* Whether the operating system's numbers of the units are not 0, 1, ...,
 * because a mask leaves out some units of the machine. */
bool skn_placement_is_masked(const skn_placement_t *placement);
/* Writes "2 cores, 0 and 1" or "1 core, 0 (CPU 5 of the system)", for a
 * sentence about a core that does not exist. Returns `text`. */
const char *skn_placement_describe(const skn_placement_t *placement, char *text,
                                   size_t text_bytes);
/* The number of actors of `node` whose core does not exist; *first is the first
 * of them. skn_placement_plan gives them another core. */
uint32_t skn_placement_absent(const skn_placement_t *placement,
                              const skn_wiring_t *wiring, uint32_t node,
                              uint32_t *first);

/* Computes the unit of each actor of `wiring`, or SKN_CORE_FLOAT: given cores
 * are kept (modulo the number of units), SKN_CORE_AUTO is resolved for kinds
 * that compute, and the others float. Only actors of `node`, which is this
 * process, are placed; all others get SKN_UNIT_UNBOUND. `units` has room for
 * actor_count. */
void skn_placement_plan(const skn_placement_t *placement,
                        const skn_wiring_t *wiring, uint32_t node,
                        int32_t *units);

/* Names the calling thread, adds `nice`, and binds it to `unit`, to all units
 * (SKN_CORE_FLOAT) or not at all (SKN_UNIT_UNBOUND: `placement` may then be
 * NULL). SKN_UNAVAILABLE, with the reason, if the system refuses: only a
 * warning, since the thread runs anyway. */
skn_status_t skn_placement_bind(const skn_placement_t *placement, int32_t unit,
                                const char *name, int nice, skn_error_t *error);

#endif
