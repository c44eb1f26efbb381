/* bench_embed.c - a message's trip from a host through two actors and back.
 *
 * The same trip in one libuv loop, in three ways: through ports and two actors
 * of Skein; through two zactors of CZMQ and inproc PAIRs; through two threads
 * and inproc pairs of nng. Window 1 gives the latency, window 256 the rate. All
 * three fill each message, pass it on without copying it, and read it.
 * Usage: bench_embed [--json]; medians of interleaved rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define ZSOCK_NOCHECK
#include <czmq.h>
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <uv.h>

#include "bench/bench.h"
#include "skein/port.h"

#define ROUNDS 5
#define WINDOW 256
#define LATENCIES_MAX 20000

static double
wall_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void
stop_if(bool wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "bench_embed: %s\n", what);
    exit(1);
}

/* A way that messages can take. `take` returns false when none has come. */
typedef struct way {
    const char *name;
    void (*open)(void);
    int (*descriptor)(void);
    void (*send)(size_t bytes);
    bool (*take)(size_t bytes);
    void (*close)(void);
} way_t;

/* --- Skein ---------------------------------------------------------------- */

#define FIELDS_load(F, M) F(M, bytes, data, 1 << 20, "what is carried")
SKN_MESSAGE_STRUCT(load, FIELDS_load)
SKN_MESSAGE_SCHEMA(load, "load", 1000, FIELDS_load, "a load of bytes")
#define FIELDS_tiny(F, M) F(M, u64, value, UINT64_MAX, "what is carried")
SKN_MESSAGE_STRUCT(tiny, FIELDS_tiny)
SKN_MESSAGE_SCHEMA(tiny, "tiny", 1001, FIELDS_tiny, "eight bytes")

static skn_status_t
pass_on(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    (void)state;
    return skn_actor_post(actor, skn_message_keep(message), error);
}

static const skn_schema_t *const sends[] = { &load_schema, &tiny_schema, NULL };
static const skn_handler_t handlers[] = { { &load_schema, pass_on, NULL },
                                          { &tiny_schema, pass_on, NULL },
                                          { NULL, NULL, NULL } };
static const skn_kind_t passer = SKN_KIND(
    SKN_SET(name, "passer") SKN_SET(handlers, handlers) SKN_SET(sends, sends));

static const char text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: trip\n"
    "  actors:\n"
    "    - { name: in, kind: port }\n"
    "    - { name: a, kind: passer }\n"
    "    - { name: b, kind: passer }\n"
    "    - { name: out, kind: port }\n"
    "  pipes:\n"
    "    - { from: in, to: a, message: tiny, credit: 512 }\n"
    "    - { from: a, to: b, message: tiny, credit: 512 }\n"
    "    - { from: b, to: out, message: tiny, credit: 512 }\n"
    "    - { from: in, to: a, message: load, credit: 512 }\n"
    "    - { from: a, to: b, message: load, credit: 512 }\n"
    "    - { from: b, to: out, message: load, credit: 512 }\n";
static skn_topology_t *topology;
static skn_port_t *in, *out;

static void
port_open(void)
{
    const skn_kind_t *kinds[] = { &passer, NULL };
    skn_error_t error = { 0 };
    topology = skn_topology_new(text, "trip", kinds, &error);
    stop_if(!topology || skn_topology_start(topology, NULL, &error) != SKN_OK,
            error.text);
    in = skn_topology_port(topology, "in", &error);
    out = skn_topology_port(topology, "out", &error);
    stop_if(!in || !out, error.text);
}

static int
port_descriptor(void)
{
    return skn_port_fd(out);
}

static void
port_send(size_t bytes)
{
    static skn_error_t error;
    bool is_tiny = bytes == sizeof(uint64_t);
    void *message = skn_port_message(in, is_tiny ? &tiny_schema : &load_schema,
                                     &bytes, &error);
    stop_if(!message, error.text);
    if (is_tiny)
        ((tiny_t *)message)->value = 1;
    else
        memset(((load_t *)message)->data.at, 1, bytes);
    skn_status_t status = skn_port_post(in, message, &error);
    stop_if(status != SKN_OK, error.text);
}

static bool
port_take(size_t bytes)
{
    const void *message = skn_port_take(out, NULL, NULL);
    if (!message)
        return false;
    bool is_right = bytes == sizeof(uint64_t)
                        ? ((const tiny_t *)message)->value == 1
                        : ((const load_t *)message)->data.at[bytes - 1] == 1;
    stop_if(!is_right, "a message was changed");
    skn_message_drop(message);
    return true;
}

static void
port_close(void)
{
    skn_error_t error = { 0 };
    skn_port_finish(in);
    stop_if(skn_topology_wait(topology, &error) != SKN_OK, error.text);
    skn_topology_destroy(&topology);
}

/* --- CZMQ ----------------------------------------------------------------- */

static zactor_t *zactors[2];
static zsock_t *first, *last;

