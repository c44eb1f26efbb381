/* waiting.h - makes an actor that receives nothing report what it waits for.
 *
 * A part or credit that never arrives keeps one actor waiting, and in the end
 * all: a node may withhold it while its link still answers. An actor that has
 * had no parcel for 30 s, though others owe it one, sends an event, and again
 * after 60, 120, ... s, unless a handler of this process does not return
 * (watchdog.h). If the run was asked to stop but cannot, it ends after 60 s in
 * which the links, too, have carried next to nothing.
 * The check uses a time that is known anyway; for the actor's own thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_WAITING_H
#define ACTORS_RUNTIME_WAITING_H

#include "actors/runtime/actor.h"

/* skn_system_t's patience_ns; tests set less. */
#define SKN_WAITING_PATIENCE_NS UINT64_C(30000000000)

/* Writes what the actor waits for: "hidden_gradient of batch 12 from output.1
 * of node 'b'", preferring a missing sender on another node; or "room for
 * activation at output.0". False: nothing is owed to it. */
bool skn_waiting_for(const skn_actor_t *actor, char *text, size_t text_bytes);

/* Called before each wait, which begins at `now_ns`: sends a report if one is
 * due. */
void skn_waiting_check(skn_actor_t *actor, uint64_t now_ns);
/* How long the wait may last until the next check is due; -1: forever. */
int skn_waiting_timeout_ms(const skn_actor_t *actor, uint64_t now_ns);

#endif
