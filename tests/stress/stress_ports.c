/* stress_ports.c - ports that several threads use while runs start, stop and
 * fail, for the thread sanitizer. In each round three threads send numbers into
 * a port, which two actors double, and the main thread takes them out of
 * another; every third round is stopped by a fourth thread, and every fifth
 * fails. Where nothing ended early, what comes out is what went in. Covers
 * actors/runtime/port.c and the sockets and threads of transport/inproc/pipe.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "skein/port.h"
#include "tests/support/tsan_libzmq.h"

#define SENDERS 3u
#define EACH 400u
#define ROUNDS 60u
#define DISLIKED 100u

#define FIELDS_number(F, M) F(M, u64, value, UINT64_MAX, "any number")
SKN_MESSAGE_STRUCT(number, FIELDS_number)
SKN_MESSAGE_SCHEMA(number, "number", 1000, FIELDS_number, "a number")

static const char text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: ports\n"
    "  actors:\n"
    "    - { name: in, kind: port }\n"
    "    - { name: twice, kind: doubler, replicate: 2 }\n"
    "    - { name: out, kind: port }\n"
    "  pipes:\n"
    "    - { from: in, to: twice, message: number, pattern: any, credit: 8 }\n"
    "    - { from: twice, to: out, message: number, credit: 8 }\n";

static atomic_bool dislikes; /* a doubler fails at one number */
static atomic_bool is_over;  /* the run has ended, perhaps before a stop */
static atomic_uint sent;
static skn_port_t *in, *out;

static skn_status_t
pass_double(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    number_t twice = { 2 * ((const number_t *)message)->value };
    (void)state;
    if (twice.value == 2 * DISLIKED && atomic_load(&dislikes))
        return skn_fail(error, SKN_BAD_DATA, "a doubler dislikes it");
    return skn_actor_send(actor, &number_schema, &twice, error);
}

static const skn_schema_t *const sends[] = { &number_schema, NULL };
static const skn_handler_t handlers[] = { { &number_schema, pass_double, NULL },
                                          { NULL, NULL, NULL } };
static const skn_kind_t doubler = SKN_KIND(
    SKN_SET(name, "doubler") SKN_SET(handlers, handlers) SKN_SET(sends, sends));
static const skn_kind_t *const kinds[] = { &doubler, NULL };

static void
stop_if(bool wrong, const char *what, const skn_error_t *error)
{
    if (!wrong)
        return;
    fprintf(stderr, "stress_ports: %s: %s\n", what, error ? error->text : "");
    exit(1);
}

static void *
send_numbers(void *argument)
{
    struct pollfd item = { skn_port_fd(in), POLLIN, 0 };
    (void)argument;
    for (uint64_t k = 0; k < EACH; k++) {
        const number_t number = { k };
        skn_status_t status;
        while ((status = skn_port_send(in, &number_schema, &number, NULL)) ==
               SKN_BUSY)
            (void)poll(&item, 1, 1);
        if (status != SKN_OK)
            break;
        atomic_fetch_add(&sent, 1);
    }
    return NULL;
}

static void *
stop_soon(void *topology)
{
    while (atomic_load(&sent) < EACH / 2 && !atomic_load(&is_over))
        (void)poll(NULL, 0, 1);
    skn_topology_stop(topology);
    return NULL;
}

/* Takes numbers until none will come, and follows the run meanwhile. */
static uint32_t
take_all(skn_topology_t *topology)
{
    char line[SKN_EVENT_BYTES_MAX];
    skn_error_t error = { 0 };
    uint32_t count = 0;
    while (error.status != SKN_UNAVAILABLE) {
        struct pollfd items[2] = { { skn_port_fd(out), POLLIN, 0 },
                                   { skn_topology_fd(topology), POLLIN, 0 } };
        const void *message;
        (void)poll(items, 2, -1);
        (void)skn_topology_event(topology, 0, line, sizeof(line), NULL);
        while ((message = skn_port_take(out, NULL, &error))) {
            count++;
            skn_message_drop(message);
        }
    }
    return count;
}

static uint32_t
round_of(uint32_t number)
{
    bool stops = number % 3 == 2, fails = number % 5 == 4;
    skn_error_t error = { 0 };
    pthread_t threads[SENDERS + 1];
    skn_topology_t *topology = skn_topology_new(text, "ports", kinds, &error);
    atomic_store(&dislikes, fails);
    atomic_store(&is_over, false);
    atomic_store(&sent, 0);
    stop_if(!topology || skn_topology_start(topology, NULL, &error) != SKN_OK,
            "it does not start", &error);
    in = skn_topology_port(topology, "in", &error);
    out = skn_topology_port(topology, "out", &error);
    stop_if(!in || !out, "there is no port", &error);
    for (uint32_t k = 0; k < SENDERS; k++)
        stop_if(pthread_create(&threads[k], NULL, send_numbers, NULL) != 0,
                "no thread", NULL);
    if (stops)
        stop_if(pthread_create(&threads[SENDERS], NULL, stop_soon, topology) !=
                    0,
                "no thread", NULL);
    uint32_t taken = 0;
    if (!stops && !fails) /* the end of the senders is the end of the port */
        while (taken < SENDERS * EACH) {
            const void *message = skn_port_take(out, NULL, &error);
            struct pollfd item = { skn_port_fd(out), POLLIN, 0 };
            stop_if(!message && error.status != SKN_BUSY, "it ended", &error);
            taken += message != NULL;
            if (message)
                skn_message_drop(message);
            else
                (void)poll(&item, 1, -1);
        }
    else
        taken = take_all(topology);
    atomic_store(&is_over, true);
    for (uint32_t k = 0; k < SENDERS + stops; k++)
        (void)pthread_join(threads[k], NULL);
    skn_port_finish(in);
    skn_status_t status = skn_topology_wait(topology, &error);
    stop_if(status != SKN_OK && !fails, "it fails", &error);
    stop_if(!stops && !fails && taken != atomic_load(&sent),
            "messages are missing", NULL);
    skn_topology_destroy(&topology);
    return taken;
}

int
main(void)
{
    uint32_t taken = 0;
    for (uint32_t k = 0; k < ROUNDS; k++)
        taken += round_of(k);
    printf("%u rounds, %" PRIu32 " messages taken\n", ROUNDS, taken);
    return 0;
}
