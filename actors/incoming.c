/* incoming.c - how a message reaches its handler: parts, order, credit.
 *
 * This file owns: the actor's in-pipes, the parts that wait for the rest of
 * their set, and the credit that is owed to the senders.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/actor.h"
#include "transport/schema.h"

/* Parcels taken before the control inbox is looked at again: fairness between
 * work and credits. 64 as measured for one wait and many takes (notes). */
#define PASS_PARCELS_MAX 64

static skn_status_t
give_credit(skn_in_edge_t *edge, skn_error_t *error)
{
    skn_parcel_t credit = { .type = SKN_PARCEL_CREDIT,
                            .slot = edge->out_slot,
                            .number = edge->owed };
    edge->owed = 0;
    return skn_outlet_put(edge->control, &credit, error);
}

/* One message of `edge` has been dealt with. Credit goes back in lots of half
 * a pipe, the rest when the actor runs out of work. */
static skn_status_t
owe_credit(skn_in_edge_t *edge, skn_error_t *error)
{
    if (++edge->owed < (edge->credit + 1) / 2)
        return SKN_OK;
    return give_credit(edge, error);
}

skn_status_t
skn_incoming_return_credit(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < actor->in_edge_count && status == SKN_OK; k++)
        if (actor->in_edges[k].owed > 0)
            status = give_credit(&actor->in_edges[k], error);
    return status;
}

/* The set for `key`, or a free one for it; NULL when more sets are open than
 * the credits allow, which only a sender that repeats itself can cause. */
static skn_part_set_t *
set_for(skn_in_pipe_t *pipe, uint64_t key)
{
    skn_part_set_t *unused = NULL;
    for (uint32_t k = 0; k < pipe->set_count; k++) {
        skn_part_set_t *set = &pipe->sets[k];
        if (set->arrived == 0)
            unused = unused ? unused : set;
        else if (set->key == key)
            return set;
    }
    if (unused)
        unused->key = key;
    return unused;
}

static uint64_t
by_value(const skn_wired_pipe_t *wired, const void *message)
{
    const char *at = (const char *)message + wired->by->offset;
    return *(const uint64_t *)at;
}

static skn_status_t
handle_reduced(skn_actor_t *actor, skn_in_pipe_t *pipe, skn_part_set_t *set,
               skn_error_t *error)
{
    const skn_schema_t *schema = pipe->wired->schema;
    skn_status_t status = SKN_OK;
    void *sum = skn_payload_copy(actor->pool, schema, set->part[0], error);
    if (!sum)
        return error ? error->status : SKN_NO_MEMORY;
    for (uint32_t k = 1; k < pipe->sender_count && status == SKN_OK; k++)
        status = pipe->handler->combine(sum, set->part[k], error);
    if (status == SKN_OK)
        status = skn_actor_handle(actor, pipe->handler, &pipe->latency, sum,
                                  error);
    skn_payload_drop(sum);
    return status;
}

/* All parts are here: handle them, drop them, owe credit to each sender. */
static skn_status_t
handle_set(skn_actor_t *actor, skn_in_pipe_t *pipe, skn_part_set_t *set,
           skn_error_t *error)
{
    skn_status_t status;
    if (pipe->wired->collect == SKN_COLLECT_REDUCE) {
        status = handle_reduced(actor, pipe, set, error);
    } else {
        skn_parts_t parts = { set->part, pipe->sender_count };
        status = skn_actor_handle(actor, pipe->handler, &pipe->latency, &parts,
                                  error);
    }
    for (uint32_t k = 0; k < pipe->sender_count; k++) {
        skn_payload_drop(set->part[k]);
        set->part[k] = NULL;
        if (status == SKN_OK)
            status =
                owe_credit(&actor->in_edges[pipe->first_slot + k], error);
    }
    set->arrived = 0;
    return status;
}

