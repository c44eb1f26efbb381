/* test_tunnels.c - tests tunnels between nodes on loopback, two of which cannot
 * be dialled.
 *
 * Covers transport/tunnel/tunnels.c, transport/tunnel/tunnels_hub.c,
 * transport/tunnel/tunnels_out.c and transport/tunnel/tunnels_open.c;
 * actors/links/link_tunnels.c is covered by tests/e2e/outbound.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/endpoint_fixture.h"
#include "tests/support/held_port.h"
#include "transport/socket/control.h"
#include "transport/socket/byte_socket.h"
#include "transport/tunnel/tunnel_words.h"
#include "transport/tunnel/tunnels.h"

TestSuite(tunnels, .timeout = 120);

/* a, b can be dialled; c, d cannot. */
enum {
    A,
    B,
    C,
    D,
    NODES
};
static const char *const names[NODES] = { "a", "b", "c", "d" };

typedef struct world {
    skn_keys_t *keys[NODES];
    char address[NODES][64];
    skn_tunnel_node_t node[NODES];
    skn_tunnels_t *tunnels[NODES];
    skn_endpoint_t *endpoint[NODES];
} world_t;

static void
world_init(world_t *world)
{
    *world = (world_t){ 0 };
    for (uint32_t k = 0; k < NODES; k++) {
        cr_assert(world->keys[k] = skn_keys_new(&error));
        if (k < C)
            (void)snprintf(world->address[k], sizeof(world->address[k]),
                           "tcp://127.0.0.1:%u", held_port());
        world->node[k] = (skn_tunnel_node_t){
            .name = names[k],
            .address = world->address[k],
            .public_key = skn_keys_public(world->keys[k]),
            .via = A,
        };
    }
}

/* `keys`: those of the node, or a stranger's. */
static void
start(world_t *world, uint32_t node, const skn_keys_t *keys)
{
    skn_endpoint_peer_t peers[NODES];
    const skn_tunnels_options_t how = {
        .nodes = world->node, .node_count = NODES, .node = node, .keys = keys
    };
    skn_endpoint_options_t options = { .name = names[node],
                                       .keys = keys,
                                       .peers = peers };
    world->tunnels[node] = skn_tunnels_open(&how, &error);
    cr_assert(world->tunnels[node], "%s", error.text);
    options.address = skn_tunnels_own_address(world->tunnels[node]);
    for (uint32_t k = 0; k < NODES; k++)
        if (k != node)
            peers[options.peer_count++] = (skn_endpoint_peer_t){
                k, names[k], skn_tunnels_address(world->tunnels[node], k),
                world->node[k].public_key
            };
    world->endpoint[node] = skn_endpoint_open(&options, &error);
    cr_assert(world->endpoint[node], "%s", error.text);
    cr_assert_eq(skn_tunnels_start(world->tunnels[node],
                                   skn_endpoint_address(world->endpoint[node]),
                                   &error),
                 SKN_OK, "%s", error.text);
}

static void
stop(world_t *world, uint32_t node)
{
    skn_endpoint_close(&world->endpoint[node]);
    skn_tunnels_close(&world->tunnels[node]);
}

static void
world_close(world_t *world)
{
    for (uint32_t k = 0; k < NODES; k++) {
        stop(world, k);
        skn_keys_destroy(&world->keys[k]);
    }
}

/* Sends from one node to another until it arrives: what was sent while
 * nothing stood is nobody's fault. Both are driven. */
static void
expect_passes(world_t *world, uint32_t from, uint32_t to)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%s to %s", names[from], names[to]);
    for (int tries = 0; tries < 2000; tries++) {
        skn_endpoint_event_t arrival;
        (void)skn_endpoint_send(world->endpoint[from], to, SKN_LANE_DATA,
                                frame_of(text), frame_of("body"), NULL);
        for (uint32_t k = 0; k < NODES; k++)
            while (world->endpoint[k] &&
                   skn_endpoint_take(world->endpoint[k], &arrival))
                if (k == to && arrival.kind == SKN_ARRIVAL_FRAGMENT &&
                    arrival.header.bytes == strlen(text) &&
                    memcmp(arrival.header.at, text, strlen(text)) == 0) {
                    cr_expect_eq(arrival.peer, from, "%s", text);
                    return;
                }
        struct pollfd item = { skn_endpoint_descriptor(world->endpoint[to]),
                               POLLIN, 0 };
        (void)poll(&item, 1, 10);
    }
    cr_assert_fail("%s: nothing arrives", text);
}

