/* link.h - the link protocol between two nodes, as a pure state machine.
 *
 * A link carries a reliable, ordered stream of records to one peer, and one
 * from it, over lanes that may lose, repeat, delay, reorder and cut:
 *
 *     records -> stream of bytes -> fragments -> (sockets, or a simulator)
 *
 * No socket, no clock, no thread: its driver moves the fragments and passes the
 * time. Time is monotonic, in ns; a time that goes back counts as the latest
 * one known. The wire form of a fragment: transport/link/fragment.h; the
 * protocol in words: docs/reference/wire.md.
 *
 * How to drive it: whenever something happened (records to send, fragments
 * received, a lane that became writable, skn_link_due_ns passed), call
 * skn_link_tick, then skn_link_next and skn_link_next_pulse as long as they
 * return a fragment and the socket takes it, and skn_link_record until false.
 *
 * Memory, beside the link itself (7 KiB): bytes queued and not acknowledged, at
 * most queue_bytes_max and one record; bytes received, at most window_bytes
 * and one record; both in chunks of 64 KiB, of which the first and the last may
 * be partly filled; one fragment of each lane.
 *
 * A link belongs to one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_LINK_H
#define TRANSPORT_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/link/fragment.h"

/* The purpose of a run. P(NAME, number on the wire, what a node does) */
#define SKN_LINK_PURPOSES(P)                                                   \
    P(BEGIN, 0, "starts a new run")                                            \
    P(RESUME, 1, "continues a run")                                            \
    P(PREDICT, 2, "predicts")

typedef enum skn_link_purpose {
#define P(name, number, text) SKN_LINK_##name = (number),
    SKN_LINK_PURPOSES(P)
#undef P
} skn_link_purpose_t;

typedef struct skn_link skn_link_t;

/* The sentence of `reason`, and its name; static. NULL for values outside the
 * table. */
const char *skn_link_reason_text(skn_link_reason_t reason);
const char *skn_link_reason_name(skn_link_reason_t reason);

typedef enum skn_link_state {
    SKN_LINK_NEW,     /* waiting for the peer's hello */
    SKN_LINK_LIVE,    /* the peer answers */
    SKN_LINK_SUSPECT, /* the peer has not answered for suspect_ns */
    SKN_LINK_DONE,    /* both streams came to their ends and were acked */
    SKN_LINK_DEAD     /* given up; skn_link_failure says why */
} skn_link_state_t;

/* 0 means the default where one is given. */
typedef struct skn_link_options {
    const char *node_name, *peer_name; /* for sentences only; copied */
    uint32_t node, peer; /* indices in the list of nodes; differ; 0: first */
    /* All zero, or zero up to SKN_RUN_PART_MARK: adopt that of node 0. */
    uint8_t run[SKN_LINK_RUN_BYTES];
    uint64_t incarnation; /* not 0; random for each start of the process */
    /* Both ends must have the same, or the link dies with a sentence. */
    uint64_t config_hash, schemas_hash, data_hash;
    uint8_t purpose; /* skn_link_purpose_t; the same, and compared first */
    size_t fragment_bytes;   /* 64 KiB; within 1 and SKN_FRAGMENT_BYTES_MAX */
    size_t window_bytes;     /* 8 MiB, at most 1 GiB; bytes that the peer may
                              * send beyond those that skn_link_record has
                              * taken */
    size_t record_bytes_max; /* SKN_RECORD_BYTES_MAX, and at most that; the
                              * longest record that the peer may send */
    size_t queue_bytes_max;  /* 256 MiB; beyond it sends are SKN_BUSY */
    uint64_t ack_delay_ns;   /* 5 ms */
    uint64_t pulse_ns;       /* 1 s, between two pulses */
    uint64_t suspect_ns;     /* 4 s without an answer: SKN_LINK_SUSPECT */
    uint64_t silence_ns;     /* 10 s: SKN_LINK_DEAD; UINT64_MAX: never */
} skn_link_options_t;

/* One fragment on the wire: two frames of one multipart message. */
typedef struct skn_fragment {
    skn_frame_t header, body; /* the body may be empty */
} skn_fragment_t;

typedef struct skn_link_counts {
    /* Totals since the start. "sent" counts what skn_link_next returned. */
    uint64_t records_sent, record_bytes_sent;
    uint64_t records_taken, record_bytes_taken;
    uint64_t fragments_sent, header_bytes_sent, body_bytes_sent;
    uint64_t fragments_taken, header_bytes_taken, body_bytes_taken;
    uint64_t resent_fragments, resent_bytes; /* a part of those sent */
    uint64_t timeouts, connects;
    uint64_t duplicate_fragments, out_of_order_fragments; /* of those taken */
    uint64_t refused[SKN_LINK_REASON_COUNT]; /* not among those taken */
    /* Current values. */
    uint64_t queue_bytes;     /* passed to skn_link_send and not acknowledged */
    uint64_t in_flight_bytes; /* of those, sent */
    uint64_t credit_bytes;    /* bytes that may be sent beyond those sent */
    uint64_t arrived_bytes;   /* received, and not yet taken as records */
    uint64_t memory_bytes;    /* allocated for both streams */
    uint64_t fragment_bytes;  /* the size of fragments that the rate allows */
    uint64_t rtt_ns, rtt_min_ns; /* data lane, smoothed; minimum. 0: unknown */
    uint64_t pulse_rtt_ns;       /* of the last answered pulse. 0: unknown */
    uint64_t bytes_per_second;   /* acked when busy, smoothed. 0: unknown */
    uint64_t silent_ns;          /* since the last answer, at the last tick */
} skn_link_counts_t;

