/* system_run.c - the host's side of a run: readiness, events, the end.
 *
 * This file owns: the host's inbox and the end of the threads. They are started
 * in system_threads.c, and the pipes are made in system_build.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/system.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/runtime/link_driver.h"
#include "actors/runtime/port.h"
#include "actors/runtime/reporting.h"
#include "actors/runtime/system_internal.h"
#include "actors/runtime/watchdog.h"
#include "transport/socket/clock.h"

static void
wake(const skn_system_t *system)
{
    uint64_t one = 1;
    ssize_t written = write(system->wake_descriptor, &one, sizeof(one));
    (void)written; /* a full counter is awake already */
}

static void
tell_all(skn_system_t *system, skn_parcel_type_t type)
{
    /* The pointer makes earlier writes to the system visible to the actor that
     * takes the parcel: close_all's barrier depends on it. */
    skn_parcel_t parcel = { .type = type, .pointer = system };
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (system->threads[k] &&
            (type != SKN_PARCEL_READ ||
             !atomic_exchange(&system->actors[k].was_told_to_read, true)))
            skn_thread_order(system->threads[k], &parcel);
}

static void
for_each_port(const skn_system_t *system, void (*act)(skn_port_t *port))
{
    for (uint32_t k = 0; k < system->actor_count && system->port_count > 0; k++)
        if (system->actors[k].port)
            act(system->actors[k].port);
}

void
skn_system_alarm(const skn_system_t *system)
{
    for_each_port(system, skn_port_alarm);
}

static void
close_all(skn_system_t *system)
{
    if (system->closing)
        return;
    system->closing = true;
    atomic_store(&system->is_over, true);
    for_each_port(system, skn_port_close);
    /* No actor closes before all have left their handlers: after a failure an
     * output shard may still compute with the rows that its updater lends. */
    if (system->thread_count > 0)
        system->has_barrier = pthread_barrier_init(&system->left, NULL,
                                                   system->thread_count) == 0;
    tell_all(system, SKN_PARCEL_CLOSE);
    if (system->links)
        system->wiring->link_driver->close(system->links);
}

/* Starts the actors once all actors of this node, and all other nodes, are
 * ready. */
static void
begin_all(skn_system_t *system)
{
    assert(!system->begun);
    system->begun = true;
    tell_all(system, SKN_PARCEL_START);
    if (system->here_count == 0)
        close_all(system); /* no actor will report its end */
}

/* If the run still waits for other nodes, no actor has begun: a stop ends them
 * right away. */
static void
end_unbegun(skn_system_t *system)
{
    if (system->stop_told && system->links && !system->begun &&
        system->ready_count == system->here_count)
        close_all(system);
}

static void
take_ready(skn_system_t *system, uint32_t who)
{
    assert(who == system->actor_count ||
           system->ready_count < system->here_count);
    if (who < system->actor_count &&
        ++system->ready_count == system->here_count && system->links) {
        system->wiring->link_driver->ready(system->links);
        end_unbegun(system);
    }
    if (who == system->actor_count && !system->closing)
        begin_all(system);
}

/* The other nodes may still need what we have sent. */
static void
take_ended(skn_system_t *system, uint32_t who)
{
    /* A port ends without having been ready where a thread was refused. */
    assert(who == system->actor_count || system->actors[who].port ||
           system->ended_count < system->ready_count);
    if (who == system->actor_count)
        close_all(system);
    else if (++system->ended_count == system->here_count && system->links)
        system->wiring->link_driver->finish(system->links);
    else if (system->ended_count == system->here_count)
        close_all(system);
}

static void
take_failure(skn_system_t *system, const skn_parcel_t *parcel)
{
    const skn_error_t *error = parcel->pointer;
    assert(!error || error->status != SKN_OK);
    if (system->failure.status == SKN_OK) {
        if (error)
            system->failure = *error;
        else
            skn_fail(&system->failure, SKN_NO_MEMORY,
                     "an actor failed, but there was no memory for its error");
        if (system->links && parcel->slot < system->actor_count)
            system->wiring->link_driver->fail(system->links, &system->failure);
    }
    free(parcel->pointer);
    close_all(system);
}

