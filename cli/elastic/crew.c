/* crew.c - starts, reads and restarts the processes of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/alone.h"
#include "cli/base/process.h"
#include "formats/folder/folder_lock.h"
#include "formats/text/json_text.h"
#include "transport/socket/clock.h"

/* A process that ends by itself is restarted after 1 s, 2 s, ... 64 s. A
 * coordinator that ends this often in a row without being of use ends the
 * crew. */
#define AGAIN_MS 1000u
#define AGAIN_DOUBLINGS 6u
#define COORDINATOR_ENDS_MAX 5u
/* Polls, 5 ms apart, until killed processes are gone. */
#define GONE_TRIES 200
/* The time for members to end after the coordinator. */
#define CREW_FAREWELL_MS 20000u

static skn_status_t
start_one(cli_crew_t *crew, uint32_t place, skn_error_t *error)
{
    cli_up_node_t *process = &crew->process[place];
    cli_up_command_t command = { 0 };
    cli_up_node_t fresh = { .name = process->name,
                            .ssh = process->ssh,
                            .leash = -1,
                            .own_group = true };
    cli_up_fini(process);
    fresh.out.descriptor = fresh.err.descriptor = -1;
    *process = fresh;
    crew->due_ns[place] = 0;
    const cli_up_role_t role = {
        .verb = place == 0 ? "coordinator" : "member",
        .file = crew->file,
        .path = crew->path,
        .patience_s = crew->patience_s,
    };
    skn_status_t status = cli_up_role_command(crew->call, crew->local, process,
                                              &role, &command, error);
    if (status == SKN_OK)
        status = cli_up_start(process, command.argument, error);
    cli_up_command_fini(&command);
    return status;
}

/* --- their output --------------------------------------------------------- */

static uint32_t
place_of(const cli_crew_t *crew, const cli_up_node_t *process)
{
    return (uint32_t)(process - crew->process);
}

static void
take_event(void *job, cli_up_node_t *process, char *line)
{
    cli_crew_t *crew = job;
    json_t *event = json_loads(line, 0, NULL);
    if (!event)
        return;
    process->spoke = true;
    /* A coordinator that was down when the stop was requested gets the request
     * now. */
    if (crew->stopping && process == &crew->process[0] &&
        json_array_size(json_object_get(event, "members")) > 0)
        cli_up_stop(process);
    if (strcmp(skn_json_word(event, "event"), "error") == 0)
        cli_up_keep_error(process, event);
    else
        crew->take(crew->job, crew, place_of(crew, process), event, line);
    json_decref(event);
}

static void
take_complaint(void *job, cli_up_node_t *process, char *line)
{
    const cli_crew_t *crew = job;
    if (strncmp(line, "skein:", 6) == 0 || strncmp(line, "hint:", 5) == 0)
        return; /* there is also an event for it */
    (void)snprintf(process->last, sizeof(process->last), "%.*s",
                   (int)strcspn(line, "\r"), line);
    if (crew->complain)
        crew->complain(crew->complain_job, process->name, line);
    else
        (void)fprintf(stderr, "[%s] %s\n", process->name, line);
}

/* --- how they end --------------------------------------------------------- */

static void
start_again(cli_crew_t *crew, uint32_t place)
{
    uint32_t doublings = crew->ends[place] < AGAIN_DOUBLINGS ? crew->ends[place]
                                                             : AGAIN_DOUBLINGS;
    crew->ends[place]++;
    crew->due_ns[place] =
        skn_monotonic_ns() + ((uint64_t)AGAIN_MS << doublings) * 1000000u;
}

/* Whether a restart would fail in the same way, because of the file, the keys
 * or the address. */
static bool
is_hopeless(const cli_crew_t *crew, uint32_t place)
{
    const cli_up_node_t *process = &crew->process[place];
    return WIFEXITED(process->status) && process->error.status != SKN_OK &&
           process->error.status != SKN_UNAVAILABLE &&
           process->error.status != SKN_BUSY &&
           process->error.status != SKN_STORAGE &&
           process->error.status != SKN_NO_MEMORY;
}

static void
end_crew(cli_crew_t *crew, const skn_error_t *error)
{
    if (error && error->status != SKN_OK && crew->error.status == SKN_OK)
        crew->error = *error;
    if (!crew->over)
        crew->over_ns = skn_monotonic_ns();
    crew->over = true;
    for (uint32_t k = 0; k < crew->count; k++) {
        crew->due_ns[k] = 0;
        cli_up_stop(&crew->process[k]);
    }
}

static void
bury(cli_crew_t *crew, uint32_t place)
{
    cli_up_node_t *process = &crew->process[place];
    bool well = WIFEXITED(process->status) && WEXITSTATUS(process->status) == 0;
    process->process = 0;
    cli_up_stop(process);
    if (crew->over)
        return;
    if (place == 0 && (well || is_hopeless(crew, 0) ||
                       crew->ends[0] >= COORDINATOR_ENDS_MAX)) {
        end_crew(crew, &process->error);
        return;
    }
    if (place > 0 && !well && is_hopeless(crew, place)) {
        end_crew(crew, &process->error);
        return;
    }
    if (place == 0 || !well) {
        start_again(crew, place);
    } else if (crew->absence_ms[place] > 0) { /* it left after notice */
        crew->due_ns[place] =
            skn_monotonic_ns() + crew->absence_ms[place] * 1000000ull;
        crew->absence_ms[place] = 0;
    }
}

