/* endpoint.h - the sockets of one node to all other nodes.
 *
 *              node a                                  node b
 *     +----------------------+    fragments   +----------------------+
 *     | DEALER b, data  -----|--------------->|                      |
 *     | DEALER b, pulse -----|--------------->| ROUTER, only receives|
 *     | ROUTER, only receives|<---------------|----- DEALER a, data  |
 *     |                      |<---------------|----- DEALER a, pulse |
 *     +----------------------+                +----------------------+
 *
 * A connection carries fragments one way, so that each node connects to those
 * that it sends to. With keys every connection is CurveZMQ, only the keys of
 * peers are admitted, and the peer of a fragment is the one with the key of the
 * connection, never the one that a message claims. This layer does not
 * interpret fragments (transport/link/link.h does), and resends nothing: a
 * fragment that was taken from the caller is lost when its connection ends
 * before it has arrived.
 *
 * The endpoint has a ZeroMQ context of its own: docs/decisions/0008-context-
 * of-links.md. One thread owns it: every function is for that thread alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_ENDPOINT_ENDPOINT_H
#define TRANSPORT_ENDPOINT_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/socket/address.h"
#include "transport/socket/keys.h"
#include "transport/message/schema.h"

/* Largest frames of a fragment. A fragment is cut so that it passes a slow link
 * between two heartbeats: docs/reference/wire.md. */
#define SKN_ENDPOINT_HEADER_BYTES_MAX 1024u
#define SKN_ENDPOINT_BODY_BYTES_MAX 65536u
/* Peers of a node: each needs two connections each way and ten descriptors. */
#define SKN_PEERS_MAX 256u
/* The sender of a fragment is not known by a key: read its header. */
#define SKN_PEER_UNKNOWN UINT32_MAX

typedef struct skn_endpoint skn_endpoint_t;

typedef enum skn_lane {
    SKN_LANE_DATA,
    SKN_LANE_PULSE, /* a connection of its own: data cannot delay it */
    SKN_LANE_COUNT
} skn_lane_t;

typedef struct skn_endpoint_peer {
    uint32_t number;  /* of its node; not SKN_PEER_UNKNOWN */
    const char *name; /* of its node, for sentences */
    const char
        *address; /* tcp://host:port, or of transport/tunnel/tunnels.h; NULL:
                   * not dialled yet */
    const char *public_key; /* Z85; NULL if this node has no keys */
} skn_endpoint_peer_t;

/* Everything is copied. Zeroes are defaults. */
typedef struct skn_endpoint_options {
    const char *name;       /* of this node, for sentences */
    const char *address;    /* tcp://host:port; port 0 or *: any free port */
    const skn_keys_t *keys; /* NULL: none, on loopback only */
    const skn_endpoint_peer_t *peers;
    size_t peer_count;
    uint32_t body_bytes_max;  /* at most, and by default,
                               * SKN_ENDPOINT_BODY_BYTES_MAX */
    uint32_t fragments_max;   /* queued for one peer and lane, on either side */
    uint32_t connections_max; /* that others may make to this node */
    bool background;          /* packets of class CS1, which yield to others
                               * (RFC 8622 and before it RFC 3662) */
} skn_endpoint_options_t;

/* Opens all sockets and dials every peer that has an address. With keys the
 * authenticator runs before the address is bound, and a connection with a
 * throw-away key is tried: NULL if it is admitted. NULL and a filled `error`:
 *   SKN_BAD_CONFIG   an address that is not tcp://host:port; beyond loopback
 *                    without keys; a peer twice, without a key, or with ours
 *   SKN_UNAVAILABLE  the port is in use, the address is not of this machine,
 *                    the self-test was admitted, libzmq is too old or has
 *                    no CURVE
 *   SKN_NO_PERMISSION  a port below 1024
 *   SKN_NO_MEMORY    too few file descriptors, or no memory, or no thread */
skn_endpoint_t *skn_endpoint_open(const skn_endpoint_options_t *options,
                                  skn_error_t *error);

/* Waits at most 2 seconds for sent fragments to leave, then closes all. Sets
 * *endpoint to NULL, which it may be already. */
void skn_endpoint_close(skn_endpoint_t **endpoint);

/* The address that is bound, with its actual port; owned by the endpoint. */
const char *skn_endpoint_address(const skn_endpoint_t *endpoint);

/* Dials `peer` at another address (a node may return elsewhere), or at the same
 * again; fragments that were queued for it and have not left are lost.
 * SKN_BAD_CONFIG: no such peer, or not an address. */
skn_status_t skn_endpoint_connect(skn_endpoint_t *endpoint, uint32_t peer,
                                  const char *address, skn_error_t *error);