static skn_status_t
collect(skn_actor_t *actor, skn_in_edge_t *edge, const void *message,
        skn_error_t *error)
{
    skn_in_pipe_t *pipe = edge->pipe;
    uint64_t key = by_value(pipe->wired, message);
    skn_part_set_t *set = set_for(pipe, key);
    if (!set || set->part[edge->part]) {
        skn_payload_drop(message);
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s got %s for %s %llu twice from sender %u",
                        actor->wired->name, pipe->wired->schema->name,
                        pipe->wired->by->name, (unsigned long long)key,
                        edge->part);
    }
    set->part[edge->part] = message;
    if (++set->arrived > edge->counters.queue_max)
        edge->counters.queue_max = set->arrived;
    if (set->arrived < pipe->sender_count)
        return SKN_OK;
    return handle_set(actor, pipe, set, error);
}

/* The option `wire`: what another node would have received. */
static skn_status_t
through_the_wire(skn_actor_t *actor, const void **message, skn_error_t *error)
{
    void *copy = NULL;
    skn_status_t status =
        skn_recode(skn_payload_of(*message)->schema, *message, actor->scratch,
                   actor->pool, &copy, error);
    skn_payload_drop(*message);
    *message = copy;
    return status;
}

static skn_status_t
take_message(skn_actor_t *actor, const skn_parcel_t *parcel, skn_error_t *error)
{
    skn_in_edge_t *edge = &actor->in_edges[parcel->slot];
    skn_in_pipe_t *pipe = edge->pipe;
    const void *message = parcel->pointer;
    skn_status_t status = SKN_OK;
    edge->counters.messages++;
    edge->counters.bytes += skn_payload_of(message)->used_bytes;
    if (actor->trace)
        skn_trace_flow(actor->trace, SKN_TRACE_TAKE, actor->now_ns,
                       pipe->wired->schema->name, edge->id, parcel->number);
    if (actor->wire)
        status = through_the_wire(actor, &message, error);
    if (status != SKN_OK)
        return status;
    if (pipe->wired->collect != SKN_COLLECT_NONE)
        return collect(actor, edge, message, error);
    status = skn_actor_handle(actor, pipe->handler, &pipe->latency, message,
                              error);
    skn_payload_drop(message);
    return status == SKN_OK ? owe_credit(edge, error) : status;
}

static skn_status_t
take_end(skn_actor_t *actor, uint32_t slot, skn_error_t *error)
{
    skn_in_edge_t *edge = &actor->in_edges[slot];
    skn_in_pipe_t *pipe = edge->pipe;
    assert(!edge->ended);
    edge->ended = true;
    if (pipe->wired->peer)
        actor->open_peers--;
    else
        actor->open_edges--;
    for (uint32_t k = 0; k < pipe->set_count; k++) {
        const skn_part_set_t *set = &pipe->sets[k];
        if (set->arrived > 0 && !set->part[edge->part])
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: the %s of sender %u ended before its part "
                            "for %s %llu",
                            actor->wired->name, pipe->wired->schema->name,
                            edge->part, pipe->wired->by->name,
                            (unsigned long long)set->key);
    }
    return SKN_OK;
}

bool
skn_incoming_pass(skn_actor_t *actor)
{
    skn_parcel_t parcel;
    int taken = 0;
    while (taken < PASS_PARCELS_MAX && actor->unsent == 0 &&
           actor->phase != SKN_PHASE_FAILED &&
           skn_inbox_take(actor->work, &parcel)) {
        skn_error_t error = { 0 };
        skn_status_t status;
        taken++;
        actor->now_ns = skn_monotonic_ns();
        if (parcel.type == SKN_PARCEL_END)
            status = take_end(actor, parcel.slot, &error);
        else
            status = take_message(actor, &parcel, &error);
        if (status != SKN_OK)
            skn_actor_fail(actor, &error);
    }
    return taken > 0;
}

void
skn_incoming_drop(skn_actor_t *actor)
{
    skn_parcel_t parcel;
    while (actor->work && skn_inbox_take(actor->work, &parcel))
        if (parcel.type == SKN_PARCEL_MESSAGE)
            skn_payload_drop(parcel.pointer);
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        skn_in_pipe_t *pipe = &actor->in_pipes[k];
        for (uint32_t s = 0; s < pipe->set_count; s++)
            for (uint32_t p = 0; p < pipe->sender_count; p++)
                skn_payload_drop(pipe->sets[s].part[p]);
    }
}
