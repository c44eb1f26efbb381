/* run_loop.c - the loop that every actor's thread runs, whatever its kind.
 *
 *   OPENING ─▶ READY ─start─▶ RUNNING ─▶ DRAINING ─▶ ENDING ─▶ ENDED ─close─▶
 *                                │ a handler failed
 *                                └──────────▶ FAILED ───────────────close─▶
 * DRAINING: no more work arrives (or a gate has finished) and the outboxes run
 * empty. ENDING: its own pipes have ended, except the late ones (endings.h),
 * and some pipes into it have not (answers; a gate in a cycle). An actor never
 * leaves the loop before it is asked to close. This file owns: phases, waiting,
 * timers, hooks.  SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/actor.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "actors/runtime/reporting.h"
#include "actors/runtime/system_internal.h"
#include "actors/machine/usage.h"
#include "actors/runtime/waiting.h"
#include "transport/socket/clock.h"

#define RESTART_SPAN_NS ((uint64_t)60 * 1000 * 1000 * 1000)
SKN_MESSAGE_SCHEMA(skn_clock, "clock", 1, SKN_FIELDS_clock,
                   "the time, and what the process has used, for an actor")

void
skn_host_report(skn_outlet_t *host, int wake_descriptor,
                const skn_parcel_t *parcel)
{
    uint64_t one = 1;
    if (skn_outlet_put(host, parcel, NULL) != SKN_OK)
        free(parcel->pointer); /* not even 24 bytes of memory: it cannot be
                                * reported */
    /* Wake a host that waits on the descriptor; if the counter is full, the
     * host is awake. */
    ssize_t written = write(wake_descriptor, &one, sizeof(one));
    (void)written;
}

skn_error_t *
skn_error_copy(const skn_error_t *error)
{
    skn_error_t *copy = malloc(sizeof(*copy));
    if (copy)
        *copy = *error;
    return copy;
}

void
skn_actor_report(skn_actor_t *actor, skn_parcel_type_t type, void *pointer)
{
    skn_parcel_t parcel = { .type = type,
                            .slot = actor->number,
                            .pointer = pointer };
    skn_host_report(actor->host, actor->wake_descriptor, &parcel);
}

void
skn_actor_fail(skn_actor_t *actor, const skn_error_t *error)
{
    skn_error_t named = *error;
    assert(error->status != SKN_OK);
    skn_place_name(actor, &named);
    actor->phase = SKN_PHASE_FAILED;
    skn_actor_report(actor, SKN_PARCEL_FAILED, skn_error_copy(&named));
    skn_system_alarm(actor->system);
}

skn_status_t
skn_actor_leave(skn_actor_t *actor, skn_status_t status, skn_error_t *error)
{
    if (actor->misuse->status != SKN_OK) {
        *error = *actor->misuse; /* whatever the hook returned */
        status = error->status;
    }
    /* An error with status OK would not be taken for a failure. */
    if (status != SKN_OK && error->status == SKN_OK)
        skn_fail(error, status < SKN_STATUS_COUNT ? status : SKN_INTERNAL,
                 "%s failed without giving a reason: %s (status %d)",
                 actor->wired->name, skn_status_text(status), (int)status);
    if (status != SKN_OK)
        skn_place_name(actor, error);
    skn_place_leave(&actor->place);
    return status;
}

/* Runs the open or start hook of a kind, which may be NULL. */
static skn_status_t
enter_hook(skn_actor_t *actor, skn_place_type_t type, skn_hook_t *hook,
           skn_error_t *error)
{
    if (!hook)
        return SKN_OK;
    uint64_t begin_ns = skn_monotonic_ns();
    skn_place_enter(&actor->place, type, NULL, begin_ns);
    skn_status_t status =
        skn_actor_leave(actor, hook(actor, actor->state, error), error);
    uint64_t spent_ns = skn_monotonic_ns() - begin_ns;
    SKN_COUNT(actor->counters.handling_ns, spent_ns);
    actor->counters.open_ns += type == SKN_PLACE_OPEN ? spent_ns : 0;
    return status;
}

