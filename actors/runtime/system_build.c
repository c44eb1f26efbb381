/* system_build.c - creates and destroys the actors and inboxes of a wiring.
 *
 * The host's thread creates everything before the actors' threads start, and
 * destroys it after they have been joined. Actors of other nodes have empty
 * entries in the arrays. The edges are made in system_edges.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/system_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actors/runtime/endings.h"
#include "actors/runtime/link_driver.h"
#include "actors/runtime/port.h"
#include "actors/runtime/system.h"
#include "actors/runtime/waiting.h"
#include "actors/runtime/watchdog.h"

/* The most bytes of payloads that an actor keeps for reuse: a few batches of
 * activations. */
#define POOL_IDLE_BYTES_MAX ((size_t)256 << 20)
#define STATE_ALIGN_BYTES 64u

static skn_status_t
allocate_actor(skn_actor_t *actor, skn_error_t *error)
{
    size_t state_bytes = (actor->kind->state_bytes + STATE_ALIGN_BYTES) /
                         STATE_ALIGN_BYTES * STATE_ALIGN_BYTES;
    actor->state = aligned_alloc(STATE_ALIGN_BYTES, state_bytes);
    if (!actor->state)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for actor %s",
                        actor->wired->name);
    memset(actor->state, 0, state_bytes);
    actor->pool = skn_pool_new(POOL_IDLE_BYTES_MAX, error);
    actor->scratch = actor->pool ? skn_scratch_new(error) : NULL;
    return actor->scratch ? SKN_OK : SKN_NO_MEMORY;
}

static skn_status_t
build_actor(skn_system_t *system, uint32_t number, skn_error_t *error)
{
    skn_actor_t *actor = &system->actors[number];
    if (allocate_actor(actor, error) != SKN_OK)
        return SKN_NO_MEMORY;
    actor->inbox = skn_system_inbox(system, number, error);
    actor->host =
        skn_system_outlet(system, skn_system_host_number(system), error);
    if (system->links)
        actor->links =
            skn_system_outlet(system, skn_system_links_number(system), error);
    if (!actor->inbox || !actor->host || (system->links && !actor->links))
        return SKN_NO_MEMORY;
    if (system->trace_file)
        actor->trace = skn_trace_new(error);
    return system->trace_file && !actor->trace ? SKN_NO_MEMORY : SKN_OK;
}

/* Finds the pipes that end late; all actors have their pipes by now. */
static skn_status_t
find_endings(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    bool *late = skn_system_array(wiring->pipe_count, sizeof(bool), error);
    skn_status_t status =
        late ? skn_endings_find(wiring, late, error) : SKN_NO_MEMORY;
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++) {
        skn_actor_t *actor = &system->actors[k];
        for (uint32_t p = 0; p < actor->out_pipe_count && actor->here; p++) {
            skn_out_pipe_t *pipe = &actor->out_pipes[p];
            assert(pipe->wired && pipe->edge_count > 0);
            pipe->late = late[pipe->wired - wiring->pipes];
        }
    }
    free(late);
    return status;
}

static bool
is_port(const skn_actor_t *actor)
{
    return actor->here && actor->kind == &skn_port_kind;
}

/* The descriptor `arrivals` is for a host that waits for the end. */
static skn_status_t
build_port(skn_system_t *system, skn_actor_t *actor, skn_error_t *error)
{
    struct epoll_event event = { .events = EPOLLIN };
    if (system->arrivals < 0) {
        system->arrivals = epoll_create1(EPOLL_CLOEXEC);
        (void)epoll_ctl(system->arrivals, EPOLL_CTL_ADD,
                        system->wake_descriptor, &event);
    }
    if (system->arrivals < 0 ||
        epoll_ctl(system->arrivals, EPOLL_CTL_ADD,
                  skn_inbox_descriptor(actor->inbox), &event) != 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot create the descriptor of port %s: %s",
                        actor->wired->name, strerror(errno));
    actor->port = skn_port_new(actor, error);
    system->port_count += actor->port != NULL;
    return actor->port ? SKN_OK : SKN_NO_MEMORY;
}

/* Creates inboxes, actors, edges and outlets; after a failure, what was created
 * stays for skn_system_unbuild. */
