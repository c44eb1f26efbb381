/* contract_shortage_tunnels.c - tests the opening of tunnels when each of its
 * allocations fails in turn.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "tests/support/held_port.h"
#include "tests/support/shortage.h"
#include "transport/socket/byte_socket.h"
#include "transport/tunnel/stream_pair.h"
#include "transport/tunnel/tunnels.h"

static skn_keys_t *keys[2];
static char address[64];

static void
make_keys(void)
{
    (void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u",
                   (unsigned)held_port());
    for (size_t k = 0; k < 2; k++)
        cr_assert(keys[k] = skn_keys_new(NULL));
}

/* Node 0 is a hub, node 1 has no address. Not started: what the thread lacks
 * memory for it closes, and what dials dials again. */
static skn_status_t
open_node(uint32_t node, skn_error_t *error)
{
    const skn_tunnel_node_t nodes[] = {
        { "a", address, skn_keys_public(keys[0]), 0 },
        { "c", "", skn_keys_public(keys[1]), 0 },
    };
    const skn_tunnels_options_t options = {
        .nodes = nodes, .node_count = 2, .node = node, .keys = keys[node]
    };
    skn_tunnels_t *tunnels = skn_tunnels_open(&options, error);
    skn_status_t status = tunnels ? SKN_OK : error->status;
    skn_tunnels_close(&tunnels);
    return status;
}

static skn_status_t
open_hub(skn_error_t *error)
{
    return open_node(0, error);
}

static skn_status_t
open_out(skn_error_t *error)
{
    return open_node(1, error);
}

static skn_status_t
open_pair(skn_error_t *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return skn_fail(error, SKN_UNAVAILABLE, "no pair");
    skn_stream_pair_t *pair = skn_stream_pair_new(ends[0], ends[1], error);
    if (pair) {
        skn_stream_pair_destroy(&pair);
        return SKN_OK;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    return error->status;
}

static const shortage_t shortages[] = {
    { "a hub", open_hub, SKN_OK, 0 },
    { "a node without an address", open_out, SKN_OK, 0 },
    { "two streams", open_pair, SKN_OK, 0 },
};

Test(shortage_tunnels,
     each_allocation_that_fails_is_reported_and_nothing_is_kept, .timeout = 120)
{
    make_keys();
    for (size_t k = 0; k < sizeof(shortages) / sizeof(shortages[0]); k++)
        shortage_try(&shortages[k]);
    for (size_t k = 0; k < 2; k++)
        skn_keys_destroy(&keys[k]);
}
