/* authenticator.h - admits connections by key: those of our peers, no others.
 *
 * Answers the requests that libzmq sends for every connection (ZAP, ZeroMQ RFC
 * 27). An admitted connection is identified by the number of its peer from then
 * on: libzmq attaches it to each frame as User-Id. A node without keys admits
 * every connection from its own machine, and is asked all the same: a socket
 * with ZAP refuses the protocols before ZMTP 3, in which garbage can make
 * libzmq 4.3.4 abort (zmtp_engine.cpp:446, found by
 * tests/transport/endpoint/test_strangers.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_AUTHENTICATOR_H
#define TRANSPORT_SOCKET_AUTHENTICATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "transport/socket/keys.h"

typedef struct skn_authenticator skn_authenticator_t;

/* A key that is admitted, and the number of its peer. */
typedef struct skn_admitted {
    uint32_t peer;
    char public_key[SKN_KEY_TEXT_BYTES];
} skn_admitted_t;

/* A connection that was refused. Both are "" if libzmq did not report them. */
typedef struct skn_refused {
    char public_key[SKN_KEY_TEXT_BYTES];
    char address[64];
} skn_refused_t;

/* A list of keys to admit (`keyed`), or all connections on loopback; answers no
 * requests yet. The list is copied. NULL: SKN_NO_MEMORY. */
skn_authenticator_t *skn_authenticator_new(bool keyed,
                                           const skn_admitted_t *admitted,
                                           size_t count, skn_error_t *error);
/* From here on libzmq asks this authenticator about every connection in
 * `context`; one authenticator per context. Before, libzmq admits every
 * connection that knows our public key. */
skn_status_t skn_authenticator_start(skn_authenticator_t *authenticator,
                                     void *context, skn_error_t *error);
/* Stops answering. Sets *authenticator to NULL, which it may be already. */
void skn_authenticator_destroy(skn_authenticator_t **authenticator);

/* The socket to poll; NULL before start. */
void *skn_authenticator_socket(const skn_authenticator_t *authenticator);
/* Answers one request, if there is one. True: a connection was refused. `ends`:
 * how many connections have ended before, not counting this one. */
bool skn_authenticator_answer(skn_authenticator_t *authenticator, uint64_t ends,
                              skn_refused_t *refused);
/* Reads a frame's User-Id: the number of its peer (0 without keys), and `ends`.
 * False: it is not one that this authenticator made. */
bool skn_authenticator_read(const char *user, uint32_t *peer, uint64_t *ends);

#endif
