/* link_tunnels.c - opens tunnels for links to nodes that cannot be dialled.
 *
 * Dialling and relaying depend only on the list of nodes, so that all nodes
 * agree.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/links/links_internal.h"
#include "actors/links/routes.h"
#include "transport/socket/clock.h"

skn_status_t
skn_links_open_tunnels(skn_links_t *links,
                       const char (*keys)[SKN_KEY_TEXT_BYTES],
                       skn_error_t *error)
{
    const skn_wiring_t *wiring = links->system->wiring;
    skn_tunnel_node_t *nodes = calloc(links->node_count, sizeof(*nodes));
    if (!nodes)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u nodes",
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

/* --- silent relays ------------------------------------------------------- */

/* A pulse is sent every second, so a live and reachable node is never silent
 * for this long. */
#define RELAY_DOUBT_NS UINT64_C(2000000000)

static const skn_link_peer_t *
silent(const skn_links_t *links, uint32_t node)
{
    skn_link_counts_t counts;
    if (node == SKN_ROUTE_NOBODY || node == links->node)
        return NULL;
    const skn_link_peer_t *relay = &links->peers[node];
    skn_link_state_t state = skn_link_state(relay->link);
    skn_link_count(relay->link, &counts);
    bool heard = state == SKN_LINK_NEW ? !relay->is_silent
                                       : counts.silent_ns < RELAY_DOUBT_NS;
    return heard && state != SKN_LINK_DEAD ? NULL : relay;
}

const skn_link_peer_t *
skn_links_silent_relay(const skn_links_t *links, const skn_link_peer_t *peer)
{
    const skn_wiring_t *wiring = links->system->wiring;
    const skn_link_peer_t *there =
        silent(links, skn_route_relay(wiring, links->node, peer->number));
    return there ? there
                 : silent(links,
                          skn_route_relay(wiring, peer->number, links->node));
}

void
skn_links_why_dead(const skn_links_t *links, const skn_link_peer_t *peer,
                   skn_error_t *error)
{
    skn_link_counts_t counts;
    const skn_link_peer_t *relay = skn_links_silent_relay(links, peer);
    *error = *skn_link_failure(peer->link);
    skn_link_count(peer->link, &counts);
    if (!relay || error->status != SKN_UNAVAILABLE ||
        counts.silent_ns < RELAY_DOUBT_NS)
        return;
    skn_link_count(relay->link, &counts);
    (void)skn_fail(error, SKN_UNAVAILABLE,
                   "node '%s', which relays between this node and '%s', has "
                   "not answered for %.1f s",
                   relay->node->name, peer->node->name,
                   (double)counts.silent_ns / SKN_SECOND_NS);
    (void)skn_fail_hint(error, SKN_UNAVAILABLE,
                        "check that it runs and that its machine is reachable");
}

void
skn_links_hear_tunnels(skn_links_t *links)
{
    char text[SKN_TUNNEL_TEXT_BYTES];
    while (links->tunnels && skn_tunnels_take(links->tunnels, text))
        skn_links_warn(links, text);
}
