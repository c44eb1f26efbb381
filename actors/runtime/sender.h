/* sender.h - names other actors in an actor's error messages.
 *
 * The content of a message from another node may be wrong, so an actor that
 * refuses a message names its sender. Reads the wiring only; for the actor's
 * own thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_SENDER_H
#define ACTORS_RUNTIME_SENDER_H

#include "actors/runtime/actor.h"

/* Room for two names and the words between them. */
#define SKN_SENDER_TEXT_BYTES (2 * (SKN_NAME_MAX + 1) + 16)

/* Whether actor `other` is on another node. */
bool skn_actor_is_elsewhere(const skn_actor_t *actor, uint32_t other);
/* Writes "output.1", or "output.1 of node 'b'" if that is not the node of
 * `actor`, into `text`, which has SKN_SENDER_TEXT_BYTES. Returns `text`. */
const char *skn_actor_text(const skn_actor_t *actor, uint32_t other,
                           char *text);

/* Marks that the next failure of the current handler is caused by its message,
 * whatever the status: the sentence will then name the sender. With
 * SKN_BAD_MESSAGE it does so anyway. */
void skn_sender_blame(skn_actor_t *actor);
/* Appends " (activation from hidden.0 of node 'b')" to the sentence of a failed
 * handler if its message is the cause. Does nothing if the message came from
 * this process: then the mistake is Skein's own, and no other node is at
 * fault. */
void skn_sender_add(const skn_actor_t *actor, const skn_in_edge_t *edge,
                    skn_error_t *error);

#endif
