/* receiving.h - the receiving half of a link: assembles records from fragments.
 *
 *     0 ........ moved ......... arrived ....[held]..[held]....... granted
 *       records   |  in chunks     |      behind gaps               |
 *       taken, or the one at the head, which grows piece by piece
 *
 * Bytes that have moved into the record at the head are consumed and give
 * credit, so that a record longer than the window can pass; there is only one
 * such record. Thus memory is bounded by the window and the longest record.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_RECEIVING_H
#define TRANSPORT_LINK_RECEIVING_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/link/chunks.h"
#include "transport/message/schema.h"

/* Ranges kept behind gaps. Reordering over 64 fragments opens at most 64. */
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
    SKN_NEXT_RECORD_LENGTH,  /* its length has not arrived yet */
    SKN_NEXT_RECORD_FILLING, /* some of its bytes have not arrived */
    SKN_NEXT_RECORD_READY,   /* complete */
    SKN_NEXT_RECORD_TAKEN,   /* lent to the layer above */
    SKN_NEXT_RECORD_ENDED,   /* there is none: the stream has ended */
    SKN_NEXT_RECORD_BROKEN   /* none: skn_receiving_record reports why */
} skn_record_state_t;

typedef struct skn_receiving {
    size_t window_bytes, record_bytes_max;
    skn_chunks_t chunks;
    uint64_t moved, arrived;
    uint64_t granted; /* the greatest credit ever sent to the peer */
    skn_stretch_t
        held[SKN_STRETCHES_MAX]; /* ascending, at least a byte apart */
    size_t held_count;
    skn_record_state_t head;
    uint64_t length; /* the head's, as far as `length_count` bytes give it */
    unsigned length_count;
    uint8_t *record; /* the head: `filled` of `record_bytes` have arrived */
    size_t record_bytes, filled, capacity;
    uint64_t record_count, record_bytes_total; /* taken */
} skn_receiving_t;

/* `receiving` is { 0 }; it cannot fail. */
void skn_receiving_init(skn_receiving_t *receiving, size_t window_bytes,
                        size_t record_bytes_max);
void skn_receiving_fini(skn_receiving_t *receiving);

/* Keeps the new part of [offset, offset + body.bytes). */
skn_stretch_fate_t skn_receiving_take(skn_receiving_t *receiving,
                                      uint64_t offset, skn_frame_t body);

/* Returns the last record, and looks for the next. True: it is complete. False:
 * not yet, or never (head ENDED), or (a filled error and head BROKEN) the
 * stream is invalid: SKN_BAD_MESSAGE, or SKN_NO_MEMORY. */
bool skn_receiving_record(skn_receiving_t *receiving, skn_frame_t *record,
                          skn_error_t *error);
/* Moves bytes that have arrived into an incomplete record at the head. False
 * and a filled error as above. Called after skn_receiving_take. */
bool skn_receiving_fill(skn_receiving_t *receiving, skn_error_t *error);

/* The credit to send to the peer: bytes below it may be sent. */
uint64_t skn_receiving_credit(const skn_receiving_t *receiving);

#endif
