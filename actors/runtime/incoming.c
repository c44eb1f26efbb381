/* incoming.c - brings messages to their handlers: parts, order, credit.
 *
 * This file owns: the actor's inbox and what was taken from it, its in-pipes,
 * the parts that wait for the rest of their set, and the credit that is owed to
 * the senders.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "actors/runtime/sender.h"
#include "actors/runtime/system_internal.h"
#include "transport/message/schema.h"
#include "transport/socket/clock.h"

/* Parcels that are taken, and then handled, in one pass, so that neither work
 * nor credits starve. An inbox that is not empty costs its senders no wake-up.
 * 64 was measured for one wait and many takes (notes). */
#define PASS_PARCELS_MAX 64
/* A pipe with at least this much credit works with one less. `credit` is 2
 * window + 1 in planned topologies, of which 2 window - 1 messages are used. */
#define KEPT_CREDIT_MIN 4
/* A pipe with at least this much credit returns it in quarters: more than pipes
 * of planned topologies have. */
#define QUARTERED_CREDIT_MIN 64

/* The handled messages return to their pool, so that their memory is there when
 * the sender may use the credit. */
static skn_status_t
give_credit(skn_actor_t *actor, skn_in_edge_t *edge, skn_error_t *error)
{
    skn_parcel_t credit = { .type = SKN_PARCEL_CREDIT,
                            .slot = edge->out_slot,
                            .number = edge->owed };
    assert(edge->owed > 0 && edge->owed <= edge->credit);
    edge->owed = 0;
    skn_payload_return_all(&actor->returns);
    return skn_outlet_put(edge->back, &credit, error);
}

/* The number of handled messages at which their credit returns: half of the
 * pipe's credit, or a quarter if the credit is large and messages do not wait
 * for each other. Then a sender that has to wake up can send more before the
 * receiver runs out of work (docs/decisions/0031-czmq-pipelines.md). */
static uint32_t
returned_at_once(const skn_in_edge_t *edge)
{
    bool is_quarter = edge->credit >= QUARTERED_CREDIT_MIN &&
                      !skn_collect_waits(edge->pipe->wired->collect);
    return is_quarter ? edge->credit / 4 : (edge->credit + 1) / 2;
}

/* One message of `edge` has been handled. Its credit returns with that of
 * others, at the latest when the actor runs out of work, except kept_credit. */
static skn_status_t
owe_credit(skn_actor_t *actor, skn_in_edge_t *edge, skn_error_t *error)
{
    if (++edge->owed < returned_at_once(edge))
        return SKN_OK;
    return give_credit(actor, edge, error);
}

skn_status_t
skn_incoming_owe(skn_actor_t *actor, uint32_t slot, skn_error_t *error)
{
    assert(slot < actor->in_edge_count);
    return owe_credit(actor, &actor->in_edges[slot], error);
}

/* The credit that a pipe may owe while its receiver waits. A receiver that
 * waits for messages has handled all that came on a pipe whose messages do not
 * wait for each other, so that its sender has the rest of the credit: a quarter
 * is kept, as returning it would wake the sender for nothing. Elsewhere one
 * message is: an actor of a pipeline runs out of work after every batch. */
static uint32_t
kept_credit(const skn_actor_t *actor, const skn_in_edge_t *edge)
{
    if (edge->credit < KEPT_CREDIT_MIN)
        return 0;
    return skn_collect_waits(edge->pipe->wired->collect) || actor->unsent > 0
               ? 1
               : edge->credit / 4;
}

skn_status_t
skn_incoming_return_credit(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < actor->in_edge_count && status == SKN_OK; k++) {
        skn_in_edge_t *edge = &actor->in_edges[k];
        if (edge->owed > kept_credit(actor, edge))
            status = give_credit(actor, edge, error);
    }
    return status;
}

/* The set for `key`, or a free set for it; NULL if more sets are open than the
 * credit allows to senders that send in roughly the same order. Keys are mostly
 * consecutive, so nearly every set is at its home index. */
