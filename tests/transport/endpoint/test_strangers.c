/* test_strangers.c - tests that a client without a peer's key can do nothing.
 *
 * Covers transport/socket/authenticator.c, transport/socket/connection_guard.c,
 * transport/socket/auth_selftest.c, transport/endpoint/endpoint_line.c and
 * transport/socket/watch.c with real sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "tests/support/endpoint_fixture.h"
#include "tests/support/sanitized.h"
#include "transport/socket/auth_selftest.h"
#include "transport/socket/socket.h"

TestSuite(strangers, .timeout = 120);

/* The bar of the issue for all that strangers may cost. The address sanitizer
 * keeps what was freed, and puts room around everything. */
#ifdef UNDER_ADDRESS_SANITIZER
#define RISE_BYTES_MAX ((size_t)512 << 20)
#else
#define RISE_BYTES_MAX ((size_t)16 << 20)
#endif

/* --- who is refused, and what both ends say ------------------------------ */

/* Node 1 of `pair` without node 0's key; node 0 dials it. */
static pair_t
open_unknown(const skn_keys_t *admitted)
{
    pair_t pair = { 0 };
    for (uint32_t k = 0; k < 2; k++)
        cr_assert(pair.keys[k] = skn_keys_new(&error));
    skn_endpoint_peer_t of_b = { 0, "a", NULL, skn_keys_public(admitted) };
    skn_endpoint_peer_t of_a = { 1, "b", NULL, skn_keys_public(pair.keys[1]) };
    pair.node[1] = node_open(pair.keys[1], &of_b);
    pair.node[0] = node_open(pair.keys[0], &of_a);
    pair_dial(&pair, 0);
    return pair;
}

Test(strangers, an_unknown_key_is_refused_and_both_ends_explain)
{
    char text[200];
    skn_keys_t *other = skn_keys_new(&error);
    pair_t pair = open_unknown(other);
    skn_endpoint_event_t arrival = await(pair.node[0], SKN_ARRIVAL_REFUSED);
    cr_expect_eq(arrival.peer, 1);
    (void)snprintf(text, sizeof(text),
                   "node b refused our key: ask its owner to add %s",
                   skn_keys_public(pair.keys[0]));
    cr_expect_str_eq(arrival.sentence, text);
    arrival = await(pair.node[1], SKN_ARRIVAL_STRANGER);
    cr_expect_eq(arrival.peer, SKN_PEER_UNKNOWN);
    (void)snprintf(text, sizeof(text),
                   "refused a stranger with key %s at 127.0.0.1",
                   skn_keys_public(pair.keys[0]));
    cr_expect_str_eq(arrival.sentence, text);
    cr_expect_eq(skn_endpoint_send(pair.node[0], 1, SKN_LANE_DATA,
                                   frame_of("x"), frame_of(""), &error),
                 SKN_BUSY);
    cr_expect_geq(counts_of(pair.node[0]).refusals, 1);
    cr_expect_geq(counts_of(pair.node[1]).strangers, 1);
    cr_expect_eq(counts_of(pair.node[0]).connected, 0);
    skn_keys_destroy(&other);
    pair_close(&pair);
}

Test(strangers, a_key_that_is_added_later_gets_in)
{
    skn_keys_t *other = skn_keys_new(&error);
    pair_t pair = open_unknown(other);
    char address[SKN_ADDRESS_BYTES];
    (void)await(pair.node[0], SKN_ARRIVAL_REFUSED);
    (void)snprintf(address, sizeof(address), "%s",
                   skn_endpoint_address(pair.node[1]));
    skn_endpoint_close(&pair.node[1]);
    skn_endpoint_peer_t of_b = { 0, "a", NULL, skn_keys_public(pair.keys[0]) };
    skn_endpoint_options_t options = { .name = "b",
                                       .address = address,
                                       .keys = pair.keys[1],
                                       .peers = &of_b,
                                       .peer_count = 1 };
    pair.node[1] = skn_endpoint_open(&options, &error);
    cr_assert(pair.node[1], "%s", error.text);
    for (int lane = 0; lane < SKN_LANE_COUNT; lane++)
        (void)await(pair.node[0], SKN_ARRIVAL_CONNECTED);
    skn_keys_destroy(&other);
    pair_close(&pair);
}

