/* system_edges.c - creates the edges of a system: outlets, slots, crossings.
 *
 *     sender                                   receiver
 *     out_pipe ─ out_edge ── outlet ─────────▶ inbox ─ in_edge ─ in_pipe
 *                   ▲                                     │
 *                 inbox ◀───────────── outlet ── credit ──┘
 * The end of an edge on another node is made there; here the link driver's
 * inbox replaces it, and a crossing determines what the driver does with the
 * parcel (crossings.h). All this is made by the host's thread before the
 * actors' threads start.  SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/port.h"
#include "actors/runtime/system_internal.h"

void *
skn_system_array(size_t count, size_t item_bytes, skn_error_t *error)
{
    void *array = calloc(count ? count : 1, item_bytes);
    if (!array)
        skn_fail(error, SKN_NO_MEMORY,
                 "no memory for %zu bytes of the topology", count * item_bytes);
    return array;
}

/* The sockets of a system that was destroyed close a moment later: the serial
 * number never comes again, as a pointer would. */
static void
address_of(const skn_system_t *system, uint32_t number, char *address)
{
    (void)snprintf(address, SKN_INBOX_ADDRESS_BYTES,
                   "inproc://skein-%" PRIu64 "/%" PRIu32, system->serial,
                   number);
}

skn_inbox_t *
skn_system_inbox(const skn_system_t *system, uint32_t number,
                 skn_error_t *error)
{
    char address[SKN_INBOX_ADDRESS_BYTES];
    address_of(system, number, address);
    return skn_inbox_open(address, error);
}

skn_outlet_t *
skn_system_outlet(const skn_system_t *system, uint32_t number,
                  skn_error_t *error)
{
    char address[SKN_INBOX_ADDRESS_BYTES];
    address_of(system, number, address);
    return skn_outlet_open(address, error);
}

/* --- counts -------------------------------------------------------------- */

/* The receivers of sender `from` of a pipe are [*first, *first + *count). */
static void
receivers_of(const skn_wired_pipe_t *pipe, uint32_t from, uint32_t *first,
             uint32_t *count)
{
    bool single = pipe->pattern == SKN_PATTERN_ONE;
    *first = single && pipe->to_count > 1 ? from : 0;
    *count = single ? 1 : pipe->to_count;
}

static uint32_t
node_of(const skn_system_t *system, uint32_t actor)
{
    return system->wiring->actors[actor].node;
}

/* Counts the edges of a pipe. A broadcast has only one edge for each node, but
 * is counted once for each end: the counts are upper bounds for the arrays. */
static void
count_pipe(skn_system_t *system, const skn_wired_pipe_t *pipe)
{
    for (uint32_t f = 0; f < pipe->from_count; f++) {
        uint32_t first, count;
        skn_actor_t *from = &system->actors[pipe->from[f]];
        receivers_of(pipe, f, &first, &count);
        from->out_pipe_count++;
        from->out_edge_count += count;
        for (uint32_t t = first; t < first + count; t++) {
            skn_actor_t *to = &system->actors[pipe->to[t]];
            to->in_edge_count++;
            to->peer_edge_count += pipe->peer;
            system->crossings.edge_count++;
            system->crossings.export_count += from->here && !to->here;
            system->crossings.import_count += !from->here && to->here;
        }
    }
    for (uint32_t t = 0; t < pipe->to_count; t++)
        system->actors[pipe->to[t]].in_pipe_count++;
}

static skn_status_t
allocate_actor_edges(skn_actor_t *actor, skn_error_t *error)
{
    /* There is at most one outlet for each edge. */
    size_t edges = (size_t)actor->out_edge_count + actor->in_edge_count;
    actor->out_pipes =
        skn_system_array(actor->out_pipe_count, sizeof(skn_out_pipe_t), error);
    actor->out_edges =
        skn_system_array(actor->out_edge_count, sizeof(skn_out_edge_t), error);
    actor->in_pipes =
        skn_system_array(actor->in_pipe_count, sizeof(skn_in_pipe_t), error);
    actor->in_edges =
        skn_system_array(actor->in_edge_count, sizeof(skn_in_edge_t), error);
    actor->outlets = skn_system_array(edges, sizeof(skn_outlet_t *), error);
    actor->outlet_receivers = skn_system_array(edges, sizeof(uint32_t), error);
    bool complete = actor->out_pipes && actor->out_edges && actor->in_pipes &&
                    actor->in_edges && actor->outlets &&
                    actor->outlet_receivers;
    actor->out_pipe_count = actor->out_edge_count = 0;
    actor->in_pipe_count = actor->in_edge_count = 0;
    return complete ? SKN_OK : SKN_NO_MEMORY;
}

