/* door.h - the thread at a node's door.
 *
 * It answers for the authenticator, sees who comes and goes at the socket
 * that accepts, watches that nobody fills our memory
 * (transport/socket/watch.h), and keeps what is worth a sentence for the
 * endpoint, at most some a second. It runs also while the endpoint's own thread
 * is busy or stuck.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_DOOR_H
#define TRANSPORT_SOCKET_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/socket/authenticator.h"
#include "transport/socket/watch.h"

/* Sentences at once, and one a second more: a flood of strangers must not
 * become a flood of lines. */
#define SKN_DOOR_SENTENCES_MAX 8u
#define SKN_DOOR_TEXT_BYTES 256

typedef struct skn_door skn_door_t;

typedef struct skn_door_counts {
    uint64_t accepted, strangers, handshakes_failed, empty, cut, over;
} skn_door_counts_t;

/* What it takes over from the endpoint; all of it is freed by
 * skn_door_close. */
typedef struct skn_door_parts {
    void *context;
    void *monitor; /* of the socket that accepts */
    skn_authenticator_t *authenticator;
    skn_watch_t *watch;
    bool keyed; /* strangers need a key to get to the watch at all */
    uint32_t peer_count;
} skn_door_parts_t;

/* What the monitor of the accepting socket must tell. */
int skn_door_events(void);

/* Starts the thread. Nothing is counted or said before skn_door_begin, so
 * that the canary is no stranger. NULL: SKN_NO_MEMORY, and `parts` stay the
 * caller's. */
skn_door_t *skn_door_open(const skn_door_parts_t *parts, skn_error_t *error);
void skn_door_begin(skn_door_t *door);
/* Stops the thread; the accepting socket must be closed already. */
void skn_door_close(skn_door_t **door);

/* Readable when there is a sentence (level triggered), or some connection has
 * ended since skn_door_take was last asked. */
int skn_door_descriptor(const skn_door_t *door);
/* The next sentence; false if there is none. */
bool skn_door_take(skn_door_t *door, char text[SKN_DOOR_TEXT_BYTES]);
/* A connection that has ended, by the descriptor that it had and its number
 * among all that ended, from 1 on; false if there is none. Of those that nobody
 * asks about the newest few are kept. The next connection may have the same
 * descriptor at once: it is none whose number is at most what its User-Id says
 * (skn_authenticator_read). */
bool skn_door_ended(skn_door_t *door, int *descriptor, uint64_t *number);
void skn_door_count(skn_door_t *door, skn_door_counts_t *counts);

#endif
