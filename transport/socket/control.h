/* control.h - the connection between the coordinator of a run and its members.
 *
 *     member a  DEALER ─┐
 *     member b  DEALER ─┼─▶ ROUTER  coordinator
 *     member c  DEALER ─┘
 *
 * Members connect and need not be reachable, so that a machine behind a NAT may
 * be one. A connection carries messages of one frame both ways, in order; a
 * message that is sent while the other side is not connected is not kept. Every
 * connection is CurveZMQ, only the keys of members are admitted, and the sender
 * of a message is known from the key alone.
 *
 * A control has a ZeroMQ context of its own, as links have. One thread owns it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_CONTROL_H
#define TRANSPORT_SOCKET_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "transport/socket/keys.h"
#include "transport/message/schema.h"

/* The manifest of a checkpoint is the longest message: some 100 bytes a
 * tensor. */
#define SKN_CONTROL_BYTES_MAX (8u << 20)

typedef struct skn_control skn_control_t;

typedef struct skn_control_options {
    const char *address;    /* tcp://host:port to listen at, or to connect to;
                             * there also an address of
                             * transport/socket/byte_socket.h */
    const skn_keys_t *keys; /* of this process; NULL: none, on loopback only */
    /* For a member: the coordinator's public key, Z85. */
    const char *server_key;
    /* For the coordinator: the public keys that are admitted, numbered from 0;
     * copied. */
    const char *const *member_keys;
    size_t member_count;
    /* For the coordinator: a connection with a member's key becomes the
     * member's only by skn_control_admit. Otherwise: the connection that sent
     * last. */
    bool needs_admission;
} skn_control_options_t;

/* The coordinator's end: bound, with an authenticator that was tested. NULL:
 * SKN_BAD_CONFIG, SKN_UNAVAILABLE, SKN_NO_PERMISSION, SKN_NO_MEMORY, as for
 * skn_endpoint_open. */
skn_control_t *skn_control_listen(const skn_control_options_t *options,
                                  skn_error_t *error);
/* A member's end. It connects, and reconnects without limit. */
skn_control_t *skn_control_dial(const skn_control_options_t *options,
                                skn_error_t *error);
/* A member's end: whether the coordinator's address is a name that could not be
 * resolved at the last attempt; each attempt resolves it again. */
bool skn_control_is_unknown(const skn_control_t *control);
/* Waits up to a second until queued messages have left; sets *control to NULL,
 * which it may be already. */
void skn_control_close(skn_control_t **control);

/* Sends one message, copied; never waits. `member`: the receiver; a member's
 * end passes 0 for the coordinator. SKN_BUSY: the receiver is not connected, or
 * its queue is full. */
skn_status_t skn_control_send(skn_control_t *control, uint32_t member,
                              skn_frame_t frame, skn_error_t *error);
/* The same to the connection that used the key of `member` last and is not
 * admitted. */
skn_status_t skn_control_answer(skn_control_t *control, uint32_t member,
                                skn_frame_t frame, skn_error_t *error);
/* Admits that connection, in place of the member's earlier one. False: it has
 * ended meanwhile. */
bool skn_control_admit(skn_control_t *control, uint32_t member);
/* The IP address of the member, or with `other` of the connection that is not
 * admitted; or "an unknown address". Owned by the control, valid until it takes
 * the next message. */
const char *skn_control_where(const skn_control_t *control, uint32_t member,
                              bool other);

typedef enum skn_control_kind {
    SKN_CONTROL_MESSAGE,
    SKN_CONTROL_LOST,      /* the member's last connection has ended */
    SKN_CONTROL_CONNECTED, /* a member's end: the connection is made */
    SKN_CONTROL_REFUSED,   /* a member's end: our key is not admitted, or the
                            * coordinator has a different one */
    SKN_CONTROL_STRANGER   /* the coordinator's end: `frame` is a sentence */
} skn_control_kind_t;

typedef struct skn_control_arrival {
    skn_control_kind_t kind;
    uint32_t member;
    bool fresh;        /* MESSAGE: this member's first on its connection */
    bool other;        /* MESSAGE: with the member's key, not admitted */
    bool over;         /* REFUSED: it does not reconnect by itself */
    skn_frame_t frame; /* valid until the next call */
} skn_control_arrival_t;

/* The next event; false if there is none. Never waits. */
bool skn_control_take(skn_control_t *control, skn_control_arrival_t *arrival);

/* The coordinator's address, with the port that was bound; owned by the
 * control. */
const char *skn_control_address(const skn_control_t *control);

/* For callers that poll themselves: two entries for poll(). They are as edge
 * triggered as ZMQ_FD: before each wait, and after each send, call
 * skn_control_take until it returns false. */
void skn_control_polled(const skn_control_t *control, struct pollfd polled[2]);

/* Waits until there may be an event to take, or a descriptor of `polled` is
 * ready (as poll() does, with `polled_count` entries), or `timeout_ms`. */
void skn_control_wait(skn_control_t *control, struct pollfd *polled,
                      size_t polled_count, int timeout_ms);

#endif
