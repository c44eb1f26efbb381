/* system_build.c - from a wiring to actors with inboxes, edges and outlets.
 *
 *     sender                                     receiver
 *     out_pipe ─ out_edge ── work outlet ──────▶ work inbox ─ in_edge ─ in_pipe
 *                   ▲        (peer pipes: answers inbox)         │
 *     control inbox ◀──────────── control outlet ── credit ──────┘
 * Everything is made by the host's thread before the actors' threads start,
 * and taken apart by it after they have been joined.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/system_build.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actors/endings.h"
#include "actors/system.h"

/* Payloads that an actor keeps for reuse: a few batches of activations. */
#define POOL_IDLE_BYTES_MAX ((size_t)256 << 20)
#define STATE_ALIGN_BYTES 64u

static void *
array_new(size_t count, size_t item_bytes, skn_error_t *error)
{
    void *array = calloc(count ? count : 1, item_bytes);
    if (!array)
        skn_fail(error, SKN_NO_MEMORY, "no room for %zu bytes of the topology",
                 count * item_bytes);
    return array;
}

/* The receivers of sender `from` of a pipe are [*first, *first + *count). */
static void
receivers_of(const skn_wired_pipe_t *pipe, uint32_t from, uint32_t *first,
             uint32_t *count)
{
    bool single = pipe->pattern == SKN_PATTERN_ONE;
    *first = single && pipe->to_count > 1 ? from : 0;
    *count = single ? 1 : pipe->to_count;
}

static void
count_edges(skn_system_t *system)
{
    const skn_wiring_t *wiring = system->wiring;
    for (uint32_t p = 0; p < wiring->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[p];
        for (uint32_t f = 0; f < pipe->from_count; f++) {
            uint32_t first, count;
            receivers_of(pipe, f, &first, &count);
            system->actors[pipe->from[f]].out_pipe_count++;
            system->actors[pipe->from[f]].out_edge_count += count;
            for (uint32_t t = first; t < first + count; t++) {
                system->actors[pipe->to[t]].in_edge_count++;
                system->actors[pipe->to[t]].peer_edge_count += pipe->peer;
            }
        }
        for (uint32_t t = 0; t < pipe->to_count; t++)
            system->actors[pipe->to[t]].in_pipe_count++;
    }
}

static skn_status_t
allocate_edges(skn_actor_t *actor, skn_error_t *error)
{
    actor->out_pipes =
        array_new(actor->out_pipe_count, sizeof(skn_out_pipe_t), error);
    actor->out_edges =
        array_new(actor->out_edge_count, sizeof(skn_out_edge_t), error);
    actor->in_pipes =
        array_new(actor->in_pipe_count, sizeof(skn_in_pipe_t), error);
    actor->in_edges =
        array_new(actor->in_edge_count, sizeof(skn_in_edge_t), error);
    /* Never more than one outlet an edge. */
    actor->outlets =
        array_new((size_t)actor->out_edge_count + actor->in_edge_count,
                  sizeof(skn_outlet_t *), error);
    actor->outlet_names =
        array_new((size_t)actor->out_edge_count + actor->in_edge_count,
                  sizeof(uint64_t), error);
    bool complete = actor->out_pipes && actor->out_edges && actor->in_pipes &&
                    actor->in_edges && actor->outlets && actor->outlet_names;
    actor->out_pipe_count = actor->out_edge_count = 0;
    actor->in_pipe_count = actor->in_edge_count = 0;
    return complete ? SKN_OK : SKN_NO_MEMORY;
}

typedef enum inbox_name {
    INBOX_WORK,
    INBOX_ANSWERS,
    INBOX_CONTROL,
    INBOX_HOST
} inbox_name_t;

static void
address_of(const skn_system_t *system, uint32_t number, inbox_name_t which,
           char *address)
{
    /* The pointer keeps two systems in one context apart. */
    (void)snprintf(address, SKN_INBOX_ADDRESS_BYTES, "inproc://skein-%p/%u/%d",
                   (const void *)system, number, (int)which);
}

static skn_inbox_t *
inbox_of(const skn_system_t *system, uint32_t number, inbox_name_t which,
         skn_error_t *error)
{
    char address[SKN_INBOX_ADDRESS_BYTES];
    address_of(system, number, which, address);
    return skn_inbox_open(system->context, address, error);
}

