/* stream_pair.h - two streams spliced together: what comes in at one leaves at
 * the other, both ways, unseen.
 *
 *     a ──▶ 64 KiB ──▶ b
 *     a ◀── 64 KiB ◀── b
 *
 * Nothing is read that there is no room for, so that a slow reader slows the
 * sender and no memory grows. The end of one direction is passed on behind its
 * last byte. One thread at a time.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_STREAM_PAIR_H
#define TRANSPORT_TUNNEL_STREAM_PAIR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* Each way. One fragment of a link at most: more would only wait here. */
#define SKN_STREAM_PAIR_BYTES 65536u

typedef struct skn_stream_pair skn_stream_pair_t;

/* Takes two descriptors of stream sockets that do not block; one may still be
 * dialling. NULL: SKN_NO_MEMORY, and they stay the caller's. */
skn_stream_pair_t *skn_stream_pair_new(int a, int b, skn_error_t *error);
/* Closes both. *pair may be NULL already. */
void skn_stream_pair_destroy(skn_stream_pair_t **pair);

/* Bytes that leave at `side` (0: a, 1: b) before all that comes in at the
 * other; at most SKN_STREAM_PAIR_BYTES, before the first turn. */
void skn_stream_pair_say(skn_stream_pair_t *pair, int side,
                         const uint8_t *bytes, size_t count);
/* What to wait for; a descriptor that nothing is awaited of is -1. */
void skn_stream_pair_wait(const skn_stream_pair_t *pair,
                          struct pollfd polled[2]);
/* Moves what there is, at most a buffer each way. False: it is over. */
bool skn_stream_pair_turn(skn_stream_pair_t *pair,
                          const struct pollfd polled[2]);
/* Whether one way has ended, and its end was passed on: connections that are
 * closed at one end are of no more use at the other, which may never say so. */
bool skn_stream_pair_ending(const skn_stream_pair_t *pair);
/* Read so far, both ways. */
uint64_t skn_stream_pair_bytes(const skn_stream_pair_t *pair);

#endif