/* Uses up one restart of the budget; false if none is left. */
static bool
may_restart(skn_actor_t *actor)
{
    uint64_t oldest = actor->restart_ns[actor->restart_next];
    if (oldest != 0 && actor->now_ns - oldest < RESTART_SPAN_NS)
        return false;
    actor->restart_ns[actor->restart_next] = actor->now_ns;
    actor->restart_next = (actor->restart_next + 1) % SKN_RESTARTS_MAX;
    return true;
}

/* Closes and opens a stateless actor whose handler failed. */
static skn_status_t
restart(skn_actor_t *actor, const skn_error_t *cause, skn_error_t *error)
{
    skn_actor_close(actor);
    memset(actor->state, 0, actor->kind->state_bytes);
    skn_deadlines_fini(&actor->deadlines);
    SKN_COUNT(actor->counters.restarts, 1);
    skn_status_t status =
        enter_hook(actor, SKN_PLACE_OPEN, actor->kind->open, error);
    if (status == SKN_OK)
        status = enter_hook(actor, SKN_PLACE_START, actor->kind->start, error);
    if (status == SKN_OK)
        skn_actor_warn(actor, cause->text, "the actor was started twice");
    return status;
}

skn_status_t
skn_actor_handle(skn_actor_t *actor, const skn_handler_t *handler,
                 skn_in_pipe_t *pipe, const void *message, skn_error_t *error)
{
    uint64_t begin_ns = actor->now_ns;
    actor->has_nothing = false;
    skn_place_enter(&actor->place, SKN_PLACE_HANDLER, handler->schema->name,
                    begin_ns);
    skn_status_t status = handler->handle(actor, actor->state, message, error);
    status = skn_actor_leave(actor, status, error);
    uint64_t end_ns = skn_monotonic_ns();
    actor->now_ns = end_ns; /* the next message is taken now */
    if (pipe)
        skn_histogram_add(&pipe->latency, end_ns - begin_ns);
    SKN_COUNT(actor->counters.handling_ns, end_ns - begin_ns);
    if (actor->trace) {
        const void *traced = message;
        for (uint32_t k = 0; k < actor->in_pipe_count; k++)
            if (actor->in_pipes[k].handler == handler &&
                skn_collect_parts(actor->in_pipes[k].wired->collect))
                traced = ((const skn_parts_t *)message)->at[0];
        skn_trace_span(actor->trace, handler->schema->name, begin_ns, end_ns,
                       handler->schema, traced);
    }
    if (status != SKN_OK && actor->misuse->status == SKN_OK &&
        actor->kind->restarts && may_restart(actor)) {
        skn_error_t cause = *error;
        status = restart(actor, &cause, error);
    }
    return status;
}

/* Runs a hook of the kind at `now_ns`, accounts for its time, and returns when
 * it ended. A timer is traced by its name. */
static uint64_t
run_hook_at(skn_actor_t *actor, skn_place_type_t type, skn_hook_t *hook,
            const char *name, uint64_t now_ns)
{
    skn_error_t error;
    skn_error_clear(&error);
    actor->now_ns = now_ns;
    skn_place_enter(&actor->place, type, name, now_ns);
    skn_status_t status = hook(actor, actor->state, &error);
    status = skn_actor_leave(actor, status, &error);
    uint64_t end_ns = skn_monotonic_ns();
    SKN_COUNT(actor->counters.handling_ns, end_ns - now_ns);
    skn_trace_span(actor->trace, name, now_ns, end_ns, NULL, NULL);
    if (status != SKN_OK)
        skn_actor_fail(actor, &error);
    return end_ns;
}

/* The same now; NULL does nothing. */
static void
run_hook(skn_actor_t *actor, skn_place_type_t type, skn_hook_t *hook,
         const char *name)
{
    if (hook)
        (void)run_hook_at(actor, type, hook, name, skn_monotonic_ns());
}

/* Whether the actor takes no new work, because messages wait for credit or
 * events for the host. */
