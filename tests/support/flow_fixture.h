/* flow_fixture.h - small topologies in C, and kinds that log the messages that
 * they handle.
 *
 * Each actor writes only the log of its own number; the test reads the logs
 * after the threads have been joined. Numbers of an actor are its options `n`
 * and `m`. Criterion forks, so that the logs are empty in every test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_FLOW_FIXTURE_H
#define TESTS_SUPPORT_FLOW_FIXTURE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/system.h"
#include "actors/runtime/system_internal.h"

#define FLOW_ACTORS_MAX 64
#define FLOW_PIPES_MAX 64
#define FLOW_LOG_MAX 4096

#define FIELDS_token(F, M)                                                     \
    F(M, u64, batch, UINT64_MAX, "names its set of parts")                     \
    F(M, u32, key, UINT32_MAX, "where it goes")                                \
    F(M, u64, value, UINT64_MAX, "what it carries")                            \
    F(M, u32s, run, 4096, "keys, ascending")                                   \
    F(M, f64s, weight, 4096, "one a key")                                      \
    F(M, str, text, 64, "a text")
SKN_MESSAGE_STRUCT(token, FIELDS_token)
SKN_MESSAGE_SCHEMA(token, "token", 1000, FIELDS_token, "travels")
SKN_MESSAGE_STRUCT(reply, FIELDS_token)
SKN_MESSAGE_SCHEMA(reply, "reply", 1001, FIELDS_token, "travels back")

static const skn_field_t *
flow_field(const skn_schema_t *schema, const char *name)
{
    for (size_t k = 0; k < schema->field_count; k++)
        if (strcmp(schema->fields[k].name, name) == 0)
            return &schema->fields[k];
    return NULL;
}

/* --- wirings ------------------------------------------------------------- */

static const skn_option_t flow_options[] = {
    { "n", SKN_OPTION_INT, "0", 0, 1e18, NULL, "a number" },
    { "m", SKN_OPTION_INT, "0", 0, 1e18, NULL, "another one" },
    { 0 },
};

typedef struct flow {
    skn_wired_actor_t actors[FLOW_ACTORS_MAX];
    skn_value_t values[FLOW_ACTORS_MAX][2];
    char names[FLOW_ACTORS_MAX][16];
    skn_wired_pipe_t pipes[FLOW_PIPES_MAX];
    uint32_t numbers[FLOW_ACTORS_MAX]; /* 0, 1, 2, ...: ends of pipes */
    skn_wiring_t wiring;
} flow_t;

/* Adds `count` actors of a kind; returns the number of the first. */
static inline uint32_t
flow_actors(flow_t *flow, const skn_kind_t *kind, uint32_t count, int64_t n,
            int64_t m)
{
    uint32_t first = flow->wiring.actor_count;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t number = flow->wiring.actor_count++;
        (void)snprintf(flow->names[number], sizeof(flow->names[number]),
                       "%.8s.%u", kind->name, k);
        flow->values[number][0] =
            (skn_value_t){ .option = &flow_options[0], .number = n };
        flow->values[number][1] =
            (skn_value_t){ .option = &flow_options[1], .number = m };
        flow->numbers[number] = number;
        flow->actors[number] = (skn_wired_actor_t){
            .name = flow->names[number],
            .kind = kind,
            .index = k,
            .peers = count,
            .values = flow->values[number],
            .core = SKN_CORE_AUTO,
        };
    }
    flow->wiring.name = "flow";
    flow->wiring.actors = flow->actors;
    flow->wiring.pipes = flow->pipes;
    return first;
}

/* Adds a pipe from and to ranges of actors. */
static inline skn_wired_pipe_t *
flow_pipe(flow_t *flow, const skn_schema_t *schema, skn_pattern_t pattern,
          uint32_t credit, uint32_t from, uint32_t from_count, uint32_t to,
          uint32_t to_count)
{
    skn_wired_pipe_t *pipe = &flow->pipes[flow->wiring.pipe_count++];
    *pipe = (skn_wired_pipe_t){
        .schema = schema,
        .pattern = pattern,
        .from = flow->numbers + from,
        .from_count = from_count,
        .to = flow->numbers + to,
        .to_count = to_count,
        .credit = credit,
        .key = flow_field(schema, "key"),
        .by = flow_field(schema, "batch"),
    };
    return pipe;
}

/* --- logs ---------------------------------------------------------------- */

typedef struct flow_log {
    uint64_t count, sum;
    uint64_t entry[FLOW_LOG_MAX]; /* the first ones */
} flow_log_t;

static flow_log_t flow_logs[FLOW_ACTORS_MAX];
static char flow_events[64][2048];
static uint32_t flow_event_count;