/* --- life ---------------------------------------------------------------- */

/* NULL and SKN_BAD_CONFIG for an option out of its range, or SKN_NO_MEMORY. */
skn_link_t *skn_link_new(const skn_link_options_t *options, skn_error_t *error);
/* Frees, sets *link to NULL. *link may be NULL already. */
void skn_link_destroy(skn_link_t **link);

skn_link_state_t skn_link_state(const skn_link_t *link);
/* Why the link is SKN_LINK_DEAD, with a hint; NULL unless it is. Lives as long
 * as the link. */
const skn_error_t *skn_link_failure(const skn_link_t *link);
void skn_link_count(const skn_link_t *link, skn_link_counts_t *counts);

/* The run that the link belongs to: set, or adopted from the hello of node 0;
 * false (and all zero) as long as there is none. A node that adopts one passes
 * it on to its other links. Ignored where a link has a run already. */
bool skn_link_run(const skn_link_t *link, uint8_t run[SKN_LINK_RUN_BYTES]);
void skn_link_set_run(skn_link_t *link, const uint8_t run[SKN_LINK_RUN_BYTES]);

/* --- records ------------------------------------------------------------- */

/* Queues one record: the bytes of all frames in sequence, 1 to
 * SKN_RECORD_BYTES_MAX of them together; copies. May be called in any state
 * that is not DEAD, also before the hello. SKN_BAD_MESSAGE (empty or too long),
 * SKN_BUSY (more than queue_bytes_max are queued; call again when
 * skn_link_queued_bytes has fallen), SKN_UNAVAILABLE (finished, or DEAD: the
 * failure), SKN_NO_MEMORY. Nothing is queued then. */
skn_status_t skn_link_send(skn_link_t *link, const skn_frame_t *frame,
                           size_t frame_count, skn_error_t *error);
/* Bytes that were queued and are not acknowledged yet: lets the driver
 * throttle. */
size_t skn_link_queued_bytes(const skn_link_t *link);
/* The same as offsets in the stream: the end of the queued bytes, and the end
 * of the acknowledged bytes. Neither goes back. */
uint64_t skn_link_queued_end(const skn_link_t *link);
uint64_t skn_link_acked_end(const skn_link_t *link);

/* The next complete record of the peer, once and in order; false: none. Valid
 * until the next call of this function or of skn_link_destroy; at any
 * alignment. Taking it gives the peer credit. Works after the end of a link
 * too. */
bool skn_link_record(skn_link_t *link, skn_frame_t *record);

/* Declares that no more records will be sent. The link is DONE when all of our
 * bytes are acknowledged and skn_link_record has reached the peer's end. The
 * peer may still wait for our last ack then: if it is lost, it sees that we
 * disconnect. */
void skn_link_finish(skn_link_t *link);
/* The peer has finished, and all of its records have been taken. */
bool skn_link_ended(const skn_link_t *link);

/* --- fragments ----------------------------------------------------------- */

/* The data lane to the peer was (re)connected: a hello is sent, and bytes that
 * are not acknowledged are sent again. Between disconnected and connected (and
 * at first) skn_link_next returns nothing; the pulse lane has no such state. */
void skn_link_connected(skn_link_t *link, uint64_t now_ns);
void skn_link_disconnected(skn_link_t *link, uint64_t now_ns);

/* The next fragment for the data lane, or for the pulse lane; false: nothing
 * now. It counts as sent, so call this only when the lane can take it (a lost
 * fragment is sent again after a time). Pointers are valid until the next call
 * of the same function, of skn_link_send, _take, _connected or _destroy. A DEAD
 * link still returns the fragment that reports the reason to the peer. */
bool skn_link_next(skn_link_t *link, uint64_t now_ns, skn_fragment_t *fragment);
bool skn_link_next_pulse(skn_link_t *link, uint64_t now_ns,
                         skn_fragment_t *fragment);

/* Takes a fragment from the peer, on either lane; it may be any bytes. Either
 * it is used (also as a duplicate), or it is counted by its reason and changes
 * nothing else (SKN_BAD_MESSAGE), or it will be sent again (SKN_NO_MEMORY). A
 * hello that does not fit, an invalid record, or a refusal from the peer make
 * the link DEAD; the status is then that of skn_link_failure. The frames are
 * only read. */
skn_status_t skn_link_take(skn_link_t *link, uint64_t now_ns,
                           skn_frame_t header, skn_frame_t body,
                           skn_error_t *error);

/* --- time ---------------------------------------------------------------- */

/* The time at which skn_link_tick must be called; UINT64_MAX: time changes
 * nothing. Fragments that skn_link_next would return already do not count. */
uint64_t skn_link_due_ns(const skn_link_t *link, uint64_t now_ns);
/* Runs the timers: delayed acks, resending, pulses, silence. */
void skn_link_tick(skn_link_t *link, uint64_t now_ns);

#endif