static void
world_open(world_t *world)
{
    world_init(world);
    for (uint32_t k = 0; k < NODES; k++)
        start(world, k, world->keys[k]);
}

Test(tunnels, every_node_reaches_every_other)
{
    world_t world;
    skn_tunnel_counts_t counts;
    world_init(&world);
    for (uint32_t k = NODES; k-- > 0;) /* those who dial are there first */
        start(&world, k, world.keys[k]);
    for (uint32_t from = 0; from < NODES; from++)
        for (uint32_t to = 0; to < NODES; to++)
            if (from != to)
                expect_passes(&world, from, to);
    skn_tunnels_count(world.tunnels[A], &counts);
    cr_expect_geq(counts.joined, 2u, "c to d, d to c");
    cr_expect_gt(counts.relayed_bytes, 0u);
    cr_expect_eq(counts.strangers, 0u);
    skn_tunnels_count(world.tunnels[B], &counts);
    cr_expect_eq(counts.joined, 0u, "via a");
    world_close(&world);
}

Test(tunnels, are_opened_again_after_the_relay_has_come_back)
{
    world_t world;
    world_open(&world);
    expect_passes(&world, C, D);
    stop(&world, A);
    start(&world, A, world.keys[A]);
    expect_passes(&world, C, D);
    expect_passes(&world, D, C);
    expect_passes(&world, A, D);
    world_close(&world);
}

/* So that a relay knows when it may leave. */
Test(tunnels, a_relay_knows_whether_it_is_between_others)
{
    world_t world;
    world_open(&world);
    expect_passes(&world, C, D);
    expect_passes(&world, B, C);
    expect_passes(&world, B, D);
    cr_expect(skn_tunnels_relay(world.tunnels[A]));
    cr_expect_not(skn_tunnels_relay(world.tunnels[B]), "they go via a");
    cr_expect_not(skn_tunnels_relay(world.tunnels[C]));
    stop(&world, C);
    for (int tries = 0; tries < 40 && skn_tunnels_relay(world.tunnels[A]);
         tries++)
        (void)poll(NULL, 0, 10);
    cr_expect_not(skn_tunnels_relay(world.tunnels[A]), "c has left");
    world_close(&world);
}

/* --- strangers ----------------------------------------------------------- */

/* Says `bytes` to a, and waits until it is cut. */
static void
expect_cut(const world_t *world, const void *bytes, size_t count)
{
    skn_byte_socket_place_t place;
    char answer[64];
    cr_assert(skn_byte_socket_find(world->address[A], &place));
    int dialled = skn_byte_socket_dial(&place, 0);
    struct pollfd item = { dialled, POLLOUT, 0 };
    cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1);
    cr_expect_eq(send(dialled, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
    item.events = POLLIN;
    cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1, "it is not cut");
    cr_expect_leq(recv(dialled, answer, sizeof(answer), 0), 0);
    (void)close(dialled);
}

Test(tunnels, a_stranger_is_cut)
{
    world_t world;
    skn_tunnel_counts_t counts;
    uint8_t preface[SKN_PREFACE_BYTES], token[SKN_TUNNEL_TOKEN_BYTES] = { 1 };
    world_init(&world);
    start(&world, A, world.keys[A]);
    expect_cut(&world, "GET / HTTP/1.1\r\n\r\n", 18);
    expect_cut(&world, "skn", 3); /* and nothing more */
    skn_tunnels_count(world.tunnels[A], &counts);
    cr_expect_eq(counts.strangers, 2u);
    skn_preface_write(SKN_PREFACE_TUNNEL, token, preface);
    expect_cut(&world, preface, sizeof(preface));
    skn_tunnels_count(world.tunnels[A], &counts);
    cr_expect_eq(counts.unknown_tokens, 1u);
    skn_preface_write(SKN_PREFACE_CONTROL, NULL, preface);
    preface[8] = 9;
    expect_cut(&world, preface, sizeof(preface));
    world_close(&world);
}

static size_t
descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

/* Only the tunnels of a node, in front of a port of the test's: what it says,
 * whoever dials it. */
static int
start_before(world_t *world, uint32_t node)
{
    char text[64];
    skn_address_t address;
    const skn_tunnels_options_t how = { .nodes = world->node,
                                        .node_count = NODES,
                                        .node = node,
                                        .keys = world->keys[node] };
    (void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", held_port());
    cr_assert_eq(skn_address_read(text, true, &address, &error), SKN_OK);
    int listener = skn_byte_socket_listen(&address, &error);
    cr_assert_geq(listener, 0, "%s", error.text);
    world->tunnels[node] = skn_tunnels_open(&how, &error);
    cr_assert(world->tunnels[node], "%s", error.text);
    cr_assert_eq(skn_tunnels_start(world->tunnels[node], text, &error), SKN_OK);
    return listener;
}

static int
accept_at(int listener)
{
    struct pollfd item = { listener, POLLIN, 0 };
    cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1);
    return skn_byte_socket_accept(listener, 0);
}

