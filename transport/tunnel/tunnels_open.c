/* tunnels_open.c - opens and closes the tunnels of a node.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "transport/tunnel/tunnels_internal.h"

/* As for a link's sockets that give way (endpoint_open.c). */
#define SOCKET_CLASS_CS1 0x20
#define LOOPBACK_ANY "tcp://127.0.0.1:0"
/* Descriptors for the rest of the process, and for libzmq, which aborts when
 * none is left while it binds. */
#define DESCRIPTORS_ELSE 256u

static skn_status_t
copy_nodes(skn_tunnels_t *tunnels, const skn_tunnels_options_t *options,
           skn_error_t *error)
{
    if (options->node_count > SKN_CLUSTER_NODES_MAX ||
        options->node >= options->node_count)
        return skn_fail(error, SKN_BAD_CONFIG, "%u nodes, at most %u allowed",
                        options->node_count, SKN_CLUSTER_NODES_MAX);
    for (uint32_t k = 0; k < options->node_count; k++) {
        const skn_tunnel_node_t *given = &options->nodes[k];
        tunnel_place_t *place = &tunnels->place[k];
        (void)snprintf(place->name, sizeof(place->name), "%s", given->name);
        (void)snprintf(place->address, sizeof(place->address), "%s",
                       given->address);
        (void)snprintf(place->public_key, sizeof(place->public_key), "%s",
                       given->public_key);
        place->via = given->via;
        if (given->address[0])
            continue;
        tunnels->relays = tunnels->relays || given->via == options->node;
        if (given->via >= options->node_count ||
            !options->nodes[given->via].address[0])
            return skn_fail(error, SKN_BAD_CONFIG,
                            "node %s has no address, and no node relays to it",
                            given->name);
    }
    return SKN_OK;
}

/* The most that there can be at once. At a hub: connections of strangers, those
 * from each peer, and for each node without an address a control connection,
 * the streams that this node sends to it, and those that such nodes send to
 * each other through it. */
static size_t
count_passages(const skn_tunnels_t *tunnels)
{
    size_t outbound = 0, relayed = 0, peers = tunnels->node_count - 1;
    for (uint32_t k = 0; k < tunnels->node_count; k++) {
        const tunnel_place_t *place = &tunnels->place[k];
        outbound += k != tunnels->node && !place->address[0];
        relayed += !place->address[0] && place->via == tunnels->node;
    }
    if (!tunnels->is_hub)
        return LANES_TWICE * (peers + outbound) +
               LINES_TWICE * (peers - outbound);
    return GREETINGS_MAX + STRANGERS_MAX + LANES_TWICE * (peers + outbound) +
           LINES_TWICE * outbound + LANES_TWICE * relayed * outbound;
}

static skn_status_t
check_descriptors(const skn_tunnels_t *tunnels, skn_error_t *error)
{
    struct rlimit limit;
    size_t needed = 2 * tunnels->passage_max + DESCRIPTORS_ELSE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        needed <= (size_t)limit.rlim_cur)
        return SKN_OK;
    (void)skn_fail(error, SKN_NO_MEMORY,
                   "%zu file descriptors are needed for nodes without an "
                   "address, but %zu are allowed",
                   needed, (size_t)limit.rlim_cur);
    return skn_fail_hint(error, SKN_NO_MEMORY, "raise the limit: ulimit -n %zu",
                         needed);
}

static skn_status_t
make_room(skn_tunnels_t *tunnels, skn_error_t *error)
{
    tunnels->passage_max = count_passages(tunnels);
    tunnels->passage = calloc(tunnels->passage_max, sizeof(passage_t));
    for (size_t k = 0; tunnels->passage && k < tunnels->passage_max; k++)
        tunnels->passage[k].descriptor = -1;
    tunnels->polled =
        calloc(skn_tunnels_polled_max(tunnels), sizeof(struct pollfd));
    tunnels->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!tunnels->passage || !tunnels->polled || tunnels->stop_event < 0)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for tunnels");
    return check_descriptors(tunnels, error);
}

/* --- a hub --------------------------------------------------------------- */

static skn_status_t
open_line(skn_tunnels_t *tunnels, skn_error_t *error)
{
    const char *key[SKN_CLUSTER_NODES_MAX];
    for (uint32_t k = 0; k < tunnels->node_count; k++)
        if (!tunnels->place[k].address[0]) {
            key[tunnels->member_count] = tunnels->place[k].public_key;
            tunnels->member[tunnels->member_count++] = k;
        }
    const skn_control_options_t options = {
        .address = LOOPBACK_ANY,
        .keys = tunnels->keys,
        .member_keys = key,
        .member_count = tunnels->member_count,
    };
    tunnels->hub = skn_control_listen(&options, error);
    if (!tunnels->hub)
        return error->status;
    return skn_byte_socket_find(skn_control_address(tunnels->hub),
                                &tunnels->hub_at)
               ? SKN_OK
               : skn_fail(error, SKN_INTERNAL, "no route to the hub");
}

