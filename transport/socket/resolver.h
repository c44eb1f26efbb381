/* resolver.h - resolves host names on a thread of its own; callers never wait.
 *
 * The thread resolves one name after the other; until there is an answer the
 * previous one remains valid.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_RESOLVER_H
#define TRANSPORT_SOCKET_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/socket/byte_socket.h"

#define SKN_RESOLVER_MAX 64u

typedef struct skn_resolver skn_resolver_t;

/* `address[k]` (tcp://host:port, copied) has the number k, below `count`, which
 * is at most SKN_RESOLVER_MAX. NULL: SKN_NO_MEMORY. */
skn_resolver_t *skn_resolver_new(const char *const *address, uint32_t count,
                                 skn_error_t *error);
/* Does not wait for the thread, which may be asking a name server. */
void skn_resolver_destroy(skn_resolver_t **resolver);

/* Requests to resolve address `k`, unless a request is pending. */
void skn_resolver_ask(skn_resolver_t *resolver, uint32_t k);
/* Whether the last answer was that the name does not exist. */
bool skn_resolver_is_unknown(skn_resolver_t *resolver, uint32_t k);
/* The last address found; false: none was. */
bool skn_resolver_found(skn_resolver_t *resolver, uint32_t k,
                        skn_byte_socket_place_t *place);

#endif
