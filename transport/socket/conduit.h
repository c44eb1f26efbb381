/* conduit.h - sockets of bytes, for tunnels: made, accepted, dialled.
 *
 * None of them blocks, all are closed on exec. A connection between machines
 * is looked after (keepalive, and a bound on what is not acknowledged), so that
 * one whose other end has vanished ends after 10 s. A local one is an
 * abstract name that libzmq calls ipc://@..., and lets in this process alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_CONDUIT_H
#define TRANSPORT_SOCKET_CONDUIT_H

#include <stdbool.h>
#include <sys/socket.h>

#include "skein/error.h"
#include "transport/socket/address.h"

/* Where a name led, so that a name server is not asked at each dialling. */
typedef struct skn_conduit_place {
    struct sockaddr_storage at;
    socklen_t bytes; /* 0: not found yet */
} skn_conduit_place_t;

/* Listens at an address that was resolved. -1: SKN_UNAVAILABLE (in use, not of
 * this machine), SKN_NO_PERMISSION, SKN_NO_MEMORY. */
int skn_conduit_listen(const skn_address_t *address, skn_error_t *error);
/* Why an address cannot be bound, by the errno: for all who bind one. */
skn_status_t skn_conduit_cannot_listen(const char *address, int code,
                                       skn_error_t *error);
/* Listens at a name that nobody else has: `address` has SKN_ADDRESS_BYTES.
 * -1: SKN_NO_MEMORY, SKN_UNAVAILABLE. */
int skn_conduit_listen_local(char *address, skn_error_t *error);
/* Whether an address is one of those. */
bool skn_conduit_is_local(const char *address);

/* The next connection; -1: none (errno EAGAIN), or no descriptors. One that is
 * not of this process is closed and passed over, a few of them at a time. */
int skn_conduit_accept_local(int listener);
/* The same from other machines; `service` is the type of service, or 0. */
int skn_conduit_accept(int listener, int service);

/* Asks a name server, maybe, which may take seconds. False: nobody knows it. */
bool skn_conduit_find(const char *address, skn_conduit_place_t *place);
/* The same for an address of numbers, at once. False: it is a name. */
bool skn_conduit_read(const char *address, skn_conduit_place_t *place);
/* Begins to dial. -1: it cannot be; later failures are told by the socket. */
int skn_conduit_dial(const skn_conduit_place_t *place, int service);

#endif
