/* control.h - the line between the coordinator of a run and its members.
 *
 *     member a  DEALER ─┐
 *     member b  DEALER ─┼─▶ ROUTER  coordinator
 *     member c  DEALER ─┘
 *
 * Members dial and nobody dials them, so that one behind a NAT may be one. A
 * line carries messages of one frame both ways, in order; one that is sent
 * while nobody is there is not kept. Every line is CurveZMQ, only the keys of
 * members get in, and who sent a message follows from the key alone.
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

/* The manifest of a checkpoint is the longest: some 100 bytes a tensor. */
#define SKN_CONTROL_BYTES_MAX (8u << 20)

typedef struct skn_control skn_control_t;

typedef struct skn_control_options {
    const char *address;    /* tcp://host:port: to listen at, or to dial; there
                             * also one of transport/socket/conduit.h */
    const skn_keys_t *keys; /* of this process; NULL: none, on loopback only */
    /* A member's: the coordinator's public key, Z85. */
    const char *server_key;
    /* The coordinator's: the public keys of those that may dial, numbered from
     * 0; copied. */
    const char *const *member_keys;
    size_t member_count;
    /* The coordinator's: who speaks with a member's key is that member only
     * once it is let in (skn_control_admit). Else: who spoke last. */
    bool admits;
} skn_control_options_t;

/* The coordinator's end: bound, with an authenticator that was tried. NULL:
 * SKN_BAD_CONFIG, SKN_UNAVAILABLE, SKN_NO_PERMISSION, SKN_NO_MEMORY, as of
 * skn_endpoint_open. */
skn_control_t *skn_control_listen(const skn_control_options_t *options,
                                  skn_error_t *error);
/* A member's end. It dials, and dials again, for ever. */
skn_control_t *skn_control_dial(const skn_control_options_t *options,
                                skn_error_t *error);
/* A member's end: whether the coordinator's address is a name that nobody knew
 * here when it was to be dialled; it is asked for again with each attempt. */
bool skn_control_is_unknown(const skn_control_t *control);
/* Gives what was sent a second to leave; sets *control to NULL, which it may
 * be already. */
void skn_control_close(skn_control_t **control);

/* Sends one message, copied; never waits. `member`: to whom; a member's end
 * takes 0 for the coordinator. SKN_BUSY: nobody is there, or takes no more. */
skn_status_t skn_control_send(skn_control_t *control, uint32_t member,
                              skn_frame_t frame, skn_error_t *error);
/* The same to who spoke last with the key of `member` and is not let in. */
skn_status_t skn_control_answer(skn_control_t *control, uint32_t member,
                                skn_frame_t frame, skn_error_t *error);
/* Lets it in, in place of who was that member. False: its connection has ended
 * meanwhile. */
bool skn_control_admit(skn_control_t *control, uint32_t member);
/* Where the member is, and with `other` who is not let in: an IP address, or
 * "an unknown address". Of the control, until it takes the next message. */
const char *skn_control_where(const skn_control_t *control, uint32_t member,
                              bool other);

typedef enum skn_control_kind {
    SKN_CONTROL_MESSAGE,
    SKN_CONTROL_LOST,      /* the connection that a member spoke on has ended */
    SKN_CONTROL_CONNECTED, /* a member's end: the line stands */
    SKN_CONTROL_REFUSED,   /* a member's end: our key is not let in, or the
                           * coordinator has another one */
    SKN_CONTROL_STRANGER   /* the coordinator's: `frame` is a sentence */
} skn_control_kind_t;

typedef struct skn_control_arrival {
    skn_control_kind_t kind;
    uint32_t member;
    bool fresh; /* MESSAGE: the first of this member's on its connection */
    bool other; /* MESSAGE: of one with its key who is not let in */
    bool over;  /* REFUSED: it does not dial again by itself */
    skn_frame_t frame; /* valid until the next call */
} skn_control_arrival_t;

/* The next thing that happened; false if there is none. Never waits. */
bool skn_control_take(skn_control_t *control, skn_control_arrival_t *arrival);

/* What listens: its address, with the port that was found; of the control. */
const char *skn_control_address(const skn_control_t *control);

/* For those who wait themselves: two entries for poll(). As edge triggered as
 * ZMQ_FD: before each wait, and after each send, call skn_control_take until it
 * says false. */
void skn_control_polled(const skn_control_t *control, struct pollfd polled[2]);

/* Waits until there may be something to take, or a descriptor of `polled` is
 * ready (as poll() does, with `polled_count` entries), or `timeout_ms`. */
void skn_control_wait(skn_control_t *control, struct pollfd *polled,
                      size_t polled_count, int timeout_ms);

#endif