static skn_status_t
allocate_crossings(skn_crossings_t *crossings, skn_error_t *error)
{
    size_t ends = (size_t)crossings->export_count + crossings->import_count;
    crossings->exports =
        skn_system_array(crossings->export_count, sizeof(skn_export_t), error);
    crossings->imports =
        skn_system_array(crossings->import_count, sizeof(skn_import_t), error);
    crossings->landings =
        skn_system_array(crossings->import_count, sizeof(skn_landing_t), error);
    crossings->outlets = skn_system_array(ends, sizeof(skn_outlet_t *), error);
    crossings->outlet_receivers =
        skn_system_array(ends, sizeof(uint32_t), error);
    crossings->crossing_of_edge =
        skn_system_array(crossings->edge_count, sizeof(uint32_t), error);
    if (!crossings->exports || !crossings->imports || !crossings->landings ||
        !crossings->outlets || !crossings->outlet_receivers ||
        !crossings->crossing_of_edge)
        return SKN_NO_MEMORY;
    memset(crossings->crossing_of_edge, 0xff,
           crossings->edge_count * sizeof(uint32_t));
    crossings->import_room = crossings->import_count;
    crossings->export_count = crossings->import_count = crossings->edge_count =
        0;
    return SKN_OK;
}

skn_status_t
skn_system_allocate_edges(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    skn_status_t status = SKN_OK;
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        count_pipe(system, &wiring->pipes[p]);
    /* Visit all actors, so that counts and arrays agree also after a
     * failure. */
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (allocate_actor_edges(&system->actors[k], error) != SKN_OK)
            status = SKN_NO_MEMORY;
    if (allocate_crossings(&system->crossings, error) != SKN_OK)
        status = SKN_NO_MEMORY;
    return status;
}

/* --- outlets ------------------------------------------------------------- */

/* The outlet to an inbox: the one in the list, or a new one, for which the list
 * has room. */
static skn_outlet_t *
outlet_in(skn_system_t *system, uint32_t number, skn_outlet_t **outlets,
          uint32_t *receivers, uint32_t *count, skn_error_t *error)
{
    for (uint32_t k = 0; k < *count; k++)
        if (receivers[k] == number)
            return outlets[k];
    skn_outlet_t *outlet = skn_system_outlet(system, number, error);
    if (outlet) {
        receivers[*count] = number;
        outlets[(*count)++] = outlet;
    }
    return outlet;
}

static skn_outlet_t *
outlet_of_actor(skn_system_t *system, skn_actor_t *actor, uint32_t number,
                skn_error_t *error)
{
    return outlet_in(system, number, actor->outlets, actor->outlet_receivers,
                     &actor->outlet_count, error);
}

static skn_outlet_t *
outlet_of_crossings(skn_system_t *system, uint32_t number, skn_error_t *error)
{
    skn_crossings_t *crossings = &system->crossings;
    return outlet_in(system, number, crossings->outlets,
                     crossings->outlet_receivers, &crossings->outlet_count,
                     error);
}

/* --- one edge ------------------------------------------------------------ */

/* An edge that is being made: sender f and receiver t of a pipe. */
typedef struct joint {
    const skn_wired_pipe_t *pipe;
    uint32_t sender, receiver; /* actors */
    uint32_t edge;             /* its number in the topology */
    skn_out_pipe_t *out;       /* NULL: the sender is elsewhere */
    skn_in_pipe_t *in;         /* NULL: the receiver is elsewhere */
} joint_t;

/* Makes the export for an edge whose receiver is on another node: its parcels
 * go to the link driver. */
static skn_status_t
make_export(skn_system_t *system, const joint_t *joint, uint32_t slot,
            skn_error_t *error)
{
    skn_crossings_t *crossings = &system->crossings;
    skn_outlet_t *back = outlet_of_crossings(system, joint->sender, error);
    if (!back)
        return SKN_NO_MEMORY;
    assert(joint->edge < crossings->edge_count);
    crossings->crossing_of_edge[joint->edge] = crossings->export_count;
    crossings->exports[crossings->export_count++] = (skn_export_t){
        .edge = joint->edge,
        .node = node_of(system, joint->receiver),
        .slot = slot,
        .pipe = joint->pipe,
        .back = back,
    };
    return SKN_OK;
}

