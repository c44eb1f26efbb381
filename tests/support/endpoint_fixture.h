/* endpoint_fixture.h - opens two nodes on loopback, and waits for their events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_ENDPOINT_FIXTURE_H
#define TESTS_SUPPORT_ENDPOINT_FIXTURE_H

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "transport/endpoint/endpoint.h"

#define ANY_PORT "tcp://127.0.0.1:0"
/* Nothing of these tests takes a second; this long is a failure. */
#define PATIENCE_MS 20000

static skn_error_t error;

/* Opens a node with one peer, or with none (`peer` NULL). */
static inline skn_endpoint_t *
node_open(const skn_keys_t *keys, const skn_endpoint_peer_t *peer)
{
    skn_endpoint_options_t options = { .name = "here",
                                       .address = ANY_PORT,
                                       .keys = keys,
                                       .peers = peer,
                                       .peer_count = peer ? 1 : 0 };
    skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
    cr_assert(endpoint, "%s", error.text);
    return endpoint;
}

/* Two nodes, 0 and 1, that dial each other. */
typedef struct pair {
    skn_keys_t *keys[2];
    skn_endpoint_t *node[2];
} pair_t;

static inline void
pair_dial(pair_t *pair, uint32_t from)
{
    cr_assert_eq(skn_endpoint_connect(
                     pair->node[from], 1 - from,
                     skn_endpoint_address(pair->node[1 - from]), &error),
                 SKN_OK, "%s", error.text);
}

static inline pair_t
pair_open(bool keyed)
{
    static const char *const names[] = { "a", "b" };
    pair_t pair = { 0 };
    for (uint32_t k = 0; k < 2 && keyed; k++)
        cr_assert(pair.keys[k] = skn_keys_new(&error));
    for (uint32_t k = 0; k < 2; k++) {
        skn_endpoint_peer_t peer = { 1 - k, names[1 - k], NULL,
                                     keyed ? skn_keys_public(pair.keys[1 - k])
                                           : NULL };
        pair.node[k] = node_open(pair.keys[k], &peer);
    }
    pair_dial(&pair, 0);
    pair_dial(&pair, 1);
    return pair;
}

static inline void
pair_close(pair_t *pair)
{
    for (size_t k = 0; k < 2; k++) {
        skn_endpoint_close(&pair->node[k]);
        if (pair->keys[k])
            skn_keys_destroy(&pair->keys[k]);
    }
}

static inline void
wait_for(skn_endpoint_t *endpoint)
{
    struct pollfd item = { -1, POLLIN, 0 };
    item.fd = skn_endpoint_descriptor(endpoint);
    cr_assert_geq(item.fd, 0);
    cr_assert_gt(poll(&item, 1, PATIENCE_MS), 0, "nothing happens");
}

/* Waits for the next arrival, whatever it is. */
static inline skn_endpoint_event_t
next_arrival(skn_endpoint_t *endpoint)
{
    skn_endpoint_event_t arrival;
    while (!skn_endpoint_take(endpoint, &arrival))
        wait_for(endpoint);
    return arrival;
}

/* Waits for the next arrival of `kind`; others are passed over. */
static inline skn_endpoint_event_t
await(skn_endpoint_t *endpoint, skn_endpoint_event_kind_t kind)
{
    for (;;) {
        skn_endpoint_event_t arrival = next_arrival(endpoint);
        if (arrival.kind == kind)
            return arrival;
    }
}

/* Waits until one of the two has something; both were asked before. */
static inline void
pair_wait(const pair_t *pair)
{
    struct pollfd items[2] = { { -1, POLLIN, 0 }, { -1, POLLIN, 0 } };
    for (size_t k = 0; k < 2; k++)
        items[k].fd = skn_endpoint_descriptor(pair->node[k]);
    cr_assert_gt(poll(items, 2, PATIENCE_MS), 0, "nothing happens");
}

/* Both lanes of both nodes stand. */
static inline void
pair_await(pair_t *pair)
{
    for (size_t k = 0; k < 2; k++)
        for (size_t lane = 0; lane < SKN_LANE_COUNT; lane++)
            (void)await(pair->node[k], SKN_ARRIVAL_CONNECTED);
}

static inline skn_frame_t
frame_of(const char *text)
{
    return (skn_frame_t){ text, strlen(text) };
}

/* Sends, and waits for room while there is none. What else happens to the
 * sender meanwhile is passed over. */
static inline void
send_now(skn_endpoint_t *endpoint, uint32_t peer, skn_lane_t lane,
         skn_frame_t header, skn_frame_t body)
{
    skn_endpoint_event_t arrival;
    skn_status_t status;
    while ((status = skn_endpoint_send(endpoint, peer, lane, header, body,
                                       &error)) == SKN_BUSY) {
        while (skn_endpoint_take(endpoint, &arrival))
            if (arrival.kind == SKN_ARRIVAL_ROOM)
                break;
        if (skn_endpoint_send(endpoint, peer, lane, header, body, &error) ==
            SKN_OK)
            return;
        wait_for(endpoint);
    }
    cr_assert_eq(status, SKN_OK, "%s", error.text);
}

static inline skn_endpoint_counts_t
counts_of(const skn_endpoint_t *endpoint)
{
    skn_endpoint_counts_t counts;
    skn_endpoint_count(endpoint, &counts);
    return counts;
}

#endif
