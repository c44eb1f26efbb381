/* stream_pair.h - splices two streams: copies bytes both ways, uninterpreted.
 *
 *     a ──▶ 64 KiB ──▶ b
 *     a ◀── 64 KiB ◀── b
 *
 * Only bytes that there is room for are read, so that a slow reader slows the
 * sender and memory does not grow. The end of one direction is passed on after
 * its last byte. One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_STREAM_PAIR_H
#define TRANSPORT_TUNNEL_STREAM_PAIR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* The buffer of each direction. One fragment of a link at most: more would only
 * wait here. */
#define SKN_STREAM_PAIR_BYTES 65536u

typedef struct skn_stream_pair skn_stream_pair_t;

/* Takes two non-blocking descriptors of stream sockets; one may still be
 * connecting. NULL: SKN_NO_MEMORY, and they remain the caller's. */
skn_stream_pair_t *skn_stream_pair_new(int a, int b, skn_error_t *error);
/* Closes both. *pair may be NULL already. */
void skn_stream_pair_destroy(skn_stream_pair_t **pair);

/* Bytes to send at `side` (0: a, 1: b) before all bytes from the other; at most
 * SKN_STREAM_PAIR_BYTES, before the first turn. */
void skn_stream_pair_say(skn_stream_pair_t *pair, int side,
                         const uint8_t *bytes, size_t count);
/* The events to poll for; a descriptor without any is -1. */
void skn_stream_pair_wait(const skn_stream_pair_t *pair,
                          struct pollfd polled[2]);
/* Moves the bytes available, at most a buffer each way. False: both ways have
 * ended. */
bool skn_stream_pair_turn(skn_stream_pair_t *pair,
                          const struct pollfd polled[2]);
/* Whether one way has ended, and its end was passed on: a connection that is
 * closed at one end is of no more use at the other, which may never close. */
bool skn_stream_pair_ending(const skn_stream_pair_t *pair);
/* Bytes read so far, both ways. */
uint64_t skn_stream_pair_bytes(const skn_stream_pair_t *pair);

#endif
