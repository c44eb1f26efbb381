/* finder.h - where names lead: who asks never waits for a name server.
 *
 * A thread of its own asks, one name after the other; until there is an answer
 * the last one stands.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_FINDER_H
#define TRANSPORT_SOCKET_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/socket/conduit.h"

#define SKN_FINDER_MAX 64u

typedef struct skn_finder skn_finder_t;

/* `address[k]` (tcp://host:port, copied) is that of number k, below `count`,
 * which is at most SKN_FINDER_MAX. NULL: SKN_NO_MEMORY. */
skn_finder_t *skn_finder_new(const char *const *address, uint32_t count,
                             skn_error_t *error);
/* Does not wait for the thread, which may be asking a name server. */
void skn_finder_destroy(skn_finder_t **finder);

/* Asks where number `k` is, unless that is being asked already. */
void skn_finder_ask(skn_finder_t *finder, uint32_t k);
/* Whether the last answer was that nobody knows the name. */
bool skn_finder_is_unknown(skn_finder_t *finder, uint32_t k);
/* Where it was found last; false: it never was. */
bool skn_finder_found(skn_finder_t *finder, uint32_t k,
                      skn_conduit_place_t *place);

#endif
