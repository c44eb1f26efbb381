/* reachability.h - tests on a thread of its own whether lost machines are
 * reachable.
 *
 * The thread connects to addresses, about once a second each, until they
 * answer; callers never wait, not even for a name server. A connection is made
 * and closed, and no byte is sent. It needs packets both ways, so that a
 * machine that is cut off in one direction alone is not reached.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_REACHABILITY_H
#define TRANSPORT_SOCKET_REACHABILITY_H

#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"

typedef struct skn_reachability skn_reachability_t;

/* `address[k]` (tcp://host:port, copied) has the number k, below `count`, which
 * is at most SKN_CLUSTER_NODES_MAX. NULL: SKN_NO_MEMORY. */
skn_reachability_t *skn_reachability_new(const char *const *address,
                                         uint32_t count, skn_error_t *error);
/* Does not wait for the thread, which may be asking a name server. */
void skn_reachability_destroy(skn_reachability_t **reachability);
/* Connects to those of the set `wanted`; 0: to none. Addresses that answered
 * before are tried again if `wanted` differs from the last call. */
void skn_reachability_seek(skn_reachability_t *reachability, uint64_t wanted);
/* The addresses of the set that have answered since. A refused connection
 * counts as an answer: no process listens there between two generations. */
uint64_t skn_reachability_found(skn_reachability_t *reachability);

#endif