static zsock_t *
pair_of(const char *address)
{
    zsock_t *pair = zsock_new(ZMQ_PAIR);
    zsock_set_unbounded(pair);
    stop_if(zsock_attach(pair, address, false) != 0, "cannot attach a PAIR");
    return pair;
}

/* Waits once, then passes on all that has come. */
static void
pass_on_pairs(zsock_t *pipe, void *argument)
{
    const char *const *addresses = argument;
    zsock_t *from = pair_of(addresses[0]), *to = pair_of(addresses[1]);
    zmq_pollitem_t items[2] = { { zsock_resolve(from), 0, ZMQ_POLLIN, 0 },
                                { zsock_resolve(pipe), 0, ZMQ_POLLIN, 0 } };
    zmq_msg_t message;
    (void)zmq_msg_init(&message);
    (void)zsock_signal(pipe, 0);
    while (zmq_poll(items, 2, -1) >= 0 && !items[1].revents)
        while (zmq_msg_recv(&message, items[0].socket, ZMQ_DONTWAIT) >= 0)
            (void)zmq_msg_send(&message, zsock_resolve(to), 0);
    zsock_destroy(&from);
    zsock_destroy(&to);
}

static void
pair_open(void)
{
    static const char *const ways[2][2] = {
        { "@inproc://trip-1", "@inproc://trip-2" },
        { ">inproc://trip-2", "@inproc://trip-3" }
    };
    for (int k = 0; k < 2; k++)
        zactors[k] = zactor_new(pass_on_pairs, (void *)(uintptr_t)ways[k]);
    first = pair_of(">inproc://trip-1");
    last = pair_of(">inproc://trip-3");
}

static int
pair_descriptor(void)
{
    return zsock_fd(last);
}

static void
pair_send(size_t bytes)
{
    zmq_msg_t message;
    stop_if(zmq_msg_init_size(&message, bytes) != 0, "no memory");
    memset(zmq_msg_data(&message), 1, bytes);
    stop_if(zmq_msg_send(&message, zsock_resolve(first), 0) < 0,
            "a PAIR does not send");
}

static bool
pair_take(size_t bytes)
{
    zmq_msg_t message;
    (void)zmq_msg_init(&message);
    bool has_come =
        zmq_msg_recv(&message, zsock_resolve(last), ZMQ_DONTWAIT) >= 0;
    stop_if(has_come && ((char *)zmq_msg_data(&message))[bytes - 1] != 1,
            "a message was changed");
    (void)zmq_msg_close(&message);
    return has_come;
}

static void
pair_close(void)
{
    for (int k = 0; k < 2; k++)
        zactor_destroy(&zactors[k]);
    zsock_destroy(&first);
    zsock_destroy(&last);
}

/* --- nng ------------------------------------------------------------------ */

static nng_socket nng_first, nng_last;
static pthread_t nng_threads[2];

static nng_socket
nng_pair(const char *address, bool listens)
{
    nng_socket pair;
    stop_if(nng_pair0_open(&pair) != 0, "nng opens no pair");
    (void)nng_socket_set_int(pair, NNG_OPT_RECVBUF, 2 * WINDOW);
    (void)nng_socket_set_int(pair, NNG_OPT_SENDBUF, 2 * WINDOW);
    stop_if((listens ? nng_listen(pair, address, NULL, 0)
                     : nng_dial(pair, address, NULL, 0)) != 0,
            "nng does not connect");
    return pair;
}

static void *
pass_on_nng(void *argument)
{
    const nng_socket *ends = argument;
    nng_msg *message;
    while (nng_recvmsg(ends[0], &message, 0) == 0)
        if (nng_sendmsg(ends[1], message, 0) != 0)
            nng_msg_free(message);
    (void)nng_close(ends[0]);
    (void)nng_close(ends[1]);
    return NULL;
}

static void
nng_open(void)
{
    static nng_socket ends[2][2];
    ends[0][0] = nng_pair("inproc://nng-1", true);
    ends[0][1] = nng_pair("inproc://nng-2", true);
    ends[1][0] = nng_pair("inproc://nng-2", false);
    ends[1][1] = nng_pair("inproc://nng-3", true);
    nng_first = nng_pair("inproc://nng-1", false);
    nng_last = nng_pair("inproc://nng-3", false);
    for (int k = 0; k < 2; k++)
        stop_if(pthread_create(&nng_threads[k], NULL, pass_on_nng, ends[k]) !=
                    0,
                "no thread");
}

static int
nng_descriptor(void)
{
    int descriptor = -1;
    (void)nng_socket_get_int(nng_last, NNG_OPT_RECVFD, &descriptor);
    return descriptor;
}

static void
nng_send_one(size_t bytes)
{
    nng_msg *message;
    stop_if(nng_msg_alloc(&message, bytes) != 0, "no memory");
    memset(nng_msg_body(message), 1, bytes);
    stop_if(nng_sendmsg(nng_first, message, 0) != 0, "nng does not send");
}

