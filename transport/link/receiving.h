/* receiving.h - the half of a link that receives: fragments, until they are
 * records again.
 *
 *     0 ........ moved ......... arrived ....[held]..[held]....... granted
 *       records   |  in chunks     |      behind gaps               |
 *       taken, or the one at the head, which grows piece by piece
 *
 * What has moved into the record at the head is consumed and gives credit, so
 * that a record longer than the window gets through; there is only one of them.
 * So memory is bounded by the window and the longest record.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_RECEIVING_H
#define TRANSPORT_LINK_RECEIVING_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/link/chunks.h"
#include "transport/message/schema.h"

/* Stretches kept behind gaps. Disorder over 64 fragments opens at most 64. */
#define SKN_STRETCHES_MAX 256u

typedef struct skn_stretch {
    uint64_t from, to;
} skn_stretch_t;

typedef enum skn_stretch_fate {
    SKN_STRETCH_NEXT,      /* in order: `arrived` grew */
    SKN_STRETCH_EARLY,     /* kept behind a gap */
    SKN_STRETCH_DUPLICATE, /* nothing of it is new */
    SKN_STRETCH_CREDIT,    /* not kept: beyond the credit given */
    SKN_STRETCH_GAPS,      /* not kept: too many gaps */
    SKN_STRETCH_FAILED     /* not kept: no memory, for now */
} skn_stretch_fate_t;

typedef enum skn_record_state {
    SKN_NEXT_RECORD_LENGTH,  /* its length is not here yet */
    SKN_NEXT_RECORD_FILLING, /* some of its bytes are not */
    SKN_NEXT_RECORD_READY,   /* complete */
    SKN_NEXT_RECORD_TAKEN,   /* lent to the layer above */
    SKN_NEXT_RECORD_ENDED,   /* there is none: the stream came to its end */
    SKN_NEXT_RECORD_BROKEN   /* there is none: skn_receiving_record says why */
} skn_record_state_t;

typedef struct skn_receiving {
    size_t window_bytes, record_bytes_max;
    skn_chunks_t chunks;
    uint64_t moved, arrived;
    uint64_t granted; /* the most credit ever told to the peer */
    skn_stretch_t
        held[SKN_STRETCHES_MAX]; /* ascending, apart by at least a byte */
    size_t held_count;
    skn_record_state_t head;
    uint64_t length; /* the head's, as far as `length_count` bytes say */
    unsigned length_count;
    uint8_t *record; /* the head: `filled` of `record_bytes` are here */
    size_t record_bytes, filled, capacity;
    uint64_t record_count, record_bytes_total; /* taken */
} skn_receiving_t;

/* `receiving` is { 0 }; it cannot fail. */
void skn_receiving_init(skn_receiving_t *receiving, size_t window_bytes,
                        size_t record_bytes_max);
void skn_receiving_fini(skn_receiving_t *receiving);

/* Keeps what is new of [offset, offset + body.bytes). */
skn_stretch_fate_t skn_receiving_take(skn_receiving_t *receiving,
                                      uint64_t offset, skn_frame_t body);

/* Gives back the last record, and looks for the next. True: it is complete.
 * False: not yet, or never (head ENDED), or (a filled error and head BROKEN)
 * the stream makes no sense: SKN_BAD_MESSAGE, or there is SKN_NO_MEMORY. */
bool skn_receiving_record(skn_receiving_t *receiving, skn_frame_t *record,
                          skn_error_t *error);
/* Moves what has arrived into a record at the head that is not complete. False
 * and a filled error as above. Called after skn_receiving_take. */
bool skn_receiving_fill(skn_receiving_t *receiving, skn_error_t *error);

/* The credit to tell the peer: bytes below it may be sent. */
uint64_t skn_receiving_credit(const skn_receiving_t *receiving);

#endif
