/* fragment.h - the wire form of a fragment of a link: two frames.
 *
 * Frame 0 is a msgpack array of 12 values, at most 128 bytes; frame 1 is raw.
 *
 *     [version, type, run, node, incarnation, peer,      same in all versions
 *      offset, ack, credit, held, stamp, echo]
 *
 * `run` is bin of 16 bytes, all others are unsigned; 0 means absent.
 * docs/reference/wire.md explains each. Nothing here has a state.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_FRAGMENT_H
#define TRANSPORT_LINK_FRAGMENT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/message/schema.h"

/* The longest record; the largest body of a fragment. */
#define SKN_RECORD_BYTES_MAX ((size_t)1 << 30)
#define SKN_FRAGMENT_BYTES_MAX ((size_t)1 << 16)
#define SKN_FRAGMENT_BYTES_MIN ((size_t)1 << 12)
#define SKN_LINK_RUN_BYTES 16u

#define SKN_LINK_VERSION 1u
#define SKN_FRAGMENT_FIELDS 12u
/* The fields that every version has: enough to tell a sender that its version
 * differs. */
#define SKN_FRAGMENT_FIRST_FIELDS 6u
#define SKN_FRAGMENT_HEADER_BYTES_MAX 128u
#define SKN_HELLO_BYTES 32u
#define SKN_REFUSAL_BYTES 8u
/* Offsets and stamps: 200 years of 1 Gbit/s, 290,000 years of us. Sums of two
 * of them cannot wrap. */
#define SKN_OFFSET_MAX ((uint64_t)INT64_MAX)

/* T(NAME, number, least bytes of its body, most) */
#define SKN_FRAGMENT_TYPES(T)                                                  \
    T(HELLO, 1, SKN_HELLO_BYTES, SKN_HELLO_BYTES)                              \
    T(DATA, 2, 1, SKN_FRAGMENT_BYTES_MAX)                                      \
    T(ACK, 3, 0, 0)                                                            \
    T(PULSE, 4, 0, 0)                                                          \
    T(ANSWER, 5, 0, 0)                                                         \
    T(REFUSE, 6, SKN_REFUSAL_BYTES, SKN_REFUSAL_BYTES)

typedef enum skn_fragment_type {
#define T(name, number, least, most) SKN_FRAGMENT_##name = (number),
    SKN_FRAGMENT_TYPES(T)
#undef T
} skn_fragment_type_t;

typedef struct skn_fragment_header {
    uint32_t version, type;
    uint8_t run[SKN_LINK_RUN_BYTES];
    uint32_t node;        /* the sender's index in the list of nodes */
    uint64_t incarnation; /* this start of the sender; not 0 */
    uint64_t peer;        /* the receiver's incarnation; 0: any */
    uint64_t offset;      /* data: of its first byte in the sender's stream */
    uint64_t ack;         /* all bytes below it have arrived */
    uint64_t credit;      /* bytes below it may be sent */
    uint64_t held;        /* the first byte that has arrived after a gap */
    uint64_t stamp;       /* us since the sender's start, from 1 */
    uint64_t echo;        /* a stamp of the receiver, plus the us since */
} skn_fragment_header_t;

/* R(NAME, its name in counters, why a fragment was refused or dropped). The
 * link continues. */
#define SKN_LINK_REASONS(R)                                                    \
    R(HEADER, "header", "its header is malformed")                             \
    R(VERSION, "version", "it speaks another version of the protocol")         \
    R(TYPE, "type", "its type is unknown")                                     \
    R(BODY, "body", "its body has a wrong length for its type")                \
    R(RUN, "run", "it belongs to another run")                                 \
    R(NODE, "node", "it names another node as its sender")                     \
    R(INCARNATION, "incarnation",                                              \
      "it is from or for an earlier start of a "                               \
      "node")                                                                  \
    R(EARLY, "early", "it arrived before the hello")                           \
    R(ACK, "ack", "it acknowledges what was never sent")                       \
    R(CREDIT, "credit", "it goes beyond the credit given")                     \
    R(GAPS, "gaps", "there are too many gaps before it")                       \
    R(DEAD, "dead", "the link is dead")

typedef enum skn_link_reason {
#define R(name, word, text) SKN_LINK_REASON_##name,
    SKN_LINK_REASONS(R)
#undef R
    SKN_LINK_REASON_COUNT
} skn_link_reason_t;

/* Writes `header` in the shortest form; returns the number of bytes. */
size_t skn_fragment_write(const skn_fragment_header_t *header,
                          uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX]);

/* Reads a header that may be any bytes, and checks the length of the body
 * against its type. SKN_BAD_MESSAGE, and *reason HEADER, VERSION, TYPE or BODY;
 * with VERSION the first six fields of *header are valid, otherwise none is. No
 * allocation; time grows with the header's bytes. */
skn_status_t skn_fragment_read(skn_frame_t frame, size_t body_bytes,
                               skn_fragment_header_t *header,
                               skn_link_reason_t *reason, skn_error_t *error);

/* Whether `run` is an id, and not one to be adopted: all bytes are zero, or all
 * before the mark. */
bool skn_link_run_is_known(const uint8_t run[SKN_LINK_RUN_BYTES]);
/* Whether both are ids with the mark, but with different numbers. */
bool skn_link_run_is_other_part(const uint8_t one[SKN_LINK_RUN_BYTES],
                                const uint8_t other[SKN_LINK_RUN_BYTES]);

/* The bodies of hello and refuse: u64s, little-endian. */
typedef struct skn_hello {
    uint64_t config_hash, schemas_hash, data_hash;
    uint64_t wants_answer; /* bit 0 of the flags */
    uint64_t purpose;      /* bits 8 to 15; the others are 0 in version 1 */
} skn_hello_t;
void skn_hello_write(const skn_hello_t *hello, uint8_t body[SKN_HELLO_BYTES]);
/* `body` has SKN_HELLO_BYTES, at any alignment. */
void skn_hello_read(const uint8_t *body, skn_hello_t *hello);
void skn_refusal_write(uint64_t code, uint8_t body[SKN_REFUSAL_BYTES]);
uint64_t skn_refusal_read(const uint8_t *body);

#endif