Test(strangers, a_wrong_server_key_is_reported_at_both_ends)
{
    char text[300];
    skn_keys_t *other = skn_keys_new(&error);
    skn_keys_t *keys[2] = { skn_keys_new(&error), skn_keys_new(&error) };
    skn_endpoint_peer_t of_b = { 0, "a", NULL, skn_keys_public(keys[0]) };
    skn_endpoint_t *b = node_open(keys[1], &of_b);
    skn_endpoint_peer_t of_a = { 1, "b", skn_endpoint_address(b),
                                 skn_keys_public(other) };
    skn_endpoint_t *a = node_open(keys[0], &of_a);
    skn_endpoint_event_t arrival = await(a, SKN_ARRIVAL_HANDSHAKE_FAILED);
    (void)snprintf(text, sizeof(text),
                   "node b at %s does not have the key %s: its key file "
                   "differs from ours, it runs without a key, or it is "
                   "another program",
                   skn_endpoint_address(b), skn_keys_public(other));
    cr_expect_str_eq(arrival.sentence, text);
    cr_expect_str_eq(await(b, SKN_ARRIVAL_STRANGER).sentence,
                     "refused a connection that expects another key of this "
                     "node");
    cr_expect_geq(counts_of(a).handshakes_failed_there, 2);
    cr_expect_geq(counts_of(b).handshakes_failed_here, 1);
    cr_expect_eq(counts_of(a).connected, 0);
    skn_endpoint_close(&a);
    skn_endpoint_close(&b);
    skn_keys_destroy(&other);
    skn_keys_destroy(&keys[0]);
    skn_keys_destroy(&keys[1]);
}

/* One end has a key and the other has none. */
static void
one_sided(bool dialler_keyed, const char *there, const char *here)
{
    char text[300];
    skn_keys_t *keys = skn_keys_new(&error), *other = skn_keys_new(&error);
    skn_endpoint_peer_t of_b = { 0, "a", NULL,
                                 dialler_keyed ? NULL
                                               : skn_keys_public(other) };
    skn_endpoint_t *b = node_open(dialler_keyed ? NULL : keys, &of_b);
    skn_endpoint_peer_t of_a = { 1, "b", skn_endpoint_address(b),
                                 dialler_keyed ? skn_keys_public(other)
                                               : NULL };
    skn_endpoint_t *a = node_open(dialler_keyed ? keys : NULL, &of_a);
    (void)snprintf(text, sizeof(text), there, skn_endpoint_address(b),
                   skn_keys_public(other));
    cr_expect_str_eq(await(a, SKN_ARRIVAL_HANDSHAKE_FAILED).sentence, text);
    /* Whoever closes first may keep the other from seeing why. */
    skn_endpoint_event_t arrival = await(b, SKN_ARRIVAL_STRANGER);
    if (strcmp(arrival.sentence, "refused a connection that has no key, uses "
                                 "another protocol, or is too slow") != 0)
        cr_expect_str_eq(arrival.sentence, here);
    cr_expect_eq(counts_of(a).connected, 0);
    cr_expect_geq(counts_of(b).handshakes_failed_here, 1);
    skn_endpoint_close(&a);
    skn_endpoint_close(&b);
    skn_keys_destroy(&keys);
    skn_keys_destroy(&other);
}

Test(strangers, a_node_without_a_key_is_told_to_make_one)
{
    one_sided(false,
              "node b at %s does not use the protocol of nodes without keys: "
              "if it has a key, this node needs one, too (skein keygen)",
              "refused a connection that has no key (no CURVE)");
}

Test(strangers, a_node_with_a_key_trusts_no_node_without_one)
{
    one_sided(true,
              "node b at %s does not have the key %s: its key file differs "
              "from ours, it runs without a key, or it is another program",
              "refused a connection that uses another protocol, is too "
              "slow, or needs a key, which this node does not have");
}

/* --- what a connection claims -------------------------------------------- */

