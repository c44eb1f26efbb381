/* sender.h - other actors by name, in sentences of this one.
 *
 * What a message of another node says may be wrong: whoever refuses one says
 * who sent it. Reads the wiring alone; for the actor's own thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_SENDER_H
#define ACTORS_RUNTIME_SENDER_H

#include "actors/runtime/actor.h"

/* Two names, and the words between them. */
#define SKN_SENDER_TEXT_BYTES (2 * (SKN_NAME_MAX + 1) + 16)

/* Whether actor `other` is on another node. */
bool skn_actor_is_elsewhere(const skn_actor_t *actor, uint32_t other);
/* "output.1", or "output.1 of node 'b'" where that is not the node of `actor`.
 * `text` has SKN_SENDER_TEXT_BYTES; it is returned. */
const char *skn_actor_text(const skn_actor_t *actor, uint32_t other,
                           char *text);

/* The next failure of the handler in hand is about the message that it was
 * given, whatever its status: its sentence will name the sender. Those with
 * SKN_BAD_MESSAGE do anyway. */
void skn_sender_blame(skn_actor_t *actor);
/* Ends the sentence of a handler that has failed with " (activation from
 * hidden.0 of node 'b')", if it is about its message. Nothing where that came
 * from the own process: then it is a mistake of ours, and nobody's node is to
 * be looked at. */
void skn_sender_add(const skn_actor_t *actor, const skn_in_edge_t *edge,
                    skn_error_t *error);

#endif
