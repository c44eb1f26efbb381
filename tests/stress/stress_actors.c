/* stress_actors.c - runs a busy topology for the thread sanitizer: every
 * pattern, answers, kept messages, timers, clocks, events, restarts, a trace, a
 * host that polls, and a stop from another thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>

#include "tests/support/flow_fixture.h"
#include "tests/support/tsan_libzmq.h"

#define ROUNDS 6u
#define MESSAGES 3000u

/* hub: answers all hubs for each token, keeps the last message of each kind,
 * tells an event now and then, and sends totals to the end. */
typedef struct hub {
    const void *kept[2];
    uint64_t tokens, answers, ticks, clocks;
} hub_t;

static skn_status_t
hub_token(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    hub_t *hub = state;
    const token_t *token = message;
    skn_message_drop(hub->kept[0]);
    hub->kept[0] = skn_message_keep(message);
    if (++hub->tokens % 100 == 0 &&
        skn_actor_ask_clock(actor, hub->tokens, error) != SKN_OK)
        return error->status;
    return flow_send(actor, &reply_schema, token->batch, token->value, error);
}

static skn_status_t
hub_reply(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    hub_t *hub = state;
    const skn_parts_t *parts = message;
    uint64_t sum = 0;
    (void)actor, (void)error;
    for (size_t k = 0; k < parts->count; k++)
        sum += ((const token_t *)parts->at[k])->value;
    hub->answers += sum > 0;
    skn_message_drop(hub->kept[1]);
    hub->kept[1] = skn_message_keep(parts->at[0]);
    return SKN_OK;
}

static skn_status_t
hub_clock(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    const skn_clock_t *clock = message;
    ((hub_t *)state)->clocks++;
    return skn_actor_send_event(actor, error, "{\"at\":%" PRIu64 "}",
                                clock->tag);
}

static skn_status_t
hub_tick(skn_actor_t *actor, void *state, skn_error_t *error)
{
    hub_t *hub = state;
    return flow_send(actor, &token_schema, ++hub->ticks, hub->tokens, error);
}

/* Hands on what it kept, with what other threads may still hold. */
static skn_status_t
hub_drain(skn_actor_t *actor, void *state, skn_error_t *error)
{
    hub_t *hub = state;
    const void *last = hub->kept[0];
    hub->kept[0] = NULL;
    return last ? skn_actor_post(actor, last, error) : SKN_OK;
}

static void
hub_close(skn_actor_t *actor, void *state)
{
    hub_t *hub = state;
    (void)actor;
    skn_message_drop(hub->kept[0]);
    skn_message_drop(hub->kept[1]);
}

static const skn_schema_t *const hub_sends[] = { &token_schema, &reply_schema,
                                                 NULL };
static const skn_handler_t hub_handlers[] = {
    { &token_schema, hub_token, NULL },
    { &reply_schema, hub_reply, NULL },
    { &skn_clock_schema, hub_clock, NULL },
    { 0 },
};
static const skn_timer_t hub_timers[] = { { "tick", 1, hub_tick }, { 0 } };
static const skn_kind_t hub_kind =
    SKN_KIND(.name = "hub", .state_bytes = sizeof(hub_t),
             .options = flow_options, .handlers = hub_handlers,
             .sends = hub_sends, .timers = hub_timers, .drain = hub_drain,
             .close = hub_close);

/* Makes tokens until it is stopped or has made n. */
static skn_status_t
source_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    if (skn_actor_stop_wanted(actor)) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    return maker_produce(actor, state, error);
}
static const skn_kind_t source_kind =
    SKN_KIND(.name = "source", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = source_produce);

/* Fails twice, which is within its budget. */
static skn_status_t
worker_token(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *error)
{
    const token_t *token = message;
    (void)state;
    if (token->batch == 900 || token->batch == 1800)
        return skn_fail(error, SKN_BAD_MESSAGE, "tired");
    return flow_send(actor, &token_schema, token->batch, token->value + 1,
                     error);
}
static const skn_handler_t worker_handlers[] = { { &token_schema, worker_token,
                                                   NULL },
                                                 { 0 } };