/* A DEALER as anybody may have it. */
static void *
dealer(void *context, const char *address, const skn_keys_t *keys,
       const char *server_key)
{
    void *socket = zmq_socket(context, ZMQ_DEALER);
    int linger_ms = 0;
    cr_assert_eq(
        zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)), 0);
    if (keys) {
        (void)zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, 40);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, skn_keys_public(keys),
                             40);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, skn_keys_secret(keys),
                             40);
    }
    (void)zmq_setsockopt(socket, ZMQ_ROUTING_ID, "0", 1);
    cr_assert_eq(zmq_connect(socket, address), 0);
    return socket;
}

Test(strangers, a_peer_is_identified_by_its_key_whatever_it_claims)
{
    skn_keys_t *keys[3];
    for (int k = 0; k < 3; k++)
        keys[k] = skn_keys_new(&error);
    skn_endpoint_peer_t peers[] = {
        { 0, "a", NULL, skn_keys_public(keys[0]) },
        { 4000000000u, "c", NULL, skn_keys_public(keys[2]) },
    };
    skn_endpoint_options_t options = { .name = "b",
                                       .address = ANY_PORT,
                                       .keys = keys[1],
                                       .peers = peers,
                                       .peer_count = 2 };
    skn_endpoint_t *b = skn_endpoint_open(&options, &error);
    void *context = zmq_ctx_new();
    for (int k = 0; k < 3; k += 2) {
        void *socket = dealer(context, skn_endpoint_address(b), keys[k],
                              skn_keys_public(keys[1]));
        (void)zmq_send(socket, "I am node 0", 11, ZMQ_SNDMORE);
        (void)zmq_send(socket, "", 0, 0);
        skn_endpoint_event_t arrival = await(b, SKN_ARRIVAL_FRAGMENT);
        cr_expect_eq(arrival.peer, peers[k / 2].number);
        cr_expect_eq(arrival.header.bytes, 11);
        (void)zmq_close(socket);
        (void)zmq_ctx_term(context);
        context = zmq_ctx_new();
    }
    (void)zmq_ctx_term(context);
    skn_endpoint_close(&b);
    for (int k = 0; k < 3; k++)
        skn_keys_destroy(&keys[k]);
}

static void
send_frames(void *socket, size_t count, size_t first_bytes, size_t rest_bytes)
{
    static char bytes[1 << 20];
    for (size_t k = 0; k < count; k++)
        cr_assert_geq(zmq_send(socket, bytes, k ? rest_bytes : first_bytes,
                               k + 1 < count ? ZMQ_SNDMORE : 0),
                      0);
}

Test(strangers, what_is_no_fragment_is_counted_and_dropped)
{
    enum {
        HEADER = SKN_ENDPOINT_HEADER_BYTES_MAX
    };
    enum {
        BODY = SKN_ENDPOINT_BODY_BYTES_MAX
    };
    const struct {
        size_t count, first_bytes, rest_bytes;
        bool too_large;
    } wrong[] = {
        { 1, 0, 0, false },       { 1, 10, 0, false },
        { 2, 0, 10, false },      { 3, 1, 1, false },
        { 1000, 1, 1, false },    { 2, HEADER + 1, 0, true },
        { 2, 1, BODY + 1, true },
    };
    skn_endpoint_t *b = node_open(NULL, NULL);
    void *context = zmq_ctx_new();
    void *socket = dealer(context, skn_endpoint_address(b), NULL, NULL);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        skn_endpoint_counts_t before = counts_of(b);
        send_frames(socket, wrong[k].count, wrong[k].first_bytes,
                    wrong[k].rest_bytes);
        send_frames(socket, 2, HEADER, BODY); /* and a good one */
        skn_endpoint_event_t arrival = await(b, SKN_ARRIVAL_FRAGMENT);
        cr_expect_eq(arrival.header.bytes, HEADER);
        cr_expect_eq(arrival.body.bytes, BODY);
        skn_endpoint_counts_t after = counts_of(b);
        cr_expect_eq(after.malformed - before.malformed, !wrong[k].too_large,
                     "case %zu", k);
        cr_expect_eq(after.too_large - before.too_large, wrong[k].too_large,
                     "case %zu", k);
        cr_expect_eq(after.fragments_taken - before.fragments_taken, 1);
    }
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
    skn_endpoint_close(&b);
}

