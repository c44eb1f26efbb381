/* finder.h - resolves host names on a thread of its own; callers never wait.
 *
 * The thread resolves one name after the other; until there is an answer the
 * previous one remains valid.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_FINDER_H
#define TRANSPORT_SOCKET_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/socket/conduit.h"

#define SKN_FINDER_MAX 64u

typedef struct skn_finder skn_finder_t;

/* `address[k]` (tcp://host:port, copied) has the number k, below `count`, which
 * is at most SKN_FINDER_MAX. NULL: SKN_NO_MEMORY. */
skn_finder_t *skn_finder_new(const char *const *address, uint32_t count,
                             skn_error_t *error);
/* Does not wait for the thread, which may be asking a name server. */
void skn_finder_destroy(skn_finder_t **finder);

/* Requests to resolve address `k`, unless a request is pending. */
void skn_finder_ask(skn_finder_t *finder, uint32_t k);
/* Whether the last answer was that the name does not exist. */
bool skn_finder_is_unknown(skn_finder_t *finder, uint32_t k);
/* The last address found; false: none was. */
bool skn_finder_found(skn_finder_t *finder, uint32_t k,
                      skn_conduit_place_t *place);

#endif
