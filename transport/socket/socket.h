/* socket.h - opens sockets between nodes with all their options.
 *
 * Retries libzmq's calls after a signal. For transport/ only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_SOCKET_H
#define TRANSPORT_SOCKET_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/socket/keys.h"

/* Heartbeats: one lost is noise, two a coincidence. A cut cable is detected
 * after 3.0 to 3.7 s (measured). */
#define SKN_HEARTBEAT_MS 1000
#define SKN_SILENCE_MS (3 * SKN_HEARTBEAT_MS)
/* The system itself would retry for a minute and more: after a cut of 45 s,
 * nodes were reconnected 0.4 s later with this, and not within 40 s without. */
#define SKN_CONNECT_MS 2000
#define SKN_REDIAL_MS_MIN 100
#define SKN_REDIAL_MS_MAX 1000
/* A connection without a handshake in this time is closed. */
#define SKN_HANDSHAKE_MS 5000
#define SKN_LINGER_MS 2000
/* CURVE adds 33 bytes to a frame (RFC 26: name, flags, nonce, MAC), and its
 * handshake has commands of at most some hundred bytes. */
#define SKN_FRAME_OVERHEAD_BYTES 512
/* The ZAP domain of every socket: with one, a socket asks the authenticator. */
#define SKN_ZAP_DOMAIN "skein"

typedef struct skn_socket_options {
    int type;               /* ZMQ_ROUTER or ZMQ_DEALER */
    bool ipv6;              /* the peer's or the bound address needs it */
    uint32_t frame_bytes;   /* largest frame that is received */
    uint32_t fragments_max; /* queued before a send returns SKN_BUSY */
    const skn_keys_t *keys; /* NULL: none */
    const char *server_key; /* the dialled peer's; NULL: we are the server */
    int service;            /* type of service of its packets; 0: usual */
    bool hears;             /* a DEALER that receives answers */
    int handshake_ms;       /* 0: SKN_HANDSHAKE_MS */
} skn_socket_options_t;

/* Wrap zmq_bind, zmq_connect, zmq_getsockopt (of `bytes`) and a zmq_recv that
 * never waits, and retry when a signal of the host interrupts. False and -1:
 * see errno. For every socket. */
bool skn_socket_bind(void *socket, const char *address);
bool skn_socket_connect(void *socket, const char *address);
bool skn_socket_get(void *socket, int option, void *value, size_t bytes);
int skn_socket_take(void *socket, void *frame, size_t bytes);

/* A socket with every option set and verified; not bound, not connected. NULL:
 * SKN_NO_MEMORY (descriptors), SKN_UNAVAILABLE (an option is refused). */
void *skn_socket_open(void *context, const skn_socket_options_t *options,
                      skn_error_t *error);

/* Monitors `socket` for `events` (ZMQ_EVENT_*). Returns a socket to read them
 * from; close it after skn_socket_close. */
void *skn_socket_monitor(void *context, void *socket, int events,
                         skn_error_t *error);

/* The next event; false if there is none. Never waits. */
bool skn_monitor_take(void *monitor, uint16_t *event, uint32_t *value);

/* Closes a socket and its monitor (either may be NULL). `linger_ms` is the time
 * allowed for queued messages to leave. */
void skn_socket_close(void **socket, void **monitor, int linger_ms);

/* The descriptor of ZMQ_FD. */
int skn_socket_descriptor(void *socket);

/* Checks that libzmq is new enough, and has CURVE if `keyed`.
 * SKN_UNAVAILABLE. */
skn_status_t skn_socket_library(bool keyed, skn_error_t *error);

#endif
