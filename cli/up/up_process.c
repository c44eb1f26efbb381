/* up_process.c - starts a node as a process, reads its output, and ends it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/up/up.h"
#include "formats/text/json_text.h"
#include "formats/text/system_error.h"

/* Whether an upgrade has replaced our own program's file while we run. Running
 * processes keep the old one, and so do those that they start. */
static bool
is_replaced(const char *path)
{
    static const char gone[] = " (deleted)";
    size_t bytes = strlen(path), tail = sizeof(gone) - 1;
    return errno == ENOENT && bytes > tail &&
           strcmp(path + bytes - tail, gone) == 0;
}

/* Runs the program, in the child; never returns. */
static void
become(const cli_up_node_t *node, char *const *arguments, const int *streams,
       pid_t parent)
{
    const struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t none;
    (void)sigaction(SIGPIPE, &usual, NULL); /* this process ignores it */
    /* Ctrl-C is for this process: if ssh received it, too, it would cut the
     * node off. */
    if (node->ssh[0] || node->own_group)
        (void)setpgid(0, 0);
    /* It dies with its parent; over ssh the leash ends it. */
    (void)prctl(PR_SET_PDEATHSIG, node->must_die_with_us ? SIGKILL : SIGTERM);
    /* The signals that ask for a stop remain blocked until the node reads them;
     * otherwise they would kill it. ssh does not read them. */
    (void)sigemptyset(&none);
    if (node->ssh[0])
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent && dup2(streams[0], STDIN_FILENO) >= 0 &&
        dup2(streams[1], STDOUT_FILENO) >= 0 &&
        dup2(streams[2], STDERR_FILENO) >= 0) {
        (void)execvp(arguments[0], arguments);
        if (is_replaced(arguments[0]))
            (void)execv("/proc/self/exe", arguments);
        (void)fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
    }
    _exit(127);
}

static skn_status_t
open_stream(cli_up_stream_t *stream, int *theirs, skn_error_t *error)
{
    int ends[2];
    stream->text = malloc(CLI_UP_LINE_BYTES);
    if (!stream->text)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a line");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                             "cannot create a pipe for a node");
    stream->descriptor = ends[0];
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *theirs = ends[1];
    return SKN_OK;
}

skn_status_t
cli_up_start(cli_up_node_t *node, char *const *arguments, skn_error_t *error)
{
    int input[2] = { -1, -1 }, output = -1, errors = -1;
    pid_t parent = getpid();
    skn_status_t status = open_stream(&node->out, &output, error);
    if (status == SKN_OK)
        status = open_stream(&node->err, &errors, error);
    if (status == SKN_OK && pipe2(input, O_CLOEXEC) != 0)
        status = skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                               "cannot create a pipe for a node");
    if (status == SKN_OK) {
        node->leash = input[1];
        node->process = fork();
        if (node->process == 0)
            become(node, arguments, (int[]){ input[0], output, errors },
                   parent);
        if (node->process < 0) {
            node->process = 0;
            status = skn_fail(error, SKN_NO_MEMORY,
                              "cannot start a process for node '%s': %s",
                              node->name, strerror(errno));
        }
    }
    int theirs[] = { input[0], output, errors };
    for (size_t k = 0; k < 3; k++)
        if (theirs[k] >= 0)
            (void)close(theirs[k]);
    return status;
}

/* Passes on whole lines and moves the rest to the front. A line longer than the
 * buffer is passed on in pieces. */
static void
take_lines(cli_up_stream_t *stream, cli_up_node_t *node, cli_up_take_t *take,
           void *job)
{
    char *at = stream->text, *end = stream->text + stream->count, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
        *newline = '\0';
        take(job, node, at);
        at = newline + 1;
    }
    stream->count = (size_t)(end - at);
    memmove(stream->text, at, stream->count);
    if (stream->count == CLI_UP_LINE_BYTES - 1) {
        stream->text[stream->count] = '\0';
        take(job, node, stream->text);
        stream->count = 0;
    }
}

bool
cli_up_read(cli_up_stream_t *stream, cli_up_node_t *node, cli_up_take_t *take,
            void *job)
{
    for (;;) {
        ssize_t bytes = read(stream->descriptor, stream->text + stream->count,
                             CLI_UP_LINE_BYTES - 1 - stream->count);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && errno == EAGAIN)
            return true;
        if (bytes > 0) {
            stream->count += (size_t)bytes;
            take_lines(stream, node, take, job);
            continue;
        }
        if (stream->count > 0) { /* a last line without its newline */
            stream->text[stream->count] = '\0';
            take(job, node, stream->text);
            stream->count = 0;
        }
        (void)close(stream->descriptor);
        stream->descriptor = -1;
        return false;
    }
}

void
cli_up_stop(cli_up_node_t *node)
{
    if (node->leash >= 0)
        (void)close(node->leash);
    node->leash = -1;
}

void
cli_up_kill(cli_up_node_t *node, int number)
{
    if (node->process > 0)
        (void)kill(node->process, number);
}

void
cli_up_fini(cli_up_node_t *node)
{
    cli_up_stop(node);
    if (node->out.descriptor >= 0)
        (void)close(node->out.descriptor);
    if (node->err.descriptor >= 0)
        (void)close(node->err.descriptor);
    free(node->out.text);
    free(node->err.text);
}

void
cli_up_keep_error(cli_up_node_t *node, const json_t *event)
{
    double code = skn_json_number(event, "code");
    skn_status_t status = skn_status_of_exit_code((int)code);
    /* A bad config produces one event per problem: the first one is kept. */
    if (status == SKN_BAD_CONFIG && node->error.status == SKN_BAD_CONFIG)
        return;
    (void)skn_fail(&node->error, status, "%s", skn_json_word(event, "message"));
    (void)skn_fail_hint(&node->error, status, "%s",
                        skn_json_word(event, "hint"));
}
