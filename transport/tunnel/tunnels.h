/* tunnels.h - carries links to nodes that cannot accept connections.
 *
 *     c (no address)              a (the hub)               d (no address)
 *     DEALER to d ─ local ─┐                          ┌─ loopback ─▶ ROUTER
 *                       tunnel ═══dials═▶ splice ◀═dials═══ tunnel
 *     ROUTER ◀─ loopback ─ tunnel ═════▶ splice ◀─ local ─ a's own DEALER
 *                                  a's ROUTER ◀─ loopback ─ front ◀═══ c, d, b
 *
 * Sockets of links connect and listen as without tunnels: for a node without an
 * address they connect to a local name of their own process, and their bytes
 * are forwarded through streams that this node has opened. They are not
 * interpreted: CURVE is between the two ends of a link.
 *
 * A node with an address is a hub for those that have none: it listens at that
 * address in place of its ROUTER, forwards connections that speak ZMTP, and
 * joins streams that present a token of its own. Tokens are sent over a control
 * connection (control.h) to nodes of the run alone. docs/reference/wire.md has
 * the protocol.
 *
 * One thread of its own moves the bytes. The functions are for one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_TUNNELS_H
#define TRANSPORT_TUNNEL_TUNNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "transport/socket/keys.h"

#define SKN_TUNNEL_TEXT_BYTES 300

typedef struct skn_tunnels skn_tunnels_t;

typedef struct skn_tunnel_node {
    const char *name;
    const char *address;    /* tcp://host:port; "": it accepts no connections */
    const char *public_key; /* Z85 */
    uint32_t via;           /* the relay of a node without an address */
} skn_tunnel_node_t;

/* Everything is copied. */
typedef struct skn_tunnels_options {
    const skn_tunnel_node_t *nodes; /* of the run, including this one */
    uint32_t node_count, node;      /* `node`: the index of this one */
    const skn_keys_t *keys;         /* not NULL */
    bool background;                /* as in skn_endpoint_options_t */
} skn_tunnels_options_t;

/* Listens where it must, and accepts nothing yet. NULL and a filled `error`:
 * SKN_BAD_CONFIG (an address), SKN_UNAVAILABLE (in use, not of this machine),
 * SKN_NO_PERMISSION, SKN_NO_MEMORY. */
skn_tunnels_t *skn_tunnels_open(const skn_tunnels_options_t *options,
                                skn_error_t *error);
/* Cuts all tunnels. *tunnels may be NULL already. */
void skn_tunnels_close(skn_tunnels_t **tunnels);

/* The address at which this node's ROUTER is to listen, in place of its own. */
const char *skn_tunnels_own_address(const skn_tunnels_t *tunnels);
/* Where `node` is to be dialled: its address, or a local name. */
const char *skn_tunnels_address(const skn_tunnels_t *tunnels, uint32_t node);
/* Starts the thread. `router`: the address that the ROUTER has bound.
 * SKN_NO_MEMORY. */
skn_status_t skn_tunnels_start(skn_tunnels_t *tunnels, const char *router,
                               skn_error_t *error);

/* The next sentence to report, a few and then one a second at most; false if
 * there is none. */
bool skn_tunnels_take(skn_tunnels_t *tunnels, char text[SKN_TUNNEL_TEXT_BYTES]);

/* C(name, what it counts). */
#define SKN_TUNNEL_COUNTS(C)                                                   \
    C(joined, "tunnels between two other nodes that were joined here")         \
    C(relayed_bytes, "that passed through them, both ways")                    \
    C(unknown_tokens, "streams closed here: with an unknown token")            \
    C(strangers, "connections closed here: another protocol, or too slow")     \
    C(full, "connections closed here: too many were open")

typedef struct skn_tunnel_counts {
#define C(name, help) uint64_t name;
    SKN_TUNNEL_COUNTS(C)
#undef C
} skn_tunnel_counts_t;

void skn_tunnels_count(skn_tunnels_t *tunnels, skn_tunnel_counts_t *counts);

/* Whether two other nodes are connected that can reach each other only through
 * this one: they may have more to send to each other than to it. */
bool skn_tunnels_relay(skn_tunnels_t *tunnels);

#endif