/* The actor's outlet to an inbox of another one, made once. */
static skn_outlet_t *
outlet_to(skn_system_t *system, skn_actor_t *actor, uint32_t peer,
          inbox_name_t which, skn_error_t *error)
{
    char address[SKN_INBOX_ADDRESS_BYTES];
    uint64_t name = (uint64_t)peer << 2 | which;
    for (uint32_t k = 0; k < actor->outlet_count; k++)
        if (actor->outlet_names[k] == name)
            return actor->outlets[k];
    address_of(system, peer, which, address);
    skn_outlet_t *outlet = skn_outlet_open(system->context, address, error);
    if (outlet) {
        actor->outlet_names[actor->outlet_count] = name;
        actor->outlets[actor->outlet_count++] = outlet;
    }
    return outlet;
}

static skn_status_t
connect_edge(skn_system_t *system, skn_out_pipe_t *out, skn_in_pipe_t *in,
             uint32_t sender, uint32_t receiver, skn_error_t *error)
{
    skn_actor_t *from = &system->actors[sender],
                *to = &system->actors[receiver];
    skn_out_edge_t *out_edge = &from->out_edges[from->out_edge_count];
    skn_in_edge_t *in_edge = &to->in_edges[to->in_edge_count];
    *out_edge = (skn_out_edge_t){
        .receiver = receiver,
        .slot = to->in_edge_count,
        .credit = out->wired->credit,
        .id = system->edge_count,
        .work = outlet_to(system, from, receiver,
                          out->wired->peer ? INBOX_ANSWERS : INBOX_WORK, error),
    };
    *in_edge = (skn_in_edge_t){
        .pipe = in,
        .part = in->sender_count,
        .credit = out->wired->credit,
        .out_slot = from->out_edge_count,
        .id = system->edge_count++,
        .control = outlet_to(system, to, sender, INBOX_CONTROL, error),
    };
    if (!out_edge->work || !in_edge->control)
        return SKN_NO_MEMORY;
    out->edge_count++;
    in->sender_count++;
    from->out_edge_count++;
    to->in_edge_count++;
    if (out->wired->peer)
        to->open_peers++;
    else
        to->open_edges++;
    return SKN_OK;
}

static const skn_handler_t *
handler_for(const skn_kind_t *kind, const skn_schema_t *schema)
{
    const skn_handler_t *handler = kind->handlers;
    while (handler->schema && handler->schema != schema)
        handler++;
    assert(handler->schema); /* the spec has checked it */
    return handler;
}

static skn_status_t
allocate_sets(skn_in_pipe_t *in, skn_error_t *error)
{
    if (in->wired->collect == SKN_COLLECT_NONE)
        return SKN_OK;
    /* A sender is at most `credit` sets ahead; twice that is a mistake. */
    uint32_t set_count = 2 * in->wired->credit;
    in->sets = array_new(set_count, sizeof(skn_part_set_t), error);
    in->parts =
        array_new((size_t)set_count * in->sender_count, sizeof(void *), error);
    if (!in->sets || !in->parts)
        return SKN_NO_MEMORY;
    in->set_count = set_count;
    for (uint32_t s = 0; s < set_count; s++)
        in->sets[s].part = in->parts + (size_t)s * in->sender_count;
    return SKN_OK;
}

static skn_status_t
connect_pipe(skn_system_t *system, const skn_wired_pipe_t *pipe,
             skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t t = 0; t < pipe->to_count; t++) {
        skn_actor_t *to = &system->actors[pipe->to[t]];
        skn_in_pipe_t *in = &to->in_pipes[to->in_pipe_count++];
        in->wired = pipe;
        in->handler = handler_for(to->kind, pipe->schema);
        in->first_slot = to->in_edge_count;
        for (uint32_t f = 0; f < pipe->from_count && status == SKN_OK; f++) {
            uint32_t first, count;
            receivers_of(pipe, f, &first, &count);
            if (t < first || t >= first + count)
                continue;
            skn_actor_t *from = &system->actors[pipe->from[f]];
            skn_out_pipe_t *out = &from->out_pipes[from->out_pipe_count];
            out->wired = pipe;
            out->sender = f;
            status = connect_edge(system, out, in, pipe->from[f], pipe->to[t],
                                  error);
        }
        if (status == SKN_OK)
            status = allocate_sets(in, error);
    }
    for (uint32_t f = 0; f < pipe->from_count; f++) {
        skn_actor_t *from = &system->actors[pipe->from[f]];
        skn_out_pipe_t *out = &from->out_pipes[from->out_pipe_count++];
        out->edges = from->out_edges + from->out_edge_count - out->edge_count;
    }
    return status;
}

