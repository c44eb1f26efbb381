/* authenticator.h - who may come in: the keys of our peers, nobody else's.
 *
 * Answers the questions that libzmq asks for every connection (ZAP, ZeroMQ
 * RFC 27). One that is let in is called by the number of its peer from then
 * on: libzmq hands it up with each frame as User-Id. A node without keys lets
 * in whoever is on its own machine, and asks all the same: a socket that asks
 * refuses the protocols before ZMTP 3, in which garbage can make libzmq 4.3.4
 * abort (zmtp_engine.cpp:446, found by
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

/* Whose key is let in, and as which number. */
typedef struct skn_admitted {
    uint32_t peer;
    char public_key[SKN_KEY_TEXT_BYTES];
} skn_admitted_t;

/* Who was not. Both are "" if libzmq did not say. */
typedef struct skn_refused {
    char public_key[SKN_KEY_TEXT_BYTES];
    char address[64];
} skn_refused_t;

/* A list of whom to let in (`keyed`), or everybody on loopback; answers nobody
 * yet. The list is copied. NULL: SKN_NO_MEMORY. */
skn_authenticator_t *skn_authenticator_new(bool keyed,
                                           const skn_admitted_t *admitted,
                                           size_t count, skn_error_t *error);
/* From here on every connection in `context` asks us; one authenticator a
 * context. Before it, libzmq lets in whoever knows our public key. */
skn_status_t skn_authenticator_start(skn_authenticator_t *authenticator,
                                     void *context, skn_error_t *error);
/* Stops asking it. Sets *authenticator to NULL, which it may be already. */
void skn_authenticator_destroy(skn_authenticator_t **authenticator);

/* The socket to wait for; NULL before start. */
void *skn_authenticator_socket(const skn_authenticator_t *authenticator);
/* Answers one question, if there is one. True: somebody was refused. `ends`:
 * how many connections have ended before, of which this is none. */
bool skn_authenticator_answer(skn_authenticator_t *authenticator, uint64_t ends,
                              skn_refused_t *refused);
/* Of a frame's User-Id: the number of its peer (0 without keys), and `ends`.
 * False: it is none of ours. */
bool skn_authenticator_read(const char *user, uint32_t *peer, uint64_t *ends);

#endif
