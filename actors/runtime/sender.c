/* sender.c - names the sender of a message that an actor refuses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/sender.h"

#include <string.h>

#include "actors/runtime/system_internal.h"

bool
skn_actor_is_elsewhere(const skn_actor_t *actor, uint32_t other)
{
    return actor->system->wiring->actors[other].node != actor->wired->node;
}

const char *
skn_actor_text(const skn_actor_t *actor, uint32_t other, char *text)
{
    const skn_wiring_t *wiring = actor->system->wiring;
    const skn_wired_actor_t *wired = &wiring->actors[other];
    if (!skn_actor_is_elsewhere(actor, other))
        (void)snprintf(text, SKN_SENDER_TEXT_BYTES, "%s", wired->name);
    else
        (void)snprintf(text, SKN_SENDER_TEXT_BYTES, "%s of node '%s'",
                       wired->name, wiring->nodes[wired->node].name);
    return text;
}

void
skn_sender_blame(skn_actor_t *actor)
{
    actor->names_sender = true;
}

void
skn_sender_add(const skn_actor_t *actor, const skn_in_edge_t *edge,
               skn_error_t *error)
{
    char name[SKN_SENDER_TEXT_BYTES];
    size_t used = strnlen(error->text, sizeof(error->text) - 1);
    if ((error->status != SKN_BAD_MESSAGE && !actor->names_sender) ||
        !skn_actor_is_elsewhere(actor, edge->sender))
        return;
    (void)snprintf(error->text + used, sizeof(error->text) - used,
                   " (%s from %s)", edge->pipe->wired->schema->name,
                   skn_actor_text(actor, edge->sender, name));
}
