/* local_cluster.c - starts, reads and restarts the processes of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/read_config.h"
#include "cli/elastic/local_cluster.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/instance_lock.h"
#include "cli/base/process.h"
#include "formats/text/json_text.h"
#include "transport/socket/clock.h"

/* A process that ends by itself is restarted after 1 s, 2 s, ... 64 s. A
 * coordinator that ends this often in a row without being of use ends the
 * cluster. */
#define AGAIN_MS 1000u
#define AGAIN_DOUBLINGS 6u
#define COORDINATOR_ENDS_MAX 5u
/* Polls, 5 ms apart, until killed processes are gone. */
#define GONE_TRIES 200
/* The time for members to end after the coordinator. */
#define CREW_FAREWELL_MS 20000u

static skn_status_t
start_one(cli_local_cluster_t *cluster, uint32_t place, skn_error_t *error)
{
    cli_up_node_t *process = &cluster->process[place];
    cli_up_command_t command = { 0 };
    cli_up_node_t fresh = { .name = process->name,
                            .ssh = process->ssh,
                            .leash = -1,
                            .own_group = true };
    cli_up_fini(process);
    fresh.out.descriptor = fresh.err.descriptor = -1;
    *process = fresh;
    cluster->due_ns[place] = 0;
    const cli_up_role_t role = {
        .verb = place == 0 ? "coordinator" : "member",
        .file = cluster->file,
        .path = cluster->path,
        .patience_s = cluster->patience_s,
    };
    skn_status_t status = cli_up_role_command(cluster->call, cluster->local,
                                              process, &role, &command, error);
    if (status == SKN_OK)
        status = cli_up_start(process, command.argument, error);
    cli_up_command_fini(&command);
    return status;
}

/* --- their output --------------------------------------------------------- */

static uint32_t
place_of(const cli_local_cluster_t *cluster, const cli_up_node_t *process)
{
    return (uint32_t)(process - cluster->process);
}

static void
take_event(void *job, cli_up_node_t *process, char *line)
{
    cli_local_cluster_t *cluster = job;
    json_t *event = json_loads(line, 0, NULL);
    if (!event)
        return;
    process->spoke = true;
    /* A coordinator that was down when the stop was requested gets the request
     * now. */
    if (cluster->stopping && process == &cluster->process[0] &&
        json_array_size(json_object_get(event, "members")) > 0)
        cli_up_stop(process);
    if (strcmp(skn_json_word(event, "event"), "error") == 0)
        cli_up_keep_error(process, event);
    else
        cluster->take(cluster->job, cluster, place_of(cluster, process), event,
                      line);
    json_decref(event);
}

static void
take_complaint(void *job, cli_up_node_t *process, char *line)
{
    const cli_local_cluster_t *cluster = job;
    if (strncmp(line, "skein:", 6) == 0 || strncmp(line, "hint:", 5) == 0)
        return; /* there is also an event for it */
    (void)snprintf(process->last, sizeof(process->last), "%.*s",
                   (int)strcspn(line, "\r"), line);
    if (cluster->complain)
        cluster->complain(cluster->complain_job, process->name, line);
    else
        (void)fprintf(stderr, "[%s] %s\n", process->name, line);
}

/* --- how they end --------------------------------------------------------- */

static void
start_again(cli_local_cluster_t *cluster, uint32_t place)
{
    uint32_t doublings = cluster->ends[place] < AGAIN_DOUBLINGS
                             ? cluster->ends[place]
                             : AGAIN_DOUBLINGS;
    cluster->ends[place]++;
    cluster->due_ns[place] =
        skn_monotonic_ns() + ((uint64_t)AGAIN_MS << doublings) * 1000000u;
}

/* Whether a restart would fail in the same way, because of the file, the keys
 * or the address. */
