/* placement.h - which processing unit an actor's thread runs on.
 *
 * Units are numbered 0, 1, ... within the mask that the process was started
 * with, in hwloc's logical order. Compute actors get one unit each, round
 * robin; the others float on the whole mask.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_PLACEMENT_H
#define ACTORS_RUNTIME_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actors/runtime/wiring.h"

typedef struct skn_placement skn_placement_t;

/* A unit for skn_placement_bind: the thread stays where the system puts it. */
#define SKN_UNIT_UNBOUND (-2)

/* Reads the machine; or, for tests, hwloc's synthetic `description` such as
 * "pack:2 core:4 pu:2" (binding then does nothing). NULL: the real machine. */
skn_placement_t *skn_placement_new(const char *description, skn_error_t *error);
void skn_placement_destroy(skn_placement_t **placement);

/* Whether an actor of `node` is to have a unit of its own. Where none is, no
 * machine need be read: all threads stay on the units of the one that starts
 * them. */
bool skn_placement_is_needed(const skn_wiring_t *wiring, uint32_t node);

/* Units that the process may use. At least 1. */
uint32_t skn_placement_unit_count(const skn_placement_t *placement);
/* What the system calls unit `unit`: the N of /proc's Cpus_allowed_list. */
uint32_t skn_placement_os_index(const skn_placement_t *placement,
                                uint32_t unit);

/* Whether the system calls the units otherwise than 0, 1, ...: a mask leaves
 * some of the machine's out. */
bool skn_placement_is_masked(const skn_placement_t *placement);
/* "2 cores, 0 and 1", "1 core, 0 (CPU 5 of the system)": for a sentence about
 * a core that is not among them. Returns `text`. */
const char *skn_placement_describe(const skn_placement_t *placement, char *text,
                                   size_t text_bytes);
/* How many actors of `node` are to run on a core that is not there; *first is
 * the first of them. skn_placement_plan gives them another one. */
uint32_t skn_placement_absent(const skn_placement_t *placement,
                              const skn_wiring_t *wiring, uint32_t node,
                              uint32_t *first);

/* The unit of each actor of `wiring`, or SKN_CORE_FLOAT: cores that are given
 * are kept (modulo the units there are), SKN_CORE_AUTO is resolved for kinds
 * that compute, the rest floats. Only actors of `node`, which is this process,
 * are placed; the others' is SKN_UNIT_UNBOUND. `units` has room for
 * actor_count. */
void skn_placement_plan(const skn_placement_t *placement,
                        const skn_wiring_t *wiring, uint32_t node,
                        int32_t *units);

/* Names the calling thread, adds `nice`, and binds it to `unit`, to all units
 * (SKN_CORE_FLOAT) or not at all (SKN_UNIT_UNBOUND: `placement` may then be
 * NULL). A refusal is SKN_UNAVAILABLE with the reason: a warning, since the
 * thread runs anyway. */
skn_status_t skn_placement_bind(const skn_placement_t *placement, int32_t unit,
                                const char *name, int nice, skn_error_t *error);

#endif