static skn_status_t
build(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    skn_status_t status;
    system->inbox =
        skn_system_inbox(system, skn_system_host_number(system), error);
    if (!system->inbox)
        return SKN_NO_MEMORY;
    status = skn_system_allocate_edges(system, error);
    if (status == SKN_OK && system->node_count > 1) {
        assert(wiring->link_driver);
        system->links = wiring->link_driver->make(system, error);
        status = system->links ? SKN_OK : error->status;
    }
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++)
        if (system->actors[k].here)
            status = build_actor(system, k, error);
    for (uint32_t p = 0; p < wiring->pipe_count && status == SKN_OK; p++)
        status = skn_system_connect_pipe(system, &wiring->pipes[p], error);
    if (status == SKN_OK)
        status = find_endings(system, error);
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++)
        if (is_port(&system->actors[k]))
            status = build_port(system, &system->actors[k], error);
    if (status == SKN_OK) {
        system->watchdog = skn_watchdog_new(system, error);
        status = system->watchdog ? SKN_OK : SKN_NO_MEMORY;
    }
    return status;
}

static void
unbuild_actor(skn_actor_t *actor)
{
    skn_port_destroy(&actor->port);
    skn_incoming_drop(actor);
    skn_outgoing_drop(actor);
    for (uint32_t k = 0; k < actor->outlet_count; k++)
        skn_outlet_close(&actor->outlets[k]);
    skn_outlet_close(&actor->host);
    skn_outlet_close(&actor->links);
    for (uint32_t k = 0; k < actor->clock_here_count; k++)
        free(actor->clock_here[k]);
    skn_inbox_close(&actor->inbox);
    skn_queue_fini(&actor->work);
    skn_queue_fini(&actor->answers);
    skn_deadlines_fini(&actor->deadlines);
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        free(actor->in_pipes[k].sets);
        free(actor->in_pipes[k].done);
        free(actor->in_pipes[k].parts);
    }
    free(actor->out_pipes);
    free(actor->out_edges);
    free(actor->in_pipes);
    free(actor->in_edges);
    free(actor->outlets);
    free(actor->outlet_receivers);
    free(actor->state);
    skn_trace_destroy(&actor->trace);
}

void
skn_system_unbuild(skn_system_t *system)
{
    skn_watchdog_destroy(&system->watchdog);
    for (uint32_t k = 0; k < system->actor_count; k++)
        unbuild_actor(&system->actors[k]);
    for (uint32_t k = 0; k < system->crossings.outlet_count; k++)
        skn_outlet_close(&system->crossings.outlets[k]);
    if (system->links)
        system->wiring->link_driver->destroy(&system->links);
    /* Pools come last: messages of one actor waited in the inboxes of
     * others. */
    for (uint32_t k = 0; k < system->actor_count; k++) {
        skn_pool_destroy(&system->actors[k].pool);
        skn_scratch_destroy(&system->actors[k].scratch);
    }
    skn_inbox_close(&system->inbox);
    if (system->wake_descriptor >= 0)
        close(system->wake_descriptor);
    if (system->arrivals >= 0)
        close(system->arrivals);
    if (system->trace_file)
        fclose(system->trace_file);
    skn_placement_destroy(&system->placement);
    free(system->crossings.exports);
    free(system->crossings.imports);
    free(system->crossings.landings);
    free(system->crossings.outlets);
    free(system->crossings.outlet_receivers);
    free(system->crossings.crossing_of_edge);
    free(system->loads);
    free(system->units);
    free(system->actors);
    free(system->misuses);
    free(system->threads);
}

/* An upper bound on sockets: for each actor an inbox, an outlet to the host,
 * one to and one from the link driver, and the two ends of its orders; two for
 * each pair of actors that a pipe joins, or three with the link driver between
 * them; and the host's inbox, the link driver's with two outlets, and the
 * watchdog's. */
static uint32_t
socket_bound(const skn_wiring_t *wiring)
{
    uint64_t edges = 0;
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        edges += (uint64_t)wiring->pipes[p].from_count *
                 (wiring->pipes[p].pattern == SKN_PATTERN_ONE
                      ? 1
                      : wiring->pipes[p].to_count);
    uint64_t sockets = 5 + 6 * (uint64_t)wiring->actor_count + 3 * edges;
    return sockets < UINT32_MAX ? (uint32_t)sockets : UINT32_MAX;
}