static skn_part_set_t *
set_for(skn_in_pipe_t *pipe, uint64_t key)
{
    skn_part_set_t *home = &pipe->sets[key % pipe->set_count];
    skn_part_set_t *unused = home->arrived == 0 ? home : NULL;
    if (!unused && home->key == key)
        return home;
    for (uint32_t k = 0;
         k < pipe->set_count && (pipe->displaced_count > 0 || !unused); k++) {
        skn_part_set_t *set = &pipe->sets[k];
        if (set->arrived > 0 && set->key == key)
            return set;
        if (set->arrived == 0 && !unused)
            unused = set;
    }
    if (!unused)
        return NULL;
    unused->key = key;
    pipe->displaced_count += unused != home;
    return unused;
}

static void
free_set(skn_in_pipe_t *pipe, skn_part_set_t *set)
{
    bool is_displaced = set != &pipe->sets[set->key % pipe->set_count];
    assert(!is_displaced || pipe->displaced_count > 0);
    set->arrived = 0;
    pipe->displaced_count -= is_displaced;
}

static uint64_t
by_value(const skn_wired_pipe_t *wired, const void *message)
{
    const char *at = (const char *)message + wired->by->offset;
    return *(const uint64_t *)at;
}

static skn_status_t
handle_reduced(skn_actor_t *actor, skn_in_pipe_t *pipe, skn_part_set_t *set,
               size_t *refused, skn_error_t *error)
{
    const skn_schema_t *schema = pipe->wired->schema;
    skn_status_t status = SKN_OK;
    void *sum = skn_payload_copy(actor->pool, schema, set->part[0], error);
    if (!sum)
        return error ? error->status : SKN_NO_MEMORY;
    skn_place_enter(&actor->place, SKN_PLACE_COMBINE, schema->name,
                    actor->now_ns);
    for (uint32_t k = 1; k < pipe->sender_count && status == SKN_OK; k++) {
        *refused = k;
        status = pipe->handler->combine(sum, set->part[k], error);
    }
    status = skn_actor_leave(actor, status, error);
    if (status == SKN_OK) {
        *refused = SIZE_MAX; /* no single part is to blame */
        status = skn_actor_handle(actor, pipe->handler, pipe, sum, error);
    }
    skn_payload_drop(sum);
    return status;
}

/* Handles and drops a set whose parts have all arrived, and owes each sender
 * credit. */
static skn_status_t
handle_set(skn_actor_t *actor, skn_in_pipe_t *pipe, skn_part_set_t *set,
           skn_error_t *error)
{
    skn_status_t status;
    size_t refused = SIZE_MAX;
    assert(set->arrived == pipe->sender_count);
    if (pipe->wired->collect == SKN_COLLECT_REDUCE) {
        status = handle_reduced(actor, pipe, set, &refused, error);
    } else {
        skn_parts_t parts = { .at = set->part,
                              .count = pipe->sender_count,
                              .refused = &refused,
                              .senders = pipe->sender_count };
        status = skn_actor_handle(actor, pipe->handler, pipe, &parts, error);
    }
    if (pipe->sender_count == 1)
        refused = 0;
    if (status != SKN_OK && refused < pipe->sender_count)
        skn_sender_add(actor, &actor->in_edges[pipe->first_slot + refused],
                       error);
    pipe->done[pipe->done_count++ % pipe->set_count] = set->key;
    for (uint32_t k = 0; k < pipe->sender_count; k++) {
        skn_payload_drop_into(&actor->returns, set->part[k]);
        set->part[k] = NULL;
        if (status == SKN_OK)
            status = owe_credit(actor, &actor->in_edges[pipe->first_slot + k],
                                error);
    }
    free_set(pipe, set);
    return status;
}

/* Whether a set for `key` was completed recently. */
static bool
was_done(const skn_in_pipe_t *pipe, uint64_t key)
{
    for (uint32_t k = 0; k < pipe->set_count && k < pipe->done_count; k++)
        if (pipe->done[k] == key)
            return true;
    return false;
}

