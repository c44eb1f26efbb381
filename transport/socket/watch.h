/* watch.h - who is connected to a node, and whether it plays fair.
 *
 * libzmq bounds frames (ZMQ_MAXMSGSIZE) and whole messages (ZMQ_RCVHWM), but
 * keeps the frames of a message that never ends in memory, unseen by whoever
 * receives: 828 MB after 500 MB sent (measured). So the bytes that the system
 * received on each connection are compared with what came out of it:
 *
 *     received by the system ----+
 *     not yet read by libzmq     |-- held by libzmq: at most one message when
 *     delivered by libzmq -------+   the receiver found nothing more to take
 *
 * A connection that holds more is shut down. Pure book-keeping but for the
 * questions to the system in skn_watch_look. One thread accepts, closes and
 * looks; another one, the receiver, says what it took.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_WATCH_H
#define TRANSPORT_SOCKET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* How often to look. At 1 GB/s 10 MB pass between two looks. Where anybody may
 * come in, more often: a frame of one byte takes 64 bytes in libzmq, and 12 to
 * 16.4 MiB of such frames got in within 5 ms, 6.7 to 9.3 within 1 ms; of 16,
 * which strangers may cost. Every 10 ms costs 0.4% of a core, every 5 ms 0.6%
 * (docs/decisions/0008-context-of-links.md). */
#define SKN_WATCH_MS 10
#define SKN_WATCH_MS_WITHOUT_KEYS 1
/* One fragment, the buffers of libzmq's thread, and the handshake. */
#define SKN_WATCH_SLACK_BYTES (256u << 10)
/* Heartbeats of both sides, encrypted, with a reserve: they deliver nothing
 * and are received all the same. */
#define SKN_WATCH_BYTES_PER_S 256u

typedef struct skn_watch skn_watch_t;

typedef struct skn_watch_options {
    int receiver; /* ZMQ_FD of who takes; -1: only skn_watch_empty says it */
    uint32_t connections_max; /* accepted ones, at a time */
    uint64_t queue_bytes_max; /* of whole messages, for one connection */
    /* Of one message, beyond what the slack covers: so much of one that has not
     * ended yet is fair. */
    uint64_t message_bytes_max;
} skn_watch_options_t;

typedef enum skn_door_verdict {
    SKN_VERDICT_FAIR,
    SKN_VERDICT_ENDLESS, /* a message that does not end */
    SKN_VERDICT_OVER     /* one connection too many */
} skn_door_verdict_t;

/* What one look at a connection found. */
typedef struct skn_watch_facts {
    uint64_t now_ms;
    uint64_t received_bytes; /* by the system, less what libzmq has not read */
    uint32_t delivered;      /* messages of this connection, ever */
    uint32_t empties;        /* times that the receiver found nothing, ever */
} skn_watch_facts_t;

/* What is known of a connection; { 0 } is a new one. For tests to see. */
typedef struct skn_watch_account {
    uint64_t mark_bytes; /* all up to here has ended */
    uint64_t mark_ms;
    uint64_t sample_bytes; /* had been read when `sample_empties` was */
    uint32_t sample_empties;
    uint32_t delivered;
    bool begun;
} skn_watch_account_t;

/* Whether a connection plays fair, by the limits of `options`: pure. */
skn_door_verdict_t skn_watch_judge(skn_watch_account_t *account,
                                   const skn_watch_facts_t *facts,
                                   const skn_watch_options_t *options);

/* NULL: SKN_NO_MEMORY. */
skn_watch_t *skn_watch_new(const skn_watch_options_t *options,
                           skn_error_t *error);
void skn_watch_destroy(skn_watch_t **watch);

/* Any thread, once: connections are accepted at this port. */
void skn_watch_port(skn_watch_t *watch, uint16_t port);

/* The watching thread: a connection was accepted, or ended, at `descriptor`.
 * One too many: the oldest that has delivered nothing yet is shut down, or
 * this one if there is none. */
skn_door_verdict_t skn_watch_accept(skn_watch_t *watch, int descriptor,
                                    uint64_t now_ms);
/* True: it was watched to its end, and nothing was ever taken from it. */
bool skn_watch_close(skn_watch_t *watch, int descriptor);
/* Looks at all; how many were shut down. */
size_t skn_watch_look(skn_watch_t *watch, uint64_t now_ms);
/* How many there are. */
size_t skn_watch_count(const skn_watch_t *watch);

/* The receiver, before each look for a message: it may take the sign that there
 * is one from its descriptor, and be held up before it says so. */
void skn_watch_takes(skn_watch_t *watch);
/* ... and after it: a whole message of the connection at `descriptor` was
 * taken; nothing more was there to take. After that, and as long as its
 * descriptor is not readable, nothing has come, whether it looks again or
 * sleeps. */
void skn_watch_delivered(skn_watch_t *watch, int descriptor);
void skn_watch_empty(skn_watch_t *watch);

#endif