static bool
is_hopeless(const cli_local_cluster_t *cluster, uint32_t place)
{
    const cli_up_node_t *process = &cluster->process[place];
    return WIFEXITED(process->status) && process->error.status != SKN_OK &&
           process->error.status != SKN_UNAVAILABLE &&
           process->error.status != SKN_BUSY &&
           process->error.status != SKN_STORAGE &&
           process->error.status != SKN_NO_MEMORY;
}

static void
end_cluster(cli_local_cluster_t *cluster, const skn_error_t *error)
{
    if (error && error->status != SKN_OK && cluster->error.status == SKN_OK)
        cluster->error = *error;
    if (!cluster->over)
        cluster->over_ns = skn_monotonic_ns();
    cluster->over = true;
    for (uint32_t k = 0; k < cluster->count; k++) {
        cluster->due_ns[k] = 0;
        cli_up_stop(&cluster->process[k]);
    }
}

static void
bury(cli_local_cluster_t *cluster, uint32_t place)
{
    cli_up_node_t *process = &cluster->process[place];
    bool well = WIFEXITED(process->status) && WEXITSTATUS(process->status) == 0;
    process->process = 0;
    cli_up_stop(process);
    if (cluster->over)
        return;
    if (place == 0 && (well || is_hopeless(cluster, 0) ||
                       cluster->ends[0] >= COORDINATOR_ENDS_MAX)) {
        end_cluster(cluster, &process->error);
        return;
    }
    if (place > 0 && !well && is_hopeless(cluster, place)) {
        end_cluster(cluster, &process->error);
        return;
    }
    if (place == 0 || !well) {
        start_again(cluster, place);
    } else if (cluster->absence_ms[place] > 0) { /* it left after notice */
        cluster->due_ns[place] =
            skn_monotonic_ns() + cluster->absence_ms[place] * 1000000ull;
        cluster->absence_ms[place] = 0;
    }
}

static void
see_to_ends(cli_local_cluster_t *cluster)
{
    uint64_t time_ns = skn_monotonic_ns();
    for (uint32_t k = 0; k < cluster->count; k++) {
        cli_up_node_t *process = &cluster->process[k];
        skn_error_t error = { 0 };
        if (process->process > 0 && waitpid(process->process, &process->status,
                                            WNOHANG) == process->process)
            bury(cluster, k);
        if (cluster->due_ns[k] > 0 && time_ns >= cluster->due_ns[k] &&
            start_one(cluster, k, &error) != SKN_OK)
            end_cluster(cluster, &error);
    }
}

/* Asks the coordinator, once, to end the run cleanly, as SIGTERM does. */
static void
stop_cluster(cli_local_cluster_t *cluster)
{
    cluster->stopping = true;
    cli_up_stop(&cluster->process[0]);
}

static void
take_signals(cli_local_cluster_t *cluster)
{
    cli_stop_news_t news = cli_stop_take(&cluster->stop);
    if (news == CLI_STOP_NOTHING)
        return;
    stop_cluster(cluster);
    if (news != CLI_STOP_AT_ONCE)
        return;
    for (uint32_t k = 0; k < cluster->count; k++)
        cli_up_kill(&cluster->process[k], SIGKILL);
    end_cluster(cluster, NULL);
}

/* Kills the process and everything that it has started; returns when they are
 * gone. */
static void
kill_group(cli_up_node_t *process)
{
    const struct timespec nap = { 0, 5000000 };
    pid_t group = process->process;
    (void)kill(-group, SIGKILL);
    cli_up_kill(process, SIGKILL);
    cli_process_wait(process->process, &process->status);
    process->process = 0;
    /* Grandchildren are reaped by another process. */
    for (int k = 0; k < GONE_TRIES && kill(-group, 0) == 0; k++)
        (void)nanosleep(&nap, NULL);
}

void
cli_local_cluster_kill(cli_local_cluster_t *cluster, uint32_t place,
                       uint32_t after_ms)
{
    cli_up_node_t *process = &cluster->process[place];
    if (process->process <= 0)
        return;
    kill_group(process);
    cli_up_stop(process);
    cluster->ends[place] = 0;
    cluster->due_ns[place] = skn_monotonic_ns() + after_ms * 1000000ull;
}

