/* tunnels_state.h - what the sources of tunnels share.
 *
 * tunnels.c: the thread, and streams on their way. tunnels_open.c: opening and
 * closing. tunnels_hub.c: at a node with an address. tunnels_out.c: at one
 * without. All but the lock's is the thread's while it runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_TUNNELS_STATE_H
#define TRANSPORT_TUNNEL_TUNNELS_STATE_H

#include <pthread.h>

#include "skein/limits.h"
#include "transport/socket/control.h"
#include "transport/socket/finder.h"
#include "transport/tunnel/rendezvous.h"
#include "transport/socket/conduit.h"
#include "transport/tunnel/stream_pair.h"
#include "transport/tunnel/tunnels.h"

/* Strangers may hold so many streams, for so long. */
#define GREETINGS_MAX 64u
#define GREETING_MS 5000u
/* A local stream waits so long to be led; its handshake has 9 s in all
 * (endpoint_line.c). */
#define ASKING_MS 4000u
#define ASK_AGAIN_MS 1000u
/* After an answer that it cannot be had: its line is being made, maybe. */
#define REFUSED_AGAIN_MS 250u
/* Who cannot accept looks away for so long: no descriptors, or no memory. */
#define DEAF_MS 100u
/* Accepted in one turn, and words taken: then it is the streams' turn again. */
#define TUNNEL_TURN_MAX 64u
/* Once one end has closed, the other has so long: what was under way to it
 * leaves in that time, and whoever holds it open holds nothing. */
#define ENDING_MS 3000u
/* Two lanes, each of them twice, since one may not have been found dead yet;
 * and a line, twice. */
#define LANES_TWICE 4u
#define LINES_TWICE 2u
/* That strangers may hold at the doors of a hub's two sockets. */
#define STRANGERS_MAX 128u
#define SENTENCES_MAX 8u
#define TUNNEL_SENTENCE_MS 1000u

typedef enum passage_state {
    PASSAGE_FREE,
    PASSAGE_GREETING, /* accepted by a hub; its first bytes are awaited */
    PASSAGE_ASKING,   /* of this process, to `node`; is to be led there */
    PASSAGE_MEETING,  /* has come with a token; the other end has not */
    PASSAGE_JOINED
} passage_state_t;

typedef struct passage {
    passage_state_t state;
    int descriptor;          /* but of JOINED */
    skn_stream_pair_t *pair; /* of JOINED */
    bool relays;             /* between two other nodes */
    uint32_t node;
    uint64_t number;   /* of the question that was asked for it; 0: none */
    uint64_t until_ms; /* of JOINED: 0 until one end has closed */
    uint64_t again_ms;
    uint64_t moved_bytes; /* of the pair, as counted */
    uint8_t bytes[SKN_PREFACE_BYTES];
    size_t count;
    size_t polled; /* its place in the array of poll */
} passage_t;

typedef struct tunnel_place {
    char name[SKN_NAME_MAX + 1];
    char address[SKN_ADDRESS_BYTES]; /* "": nobody dials it */
    char public_key[SKN_KEY_TEXT_BYTES];
    uint32_t via;
    skn_conduit_place_t at; /* of an address; 0 bytes: not found yet */
    bool named;             /* the address is a name, sought now and then */
    bool told_unknown;      /* that nobody knows it */
    uint64_t sought_ms;
    /* What this process dials in place of an address; -1, "": nothing. */
    int listener;
    char local[SKN_ADDRESS_BYTES];
    size_t polled;
    /* At a hub: it may be asked. At one without an address: so may this hub,
     * through a line that dials `line_local`. */
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
    skn_finder_t *finder; /* NULL: nobody dialled has a name */
    int service;
    bool is_hub, relays; /* `relays`: some node's `via` is this one */
    int listener;        /* a hub's, at its address */
    skn_control_t *hub;  /* a hub's, which lines end at */
    uint32_t member[SKN_CLUSTER_NODES_MAX]; /* node of each member of `hub` */
    uint32_t member_count;
    skn_conduit_place_t hub_at, router_at; /* on loopback */
    skn_rendezvous_t *book;
    passage_t *passage; /* [passage_max] */
    size_t passage_max;
    struct pollfd *polled;
    size_t polled_max;
    uint64_t now_ms, question_count;
    uint64_t deaf_ms; /* nothing is accepted until then */
    pthread_t thread;
    bool has_thread;
    int stop_event;
    pthread_mutex_t lock; /* of all below */
    skn_tunnel_counts_t counts;
    uint32_t here_count; /* of `here` of a hub's places */
    char text[SENTENCES_MAX][SKN_TUNNEL_TEXT_BYTES];
    size_t text_first, text_count;
    uint64_t text_ms;
};

/* Entries of poll that there may be at most. */
size_t skn_tunnels_polled_max(const skn_tunnels_t *tunnels);
__attribute__((format(printf, 2, 3))) bool skn_tunnels_say(
    skn_tunnels_t *tunnels, const char *format, ...);
/* A free one, with a descriptor to keep; NULL: none, and it is closed. */
passage_t *skn_passage_new(skn_tunnels_t *tunnels, passage_state_t state,
                           int descriptor, uint64_t wait_ms);
void skn_passage_end(skn_tunnels_t *tunnels, passage_t *passage);
/* The descriptor of a passage and another one (both are taken), the second
 * told `bytes` first. */
void skn_passage_join(skn_tunnels_t *tunnels, passage_t *passage, int other,
                      const uint8_t *bytes, size_t count);
/* Streams to `node`, or to all that it relays to, ask without a wait. */
void skn_passages_ask(skn_tunnels_t *tunnels, uint32_t node);
/* An accept has failed with `code`: it would be tried again at once. */
void skn_tunnels_deaf(skn_tunnels_t *tunnels, int code);
/* Begins to dial a node that has an address; -1: not now. */
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
/* A line to hub `node`, or another one in its place. */
skn_status_t skn_out_dial(skn_tunnels_t *tunnels, uint32_t node,
                          skn_error_t *error);
bool skn_out_take(skn_tunnels_t *tunnels);
void skn_out_accept_line(skn_tunnels_t *tunnels, uint32_t node);
void skn_out_ask(skn_tunnels_t *tunnels, passage_t *passage);
void skn_out_tick(skn_tunnels_t *tunnels);

#endif
