/* test_endpoint.c - tests two nodes on loopback: the data that pass, and the
 * events.
 *
 * Covers transport/endpoint/endpoint.c, transport/endpoint/endpoint_line.c,
 * transport/endpoint/endpoint_open.c, transport/socket/socket.c,
 * transport/socket/authenticator.c, transport/socket/connection_guard.c and
 * transport/socket/auth_selftest.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "tests/support/endpoint_fixture.h"

TestSuite(endpoint, .timeout = 120);

#define BOTH_WAYS(name)                                                        \
    static void name(bool keyed);                                              \
    Test(endpoint, name##_with_keys)                                           \
    {                                                                          \
        name(true);                                                            \
    }                                                                          \
    Test(endpoint, name##_without_keys)                                        \
    {                                                                          \
        name(false);                                                           \
    }                                                                          \
    static void name(bool keyed)

BOTH_WAYS(fragments_pass_both_ways)
{
    pair_t pair = pair_open(keyed);
    pair_await(&pair);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t lane = 0; lane < SKN_LANE_COUNT; lane++) {
            send_now(pair.node[k], 1 - k, lane, frame_of("head"),
                     frame_of(lane ? "" : "body"));
            skn_endpoint_event_t arrival =
                await(pair.node[1 - k], SKN_ARRIVAL_FRAGMENT);
            cr_expect_eq(arrival.peer, keyed ? k : SKN_PEER_UNKNOWN);
            cr_expect_eq(arrival.header.bytes, 4);
            cr_expect_eq(memcmp(arrival.header.at, "head", 4), 0);
            cr_expect_eq(arrival.body.bytes, lane ? 0 : 4);
            cr_expect_str_eq(arrival.sentence, "");
        }
    skn_endpoint_counts_t counts = counts_of(pair.node[0]);
    cr_expect_eq(counts.connected, 2);
    cr_expect_eq(counts.accepted, 2, "%lu", counts.accepted);
    cr_expect_eq(counts.fragments_sent, 2);
    cr_expect_eq(counts.fragments_taken, 2);
    cr_expect_eq(counts.strangers + counts.malformed + counts.too_large +
                     counts.refusals + counts.handshakes_failed_here +
                     counts.connections_cut + counts.connections_over +
                     counts.connections_empty,
                 0, "the self-test is nobody");
    pair_close(&pair);
}

/* A fragment whose header is its number, and whose body all the same byte. */
static skn_status_t
send_numbered(skn_endpoint_t *endpoint, uint32_t number)
{
    static unsigned char body[SKN_ENDPOINT_BODY_BYTES_MAX];
    memset(body, (int)(number % 251), sizeof(body));
    return skn_endpoint_send(
        endpoint, 1, SKN_LANE_DATA, (skn_frame_t){ &number, sizeof(number) },
        (skn_frame_t){ body, sizeof(body) - number }, &error);
}

static void
check_numbered(const skn_endpoint_event_t *arrival, uint32_t want)
{
    uint32_t number;
    const unsigned char *at = arrival->body.at;
    cr_assert_eq(arrival->header.bytes, sizeof(number));
    memcpy(&number, arrival->header.at, sizeof(number));
    cr_assert_eq(number, want, "%u, not %u", number, want);
    cr_assert_eq(arrival->body.bytes, SKN_ENDPOINT_BODY_BYTES_MAX - want);
    for (size_t k = 0; k < arrival->body.bytes; k++)
        if (at[k] != want % 251)
            cr_assert_fail("byte %zu of fragment %u", k, want);
}

BOTH_WAYS(big_bodies_arrive_whole_and_in_order)
{
    enum {
        COUNT = 500
    };
    pair_t pair = pair_open(keyed);
    uint32_t sent = 0, taken = 0;
    skn_endpoint_event_t arrival;
    while (taken < COUNT) {
        while (skn_endpoint_take(pair.node[0], &arrival))
            ;
        while (sent < COUNT && send_numbered(pair.node[0], sent) == SKN_OK)
            sent++;
        while (skn_endpoint_take(pair.node[1], &arrival))
            if (arrival.kind == SKN_ARRIVAL_FRAGMENT)
                check_numbered(&arrival, taken++);
        while (skn_endpoint_take(pair.node[0], &arrival))
            if (arrival.kind == SKN_ARRIVAL_ROOM)
                break; /* send first, then take on */
        if (sent < COUNT && send_numbered(pair.node[0], sent) == SKN_OK)
            sent++;
        else if (taken < COUNT)
            pair_wait(&pair);
    }
    cr_expect_eq(counts_of(pair.node[1]).connections_cut, 0);
    pair_close(&pair);
}

