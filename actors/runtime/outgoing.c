/* outgoing.c - sends an actor's messages: patterns, credit, outboxes.
 *
 * This file owns: the actor's out-pipes and their outboxes. A send never
 * blocks: without credit the message waits here, and the loop takes no new work
 * until the outboxes are empty again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "actors/runtime/actor.h"
#include "transport/message/field.h"
#include "transport/message/schema.h"
#include "transport/socket/clock.h"

/* The most messages that may wait in an outbox. A handler that makes more than
 * this from one message needs a pipe with more credit. */
#define OUTBOX_MAX (1u << 20)

static skn_status_t
outbox_put(skn_actor_t *actor, skn_queue_t *outbox, const void *message,
           skn_error_t *error)
{
    const skn_parcel_t parcel = { .pointer = (void *)(uintptr_t)message };
    if (outbox->count == OUTBOX_MAX || !skn_queue_put(outbox, &parcel))
        return skn_fail(error, SKN_NO_MEMORY,
                        "%s: no memory to queue more than %u messages that "
                        "wait for credit",
                        actor->wired->name, outbox->count);
    SKN_COUNT(actor->unsent, 1);
    return SKN_OK;
}

static const void *
outbox_take(skn_actor_t *actor, skn_queue_t *outbox)
{
    skn_parcel_t parcel = { 0 };
    bool has_one = skn_queue_take(outbox, &parcel);
    assert(has_one && actor->unsent > 0);
    (void)has_one;
    SKN_COUNT_SET(actor->unsent, actor->unsent - 1);
    return parcel.pointer;
}

/* Sends one message on one edge that has credit, and gives the message away. */
static skn_status_t
edge_send(skn_actor_t *actor, skn_out_edge_t *edge, const void *message,
          skn_error_t *error)
{
    const skn_payload_t *payload = skn_payload_of(message);
    skn_parcel_t parcel = {
        .type = SKN_PARCEL_MESSAGE,
        .slot = edge->slot,
        .number = edge->counters.messages,
        .pointer = (void *)(uintptr_t)message,
    };
    assert(edge->credit > 0);
    SKN_COUNT_SET(edge->credit, edge->credit - 1);
    SKN_COUNT(edge->counters.messages, 1);
    edge->counters.bytes += payload->used_bytes;
    if (actor->trace)
        skn_trace_flow(actor->trace, SKN_TRACE_SEND, skn_monotonic_ns(),
                       payload->schema->name, edge->id, parcel.number);
    skn_status_t status = skn_outlet_put(edge->work, &parcel, error);
    if (status != SKN_OK)
        skn_payload_drop(message);
    return status;
}

static skn_status_t
edge_post(skn_actor_t *actor, skn_out_edge_t *edge, const void *message,
          skn_error_t *error)
{
    if (edge->credit > 0 && edge->outbox.count == 0)
        return edge_send(actor, edge, message, error);
    skn_status_t status = outbox_put(actor, &edge->outbox, message, error);
    if (status != SKN_OK)
        skn_payload_drop(message);
    if (edge->outbox.count > edge->counters.queue_max)
        edge->counters.queue_max = edge->outbox.count;
    return status;
}

static skn_out_edge_t *
edge_with_most_credit(skn_out_pipe_t *pipe)
{
    skn_out_edge_t *best = NULL;
    for (uint32_t k = 0; k < pipe->edge_count; k++)
        if (pipe->edges[k].credit > 0 &&
            (!best || pipe->edges[k].credit > best->credit))
            best = &pipe->edges[k];
    return best;
}

static skn_status_t
post_any(skn_actor_t *actor, skn_out_pipe_t *pipe, const void *message,
         skn_error_t *error)
{
    skn_out_edge_t *edge = edge_with_most_credit(pipe);
    if (edge && pipe->shared.count == 0)
        return edge_send(actor, edge, message, error);
    skn_status_t status = outbox_put(actor, &pipe->shared, message, error);
    if (status != SKN_OK)
        skn_payload_drop(message);
    return status;
}

