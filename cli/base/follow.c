/* follow.c - runs a topology in the worker: events, lease, stop and salvage.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/text.h"
#include "cli/base/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/resume_command.h"
#include "cli/base/auto_report.h"
#include "cli/base/process.h"
#include "cli/base/stop.h"
#include "cli/base/supervise.h"
#include "cli/base/trace_events.h"
#include "formats/checkpoint/salvage.h"
#include "formats/text/json_text.h"
#include "actors/machine/groups.h"
#include "topology/idle/load.h"
#include "transport/socket/clock.h"

#define EVENT_LINE_BYTES SKN_EVENT_BYTES_MAX
/* The interval at which the lease is checked. */
#define LEASE_LOOK_MS 100
/* The interval of load reports to the parent. */
#define LOAD_NS 1000000000u

/* The state of standard input, by which the parent controls this process. */
typedef struct leash {
    bool is_held; /* standard input is open */
    bool lease;
    uint64_t until_ns; /* the end of the lease; 0: none was received yet */
    uint64_t told_ns;  /* when the load was last reported */
    double quota;      /* processing units that we may use; 0: all */
    skn_node_load_t load;
} leash_t;

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

/* The lease has expired: the coordinator may already have declared this node
 * dead and let others train in its place, so the process exits. */
static void
end_of_lease(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_UNAVAILABLE,
                   "the lease has expired: no answer from the coordinator");
    cli_worker_exit(cli_finish(call, cli_report(call, &error)));
}

