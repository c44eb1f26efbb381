/* bench_schedules.c - runs the steps of a pipeline whose stages work by
 * messages, or in an order that was given to them.
 *
 * Usage: bench_schedules < TOPOLOGY      (bench/schedules.py writes it)
 * Its actors are a gate that admits micro-batches, links that deliver a message
 * some time later, and stages (schedules/stage.c), whose work is a wait of a
 * given time, so that more stages than cores work at once, or that of the
 * layers of a decoder.
 * Prints one JSON object: milliseconds of each step, from an empty pipeline
 * until the last W; by stage the most micro-batches held, the mean milliseconds
 * of F, B and W, and a hash of the last step's gradient.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench/schedules/passes.h"
#include "bench/schedules/trunk.h"
#include "skein/topology.h"

SKN_MESSAGE_SCHEMA_WITH(pass, "bench_forward", 1000, FIELDS_pass,
                        "a micro-batch goes up", NULL)
SKN_MESSAGE_SCHEMA_WITH(gradient, "bench_gradient", 1001, FIELDS_pass,
                        "its gradient comes down", NULL)
SKN_MESSAGE_SCHEMA_WITH(applied, "bench_applied", 1002, FIELDS_applied,
                        "a stage has done all work of a micro-batch", NULL)

/* --- gate: admits micro-batches ------------------------------------------- */

typedef struct gate {
    uint32_t window, micros, steps, stages;
    bool counts_weights;
    uint64_t step, begun_ns, ended_ns;
    uint32_t issued, returned, applied[STAGES_MAX];
} gate_t;

static skn_status_t
gate_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    gate_t *gate = state;
    (void)error;
    gate->window = skn_option_u32(actor, "window");
    gate->micros = skn_option_u32(actor, "micros");
    gate->steps = skn_option_u32(actor, "steps");
    gate->stages = skn_option_u32(actor, "stages");
    gate->counts_weights = skn_actor_option_bool(actor, "counts_weights");
    return SKN_OK;
}

/* Micro-batches of which all stages have done W. */
static uint32_t
applied_by_all(const gate_t *gate)
{
    uint32_t low = gate->micros;
    for (uint32_t k = 0; k < gate->stages; k++)
        low = gate->applied[k] < low ? gate->applied[k] : low;
    return low;
}

static skn_status_t
gate_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    gate_t *gate = state;
    uint32_t low = gate->counts_weights ? applied_by_all(gate) : gate->returned;
    if (gate->step == gate->steps) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (gate->issued == gate->micros || gate->issued - low >= gate->window) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    if (gate->issued == 0)
        gate->begun_ns = skn_monotonic_ns();
    const pass_t pass = { .micro = gate->issued++,
                          .step = gate->step,
                          .begun_ns = gate->begun_ns };
    return skn_actor_send(actor, &pass_schema, &pass, error);
}

static skn_status_t
gate_on_gradient(skn_actor_t *actor, void *state, const void *message,
                 skn_error_t *error)
{
    (void)actor, (void)message, (void)error;
    ((gate_t *)state)->returned++;
    return SKN_OK;
}

static skn_status_t
gate_on_applied(skn_actor_t *actor, void *state, const void *message,
                skn_error_t *error)
{
    gate_t *gate = state;
    const applied_t *applied = message;
    results_t *results = skn_actor_host(actor);
    (void)error;
    gate->applied[applied->stage]++;
    if (applied->ended_ns > gate->ended_ns)
        gate->ended_ns = applied->ended_ns;
    if (applied_by_all(gate) < gate->micros)
        return SKN_OK;
    results->step_ms[gate->step++] =
        (double)(gate->ended_ns - gate->begun_ns) * 1e-6;
    results->steps = (uint32_t)gate->step;
    gate->issued = gate->returned = 0;
    memset(gate->applied, 0, sizeof(gate->applied));
    return SKN_OK;
}

static const skn_option_t gate_options[] = {
    { "window", SKN_OPTION_INT, NULL, 1, MICROS_MAX, NULL,
      "micro-batches that are admitted and not back" },
    { "micros", SKN_OPTION_INT, NULL, 1, MICROS_MAX, NULL,
      "micro-batches of a step" },
    { "steps", SKN_OPTION_INT, NULL, 1, STEPS_MAX, NULL, "steps of the run" },
    { "stages", SKN_OPTION_INT, NULL, 1, STAGES_MAX, NULL, "stages" },
    { "counts_weights", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "a micro-batch is back when all stages have done W, not with its "
      "gradient" },
    { 0 },
};
static const skn_handler_t gate_handlers[] = {
    { &gradient_schema, gate_on_gradient, NULL },
    { &applied_schema, gate_on_applied, NULL },
    { 0 },
};
static const skn_schema_t *const gate_sends[] = { &pass_schema, NULL };
static const skn_kind_t gate_kind =
    SKN_KIND(.name = "bench_gate", .state_bytes = sizeof(gate_t),
             .options = gate_options, .handlers = gate_handlers,
             .sends = gate_sends, .open = gate_open, .produce = gate_produce,
             .gate = true);

/* --- link: delivers a message some time later ----------------------------- */

/* Messages wait in the order in which they came. */
typedef struct mail {
    uint64_t due_ns;
    const void *message;
} mail_t;
#define MAILS_MAX (4 * MICROS_MAX)