static skn_status_t
post_broadcast(skn_actor_t *actor, skn_out_pipe_t *pipe, const void *message,
               skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    assert(pipe->edge_count > 0);
    if (pipe->edge_count > 1)
        skn_payload_keep_many(message, pipe->edge_count - 1);
    for (uint32_t k = 0; k < pipe->edge_count; k++) {
        if (status == SKN_OK)
            status = edge_post(actor, &pipe->edges[k], message, error);
        else
            skn_payload_drop(message);
    }
    return status;
}

/* The receiver whose range [bounds[k], bounds[k + 1]) contains `key`; the
 * number of receivers if none does. */
static uint32_t
range_of(const skn_wired_pipe_t *wired, uint64_t key)
{
    uint32_t low = 0, high = wired->to_count;
    if (key < wired->bounds[0])
        return wired->to_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (key < wired->bounds[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static skn_status_t
key_outside(const skn_actor_t *actor, const skn_out_pipe_t *pipe, uint64_t key,
            skn_error_t *error)
{
    const skn_wired_pipe_t *wired = pipe->wired;
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s sends %s with %s %llu; its receivers own %llu to %llu",
                    actor->wired->name, wired->schema->name, wired->key->name,
                    (unsigned long long)key,
                    (unsigned long long)wired->bounds[0],
                    (unsigned long long)wired->bounds[wired->to_count] - 1);
}

static uint64_t
key_at(const skn_field_t *key, const void *message, size_t k)
{
    const char *at = (const char *)message + key->offset;
    switch (key->kind) {
    case SKN_FIELD_u32:
        return *(const uint32_t *)at;
    case SKN_FIELD_u64:
        return *(const uint64_t *)at;
    case SKN_FIELD_u32s:
        return ((const skn_u32s_t *)at)->at[k];
    default:
        assert(key->kind == SKN_FIELD_u64s);
        return ((const skn_u64s_t *)at)->at[k];
    }
}

/* A copy of `message` with the items [first, end) of its array of keys, and of
 * every other array that is as long. */
static void *
slice(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      size_t whole, size_t first, size_t end, skn_error_t *error)
{
    /* Every message struct fits: a field has at most 16 bytes. */
    max_align_t copy[SKN_FIELDS_MAX];
    assert(schema->struct_bytes <= sizeof(copy));
    memcpy(copy, message, schema->struct_bytes);
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        size_t item_bytes = skn_field_item_bytes(field->kind);
        if (item_bytes == 0)
            continue;
        /* All array fields are a pointer and a count (message.h). */
        skn_bytes_t *run = (skn_bytes_t *)((char *)copy + field->offset);
        if (run->count != whole)
            continue;
        run->at += first * item_bytes;
        run->count = end - first;
    }
    return skn_payload_copy(actor->pool, schema, copy, error);
}

/* Splits a message that has an array of keys: each receiver gets its slice.
 * Receivers that collect parts get one even if it is empty, others do not. */
static skn_status_t
post_split(skn_actor_t *actor, skn_out_pipe_t *pipe, const void *message,
           skn_error_t *error)
{
    const skn_wired_pipe_t *wired = pipe->wired;
    size_t count =
        ((const skn_u32s_t *)((const char *)message + wired->key->offset))
            ->count;
    skn_status_t status = SKN_OK;
    size_t first = 0;
    for (uint32_t k = 0; k < pipe->edge_count && status == SKN_OK; k++) {
        size_t end = first;
        while (end < count &&
               key_at(wired->key, message, end) >= wired->bounds[k] &&
               key_at(wired->key, message, end) < wired->bounds[k + 1])
            end++;
        if (end > first || wired->collect != SKN_COLLECT_NONE) {
            void *part =
                slice(actor, wired->schema, message, count, first, end, error);
            status = part ? edge_post(actor, &pipe->edges[k], part, error)
                          : (error ? error->status : SKN_NO_MEMORY);
        }
        first = end;
    }
    if (status == SKN_OK && first < count)
        status =
            key_outside(actor, pipe, key_at(wired->key, message, first), error);
    skn_payload_drop(message);
    return status;
}

static skn_status_t
post_scatter(skn_actor_t *actor, skn_out_pipe_t *pipe, const void *message,
             skn_error_t *error)
{
    const skn_wired_pipe_t *wired = pipe->wired;
    if (wired->key->kind == SKN_FIELD_u32s ||
        wired->key->kind == SKN_FIELD_u64s)
        return post_split(actor, pipe, message, error);
    assert(pipe->edge_count == wired->to_count);
    uint64_t key = key_at(wired->key, message, 0);
    uint32_t receiver = range_of(wired, key);
    if (receiver < pipe->edge_count)
        return edge_post(actor, &pipe->edges[receiver], message, error);
    skn_payload_drop(message);
    return key_outside(actor, pipe, key, error);
}

/* Plug-ins that share a message have a schema of it each: the id says which
 * message it is. */
static skn_out_pipe_t *
pipe_for(const skn_actor_t *actor, const skn_schema_t *schema)
{
    for (uint32_t k = 0; k < actor->out_pipe_count; k++)
        if (actor->out_pipes[k].wired->schema->id == schema->id)
            return &actor->out_pipes[k];
    return NULL;
}

void *
skn_actor_message(skn_actor_t *actor, const skn_schema_t *schema,
                  const size_t *counts, skn_error_t *error)
{
    if (!actor || !schema) {
        skn_fail(error, SKN_USAGE, "skn_actor_message: the %s is NULL",
                 actor ? "schema" : "actor");
        return NULL;
    }
    for (size_t k = 0; !counts && k < schema->field_count; k++)
        if (skn_field_has_room(schema->fields[k].kind)) {
            skn_fail(error, SKN_USAGE,
                     "%s makes a message '%s' without counts, and field '%s' "
                     "needs one",
                     actor->wired->name, schema->name, schema->fields[k].name);
            return NULL;
        }
    return skn_payload_new(actor->pool, schema, counts, error);
}

/* Whether the pipe is open; a late one is as long as there may be answers. */
static bool
may_send(const skn_actor_t *actor, const skn_out_pipe_t *pipe)
{
    return actor->phase == SKN_PHASE_RUNNING ||
           actor->phase == SKN_PHASE_DRAINING ||
           (actor->phase == SKN_PHASE_ENDING && pipe->late);
}

skn_status_t
skn_actor_post(skn_actor_t *actor, const void *message, skn_error_t *error)
{
    if (!actor || !message) {
        skn_message_drop(message);
        return skn_fail(error, SKN_USAGE, "skn_actor_post: the %s is NULL",
                        actor ? "message" : "actor");
    }
    const skn_schema_t *schema = skn_payload_of(message)->schema;
    skn_out_pipe_t *pipe = pipe_for(actor, schema);
    if (!pipe) { /* no pipe for it in the topology: allowed */
        actor->counters.dropped++;
        skn_payload_drop(message);
        return SKN_OK;
    }
    if (!may_send(actor, pipe)) {
        skn_payload_drop(message);
        if (actor->phase < SKN_PHASE_RUNNING)
            return skn_fail(error, SKN_USAGE, "%s sends %s before the start",
                            actor->wired->name, schema->name);
        (void)skn_fail(error, SKN_USAGE,
                       "%s sends %s after its pipes have ended",
                       actor->wired->name, schema->name);
        return skn_fail_hint(error, SKN_USAGE,
                             "an actor that keeps sending when it gets "
                             "answers must be a gate, and end its pipes "
                             "itself");
    }
    skn_status_t status = skn_payload_check(message, error);
    if (status != SKN_OK) {
        skn_payload_drop(message);
        return status;
    }
    switch (pipe->wired->pattern) {
    case SKN_PATTERN_SCATTER:
        return post_scatter(actor, pipe, message, error);
    case SKN_PATTERN_ANY:
        return post_any(actor, pipe, message, error);
    default:
        return post_broadcast(actor, pipe, message, error);
    }
}

skn_status_t
skn_actor_send(skn_actor_t *actor, const skn_schema_t *schema,
               const void *message, skn_error_t *error)
{
    if (!actor || !schema || !message)
        return skn_fail(error, SKN_USAGE, "skn_actor_send: the %s is NULL",
                        !actor    ? "actor"
                        : !schema ? "schema"
                                  : "message");
    void *copy = skn_payload_copy(actor->pool, schema, message, error);
    if (!copy)
        return error ? error->status : SKN_BAD_MESSAGE;
    return skn_actor_post(actor, copy, error);
}

uint32_t
skn_actor_receivers(const skn_actor_t *actor, const skn_schema_t *schema)
{
    const skn_out_pipe_t *pipe =
        actor && schema ? pipe_for(actor, schema) : NULL;
    return pipe ? pipe->edge_count : 0;
}

bool
skn_outgoing_has_credit(skn_actor_t *actor, const skn_schema_t *schema,
                        const void *message)
{
    skn_out_pipe_t *pipe = pipe_for(actor, schema);
    if (!pipe)
        return true;
    if (pipe->wired->pattern == SKN_PATTERN_ANY)
        return edge_with_most_credit(pipe) != NULL;
    uint32_t first = 0, end = pipe->edge_count;
    const skn_field_t *key = pipe->wired->key;
    if (pipe->wired->pattern == SKN_PATTERN_SCATTER &&
        (key->kind == SKN_FIELD_u32 || key->kind == SKN_FIELD_u64)) {
        first = range_of(pipe->wired, key_at(key, message, 0));
        end = first < end ? first + 1 : first; /* out of range: refused */
    }
    for (uint32_t k = first; k < end; k++)
        if (pipe->edges[k].credit == 0)
            return false;
    return true;
}

static skn_out_pipe_t *
pipe_of_edge(skn_actor_t *actor, const skn_out_edge_t *edge)
{
    for (uint32_t k = 0; k < actor->out_pipe_count; k++) {
        skn_out_pipe_t *pipe = &actor->out_pipes[k];
        if (edge >= pipe->edges && edge < pipe->edges + pipe->edge_count)
            return pipe;
    }
    assert(false && "an edge belongs to a pipe");
    return NULL;
}

skn_status_t
skn_outgoing_credit(skn_actor_t *actor, uint32_t slot, uint32_t credit,
                    skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    assert(slot < actor->out_edge_count && credit > 0);
    skn_out_edge_t *edge = &actor->out_edges[slot];
    SKN_COUNT(edge->credit, credit);
    if (actor->unsent == 0)
        return SKN_OK;
    skn_out_pipe_t *pipe = pipe_of_edge(actor, edge);
    assert(edge->credit <= pipe->wired->credit);
    uint64_t begin_ns = actor->trace ? skn_monotonic_ns() : 0;
    while (status == SKN_OK && edge->credit > 0 && edge->outbox.count > 0)
        status =
            edge_send(actor, edge, outbox_take(actor, &edge->outbox), error);
    while (status == SKN_OK && edge->credit > 0 && pipe->shared.count > 0)
        status =
            edge_send(actor, edge, outbox_take(actor, &pipe->shared), error);
    /* A flow of a trace begins in a span. */
    if (actor->trace)
        skn_trace_span(actor->trace, "outbox", begin_ns, skn_monotonic_ns(),
                       NULL, NULL);
    return status;
}

skn_status_t
skn_outgoing_end(skn_actor_t *actor, bool late, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    assert(actor->unsent == 0);
    for (uint32_t p = 0; p < actor->out_pipe_count; p++) {
        const skn_out_pipe_t *pipe = &actor->out_pipes[p];
        for (uint32_t k = 0; k < pipe->edge_count && pipe->late == late; k++) {
            skn_parcel_t end = { .type = SKN_PARCEL_END,
                                 .slot = pipe->edges[k].slot };
            if (status == SKN_OK)
                status = skn_outlet_put(pipe->edges[k].work, &end, error);
        }
    }
    return status;
}

static void
drop_outbox(skn_actor_t *actor, skn_queue_t *outbox)
{
    while (outbox->count > 0)
        skn_payload_drop(outbox_take(actor, outbox));
    skn_queue_fini(outbox);
}

void
skn_outgoing_drop(skn_actor_t *actor)
{
    for (uint32_t k = 0; k < actor->out_edge_count; k++)
        drop_outbox(actor, &actor->out_edges[k].outbox);
    for (uint32_t k = 0; k < actor->out_pipe_count; k++)
        drop_outbox(actor, &actor->out_pipes[k].shared);
}