static bool
is_blocked(const skn_actor_t *actor)
{
    return actor->unsent > 0 ||
           (actor->sends_events && skn_system_has_many_events(actor->system));
}

/* --- time ---------------------------------------------------------------- */

static const skn_handler_t *
clock_handler(const skn_actor_t *actor)
{
    const skn_handler_t *handler = actor->kind->handlers;
    /* A plug-in may have a copy of the schema. */
    while (handler && handler->schema &&
           handler->schema->id != skn_clock_schema.id)
        handler++;
    return handler && handler->schema ? handler : NULL;
}

skn_status_t
skn_actor_ask_clock(skn_actor_t *actor, uint64_t tag, skn_error_t *error)
{
    if (!actor)
        return skn_fail(error, SKN_USAGE,
                        "skn_actor_ask_clock: the actor is NULL");
    if (!clock_handler(actor))
        return skn_fail(error, SKN_USAGE,
                        "%s asks for the clock, but has no handler of 'clock'",
                        actor->wired->name);
    if (actor->clock_count == SKN_CLOCKS_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%s asks for the clock while %d of its requests wait, "
                        "at most %d allowed",
                        actor->wired->name, SKN_CLOCKS_MAX, SKN_CLOCKS_MAX);
    actor->clock_tags[actor->clock_count++] = tag;
    return SKN_OK;
}

/* Whether handlers may still send: handlers of answers may until the actor's
 * late pipes end. */
static bool
goes_on(const skn_actor_t *actor)
{
    return (actor->phase == SKN_PHASE_RUNNING ||
            actor->phase == SKN_PHASE_ENDING) &&
           !skn_system_is_over(actor->system);
}

static void
handle_clock(skn_actor_t *actor, const skn_clock_t *clock)
{
    skn_error_t error;
    skn_error_clear(&error);
    assert(actor->clock_count > 0);
    actor->clock_count--;
    memmove(actor->clock_tags, actor->clock_tags + 1,
            actor->clock_count * sizeof(actor->clock_tags[0]));
    if (skn_actor_handle(actor, clock_handler(actor), NULL, clock, &error) !=
        SKN_OK)
        skn_actor_fail(actor, &error);
}

/* Asks the link driver for the clocks of all nodes, where there are several. */
static void
ask_nodes(skn_actor_t *actor)
{
    assert(actor->clock_here_count <= actor->clock_asked &&
           actor->clock_asked <= actor->clock_count);
    for (; actor->clock_asked < actor->clock_count && goes_on(actor);
         actor->clock_asked++) {
        skn_parcel_t parcel = { .type = SKN_PARCEL_CLOCK,
                                .slot = actor->number,
                                .number =
                                    actor->clock_tags[actor->clock_asked] };
        skn_error_t error;
        skn_error_clear(&error);
        if (skn_outlet_put(actor->links, &parcel, &error) != SKN_OK)
            skn_actor_fail(actor, &error);
    }
    while (actor->clock_here_count > 0 && goes_on(actor) &&
           actor->unsent == 0) {
        skn_clock_t *clock = actor->clock_here[0];
        actor->clock_here_count--;
        actor->clock_asked--;
        memmove(actor->clock_here, actor->clock_here + 1,
                actor->clock_here_count * sizeof(actor->clock_here[0]));
        actor->now_ns = skn_monotonic_ns();
        handle_clock(actor, clock);
        free(clock);
    }
}

/* Answers the clocks that were requested before this call: a handler may
 * request another. */
static void
answer_clocks(skn_actor_t *actor)
{
    if (actor->links) {
        ask_nodes(actor);
        return;
    }
    for (uint32_t left = actor->clock_count; left > 0; left--) {
        skn_usage_t usage;
        if (!goes_on(actor) || actor->unsent > 0)
            return;
        skn_system_usage(actor->system, &usage);
        actor->now_ns = skn_monotonic_ns();
        skn_clock_t clock = { actor->clock_tags[0],
                              actor->now_ns,
                              usage.cpu_ns,
                              usage.rss_bytes,
                              0,
                              0 };
        handle_clock(actor, &clock);
    }
}

