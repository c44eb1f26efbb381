/* waiting.h - an actor that nothing reaches says for whom it waits.
 *
 * A part or credit that never comes keeps the actor waiting, and at last all:
 * a node may withhold it while its link answers. Whoever has had no parcel for
 * 30 s though others owe it one tells an event, and again after 60, 120, ... s,
 * unless a handler of this process does not return (watchdog.h).
 * Where the run was asked to stop, which it cannot then, it ends after 60 s in
 * which the links, too, have carried next to nothing.
 * Costs a look at the time that is known anyway; for the actor's own thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_WAITING_H
#define ACTORS_RUNTIME_WAITING_H

#include "actors/runtime/actor.h"

/* skn_system_t's patience_ns, unless a test has less. */
#define SKN_WAITING_PATIENCE_NS UINT64_C(30000000000)

/* "hidden_gradient of batch 12 from output.1 of node 'b'", a missing sender of
 * another node first; or "room for activation at output.0": what the actor
 * waits for. False: nobody owes it anything. */
bool skn_waiting_for(const skn_actor_t *actor, char *text, size_t text_bytes);

/* Before each wait, which begins at `now_ns`: tells if it is time. */
void skn_waiting_look(skn_actor_t *actor, uint64_t now_ns);
/* How long the wait may be until the next look is due; -1: for ever. */
int skn_waiting_timeout_ms(const skn_actor_t *actor, uint64_t now_ns);

#endif