/* --- events that were sent and not read ----------------------------------- */

void
skn_system_count_event(skn_system_t *system)
{
    atomic_fetch_add(&system->event_count, 1);
}

static bool
is_full(skn_system_t *system)
{
    return atomic_load(&system->event_count) >= SKN_EVENTS_MAX &&
           !atomic_load(&system->waits);
}

/* Sets the flag and then checks again, so that no wake is lost: either this
 * check finds room, or the host finds the flag when it makes room. */
bool
skn_system_has_many_events(skn_system_t *system)
{
    if (!is_full(system))
        return false;
    atomic_store(&system->events_awaited, true);
    return is_full(system);
}

/* Actors that wait to send are woken once half of the events have been read. */
static void
uncount_event(skn_system_t *system)
{
    uint32_t count = atomic_fetch_sub(&system->event_count, 1);
    assert(count > 0);
    if (count <= SKN_EVENTS_MAX / 2 + 1 &&
        atomic_exchange(&system->events_awaited, false))
        tell_all(system, SKN_PARCEL_READ);
}

/* From now on the host reads no events, and takes no messages from ports, until
 * the run has ended. */
static void
lift_bounds(skn_system_t *system)
{
    atomic_store(&system->waits, true);
    for_each_port(system, skn_port_lift_bound);
    if (atomic_exchange(&system->events_awaited, false))
        tell_all(system, SKN_PARCEL_READ);
}

static void
restore_bounds(skn_system_t *system)
{
    atomic_store(&system->waits, false);
    for_each_port(system, skn_port_restore_bound);
}

static void
keep_event(skn_system_t *system, char *text, bool counts)
{
    skn_event_t *event = calloc(1, sizeof(*event));
    if (!event) {
        free(text);
        if (counts)
            uncount_event(system);
        return;
    }
    event->text = text;
    event->counts = counts;
    *system->last_event = event;
    system->last_event = &event->next;
}

static void
take_parcel(skn_system_t *system, const skn_parcel_t *parcel)
{
    switch (parcel->type) {
    case SKN_PARCEL_READY:
        take_ready(system, parcel->slot);
        break;
    case SKN_PARCEL_ENDED:
        take_ended(system, parcel->slot);
        break;
    case SKN_PARCEL_FAILED:
        take_failure(system, parcel);
        break;
    case SKN_PARCEL_STOP: /* another node was asked to stop */
        atomic_store(&system->stop_wanted, true);
        break;
    default:
        assert(parcel->type == SKN_PARCEL_EVENT ||
               parcel->type == SKN_PARCEL_NOTICE);
        keep_event(system, parcel->pointer, parcel->type == SKN_PARCEL_EVENT);
        break;
    }
}

/* Asks all actors to finish cleanly. */
static void
stop_all(skn_system_t *system)
{
    system->stop_told = true;
    for_each_port(system, skn_port_finish);
    tell_all(system, SKN_PARCEL_STOP);
    if (system->links)
        system->wiring->link_driver->stop(system->links);
    end_unbegun(system);
}

/* Ends the run at once, as when another node fails. */
static void
break_off(skn_system_t *system)
{
    if (system->closing)
        return;
    (void)skn_fail(&system->failure, SKN_UNAVAILABLE, "the run was aborted");
    if (system->links)
        system->wiring->link_driver->leave(system->links);
    close_all(system);
}

/* Takes the parcels that have arrived; waits for more if `timeout_ms`
 * allows. */