static uint64_t
next_due(const skn_timer_t *timer, uint64_t now_ns)
{
    return timer->interval_ms > 0
               ? now_ns + (uint64_t)timer->interval_ms * 1000000u
               : UINT64_MAX;
}

void
skn_actor_alarm(skn_actor_t *actor, uint32_t number, uint64_t due_ns)
{
    const skn_timer_t *timer = actor ? actor->kind->timers : NULL;
    for (uint32_t k = 0; timer && timer->name && k < number; k++)
        timer++;
    if (timer && timer->name && timer->interval_ms == 0)
        actor->timer_due_ns[number] = due_ns;
    else if (actor)
        skn_actor_misuse(actor, "skn_actor_alarm",
                         "for timer %u, which the kind does not have with an "
                         "interval of 0",
                         number);
}

void
skn_actor_report_blocked(skn_actor_t *actor, const skn_schema_t *schema,
                         uint64_t batch, const bool *here, uint32_t senders)
{
    skn_awaited_t awaited = { .batch = batch };
    if (!actor)
        return;
    if (senders > 0 && (!schema || !here)) {
        skn_actor_misuse(actor, "skn_actor_report_blocked", "with NULL");
        return;
    }
    for (uint32_t k = 0; k < senders; k++) {
        if (here[k])
            continue;
        if (awaited.schema) {
            awaited.more++;
            continue;
        }
        awaited.schema = schema;
        awaited.place = k;
    }
    actor->awaited = awaited;
}

static void
fire_timers(skn_actor_t *actor)
{
    const skn_timer_t *timer = actor->kind->timers;
    uint64_t now_ns = timer && timer->name ? skn_monotonic_ns() : 0;
    for (uint32_t k = 0; timer && timer->name; k++, timer++) {
        if (actor->phase != SKN_PHASE_RUNNING || is_blocked(actor) ||
            now_ns < actor->timer_due_ns[k])
            continue;
        actor->timer_due_ns[k] = next_due(timer, now_ns);
        actor->has_nothing = false;
        run_hook(actor,
                 timer->interval_ms > 0 ? SKN_PLACE_TIMER : SKN_PLACE_ALARM,
                 timer->fire, timer->name);
    }
}

static skn_status_t
run_expired(skn_actor_t *actor, void *state, skn_error_t *error)
{
    return actor->kind->expired(actor, state, actor->expired_key, error);
}

/* Deadlines of questions also pass while only their answers may come. */
static void
end_deadlines(skn_actor_t *actor)
{
    uint64_t now_ns = actor->deadlines.count > 0 ? skn_monotonic_ns() : 0;
    while (goes_on(actor) && !is_blocked(actor) &&
           skn_deadlines_take(&actor->deadlines, now_ns, &actor->expired_key)) {
        actor->has_nothing = false;
        run_hook(actor, SKN_PLACE_EXPIRED, run_expired, "expired");
    }
}

skn_status_t
skn_actor_set_deadline(skn_actor_t *actor, uint64_t key, uint64_t due_ns,
                       skn_error_t *error)
{
    if (!actor || !actor->kind->expired)
        return skn_fail(error, SKN_USAGE, "skn_actor_set_deadline: the %s",
                        actor ? "kind has no hook `expired`" : "actor is NULL");
    if (skn_deadlines_set(&actor->deadlines, key, due_ns))
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY,
                    "%s: no memory for more than %u deadlines",
                    actor->wired->name, actor->deadlines.count);
}

bool
skn_actor_clear_deadline(skn_actor_t *actor, uint64_t key)
{
    return actor && skn_deadlines_clear(&actor->deadlines, key);
}

skn_status_t
skn_actor_ask(skn_actor_t *actor, const void *question, uint64_t key,
              uint64_t due_ns, skn_error_t *error)
{
    skn_status_t status = skn_actor_set_deadline(actor, key, due_ns, error);
    if (status != SKN_OK) {
        skn_message_drop(question);
        return status;
    }
    status = skn_actor_post(actor, question, error);
    if (status != SKN_OK)
        (void)skn_actor_clear_deadline(actor, key);
    return status;
}