Test(strangers, a_flood_of_nonsense_leaves_time_for_others)
{
    enum {
        COUNT = 1000
    };
    skn_endpoint_t *b = node_open(NULL, NULL);
    void *context = zmq_ctx_new();
    void *socket = dealer(context, skn_endpoint_address(b), NULL, NULL);
    skn_endpoint_event_t arrival;
    uint32_t turns = 0;
    struct pollfd item = { -1, POLLIN, 0 };
    item.fd = skn_endpoint_descriptor(b);
    for (int k = 0; k < COUNT; k++)
        send_frames(socket, 1, 1, 0);
    while (counts_of(b).malformed < COUNT) {
        uint64_t before = counts_of(b).malformed;
        cr_expect(!skn_endpoint_take(b, &arrival));
        uint64_t dropped = counts_of(b).malformed - before;
        cr_expect_leq(dropped, 64);
        turns++;
        if (counts_of(b).malformed < COUNT)
            cr_assert_gt(poll(&item, 1, PATIENCE_MS), 0,
                         "more is there, and nobody is woken");
    }
    cr_expect_geq(turns, COUNT / 64);
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
    skn_endpoint_close(&b);
}

/* --- raw connections ----------------------------------------------------- */

static size_t
resident_bytes(void)
{
    size_t size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%zu %zu", &size, &resident) == 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static int
raw_connect(const char *address)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(connect(descriptor, (struct sockaddr *)&at, sizeof(at)), 0,
                 "%s", strerror(errno));
    return descriptor;
}

/* Greeting and READY of a DEALER without keys (ZeroMQ RFC 23). */
static void
raw_handshake(int descriptor)
{
    unsigned char greeting[64] = { 0xff, [9] = 0x7f, [10] = 3 };
    static const unsigned char ready[] = "\x04\x1c\x05READY\x0bSocket-Type"
                                         "\x00\x00\x00\x06"
                                         "DEALER";
    memcpy(greeting + 12, "NULL", 4);
    cr_assert_eq(write(descriptor, greeting, 64), 64);
    cr_assert_eq(write(descriptor, ready, sizeof(ready) - 1),
                 (ssize_t)sizeof(ready) - 1);
}

/* Waits for the other end's greeting and READY. What comes sooner stops libzmq
 * until the time for handshakes is over. */
static void
raw_await(int descriptor)
{
    char bytes[256];
    for (size_t got = 0; got < 64 + 43;) {
        ssize_t once = read(descriptor, bytes, sizeof(bytes));
        cr_assert_gt(once, 0);
        got += (size_t)once;
    }
}

/* One fragment from node 0 to node 1, while strangers are about. Without keys
 * these may put together a fragment by chance; the link's reader refuses it. */
static void
one_passes(pair_t *pair)
{
    skn_endpoint_event_t arrival;
    send_now(pair->node[0], 1, SKN_LANE_DATA, frame_of("friend"),
             frame_of("body"));
    do
        arrival = await(pair->node[1], SKN_ARRIVAL_FRAGMENT);
    while (!pair->keys[0] && (arrival.header.bytes != 6 ||
                              memcmp(arrival.header.at, "friend", 6) != 0));
    cr_assert_eq(arrival.header.bytes, 6);
    cr_assert_eq(memcmp(arrival.header.at, "friend", 6), 0);
}

/* In the protocols before ZMTP 3, a bad moment for garbage aborts libzmq: no
 * node speaks them, with keys or without. */
