/* routes.h - computes which node relays to nodes without an address.
 *
 * A function of the list of nodes only, so that all nodes of a run agree. Pure;
 * any thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_LINKS_ROUTES_H
#define ACTORS_LINKS_ROUTES_H

#include <stdbool.h>

#include "actors/runtime/wiring.h"

#define SKN_ROUTE_NOBODY UINT32_MAX

/* Whether any node can only dial out. */
bool skn_wired_outbound(const skn_wiring_t *wiring);
/* The node through which node `k` is reached; SKN_ROUTE_NOBODY: it has an
 * address (or its `via` is not a node, which topology/config/nodes.c
 * refuses). */
uint32_t skn_route_via(const skn_wiring_t *wiring, uint32_t k);
/* The third node that carries bytes from `from` to `to`, if neither of these
 * can be dialled. SKN_ROUTE_NOBODY: none. */
uint32_t skn_route_relay(const skn_wiring_t *wiring, uint32_t from,
                         uint32_t to);

#endif
