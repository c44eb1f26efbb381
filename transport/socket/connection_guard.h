/* connection_guard.h - the thread that guards a node's accepting socket against
 * strangers.
 *
 * It answers for the authenticator, sees connections come and go, limits the
 * memory that they can fill (transport/socket/watch.h), and queues sentences
 * for the endpoint to report, at most a few a second. It runs also while the
 * endpoint's own thread is busy or stuck.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_CONNECTION_GUARD_H
#define TRANSPORT_SOCKET_CONNECTION_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/socket/authenticator.h"
#include "transport/socket/watch.h"

/* Sentences in a burst, and one more a second: a flood of strangers must not
 * become a flood of log lines. */
#define SKN_CONNECTION_GUARD_SENTENCES_MAX 8u
#define SKN_CONNECTION_GUARD_TEXT_BYTES 256

typedef struct skn_connection_guard skn_connection_guard_t;

typedef struct skn_connection_guard_counts {
    uint64_t accepted, strangers, handshakes_failed, empty, cut, over;
} skn_connection_guard_counts_t;

/* Parts that it takes over from the endpoint; skn_connection_guard_close frees
 * them all. */
typedef struct skn_connection_guard_parts {
    void *context;
    void *monitor; /* of the socket that accepts */
    skn_authenticator_t *authenticator;
    skn_watch_t *watch;
    bool keyed; /* keys are required: strangers fail the handshake */
    uint32_t peer_count;
} skn_connection_guard_parts_t;

/* The events that the monitor of the accepting socket must report. */
int skn_connection_guard_events(void);

/* Starts the thread. Nothing is counted or reported before
 * skn_connection_guard_begin, so that the self-test does not count as a
 * stranger. NULL: SKN_NO_MEMORY, and `parts` remain the caller's. */
skn_connection_guard_t *skn_connection_guard_open(
    const skn_connection_guard_parts_t *parts, skn_error_t *error);
void skn_connection_guard_begin(skn_connection_guard_t *guard);
/* Stops the thread; the accepting socket must be closed already. */
void skn_connection_guard_close(skn_connection_guard_t **guard);

/* Readable when there is a sentence (level triggered), or when a connection has
 * ended since the last call of skn_connection_guard_take. */
int skn_connection_guard_descriptor(const skn_connection_guard_t *guard);
/* The next sentence; false if there is none. */
bool skn_connection_guard_take(skn_connection_guard_t *guard,
                               char text[SKN_CONNECTION_GUARD_TEXT_BYTES]);
/* Takes a connection that has ended: the descriptor that it had, and its number
 * among all that ended, from 1; false if there is none. If the caller does not
 * take them, only the newest few are kept. The next connection may have the
 * same descriptor at once; it is not one whose number is at most that of its
 * User-Id (skn_authenticator_read). */
bool skn_connection_guard_ended(skn_connection_guard_t *guard, int *descriptor,
                                uint64_t *number);
void skn_connection_guard_count(skn_connection_guard_t *guard,
                                skn_connection_guard_counts_t *counts);

#endif
