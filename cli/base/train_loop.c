/* train_loop.c - the loop of a worker process that trains: prints events, and
 * obeys signals and the parent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/train_loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/events.h"
#include "cli/base/process.h"
#include "cli/base/stop.h"
#include "cli/base/supervise.h"
#include "formats/text/json_text.h"
#include "skein/member.h"
#include "transport/socket/clock.h"

/* The interval at which the lease is checked. */
#define LEASE_LOOK_MS 100

typedef struct worker {
    const cli_call_t *call;
    cli_train_loop_t *loop;
    skn_training_t *training;
    cli_bar_t bar;
    cli_event_run_t run;
    bool is_held;      /* standard input is open, and may end the run */
    bool is_joined;    /* all networks are one: only scores are missing */
    uint64_t until_ns; /* the end of the lease; 0: none was received yet */
    char line[SKN_EVENT_BYTES_MAX];
} worker_t;

/* The training that the parent's stop signal stops: signal handlers take no
 * argument. */
static skn_training_t *volatile running;
static volatile sig_atomic_t stop_asked;

static void
on_stop_signal(int number)
{
    (void)number;
    stop_asked = 1;
    skn_training_stop(running); /* which wakes the loop, too */
}

/* --- events -------------------------------------------------------------- */

static void
show(worker_t *worker)
{
    const cli_call_t *call = worker->call;
    json_t *event = json_loads(worker->line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    bool is_place =
        json_object_get(event, "path") || json_object_get(event, "batch");
    if (strcmp(name, "join") == 0)
        worker->is_joined = true;
    if (strcmp(name, "stopped") == 0 && !is_place) {
        cli_bar_hide(&worker->bar);
        cli_tell_early_end(call, *worker->loop->begun);
    } else if (strcmp(name, "report") == 0 && !call->json) {
        cli_bar_hide(&worker->bar);
        skn_training_report(worker->training, stdout);
    } else {
        cli_event_print(call, worker->line, &worker->bar, &worker->run);
    }
    json_decref(event);
}

/* Takes note of what has changed. */
static skn_training_phase_t
look(worker_t *worker)
{
    cli_train_loop_t *loop = worker->loop;
    skn_training_info_t info = { .struct_bytes = sizeof(info) };
    (void)skn_training_info(worker->training, &info, NULL);
    loop->note(loop->job, &info);
    *loop->stopped = info.was_stopped;
    worker->is_held = loop->leash && info.has_begun;
    worker->run.path = loop->run_path;
    worker->run.is_named = !*loop->is_unnamed;
    worker->run.network = info.network;
    worker->run.network_count = info.network_count;
    worker->run.is_trained = info.phase == SKN_TRAINING_JOINS;
    worker->run.is_joined = worker->is_joined || info.network_count == 0;
    return info.phase;
}

/* --- ends ---------------------------------------------------------------- */

/* The run was asked to stop while no network is trained, so that nothing has to
 * be saved. What is under way may take long, and a resume repeats it. */
static void
end_now(worker_t *worker, skn_training_phase_t phase)
{
    const cli_call_t *call = worker->call;
    const struct sigaction end = { .sa_handler = SIG_DFL };
    cli_bar_hide(&worker->bar);
    if (phase == SKN_TRAINING_JOINS || worker->run.network > 0) {
        *worker->loop->stopped = !worker->run.is_joined;
        cli_event_tell_pause(call, &worker->run);
        cli_worker_exit(cli_finish(call, 0));
    }
    (void)fflush(stdout);
    /* The parent reports a worker that its request has ended. */
    (void)sigaction(cli_stop_word(), &end, NULL);
    (void)raise(cli_stop_word());
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

/* Waits for an event, or for the end of standard input, which stops the run
 * cleanly. An expired lease ends the process, even if input is waiting. */
static void
wait_on_leash(worker_t *worker)
{
    bool lease = worker->is_held && worker->loop->lease;
    struct pollfd polled[2] = {
        { skn_training_fd(worker->training), POLLIN, 0 },
        { worker->is_held ? STDIN_FILENO : -1, POLLIN, 0 }
    };
    uint64_t until_ns[32];
    int ready = poll(polled, 2, worker->until_ns > 0 ? LEASE_LOOK_MS : -1);
    bool told = ready > 0 && polled[1].revents != 0;
    ssize_t bytes = told ? read(STDIN_FILENO, until_ns, sizeof(until_ns)) : 0;
    for (size_t k = 0;
         lease && bytes > 0 && k < (size_t)bytes / sizeof(until_ns[0]); k++)
        if (until_ns[k] == SKN_LEASE_BREAK)
            skn_training_break(worker->training);
        else if (until_ns[k] > worker->until_ns)
            worker->until_ns = until_ns[k];
    /* Check this after reading: a process that gives way to others may have had
     * no time to read a renewal. */
    if (worker->until_ns > 0 && skn_monotonic_ns() >= worker->until_ns)
        end_of_lease(worker->call);
    if (!told || bytes > 0 || (bytes < 0 && errno == EINTR))
        return;
    worker->loop->leash = worker->is_held = false;
    skn_training_stop(worker->training);
}

/* Stops the run cleanly when the reader of standard output has gone (`| head`),
 * instead of SIGPIPE. */
static void
stop_unread(worker_t *worker)
{
    if (worker->loop->unread || !cli_output_unread())
        return;
    worker->loop->unread = true;
    skn_training_stop(worker->training);
}

/* Prints all events to the last. */
static void
follow(worker_t *worker)
{
    skn_status_t status = SKN_OK;
    while (status != SKN_UNAVAILABLE) {
        status = skn_training_event(worker->training, 0, worker->line,
                                    sizeof(worker->line), NULL);
        skn_training_phase_t phase = look(worker);
        if (status == SKN_OK)
            show(worker);
        else if (status == SKN_BUSY && stop_asked &&
                 (phase == SKN_TRAINING_PLANS || phase == SKN_TRAINING_JOINS))
            end_now(worker, phase);
        else if (status == SKN_BUSY)
            wait_on_leash(worker);
        stop_unread(worker);
    }
    cli_bar_hide(&worker->bar);
}

int
cli_train_loop(const cli_call_t *call, cli_train_loop_t *loop)
{
    static worker_t worker; /* too large for a stack */
    const struct sigaction action = { .sa_handler = on_stop_signal };
    skn_error_t error = { 0 };
    worker.call = call;
    worker.loop = loop;
    cli_bar_init(&worker.bar, call);
    (void)sigaction(cli_stop_word(), &action, NULL);
    worker.training = skn_training_load(loop->path, loop->options, &error);
    if (!worker.training)
        return cli_report(call, &error);
    running = worker.training;
    if (skn_training_start(worker.training, &error) != SKN_OK)
        return cli_report(call, &error);
    follow(&worker);
    /* Its events have printed a failure. */
    skn_status_t status = skn_training_wait(worker.training, &error);
    running = NULL;
    skn_training_destroy(&worker.training);
    return skn_status_exit_code(status);
}
