/* endpoint_internal.h - the state of an endpoint, which its sources share.
 *
 * endpoint.c: sending and receiving. endpoint_line.c: the connections that we
 * make. endpoint_open.c: opening and closing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_ENDPOINT_ENDPOINT_INTERNAL_H
#define TRANSPORT_ENDPOINT_ENDPOINT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "skein/limits.h"
#include "transport/socket/connection_guard.h"
#include "transport/endpoint/endpoint.h"

/* Time between sentences about one peer; the first is reported at once. */
#define ENDPOINT_SENTENCE_MS 10000
#define SENTENCE_BYTES 512

typedef enum source_kind {
    SOURCE_ROUTER,
    SOURCE_DEALER,
    SOURCE_MONITOR,
    SOURCE_DOOR,
    SOURCE_TIMER,
    SOURCE_KICK /* our own: there is more, but the caller should have a turn */
} source_kind_t;

/* A descriptor in epoll. `ready`: in the ring of sources to read from, since a
 * descriptor signals an event only after a read has found nothing. */
typedef struct endpoint_source {
    source_kind_t kind;
    bool ready;
    int descriptor; /* -1: not in epoll */
    struct endpoint_line *line;
} endpoint_source_t;

/* A connection of ours: one lane to one peer. */
typedef struct endpoint_line {
    void *socket, *monitor;
    struct peer *peer;
    skn_lane_t lane;
    bool standing;      /* CONNECTED was reported */
    bool lost;          /* DISCONNECTED is to be reported */
    bool busy;          /* a send found no room */
    uint32_t failures;  /* handshakes in a row */
    uint64_t redial_ms; /* make a new socket then, unless libzmq redials */
    endpoint_source_t dealer_source, monitor_source;
} endpoint_line_t;

typedef struct peer {
    uint32_t number;
    char name[SKN_NAME_MAX + 1];
    char address[SKN_ADDRESS_BYTES]; /* "": not dialled */
    bool ipv6;
    bool is_unknown; /* its name could not be resolved when first dialled */
    char public_key[SKN_KEY_TEXT_BYTES]; /* "": no keys */
    uint64_t sentence_ms;                /* when the last one was reported */
    endpoint_line_t line[SKN_LANE_COUNT];
} peer_t;

struct skn_endpoint {
    void *context;
    void *router;
    skn_connection_guard_t *guard;
    skn_watch_t *watch; /* the door's; we count messages into it */
    skn_keys_t *keys;   /* a copy; NULL: none */
    skn_address_t own;
    char address[SKN_ADDRESS_BYTES];
    uint32_t body_bytes_max, fragments_max, connections_max;
    int service; /* ZMQ_TOS */
    peer_t *peer;
    size_t peer_count;
    int epoll, timer, kick;
    endpoint_source_t router_source, door_source, timer_source, kick_source;
    endpoint_source_t *
        *ring; /* of ready sources: [ring_room], from ring_first */
    size_t ring_room, ring_first, ring_count;
    uint32_t turn;
    zmq_msg_t header, body; /* of the last fragment */
    char sentence[SENTENCE_BYTES];
    skn_endpoint_counts_t counts;
};

/* Adds a descriptor to epoll and removes it; a source that is added is read
 * from once, whatever its descriptor signals. */
skn_status_t skn_source_add(skn_endpoint_t *endpoint, endpoint_source_t *source,
                            int descriptor, skn_error_t *error);
void skn_source_remove(skn_endpoint_t *endpoint, endpoint_source_t *source);
void skn_source_ready(skn_endpoint_t *endpoint, endpoint_source_t *source);

/* Opens both sockets of a line and dials; existing ones are closed first. */
skn_status_t skn_line_dial(skn_endpoint_t *endpoint, endpoint_line_t *line,
                           skn_error_t *error);
void skn_line_close(skn_endpoint_t *endpoint, endpoint_line_t *line,
                    int linger_ms);
/* Reads one event of the monitor; true if it is an event to report. `*empty`:
 * there was none. */
bool skn_line_event(skn_endpoint_t *endpoint, endpoint_line_t *line,
                    skn_endpoint_event_t *arrival, bool *empty);
/* Whether a busy line has room again. */
bool skn_line_room(endpoint_line_t *line);
/* Redials the lines that are due, and sets the timer for the others. */
void skn_lines_redial(skn_endpoint_t *endpoint);

#endif
