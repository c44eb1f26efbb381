/* byte_socket.h - byte sockets for tunnels: listens, accepts and connects.
 *
 * None of them blocks, and all are closed on exec. A connection between
 * machines has keepalive, and a limit on the time that bytes stay
 * unacknowledged, so that it ends 10 s after its other end has vanished. A
 * local socket has an abstract name that libzmq calls ipc://@..., and accepts
 * connections of this process alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_BYTE_SOCKET_H
#define TRANSPORT_SOCKET_BYTE_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "skein/error.h"
#include "transport/socket/address.h"

/* The address that a name resolved to, so that a name server is not asked at
 * each connection attempt. */
typedef struct skn_byte_socket_place {
    struct sockaddr_storage at;
    socklen_t bytes; /* 0: not found yet */
} skn_byte_socket_place_t;

/* Listens at a resolved address. -1: SKN_UNAVAILABLE (in use, or not an address
 * of this machine), SKN_NO_PERMISSION, SKN_NO_MEMORY. */
int skn_byte_socket_listen(const skn_address_t *address, skn_error_t *error);
/* Why an address cannot be bound, by the errno: for all callers that bind
 * one. */
skn_status_t skn_byte_socket_cannot_listen(const char *address, int code,
                                           skn_error_t *error);
/* Listens at a new, unique name; `address` has SKN_ADDRESS_BYTES. -1:
 * SKN_NO_MEMORY, SKN_UNAVAILABLE. */
int skn_byte_socket_listen_local(char *address, skn_error_t *error);
/* Whether an address is such a local one. */
bool skn_byte_socket_is_local(const char *address);

/* The next connection; -1: none (errno EAGAIN), or no descriptors. A connection
 * of another process is closed and skipped, a few of them at a time. */
int skn_byte_socket_accept_local(int listener);
/* The same from other machines; `service` is the type of service, or 0. */
int skn_byte_socket_accept(int listener, int service);

/* Resolves the name, which may ask a name server and take seconds. False: the
 * name cannot be resolved. */
bool skn_byte_socket_find(const char *address, skn_byte_socket_place_t *place);
/* The same for a numeric address, at once. False: it is a name. */
bool skn_byte_socket_read(const char *address, skn_byte_socket_place_t *place);
/* Begins to connect. -1: impossible; later failures are reported by the
 * socket. */
int skn_byte_socket_dial(const skn_byte_socket_place_t *place, int service);

#endif
