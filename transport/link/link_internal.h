/* link_internal.h - the state of a link; for the sources of the link alone.
 *
 * link.c (life, records, time), link_hello.c (identity of the peer, and why a
 * link dies), link_lanes.c (fragments sent and received).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_LINK_INTERNAL_H
#define TRANSPORT_LINK_LINK_INTERNAL_H

#include "skein/limits.h"
#include "transport/link/fragment.h"
#include "transport/link/link.h"
#include "transport/link/receiving.h"
#include "transport/link/sending.h"

/* Between two attempts of a hello without an answer; and the least time between
 * two identical hellos. */
#define SKN_HELLO_NS UINT64_C(500000000)
#define SKN_HELLO_NS_MIN UINT64_C(200000000)
/* If more than this passes between two readings of the clock, our own process
 * was stopped: this is not the peer's silence. */
#define SKN_STALL_NS UINT64_C(1000000000)

/* R(NAME, code on the wire, status, what is wrong with the peer, what a peer
 * that sends this code means, hint) */
#define SKN_REFUSALS(R)                                                        \
    R(VERSION, 1, SKN_BAD_CONFIG,                                              \
      "speaks another version of the link protocol",                           \
      "it speaks another version of the link protocol",                        \
      "install the same version of Skein on both")                             \
    R(RUN, 2, SKN_BAD_CONFIG, "belongs to another run",                        \
      "it belongs to another run",                                             \
      "stop the nodes of the other run, or start both nodes again")            \
    R(CONFIG, 3, SKN_BAD_CONFIG, "runs another config",                        \
      "it runs another config", "start both with the same file")               \
    R(SCHEMAS, 4, SKN_BAD_CONFIG, "knows other messages",                      \
      "it knows other messages",                                               \
      "install the same version of Skein and of its plug-ins on both")         \
    R(DATA, 5, SKN_BAD_DATA, "reads other data", "it reads other data",        \
      "give both the same data files")                                         \
    R(RESTARTED, 6, SKN_UNAVAILABLE, "was restarted during this run",          \
      "it remembers an earlier start of this node",                            \
      "stop all nodes of the run, then continue with --resume")                \
    R(RECORD, 7, SKN_BAD_MESSAGE, "sent a malformed record",                   \
      "it received a malformed record from this node",                         \
      "this is a bug or a hostile node: keep both logs")                       \
    R(SILENCE, 8, SKN_UNAVAILABLE, "does not answer",                          \
      "this node did not answer for too long",                                 \
      "check its log and the network, then continue with --resume")            \
    R(GAVE_UP, 9, SKN_UNAVAILABLE, "gave up", "it gave up",                    \
      "its own log says why")                                                  \
    R(PURPOSE, 10, SKN_BAD_CONFIG,                                             \
      "does not agree with this node on --resume or --predict",                \
      "it does not agree with this node on --resume or --predict",             \
      "stop all nodes, then start all with --resume, or all without")

typedef enum skn_refusal {
#define R(name, code, status, text, remote, hint) SKN_REFUSAL_##name = (code),
    SKN_REFUSALS(R)
#undef R
} skn_refusal_t;

struct skn_link {
    skn_link_options_t options; /* its defaults filled in */
    char node_name[SKN_NAME_MAX + 1], peer_name[SKN_NAME_MAX + 1];
    skn_link_state_t state;
    skn_error_t failure;
    bool started; /* a time was given */
    uint64_t birth_ns, now_ns;
    bool connected, finish_wanted;

    /* The identity of the peer. */
    bool has_run;
    bool established; /* it receives from this start of ours */
    uint64_t peer_incarnation;

    /* Hellos: the one to send, its addressee (0: any start), and the last
     * one. */
    bool hello_due, hello_wants;
    uint64_t hello_to, hello_at_ns;
    bool hello_said, hello_said_established, hello_said_run;
    uint64_t hello_said_to, hello_said_ns;