static skn_status_t
open_hub(skn_tunnels_t *tunnels, skn_error_t *error)
{
    skn_address_t own;
    skn_status_t status = skn_address_read(
        tunnels->place[tunnels->node].address, true, &own, error);
    if (status == SKN_OK)
        status = skn_address_resolve(&own, error);
    if (status != SKN_OK)
        return status;
    tunnels->book = skn_rendezvous_new(error);
    if (!tunnels->book)
        return SKN_NO_MEMORY;
    tunnels->listener = skn_byte_socket_listen(&own, error);
    return tunnels->listener < 0 ? error->status : open_line(tunnels, error);
}

/* --- a node without an address ------------------------------------------ */

/* Resolves the addresses of its hubs; for names it only starts to. */
static skn_status_t
find_hubs(skn_tunnels_t *tunnels, skn_error_t *error)
{
    const char *address[SKN_CLUSTER_NODES_MAX];
    bool any = false;
    for (uint32_t k = 0; k < tunnels->node_count; k++) {
        tunnel_place_t *place = &tunnels->place[k];
        address[k] = place->address;
        place->named = place->address[0] &&
                       !skn_byte_socket_read(place->address, &place->at);
        any = any || place->named;
    }
    if (any)
        tunnels->resolver =
            skn_resolver_new(address, tunnels->node_count, error);
    if (any && !tunnels->resolver)
        return SKN_NO_MEMORY;
    for (uint32_t k = 0; k < tunnels->node_count; k++)
        if (tunnels->place[k].named)
            skn_resolver_ask(tunnels->resolver, k);
    return SKN_OK;
}

/* --- all ----------------------------------------------------------------- */

/* Opens the local names: of nodes without an address, which links dial; and at
 * such a node those of its hubs, which its control connections dial. */
static skn_status_t
open_places(skn_tunnels_t *tunnels, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < tunnels->node_count && status == SKN_OK; k++) {
        tunnel_place_t *place = &tunnels->place[k];
        bool outbound = !place->address[0];
        if (k == tunnels->node || (!outbound && tunnels->is_hub))
            continue;
        if (outbound) {
            place->listener = skn_byte_socket_listen_local(place->local, error);
            status = place->listener < 0 ? error->status : SKN_OK;
            continue;
        }
        place->line_listener =
            skn_byte_socket_listen_local(place->line_local, error);
        status = place->line_listener < 0 ? error->status
                                          : skn_out_dial(tunnels, k, error);
    }
    return status;
}

skn_tunnels_t *
skn_tunnels_open(const skn_tunnels_options_t *options, skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_tunnels_t *tunnels = calloc(1, sizeof(*tunnels));
    if (!error)
        error = &own;
    if (!tunnels) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for tunnels");
        return NULL;
    }
    (void)pthread_mutex_init(&tunnels->lock, NULL);
    tunnels->listener = tunnels->stop_event = -1;
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        tunnels->place[k].listener = tunnels->place[k].line_listener = -1;
    tunnels->node = options->node;
    tunnels->node_count = options->node_count;
    tunnels->service = options->background ? SOCKET_CLASS_CS1 : 0;
    skn_status_t status = copy_nodes(tunnels, options, error);
    if (status == SKN_OK) {
        tunnels->is_hub = tunnels->place[tunnels->node].address[0] != '\0';
        tunnels->keys = skn_keys_copy(options->keys, error);
        status = tunnels->keys ? make_room(tunnels, error) : SKN_NO_MEMORY;
    }
    if (status == SKN_OK)
        status = tunnels->is_hub ? open_hub(tunnels, error)
                                 : find_hubs(tunnels, error);
    if (status == SKN_OK)
        status = open_places(tunnels, error);
    if (status != SKN_OK)
        skn_tunnels_close(&tunnels);
    return tunnels;
}

static void
close_descriptor(int descriptor)
{
    if (descriptor >= 0)
        (void)close(descriptor);
}

void
skn_tunnels_close(skn_tunnels_t **closing)
{
    skn_tunnels_t *tunnels = *closing;
    if (!tunnels)
        return;
    if (tunnels->has_thread) {
        (void)eventfd_write(tunnels->stop_event, 1);
        (void)pthread_join(tunnels->thread, NULL);
    }
    for (size_t k = 0; tunnels->passage && k < tunnels->passage_max; k++)
        skn_passage_end(tunnels, &tunnels->passage[k]);
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++) {
        tunnel_place_t *place = &tunnels->place[k];
        skn_control_close(&place->line);
        close_descriptor(place->listener);
        close_descriptor(place->line_listener);
    }
    skn_control_close(&tunnels->hub);
    close_descriptor(tunnels->listener);
    close_descriptor(tunnels->stop_event);
    skn_rendezvous_destroy(&tunnels->book);
    skn_resolver_destroy(&tunnels->resolver);
    skn_keys_destroy(&tunnels->keys);
    (void)pthread_mutex_destroy(&tunnels->lock);
    free(tunnels->passage);
    free(tunnels->polled);
    free(tunnels);
    *closing = NULL;
}

const char *
skn_tunnels_own_address(const skn_tunnels_t *tunnels)
{
    (void)tunnels;
    return LOOPBACK_ANY;
}

const char *
skn_tunnels_address(const skn_tunnels_t *tunnels, uint32_t node)
{
    const tunnel_place_t *place = &tunnels->place[node];
    return place->local[0] ? place->local : place->address;
}
