/* links_internal.h - the state of the link driver, private to link_*.c.
 *
 * Only the driver's thread uses it, from its start to its end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_LINKS_LINKS_INTERNAL_H
#define ACTORS_LINKS_LINKS_INTERNAL_H

#include <poll.h>

#include "actors/links/link_guard.h"
#include "actors/links/links.h"
#include "actors/combine/rounding.h"
#include "actors/runtime/system_internal.h"
#include "transport/link/bucket.h"
#include "transport/message/coding.h"
#include "transport/endpoint/endpoint.h"
#include "transport/socket/keys.h"
#include "transport/link/link.h"
#include "transport/link/record.h"
#include "transport/tunnel/tunnels.h"

/* R(NAME, its name in counters, what a peer did): each ends the run. */
#define SKN_RECORD_REASONS(R)                                                  \
    R(FORM, "form", "not a record, or not a message of its edge")              \
    R(EDGE, "edge", "a record for an edge that the peer does not own")         \
    R(ORDER, "order", "a message without credit or out of order")              \
    R(CREDIT, "credit", "credit for what was not sent")                        \
    R(QUESTION, "question",                                                    \
      "an answer without a request, or too many "                              \
      "requests")                                                              \
    R(NOT_FINITE, "not_finite", "values that are not finite")                  \
    R(EXPLODED, "exploded", "values far beyond all earlier ones")

typedef enum skn_record_reason {
#define R(name, word, text) SKN_RECORD_REASON_##name,
    SKN_RECORD_REASONS(R)
#undef R
    SKN_RECORD_REASON_COUNT
} skn_record_reason_t;

/* The most clocks that actors of a node may have requested at once. */
#define SKN_LINK_QUESTIONS 64u

typedef struct skn_link_peer {
    uint32_t number; /* number of the node */
    const skn_wired_node_t *node;
    skn_link_t *link;
    bool joined;         /* the link has been up */
    bool is_ready;       /* all its actors are ready */
    bool has_ended;      /* all its actors have ended */
    bool left;           /* the link has finished */
    bool has_pulse_lane; /* its pulse lane is up */
    bool is_silent;      /* as reported by skn_links_tell_silent */
    uint64_t records_refused[SKN_RECORD_REASON_COUNT];
    /* The ends of our last answers to its requests in our stream: a ring. */
    uint64_t answer_end[SKN_LINK_QUESTIONS];
    uint64_t answer_count;
    /* A fragment that the socket did not accept: header and body. */
    uint8_t *held;
    size_t held_header_bytes, held_body_bytes;
    bool has_held;
} skn_link_peer_t;

/* A request for a clock that waits for the answers of the other nodes. */
typedef struct skn_link_question {
    bool open;
    uint64_t number;
    uint32_t actor, missing;
    uint64_t answered[SKN_PEERS_MAX / 64]; /* bits of nodes */
    skn_clock_t clock;
} skn_link_question_t;

struct skn_links {
    skn_system_t *system;
    skn_crossings_t *crossings;
    uint32_t node, node_count;
    uint64_t seed; /* the run's seed, for codings that round at random */
    skn_inbox_t *inbox;
    skn_outlet_t *host;   /* the host's inbox, for reports */
    skn_outlet_t *orders; /* the host's outlet to `inbox` */
    pthread_t thread;
    bool has_thread;

    skn_keys_t *keys;
    skn_endpoint_t *endpoint;
    skn_tunnels_t *tunnels; /* NULL: all nodes can be dialled */
    skn_link_peer_t *peers; /* [node_count]; this node's own is empty */
    const skn_kernels_t *kernels;
    skn_coder_t *coder;
    skn_rounding_probe_t probe;
    skn_pool_t *pool;
    skn_guard_t *guards; /* [import_count] */
    uint32_t *owing;     /* [import_count] imports with credit to send */
    uint32_t owing_count;
    skn_link_question_t questions[SKN_LINK_QUESTIONS];
    uint64_t question_count;
    skn_outlet_t **askers;      /* [actor_count], NULL until one asks */
    struct pollfd polled[2];    /* the endpoint and the inbox */
    skn_bucket_t bucket;        /* limits what is sent, except pulses */
    uint32_t first_peer;        /* the peer that sends first in this turn */
    uint64_t wait_ns;           /* the most time to wait for the other nodes */
    uint64_t nobodys_fragments; /* fragments from no node of the topology */
    uint64_t now_ns, begin_ns, told_waiting_ns, ready_ns;
    uint64_t body_bytes;          /* bytes of fragments that arrived */
    uint64_t busy_bytes, busy_ns; /* at the last check of what was carried */
    uint64_t capped_ns;           /* time waited for the bucket */
    uint64_t leave_ns;            /* deadline of the close */
    uint64_t finished_ns;
    bool ended_here; /* all actors of this node have ended */
    bool ready_here, ready_all, finishing, finished, closing, failed,
        failed_elsewhere;
};