/* Whether the address of `peer` is a name that could not be resolved when it
 * was first dialled; each attempt resolves it again. */
bool skn_endpoint_is_unknown(const skn_endpoint_t *endpoint, uint32_t peer);

/* A descriptor for poll() with POLLIN; the same as long as the endpoint lives.
 * Readable means: call skn_endpoint_take. It is as edge triggered as the ZMQ_FD
 * behind it: before each wait, call skn_endpoint_take until it returns false,
 * or events that are there already will not end the wait. (False may also mean
 * that the caller should have a turn: then the next wait ends at once.) */
int skn_endpoint_descriptor(const skn_endpoint_t *endpoint);

/* Sends one fragment; both frames are copied, never waits. `body` may be empty,
 * `header` must not be (SKN_INTERNAL, and for frames over their limit).
 * SKN_BUSY: no connection, or its queue is full; retry after an event
 * SKN_ARRIVAL_ROOM or SKN_ARRIVAL_CONNECTED of this peer and lane. SKN_OK is no
 * promise that it arrives. */
skn_status_t skn_endpoint_send(skn_endpoint_t *endpoint, uint32_t peer,
                               skn_lane_t lane, skn_frame_t header,
                               skn_frame_t body, skn_error_t *error);

/* The kinds of events. A(NAME, has a sentence, meaning). */
#define SKN_ARRIVALS(A)                                                        \
    A(FRAGMENT, 0, "a fragment arrived")                                       \
    A(CONNECTED, 0, "our connection to the peer is open; sends may begin")     \
    A(DISCONNECTED, 0, "our connection to the peer ended; dialling again")     \
    A(ROOM, 0, "a send that was SKN_BUSY may be tried again")                  \
    A(REFUSED, 1, "the peer refused our key; retrying at growing intervals")   \
    A(HANDSHAKE_FAILED, 1, "the peer is not a Skein node, or has another key") \
    A(STRANGER, 1, "a connection was refused here")

typedef enum skn_endpoint_event_kind {
#define A(name, sentence, text) SKN_ARRIVAL_##name,
    SKN_ARRIVALS(A)
#undef A
} skn_endpoint_event_kind_t;

/* `peer` is the number of the node, or SKN_PEER_UNKNOWN (STRANGER; FRAGMENT
 * without keys). `lane` applies to connections, not to fragments: the lane of a
 * fragment is not reported. Frames and sentence are valid until the next call
 * of any function of this endpoint. `sentence` is never NULL; the kinds that
 * have one are reported at most once in some seconds. */
typedef struct skn_endpoint_event {
    skn_endpoint_event_kind_t kind;
    uint32_t peer;
    skn_lane_t lane;
    skn_frame_t header;
    skn_frame_t body;
    const char *sentence;
} skn_endpoint_event_t;

/* The next event; false if there is none. Never waits. Every CONNECTED is
 * followed by one DISCONNECTED of the same peer and lane before the next
 * CONNECTED. A message that is not a fragment (exactly two frames after the
 * routing id, header 1..1024 bytes, body within its limit, from a peer) is
 * dropped here, frame by frame, and counted. */
bool skn_endpoint_take(skn_endpoint_t *endpoint, skn_endpoint_event_t *arrival);

/* Counters by reason. C(name, what it counts). */
#define SKN_ENDPOINT_COUNTS(C)                                                 \
    C(fragments_sent, "fragments given to a socket")                           \
    C(fragments_taken, "fragments passed on to the links")                     \
    C(sends_busy, "sends that found the socket full")                          \
    C(connected, "connections that we opened")                                 \
    C(disconnected, "connections that we opened and that ended")               \
    C(accepted, "connections that others opened")                              \
    C(strangers, "refused here: a key that is not in nodes:")                  \
    C(handshakes_failed_here, "refused here: no CURVE, garbage, or too slow")  \
    C(refusals, "our key was refused by a peer")                               \
    C(handshakes_failed_there, "our handshake with a peer failed")             \
    C(malformed, "dropped: not two frames after the routing id")               \
    C(too_large, "dropped: a frame over its limit")                            \
    C(unknown_key, "dropped: from a connection without a peer's key")          \
    C(connections_empty, "opened by others and ended without a fragment")      \
    C(connections_cut, "cut here: an endless message")                         \
    C(connections_over, "cut here: more connections than allowed")

typedef struct skn_endpoint_counts {
#define C(name, help) uint64_t name;
    SKN_ENDPOINT_COUNTS(C)
#undef C
} skn_endpoint_counts_t;

/* All counters since the endpoint was opened. */
void skn_endpoint_count(const skn_endpoint_t *endpoint,
                        skn_endpoint_counts_t *counts);

#endif
