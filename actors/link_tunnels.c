/* link_tunnels.c - links to nodes that nobody can dial.
 *
 * Who is dialled, and through whom, follows from the list of nodes alone, so
 * that all nodes agree.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/link_inside.h"
#include "actors/routes.h"

skn_status_t
skn_links_open_tunnels(skn_links_t *links,
                       const char (*keys)[SKN_KEY_TEXT_BYTES],
                       skn_error_t *error)
{
    const skn_wiring_t *wiring = links->system->wiring;
    skn_tunnel_node_t *nodes = calloc(links->node_count, sizeof(*nodes));
    if (!nodes)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %u nodes",
                        links->node_count);
    if (!links->keys) {
        free(nodes);
        return skn_fail(error, SKN_BAD_CONFIG,
                        "nodes without an address need keys");
    }
    for (uint32_t k = 0; k < links->node_count; k++)
        nodes[k] = (skn_tunnel_node_t){
            .name = wiring->nodes[k].name,
            .address = wiring->nodes[k].address,
            .public_key = keys[k],
            .via = skn_route_via(wiring, k),
        };
    const skn_tunnels_options_t options = {
        .nodes = nodes,
        .node_count = links->node_count,
        .node = links->node,
        .keys = links->keys,
        .background = links->system->options.background,
    };
    links->tunnels = skn_tunnels_open(&options, error);
    free(nodes);
    return links->tunnels ? SKN_OK : error->status;
}

void
skn_links_hear_tunnels(skn_links_t *links)
{
    char text[SKN_TUNNEL_TEXT_BYTES];
    while (links->tunnels && skn_tunnels_take(links->tunnels, text))
        skn_links_warn(links, text);
}
