/* ports.c - a program whose lines go through an actor and come back.
 *
 * A zactor of the program's own reads standard input and sends each line into
 * the topology; a zloop prints what comes out, when it comes.
 * cc ports.c $(pkg-config --cflags --libs skein libczmq libzmq) -o ports
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <czmq.h>
#include <skein/port.h>

#define FIELDS_line(F, M) F(M, str, text, 4096, "one line of text")
SKN_MESSAGE_STRUCT(line, FIELDS_line)
SKN_MESSAGE_SCHEMA(line, "line", 1000, FIELDS_line, "a line")
#define FIELDS_count(F, M) F(M, u64, words, UINT64_MAX, "words of a line")
SKN_MESSAGE_STRUCT(count, FIELDS_count)
SKN_MESSAGE_SCHEMA(count, "count", 1001, FIELDS_count, "a count of words")

static const char text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: words\n"
    "  actors:\n"
    "    - { name: in, kind: port }\n"
    "    - { name: counter, kind: counter }\n"
    "    - { name: out, kind: port }\n"
    "  pipes:\n"
    "    - { from: in, to: counter, message: line }\n"
    "    - { from: counter, to: out, message: count }\n";

/* counter: sends the number of words of each line. */
static skn_status_t
count_words(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    const char *at = ((const line_t *)message)->text;
    count_t count = { 0 };
    (void)state;
    for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
        at += strcspn(at, " ");
        count.words++;
    }
    return skn_actor_send(actor, &count_schema, &count, error);
}

static const skn_schema_t *const sends[] = { &count_schema, NULL };
static const skn_handler_t handlers[] = { { &line_schema, count_words, NULL },
                                          SKN_ZERO };
static const skn_kind_t counter = SKN_KIND(
    SKN_SET(name, "counter")
    SKN_SET(handlers, handlers)
    SKN_SET(sends, sends));

/* The program's own actor: it waits while the port takes no more, and ends the
 * port's pipes behind the last line. */
static void
read_lines(zsock_t *pipe, void *argument)
{
    static char bytes[4096];
    skn_port_t *in = (skn_port_t *)argument;
    struct pollfd item = { skn_port_fd(in), POLLIN, 0 };
    skn_status_t status = SKN_OK;
    (void)zsock_signal(pipe, 0);
    while (status == SKN_OK && fgets(bytes, sizeof(bytes), stdin)) {
        line_t line;
        bytes[strcspn(bytes, "\n")] = '\0';
        line.text = bytes;
        while ((status = skn_port_send(in, &line_schema, &line, NULL)) ==
               SKN_BUSY)
            (void)poll(&item, 1, -1);
    }
    skn_port_finish(in);
}

/* Called by the loop when the port is readable; -1 ends the loop. */
static int
on_counts(zloop_t *loop, zmq_pollitem_t *item, void *port)
{
    const void *message;
    skn_error_t error = SKN_ZERO;
    (void)loop, (void)item;
    while ((message = skn_port_take((skn_port_t *)port, NULL, &error))) {
        printf("%d words\n", (int)((const count_t *)message)->words);
        skn_message_drop(message);
    }
    return error.status == SKN_BUSY ? 0 : -1;
}

int
main(void)
{
    const skn_kind_t *kinds[] = { &counter, NULL };
    skn_error_t error = SKN_ZERO;
    skn_topology_t *topology = skn_topology_new(text, "ports.c", kinds, &error);
    if (topology && skn_topology_start(topology, NULL, &error) == SKN_OK) {
        skn_port_t *out = skn_topology_port(topology, "out", &error);
        zactor_t *reader = zactor_new(
            read_lines, skn_topology_port(topology, "in", &error));
        zloop_t *loop = zloop_new();
        zmq_pollitem_t item = { NULL, skn_port_fd(out), ZMQ_POLLIN, 0 };
        (void)zloop_poller(loop, &item, on_counts, out);
        (void)zloop_start(loop);
        zloop_destroy(&loop);
        zactor_destroy(&reader);
        (void)skn_topology_wait(topology, &error);
    }
    skn_topology_destroy(&topology);
    if (error.status != SKN_OK)
        fprintf(stderr, "ports: %s\n", error.text);
    return skn_status_exit_code(error.status);
}
