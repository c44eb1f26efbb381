/* record.h - the records that a link carries in order from one node to another.
 *
 * A record is a head of 16 bytes, little-endian, and for some kinds frames in
 * the flat form of schema.h (counts and sizes, then the frames):
 *
 *     0 kind (u8)   1..3 zero   4..7 edge (u32)   8..15 number (u64)   frames
 *
 *     message  an edge's message; number: counted from 0 on the edge; frames
 *     credit   `number` more messages may be sent on the edge
 *     end      no more messages come on the edge
 *     ready    all actors of the node are ready
 *     stop     the node was asked to stop: it ends cleanly soon
 *     fail     the node has failed; number: its status; one frame: its sentence
 *     ask      requests the peer's usage; number: of the request
 *     usage    the answer; number: of the request; one frame of four u64: CPU
 *              ns, resident bytes, bytes sent, bytes received
 *     ended    all actors of the node have ended; only answers follow
 * Pure. docs/reference/wire.md describes it for other implementations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_RECORD_H
#define TRANSPORT_LINK_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/message/schema.h"

/* K(NAME, code, whether frames follow, fewest of them, most of them). */
#define SKN_RECORD_KINDS(K)                                                    \
    K(MESSAGE, 1, 1, SKN_FRAMES_MAX)                                           \
    K(CREDIT, 2, 0, 0)                                                         \
    K(END, 3, 0, 0)                                                            \
    K(READY, 4, 0, 0)                                                          \
    K(STOP, 5, 0, 0)                                                           \
    K(FAIL, 6, 1, 1)                                                           \
    K(ASK, 7, 0, 0)                                                            \
    K(USAGE, 8, 1, 1)                                                          \
    K(ENDED, 9, 0, 0)

typedef enum skn_record_kind {
#define K(name, code, frames_min, frames_max) SKN_RECORD_##name = (code),
    SKN_RECORD_KINDS(K)
#undef K
} skn_record_kind_t;

typedef struct skn_record {
    skn_record_kind_t kind;
    uint32_t edge;
    uint64_t number;
} skn_record_t;

/* Bytes before the first frame: the head, and the sizes of the frames. */
#define SKN_RECORD_HEAD_BYTES 16u
#define SKN_RECORD_LEAD_BYTES (SKN_RECORD_HEAD_BYTES + 8 + 8 * SKN_FRAMES_MAX)

/* The frames of a record, as a link takes them: frame 0 is built in `lead`
 * (SKN_RECORD_LEAD_BYTES), the others are those of `wire` (NULL: none). `frame`
 * has room for SKN_FRAMES_MAX + 1. Returns the number of frames. */
size_t skn_record_write(const skn_record_t *record, const skn_wire_t *wire,
                        uint8_t *lead, skn_frame_t *frame);

/* Reads a record from a peer, which may be any bytes. The frames of `wire`
 * point into `bytes`. SKN_BAD_MESSAGE. */
skn_status_t skn_record_read(skn_frame_t bytes, skn_record_t *record,
                             skn_wire_t *wire, skn_error_t *error);

#endif