    /* The refusal to send to a peer. */
    bool refusal_due;
    skn_refusal_t refusal;
    uint64_t refusal_to;

    /* Acks: the last one sent on the data lane, and when the next is due. */
    bool ack_now;
    uint64_t ack_at_ns; /* 0: none is pending */
    uint64_t said_ack, said_credit;
    uint64_t stamp, stamp_ns; /* to echo, and when it arrived. 0: none */

    /* The pulse lane. */
    bool pulse_due, answer_due;
    uint64_t pulse_at_ns;
    uint64_t pulse_stamp, pulse_stamp_ns;
    uint64_t pulse_rtt_ns;
    uint64_t heard_ns; /* our time when the peer was last known alive */

    skn_sending_t sending;
    skn_receiving_t receiving;
    skn_link_counts_t counts; /* the totals among them */
    uint8_t header[SKN_FRAGMENT_HEADER_BYTES_MAX], body[SKN_HELLO_BYTES];
    uint8_t pulse_header[SKN_FRAGMENT_HEADER_BYTES_MAX];
};

/* --- link.c */
/* Makes the link DONE if both streams are at their ends. */
void skn_link_settle(skn_link_t *link);
/* Requests an ack where much credit has become free; makes the link DEAD where
 * the stream is invalid (`sound` false, and why). */
void skn_link_moved(skn_link_t *link, bool sound, const skn_error_t *error);
bool skn_link_is_open(const skn_link_t *link); /* LIVE or SUSPECT */

/* --- link_hello.c */
/* Makes the link DEAD with a sentence of the caller's. */
void skn_link_die_of(skn_link_t *link, skn_refusal_t refusal,
                     const skn_error_t *error);
/* Sends a hello when allowed; `to`: the incarnation that it answers, or 0. */
void skn_link_want_hello(skn_link_t *link, uint64_t to, bool wants_answer);
/* Whether a hello may leave now, and when. */
bool skn_link_hello_may(const skn_link_t *link);
uint64_t skn_link_hello_due_ns(const skn_link_t *link);
void skn_link_say_hello(skn_link_t *link, skn_fragment_t *fragment);
void skn_link_say_refusal(skn_link_t *link, skn_fragment_t *fragment);

/* Takes a hello or a refusal; *reason: why it is dropped. */
skn_status_t skn_link_take_hello(skn_link_t *link,
                                 const skn_fragment_header_t *header,
                                 const uint8_t *body, skn_link_reason_t *reason,
                                 skn_error_t *error);
skn_status_t skn_link_take_refusal(skn_link_t *link,
                                   const skn_fragment_header_t *header,
                                   uint64_t code, skn_link_reason_t *reason,
                                   skn_error_t *error);
/* Takes a header of another version, whose first fields are valid. */
void skn_link_take_other_version(skn_link_t *link,
                                 const skn_fragment_header_t *header);
/* Takes a fragment for a dead link: the peer is informed again. */
void skn_link_take_dead(skn_link_t *link, const skn_fragment_header_t *header);

/* --- link_lanes.c */
/* A header of `type`, for the incarnation `to` of the peer. */
skn_fragment_header_t skn_link_header(const skn_link_t *link,
                                      skn_fragment_type_t type, uint64_t to);
/* Adds acks of the bytes that have arrived, and notes that they were sent. */
void skn_link_add_acks(skn_link_t *link, skn_fragment_header_t *header);
/* Writes the header into the data lane's buffer, and counts the fragment. */
void skn_link_leave(skn_link_t *link, const skn_fragment_header_t *header,
                    skn_frame_t body, skn_fragment_t *fragment);
/* Uses ack, held, credit and echo. False: they refer to bytes that were never
 * sent. */
bool skn_link_take_acks(skn_link_t *link, const skn_fragment_header_t *header);
/* Our clock on the wire: us since the start, from 1. */
uint64_t skn_link_stamp(const skn_link_t *link);

#endif