Test(strangers, a_peer_with_an_older_protocol_is_refused)
{
    static const unsigned char one[] = "\x01\x00\x02\x01x\x02\x00y";
    static const unsigned char two[] = "\xff\0\0\0\0\0\0\0\x01\x7f\x01\x05"
                                       "\0\0\x01\x01x\x00\x01y";
    skn_endpoint_t *b = node_open(NULL, NULL);
    int first = raw_connect(skn_endpoint_address(b));
    int second = raw_connect(skn_endpoint_address(b));
    (void)send(first, one, sizeof(one) - 1, MSG_NOSIGNAL);
    (void)send(second, two, sizeof(two) - 1, MSG_NOSIGNAL);
    for (int k = 0; k < 2; k++) {
        char bytes[64];
        while (read(k ? second : first, bytes, sizeof(bytes)) > 0)
            ; /* until it is closed */
    }
    while (counts_of(b).connections_empty < 2)
        (void)sched_yield();
    skn_endpoint_event_t arrival;
    cr_expect(!skn_endpoint_take(b, &arrival));
    cr_expect_eq(counts_of(b).fragments_taken + counts_of(b).malformed, 0);
    (void)close(first);
    (void)close(second);
    skn_endpoint_close(&b);
}

/* Looks into the sentences of `b` until one of them holds `part`. */
static void
await_sentence(skn_endpoint_t *b, const char *part)
{
    skn_endpoint_event_t arrival;
    for (bool found = false; !found;) {
        while (!found && skn_endpoint_take(b, &arrival))
            found = arrival.kind == SKN_ARRIVAL_STRANGER &&
                    strstr(arrival.sentence, part);
        (void)sched_yield();
    }
}

Test(strangers, connections_that_come_and_go_are_reported_when_they_are_many)
{
    skn_endpoint_t *b = node_open(NULL, NULL);
    const char *address = skn_endpoint_address(b);
    skn_endpoint_event_t arrival;
    for (size_t k = 1; k <= 16; k++) {
        cr_expect(!skn_endpoint_take(b, &arrival), "%zu: %s", k,
                  arrival.sentence);
        int descriptor = raw_connect(address);
        raw_handshake(descriptor); /* else its end has a reason of its own */
        raw_await(descriptor);
        (void)close(descriptor);
        while (counts_of(b).connections_empty < k)
            (void)sched_yield();
    }
    await_sentence(b, "16 connections ended without sending a fragment; "
                      "does something scan this port?");
    skn_endpoint_close(&b);
}

static void
garbage_from_many(bool keyed)
{
    enum {
        CONNECTIONS = 2000,
        AT_ONCE = 50
    };
    static unsigned char garbage[4096];
    uint64_t state = 88172645463325252u; /* xorshift, Marsaglia 2003 */
    int open[AT_ONCE];
    pair_t pair = pair_open(keyed);
    pair_await(&pair);
    one_passes(&pair);
    size_t before = resident_bytes();
    memset(open, -1, sizeof(open));
    for (size_t k = 0; k < CONNECTIONS; k++) {
        int *descriptor = &open[k % AT_ONCE];
        if (*descriptor >= 0)
            (void)close(*descriptor);
        *descriptor = raw_connect(skn_endpoint_address(pair.node[1]));
        for (size_t at = 0; at < sizeof(garbage); at += sizeof(state)) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            memcpy(garbage + at, &state, sizeof(state));
        }
        if (k % 3 == 0) /* a third comes past the signature */
            memcpy(garbage, "\xff\0\0\0\0\0\0\0\0\x7f\x03", 11);
        if (k % 3 == 1 && !keyed) /* and a third into the room */
            raw_handshake(*descriptor);
        (void)send(*descriptor, garbage, sizeof(garbage), MSG_NOSIGNAL);
        if (k % 100 == 0)
            one_passes(&pair);
    }
    for (size_t k = 0; k < AT_ONCE; k++)
        (void)close(open[k]);
    one_passes(&pair);
    skn_endpoint_counts_t counts = counts_of(pair.node[1]);
    size_t after = resident_bytes();
    cr_expect_lt(after, before + RISE_BYTES_MAX, "%zu bytes more",
                 after - before);
    if (keyed)
        cr_expect_eq(counts.fragments_taken, 2 + CONNECTIONS / 100);
    cr_expect_geq(counts.accepted, 1000);
    cr_expect_geq(counts.connections_empty + counts.connections_over, 1000);
    cr_expect_geq(counts.handshakes_failed_here, 100);
    cr_expect_eq(counts_of(pair.node[0]).disconnected, 0);
    pair_close(&pair);
}

