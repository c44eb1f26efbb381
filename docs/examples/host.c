/* host.c - a program that runs a topology inside its own poll loop.
 *
 * The loop and the signals are the host's: Skein hands out a descriptor to
 * poll.
 * cc host.c $(pkg-config --cflags --libs skein libczmq libzmq) -o host
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>

#include <czmq.h>
#include <skein/topology.h>

#define FIELDS_number(F, M) F(M, u64, value, UINT64_MAX, "counted from 0")
SKN_MESSAGE_STRUCT(number, FIELDS_number)
SKN_MESSAGE_SCHEMA(number, "number", 1000, FIELDS_number, "a number")

static const char text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: sums\n"
    "  actors:\n"
    "    - { name: counter, kind: counter, options: { last: 5 } }\n"
    "    - { name: adder, kind: adder }\n"
    "  pipes:\n"
    "    - { from: counter, to: adder, message: number, credit: 2 }\n";

/* counter: the numbers from 0 to `last`, one a turn. */
static skn_status_t
count(skn_actor_t *actor, void *state, skn_error_t *error)
{
    uint64_t *next = (uint64_t *)state;
    number_t number = { *next };
    if (*next == (uint64_t)skn_actor_option_int(actor, "last") ||
        skn_actor_stop_wanted(actor))
        skn_actor_finish(actor);
    ++*next;
    return skn_actor_send(actor, &number_schema, &number, error);
}

/* adder: tells the sum so far. */
static skn_status_t
add(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    uint64_t *sum = (uint64_t *)state;
    *sum += ((const number_t *)message)->value;
    return skn_actor_send_event(actor, error, "{\"sum\":%d}", (int)*sum);
}

static const skn_option_t options[] = { { "last", SKN_OPTION_INT, "9", 0, 1e9,
                                          NULL, "the last number" },
                                        SKN_ZERO };
static const skn_schema_t *const sends[] = { &number_schema, NULL };
static const skn_handler_t handlers[] = { { &number_schema, add, NULL },
                                          SKN_ZERO };
static const skn_kind_t counter = SKN_KIND(
    SKN_SET(name, "counter")
    SKN_SET(state_bytes, sizeof(uint64_t))
    SKN_SET(options, options)
    SKN_SET(sends, sends)
    SKN_SET(produce, count));
static const skn_kind_t adder = SKN_KIND(
    SKN_SET(name, "adder")
    SKN_SET(state_bytes, sizeof(uint64_t))
    SKN_SET(handlers, handlers));

static void
on_interrupt(int number)
{
    (void)number;
}

/* What the loop calls when Skein has something: -1 ends the loop. */
static int
on_event(zloop_t *loop, zmq_pollitem_t *item, void *context)
{
    static char line[SKN_EVENT_BYTES_MAX];
    skn_topology_t *topology = (skn_topology_t *)context;
    (void)loop, (void)item;
    skn_status_t status =
        skn_topology_event(topology, 0, line, sizeof(line), NULL);
    if (status == SKN_OK)
        puts(line);
    return status == SKN_UNAVAILABLE ? -1 : 0;
}

int
main(void)
{
    const skn_kind_t *kinds[] = { &counter, &adder, NULL };
    skn_error_t error = SKN_ZERO;
    struct sigaction own, now;
    memset(&own, 0, sizeof(own));
    own.sa_handler = on_interrupt;
    zsys_handler_set(NULL); /* CZMQ leaves the signals alone, too */
    (void)sigaction(SIGINT, &own, NULL);
    zloop_t *loop = zloop_new();
    skn_topology_t *topology = skn_topology_new(text, "host.c", kinds, &error);
    if (topology && skn_topology_start(topology, NULL, &error) == SKN_OK) {
        zmq_pollitem_t item = { NULL, skn_topology_fd(topology), ZMQ_POLLIN,
                                0 };
        (void)zloop_poller(loop, &item, on_event, topology);
        (void)zloop_start(loop);
        (void)skn_topology_wait(topology, &error);
        skn_topology_report(topology, false, stderr);
    }
    if (topology)
        skn_topology_destroy(&topology);
    zloop_destroy(&loop);
    (void)sigaction(SIGINT, NULL, &now);
    puts(now.sa_handler == on_interrupt ? "SIGINT is still mine"
                                        : "SIGINT was taken");
    if (error.status != SKN_OK)
        fprintf(stderr, "host: %s\n", error.text);
    return skn_status_exit_code(error.status);
}