static inline void
flow_note(const skn_actor_t *actor, uint64_t entry)
{
    flow_log_t *log = &flow_logs[actor->number];
    if (log->count < FLOW_LOG_MAX)
        log->entry[log->count] = entry;
    log->count++;
    log->sum += entry;
}

/* Runs a system that is made already, to its end; keeps its events. */
static inline skn_status_t
flow_follow(skn_system_t *system, skn_error_t *error)
{
    skn_status_t status = skn_system_start(system, NULL, NULL, error);
    while (status == SKN_OK && flow_event_count < 64)
        if (skn_system_event(system, -1, flow_events[flow_event_count],
                             sizeof(flow_events[0]), NULL) == SKN_OK)
            flow_event_count++;
        else
            break;
    return status == SKN_OK ? skn_system_wait(system, error) : status;
}

static inline skn_status_t
flow_run(flow_t *flow, const skn_start_options_t *options, skn_error_t *error)
{
    skn_start_options_t unbound = SKN_START_OPTIONS(.no_binding = true);
    skn_system_t *system =
        skn_system_new(&flow->wiring, options ? options : &unbound, error);
    if (!system)
        return error->status;
    skn_status_t status = flow_follow(system, error);
    skn_system_destroy(&system);
    return status;
}

/* --- kinds --------------------------------------------------------------- */

static inline skn_status_t
flow_send(skn_actor_t *actor, const skn_schema_t *schema, uint64_t batch,
          uint64_t value, skn_error_t *error)
{
    uint64_t m = (uint64_t)skn_actor_option_int(actor, "m");
    token_t token = { .batch = batch,
                      .key = m > 0 ? (uint32_t)(batch % m) : 0,
                      .value = value,
                      .text = "text" };
    return skn_actor_send(actor, schema, &token, error);
}

/* maker: n tokens, numbered from 0, with key = number mod m. */
static inline skn_status_t
maker_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    uint64_t *next = state;
    if (*next == (uint64_t)skn_actor_option_int(actor, "n")) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    uint64_t batch = (*next)++;
    return flow_send(actor, &token_schema, batch,
                     1000 * skn_actor_index(actor) + batch, error);
}

static const skn_schema_t *const token_sends[] = { &token_schema, NULL };
static const skn_kind_t maker =
    SKN_KIND(.name = "maker", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = maker_produce);

/* sink: logs the values. */
static inline skn_status_t
sink_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    const token_t *token = message;
    (void)state, (void)error;
    flow_note(actor, token->value);
    return SKN_OK;
}

/* Of two numbers in turn: shows the order in which parts came. */
static inline skn_status_t
sink_combine(void *sum, const void *part, skn_error_t *error)
{
    token_t *token = sum;
    (void)error;
    token->value = token->value * 100 + ((const token_t *)part)->value;
    return SKN_OK;
}

static const skn_handler_t sink_handlers[] = {
    { &token_schema, sink_token, sink_combine },
    { &reply_schema, sink_token, sink_combine },
    { 0 },
};
static const skn_kind_t sink = SKN_KIND(.name = "sink", .options = flow_options,
                                        .handlers = sink_handlers);

/* relay: sends each token on, n times. */
static inline skn_status_t
relay_token(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    const token_t *token = message;
    skn_status_t status = sink_token(actor, state, message, error);
    int64_t n = skn_actor_option_int(actor, "n");
    for (int64_t k = 0; k < n && status == SKN_OK; k++)
        status =
            flow_send(actor, &token_schema, token->batch, token->value, error);
    return status;
}

static const skn_handler_t relay_handlers[] = {
    { &token_schema, relay_token, NULL },
    { 0 },
};
static const skn_kind_t relay =
    SKN_KIND(.name = "relay", .options = flow_options,
             .handlers = relay_handlers, .sends = token_sends);

/* gatherer: logs the values of all parts of a set, one after the other. */
static inline skn_status_t
gather_token(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *error)
{
    const skn_parts_t *parts = message;
    (void)state, (void)error;
    for (size_t k = 0; k < parts->count; k++)
        flow_note(actor, ((const token_t *)parts->at[k])->value);
    return SKN_OK;
}

static const skn_handler_t gather_handlers[] = {
    { &token_schema, gather_token, NULL },
    { &reply_schema, gather_token, NULL },
    { 0 },
};
static const skn_kind_t gatherer =
    SKN_KIND(.name = "gatherer", .options = flow_options,
             .handlers = gather_handlers);

/* Prints the figures of a run like `skein run --report`, without a verdict. */
static inline void
flow_report(const skn_system_t *system, bool json, FILE *file)
{
    skn_figures_t figures;
    if (skn_system_figures(system, &figures, NULL) != SKN_OK)
        return;
    if (json)
        skn_figures_json(&figures, file);
    else
        skn_figures_table(&figures, file);
    fputs(json ? "}\n" : "", file);
    skn_figures_fini(&figures);
}

#endif
