/* bench_tunnels.c - measures rate and CPU time of fragments on each kind of
 * path between two nodes.
 *
 *     direct     a to b, as in runs where every node has an address
 *     front      c to a: a listens for c in place of its ROUTER
 *     hub        a to c, through a stream that c has dialled
 *     relayed    c to d, through a
 *
 * Usage: bench_tunnels [SECONDS] for each way; 2 by default Both ends, and a,
 * are in this process, on loopback, with keys. Prints the rate, and CPU time of
 * all threads: of both ends and the node between.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/held_port.h"
#include "transport/endpoint/endpoint.h"
#include "transport/tunnel/tunnels.h"

enum {
    A,
    B,
    C,
    D,
    NODES
};
static const char *const names[NODES] = { "a", "b", "c", "d" };

typedef struct world {
    bool tunnelled;
    skn_keys_t *keys[NODES];
    char address[NODES][64];
    skn_tunnel_node_t node[NODES];
    skn_tunnels_t *tunnels[NODES];
    skn_endpoint_t *endpoint[NODES];
} world_t;

static double
seconds_of(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool
start(world_t *world, uint32_t node, skn_error_t *error)
{
    skn_endpoint_peer_t peers[NODES];
    const skn_tunnels_options_t how = { .nodes = world->node,
                                        .node_count = NODES,
                                        .node = node,
                                        .keys = world->keys[node] };
    skn_endpoint_options_t options = { .name = names[node],
                                       .address = world->address[node],
                                       .keys = world->keys[node],
                                       .peers = peers };
    if (world->tunnelled) {
        world->tunnels[node] = skn_tunnels_open(&how, error);
        if (!world->tunnels[node])
            return false;
        options.address = skn_tunnels_own_address(world->tunnels[node]);
    }
    for (uint32_t k = 0; k < NODES; k++)
        if (k != node)
            peers[options.peer_count++] = (skn_endpoint_peer_t){
                k, names[k],
                world->tunnelled ? skn_tunnels_address(world->tunnels[node], k)
                                 : world->address[k],
                world->node[k].public_key
            };
    world->endpoint[node] = skn_endpoint_open(&options, error);
    return world->endpoint[node] &&
           (!world->tunnelled ||
            skn_tunnels_start(world->tunnels[node],
                              skn_endpoint_address(world->endpoint[node]),
                              error) == SKN_OK);
}

static bool
world_open(world_t *world, bool tunnelled, skn_error_t *error)
{
    *world = (world_t){ .tunnelled = tunnelled };
    for (uint32_t k = 0; k < NODES; k++) {
        world->keys[k] = skn_keys_new(error);
        if (!world->keys[k])
            return false;
        if (k < C || !tunnelled)
            (void)snprintf(world->address[k], sizeof(world->address[k]),
                           "tcp://127.0.0.1:%u", (unsigned)held_port());
        world->node[k] =
            (skn_tunnel_node_t){ names[k], world->address[k],
                                 skn_keys_public(world->keys[k]), A };
    }
    for (uint32_t k = 0; k < NODES; k++)
        if (!start(world, k, error))
            return false;
    return true;
}

static void
world_close(world_t *world)
{
    for (uint32_t k = 0; k < NODES; k++) {
        skn_endpoint_close(&world->endpoint[k]);
        skn_tunnels_close(&world->tunnels[k]);
        skn_keys_destroy(&world->keys[k]);
    }
}

/* Sends as much as leaves; what arrived, in bytes, adds to *bytes. */
static void
turn(world_t *world, uint32_t from, uint32_t to, uint64_t *bytes)
{
    static const uint8_t body[SKN_ENDPOINT_BODY_BYTES_MAX];
    const skn_frame_t header = { "header", 6 };
    skn_endpoint_event_t arrival;
    while (skn_endpoint_send(world->endpoint[from], to, SKN_LANE_DATA, header,
                             (skn_frame_t){ body, sizeof(body) },
                             NULL) == SKN_OK)
        ;
    for (uint32_t k = 0; k < NODES; k++)
        while (skn_endpoint_take(world->endpoint[k], &arrival))
            *bytes += arrival.kind == SKN_ARRIVAL_FRAGMENT && k == to
                          ? arrival.body.bytes
                          : 0;
    struct pollfd items[2] = {
        { skn_endpoint_descriptor(world->endpoint[from]), POLLIN, 0 },
        { skn_endpoint_descriptor(world->endpoint[to]), POLLIN, 0 },
    };
    (void)poll(items, 2, 10);
}

static void
measure(world_t *world, const char *way, uint32_t from, uint32_t to,
        double seconds)
{
    uint64_t bytes = 0;
    while (bytes == 0) /* the way stands */
        turn(world, from, to, &bytes);
    double begin = seconds_of(CLOCK_MONOTONIC), wall = 0;
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (bytes = 0; wall < seconds; wall = seconds_of(CLOCK_MONOTONIC) - begin)
        turn(world, from, to, &bytes);
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    (void)printf("%-10s %7.0f MB/s %6.2f CPU s/GB\n", way,
                 (double)bytes / wall * 1e-6, cpu / ((double)bytes * 1e-9));
}

int
main(int count, char **arguments)
{
    world_t world;
    skn_error_t error = { 0 };
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 2;
    if (!world_open(&world, false, &error)) {
        (void)fprintf(stderr, "bench_tunnels: %s\n", error.text);
        return 69;
    }
    measure(&world, "direct", A, B, seconds);
    world_close(&world);
    if (!world_open(&world, true, &error)) {
        (void)fprintf(stderr, "bench_tunnels: %s\n", error.text);
        return 69;
    }
    measure(&world, "front", C, A, seconds);
    measure(&world, "hub", A, C, seconds);
    measure(&world, "relayed", C, D, seconds);
    world_close(&world);
    return 0;
}
