/* tunnels_internal.h - the state of tunnels, which their sources share.
 *
 * tunnels.c: the thread, and streams on their way. tunnels_open.c: opening and
 * closing. tunnels_hub.c: at a node with an address. tunnels_out.c: at one
 * without. All but the fields under the lock belongs to the thread while it
 * runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_TUNNELS_INTERNAL_H
#define TRANSPORT_TUNNEL_TUNNELS_INTERNAL_H

#include <pthread.h>

#include "skein/limits.h"
#include "transport/socket/control.h"
#include "transport/socket/resolver.h"
#include "transport/tunnel/rendezvous.h"
#include "transport/socket/byte_socket.h"
#include "transport/tunnel/stream_pair.h"
#include "transport/tunnel/tunnels.h"

/* Strangers may hold this many streams, for this long. */
#define GREETINGS_MAX 64u
#define GREETING_MS 5000u
/* A local stream waits this long for its tunnel; its handshake has 9 s in all
 * (endpoint_line.c). */
#define ASKING_MS 4000u
#define ASK_AGAIN_MS 1000u
/* After a reply that the node is not available: its control connection may be
 * in the making. */
#define REFUSED_AGAIN_MS 250u
/* After a failed accept nothing is accepted for this long: no descriptors, or
 * no memory. */
#define DEAF_MS 100u
/* Accepted in one turn, and messages taken; then the streams have a turn
 * again. */
#define TUNNEL_TURN_MAX 64u
/* Once one end has closed, the other has this long: bytes under way to it leave
 * in that time, and an end that stays open then holds no resources. */
#define ENDING_MS 3000u
/* Two lanes, each of them twice, since one may not have been detected as dead
 * yet; and a control connection, twice. */
#define LANES_TWICE 4u
#define LINES_TWICE 2u
/* Connections that strangers may hold to a hub's two sockets. */
#define STRANGERS_MAX 128u
#define SENTENCES_MAX 8u
#define TUNNEL_SENTENCE_MS 1000u

typedef enum passage_state {
    PASSAGE_FREE,
    PASSAGE_GREETING, /* accepted by a hub; its first bytes are awaited */
    PASSAGE_ASKING,   /* of this process, to `node`; waits for a tunnel */
    PASSAGE_MEETING,  /* has presented a token; the other end has not */
    PASSAGE_JOINED
} passage_state_t;

typedef struct passage {
    passage_state_t state;
    int descriptor;          /* except for JOINED */
    skn_stream_pair_t *pair; /* for JOINED */
    bool relays;             /* between two other nodes */
    uint32_t node;
    uint64_t number;   /* of the request that was sent for it; 0: none */
    uint64_t until_ms; /* JOINED: 0 until one end has closed */
    uint64_t again_ms;
    uint64_t moved_bytes; /* of the pair, as counted so far */
    uint8_t bytes[SKN_PREFACE_BYTES];
    size_t count;
    size_t polled; /* its index in the array of poll */
} passage_t;

typedef struct tunnel_place {
    char name[SKN_NAME_MAX + 1];
    char address[SKN_ADDRESS_BYTES]; /* "": it accepts no connections */
    char public_key[SKN_KEY_TEXT_BYTES];
    uint32_t via;
    skn_byte_socket_place_t at; /* of the address; 0 bytes: not resolved yet */
    bool named;                 /* the address is a name, resolved repeatedly */
    bool told_unknown;          /* reported that the name is unknown */
    uint64_t sought_ms;
    /* The local name that this process listens at in its place; -1, "":
     * none. */
    int listener;
    char local[SKN_ADDRESS_BYTES];
    size_t polled;
    /* At a hub: the node is connected. At a node without an address: this hub
     * is, through a control connection that dials `line_local`. */
    bool here;
    skn_control_t *line;
    int line_listener;
    char line_local[SKN_ADDRESS_BYTES];
    uint64_t said_ms, redial_ms;
} tunnel_place_t;

struct skn_tunnels {
    tunnel_place_t place[SKN_CLUSTER_NODES_MAX];
    uint32_t node_count, node;
    skn_keys_t *keys;
    skn_resolver_t *resolver; /* NULL: no address is a name */
    int service;
    bool is_hub, relays; /* `relays`: some node's `via` is this one */
    int listener;        /* a hub's, at its address */
    skn_control_t *hub;  /* a hub's, where control connections end */
    uint32_t member[SKN_CLUSTER_NODES_MAX]; /* node of each member of `hub` */
    uint32_t member_count;
    skn_byte_socket_place_t hub_at, router_at; /* on loopback */
    skn_rendezvous_t *book;
    passage_t *passage; /* [passage_max] */
    size_t passage_max;
    struct pollfd *polled;
    uint64_t now_ms, question_count;
    uint64_t deaf_ms; /* nothing is accepted until then */
    pthread_t thread;
    bool has_thread;
    int stop_event;
    pthread_mutex_t lock; /* protects all below */
    skn_tunnel_counts_t counts;
    uint32_t here_count; /* places of a hub that are `here` */
    char text[SENTENCES_MAX][SKN_TUNNEL_TEXT_BYTES];
    size_t text_first, text_count;
    uint64_t text_ms;
};

/* The most entries that poll can have. */
size_t skn_tunnels_polled_max(const skn_tunnels_t *tunnels);
__attribute__((format(printf, 2, 3))) bool skn_tunnels_say(
    skn_tunnels_t *tunnels, const char *format, ...);
/* A free passage, which takes the descriptor; NULL: none, and it is closed. */
passage_t *skn_passage_new(skn_tunnels_t *tunnels, passage_state_t state,
                           int descriptor, uint64_t wait_ms);
void skn_passage_end(skn_tunnels_t *tunnels, passage_t *passage);
/* Joins the descriptor of a passage and another one (both are taken); `bytes`
 * are sent to the second first. */
void skn_passage_join(skn_tunnels_t *tunnels, passage_t *passage, int other,
                      const uint8_t *bytes, size_t count);
/* Streams to `node`, or to all that it relays to, send their request at
 * once. */
void skn_passages_ask(skn_tunnels_t *tunnels, uint32_t node);
/* An accept failed with `code`: pauses accepting, as a retry would fail at
 * once. */
void skn_tunnels_deaf(skn_tunnels_t *tunnels, int code);
/* Begins to connect to a node that has an address; -1: not now. */
int skn_tunnels_dial(skn_tunnels_t *tunnels, uint32_t node);
/* Adds to a counter of `tunnels`. */
void skn_tunnels_add(skn_tunnels_t *tunnels, uint64_t *counter,
                     uint64_t amount);

/* tunnels_hub.c */
bool skn_hub_take(skn_tunnels_t *tunnels);
void skn_hub_accept(skn_tunnels_t *tunnels);
void skn_hub_greet(skn_tunnels_t *tunnels, passage_t *passage);
void skn_hub_ask(skn_tunnels_t *tunnels, passage_t *passage);
void skn_hub_tick(skn_tunnels_t *tunnels);

/* tunnels_out.c */
/* Opens a control connection to hub `node`, or replaces it. */
skn_status_t skn_out_dial(skn_tunnels_t *tunnels, uint32_t node,
                          skn_error_t *error);
bool skn_out_take(skn_tunnels_t *tunnels);
void skn_out_accept_line(skn_tunnels_t *tunnels, uint32_t node);
void skn_out_ask(skn_tunnels_t *tunnels, passage_t *passage);
void skn_out_tick(skn_tunnels_t *tunnels);

#endif