static skn_status_t
allocate_actor(skn_actor_t *actor, skn_error_t *error)
{
    size_t state_bytes = (actor->kind->state_bytes + STATE_ALIGN_BYTES) /
                         STATE_ALIGN_BYTES * STATE_ALIGN_BYTES;
    actor->state = aligned_alloc(STATE_ALIGN_BYTES, state_bytes);
    if (!actor->state)
        return skn_fail(error, SKN_NO_MEMORY, "no room for actor %s",
                        actor->wired->name);
    memset(actor->state, 0, state_bytes);
    actor->pool = skn_pool_new(POOL_IDLE_BYTES_MAX, error);
    actor->scratch = actor->pool ? skn_scratch_new(error) : NULL;
    return actor->scratch ? SKN_OK : SKN_NO_MEMORY;
}

static skn_status_t
build_actor(skn_system_t *system, uint32_t number, skn_error_t *error)
{
    char address[SKN_INBOX_ADDRESS_BYTES];
    skn_actor_t *actor = &system->actors[number];
    if (allocate_actor(actor, error) != SKN_OK)
        return SKN_NO_MEMORY;
    actor->work = inbox_of(system, number, INBOX_WORK, error);
    actor->control = inbox_of(system, number, INBOX_CONTROL, error);
    if (actor->peer_edge_count > 0)
        actor->answers = inbox_of(system, number, INBOX_ANSWERS, error);
    address_of(system, number, INBOX_CONTROL, address);
    system->controls[number] = skn_outlet_open(system->context, address, error);
    address_of(system, 0, INBOX_HOST, address);
    actor->host = skn_outlet_open(system->context, address, error);
    if (!actor->work || !actor->control || !system->controls[number] ||
        !actor->host || (actor->peer_edge_count > 0 && !actor->answers))
        return SKN_NO_MEMORY;
    if (system->trace_file)
        actor->trace = skn_trace_new(error);
    return system->trace_file && !actor->trace ? SKN_NO_MEMORY : SKN_OK;
}

/* Which pipes end late; all actors have theirs by now. */
static skn_status_t
find_endings(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    bool *late = array_new(wiring->pipe_count, sizeof(bool), error);
    skn_status_t status =
        late ? skn_endings_find(wiring, late, error) : SKN_NO_MEMORY;
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++) {
        skn_actor_t *actor = &system->actors[k];
        for (uint32_t p = 0; p < actor->out_pipe_count; p++)
            actor->out_pipes[p].late =
                late[actor->out_pipes[p].wired - wiring->pipes];
    }
    free(late);
    return status;
}

skn_status_t
skn_system_build(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    skn_status_t status = SKN_OK;
    system->inbox = inbox_of(system, 0, INBOX_HOST, error);
    if (!system->inbox)
        return SKN_NO_MEMORY;
    count_edges(system);
    /* All of them, so that counts and arrays agree also after a failure. */
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (allocate_edges(&system->actors[k], error) != SKN_OK)
            status = SKN_NO_MEMORY;
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++)
        status = build_actor(system, k, error);
    for (uint32_t p = 0; p < wiring->pipe_count && status == SKN_OK; p++)
        status = connect_pipe(system, &wiring->pipes[p], error);
    return status == SKN_OK ? find_endings(system, error) : status;
}

static void
unbuild_actor(skn_actor_t *actor)
{
    skn_incoming_drop(actor);
    skn_outgoing_drop(actor);
    for (uint32_t k = 0; k < actor->outlet_count; k++)
        skn_outlet_close(&actor->outlets[k]);
    skn_outlet_close(&actor->host);
    skn_inbox_close(&actor->work);
    skn_inbox_close(&actor->answers);
    skn_inbox_close(&actor->control);
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        free(actor->in_pipes[k].sets);
        free(actor->in_pipes[k].parts);
    }
    free(actor->out_pipes);
    free(actor->out_edges);
    free(actor->in_pipes);
    free(actor->in_edges);
    free(actor->outlets);
    free(actor->outlet_names);
    free(actor->state);
    skn_trace_destroy(&actor->trace);
}