static int
timeout_ms(const skn_actor_t *actor)
{
    const skn_timer_t *timer = actor->kind->timers;
    uint64_t soonest_ns = UINT64_MAX;
    if (!goes_on(actor) || is_blocked(actor))
        return -1;
    soonest_ns = skn_deadlines_next_ns(&actor->deadlines);
    for (uint32_t k = 0;
         timer && timer->name && actor->phase == SKN_PHASE_RUNNING;
         k++, timer++)
        if (actor->timer_due_ns[k] < soonest_ns)
            soonest_ns = actor->timer_due_ns[k];
    if (soonest_ns == UINT64_MAX)
        return -1;
    uint64_t now_ns = skn_monotonic_ns();
    uint64_t left_ms =
        soonest_ns <= now_ns ? 0 : (soonest_ns - now_ns) / 1000000u + 1;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Calls the hook `ready` if the watched descriptor has events. */
static void
look_at_watched(skn_actor_t *actor)
{
    struct pollfd *watched = &actor->watched;
    skn_error_t error;
    skn_error_clear(&error);
    if (!actor->kind->ready || actor->phase != SKN_PHASE_RUNNING)
        return;
    if (watched->fd >= 0 && poll(watched, 1, 0) > 0)
        actor->is_ready = true;
    if (actor->is_ready && watched->fd >= 0 && (watched->revents & POLLNVAL)) {
        (void)skn_fail(&error, SKN_USAGE,
                       "%s watches descriptor %d, which is not open",
                       actor->wired->name, watched->fd);
        skn_actor_fail(actor, &error);
    } else if (actor->is_ready) {
        actor->is_ready = false;
        actor->has_nothing = false;
        run_hook(actor, SKN_PLACE_READY, actor->kind->ready, "ready");
    }
}

/* --- phases -------------------------------------------------------------- */

/* Whether no more work can arrive. Answers do not count, unless the actor
 * receives nothing else. A gate, and an actor that receives no work, decide
 * their end themselves. */
static bool
work_has_ended(const skn_actor_t *actor)
{
    bool has_work = actor->in_edge_count > actor->peer_edge_count;
    bool can_produce = actor->kind->produce;
    if (actor->kind->gate || actor->in_edge_count == 0 ||
        (!has_work && can_produce))
        return false;
    /* A kind that produces must also have reported that it has nothing left. */
    return (has_work ? actor->open_edges : actor->open_peers) == 0 &&
           (!can_produce || actor->has_nothing);
}

/* Whether everything that an answer caused is done. */
static bool
is_idle(const skn_actor_t *actor)
{
    bool can_produce = actor->kind->produce && !actor->finished;
    return actor->unsent == 0 && actor->clock_count == 0 &&
           (!can_produce || actor->has_nothing);
}

static void
advance(skn_actor_t *actor)
{
    skn_error_t error;
    skn_error_clear(&error);
    if (actor->phase == SKN_PHASE_RUNNING && actor->unsent == 0 &&
        actor->clock_count == 0 && (actor->finished || work_has_ended(actor))) {
        actor->phase = SKN_PHASE_DRAINING;
        run_hook(actor, SKN_PLACE_DRAIN, actor->kind->drain, "drain");
    }
    if (actor->phase == SKN_PHASE_DRAINING && actor->unsent == 0) {
        actor->phase = SKN_PHASE_ENDING;
        if (skn_outgoing_end(actor, false, &error) != SKN_OK)
            skn_actor_fail(actor, &error);
    }
    if (actor->phase == SKN_PHASE_ENDING && actor->open_edges == 0 &&
        actor->open_peers == 0 && is_idle(actor)) {
        actor->phase = SKN_PHASE_ENDED;
        if (skn_outgoing_end(actor, true, &error) != SKN_OK)
            skn_actor_fail(actor, &error);
        else
            skn_actor_report(actor, SKN_PARCEL_ENDED, NULL);
    }
}

static void
begin(skn_actor_t *actor)
{
    uint64_t now_ns = skn_monotonic_ns();
    const skn_timer_t *timer = actor->kind->timers;
    assert(actor->phase == SKN_PHASE_READY);
    for (uint32_t k = 0; timer && timer->name; k++, timer++) {
        assert(k < SKN_TIMERS_MAX);
        actor->timer_due_ns[k] = next_due(timer, now_ns);
    }
    actor->phase = SKN_PHASE_RUNNING;
    run_hook(actor, SKN_PLACE_START, actor->kind->start, "start");
}

static void
take_orders(skn_actor_t *actor)
{
    skn_parcel_t parcel;
    while (skn_inbox_take(actor->orders, &parcel)) {
        if (parcel.type == SKN_PARCEL_CLOSE ||
            parcel.type == SKN_PARCEL_FOREIGN)
            actor->closing = true;
        if (parcel.type == SKN_PARCEL_READ)
            atomic_store(&actor->was_told_to_read, false);
        if (actor->phase == SKN_PHASE_FAILED)
            continue;
        if (parcel.type == SKN_PARCEL_START)
            begin(actor);
        actor->moved = actor->moved || parcel.type == SKN_PARCEL_START ||
                       parcel.type == SKN_PARCEL_READ;
        if (parcel.type ==
            SKN_PARCEL_STOP) { /* skn_actor_stop_wanted is true */
            actor->has_nothing = false;
            actor->is_ready = true;
        }
    }
}

/* --- the loop ------------------------------------------------------------ */

/* Answers are taken as long as the actor lives: otherwise two actors that wait
 * for each other's credit would wait forever. */
static bool
is_alive(const skn_actor_t *actor)
{
    return actor->phase >= SKN_PHASE_RUNNING &&
           actor->phase < SKN_PHASE_FAILED &&
           !skn_system_is_over(actor->system);
}

static bool
can_work(const skn_actor_t *actor)
{
    return !is_blocked(actor) && is_alive(actor);
}

/* The shorter of two times to wait; -1 is forever. */
static int
sooner(int one_ms, int other_ms)
{
    return one_ms < 0 || (other_ms >= 0 && other_ms < one_ms) ? other_ms
                                                              : one_ms;
}

/* Accounts for a wait: for credit at the first edge that has none, or for a
 * message, whose handling attributes the wait to its sender's node
 * (incoming.c). */
static void
count_wait(skn_actor_t *actor, bool blocked, uint64_t waited_ns)
{
    actor->counters.wakeups++;
    if (!blocked) {
        SKN_COUNT(actor->counters.waiting_ns, waited_ns);
        actor->waited_ns += waited_ns;
        return;
    }
    SKN_COUNT(actor->counters.blocked_ns, waited_ns);
    for (uint32_t p = 0; p < actor->out_pipe_count; p++) {
        const skn_out_pipe_t *pipe = &actor->out_pipes[p];
        for (uint32_t k = 0; k < pipe->edge_count; k++)
            if (pipe->edges[k].outbox.count > 0 || pipe->shared.count > 0) {
                pipe->edges[k].counters.full_ns += waited_ns;
                return;
            }
    }
}

static void
wait_for_parcels(skn_actor_t *actor)
{
    skn_inbox_t *inboxes[2] = { actor->orders, actor->inbox };
    skn_error_t error;
    skn_error_clear(&error);
    if (actor->phase < SKN_PHASE_FAILED &&
        skn_incoming_return_credit(actor, &error) != SKN_OK)
        skn_actor_fail(actor, &error);
    uint64_t begin_ns = skn_monotonic_ns();
    bool blocked = is_blocked(actor);
    uint64_t *since_ns = blocked ? &actor->counters.blocked_since_ns
                                 : &actor->counters.waiting_since_ns;
    SKN_COUNT_SET(*since_ns, begin_ns);
    skn_waiting_check(actor, begin_ns);
    if (actor->load)
        skn_load_leave(actor->load, begin_ns);
    bool watches = can_work(actor) && actor->phase == SKN_PHASE_RUNNING &&
                   actor->watched.fd >= 0;
    skn_inbox_wait(
        inboxes, 2, watches ? &actor->watched : NULL,
        sooner(timeout_ms(actor), skn_waiting_timeout_ms(actor, begin_ns)));
    uint64_t end_ns = skn_monotonic_ns();
    SKN_COUNT_SET(*since_ns, 0);
    if (actor->load)
        skn_load_enter(actor->load, end_ns);
    count_wait(actor, blocked, end_ns - begin_ns);
}

static bool
may_produce(const skn_actor_t *actor)
{
    return goes_on(actor) && !is_blocked(actor) && actor->kind->produce &&
           !actor->finished && !actor->has_nothing && actor->clock_count == 0;
}

/* Produces for a while before the inbox is checked again: a check that finds
 * nothing costs a system call, more than a small message does. */
static void
produce(skn_actor_t *actor)
{
    uint64_t now_ns = skn_monotonic_ns(), end_ns = now_ns + SKN_UNCHECKED_NS;
    do {
        now_ns = run_hook_at(actor, SKN_PLACE_PRODUCE, actor->kind->produce,
                             "produce", now_ns);
    } while (may_produce(actor) && now_ns < end_ns);
}

/* Whether a clock can be requested, or handled, now. */
static bool
clocks_to_answer(const skn_actor_t *actor)
{
    bool has_some = actor->links ? actor->clock_asked < actor->clock_count ||
                                       actor->clock_here_count > 0
                                 : actor->clock_count > 0;
    return has_some && goes_on(actor) && can_work(actor);
}

/* Whether there may be more to do before the next wait. */
static bool
do_something(skn_actor_t *actor)
{
    bool more = is_alive(actor) && actor->peer_edge_count > 0 &&
                skn_incoming_answers(actor);
    if (!can_work(actor))
        return more;
    answer_clocks(actor);
    fire_timers(actor);
    end_deadlines(actor);
    if (can_work(actor))
        look_at_watched(actor);
    if (can_work(actor))
        more = skn_incoming_work(actor) || more;
    if (!more && may_produce(actor)) {
        produce(actor);
        more = may_produce(actor);
    }
    /* Answers came out of the inbox while work was looked for. */
    bool has_answers = actor->answers.count > 0 && is_alive(actor);
    return more || has_answers;
}

void
skn_actor_run(skn_actor_t *actor)
{
    skn_error_t error;
    skn_error_clear(&error);
    actor->phase = SKN_PHASE_OPENING;
    if (actor->load)
        skn_load_enter(actor->load, skn_monotonic_ns());
    if (enter_hook(actor, SKN_PLACE_OPEN, actor->kind->open, &error) !=
        SKN_OK) {
        skn_actor_fail(actor, &error);
    } else {
        actor->phase = SKN_PHASE_READY;
        skn_actor_report(actor, SKN_PARCEL_READY, NULL);
    }
    for (;;) {
        take_orders(actor);
        bool more = !can_work(actor) && skn_incoming_collect(actor);
        if (actor->closing)
            break;
        more = do_something(actor) || more;
        if (!skn_system_is_over(actor->system))
            advance(actor);
        /* Handlers may have asked for a clock, and so may the hook `drain`,
         * which is called as the actor advances. */
        if (!more && !clocks_to_answer(actor))
            wait_for_parcels(actor);
    }
    if (actor->load)
        skn_load_leave(actor->load, skn_monotonic_ns());
    skn_usage_thread(&actor->counters.ran_ns, &actor->counters.queued_ns);
}

void
skn_actor_close(skn_actor_t *actor)
{
    bool had_failed = actor->misuse->status != SKN_OK;
    if (!actor->kind->close)
        return;
    skn_place_enter(&actor->place, SKN_PLACE_CLOSE, NULL, skn_monotonic_ns());
    actor->kind->close(actor, actor->state);
    if (actor->misuse->status != SKN_OK && !had_failed)
        skn_actor_fail(actor, actor->misuse);
    skn_place_leave(&actor->place);
}