static void
see_to_ends(cli_crew_t *crew)
{
    uint64_t time_ns = skn_monotonic_ns();
    for (uint32_t k = 0; k < crew->count; k++) {
        cli_up_node_t *process = &crew->process[k];
        skn_error_t error = { 0 };
        if (process->process > 0 && waitpid(process->process, &process->status,
                                            WNOHANG) == process->process)
            bury(crew, k);
        if (crew->due_ns[k] > 0 && time_ns >= crew->due_ns[k] &&
            start_one(crew, k, &error) != SKN_OK)
            end_crew(crew, &error);
    }
}

/* Asks the coordinator, once, to end the run cleanly, as SIGTERM does. */
static void
stop_crew(cli_crew_t *crew)
{
    crew->stopping = true;
    cli_up_stop(&crew->process[0]);
}

static void
take_signals(cli_crew_t *crew)
{
    cli_stop_news_t news = cli_stop_take(&crew->stop);
    if (news == CLI_STOP_NOTHING)
        return;
    stop_crew(crew);
    if (news != CLI_STOP_AT_ONCE)
        return;
    for (uint32_t k = 0; k < crew->count; k++)
        cli_up_kill(&crew->process[k], SIGKILL);
    end_crew(crew, NULL);
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
cli_crew_kill(cli_crew_t *crew, uint32_t place, uint32_t after_ms)
{
    cli_up_node_t *process = &crew->process[place];
    if (process->process <= 0)
        return;
    kill_group(process);
    cli_up_stop(process);
    crew->ends[place] = 0;
    crew->due_ns[place] = skn_monotonic_ns() + after_ms * 1000000ull;
}

void
cli_crew_dismiss(cli_crew_t *crew, uint32_t place, uint32_t after_ms)
{
    crew->absence_ms[place] = after_ms;
    cli_up_kill(&crew->process[place], SIGTERM);
}

static bool
lives(const cli_crew_t *crew)
{
    for (uint32_t k = 0; k < crew->count; k++)
        if (crew->process[k].process > 0 || crew->due_ns[k] > 0 ||
            crew->process[k].out.descriptor >= 0)
            return true;
    return false;
}

bool
cli_crew_turn(cli_crew_t *crew, int timeout_ms)
{
    struct pollfd polled[2 * CLI_CREW_MAX + 1];
    for (uint32_t k = 0; k < crew->count; k++) {
        polled[2 * k] =
            (struct pollfd){ crew->process[k].out.descriptor, POLLIN, 0 };
        polled[2 * k + 1] =
            (struct pollfd){ crew->process[k].err.descriptor, POLLIN, 0 };
    }
    polled[2 * crew->count] =
        (struct pollfd){ crew->stop.descriptor, POLLIN, 0 };
    (void)poll(polled, 2 * crew->count + 1, timeout_ms);
    for (uint32_t k = 0; k < crew->count; k++) {
        cli_up_node_t *process = &crew->process[k];
        if (process->out.descriptor >= 0 && polled[2 * k].revents)
            (void)cli_up_read(&process->out, process, take_event, crew);
        if (process->err.descriptor >= 0 && polled[2 * k + 1].revents)
            (void)cli_up_read(&process->err, process, take_complaint, crew);
    }
    take_signals(crew);
    if (!crew->over && !crew->stopping && cli_output_unread())
        stop_crew(crew); /* `skein up ... | head` */
    see_to_ends(crew);
    if (crew->over &&
        skn_monotonic_ns() - crew->over_ns >= CREW_FAREWELL_MS * 1000000ull)
        for (uint32_t k = 0; k < crew->count; k++)
            cli_up_kill(&crew->process[k], SIGKILL);
    return lives(crew);
}

/* --- opening and closing -------------------------------------------------- */

skn_status_t
cli_crew_open(cli_crew_t *crew, skn_error_t *error)
{
    crew->count = (uint32_t)crew->model->node_count + 1;
    for (uint32_t k = 0; k < crew->count; k++) {
        cli_up_node_t *process = &crew->process[k];
        process->leash = -1;
        process->out.descriptor = process->err.descriptor = -1;
        process->name = k == 0 ? "coordinator" : crew->model->nodes[k - 1].name;
        process->ssh = k == 0 ? "" : crew->model->nodes[k - 1].ssh;
    }
    cli_output_outlive();
    crew->lock = -1;
    crew->stop.json = crew->call->json;
    crew->stop.doing = "saving a checkpoint";
    crew->stop.insisting = "quit without saving";
    skn_status_t status = cli_stop_open(&crew->stop, error);
    return status == SKN_OK
               ? cli_alone(crew->path, ".up",
                           "its nodes are started from there: end it first, "
                           "or give another checkpoint.path",
                           &crew->lock, error)
               : status;
}

skn_status_t
cli_crew_start(cli_crew_t *crew, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < crew->count && status == SKN_OK; k++)
        status = start_one(crew, k, error);
    return status;
}

void
cli_crew_close(cli_crew_t *crew)
{
    for (uint32_t k = 0; k < crew->count; k++) {
        cli_up_node_t *process = &crew->process[k];
        if (process->process > 0)
            kill_group(process);
        cli_up_fini(process);
    }
    cli_stop_close(&crew->stop);
    skn_folder_lock_close(&crew->lock);
}