static void
pump(skn_system_t *system, int timeout_ms)
{
    skn_parcel_t parcel;
    uint64_t count;
    bool keeps = system->port_count > 0 && atomic_load(&system->waits);
    const struct pollfd others = { keeps ? system->arrivals
                                         : system->wake_descriptor,
                                   POLLIN, 0 };
    if (timeout_ms != 0)
        skn_inbox_wait(&system->inbox, 1, &others, timeout_ms);
    ssize_t bytes = read(system->wake_descriptor, &count, sizeof(count));
    (void)bytes; /* an empty counter is fine: the read does not block */
    if (keeps)
        for_each_port(system, skn_port_pump);
    while (skn_inbox_take(system->inbox, &parcel))
        take_parcel(system, &parcel);
    if (atomic_load(&system->stop_wanted) && !system->stop_told)
        stop_all(system);
    if (atomic_load(&system->abort_wanted))
        break_off(system);
}

void
skn_system_leave(skn_system_t *system)
{
    atomic_fetch_add(&system->gone_count, 1);
    wake(system);
}

static void
drop_event(skn_system_t *system)
{
    skn_event_t *event = system->first_event;
    assert(event);
    system->first_event = event->next;
    if (!system->first_event)
        system->last_event = &system->first_event;
    if (event->counts)
        uncount_event(system);
    free(event->text);
    free(event);
}

skn_status_t
skn_system_start(skn_system_t *system, skn_system_tell_t *tell, void *job,
                 skn_error_t *error)
{
    system->begin_ns = skn_monotonic_ns();
    skn_status_t status = skn_system_start_threads(system, error);
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++)
        if (system->actors[k].port) {
            take_ready(system, k);
            skn_port_pump(system->actors[k].port);
        }
    while (status == SKN_OK && system->failure.status == SKN_OK &&
           system->ready_count < system->here_count) {
        pump(system, -1);
        for (; tell && system->first_event; drop_event(system))
            tell(job, system->first_event->text);
    }
    if (status == SKN_OK && system->failure.status == SKN_OK) {
        if (!system->links) /* with links: when the other nodes are ready */
            begin_all(system);
        return SKN_OK;
    }
    close_all(system);
    skn_status_t failure = skn_system_wait(system, error);
    return status != SKN_OK ? status : failure;
}

bool
skn_systems_have_ended(void)
{
    return skn_pipes_have_ended();
}

skn_port_t *
skn_system_port(const skn_system_t *system, const char *name,
                skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    for (uint32_t k = 0; k < system->actor_count; k++) {
        const skn_wired_actor_t *wired = &wiring->actors[k];
        if (strcmp(wired->name, name) != 0)
            continue;
        if (wired->kind != &skn_port_kind)
            skn_fail(error, SKN_USAGE, "'%s' is not a port: its kind is '%s'",
                     name, wired->kind->name);
        else if (!system->actors[k].here)
            skn_fail(error, SKN_USAGE, "port '%s' is on node '%s'", name,
                     wiring->nodes[wired->node].name);
        return system->actors[k].port;
    }
    skn_fail(error, SKN_USAGE, "the topology has no port '%s'", name);
    return NULL;
}

int
skn_system_fd(const skn_system_t *system)
{
    return system->wake_descriptor;
}

static skn_status_t
take_event(skn_system_t *system, char *line, size_t line_bytes,
           skn_error_t *error)
{
    skn_event_t *event = system->first_event;
    size_t event_bytes = strlen(event->text) + 1;
    if (event_bytes > line_bytes)
        return skn_fail(error, SKN_TOO_SMALL,
                        "the next event needs a buffer of %zu bytes, not %zu",
                        event_bytes, line_bytes);
    memcpy(line, event->text, event_bytes);
    drop_event(system);
    return SKN_OK;
}

/* Whether every thread has left, so that there are no more events and a join
 * does not wait. */
static bool
all_gone(const skn_system_t *system)
{
    uint32_t count = system->thread_count;
    if (system->links && system->wiring->link_driver->has_thread(system->links))
        count++;
    return system->joined ||
           (system->closing && atomic_load(&system->gone_count) == count);
}

