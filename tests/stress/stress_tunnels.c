/* stress_tunnels.c - exercises tunnels between threads, for the thread
 * sanitizer, under which Criterion does not start.
 *
 * A hub and two nodes without an address, in one process: fragments pass on all
 * paths, while strangers come and go and two threads request counts and
 * messages; the relay, and then one of the others, goes and comes back. A lost
 * fragment, or a report of the sanitizer, fails.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/held_port.h"
#include "tests/support/tsan_libzmq.h"
#include "transport/socket/byte_socket.h"
#include "transport/endpoint/endpoint.h"
#include "transport/tunnel/tunnel_words.h"
#include "transport/tunnel/tunnels.h"

#define NODES 3u
#define TRIES_MAX 6000
#define STRANGER_PAUSE_MS 5

static const char *const names[NODES] = { "a", "c", "d" };
static skn_keys_t *keys[NODES];
static char address[64];
static skn_tunnels_t *tunnels[NODES];
static skn_endpoint_t *endpoint[NODES];
static atomic_bool over;
static unsigned wrong_count;

static void
expect(bool holds, const char *what, const char *why)
{
    if (holds)
        return;
    wrong_count++;
    (void)fprintf(stderr, "stress_tunnels: %s: %s\n", what, why);
}

static void
start(uint32_t node)
{
    skn_error_t error = { 0 };
    skn_tunnel_node_t nodes[NODES];
    skn_endpoint_peer_t peers[NODES];
    skn_endpoint_options_t options = { .name = names[node],
                                       .keys = keys[node],
                                       .peers = peers };
    for (uint32_t k = 0; k < NODES; k++)
        nodes[k] = (skn_tunnel_node_t){ names[k], k == 0 ? address : "",
                                        skn_keys_public(keys[k]), 0 };
    const skn_tunnels_options_t how = {
        .nodes = nodes, .node_count = NODES, .node = node, .keys = keys[node]
    };
    tunnels[node] = skn_tunnels_open(&how, &error);
    expect(tunnels[node], "no tunnels", error.text);
    if (!tunnels[node])
        return;
    options.address = skn_tunnels_own_address(tunnels[node]);
    for (uint32_t k = 0; k < NODES; k++)
        if (k != node)
            peers[options.peer_count++] =
                (skn_endpoint_peer_t){ k, names[k],
                                       skn_tunnels_address(tunnels[node], k),
                                       nodes[k].public_key };
    endpoint[node] = skn_endpoint_open(&options, &error);
    expect(endpoint[node] &&
               skn_tunnels_start(tunnels[node],
                                 skn_endpoint_address(endpoint[node]),
                                 &error) == SKN_OK,
           "not started", error.text);
}

static void
stop(uint32_t node)
{
    skn_endpoint_close(&endpoint[node]);
    skn_tunnels_close(&tunnels[node]);
}

/* Whether a fragment from `from` came to `to`; all that came is taken. */
static bool
take(uint32_t from, uint32_t to)
{
    skn_endpoint_event_t arrival;
    bool came = false;
    for (uint32_t k = 0; k < NODES; k++)
        while (skn_endpoint_take(endpoint[k], &arrival))
            came = came || (k == to && arrival.peer == from &&
                            arrival.kind == SKN_ARRIVAL_FRAGMENT);
    return came;
}

static void
pass(uint32_t from, uint32_t to)
{
    static const uint8_t body[65536];
    char text[SKN_TUNNEL_TEXT_BYTES];
    const skn_frame_t header = { "header", 6 };
    bool came = false;
    for (int tries = 0; tries < TRIES_MAX && !came; tries++) {
        skn_tunnel_counts_t counts;
        (void)skn_endpoint_send(endpoint[from], to, SKN_LANE_DATA, header,
                                (skn_frame_t){ body, sizeof(body) }, NULL);
        came = take(from, to);
        skn_tunnels_count(tunnels[0], &counts);
        (void)skn_tunnels_relay(tunnels[0]);
        while (skn_tunnels_take(tunnels[0], text))
            ;
        struct pollfd item = { skn_endpoint_descriptor(endpoint[to]), POLLIN,
                               0 };
        (void)poll(&item, 1, 10);
    }
    expect(came, names[from], names[to]);
}

static void
pass_all(void)
{
    for (uint32_t from = 0; from < NODES; from++)
        for (uint32_t to = 0; to < NODES; to++)
            if (from != to)
                pass(from, to);
}

/* Comes, says something or nothing, and goes. */
static void *
be_strange(void *unused)
{
    static const uint8_t token[SKN_TUNNEL_TOKEN_BYTES] = { 1 };
    uint8_t said[3][SKN_PREFACE_BYTES] = { "GET / HTTP/1.0", "", "\xff" };
    skn_byte_socket_place_t place;
    (void)unused;
    skn_preface_write(SKN_PREFACE_TUNNEL, token, said[1]);
    if (!skn_byte_socket_find(address, &place))
        return NULL;
    for (unsigned k = 0; !atomic_load(&over); k++) {
        int number = skn_byte_socket_dial(&place, 0);
        struct pollfd item = { number, POLLOUT, 0 };
        (void)poll(&item, 1, STRANGER_PAUSE_MS);
        (void)send(number, said[k % 3], k % 3 == 2 ? 1 : SKN_PREFACE_BYTES,
                   MSG_NOSIGNAL);
        (void)poll(NULL, 0, STRANGER_PAUSE_MS);
        (void)close(number);
    }
    return NULL;
}

int
main(void)
{
    pthread_t stranger;
    skn_tunnel_counts_t counts = { 0 };
    (void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u",
                   (unsigned)held_port());
    for (uint32_t k = 0; k < NODES; k++)
        keys[k] = skn_keys_new(NULL);
    for (uint32_t k = 0; k < NODES; k++)
        start(k);
    bool strange = wrong_count == 0 &&
                   pthread_create(&stranger, NULL, be_strange, NULL) == 0;
    for (uint32_t leaver = 0; leaver < NODES && wrong_count == 0; leaver++) {
        pass_all();
        skn_tunnels_count(tunnels[0], &counts);
        expect(counts.joined > 0, "the relay", "has joined nobody");
        stop(leaver);
        start(leaver);
    }
    if (wrong_count == 0)
        pass_all();
    atomic_store(&over, true);
    if (strange)
        (void)pthread_join(stranger, NULL);
    for (uint32_t k = 0; k < NODES; k++) {
        stop(k);
        skn_keys_destroy(&keys[k]);
    }
    (void)printf("stress_tunnels: %u wrong\n", wrong_count);
    return wrong_count == 0 ? 0 : 1;
}
