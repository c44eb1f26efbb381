/* slow_relay.c - runs a topology with one more kind of actor: a relay that
 * forwards `activation` or `output_gradient` late, so that the shard behind it
 * receives or answers late and lags behind the others.
 *
 * Usage: slow_relay TOPOLOGY [TRACE]. Prints the events of the run, then its
 * report as JSON. tests/e2e/window.sh puts the relay into a plan.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
#include "skein/topology.h"

#define WAITING_MAX 128 /* more than any window here */

typedef struct relay {
    const void *message[WAITING_MAX];
    uint64_t due_ns[WAITING_MAX];
    uint64_t delay_ns;
    size_t first, count;
} relay_t;

static skn_status_t
relay_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    relay_t *relay = state;
    (void)error;
    relay->delay_ns =
        (uint64_t)skn_actor_option_int(actor, "delay_ms") * 1000000u;
    return SKN_OK;
}

/* The pipes collect for all their receivers, so even one message comes as a
 * set of parts. */
static skn_status_t
on_parts(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    relay_t *relay = state;
    const skn_parts_t *parts = message;
    size_t slot = (relay->first + relay->count) % WAITING_MAX;
    if (parts->count != 1 || relay->count == WAITING_MAX)
        return skn_fail(error, SKN_USAGE, "the relay is for one sender");
    relay->message[slot] = skn_message_keep(parts->at[0]);
    relay->due_ns[slot] = skn_actor_time_ns(actor) + relay->delay_ns;
    relay->count++;
    return SKN_OK;
}

static skn_status_t
pass_on(skn_actor_t *actor, relay_t *relay, uint64_t now_ns, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    while (status == SKN_OK && relay->count > 0 &&
           relay->due_ns[relay->first] <= now_ns) {
        status = skn_actor_post(actor, relay->message[relay->first], error);
        relay->first = (relay->first + 1) % WAITING_MAX;
        relay->count--;
    }
    return status;
}

static skn_status_t
on_tick(skn_actor_t *actor, void *state, skn_error_t *error)
{
    return pass_on(actor, state, skn_actor_time_ns(actor), error);
}

static skn_status_t
relay_drain(skn_actor_t *actor, void *state, skn_error_t *error)
{
    return pass_on(actor, state, UINT64_MAX, error);
}

static void
relay_close(skn_actor_t *actor, void *state)
{
    relay_t *relay = state;
    (void)actor;
    for (; relay->count > 0; relay->count--) {
        skn_message_drop(relay->message[relay->first]);
        relay->first = (relay->first + 1) % WAITING_MAX;
    }
}

static const skn_option_t options[] = {
    { "delay_ms", SKN_OPTION_INT, "10", 0, 1000, NULL, "how late it is" },
    { 0 },
};
static const skn_handler_t handlers[] = {
    { &skn_activation_schema, on_parts, NULL },
    { &skn_output_gradient_schema, on_parts, NULL },
    { 0 },
};
static const skn_schema_t *const sends[] = {
    &skn_activation_schema,
    &skn_output_gradient_schema,
    NULL,
};
static const skn_timer_t timers[] = { { "tick", 1, on_tick }, { 0 } };
static const skn_kind_t slow_relay =
    SKN_KIND(.name = "slow_relay",
             .help = "forwards what an output shard hears or answers, late",
             .state_bytes = sizeof(relay_t), .options = options,
             .handlers = handlers, .sends = sends, .timers = timers,
             .open = relay_open, .drain = relay_drain, .close = relay_close);

static char *
read_file(const char *path)
{
    size_t room = (size_t)1 << 20;
    char *text = calloc(1, room);
    FILE *file = text ? fopen(path, "r") : NULL;
    if (!file || fread(text, 1, room - 1, file) == 0) {
        free(text);
        text = NULL;
    }
    if (file)
        (void)fclose(file);
    return text;
}

static skn_status_t
run(const char *yaml, const char *name, const char *trace, skn_error_t *error)
{
    static char line[65536];
    static const skn_kind_t *const kinds[] = { &slow_relay, NULL };
    skn_start_options_t start = SKN_START_OPTIONS(.trace_path = trace);
    skn_topology_t *topology = skn_topology_new(yaml, name, kinds, error);
    if (!topology)
        return error->status;
    skn_status_t status = skn_topology_start(topology, &start, error);
    while (status == SKN_OK &&
           skn_topology_event(topology, -1, line, sizeof(line), NULL) == SKN_OK)
        (void)puts(line);
    if (status == SKN_OK)
        status = skn_topology_wait(topology, error);
    if (status == SKN_OK)
        skn_topology_report(topology, true, stdout);
    skn_topology_destroy(&topology);
    return status;
}

int
main(int argument_count, char **arguments)
{
    skn_error_t error = { 0 };
    char *yaml = argument_count > 1 ? read_file(arguments[1]) : NULL;
    if (!yaml) {
        (void)fprintf(stderr, "usage: slow_relay TOPOLOGY [TRACE]\n");
        return skn_status_exit_code(SKN_USAGE);
    }
    skn_status_t status = run(yaml, arguments[1],
                              argument_count > 2 ? arguments[2] : NULL, &error);
    if (status != SKN_OK)
        (void)fprintf(stderr, "slow_relay: %s; %s\n", error.text, error.hint);
    free(yaml);
    return skn_status_exit_code(status);
}