/* A peer that takes nothing stops the sender, which is told when there is room
 * again; nothing is lost, and the pulse passes all the same. */
BOTH_WAYS(a_peer_that_takes_nothing_makes_busy)
{
    static const unsigned char body[SKN_ENDPOINT_BODY_BYTES_MAX];
    pair_t pair = pair_open(keyed);
    uint32_t sent = 0;
    pair_await(&pair);
    for (uint32_t busy = 0;
         busy < 50;) { /* its queues fill, and the system's */
        skn_status_t status =
            skn_endpoint_send(pair.node[0], 1, SKN_LANE_DATA,
                              (skn_frame_t){ &sent, sizeof(sent) },
                              (skn_frame_t){ body, sizeof(body) }, &error);
        cr_assert(status == SKN_OK || status == SKN_BUSY);
        if (status == SKN_OK) {
            sent++;
            busy = 0;
            cr_assert_lt(sent, 4000, "256 MB and no end");
            continue;
        }
        busy++;
        cr_expect_str_eq(error.text, "the socket to node b is full; try "
                                     "again later");
        struct pollfd item = { -1, POLLIN, 0 };
        item.fd = skn_endpoint_descriptor(pair.node[0]);
        skn_endpoint_event_t arrival;
        while (skn_endpoint_take(pair.node[0], &arrival))
            ;
        (void)poll(&item, 1, 10);
    }
    send_now(pair.node[0], 1, SKN_LANE_PULSE, frame_of("pulse"), frame_of(""));
    uint32_t taken = 0;
    bool pulse = false;
    while (taken < sent || !pulse) {
        skn_endpoint_event_t arrival =
            await(pair.node[1], SKN_ARRIVAL_FRAGMENT);
        if (arrival.body.bytes == 0) {
            pulse = true;
            cr_expect_lt(taken, sent, "the pulse waits for data: %u", sent);
            continue;
        }
        uint32_t number;
        memcpy(&number, arrival.header.at, sizeof(number));
        cr_assert_eq(number, taken);
        taken++;
    }
    (void)await(pair.node[0], SKN_ARRIVAL_ROOM);
    cr_expect_eq(counts_of(pair.node[1]).connections_cut, 0);
    pair_close(&pair);
}

/* --- ends and new beginnings --------------------------------------------- */

BOTH_WAYS(a_peer_that_comes_back_is_dialled_again)
{
    pair_t pair = pair_open(keyed);
    skn_endpoint_peer_t peer = { 0, "a", NULL,
                                 keyed ? skn_keys_public(pair.keys[0]) : NULL };
    skn_endpoint_options_t options = {
        .name = "b", .keys = pair.keys[1], .peers = &peer, .peer_count = 1
    };
    char address[SKN_ADDRESS_BYTES];
    pair_await(&pair);
    (void)snprintf(address, sizeof(address), "%s",
                   skn_endpoint_address(pair.node[1]));
    for (int time = 0; time < 3; time++) {
        skn_endpoint_close(&pair.node[1]);
        cr_expect_null(pair.node[1]);
        for (int lane = 0; lane < SKN_LANE_COUNT; lane++)
            (void)await(pair.node[0], SKN_ARRIVAL_DISCONNECTED);
        cr_expect_eq(skn_endpoint_send(pair.node[0], 1, SKN_LANE_DATA,
                                       frame_of("x"), frame_of(""), &error),
                     SKN_BUSY, "nothing is queued for nobody");
        options.address = address;
        pair.node[1] = skn_endpoint_open(&options, &error);
        cr_assert(pair.node[1], "%s", error.text);
        for (int lane = 0; lane < SKN_LANE_COUNT; lane++)
            (void)await(pair.node[0], SKN_ARRIVAL_CONNECTED);
        send_now(pair.node[0], 1, SKN_LANE_DATA, frame_of("again"),
                 frame_of(""));
        cr_expect_eq(await(pair.node[1], SKN_ARRIVAL_FRAGMENT).header.bytes, 5);
    }
    skn_endpoint_counts_t counts = counts_of(pair.node[0]);
    cr_expect_eq(counts.connected, 8);
    cr_expect_eq(counts.disconnected, 6);
    pair_close(&pair);
}

