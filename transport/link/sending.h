/* sending.h - the sending half of a link: keeps records until acknowledged.
 *
 * Records form a stream of bytes: the length of each as a LEB128 number (1 to 5
 * bytes, the low 7 bits first), then its bytes; a length of 0 is the end. The
 * stream is cut into fragments at each sending, so that bytes that are sent
 * again may be cut smaller. Offsets count bytes of the stream.
 *
 *     0 ........ acked ........ next ........ sent ........ end
 *                  |  in flight   |   again     |   queued
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_SENDING_H
#define TRANSPORT_LINK_SENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/link/chunks.h"
#include "transport/link/pace.h"
#include "transport/message/schema.h"

/* Bytes of the longest record's length. */
#define SKN_LENGTH_BYTES_MAX 5u

typedef struct skn_sending {
    skn_chunks_t chunks;
    uint64_t acked, next, sent, end;
    uint64_t credit; /* bytes below it may be sent */
    bool finished;   /* the end is in the stream */
    bool connected;
    uint64_t flight_max; /* after a timeout: little, doubled by each ack */
    uint64_t again_from, again_to; /* to be sent again; equal: nothing is */
    uint64_t again_done;           /* up to here, gaps have been filled once */
    uint64_t gap_to;         /* end of the first gap that the peer reported */
    uint64_t gap_due_ns;     /* when it counts as a loss; 0: it does not */
    uint64_t timeout_due_ns; /* 0: nothing is in flight */
    uint32_t timeouts;       /* in a row */
    uint64_t timeout_count;  /* ever */
    uint64_t unsure_until;   /* acks below this may be of earlier sendings: not
                              * counted for the rate */
    skn_pace_t pace;
    uint8_t *staging; /* SKN_FRAGMENT_BYTES_MAX: pieces of two chunks */
} skn_sending_t;

/* One piece of the stream, to be sent now. */
typedef struct skn_stream_piece {
    uint64_t offset;
    skn_frame_t body;
    size_t again_bytes; /* of the body, sent before */
} skn_stream_piece_t;

/* `sending` is { 0 }. SKN_NO_MEMORY. */
skn_status_t skn_sending_init(skn_sending_t *sending, skn_error_t *error);
void skn_sending_fini(skn_sending_t *sending);

/* Queues a record of `byte_count` >= 1 bytes in all, or (0) the end. */
skn_status_t skn_sending_queue(skn_sending_t *sending, const skn_frame_t *frame,
                               size_t frame_count, size_t byte_count,
                               skn_error_t *error);
/* All bytes that are not acknowledged are sent again. */
void skn_sending_connected(skn_sending_t *sending);
void skn_sending_disconnected(skn_sending_t *sending);

/* The next piece, of at most `most` bytes; false: nothing may leave now. The
 * body is valid until the next call that changes `sending`. */
bool skn_sending_next(skn_sending_t *sending, uint64_t now_ns, size_t most,
                      skn_stream_piece_t *piece);
/* The peer has all bytes below `ack` and, if not 0, some from `held` (> ack)
 * on; both at most sending->sent. */
void skn_sending_acked(skn_sending_t *sending, uint64_t now_ns, uint64_t ack,
                       uint64_t held);
/* Timers: the next one (UINT64_MAX: none), and running those that are due. */
uint64_t skn_sending_due_ns(const skn_sending_t *sending);
void skn_sending_tick(skn_sending_t *sending, uint64_t now_ns);

uint64_t skn_sending_in_flight(const skn_sending_t *sending);

#endif
