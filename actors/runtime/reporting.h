/* reporting.h - reports to the runtime that only Skein's own kinds may make.
 *
 * They add to skein/actor.h: warnings, what an actor keeps, and when the run is
 * being saved. For the actor's thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_REPORTING_H
#define ACTORS_RUNTIME_REPORTING_H

#include "skein/actor.h"

/* An event "warning" with any text; best effort. */
void skn_actor_warn(skn_actor_t *actor, const char *message, const char *hint);

/* How many checkpoints the host has requested so far (skn_topology_save). As
 * skn_actor_stop_wanted, it is a flag of the host that an actor looks at when
 * it can act on it: nobody is woken for it. */
uint32_t skn_actor_saves_wanted(const skn_actor_t *actor);

/* Records for the report that the actor now keeps the activations of `held`
 * batches. */
void skn_actor_set_held(skn_actor_t *actor, uint64_t held);

/* Records for the report that training pauses for a checkpoint, or (false)
 * continues. Returns `is_saving`. */
bool skn_actor_set_saving(skn_actor_t *actor, bool is_saving);

#endif