/* Takes parcels until all threads have left, there is an event (if one is
 * wanted), or `timeout_ms` (-1: never) has passed; returns whether all have
 * left. A thread that leaves first counts itself and then wakes the host, so
 * that no wake is lost between reading the count and waiting. */
static bool
await(skn_system_t *system, int timeout_ms, bool wants_event)
{
    uint64_t end_ns = skn_monotonic_ns() +
                      (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    for (;;) {
        pump(system, 0);
        bool gone = all_gone(system);
        if (gone)
            pump(system, 0); /* events that they sent before they left */
        uint64_t now_ns = skn_monotonic_ns();
        if (gone || (wants_event && system->first_event) || timeout_ms == 0 ||
            (timeout_ms > 0 && now_ns >= end_ns))
            return gone;
        uint64_t left_ms = (end_ns - now_ns) / 1000000u + 1;
        pump(system, timeout_ms < 0 ? -1 : (int)left_ms);
    }
}

/* The descriptor stays readable while there are events, and at the end. */
static void
keep_readable(const skn_system_t *system, bool gone)
{
    if (system->first_event || gone)
        wake(system);
}

skn_status_t
skn_system_event(skn_system_t *system, int timeout_ms, char *line,
                 size_t line_bytes, skn_error_t *error)
{
    skn_status_t status;
    bool gone = await(system, timeout_ms, true);
    /* Joining does not wait, but there may be a trace to write. */
    if (!system->first_event && gone && timeout_ms < 0)
        (void)skn_system_wait(system, NULL);
    if (system->first_event)
        status = take_event(system, line, line_bytes, error);
    else if (gone)
        status = skn_fail(error, SKN_UNAVAILABLE, "the run has ended");
    else
        status = skn_fail(error, SKN_BUSY, "no event has arrived yet");
    keep_readable(system, gone);
    return status;
}

size_t
skn_system_event_bytes(skn_system_t *system)
{
    pump(system, 0);
    keep_readable(system, all_gone(system));
    return system->first_event ? strlen(system->first_event->text) + 1 : 0;
}

/* May be called in a signal handler, so errno is restored. */
static void
request(const skn_system_t *system, atomic_bool *wanted)
{
    int saved = errno;
    atomic_store(wanted, true);
    wake(system);
    errno = saved;
}

void
skn_system_stop(skn_system_t *system)
{
    request(system, &system->stop_wanted);
    for_each_port(system, skn_port_ring);
}

void
skn_system_abort(skn_system_t *system)
{
    atomic_store(&system->is_over, true);
    request(system, &system->abort_wanted);
    for_each_port(system, skn_port_alarm);
}

void
skn_system_save(skn_system_t *system)
{
    (void)atomic_fetch_add(&system->saves_wanted, 1);
}

uint32_t
skn_system_saves(const skn_system_t *system)
{
    return atomic_load(&system->saves_wanted);
}

bool
skn_system_stops(const skn_system_t *system)
{
    return atomic_load(&system->stop_wanted);
}

uint64_t
skn_system_carried_ns(const skn_system_t *system)
{
    return atomic_load(&system->carried_ns);
}

uint64_t
skn_system_busy_ns(const skn_system_t *system)
{
    uint64_t now_ns = skn_monotonic_ns(), most_ns = 0;
    for (uint32_t k = 0; k < system->load_count; k++) {
        uint64_t busy_ns = skn_load_busy_ns(&system->loads[k], now_ns);
        if (busy_ns > most_ns)
            most_ns = busy_ns;
    }
    return most_ns;
}

void
skn_system_usage(const skn_system_t *system, skn_usage_t *usage)
{
    skn_usage_now(usage);
    usage->cpu_ns -= system->cpu_begin_ns;
}

static void
write_trace(skn_system_t *system)
{
    FILE *file = system->trace_file;
    uint32_t process = system->options.node + 1;
    uint64_t origin_ns = system->options.trace_origin_ns;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (system->actors[k].trace)
            skn_trace_write(system->actors[k].trace, file, process, k + 1,
                            system->wiring->actors[k].name,
                            origin_ns > 0 ? origin_ns : system->begin_ns);
    fprintf(file,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,"
            "\"args\":{\"name\":\"%s\"}}\n]}\n",
            process,
            system->wiring->node_count > 0
                ? system->wiring->nodes[system->options.node].name
                : "skein");
    bool written = !ferror(file);
    if (fclose(file) != 0)
        written = false;
    system->trace_file = NULL;
    for (uint32_t k = 0; !written && k < system->actor_count; k++)
        if (system->actors[k].here) { /* actors of other nodes have no outlet */
            skn_actor_warn(&system->actors[k], "the trace could not be written",
                           "is the disk full?");
            written = true;
        }
}

/* For threads that have all left. */
static void
join(skn_system_t *system)
{
    for (uint32_t k = 0; k < system->actor_count; k++)
        skn_thread_end(&system->threads[k]);
    if (system->links)
        system->wiring->link_driver->join(system->links);
    skn_watchdog_stop(system->watchdog);
    system->joined = true;
    if (system->has_barrier)
        (void)pthread_barrier_destroy(&system->left);
    system->end_ns = skn_monotonic_ns();
    if (system->trace_file && system->thread_count > 0)
        write_trace(system);
    pump(system, 0); /* the very last events */
}

skn_status_t
skn_system_wait_for(skn_system_t *system, int timeout_ms, skn_error_t *error)
{
    if (timeout_ms != 0)
        lift_bounds(system);
    bool gone = await(system, timeout_ms, false);
    if (gone && !system->joined)
        join(system);
    keep_readable(system, gone);
    if (!gone) {
        restore_bounds(system);
        return skn_fail(error, SKN_BUSY, "the run has not ended yet");
    }
    skn_status_t status = system->failure.status;
    if (status == SKN_BUSY && timeout_ms >= 0)
        status = SKN_UNAVAILABLE; /* a host that repeats the call would never
                                   * know that the run has ended */
    if (status != SKN_OK && error) {
        *error = system->failure;
        error->status = status;
    }
    return status;
}

skn_status_t
skn_system_cut(skn_system_t *system, struct skn_salvage_writer *writer,
               skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    if (!system->joined || !system->begun)
        return skn_fail(error, SKN_BUSY, "the run has not started");
    for (uint32_t k = 0; k < system->actor_count && status == SKN_OK; k++) {
        skn_actor_t *actor = &system->actors[k];
        /* A failed actor may have stopped in the middle of a row. */
        if (!actor->here || !skn_system_keeps_state(actor) ||
            actor->phase == SKN_PHASE_FAILED)
            continue;
        skn_place_enter(&actor->place, SKN_PLACE_CUT, NULL, skn_monotonic_ns());
        skn_error_t own = { 0 };
        status = actor->kind->salvage(actor, actor->state, writer, &own);
        status = skn_actor_leave(actor, status, &own);
        if (status != SKN_OK && error)
            *error = own;
    }
    return status;
}

/* Closes the kept actors that had threads, which are the first ones of this
 * node. */
static void
close_kept(skn_system_t *system)
{
    uint32_t left = system->thread_count;
    for (uint32_t k = 0; k < system->actor_count && left > 0; k++) {
        if (!system->actors[k].here || system->actors[k].port)
            continue;
        left--;
        if (skn_system_keeps_state(&system->actors[k]))
            skn_actor_close(&system->actors[k]);
    }
}

void
skn_system_destroy(skn_system_t **system)
{
    if (!*system)
        return;
    int saved = errno;
    if ((*system)->thread_count > 0) {
        close_all(*system);
        (void)skn_system_wait(*system, NULL);
        close_kept(*system);
    }
    while ((*system)->first_event)
        drop_event(*system);
    skn_system_unbuild(*system);
    free(*system);
    *system = NULL;
    errno = saved;
}
