/* routes.h - who dials whom, and through whom.
 *
 * A function of the list of nodes alone, so that all of a run agree. Pure;
 * any thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_LINKS_ROUTES_H
#define ACTORS_LINKS_ROUTES_H

#include <stdbool.h>

#include "actors/runtime/wiring.h"

#define SKN_ROUTE_NOBODY UINT32_MAX

/* Whether some node can only dial out. */
bool skn_wired_outbound(const skn_wiring_t *wiring);
/* The node that node `k` is reached via; SKN_ROUTE_NOBODY: it has an address
 * (or its `via` is no node: the rules of topology/config/nodes.c refuse that).
 * */
uint32_t skn_route_via(const skn_wiring_t *wiring, uint32_t k);
/* The node that carries bytes from `from` to `to` besides these two: only
 * where neither can be dialled. SKN_ROUTE_NOBODY: none. */
uint32_t skn_route_relay(const skn_wiring_t *wiring, uint32_t from,
                         uint32_t to);

#endif