/* The in-edge of the first part that has arrived. */
static const skn_in_edge_t *
first_here(const skn_actor_t *actor, const skn_in_pipe_t *pipe,
           const skn_part_set_t *set)
{
    uint32_t k = 0;
    assert(set->arrived > 0);
    while (!set->part[k])
        k++;
    return &actor->in_edges[pipe->first_slot + k];
}

/* A sender has ended without sending its part of a set, which would wait
 * forever. If the set was complete before, the error also names the sender that
 * repeated its part. */
static skn_status_t
part_missing(const skn_actor_t *actor, const skn_in_pipe_t *pipe,
             const skn_part_set_t *set, uint32_t sender, skn_error_t *error)
{
    char missing[SKN_SENDER_TEXT_BYTES], there[SKN_SENDER_TEXT_BYTES];
    const char *name = pipe->wired->schema->name, *by = pipe->wired->by->name;
    unsigned long long key = set->key;
    const skn_in_edge_t *edge = &actor->in_edges[pipe->first_slot + sender];
    (void)skn_actor_text(actor, edge->sender, missing);
    if (!was_done(pipe, set->key))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the %s of %s ended before its part for %s %llu",
                        actor->wired->name, name, missing, by, key);
    edge = first_here(actor, pipe, set);
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s got %s for %s %llu again from %s, which had already "
                    "sent it, and not from %s, which has ended",
                    actor->wired->name, name, by, key,
                    skn_actor_text(actor, edge->sender, there), missing);
}

/* More sets are open than senders may be apart; one of them may be open because
 * a sender repeated a message. */
static skn_status_t
too_many_sets(const skn_actor_t *actor, const skn_in_pipe_t *pipe,
              skn_error_t *error)
{
    const char *name = pipe->wired->schema->name;
    char sender[SKN_SENDER_TEXT_BYTES];
    for (uint32_t k = 0; k < pipe->set_count; k++) {
        const skn_part_set_t *set = &pipe->sets[k];
        if (!was_done(pipe, set->key))
            continue;
        (void)skn_actor_text(actor, first_here(actor, pipe, set)->sender,
                             sender);
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s got %s for %s %llu again from %s, after all its "
                        "parts had arrived",
                        actor->wired->name, name, pipe->wired->by->name,
                        (unsigned long long)set->key, sender);
    }
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s waits for parts of %u sets of %s: its senders send in "
                    "orders that differ too much",
                    actor->wired->name, pipe->set_count, name);
}

static skn_status_t
collect(skn_actor_t *actor, skn_in_edge_t *edge, const void *message,
        skn_error_t *error)
{
    skn_in_pipe_t *pipe = edge->pipe;
    assert(edge->part < pipe->sender_count);
    uint64_t key = by_value(pipe->wired, message);
    skn_part_set_t *set = set_for(pipe, key);
    if (!set || set->part[edge->part]) {
        char sender[SKN_SENDER_TEXT_BYTES];
        skn_payload_drop(message);
        if (!set)
            return too_many_sets(actor, pipe, error);
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s got %s for %s %llu twice from %s",
                        actor->wired->name, pipe->wired->schema->name,
                        pipe->wired->by->name, (unsigned long long)key,
                        skn_actor_text(actor, edge->sender, sender));
    }
    set->part[edge->part] = message;
    if (++set->arrived > edge->counters.queue_max)
        edge->counters.queue_max = set->arrived;
    if (set->arrived == pipe->sender_count)
        return handle_set(actor, pipe, set, error);
    /* A flow of a trace ends in a span, and a part that waits has no other. */
    if (actor->trace)
        skn_trace_span(actor->trace, "part", actor->now_ns, skn_monotonic_ns(),
                       pipe->wired->schema, message);
    for (uint32_t k = 0; k < pipe->sender_count && pipe->ended_count > 0; k++)
        if (!set->part[k] && actor->in_edges[pipe->first_slot + k].ended)
            return part_missing(actor, pipe, set, k, error);
    return SKN_OK;
}

/* The option `wire`: encodes and decodes the message, as for another node. */
static skn_status_t
through_the_wire(skn_actor_t *actor, const void **message, skn_error_t *error)
{
    void *copy = NULL;
    skn_status_t status = skn_recode(skn_payload_of(*message)->schema, *message,
                                     actor->scratch, actor->pool, &copy, error);
    skn_payload_drop(*message);
    *message = copy;
    return status;
}

