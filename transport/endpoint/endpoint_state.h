/* endpoint_state.h - what the two sources of the endpoint share.
 *
 * endpoint.c: opening, sending, taking. endpoint_line.c: the connections that
 * we make.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_ENDPOINT_ENDPOINT_STATE_H
#define TRANSPORT_ENDPOINT_ENDPOINT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "skein/limits.h"
#include "transport/socket/door.h"
#include "transport/endpoint/endpoint.h"

/* Sentences about one peer: the first at once, others that far apart. */
#define ENDPOINT_SENTENCE_MS 10000
#define SENTENCE_BYTES 512

typedef enum source_kind {
    SOURCE_ROUTER,
    SOURCE_DEALER,
    SOURCE_MONITOR,
    SOURCE_DOOR,
    SOURCE_TIMER,
    SOURCE_KICK /* our own: there is more, but somebody else's turn */
} source_kind_t;

/* Something that epoll looks at. `ready`: in the ring of those to look into,
 * since its descriptor tells only of what comes after a look found nothing. */
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
    bool standing;      /* CONNECTED was told */
    bool lost;          /* DISCONNECTED is to be told */
    bool busy;          /* a send found no room */
    uint32_t failures;  /* handshakes in a row */
    uint64_t redial_ms; /* make the socket anew then, unless libzmq redials */
    endpoint_source_t dealer_source, monitor_source;
} endpoint_line_t;

typedef struct peer {
    uint32_t number;
    char name[SKN_NAME_MAX + 1];
    char address[SKN_ADDRESS_BYTES]; /* "": not dialled */
    bool ipv6;
    bool is_unknown; /* its name meant nothing here when it was dialled first */
    char public_key[SKN_KEY_TEXT_BYTES]; /* "": no keys */
    uint64_t sentence_ms;                /* when the last one was said */
    endpoint_line_t line[SKN_LANE_COUNT];
} peer_t;

struct skn_endpoint {
    void *context;
    void *router;
    skn_door_t *door;
    skn_watch_t *watch; /* the door's; we count into it */
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

/* Adds a descriptor to epoll and takes it out; a source that is added is
 * looked into once, whatever its descriptor says. */
skn_status_t skn_source_add(skn_endpoint_t *endpoint, endpoint_source_t *source,
                            int descriptor, skn_error_t *error);
void skn_source_remove(skn_endpoint_t *endpoint, endpoint_source_t *source);
void skn_source_ready(skn_endpoint_t *endpoint, endpoint_source_t *source);

/* Makes both sockets of a line and dials; what was there is closed first. */
skn_status_t skn_line_dial(skn_endpoint_t *endpoint, endpoint_line_t *line,
                           skn_error_t *error);
void skn_line_close(skn_endpoint_t *endpoint, endpoint_line_t *line,
                    int linger_ms);
/* Reads one event; true if it is an arrival. `*empty`: there was none. */
bool skn_line_event(skn_endpoint_t *endpoint, endpoint_line_t *line,
                    skn_endpoint_event_t *arrival, bool *empty);
/* Whether a busy line has room again. */
bool skn_line_room(endpoint_line_t *line);
/* Redials what is due, and sets the timer for what is not. */
void skn_lines_redial(skn_endpoint_t *endpoint);

#endif