Test(strangers, garbage_of_many_connections_reaches_nobody_with_keys)
{
    garbage_from_many(true);
}

Test(strangers, garbage_of_many_connections_reaches_nobody_without_keys)
{
    garbage_from_many(false);
}

/* A flood of strangers is no flood of lines: eight, and one a second. */
Test(strangers, a_flood_of_strangers_is_reported_in_a_few_lines)
{
    enum {
        CONNECTIONS = 300
    };
    skn_endpoint_t *b = node_open(NULL, NULL);
    struct timespec from, to;
    skn_endpoint_event_t arrival;
    long lines = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (int k = 0; k < CONNECTIONS; k++) {
        int descriptor = raw_connect(skn_endpoint_address(b));
        (void)send(descriptor, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL);
        (void)shutdown(descriptor, SHUT_WR);
        char bytes[64];
        while (read(descriptor, bytes, sizeof(bytes)) > 0)
            ; /* until it is closed there */
        (void)close(descriptor);
        while (skn_endpoint_take(b, &arrival))
            lines += arrival.kind == SKN_ARRIVAL_STRANGER;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    cr_expect_leq(lines, 8 + 1 + to.tv_sec - from.tv_sec);
    while (counts_of(b).accepted < CONNECTIONS)
        (void)sched_yield(); /* the door's thread counts when it comes to it */
    skn_endpoint_close(&b);
}

Test(strangers, more_connections_than_allowed_do_not_stay)
{
    enum {
        CONNECTIONS = 500
    };
    int open[CONNECTIONS];
    pair_t pair = pair_open(true);
    pair_await(&pair);
    one_passes(&pair);
    send_now(pair.node[0], 1, SKN_LANE_PULSE, frame_of("pulse"), frame_of(""));
    (void)await(pair.node[1], SKN_ARRIVAL_FRAGMENT);
    for (int k = 0; k < CONNECTIONS; k++)
        open[k] = raw_connect(skn_endpoint_address(pair.node[1]));
    /* The oldest are shut down, the friends are not. */
    for (int k = 0; k < CONNECTIONS - 100; k++) {
        char byte;
        ssize_t bytes;
        while ((bytes = read(open[k], &byte, 1)) > 0)
            ; /* a greeting */
        cr_assert_leq(bytes, 0);
    }
    one_passes(&pair);
    skn_endpoint_counts_t counts = counts_of(pair.node[1]);
    cr_expect_geq(counts.connections_over, CONNECTIONS - 100);
    cr_expect_eq(counts_of(pair.node[0]).disconnected, 0);
    for (int k = 0; k < CONNECTIONS; k++)
        (void)close(open[k]);
    pair_close(&pair);
}

Test(strangers, a_slow_drip_holds_nobody_up)
{
    enum {
        DRIPS = 40
    };
    static const unsigned char frame[] = { 2, 0, 0, 0, 0, 0, 1, 0, 0, 'x' };
    int open[DRIPS];
    pair_t pair = pair_open(false);
    pair_await(&pair);
    one_passes(&pair);
    size_t before = resident_bytes();
    for (int k = 0; k < DRIPS; k++) {
        open[k] = raw_connect(skn_endpoint_address(pair.node[1]));
        if (k % 2) /* the others say nothing at all */
            raw_handshake(open[k]);
    }
    /* The beginning of a frame of 64 KiB, a byte in each round. */
    for (size_t at = 0; at < sizeof(frame); at++) {
        for (int k = 1; k < DRIPS; k += 2)
            (void)send(open[k], &frame[at], 1, MSG_NOSIGNAL);
        one_passes(&pair);
    }
    for (int k = 0; k < DRIPS; k++) { /* who says no more is shown out */
        char bytes[64];
        struct pollfd item = { open[k], POLLIN, 0 };
        do
            cr_assert_gt(poll(&item, 1, PATIENCE_MS), 0, "drip %d stays", k);
        while (read(open[k], bytes, sizeof(bytes)) > 0);
        (void)close(open[k]);
    }
    one_passes(&pair);
    cr_expect_lt(resident_bytes(), before + RISE_BYTES_MAX);
    cr_expect_eq(counts_of(pair.node[1]).fragments_taken,
                 2 + 1 + sizeof(frame) - 1);
    pair_close(&pair);
}

/* Frames of `frame_bytes`, all with MORE, until nobody takes them any more. */
static size_t
send_endless(int descriptor, size_t frame_bytes)
{
    static unsigned char block[1 << 18];
    size_t filled = 0, sent = 0;
    while (filled + frame_bytes + 9 < sizeof(block)) {
        if (frame_bytes < 256) {
            block[filled] = 1;
            block[filled + 1] = (unsigned char)frame_bytes;
            filled += 2 + frame_bytes;
            continue;
        }
        memset(block + filled, 0, 9);
        block[filled] = 3;
        for (int k = 0; k < 4; k++)
            block[filled + 8 - (size_t)k] =
                (unsigned char)(frame_bytes >> (8 * k));
        filled += 9 + frame_bytes;
    }
    for (;;) {
        size_t at = 0;
        while (at < filled) {
            ssize_t bytes =
                send(descriptor, block + at, filled - at, MSG_NOSIGNAL);
            if (bytes <= 0)
                return sent;
            at += (size_t)bytes;
            sent += (size_t)bytes;
            cr_assert_lt(sent, (size_t)1 << 30, "nobody cuts it");
        }
    }
}

typedef struct flood {
    int descriptor;
    size_t frame_bytes, sent_bytes;
} flood_t;

static void *
flood_thread(void *argument)
{
    flood_t *flood = argument;
    raw_handshake(flood->descriptor);
    raw_await(flood->descriptor);
    flood->sent_bytes = send_endless(flood->descriptor, flood->frame_bytes);
    return NULL;
}

static void
endless(size_t frame_bytes, bool taking)
{
    skn_endpoint_t *b = node_open(NULL, NULL);
    skn_endpoint_event_t arrival;
    pthread_t thread;
    flood_t flood = { raw_connect(skn_endpoint_address(b)), frame_bytes, 0 };
    while (taking && skn_endpoint_take(b, &arrival))
        ;
    size_t before = resident_bytes(), peak = before;
    cr_assert_eq(pthread_create(&thread, NULL, flood_thread, &flood), 0);
    while (counts_of(b).connections_cut == 0) {
        size_t now = resident_bytes();
        peak = now > peak ? now : peak;
        while (taking && skn_endpoint_take(b, &arrival))
            ;
        (void)sched_yield();
    }
    /* It may be waiting for a window that nobody opens any more. */
    (void)shutdown(flood.descriptor, SHUT_RDWR);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    (void)close(flood.descriptor);
    cr_log_info("frames of %zu: %zu KiB sent, %zu KiB more", frame_bytes,
                flood.sent_bytes >> 10, (peak - before) >> 10);
    cr_expect_lt(peak, before + RISE_BYTES_MAX, "%zu KiB more",
                 (peak - before) >> 10);
    cr_expect_eq(counts_of(b).fragments_taken, 0);
    skn_endpoint_close(&b);
}

Test(strangers, an_endless_message_of_large_frames_is_cut)
{
    endless(60000, true);
}

Test(strangers, an_endless_message_of_tiny_frames_is_cut)
{
    endless(1, true);
}

Test(strangers, an_endless_message_is_cut_while_nobody_takes)
{
    endless(60000, false);
}

/* --- the self-test ------------------------------------------------------- */

/* A CURVE server without an authenticator lets in everybody: what a node must
 * never be. */
Test(strangers, the_selftest_notices_an_open_door)
{
    skn_keys_t *keys = skn_keys_new(&error);
    void *context = zmq_ctx_new();
    void *router = zmq_socket(context, ZMQ_ROUTER);
    int yes = 1;
    char address[SKN_ADDRESS_BYTES], text[400];
    size_t bytes = sizeof(address);
    (void)zmq_setsockopt(router, ZMQ_CURVE_SERVER, &yes, sizeof(yes));
    (void)zmq_setsockopt(router, ZMQ_CURVE_SECRETKEY, skn_keys_secret(keys),
                         40);
    cr_assert_eq(zmq_bind(router, ANY_PORT), 0);
    (void)zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, address, &bytes);
    cr_expect_eq(
        skn_auth_selftest(context, address, skn_keys_public(keys), &error),
        SKN_UNAVAILABLE);
    (void)snprintf(text, sizeof(text),
                   "%s lets in strangers: a connection with a throw-away key "
                   "was not refused",
                   address);
    cr_expect_str_eq(error.text, text);
    /* With another key than the server's, it is no proof either. */
    skn_keys_t *other = skn_keys_new(&error);
    cr_expect_eq(
        skn_auth_selftest(context, address, skn_keys_public(other), &error),
        SKN_UNAVAILABLE);
    cr_expect(strstr(error.text, "did not refuse a throw-away key"), "%s",
              error.text);
    (void)zmq_close(router);
    (void)zmq_ctx_term(context);
    skn_keys_destroy(&keys);
    skn_keys_destroy(&other);
}