static const skn_kind_t worker_kind =
    SKN_KIND(.name = "worker", .options = flow_options,
             .handlers = worker_handlers, .sends = token_sends,
             .restarts = true);

static void
draw(flow_t *flow, uint64_t n)
{
    memset(flow, 0, sizeof(*flow));
    static const uint64_t bounds[] = { 0, 3, 7 };
    uint32_t source = flow_actors(flow, &source_kind, 1, (int64_t)n, 7);
    uint32_t worker = flow_actors(flow, &worker_kind, 3, 0, 7);
    uint32_t hub = flow_actors(flow, &hub_kind, 3, 0, 7);
    uint32_t last = flow_actors(flow, &sink, 2, 0, 0);
    uint32_t feed = flow_actors(flow, &source_kind, 1, (int64_t)n, 7);
    flow_pipe(flow, &token_schema, SKN_PATTERN_ANY, 2, source, 1, worker, 3);
    flow_pipe(flow, &token_schema, SKN_PATTERN_SCATTER, 3, worker, 3, last, 2)
        ->bounds = bounds;
    flow_pipe(flow, &token_schema, SKN_PATTERN_BROADCAST, 4, feed, 1, hub, 3);
    skn_wired_pipe_t *talk = flow_pipe(
        flow, &reply_schema, SKN_PATTERN_BROADCAST, 2, hub, 3, hub, 3);
    talk->peer = true;
    talk->collect = SKN_COLLECT_GATHER;
    flow_pipe(flow, &token_schema, SKN_PATTERN_ONE, 2, hub, 3, last, 1);
}

static void *
stop_soon(void *system)
{
    for (int k = 0; k < 200; k++)
        (void)sched_yield();
    skn_system_stop(system);
    return NULL;
}

/* The messages that all actors have taken so far; never fewer than before. */
static uint64_t
taken(const skn_system_t *system)
{
    skn_actor_info_t info;
    uint64_t sum = 0;
    for (size_t k = 0; skn_system_actor(system, k, &info); k++)
        sum += info.messages_in;
    return sum;
}

static skn_status_t
follow(skn_system_t *system, skn_error_t *error)
{
    char line[256];
    uint64_t before = 0;
    skn_status_t status = skn_system_start(system, NULL, NULL, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        uint64_t now = taken(system);
        if (now < before)
            return skn_fail(error, SKN_INTERNAL, "a counter has decreased");
        before = now;
        struct pollfd item = { .fd = skn_system_fd(system), .events = POLLIN };
        (void)poll(&item, 1, -1);
        status = skn_system_event(system, 0, line, sizeof(line), error);
    }
    return skn_system_wait(system, error);
}

int
main(void)
{
    static flow_t flow;
    uint64_t handled = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        skn_error_t error = { 0 };
        pthread_t stopper;
        bool stopped = round % 2 == 1;
        skn_start_options_t options =
            SKN_START_OPTIONS(.no_binding = round % 3 != 0, .wire = round == 4,
                              .trace_path = round == 2 ? "/dev/null" : NULL);
        draw(&flow, stopped ? UINT32_MAX : MESSAGES);
        skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
        if (!system || (stopped && pthread_create(&stopper, NULL, stop_soon,
                                                  system) != 0)) {
            (void)fprintf(stderr, "round %u: %s\n", round, error.text);
            return 1;
        }
        skn_status_t status = follow(system, &error);
        if (stopped)
            (void)pthread_join(stopper, NULL);
        skn_system_destroy(&system);
        if (status != SKN_OK) {
            (void)fprintf(stderr, "round %u: %s\n", round, error.text);
            return 1;
        }
        for (uint32_t k = 0; k < flow.wiring.actor_count; k++)
            handled += flow_logs[k].count;
    }
    printf("%" PRIu64 " messages reached the end\n", handled);
    return handled > 0 ? 0 : 1;
}
