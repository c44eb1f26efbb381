/* routes.c - computes which node relays to nodes without an address.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/links/routes.h"

#include <string.h>

static bool
is_outbound(const skn_wired_node_t *node)
{
    return node->via && node->via[0] != '\0';
}

bool
skn_wired_outbound(const skn_wiring_t *wiring)
{
    for (uint32_t k = 0; k < wiring->node_count; k++)
        if (is_outbound(&wiring->nodes[k]))
            return true;
    return false;
}

uint32_t
skn_route_via(const skn_wiring_t *wiring, uint32_t k)
{
    for (uint32_t j = 0;
         is_outbound(&wiring->nodes[k]) && j < wiring->node_count; j++)
        if (strcmp(wiring->nodes[j].name, wiring->nodes[k].via) == 0)
            return j;
    return SKN_ROUTE_NOBODY;
}

uint32_t
skn_route_relay(const skn_wiring_t *wiring, uint32_t from, uint32_t to)
{
    return is_outbound(&wiring->nodes[from]) ? skn_route_via(wiring, to)
                                             : SKN_ROUTE_NOBODY;
}