Test(endpoint, a_peer_may_come_back_elsewhere)
{
    pair_t pair = pair_open(true);
    skn_endpoint_peer_t peer = { 0, "a", NULL, skn_keys_public(pair.keys[0]) };
    pair_await(&pair);
    skn_endpoint_t *elsewhere = node_open(pair.keys[1], &peer);
    cr_assert_eq(skn_endpoint_connect(pair.node[0], 1,
                                      skn_endpoint_address(elsewhere), &error),
                 SKN_OK);
    for (int lane = 0; lane < SKN_LANE_COUNT; lane++) {
        (void)await(pair.node[0], SKN_ARRIVAL_DISCONNECTED);
    }
    send_now(pair.node[0], 1, SKN_LANE_DATA, frame_of("here"), frame_of(""));
    cr_expect_eq(await(elsewhere, SKN_ARRIVAL_FRAGMENT).peer, 0);
    skn_endpoint_close(&elsewhere);
    pair_close(&pair);
}

Test(endpoint, an_absent_peer_is_dialled_until_it_is_there)
{
    skn_endpoint_t *first = node_open(NULL, NULL);
    char address[SKN_ADDRESS_BYTES];
    (void)snprintf(address, sizeof(address), "%s", skn_endpoint_address(first));
    skn_endpoint_close(&first);
    skn_endpoint_peer_t peer = { 7, "late", address, NULL };
    skn_endpoint_t *early = node_open(NULL, &peer);
    cr_expect_eq(skn_endpoint_send(early, 7, SKN_LANE_DATA, frame_of("x"),
                                   frame_of(""), &error),
                 SKN_BUSY);
    skn_endpoint_options_t options = { .name = "late", .address = address };
    skn_endpoint_t *late = skn_endpoint_open(&options, &error);
    cr_assert(late, "%s", error.text);
    skn_endpoint_event_t arrival = await(early, SKN_ARRIVAL_CONNECTED);
    cr_expect_eq(arrival.peer, 7);
    skn_endpoint_close(&early);
    skn_endpoint_close(&late);
    skn_endpoint_close(&late);
}

Test(endpoint, what_was_sent_before_the_end_still_leaves)
{
    pair_t pair = pair_open(true);
    uint32_t sent = 0;
    pair_await(&pair);
    while (sent < 40 && send_numbered(pair.node[0], sent) == SKN_OK)
        sent++;
    skn_endpoint_close(&pair.node[0]);
    for (uint32_t k = 0; k < sent; k++) {
        skn_endpoint_event_t arrival =
            await(pair.node[1], SKN_ARRIVAL_FRAGMENT);
        check_numbered(&arrival, k);
    }
    cr_expect_geq(sent, 1);
    pair_close(&pair);
}

Test(endpoint, a_fragment_over_its_limits_is_our_own_bug)
{
    static const unsigned char body[SKN_ENDPOINT_BODY_BYTES_MAX + 1];
    pair_t pair = pair_open(false);
    skn_frame_t one = { body, 1 };
    const struct {
        uint32_t peer;
        skn_lane_t lane;
        size_t header_bytes, body_bytes;
    } wrong[] = {
        { 1, SKN_LANE_DATA, 0, 1 },
        { 1, SKN_LANE_DATA, SKN_ENDPOINT_HEADER_BYTES_MAX + 1, 1 },
        { 1, SKN_LANE_DATA, 1, SKN_ENDPOINT_BODY_BYTES_MAX + 1 },
        { 1, SKN_LANE_COUNT, 1, 1 },
        { 0, SKN_LANE_DATA, 1, 1 },
    };
    pair_await(&pair);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++)
        cr_expect_eq(skn_endpoint_send(
                         pair.node[0], wrong[k].peer, wrong[k].lane,
                         (skn_frame_t){ body, wrong[k].header_bytes },
                         (skn_frame_t){ body, wrong[k].body_bytes }, &error),
                     SKN_INTERNAL, "case %zu", k);
    cr_expect_str_eq(error.text, "a fragment of 1 + 1 bytes to node 0");
    send_now(pair.node[0], 1, SKN_LANE_DATA,
             (skn_frame_t){ body, SKN_ENDPOINT_HEADER_BYTES_MAX },
             (skn_frame_t){ body, SKN_ENDPOINT_BODY_BYTES_MAX });
    skn_endpoint_event_t arrival = await(pair.node[1], SKN_ARRIVAL_FRAGMENT);
    cr_expect_eq(arrival.header.bytes, SKN_ENDPOINT_HEADER_BYTES_MAX);
    cr_expect_eq(arrival.body.bytes, SKN_ENDPOINT_BODY_BYTES_MAX);
    send_now(pair.node[0], 1, SKN_LANE_DATA, one, one);
    cr_expect_eq(await(pair.node[1], SKN_ARRIVAL_FRAGMENT).body.bytes, 1);
    pair_close(&pair);
}