/* --- a peer that refuses this node ---------------------------------------- */

/* Answers a request of ZeroMQ RFC 27 (its second frame is its number), if there
 * is one. */
static void
refuse_all(void *judge)
{
    char number[256];
    int more = 1, number_bytes = 0;
    size_t more_bytes = sizeof(more);
    static const char *const answer[] = { "1.0", NULL, "400", "no", "", "" };
    for (size_t k = 0; more; k++) {
        char frame[256];
        int bytes = zmq_recv(judge, frame, sizeof(frame), ZMQ_DONTWAIT);
        if (bytes < 0)
            return;
        if (k == 1)
            memcpy(number, frame, (size_t)(number_bytes = bytes));
        (void)zmq_getsockopt(judge, ZMQ_RCVMORE, &more, &more_bytes);
    }
    for (size_t k = 0; k < 6; k++)
        (void)zmq_send(judge, k == 1 ? number : answer[k],
                       k == 1 ? (size_t)number_bytes : strlen(answer[k]),
                       k < 5 ? ZMQ_SNDMORE : 0);
}

Test(strangers, a_node_without_a_key_that_is_refused_says_so)
{
    char address[128];
    size_t address_bytes = sizeof(address);
    int none = 0;
    void *context = zmq_ctx_new();
    void *judge = zmq_socket(context, ZMQ_REP);
    void *door = zmq_socket(context, ZMQ_ROUTER);
    cr_assert_eq(zmq_bind(judge, "inproc://zeromq.zap.01"), 0);
    cr_assert_eq(zmq_setsockopt(door, ZMQ_ZAP_DOMAIN, "x", 1), 0);
    cr_assert_eq(zmq_setsockopt(door, ZMQ_LINGER, &none, sizeof(none)), 0);
    cr_assert_eq(zmq_bind(door, "tcp://127.0.0.1:*"), 0);
    cr_assert_eq(
        zmq_getsockopt(door, ZMQ_LAST_ENDPOINT, address, &address_bytes), 0);
    skn_endpoint_peer_t peer = { 7, "door", address, NULL };
    skn_endpoint_t *node = node_open(NULL, &peer);
    skn_endpoint_event_t arrival = { .kind = SKN_ARRIVAL_FRAGMENT };
    for (int k = 0; arrival.kind != SKN_ARRIVAL_HANDSHAKE_FAILED; k++) {
        struct pollfd item = { skn_endpoint_descriptor(node), POLLIN, 0 };
        refuse_all(judge);
        if (!skn_endpoint_take(node, &arrival))
            (void)poll(&item, 1, 10);
        cr_assert_lt(k, PATIENCE_MS / 10);
    }
    cr_expect_eq(arrival.peer, 7);
    cr_expect(strstr(arrival.sentence, "the protocol of nodes without keys"),
              "%s", arrival.sentence);
    skn_endpoint_close(&node);
    (void)zmq_close(door);
    (void)zmq_close(judge);
    (void)zmq_ctx_term(context);
}