/* link_crossings.c: take what actors send to other nodes, and what arrives. */
skn_status_t skn_links_take_parcel(skn_links_t *links,
                                   const skn_parcel_t *parcel,
                                   skn_error_t *error);
skn_status_t skn_links_take_record(skn_links_t *links, skn_link_peer_t *peer,
                                   skn_frame_t bytes, skn_error_t *error);
/* The random bits for message `number` of an edge, in a coding that needs
 * them. */
uint64_t skn_links_coding_key(uint64_t seed, uint32_t edge, uint64_t number);
/* The option `seed` of the first actor that has one, which is the same for all
 * of a run. 0: none. */
uint64_t skn_links_seed(const skn_wiring_t *wiring);
/* Sends the credit that receivers have returned. */
skn_status_t skn_links_give_credit(skn_links_t *links, skn_error_t *error);

/* link_clock.c: take an actor's request, another node's request, and another
 * node's answer to ours. */
skn_status_t skn_links_ask_clock(skn_links_t *links, const skn_parcel_t *parcel,
                                 skn_error_t *error);
skn_status_t skn_links_tell_usage(skn_links_t *links, skn_link_peer_t *peer,
                                  uint64_t number, skn_error_t *error);
skn_status_t skn_links_take_usage(skn_links_t *links, skn_link_peer_t *peer,
                                  uint64_t number, skn_frame_t frame,
                                  skn_error_t *error);

/* link_tunnels.c: opens tunnels for nodes that cannot be dialled. */
skn_status_t skn_links_open_tunnels(skn_links_t *links,
                                    const char (*keys)[SKN_KEY_TEXT_BYTES],
                                    skn_error_t *error);
/* A silent relay between this node and a peer, because of which nothing can be
 * concluded about the peer; NULL: none. */
const skn_link_peer_t *skn_links_silent_relay(const skn_links_t *links,
                                              const skn_link_peer_t *peer);
/* Gets the reason why the link to a peer is dead; it names the relay if a relay
 * is silent. */
void skn_links_why_dead(const skn_links_t *links, const skn_link_peer_t *peer,
                        skn_error_t *error);
/* Forwards the warnings of the tunnels. */
void skn_links_hear_tunnels(skn_links_t *links);

/* link_driver.c */
/* The bytes that all links have sent and received, with headers of
 * fragments. */
void skn_links_bytes(const skn_links_t *links, uint64_t *sent,
                     uint64_t *received);
/* Queues a record for a peer; `wire` may be NULL. */
skn_status_t skn_links_send(skn_link_peer_t *peer, const skn_record_t *record,
                            const skn_wire_t *wire, skn_error_t *error);
/* The same for every peer, even if one of them fails: returns its error. */
skn_status_t skn_links_send_all(skn_links_t *links, const skn_record_t *record,
                                const skn_wire_t *wire, skn_error_t *error);
void skn_links_report(skn_links_t *links, skn_parcel_type_t type,
                      void *pointer);

/* link_events.c */
void skn_links_add_figures(const skn_links_t *links, skn_figures_t *figures);
void skn_links_warn(skn_links_t *links, const char *message);
void skn_links_tell_unknown(skn_links_t *links);
void skn_links_tell_joined(skn_links_t *links, skn_link_peer_t *peer);
/* Reports the nodes that are silent, though they may be well. */
void skn_links_tell_silent(skn_links_t *links);
void skn_links_tell_waiting(skn_links_t *links);
void skn_links_tell_traffic(skn_links_t *links);
void skn_links_tell_end(skn_links_t *links);
/* Lists the nodes that are not ready: "b (tcp://10.0.0.2:7001), c (...)". */
void skn_links_missing(const skn_links_t *links, char *text, size_t text_bytes);

/* link_open.c: the functions of skn_link_driver_t. */
skn_links_t *skn_links_make(skn_system_t *system, skn_error_t *error);
void skn_links_destroy(skn_links_t **links);
/* link_open.c: frees the content of a parcel that is not handled any more. */
void skn_links_drop(const skn_parcel_t *parcel);
/* link_open.c: called in the driver's thread, before its first turn. */
skn_status_t skn_links_open_endpoint(skn_links_t *links, skn_error_t *error);

#endif
