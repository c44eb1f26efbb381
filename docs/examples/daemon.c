/* daemon.c - a daemon with one poll loop: lines come in, two actors share them,
 * their totals come back, and SIGTERM ends it without losing a line.
 *
 * Standard input stands for its socket, which it does not read while the actors
 * take no more lines.
 * cc daemon.c $(pkg-config --cflags --libs skein-core) -o daemon
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* signals, also with -std=c11 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <skein/port.h>

#define DEADLINE_MS 5000 /* from the end of the input to an abort */

#define FIELDS_line(F, M) F(M, str, text, 4096, "one line of text")
SKN_MESSAGE_STRUCT(line, FIELDS_line)
SKN_MESSAGE_SCHEMA(line, "line", 1000, FIELDS_line, "a line")
#define FIELDS_total(F, M) F(M, u64, bytes, UINT64_MAX, "of one line")
SKN_MESSAGE_STRUCT(total, FIELDS_total)
SKN_MESSAGE_SCHEMA(total, "total", 1001, FIELDS_total, "what a line holds")

static const char text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: sizes\n"
    "  actors:\n"
    "    - { name: in, kind: port }\n"
    "    - { name: parser, kind: parser, replicate: 2 }\n"
    "    - { name: out, kind: port }\n"
    "  pipes:\n"
    "    - { from: in, to: parser, message: line, pattern: any, credit: 8 }\n"
    "    - { from: parser, to: out, message: total }\n";

static skn_status_t
parse(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    total_t total = { strlen(((const line_t *)message)->text) };
    (void)state;
    return skn_actor_send(actor, &total_schema, &total, error);
}

static const skn_schema_t *const sends[] = { &total_schema, NULL };
static const skn_handler_t handlers[] = { { &line_schema, parse, NULL },
                                          SKN_ZERO };
static const skn_kind_t parser = SKN_KIND(
    SKN_SET(name, "parser")
    SKN_SET(handlers, handlers)
    SKN_SET(sends, sends));

/* The `used` bytes that the daemon has read and not sent yet. */
static char bytes[4096];
static size_t used;

/* Sends the lines in hand until the port takes no more; returns whether none is
 * left. A last line without its end, or one that fills the buffer, is left
 * out. */
static bool
send_lines(skn_port_t *in)
{
    char *end;
    while ((end = (char *)memchr(bytes, '\n', used))) {
        line_t line;
        *end = '\0';
        line.text = bytes;
        if (skn_port_send(in, &line_schema, &line, NULL) != SKN_OK) {
            *end = '\n';
            return false;
        }
        used -= (size_t)(end + 1 - bytes);
        memmove(bytes, end + 1, used);
    }
    return true;
}

/* Takes what has come; returns false at the end of the run. */
static bool
take_totals(skn_port_t *out, uint64_t *lines, uint64_t *sum)
{
    const void *message;
    skn_error_t error = SKN_ZERO;
    while ((message = skn_port_take(out, NULL, &error))) {
        *lines += 1;
        *sum += ((const total_t *)message)->bytes;
        skn_message_drop(message);
    }
    return error.status == SKN_BUSY;
}

static void
serve(skn_topology_t *topology, int signals)
{
    skn_port_t *in = skn_topology_port(topology, "in", NULL);
    skn_port_t *out = skn_topology_port(topology, "out", NULL);
    uint64_t lines = 0, sum = 0;
    bool reads = true, is_sent = true;
    struct pollfd item[4] = { { signals, POLLIN, 0 },
                              { skn_port_fd(out), POLLIN, 0 },
                              { STDIN_FILENO, POLLIN, 0 },
                              { skn_port_fd(in), POLLIN, 0 } };
    do {
        item[2].fd = reads && is_sent ? STDIN_FILENO : -1;
        item[3].fd = is_sent ? -1 : skn_port_fd(in);
        if (poll(item, 4, reads ? -1 : DEADLINE_MS) == 0)
            skn_topology_abort(topology);
        if (reads && item[2].fd >= 0 && item[2].revents) {
            ssize_t got =
                read(STDIN_FILENO, bytes + used, sizeof(bytes) - used);
            used += got > 0 ? (size_t)got : 0;
            reads = got > 0;
        }
        reads = reads && item[0].revents == 0;
        item[0].fd = reads ? signals : -1;
        is_sent = send_lines(in);
        if (!reads && is_sent)
            skn_port_finish(in);
    } while (take_totals(out, &lines, &sum));
    printf("%d lines, %d bytes\n", (int)lines, (int)sum);
}

int
main(void)
{
    const skn_kind_t *kinds[] = { &parser, NULL };
    skn_error_t error = SKN_ZERO;
    sigset_t term;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, NULL);
    int signals = signalfd(-1, &term, SFD_CLOEXEC);
    skn_topology_t *topology =
        skn_topology_new(text, "daemon.c", kinds, &error);
    if (topology && skn_topology_start(topology, NULL, &error) == SKN_OK) {
        serve(topology, signals);
        (void)skn_topology_wait(topology, &error);
    }
    skn_topology_destroy(&topology);
    (void)close(signals);
    if (error.status != SKN_OK)
        fprintf(stderr, "daemon: %s\n", error.text);
    return skn_status_exit_code(error.status);
}