void
skn_system_unbuild(skn_system_t *system)
{
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (system->controls[k])
            skn_outlet_close(&system->controls[k]);
    for (uint32_t k = 0; k < system->actor_count; k++)
        unbuild_actor(&system->actors[k]);
    /* Pools last: messages of one actor waited in the inboxes of others. */
    for (uint32_t k = 0; k < system->actor_count; k++) {
        skn_pool_destroy(&system->actors[k].pool);
        skn_scratch_destroy(&system->actors[k].scratch);
    }
    skn_inbox_close(&system->inbox);
    if (system->context_is_ours)
        skn_context_destroy(&system->context);
    if (system->wake_descriptor >= 0)
        close(system->wake_descriptor);
    if (system->trace_file)
        fclose(system->trace_file);
    skn_placement_destroy(&system->placement);
    free(system->units);
    free(system->controls);
    free(system->actors);
    free(system->threads);
}

/* Sockets: three inboxes, the host's outlets both ways, and two for each pair
 * of actors that a pipe joins. */
static uint32_t
socket_bound(const skn_wiring_t *wiring)
{
    uint64_t edges = 0;
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        edges += (uint64_t)wiring->pipes[p].from_count *
                 (wiring->pipes[p].pattern == SKN_PATTERN_ONE
                      ? 1
                      : wiring->pipes[p].to_count);
    uint64_t sockets = 1 + 5 * (uint64_t)wiring->actor_count + 2 * edges;
    return sockets < UINT32_MAX ? (uint32_t)sockets : UINT32_MAX;
}

static skn_status_t
allocate(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    uint32_t count = wiring->actor_count;
    system->actors = array_new(count, sizeof(skn_actor_t), error);
    system->threads = array_new(count, sizeof(pthread_t), error);
    system->units = array_new(count, sizeof(int32_t), error);
    system->controls = array_new(count, sizeof(skn_outlet_t *), error);
    if (!system->actors || !system->threads || !system->units ||
        !system->controls)
        return SKN_NO_MEMORY;
    for (uint32_t k = 0; k < count; k++) {
        skn_actor_t *actor = &system->actors[k];
        actor->wired = &wiring->actors[k];
        actor->kind = wiring->actors[k].kind;
        actor->number = k;
        actor->system = system;
        actor->wire = system->options.wire;
        actor->wake_descriptor = system->wake_descriptor;
    }
    system->actor_count = count;
    return SKN_OK;
}

/* What the system needs of the machine. */
static skn_status_t
acquire(skn_system_t *system, skn_error_t *error)
{
    const char *trace_path = system->options.trace_path;
    if (system->wake_descriptor < 0)
        return skn_fail(error, SKN_NO_MEMORY, "no event descriptor: %s",
                        strerror(errno));
    if (trace_path)
        system->trace_file = fopen(trace_path, "we");
    if (trace_path && !system->trace_file)
        return skn_fail_hint(error,
                             skn_fail(error, SKN_CANNOT_CREATE, "%s: %s",
                                      trace_path, strerror(errno)),
                             "name a file that you may write for the trace");
    for (uint32_t k = 0; k < system->actor_count; k++)
        system->units[k] = SKN_UNIT_UNBOUND;
    if (!system->options.no_binding) {
        system->placement = skn_placement_new(NULL, error);
        if (!system->placement)
            return SKN_UNAVAILABLE;
        skn_placement_plan(system->placement, system->wiring, 0, system->units);
    }
    system->context_is_ours = !system->options.zmq_context;
    system->context = system->context_is_ours
                          ? skn_context_new(socket_bound(system->wiring), error)
                          : system->options.zmq_context;
    return system->context ? SKN_OK : SKN_NO_MEMORY;
}

skn_system_t *
skn_system_new(const skn_wiring_t *wiring, const skn_start_options_t *options,
               skn_error_t *error)
{
    skn_system_t *system = calloc(1, sizeof(*system));
    if (!system) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a system of actors");
        return NULL;
    }
    system->wiring = wiring;
    system->last_event = &system->first_event;
    system->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (options)
        system->options = *options;
    skn_status_t status = allocate(system, error);
    if (status == SKN_OK)
        status = acquire(system, error);
    if (status == SKN_OK)
        status = skn_system_build(system, error);
    if (status != SKN_OK)
        skn_system_destroy(&system);
    return system;
}
