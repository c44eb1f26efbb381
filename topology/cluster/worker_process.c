/* worker_process.c - starts the process of a member's worker, reads its lines,
 * and ends it.  SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/worker_process.h"

#include "formats/text/system_error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void
skn_worker_process_init(skn_worker_process_t *process)
{
    *process = (skn_worker_process_t){ .process_fd = -1,
                                       .leash = -1,
                                       .out.descriptor = -1,
                                       .err.descriptor = -1 };
}

static void
close_one(int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
    *descriptor = -1;
}

void
skn_worker_process_fini(skn_worker_process_t *process)
{
    close_one(&process->process_fd);
    close_one(&process->leash);
    close_one(&process->out.descriptor);
    close_one(&process->err.descriptor);
    free(process->out.text);
    free(process->err.text);
    process->out.text = process->err.text = NULL;
}

/* --- the start ------------------------------------------------------------ */

/* Makes a pipe for the stream `number` of the child. Its end is above the three
 * streams, which a host may have closed, so that none overwrites another. */
static skn_status_t
open_pipe(int number, int *ours, int *theirs, skn_error_t *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                             "cannot create a pipe for a worker");
    bool writes = number == STDIN_FILENO;
    *ours = ends[writes];
    *theirs = fcntl(ends[!writes], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int saved = errno;
    (void)close(ends[!writes]);
    (void)fcntl(*ours, F_SETFL, O_NONBLOCK);
    return *theirs >= 0 ? SKN_OK
                        : skn_fail_code(error, SKN_UNAVAILABLE, saved, NULL,
                                        "cannot create a pipe for a worker");
}

static skn_status_t
open_streams(skn_worker_process_t *process, int theirs[3], skn_error_t *error)
{
    process->out.text = malloc(SKN_WORKER_LINE_BYTES);
    process->err.text = malloc(SKN_WORKER_LINE_BYTES);
    if (!process->out.text || !process->err.text)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a worker's lines");
    int *const ours[] = { &process->leash, &process->out.descriptor,
                          &process->err.descriptor };
    skn_status_t status = SKN_OK;
    for (int k = 0; k < 3 && status == SKN_OK; k++)
        status = open_pipe(k, ours[k], &theirs[k], error);
    return status;
}

/* Describes what the child does before it becomes the program. */
static int
describe(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
         const int theirs[3])
{
    sigset_t blocked, usual;
    (void)sigemptyset(&blocked);
    for (const int *number = (const int[]){ SIGHUP, SIGINT, SIGTERM, SIGUSR1,
                                            SIGUSR2, SIGXCPU, SIGCHLD, 0 };
         *number; number++)
        (void)sigaddset(&blocked, *number);
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE); /* the host may ignore it */
    int refused = 0;
    for (int k = 0; k < 3 && refused == 0; k++)
        refused = posix_spawn_file_actions_adddup2(actions, theirs[k], k);
    if (refused == 0)
        refused = posix_spawn_file_actions_addclosefrom_np(actions,
                                                           STDERR_FILENO + 1);
    if (refused == 0)
        refused = posix_spawnattr_setsigmask(attributes, &blocked);
    if (refused == 0)
        refused = posix_spawnattr_setsigdefault(attributes, &usual);
    return refused != 0 ? refused
                        : posix_spawnattr_setflags(attributes,
                                                   POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
}

