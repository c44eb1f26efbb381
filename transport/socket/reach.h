/* reach.h - whether other machines can be reached again.
 *
 * A thread of its own dials addresses, about once a second each, until they
 * answer: whoever asks never waits, for a name server either. A connection is
 * made and ended, and no byte is sent. It needs packets both ways, so that one
 * that is cut in one direction alone is not reached.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_REACH_H
#define TRANSPORT_SOCKET_REACH_H

#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"

typedef struct skn_reach skn_reach_t;

/* `address[k]` (tcp://host:port, copied) is that of number k, below `count`,
 * which is at most SKN_CLUSTER_NODES_MAX. NULL: SKN_NO_MEMORY. */
skn_reach_t *skn_reach_new(const char *const *address, uint32_t count,
                           skn_error_t *error);
/* Does not wait for the thread, which may be asking a name server. */
void skn_reach_destroy(skn_reach_t **reach);
/* Dials those of the set `wanted`; 0: nobody. Those who answered before are
 * dialled anew if `wanted` is another set than last time. */
void skn_reach_seek(skn_reach_t *reach, uint64_t wanted);
/* Those of the set who have answered since. Somebody who refuses the
 * connection has: nobody listens there between two generations. */
uint64_t skn_reach_found(skn_reach_t *reach);

#endif