static uint64_t
cpu_ns(void)
{
    struct timespec used = { 0 };
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Prints a line per second for the parent: how busy this node was. */
static void
tell_load(const skn_topology_t *topology, leash_t *leash)
{
    uint64_t now_ns = skn_monotonic_ns();
    if (!leash->lease || now_ns - leash->told_ns < LOAD_NS)
        return;
    leash->told_ns = now_ns;
    skn_load_thread_t threads[SKN_LOAD_THREADS];
    const skn_load_sample_t sample = {
        .at_ns = now_ns,
        .core_ns = skn_topology_busy_ns(topology),
        .cpu_ns = cpu_ns(),
        .quota = leash->quota,
        .throttled_ns = leash->quota > 0 ? skn_groups_throttled_ns("") : 0,
        .threads = threads,
        .thread_count = skn_load_threads(threads, SKN_LOAD_THREADS),
    };
    skn_node_load_add(&leash->load, &sample);
    (void)printf("{\"event\":\"load\",\"busy_us\":%" PRIu64
                 ",\"at_us\":%" PRIu64 "}\n",
                 leash->load.busy_ns / 1000, now_ns / 1000);
    (void)fflush(stdout);
}

/* Waits for an event, or for the end of standard input, which stops the run
 * cleanly. An expired lease ends the process, even if input is waiting. */
static void
wait_on_leash(const cli_call_t *call, skn_topology_t *topology, leash_t *leash)
{
    struct pollfd polled[2] = { { skn_topology_fd(topology), POLLIN, 0 },
                                { STDIN_FILENO, POLLIN, 0 } };
    uint64_t until_ns[32];
    tell_load(topology, leash);
    int ready = poll(polled, 2, leash->until_ns > 0 ? LEASE_LOOK_MS : -1);
    bool told = ready > 0 && polled[1].revents != 0;
    ssize_t bytes = told ? read(STDIN_FILENO, until_ns, sizeof(until_ns)) : 0;
    for (size_t k = 0;
         leash->lease && bytes > 0 && k < (size_t)bytes / sizeof(until_ns[0]);
         k++)
        if (until_ns[k] == CLI_FOLLOW_BREAK)
            skn_topology_abort(topology);
        else if (until_ns[k] > leash->until_ns)
            leash->until_ns = until_ns[k];
    /* Check this after reading: a process that gives way to others may have had
     * no time to read a renewal. */
    if (leash->until_ns > 0 && skn_monotonic_ns() >= leash->until_ns)
        end_of_lease(call);
    if (!told || bytes > 0 || (bytes < 0 && errno == EINTR))
        return;
    leash->is_held = false;
    skn_topology_stop(topology);
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

/* Prints all events to the last. True if one of them was `done`. */
static bool
follow_events(const cli_call_t *call, skn_topology_t *topology,
              const cli_follow_t *follow, bool *unread)
{
    bool is_done = false;
    static const char done[] = "{\"event\":\"done\"";
    leash_t leash = { .is_held = follow->leash,
                      .lease = follow->lease,
                      .quota = follow->lease ? skn_groups_units("") : 0 };
    static char line[EVENT_LINE_BYTES];
    cli_event_stop_t stop = follow->stop;
    cli_bar_t bar;
    cli_bar_init(&bar, call);
    for (;;) {
        skn_error_t nothing = { 0 };
        skn_status_t status = skn_topology_event(
            topology, leash.is_held ? 0 : -1, line, sizeof(line), &nothing);
        if (status == SKN_UNAVAILABLE)
            break;
        if (status == SKN_OK && strncmp(line, done, strlen(done)) == 0)
            is_done = true;
        if (status == SKN_OK)
            cli_event_print(call, line, &bar, &stop);
        else if (leash.is_held)
            wait_on_leash(call, topology, &leash);
        stop_unread(topology, unread);
    }
    cli_bar_hide(&bar);
    return is_done;
}

static void
print_early(void *job, const char *line)
{
    cli_event_show(job, line);
}

static skn_status_t
run(const cli_call_t *call, skn_topology_t *topology,
    const cli_follow_t *follow, bool *unread, cli_trace_events_t *trace,
    skn_error_t *error)
{
    skn_start_options_t options = SKN_START_OPTIONS();
    if (follow->options)
        options = *follow->options;
    options.trace_path = cli_value(call, "trace");
    if (cli_trace_events_begin(trace, call, &options, error) != SKN_OK)
        return error->status;
    options.wire = cli_flag(call, "wire");
    options.no_binding = cli_flag(call, "no-binding");
    uint32_t patience_s = 0;
    if (cli_count(call, "warn-after", CLI_WAIT_S_MAX, &patience_s, error) !=
        SKN_OK)
        return SKN_USAGE;
    options.patience_ms = patience_s * 1000;
    if (cli_flag(call, "report"))
        skn_topology_measure(topology, follow->prepare_ns);
    skn_topology_tell_start(topology, print_early, (void *)(uintptr_t)call);
    skn_status_t status = skn_topology_start(topology, &options, error);
    if (status != SKN_OK) { /* the events until then are worth reading */
        (void)follow_events(call, topology, follow, unread);
        return status;
    }
    if (follow->begun)
        *follow->begun = true;
    running = topology;
    if (stop_asked)
        skn_topology_stop(topology);
    bool is_done = follow_events(call, topology, follow, unread);
    status = skn_topology_wait(topology, error);
    if (follow->stopped && status == SKN_OK && !is_done)
        *follow->stopped = skn_topology_stops(topology);
    return status;
}

/* Writes what this node has of a run that ended because another node ended. */
static void
write_cut(const cli_call_t *call, skn_topology_t *topology,
          const cli_follow_t *follow)
{
    skn_error_t error = { 0 };
    skn_salvage_writer_t *writer =
        skn_salvage_begin(follow->salvage_path, follow->generation, &error);
    skn_status_t status =
        writer ? skn_topology_cut(topology, writer, &error) : error.status;
    if (status == SKN_OK)
        status = skn_salvage_finish(&writer, &error);
    skn_salvage_abandon(&writer);
    if (status != SKN_OK && status != SKN_BUSY && status != SKN_NO_INPUT)
        cli_warn(call, error.text,
                 "the blocks of this node return to the last checkpoint");
}

int
cli_follow(const cli_call_t *call, skn_topology_t **topology,
           const cli_follow_t *follow)
{
    skn_error_t error = { 0 };
    struct sigaction action = { .sa_handler = on_stop_signal };
    (void)sigaction(cli_stop_word(), &action, NULL);
    bool unread = false;
    cli_trace_events_t trace = { "" };
    skn_status_t status = run(call, *topology, follow, &unread, &trace, &error);
    running = NULL;
    if (follow->salvage_path && status == SKN_UNAVAILABLE)
        write_cut(call, *topology, follow);
    if (status == SKN_OK && cli_flag(call, "report"))
        skn_topology_report(*topology, call->json, stdout);
    cli_trace_events_end(&trace, status == SKN_OK);
    skn_topology_destroy(topology);
    if (unread && status == SKN_OK)
        return cli_output_end_unread();
    return status == SKN_OK ? 0 : cli_report(call, &error);
}
