/* follow.c - runs a topology in the worker, and prints its events.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/follow.h"

#include <signal.h>

#include "cli/base/process.h"
#include "cli/base/stop.h"

/* The run that the parent's stop signal stops, once it runs: signal handlers
 * take no argument. */
static skn_topology_t *volatile running;
static volatile sig_atomic_t stop_asked;

static void
on_stop_signal(int number)
{
    (void)number;
    stop_asked = 1;
    if (running)
        skn_topology_stop(running);
}

/* Stops the run cleanly when the reader of standard output has gone (`| head`),
 * instead of SIGPIPE. */
static void
stop_unread(skn_topology_t *topology, bool *unread)
{
    if (*unread || !cli_output_unread())
        return;
    *unread = true;
    skn_topology_stop(topology);
}

/* Prints all events to the last. */
static void
follow_events(const cli_call_t *call, skn_topology_t *topology, bool *unread)
{
    static char line[SKN_EVENT_BYTES_MAX];
    skn_status_t status = SKN_OK;
    cli_bar_t bar;
    cli_bar_init(&bar, call);
    while (status != SKN_UNAVAILABLE) {
        status = skn_topology_event(topology, -1, line, sizeof(line), NULL);
        if (status == SKN_OK)
            cli_event_print(call, line, &bar, NULL);
        stop_unread(topology, unread);
    }
    cli_bar_hide(&bar);
}

static void
print_early(void *job, const char *line)
{
    cli_event_show(job, line);
}

static skn_status_t
run(const cli_call_t *call, skn_topology_t *topology, uint32_t node,
    bool *unread, skn_error_t *error)
{
    uint32_t patience_s = 0;
    if (cli_count(call, "warn-after", CLI_WAIT_S_MAX, &patience_s, error) !=
        SKN_OK)
        return SKN_USAGE;
    const skn_start_options_t options = {
        .struct_bytes = sizeof(options),
        .node = node,
        .trace_path = cli_value(call, "trace"),
        .wire = cli_flag(call, "wire"),
        .no_binding = cli_flag(call, "no-binding"),
        .patience_ms = patience_s * 1000,
        .report = cli_flag(call, "report"),
        .on_event = print_early,
        .on_event_host = (void *)(uintptr_t)call,
    };
    skn_status_t status = skn_topology_start(topology, &options, error);
    if (status != SKN_OK) { /* the events until then are worth reading */
        follow_events(call, topology, unread);
        return status;
    }
    running = topology;
    if (stop_asked)
        skn_topology_stop(topology);
    follow_events(call, topology, unread);
    return skn_topology_wait(topology, error);
}

int
cli_follow(const cli_call_t *call, skn_topology_t **topology, uint32_t node)
{
    skn_error_t error = { 0 };
    struct sigaction action = { .sa_handler = on_stop_signal };
    (void)sigaction(cli_stop_word(), &action, NULL);
    bool unread = false;
    skn_status_t status = run(call, *topology, node, &unread, &error);
    running = NULL;
    if (status == SKN_OK && cli_flag(call, "report"))
        skn_topology_report(*topology, call->json, stdout);
    skn_topology_destroy(topology);
    if (unread && status == SKN_OK)
        return cli_output_end_unread();
    return status == SKN_OK ? 0 : cli_report(call, &error);
}