/* It is led to the ROUTER, which cuts it, and never closes its own end. */
Test(tunnels, a_stranger_that_never_closes_holds_nothing)
{
    world_t world;
    skn_byte_socket_place_t place;
    char byte;
    world_init(&world);
    int listener = start_before(&world, A);
    cr_assert(skn_byte_socket_find(world.address[A], &place));
    size_t before = descriptors();
    int stranger = skn_byte_socket_dial(&place, 0);
    struct pollfd item = { stranger, POLLOUT, 0 };
    cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1);
    cr_assert_eq(send(stranger, "\xff", 1, MSG_NOSIGNAL), 1);
    int router = accept_at(listener);
    item = (struct pollfd){ router, POLLIN, 0 };
    cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1);
    cr_expect_eq(recv(router, &byte, 1, 0), 1);
    (void)close(router);
    item = (struct pollfd){ stranger, POLLIN, 0 };
    cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1, "it is not told");
    cr_expect_eq(recv(stranger, &byte, 1, 0), 0);
    for (int tries = 0; tries < 100 && descriptors() > before + 1; tries++)
        (void)poll(NULL, 0, 100);
    cr_expect_leq(descriptors(), before + 1, "its streams are still there");
    (void)close(stranger);
    (void)close(listener);
    world_close(&world);
}

/* More than there is room for, each of which is led to the ROUTER. */
Test(tunnels, strangers_that_never_close_keep_nobody_out)
{
    enum {
        STRANGERS = 240
    };
    world_t world;
    skn_byte_socket_place_t place;
    int stranger[STRANGERS];
    struct rlimit limit; /* theirs are ours, too */
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    world_init(&world);
    start(&world, A, world.keys[A]);
    cr_assert(skn_byte_socket_find(world.address[A], &place));
    for (size_t k = 0; k < STRANGERS; k++) {
        stranger[k] = skn_byte_socket_dial(&place, 0);
        (void)poll(NULL, 0, 5); /* one after the other: none makes room */
        (void)send(stranger[k], "\xff", 1, MSG_NOSIGNAL);
    }
    start(&world, C, world.keys[C]);
    start(&world, D, world.keys[D]);
    expect_passes(&world, C, D);
    expect_passes(&world, A, C);
    world_close(&world);
    for (size_t k = 0; k < STRANGERS; k++)
        (void)close(stranger[k]);
}

/* A node that claims to be c, with a key of its own, while the real d is
 * there: it gets no line, so no tunnel. */
Test(tunnels, a_stranger_gets_no_tunnel)
{
    world_t world;
    skn_endpoint_event_t arrival;
    skn_tunnel_counts_t counts;
    char text[SKN_TUNNEL_TEXT_BYTES] = "";
    world_init(&world);
    skn_keys_t *stranger = skn_keys_new(&error);
    start(&world, A, world.keys[A]);
    start(&world, D, world.keys[D]);
    expect_passes(&world, A, D);
    start(&world, C, stranger);
    for (int tries = 0; tries < 300 && !strstr(text, "stranger"); tries++) {
        while (skn_endpoint_take(world.endpoint[C], &arrival))
            cr_expect_neq(arrival.kind, SKN_ARRIVAL_CONNECTED);
        (void)skn_tunnels_take(world.tunnels[A], text);
        (void)poll(NULL, 0, 10);
    }
    cr_expect(strstr(text, "refused a stranger with key"), "%s", text);
    skn_tunnels_count(world.tunnels[A], &counts);
    cr_expect_eq(counts.joined, 0u);
    world_close(&world);
    skn_keys_destroy(&stranger);
}

Test(tunnels, an_address_that_is_in_use_is_reported)
{
    world_t world;
    world_init(&world);
    start(&world, A, world.keys[A]);
    const skn_tunnels_options_t how = { .nodes = world.node,
                                        .node_count = NODES,
                                        .node = A,
                                        .keys = world.keys[A] };
    cr_expect_null(skn_tunnels_open(&how, &error));
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect(strstr(error.text, "in use by another program"), "%s",
              error.text);
    world_close(&world);
}