typedef struct mail_link {
    int timer; /* readable when the first message is due */
    uint64_t latency_ns;
    uint32_t first, end;
    mail_t mails[MAILS_MAX];
} mail_link_t;

static skn_status_t
link_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    mail_link_t *link = state;
    link->latency_ns = (uint64_t)skn_option_u32(actor, "latency_us") * 1000;
    link->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (link->timer < 0)
        return skn_fail(error, SKN_UNAVAILABLE, "%s: no timer: %s",
                        skn_actor_name(actor), strerror(errno));
    skn_actor_watch(actor, link->timer, POLLIN);
    return SKN_OK;
}

/* Delivers what is due, and sets the timer to the next message. */
static skn_status_t
link_deliver(skn_actor_t *actor, void *state, skn_error_t *error)
{
    mail_link_t *link = state;
    uint64_t rings, now_ns = skn_monotonic_ns();
    skn_status_t status = SKN_OK;
    struct itimerspec due = { 0 };
    ssize_t bytes = read(link->timer, &rings, sizeof(rings));
    (void)bytes; /* nothing to read: it has not rung */
    while (link->first != link->end && status == SKN_OK &&
           link->mails[link->first % MAILS_MAX].due_ns <= now_ns)
        status = skn_actor_post(
            actor, link->mails[link->first++ % MAILS_MAX].message, error);
    if (link->first == link->end || status != SKN_OK)
        return status;
    uint64_t due_ns = link->mails[link->first % MAILS_MAX].due_ns;
    due.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
    due.it_value.tv_nsec = (long)(due_ns % 1000000000u);
    (void)timerfd_settime(link->timer, TFD_TIMER_ABSTIME, &due, NULL);
    return SKN_OK;
}

static skn_status_t
link_on_message(skn_actor_t *actor, void *state, const void *message,
                skn_error_t *error)
{
    mail_link_t *link = state;
    if (link->end - link->first == MAILS_MAX)
        return skn_fail(error, SKN_INTERNAL, "%s holds more than %u messages",
                        skn_actor_name(actor), MAILS_MAX);
    link->mails[link->end++ % MAILS_MAX] =
        (mail_t){ .due_ns = skn_monotonic_ns() + link->latency_ns,
                  .message = skn_message_keep(message) };
    return link_deliver(actor, state, error);
}

static void
link_close(skn_actor_t *actor, void *state)
{
    mail_link_t *link = state;
    (void)actor;
    while (link->first != link->end)
        skn_message_drop(link->mails[link->first++ % MAILS_MAX].message);
    if (link->timer > 0)
        (void)close(link->timer);
}

static const skn_option_t link_options[] = {
    { "latency_us", SKN_OPTION_INT, NULL, 0, 1e9, NULL,
      "until a message is delivered" },
    { 0 },
};
static const skn_handler_t link_handlers[] = {
    { &pass_schema, link_on_message, NULL },
    { &gradient_schema, link_on_message, NULL },
    { &applied_schema, link_on_message, NULL },
    { 0 },
};
static const skn_schema_t *const link_sends[] = { &pass_schema,
                                                  &gradient_schema,
                                                  &applied_schema, NULL };
static const skn_kind_t link_kind =
    SKN_KIND(.name = "bench_link", .state_bytes = sizeof(mail_link_t),
             .options = link_options, .handlers = link_handlers,
             .sends = link_sends, .open = link_open, .ready = link_deliver,
             .close = link_close);

/* --- the run -------------------------------------------------------------- */

static void
print(const results_t *results)
{
    printf("{\"step_ms\":[");
    for (uint32_t k = 0; k < results->steps; k++)
        printf("%s%.3f", k ? "," : "", results->step_ms[k]);
    printf("],\"stages\":[");
    for (uint32_t k = 0; k < results->stages; k++)
        printf("%s{\"held_max\":%u,\"f_ms\":%.3f,\"b_ms\":%.3f,\"w_ms\":%.3f,"
               "\"gradient\":\"%016llx\"}",
               k ? "," : "", results->held_max[k], results->mean_ms[k][F],
               results->mean_ms[k][B], results->mean_ms[k][W],
               (unsigned long long)results->bits[k]);
    puts("]}");
}

int
main(void)
{
    static const skn_kind_t *const kinds[] = { &gate_kind, &link_kind,
                                               &bench_stage, NULL };
    static results_t results;
    static char text[1 << 18];
    skn_error_t error = SKN_ZERO;
    skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = true, .host = &results);
    size_t bytes = fread(text, 1, sizeof(text) - 1, stdin);
    text[bytes] = 0;
    skn_topology_t *topology =
        skn_topology_new(text, "standard input", kinds, &error);
    skn_status_t status = error.status;
    if (topology)
        status = skn_topology_start(topology, &options, &error);
    if (topology && status == SKN_OK)
        status = skn_topology_wait(topology, &error);
    skn_topology_destroy(&topology);
    while (results.stages < STAGES_MAX && results.held_max[results.stages] > 0)
        results.stages++;
    if (status == SKN_OK)
        print(&results);
    else
        (void)fprintf(stderr, "bench_schedules: %s\n", error.text);
    return status == SKN_OK ? 0 : 1;
}