/* The load of the actor's core; NULL for an actor that is niced or floats. */
static skn_load_t *
load_of(skn_system_t *system, const skn_actor_t *actor)
{
    int core = actor->wired->core;
    if (!actor->here || core < 0 || actor->wired->nice > 0)
        return NULL;
    for (uint32_t k = 0; k < system->load_count; k++)
        if (system->loads[k].core == core)
            return &system->loads[k];
    skn_load_init(&system->loads[system->load_count], core);
    return &system->loads[system->load_count++];
}

static skn_status_t
allocate(skn_system_t *system, skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    uint32_t count = wiring->actor_count;
    system->actors = skn_system_array(count, sizeof(skn_actor_t), error);
    system->misuses = skn_system_array(count, sizeof(skn_error_t), error);
    system->threads = skn_system_array(count, sizeof(skn_thread_t *), error);
    system->units = skn_system_array(count, sizeof(int32_t), error);
    system->loads = skn_system_array(count, sizeof(skn_load_t), error);
    if (!system->actors || !system->misuses || !system->threads ||
        !system->units || !system->loads)
        return SKN_NO_MEMORY;
    for (uint32_t k = 0; k < count; k++) {
        skn_actor_t *actor = &system->actors[k];
        actor->wired = &wiring->actors[k];
        actor->kind = wiring->actors[k].kind;
        actor->here = wiring->actors[k].node == system->options.node;
        system->here_count += actor->here;
        actor->misuse = &system->misuses[k];
        actor->number = k;
        actor->system = system;
        actor->wire = system->options.wire;
        actor->wake_descriptor = system->wake_descriptor;
        actor->watched.fd = -1;
        actor->load = load_of(system, actor);
    }
    system->actor_count = count;
    system->node_count = wiring->node_count > 0 ? wiring->node_count : 1;
    return SKN_OK;
}

/* Acquires the machine's resources that the system needs. */
static skn_status_t
acquire(skn_system_t *system, skn_error_t *error)
{
    const char *trace_path = system->options.trace_path;
    if (system->wake_descriptor < 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot create an event descriptor: %s",
                        strerror(errno));
    if (trace_path)
        system->trace_file = fopen(trace_path, "we");
    if (trace_path && !system->trace_file)
        return skn_fail_hint(error,
                             skn_fail(error, SKN_CANNOT_CREATE, "%s: %s",
                                      trace_path, strerror(errno)),
                             "choose a file for the trace that you may write "
                             "to");
    for (uint32_t k = 0; k < system->actor_count; k++)
        system->units[k] = SKN_UNIT_UNBOUND;
    if (!system->options.no_binding &&
        skn_placement_is_needed(system->wiring, system->options.node)) {
        system->placement = skn_placement_new(NULL, error);
        if (!system->placement)
            return SKN_UNAVAILABLE;
        skn_placement_plan(system->placement, system->wiring,
                           system->options.node, system->units);
    }
    return skn_pipes_reserve(socket_bound(system->wiring), error);
}

skn_system_t *
skn_system_new(const skn_wiring_t *wiring, const skn_start_options_t *options,
               skn_error_t *error)
{
    static _Atomic uint64_t systems;
    skn_system_t *system = calloc(1, sizeof(*system));
    if (!system) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a system of actors");
        return NULL;
    }
    system->wiring = wiring;
    system->serial = atomic_fetch_add(&systems, 1);
    system->patience_ns = SKN_WAITING_PATIENCE_NS;
    system->last_event = &system->first_event;
    system->arrivals = -1;
    system->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (options)
        system->options = *options;
    system->cpu_begin_ns = skn_usage_cpu_ns() - system->options.prepare_cpu_ns;
    if (system->options.patience_ms > 0)
        system->patience_ns = (uint64_t)system->options.patience_ms * 1000000u;
    skn_status_t status = allocate(system, error);
    if (status == SKN_OK)
        status = acquire(system, error);
    if (status == SKN_OK)
        status = build(system, error);
    if (status != SKN_OK)
        skn_system_destroy(&system);
    return system;
}