void
cli_local_cluster_dismiss(cli_local_cluster_t *cluster, uint32_t place,
                          uint32_t after_ms)
{
    cluster->absence_ms[place] = after_ms;
    cli_up_kill(&cluster->process[place], SIGTERM);
}

static bool
lives(const cli_local_cluster_t *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        if (cluster->process[k].process > 0 || cluster->due_ns[k] > 0 ||
            cluster->process[k].out.descriptor >= 0)
            return true;
    return false;
}

bool
cli_local_cluster_turn(cli_local_cluster_t *cluster, int timeout_ms)
{
    struct pollfd polled[2 * CLI_LOCAL_CLUSTER_MAX + 1];
    for (uint32_t k = 0; k < cluster->count; k++) {
        polled[2 * k] =
            (struct pollfd){ cluster->process[k].out.descriptor, POLLIN, 0 };
        polled[2 * k + 1] =
            (struct pollfd){ cluster->process[k].err.descriptor, POLLIN, 0 };
    }
    polled[2 * cluster->count] =
        (struct pollfd){ cluster->stop.descriptor, POLLIN, 0 };
    (void)poll(polled, 2 * cluster->count + 1, timeout_ms);
    for (uint32_t k = 0; k < cluster->count; k++) {
        cli_up_node_t *process = &cluster->process[k];
        if (process->out.descriptor >= 0 && polled[2 * k].revents)
            (void)cli_up_read(&process->out, process, take_event, cluster);
        if (process->err.descriptor >= 0 && polled[2 * k + 1].revents)
            (void)cli_up_read(&process->err, process, take_complaint, cluster);
    }
    take_signals(cluster);
    if (!cluster->over && !cluster->stopping && cli_output_unread())
        stop_cluster(cluster); /* `skein up ... | head` */
    see_to_ends(cluster);
    if (cluster->over &&
        skn_monotonic_ns() - cluster->over_ns >= CREW_FAREWELL_MS * 1000000ull)
        for (uint32_t k = 0; k < cluster->count; k++)
            cli_up_kill(&cluster->process[k], SIGKILL);
    return lives(cluster);
}

/* --- opening and closing -------------------------------------------------- */

skn_status_t
cli_local_cluster_open(cli_local_cluster_t *cluster, skn_error_t *error)
{
    const skn_config_info_t info = cli_config_info(cluster->config);
    cluster->count = info.node_count + 1;
    for (uint32_t k = 0; k < cluster->count; k++) {
        cli_up_node_t *process = &cluster->process[k];
        process->leash = -1;
        process->out.descriptor = process->err.descriptor = -1;
        process->name = k == 0 ? "coordinator" : info.nodes[k - 1];
        process->ssh =
            k == 0 ? "" : cli_config_ssh(cluster->config, process->name);
    }
    cli_output_outlive();
    cluster->lock = -1;
    cluster->stop.json = cluster->call->json;
    cluster->stop.doing = "saving a checkpoint";
    cluster->stop.insisting = "quit without saving";
    skn_status_t status = cli_stop_open(&cluster->stop, error);
    return status == SKN_OK
               ? cli_instance_lock(
                     cluster->path, ".up",
                     "its nodes are started from there: stop that run first, "
                     "or give another checkpoint.path",
                     &cluster->lock, error)
               : status;
}

skn_status_t
cli_local_cluster_start(cli_local_cluster_t *cluster, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < cluster->count && status == SKN_OK; k++)
        status = start_one(cluster, k, error);
    return status;
}

void
cli_local_cluster_close(cli_local_cluster_t *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++) {
        cli_up_node_t *process = &cluster->process[k];
        if (process->process > 0)
            kill_group(process);
        cli_up_fini(process);
    }
    cli_stop_close(&cluster->stop);
    if (cluster->lock >= 0)
        (void)close(cluster->lock);
}