static bool
nng_take(size_t bytes)
{
    nng_msg *message;
    if (nng_recvmsg(nng_last, &message, NNG_FLAG_NONBLOCK) != 0)
        return false;
    stop_if(((char *)nng_msg_body(message))[bytes - 1] != 1,
            "a message was changed");
    nng_msg_free(message);
    return true;
}

static void
nng_end(void)
{
    /* The threads' sockets see their peers go only when they are closed. */
    for (int k = 0; k < 2; k++)
        (void)pthread_cancel(nng_threads[k]);
    (void)nng_close(nng_first);
    (void)nng_close(nng_last);
}

/* --- the loop ------------------------------------------------------------- */

typedef struct trip {
    const way_t *way;
    size_t bytes;
    uint32_t sent, taken, count;
    double sent_us, *latency_us; /* NULL: not measured */
} trip_t;

static void
on_readable(uv_poll_t *handle, int status, int events)
{
    trip_t *trip = handle->data;
    (void)status, (void)events;
    while (trip->taken < trip->count && trip->way->take(trip->bytes)) {
        double now_us = trip->latency_us ? wall_us() : 0;
        if (trip->latency_us)
            trip->latency_us[trip->taken] = now_us - trip->sent_us;
        trip->taken++;
        trip->sent_us = now_us;
        if (trip->sent < trip->count) {
            trip->sent++;
            trip->way->send(trip->bytes);
        }
    }
    if (trip->taken == trip->count)
        (void)uv_poll_stop(handle);
}

/* The descriptors of CZMQ and nng are edge triggered: a look that finds nothing
 * arms them. */
static double
run(trip_t *trip, uint32_t window)
{
    uv_loop_t loop;
    uv_poll_t handle;
    (void)uv_loop_init(&loop);
    stop_if(uv_poll_init(&loop, &handle, trip->way->descriptor()) != 0,
            "libuv does not poll");
    handle.data = trip;
    (void)uv_poll_start(&handle, UV_READABLE, on_readable);
    (void)trip->way->take(trip->bytes);
    double begin_us = trip->sent_us = wall_us();
    while (trip->sent < window) {
        trip->sent++;
        trip->way->send(trip->bytes);
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    double end_us = wall_us();
    uv_close((uv_handle_t *)&handle, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    return end_us - begin_us;
}

static double
latency_us(const way_t *way)
{
    static double each[LATENCIES_MAX];
    trip_t trip = { way, sizeof(uint64_t), 0, 0, LATENCIES_MAX, 0, each };
    (void)run(&trip, 1);
    return bench_median(each, LATENCIES_MAX);
}

static double
rate_per_s(const way_t *way, size_t bytes, uint32_t count)
{
    trip_t trip = { way, bytes, 0, 0, count, 0, NULL };
    return count / run(&trip, WINDOW) * 1e6;
}

/* --- the table ------------------------------------------------------------ */

static const way_t ways[] = {
    { "port", port_open, port_descriptor, port_send, port_take, port_close },
    { "pair", pair_open, pair_descriptor, pair_send, pair_take, pair_close },
    { "nng", nng_open, nng_descriptor, nng_send_one, nng_take, nng_end },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* The measures, as JSON and tables name them. */
static const struct {
    const char *name, *unit;
} measures[] = { { "p50_us", "us" },
                 { "per_s", "messages/s, 8 B" },
                 { "64k_per_s", "messages/s, 64 KiB" } };
#define MEASURES (sizeof(measures) / sizeof(measures[0]))

int
main(int argc, char **argv)
{
    static double seen[WAYS][MEASURES][ROUNDS];
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    zsys_handler_set(NULL);
    for (size_t k = 0; k < WAYS; k++)
        ways[k].open();
    for (int r = -1; r < ROUNDS; r++) /* the first is a warm-up */
        for (size_t k = 0; k < WAYS; k++) {
            size_t at = r < 0 ? 0 : (size_t)r;
            seen[k][0][at] = latency_us(&ways[k]);
            seen[k][1][at] = rate_per_s(&ways[k], sizeof(uint64_t), 300000);
            seen[k][2][at] = rate_per_s(&ways[k], 65536, 20000);
        }
    for (size_t k = 0; k < WAYS; k++)
        ways[k].close();
    if (json)
        putchar('{');
    else
        printf("host -> actor -> actor -> host, medians of %d rounds\n\n"
               "%-20s %12s %12s %12s\n",
               ROUNDS, "", ways[0].name, ways[1].name, ways[2].name);
    for (size_t m = 0; m < MEASURES; m++) {
        if (!json)
            printf("%-20s", measures[m].unit);
        for (size_t k = 0; k < WAYS; k++) {
            double median = bench_median(seen[k][m], ROUNDS);
            if (json)
                printf("%s\"%s_%s\":%.1f", m + k > 0 ? "," : "", ways[k].name,
                       measures[m].name, median);
            else
                printf(" %12.1f", median);
        }
        if (!json)
            putchar('\n');
    }
    if (json)
        puts("}");
    return 0;
}