static skn_status_t
make_out_edge(skn_system_t *system, const joint_t *joint, uint32_t in_slot,
              skn_error_t *error)
{
    skn_actor_t *from = &system->actors[joint->sender];
    skn_out_edge_t *edge = &from->out_edges[from->out_edge_count];
    *edge = (skn_out_edge_t){
        .receiver = joint->receiver,
        .slot = joint->in ? in_slot : system->crossings.export_count,
        .credit = joint->pipe->credit,
        .id = joint->edge,
    };
    edge->work = outlet_of_actor(
        system, from,
        joint->in ? joint->receiver : skn_system_links_number(system), error);
    if (!edge->work)
        return SKN_NO_MEMORY;
    if (!joint->in &&
        make_export(system, joint, from->out_edge_count, error) != SKN_OK)
        return SKN_NO_MEMORY;
    joint->out->edge_count++;
    from->out_edge_count++;
    return SKN_OK;
}

/* Makes the landing for an edge whose sender is on another node; the first
 * landing makes the import. Returns the landing's number, which parcels of
 * credit carry. */
static skn_status_t
make_landing(skn_system_t *system, const joint_t *joint, uint32_t in_slot,
             uint32_t *number, skn_error_t *error)
{
    skn_crossings_t *crossings = &system->crossings;
    uint32_t *crossing = &crossings->crossing_of_edge[joint->edge];
    skn_outlet_t *inbox = outlet_of_crossings(system, joint->receiver, error);
    if (!inbox)
        return SKN_NO_MEMORY;
    if (*crossing == SKN_CROSSING_NONE) {
        assert(crossings->import_count < crossings->import_room);
        *crossing = crossings->import_count;
        crossings->imports[crossings->import_count++] = (skn_import_t){
            .edge = joint->edge,
            .node = node_of(system, joint->sender),
            .first_landing = SKN_CROSSING_NONE,
            .pipe = joint->pipe,
        };
    }
    skn_import_t *import = &crossings->imports[*crossing];
    assert(*crossing < crossings->import_count && import->edge == joint->edge);
    *number = crossings->landing_count++;
    crossings->landings[*number] = (skn_landing_t){
        .import = *crossing,
        .next = import->first_landing,
        .slot = in_slot,
        .inbox = inbox,
    };
    import->first_landing = *number;
    import->landing_count++;
    return SKN_OK;
}

static skn_status_t
make_in_edge(skn_system_t *system, const joint_t *joint, uint32_t out_slot,
             skn_error_t *error)
{
    skn_actor_t *to = &system->actors[joint->receiver];
    skn_in_edge_t *edge = &to->in_edges[to->in_edge_count];
    *edge = (skn_in_edge_t){
        .pipe = joint->in,
        .part = joint->in->sender_count,
        .sender = joint->sender,
        .credit = joint->pipe->credit,
        .out_slot = out_slot,
        .id = joint->edge,
    };
    if (joint->out)
        edge->back = outlet_of_actor(system, to, joint->sender, error);
    else if (make_landing(system, joint, to->in_edge_count, &edge->out_slot,
                          error) == SKN_OK)
        edge->back =
            outlet_of_actor(system, to, skn_system_links_number(system), error);
    if (!edge->back)
        return SKN_NO_MEMORY;
    joint->in->sender_count++;
    to->in_edge_count++;
    if (joint->pipe->peer)
        to->open_peers++;
    else
        to->open_edges++;
    return SKN_OK;
}

static skn_status_t
make_edge(skn_system_t *system, const joint_t *joint, bool first,
          skn_error_t *error)
{
    uint32_t out_slot = system->actors[joint->sender].out_edge_count;
    uint32_t in_slot = system->actors[joint->receiver].in_edge_count;
    skn_status_t status = SKN_OK;
    if (joint->out && first)
        status = make_out_edge(system, joint, in_slot, error);
    if (joint->in && status == SKN_OK)
        status = make_in_edge(system, joint, out_slot, error);
    return status;
}

/* --- one pipe ------------------------------------------------------------ */