skn_status_t
skn_incoming_count(skn_actor_t *actor, const skn_parcel_t *parcel,
                   const void **message, skn_error_t *error)
{
    assert(parcel->type == SKN_PARCEL_MESSAGE &&
           parcel->slot < actor->in_edge_count);
    skn_in_edge_t *edge = &actor->in_edges[parcel->slot];
    const skn_payload_t *payload = skn_payload_of(parcel->pointer);
    assert(payload->schema->id == edge->pipe->wired->schema->id);
    SKN_COUNT(edge->counters.messages, 1);
    edge->counters.bytes += payload->used_bytes;
    if (actor->trace)
        skn_trace_flow(actor->trace, SKN_TRACE_TAKE, actor->now_ns,
                       edge->pipe->wired->schema->name, edge->id,
                       parcel->number);
    return actor->wire ? through_the_wire(actor, message, error) : SKN_OK;
}

static skn_status_t
take_message(skn_actor_t *actor, const skn_parcel_t *parcel, skn_error_t *error)
{
    skn_in_edge_t *edge = &actor->in_edges[parcel->slot];
    skn_in_pipe_t *pipe = edge->pipe;
    const void *message = parcel->pointer;
    assert(!edge->ended);
    if (actor->waited_ns > 0 && skn_actor_is_elsewhere(actor, edge->sender))
        actor->counters.remote_ns += actor->waited_ns;
    actor->waited_ns = 0;
    skn_status_t status = skn_incoming_count(actor, parcel, &message, error);
    if (status != SKN_OK)
        return status;
    if (skn_collect_waits(pipe->wired->collect))
        return collect(actor, edge, message, error);
    const skn_parts_t part = { .at = &message,
                               .count = 1,
                               .place = edge->part,
                               .senders = pipe->sender_count };
    status = skn_actor_handle(
        actor, pipe->handler, pipe,
        pipe->wired->collect == SKN_COLLECT_PARTS ? &part : message, error);
    skn_payload_drop_into(&actor->returns, message);
    if (status != SKN_OK)
        skn_sender_add(actor, edge, error);
    return status == SKN_OK ? owe_credit(actor, edge, error) : status;
}

skn_status_t
skn_incoming_end(skn_actor_t *actor, uint32_t slot, skn_error_t *error)
{
    assert(slot < actor->in_edge_count);
    skn_in_edge_t *edge = &actor->in_edges[slot];
    skn_in_pipe_t *pipe = edge->pipe;
    assert(!edge->ended);
    assert((pipe->wired->peer ? actor->open_peers : actor->open_edges) > 0);
    edge->ended = true;
    pipe->ended_count++;
    if (pipe->wired->peer)
        actor->open_peers--;
    else
        actor->open_edges--;
    for (uint32_t k = 0; k < pipe->set_count; k++) {
        const skn_part_set_t *set = &pipe->sets[k];
        if (set->arrived > 0 && !set->part[edge->part])
            return part_missing(actor, pipe, set, edge->part, error);
    }
    return SKN_OK;
}

static void
drop_parcel(const skn_parcel_t *parcel)
{
    if (parcel->type == SKN_PARCEL_MESSAGE)
        skn_payload_drop(parcel->pointer);
}

/* Where a message or an end waits to be handled; NULL for any other parcel. */
static skn_queue_t *
queue_of(skn_actor_t *actor, const skn_parcel_t *parcel)
{
    if (parcel->type != SKN_PARCEL_MESSAGE && parcel->type != SKN_PARCEL_END)
        return NULL;
    assert(parcel->slot < actor->in_edge_count);
    return actor->in_edges[parcel->slot].pipe->wired->peer ? &actor->answers
                                                           : &actor->work;
}

