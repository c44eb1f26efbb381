/* watch.h - limits the memory that each connection makes libzmq use.
 *
 * libzmq bounds frames (ZMQ_MAXMSGSIZE) and whole messages (ZMQ_RCVHWM), but
 * keeps the frames of a message that never ends in memory, unseen by the
 * receiver: 828 MB after 500 MB sent (measured). So the bytes that the system
 * received on each connection are compared with the bytes delivered from it:
 *
 *     received by the system ----+
 *     not yet read by libzmq     |-- held by libzmq: at most one message when
 *     delivered by libzmq -------+   the receiver found nothing more to take
 *
 * A connection that holds more is shut down. Pure book-keeping except for the
 * queries to the system in skn_watch_look. One thread accepts, closes and
 * checks; another one, the receiver, reports the messages that it took.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_WATCH_H
#define TRANSPORT_SOCKET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* How often to check. At 1 GB/s 10 MB pass between two checks. Without keys,
 * where strangers are admitted, more often: a frame of one byte takes 64 bytes
 * in libzmq, and 12 to 16.4 MiB of such frames arrived within 5 ms, 6.7 to 9.3
 * within 1 ms; the limit for strangers is 16 MiB. Every 10 ms costs 0.4% of a
 * core, every 5 ms 0.6% (docs/decisions/0031-czmq-pipelines.md). */
#define SKN_WATCH_MS 10
#define SKN_WATCH_MS_WITHOUT_KEYS 1
/* One fragment, the buffers of libzmq's thread, and the handshake. */
#define SKN_WATCH_SLACK_BYTES (256u << 10)
/* Heartbeats of both sides, encrypted, with a reserve: bytes that are received
 * and deliver no message. */
#define SKN_WATCH_BYTES_PER_S 256u

typedef struct skn_watch skn_watch_t;

typedef struct skn_watch_options {
    int receiver; /* ZMQ_FD of the receiver; -1: use skn_watch_empty */
    uint32_t connections_max; /* accepted at the same time */
    uint64_t queue_bytes_max; /* of whole messages, for one connection */
    /* The bytes of an unfinished message that are allowed beyond the slack. */
    uint64_t message_bytes_max;
} skn_watch_options_t;

typedef enum skn_connection_guard_verdict {
    SKN_VERDICT_FAIR,
    SKN_VERDICT_ENDLESS, /* a message that does not end */
    SKN_VERDICT_OVER     /* one connection too many */
} skn_connection_guard_verdict_t;

/* The state of a connection at one check. */
typedef struct skn_watch_facts {
    uint64_t now_ms;
    uint64_t received_bytes; /* by the system, and read by libzmq */
    uint32_t delivered;      /* messages of this connection, ever */
    uint32_t empties;        /* times that the receiver found nothing, ever */
} skn_watch_facts_t;

/* The account of one connection; { 0 } is a new one. Visible for tests. */
typedef struct skn_watch_account {
    uint64_t mark_bytes; /* messages up to here were complete */
    uint64_t mark_ms;
    uint64_t sample_bytes; /* read by libzmq when `sample_empties` was taken */
    uint32_t sample_empties;
    uint32_t delivered;
    bool begun;
} skn_watch_account_t;

/* Judges whether a connection is within the limits of `options`: pure. */
skn_connection_guard_verdict_t skn_watch_judge(
    skn_watch_account_t *account, const skn_watch_facts_t *facts,
    const skn_watch_options_t *options);

/* NULL: SKN_NO_MEMORY. */
skn_watch_t *skn_watch_new(const skn_watch_options_t *options,
                           skn_error_t *error);
void skn_watch_destroy(skn_watch_t **watch);

/* Any thread, once: sets the port at which connections are accepted. */
void skn_watch_port(skn_watch_t *watch, uint16_t port);

/* The watching thread: a connection was accepted, or ended, at `descriptor`. If
 * it is one too many, the oldest that has delivered nothing yet is shut down,
 * or this one if there is none. */
skn_connection_guard_verdict_t skn_watch_accept(skn_watch_t *watch,
                                                int descriptor);
/* True: it was watched to its end, and no message was ever taken from it. */
bool skn_watch_close(skn_watch_t *watch, int descriptor);
/* Checks all connections; returns how many were shut down. */
size_t skn_watch_look(skn_watch_t *watch, uint64_t now_ms);
/* The number of connections. */
size_t skn_watch_count(const skn_watch_t *watch);

/* The receiver, before each read: it may clear the signal of its descriptor and
 * be delayed before it reports the result. */
void skn_watch_takes(skn_watch_t *watch);
/* The receiver, after each read: it took a whole message of the connection at
 * `descriptor`, or there was nothing to take. After the latter, and as long as
 * its descriptor is not readable, nothing has arrived, whether it reads again
 * or sleeps. */
void skn_watch_delivered(skn_watch_t *watch, int descriptor);
void skn_watch_empty(skn_watch_t *watch);

#endif