static const skn_handler_t *
handler_for(const skn_kind_t *kind, const skn_schema_t *schema)
{
    const skn_handler_t *handler = kind->handlers;
    if (kind == &skn_port_kind)
        return NULL; /* the host takes it */
    while (handler->schema && handler->schema->id != schema->id)
        handler++;
    assert(handler->schema); /* the spec has checked it */
    return handler;
}

static skn_status_t
allocate_sets(skn_in_pipe_t *in, skn_error_t *error)
{
    if (!skn_collect_waits(in->wired->collect))
        return SKN_OK;
    /* A sender is at most `credit` sets ahead; twice that many is an error. */
    uint32_t set_count = 2 * in->wired->credit;
    assert(set_count > 0);
    in->sets = skn_system_array(set_count, sizeof(skn_part_set_t), error);
    in->parts = skn_system_array((size_t)set_count * in->sender_count,
                                 sizeof(void *), error);
    in->done = skn_system_array(set_count, sizeof(uint64_t), error);
    if (!in->sets || !in->parts || !in->done)
        return SKN_NO_MEMORY;
    in->set_count = set_count;
    for (uint32_t s = 0; s < set_count; s++)
        in->sets[s].part = in->parts + (size_t)s * in->sender_count;
    return SKN_OK;
}

/* Whether receiver t is the first on its node, for which a broadcast from
 * another node makes the edge. */
static bool
first_of_node(const skn_system_t *system, const skn_wired_pipe_t *pipe,
              uint32_t t)
{
    for (uint32_t k = 0; k < t; k++)
        if (node_of(system, pipe->to[k]) == node_of(system, pipe->to[t]))
            return false;
    return true;
}

/* Makes the edges of receiver t, one for each sender. edges[from_count *
 * node_count] holds the numbers of the edges that a broadcast shares. */
static skn_status_t
connect_receiver(skn_system_t *system, const skn_wired_pipe_t *pipe, uint32_t t,
                 uint32_t *edges, skn_error_t *error)
{
    skn_actor_t *to = &system->actors[pipe->to[t]];
    skn_in_pipe_t *in = &to->in_pipes[to->in_pipe_count++];
    bool broadcast = pipe->pattern == SKN_PATTERN_BROADCAST;
    bool first_here = first_of_node(system, pipe, t);
    uint32_t node = node_of(system, pipe->to[t]);
    skn_status_t status = SKN_OK;
    in->wired = pipe;
    in->handler = handler_for(to->kind, pipe->schema);
    in->first_slot = to->in_edge_count;
    for (uint32_t f = 0; f < pipe->from_count && status == SKN_OK; f++) {
        uint32_t first, count;
        uint32_t *shared = &edges[(size_t)f * system->node_count + node];
        skn_actor_t *from = &system->actors[pipe->from[f]];
        receivers_of(pipe, f, &first, &count);
        if (t < first || t >= first + count)
            continue;
        bool is_shared =
            broadcast && !first_here && node_of(system, pipe->from[f]) != node;
        if (!is_shared)
            *shared = system->crossings.edge_count++;
        joint_t joint = { pipe,    pipe->from[f], pipe->to[t],
                          *shared, NULL,          to->here ? in : NULL };
        if (from->here) {
            joint.out = &from->out_pipes[from->out_pipe_count];
            joint.out->wired = pipe;
            joint.out->sender = f;
        }
        status = make_edge(system, &joint, !is_shared, error);
    }
    assert(in->first_slot + in->sender_count == to->in_edge_count);
    return status == SKN_OK && to->here ? allocate_sets(in, error) : status;
}

skn_status_t
skn_system_connect_pipe(skn_system_t *system, const skn_wired_pipe_t *pipe,
                        skn_error_t *error)
{
    uint32_t *edges = skn_system_array(
        (size_t)pipe->from_count * system->node_count, sizeof(*edges), error);
    skn_status_t status = edges ? SKN_OK : SKN_NO_MEMORY;
    for (uint32_t t = 0; t < pipe->to_count && status == SKN_OK; t++)
        status = connect_receiver(system, pipe, t, edges, error);
    for (uint32_t f = 0; f < pipe->from_count; f++) {
        skn_actor_t *from = &system->actors[pipe->from[f]];
        skn_out_pipe_t *out = &from->out_pipes[from->out_pipe_count++];
        out->edges = from->out_edges + from->out_edge_count - out->edge_count;
    }
    free(edges);
    return status;
}