/* Applies a credit, and queues what is to be handled later. */
static void
sort_parcel(skn_actor_t *actor, const skn_parcel_t *parcel)
{
    skn_error_t error;
    skn_queue_t *queue = queue_of(actor, parcel);
    skn_error_clear(&error);
    if (parcel->type == SKN_PARCEL_CLOCK) {
        assert(actor->clock_here_count < actor->clock_asked);
        actor->clock_here[actor->clock_here_count++] = parcel->pointer;
        return;
    }
    if (actor->phase == SKN_PHASE_FAILED) {
        drop_parcel(parcel);
        return;
    }
    if (!queue) {
        assert(parcel->type == SKN_PARCEL_CREDIT);
        actor->moved = true;
        (void)skn_outgoing_credit(actor, parcel->slot, (uint32_t)parcel->number,
                                  &error);
    } else if (!skn_queue_put(queue, parcel)) {
        drop_parcel(parcel);
        (void)skn_fail(&error, SKN_NO_MEMORY,
                       "%s: no memory for more than %u messages that wait",
                       actor->wired->name, queue->count);
    }
    if (error.status != SKN_OK)
        skn_actor_fail(actor, &error);
}

bool
skn_incoming_collect(skn_actor_t *actor)
{
    skn_parcel_t parcel;
    int taken = 0;
    for (; taken < PASS_PARCELS_MAX && skn_inbox_take(actor->inbox, &parcel);
         taken++)
        sort_parcel(actor, &parcel);
    return taken == PASS_PARCELS_MAX;
}

/* The next parcel of `queue`: one that waits there, or the first of its kind
 * that comes out of the inbox. */
static bool
next_parcel(skn_actor_t *actor, skn_queue_t *queue, skn_parcel_t *parcel)
{
    if (skn_queue_take(queue, parcel))
        return true;
    while (skn_inbox_take(actor->inbox, parcel)) {
        if (queue_of(actor, parcel) == queue)
            return true;
        sort_parcel(actor, parcel);
    }
    return false;
}

/* Handles at most one pass of `queue`; only answers are also handled while
 * blocked. */
static bool
take_pass(skn_actor_t *actor, skn_queue_t *queue)
{
    skn_parcel_t parcel;
    int taken = 0;
    uint64_t begin_ns = 0;
    bool is_long = false; /* answers may have come in the meantime */
    while (taken < PASS_PARCELS_MAX && !is_long &&
           (actor->unsent == 0 || queue == &actor->answers) &&
           actor->phase != SKN_PHASE_FAILED &&
           !skn_system_is_over(actor->system) &&
           next_parcel(actor, queue, &parcel)) {
        skn_error_t error;
        skn_status_t status;
        skn_error_clear(&error);
        if (taken++ == 0)
            begin_ns = actor->now_ns = skn_monotonic_ns();
        actor->moved = true;
        if (parcel.type == SKN_PARCEL_END)
            status = skn_incoming_end(actor, parcel.slot, &error);
        else
            status = take_message(actor, &parcel, &error);
        if (status != SKN_OK)
            skn_actor_fail(actor, &error);
        is_long = queue == &actor->work && actor->peer_edge_count > 0 &&
                  actor->now_ns - begin_ns >= SKN_UNCHECKED_NS;
    }
    skn_payload_return_all(&actor->returns);
    return taken == PASS_PARCELS_MAX || is_long || queue->count > 0;
}

bool
skn_incoming_answers(skn_actor_t *actor)
{
    return take_pass(actor, &actor->answers);
}

bool
skn_incoming_work(skn_actor_t *actor)
{
    return take_pass(actor, &actor->work);
}

void
skn_incoming_drop(skn_actor_t *actor)
{
    skn_parcel_t parcel;
    if (actor->inbox)
        skn_inbox_look(actor->inbox);
    while (skn_queue_take(&actor->work, &parcel) ||
           skn_queue_take(&actor->answers, &parcel) ||
           (actor->inbox && skn_inbox_take(actor->inbox, &parcel)))
        drop_parcel(&parcel);
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        skn_in_pipe_t *pipe = &actor->in_pipes[k];
        for (uint32_t s = 0; s < pipe->set_count; s++)
            for (uint32_t p = 0; p < pipe->sender_count; p++)
                skn_payload_drop(pipe->sets[s].part[p]);
    }
}
