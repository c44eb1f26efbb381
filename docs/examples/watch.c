/* watch.c - an actor that watches a descriptor, and a port in a libuv loop.
 *
 * The actor `reader` reads standard input when there is some, and sends each
 * line; the loop prints the lines that have arrived, with their numbers.
 * cc watch.c $(pkg-config --cflags --libs skein-core libuv) -o watch
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* uv.h needs more than C11 has */
#endif
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <skein/port.h>
#include <uv.h>

#define LINE_BYTES_MAX 4096
#define FIELDS_line(F, M) F(M, str, text, LINE_BYTES_MAX, "one line of text")
SKN_MESSAGE_STRUCT(line, FIELDS_line)
SKN_MESSAGE_SCHEMA(line, "line", 1000, FIELDS_line, "a line")

static const char text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: lines\n"
    "  actors:\n"
    "    - { name: reader, kind: reader }\n"
    "    - { name: out, kind: port }\n"
    "  pipes:\n"
    "    - { from: reader, to: out, message: line }\n";

/* --- the actor ------------------------------------------------------------ */

typedef struct reader {
    char bytes[LINE_BYTES_MAX + 1];
    size_t used;
} reader_t;

static skn_status_t
reader_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)state, (void)error;
    skn_actor_watch(actor, *(const int *)skn_actor_host(actor), POLLIN);
    return SKN_OK;
}

/* Sends the first line of what was read, which ends at `end`. */
static skn_status_t
send_line(skn_actor_t *actor, reader_t *reader, char *end, skn_error_t *error)
{
    line_t line;
    *end = '\0';
    line.text = reader->bytes;
    skn_status_t status = skn_actor_send(actor, &line_schema, &line, error);
    reader->used -= (size_t)(end + 1 - reader->bytes);
    memmove(reader->bytes, end + 1, reader->used);
    return status;
}

/* Called when there is something to read, and once more when the run is to
 * stop. What it sends beyond the credit waits in the actor, which is not called
 * again until it has gone. */
static skn_status_t
reader_ready(skn_actor_t *actor, void *state, skn_error_t *error)
{
    reader_t *reader = (reader_t *)state;
    skn_status_t status = SKN_OK;
    int input = *(const int *)skn_actor_host(actor);
    ssize_t bytes = read(input, reader->bytes + reader->used,
                         LINE_BYTES_MAX - reader->used);
    if (bytes < 0 && errno != EAGAIN)
        return skn_fail(error, SKN_STORAGE, "cannot read the input: %s",
                        strerror(errno));
    reader->used += bytes > 0 ? (size_t)bytes : 0;
    char *end;
    while (status == SKN_OK &&
           (end = (char *)memchr(reader->bytes, '\n', reader->used)))
        status = send_line(actor, reader, end, error);
    if (status == SKN_OK && reader->used == LINE_BYTES_MAX)
        return skn_fail(error, SKN_BAD_DATA, "a line is longer than %d bytes",
                        LINE_BYTES_MAX);
    if (bytes == 0 || skn_actor_stop_wanted(actor))
        skn_actor_finish(actor);
    return status;
}

static const skn_schema_t *const sends[] = { &line_schema, NULL };
static const skn_kind_t reader_kind = SKN_KIND(
    SKN_SET(name, "reader")
    SKN_SET(state_bytes, sizeof(reader_t))
    SKN_SET(sends, sends)
    SKN_SET(start, reader_start)
    SKN_SET(ready, reader_ready));

/* --- the program ---------------------------------------------------------- */

static void
on_lines(uv_poll_t *handle, int status, int events)
{
    static unsigned number;
    skn_error_t error = SKN_ZERO;
    const void *message;
    (void)status, (void)events;
    while ((message = skn_port_take((skn_port_t *)handle->data, NULL,
                                    &error))) {
        printf("%u %s\n", ++number, ((const line_t *)message)->text);
        skn_message_drop(message);
    }
    if (error.status != SKN_BUSY) /* no more will come */
        uv_poll_stop(handle);
}

int
main(void)
{
    static int input = STDIN_FILENO;
    const skn_kind_t *kinds[] = { &reader_kind, NULL };
    skn_start_options_t options = SKN_START_OPTIONS(SKN_SET(host, &input));
    skn_error_t error = SKN_ZERO;
    uv_poll_t handle;
    skn_topology_t *topology = skn_topology_new(text, "lines", kinds, &error);
    skn_status_t status = topology ? SKN_OK : error.status;
    if (status == SKN_OK)
        status = skn_topology_start(topology, &options, &error);
    skn_port_t *out =
        status == SKN_OK ? skn_topology_port(topology, "out", &error) : NULL;
    if (out) {
        uv_poll_init(uv_default_loop(), &handle, skn_port_fd(out));
        handle.data = out;
        uv_poll_start(&handle, UV_READABLE, on_lines);
        uv_run(uv_default_loop(), UV_RUN_DEFAULT);
        status = skn_topology_wait(topology, &error);
    }
    if (status != SKN_OK)
        fprintf(stderr, "error: %s\n", error.text);
    skn_topology_destroy(&topology);
    return skn_status_exit_code(status);
}