static int
spawn(pid_t *child, const char *program, char *const *arguments,
      const int theirs[3])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int refused = posix_spawn_file_actions_init(&actions);
    if (refused != 0)
        return refused;
    refused = posix_spawnattr_init(&attributes);
    if (refused == 0) {
        refused = describe(&actions, &attributes, theirs);
        if (refused == 0)
            refused = posix_spawnp(child, program, &actions, &attributes,
                                   arguments, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return refused;
}

skn_status_t
skn_worker_process_start(skn_worker_process_t *process, const char *program,
                         char *const *arguments, skn_error_t *error)
{
    int theirs[3] = { -1, -1, -1 };
    pid_t child = 0;
    skn_status_t status = open_streams(process, theirs, error);
    int refused =
        status == SKN_OK ? spawn(&child, program, arguments, theirs) : 0;
    if (refused == 0 && status == SKN_OK) {
        process->process = child;
        process->process_fd = pidfd_open(child, 0);
    }
    if (refused != 0)
        status = skn_fail_code(
            error, refused == ENOENT ? SKN_NO_INPUT : SKN_UNAVAILABLE, refused,
            NULL, "cannot start the worker's program %.300s", program);
    for (size_t k = 0; k < 3; k++)
        close_one(&theirs[k]);
    return status;
}

/* --- its lines ------------------------------------------------------------ */

void
skn_worker_process_polled(const skn_worker_process_t *process,
                          struct pollfd polled[SKN_WORKER_POLLED])
{
    const int descriptors[SKN_WORKER_POLLED] = { process->out.descriptor,
                                                 process->err.descriptor,
                                                 process->process_fd };
    for (size_t k = 0; k < SKN_WORKER_POLLED; k++)
        polled[k] = (struct pollfd){ descriptors[k], POLLIN, 0 };
}

/* Gives whole lines to `take` and moves the rest to the front. A line longer
 * than the buffer is given in pieces. */
static void
take_lines(skn_worker_stream_t *stream, bool is_event, skn_worker_take_t *take,
           void *job)
{
    char *at = stream->text, *end = stream->text + stream->count, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
        *newline = '\0';
        take(job, is_event, at);
        at = newline + 1;
    }
    stream->count = (size_t)(end - at);
    memmove(stream->text, at, stream->count);
    if (stream->count == SKN_WORKER_LINE_BYTES - 1) {
        stream->text[stream->count] = '\0';
        take(job, is_event, stream->text);
        stream->count = 0;
    }
}

static void
read_stream(skn_worker_stream_t *stream, bool is_event, skn_worker_take_t *take,
            void *job)
{
    while (stream->descriptor >= 0) {
        ssize_t bytes = read(stream->descriptor, stream->text + stream->count,
                             SKN_WORKER_LINE_BYTES - 1 - stream->count);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && errno == EAGAIN)
            return;
        if (bytes > 0) {
            stream->count += (size_t)bytes;
            take_lines(stream, is_event, take, job);
            continue;
        }
        if (stream->count > 0) { /* a last line without its newline */
            stream->text[stream->count] = '\0';
            stream->count = 0;
            take(job, is_event, stream->text);
        }
        close_one(&stream->descriptor);
    }
}

void
skn_worker_process_read(skn_worker_process_t *process, skn_worker_take_t *take,
                        void *job)
{
    read_stream(&process->out, true, take, job);
    read_stream(&process->err, false, take, job);
}

/* --- its end -------------------------------------------------------------- */

void
skn_worker_process_stop(skn_worker_process_t *process)
{
    close_one(&process->leash);
}

/* Waits for the end with the options of waitpid. */
static bool
await_end(skn_worker_process_t *process, int options)
{
    pid_t found;
    do {
        found = waitpid(process->process, &process->status, options);
    } while (found < 0 && errno == EINTR);
    if (found == 0)
        return false;
    process->has_status = found == process->process;
    process->process = 0;
    close_one(&process->process_fd);
    skn_worker_process_stop(process);
    return true;
}

bool
skn_worker_process_ends(skn_worker_process_t *process)
{
    return process->process > 0 && await_end(process, WNOHANG);
}

void
skn_worker_process_kill(skn_worker_process_t *process)
{
    if (process->process <= 0)
        return;
    if (process->process_fd >= 0)
        (void)pidfd_send_signal(process->process_fd, SIGKILL, NULL, 0);
    else
        (void)kill(process->process, SIGKILL);
    (void)await_end(process, 0);
}
