/* link_open.c - creates and destroys the link driver, and opens its sockets.
 *
 * The host's thread creates and destroys it; the driver's own thread opens the
 * sockets to other nodes and reports if that fails.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "actors/links/links_internal.h"
#include "actors/links/routes.h"
#include "actors/protocol/workspace.h"
#include "kernels/kernels.h"
#include "transport/socket/clock.h"

/* More than the driver queues (link_driver.c) plus the largest message. */
#define LINK_QUEUE_BYTES_MAX ((size_t)1 << 30)
#define POOL_IDLE_BYTES ((size_t)256 << 20)
#define WAIT_S_DEFAULT 120u

/* --- towards the other nodes --------------------------------------------- */

/* Lists the peers for the endpoint. */
static skn_status_t
list_peers(skn_links_t *links, skn_endpoint_options_t *options,
           skn_endpoint_peer_t *peers, char (*keys)[SKN_KEY_TEXT_BYTES],
           skn_error_t *error)
{
    const skn_wired_node_t *nodes = links->system->wiring->nodes;
    skn_status_t status = SKN_OK;
    options->peers = peers;
    for (uint32_t k = 0; k < links->node_count && status == SKN_OK; k++) {
        if (links->keys)
            status = skn_key_load_public(nodes[k].key, keys[k], error);
        if (k == links->node)
            continue;
        peers[options->peer_count++] = (skn_endpoint_peer_t){
            .number = k,
            .name = nodes[k].name,
            .address = nodes[k].address,
            .public_key = links->keys ? keys[k] : NULL,
        };
    }
    return status;
}

/* Opens the sockets, with tunnels if a node cannot be dialled. */
static skn_status_t
open_both(skn_links_t *links, skn_endpoint_options_t *options,
          skn_endpoint_peer_t *peers, const char (*keys)[SKN_KEY_TEXT_BYTES],
          skn_error_t *error)
{
    bool outbound = skn_wired_outbound(links->system->wiring);
    skn_status_t status =
        outbound ? skn_links_open_tunnels(links, keys, error) : SKN_OK;
    if (status != SKN_OK)
        return status;
    if (outbound)
        options->address = skn_tunnels_own_address(links->tunnels);
    for (size_t k = 0; k < options->peer_count && outbound; k++)
        peers[k].address = skn_tunnels_address(links->tunnels, peers[k].number);
    links->endpoint = skn_endpoint_open(options, error);
    if (!links->endpoint)
        return error->status;
    return outbound
               ? skn_tunnels_start(links->tunnels,
                                   skn_endpoint_address(links->endpoint), error)
               : SKN_OK;
}

skn_status_t
skn_links_open_endpoint(skn_links_t *links, skn_error_t *error)
{
    const skn_wired_node_t *nodes = links->system->wiring->nodes;
    skn_endpoint_peer_t *peers = calloc(links->node_count, sizeof(*peers));
    char(*keys)[SKN_KEY_TEXT_BYTES] = calloc(links->node_count, sizeof(*keys));
    skn_status_t status =
        peers && keys ? SKN_OK
                      : skn_fail(error, SKN_NO_MEMORY, "no memory for %u peers",
                                 links->node_count);
    skn_endpoint_options_t options = {
        .name = nodes[links->node].name,
        .address = nodes[links->node].address,
        .background = links->system->options.background,
    };
    if (status == SKN_OK && nodes[links->node].key[0]) {
        links->keys = skn_keys_load(nodes[links->node].key, error);
        options.keys = links->keys;
        if (!links->keys)
            status = error->status;
    }
    if (status == SKN_OK)
        status = list_peers(links, &options, peers, keys, error);
    if (status == SKN_OK)
        status = open_both(links, &options, peers,
                           (const char(*)[SKN_KEY_TEXT_BYTES])keys, error);
    if (status == SKN_OK) {
        int from_nodes = skn_endpoint_descriptor(links->endpoint);
        int from_actors = skn_inbox_descriptor(links->inbox);
        links->polled[0] = (struct pollfd){ from_nodes, POLLIN, 0 };
        links->polled[1] = (struct pollfd){ from_actors, POLLIN, 0 };
    }
    free(peers);
    free(keys);
    return status;
}

/* --- creating and destroying --------------------------------------------- */

/* Reads 32 hex digits, or none. */
static skn_status_t
read_run(const char *text, uint8_t *run, skn_error_t *error)
{
    for (size_t k = 0; text && text[0] && k < SKN_LINK_RUN_BYTES; k++) {
        unsigned byte;
        if (strlen(text) != 2 * SKN_LINK_RUN_BYTES ||
            sscanf(text + 2 * k, "%2x", &byte) != 1)
            return skn_fail(error, SKN_USAGE,
                            "the run id '%.40s' is not 32 hex digits", text);
        run[k] = (uint8_t)byte;
    }
    return SKN_OK;
}

/* Hashes the schemas of all pipes; 0 if memory is short, which fails the run on
 * comparison with other nodes. */
static uint64_t
hash_schemas(const skn_wiring_t *wiring)
{
    const skn_schema_t **schemas =
        calloc((size_t)wiring->pipe_count + 1, sizeof(skn_schema_t *));
    uint32_t count = 0;
    for (uint32_t p = 0; schemas && p < wiring->pipe_count; p++) {
        uint32_t k = 0;
        while (k < count && schemas[k] != wiring->pipes[p].schema)
            k++;
        schemas[k] = wiring->pipes[p].schema;
        count += k == count;
    }
    uint64_t hash = schemas ? skn_schemas_hash(schemas) : 0;
    free(schemas);
    return hash;
}

/* The size of a fragment: at most 0.1 s of the allowed bandwidth, as pace.c
 * does with the measured rate, so that fragments do not delay others for long.
 * 0: the default. */
static size_t
fragment_bytes(uint64_t bytes_per_s)
{
    uint64_t bytes = bytes_per_s / 10;
    if (bytes_per_s == 0 || bytes > SKN_FRAGMENT_BYTES_MAX)
        return 0;
    return bytes > SKN_FRAGMENT_BYTES_MIN ? bytes : SKN_FRAGMENT_BYTES_MIN;
}

static skn_status_t
make_links(skn_links_t *links, skn_error_t *error)
{
    const skn_start_options_t *options = &links->system->options;
    const skn_wired_node_t *nodes = links->system->wiring->nodes;
    skn_link_options_t link = {
        .node = links->node,
        .node_name = nodes[links->node].name,
        .config_hash = options->config_hash,
        .data_hash = options->data_hash,
        .purpose = options->predict  ? SKN_LINK_PREDICT
                   : options->resume ? SKN_LINK_RESUME
                                     : SKN_LINK_BEGIN,
        .schemas_hash = hash_schemas(links->system->wiring),
        .fragment_bytes = fragment_bytes(options->send_bytes_per_s),
        .queue_bytes_max = LINK_QUEUE_BYTES_MAX,
    };
    skn_status_t status = read_run(options->run_id, link.run, error);
    if (status == SKN_OK && links->node == 0 && !options->run_id &&
        getrandom(link.run, sizeof(link.run), 0) != sizeof(link.run))
        status = skn_fail(error, SKN_UNAVAILABLE,
                          "cannot get random numbers: %s", strerror(errno));
    while (status == SKN_OK && link.incarnation == 0)
        if (getrandom(&link.incarnation, sizeof(link.incarnation), 0) < 0)
            status = skn_fail(error, SKN_UNAVAILABLE,
                              "cannot get random numbers: %s", strerror(errno));
    for (uint32_t k = 0; k < links->node_count && status == SKN_OK; k++) {
        skn_link_peer_t *peer = &links->peers[k];
        if (k == links->node)
            continue;
        link.peer = k;
        link.peer_name = nodes[k].name;
        *peer = (skn_link_peer_t){ .number = k, .node = &nodes[k] };
        peer->held =
            malloc(SKN_ENDPOINT_HEADER_BYTES_MAX + SKN_ENDPOINT_BODY_BYTES_MAX);
        if (!peer->held)
            status = skn_fail(error, SKN_NO_MEMORY, "no memory for a fragment");
        peer->link = peer->held ? skn_link_new(&link, error) : NULL;
        if (peer->held && !peer->link)
            status = error->status;
    }
    return status;
}

static skn_status_t
open_sockets(skn_links_t *links, skn_error_t *error)
{
    const skn_system_t *system = links->system;
    uint32_t own = skn_system_links_number(system);
    uint32_t host = skn_system_host_number(system);
    links->inbox = skn_system_inbox(system, own, error);
    if (links->inbox)
        links->orders = skn_system_outlet(system, own, error);
    if (links->orders)
        links->host = skn_system_outlet(system, host, error);
    return links->host ? SKN_OK : SKN_NO_MEMORY;
}

skn_links_t *
skn_links_make(skn_system_t *system, skn_error_t *error)
{
    const skn_kernels_t *kernels = skn_kernels_pick(error);
    skn_links_t *links = kernels ? calloc(1, sizeof(*links)) : NULL;
    if (!links) {
        if (kernels)
            skn_fail(error, SKN_NO_MEMORY, "no memory for the links");
        return NULL;
    }
    links->system = system;
    links->crossings = &system->crossings;
    links->node = system->options.node;
    links->node_count = system->node_count;
    links->seed = skn_links_seed(system->wiring);
    links->wait_ns = system->options.wait_s * SKN_SECOND_NS;
    if (links->wait_ns == 0)
        links->wait_ns = WAIT_S_DEFAULT * SKN_SECOND_NS;
    links->peers = calloc(links->node_count, sizeof(*links->peers));
    links->owing = calloc((size_t)system->crossings.import_room + 1,
                          sizeof(*links->owing));
    links->guards = calloc((size_t)system->crossings.import_room + 1,
                           sizeof(*links->guards));
    links->askers =
        calloc((size_t)system->actor_count + 1, sizeof(*links->askers));
    links->pool = skn_pool_new(POOL_IDLE_BYTES, error);
    links->kernels = kernels;
    links->coder = skn_coder_new(kernels, error);
    skn_status_t status =
        links->peers && links->owing && links->guards && links->askers &&
                links->pool && links->coder
            ? SKN_OK
            : skn_fail(error, SKN_NO_MEMORY, "no memory for the links");
    if (status == SKN_OK)
        status = make_links(links, error);
    if (status == SKN_OK)
        status = open_sockets(links, error);
    if (status != SKN_OK)
        skn_links_destroy(&links);
    return links;
}

void
skn_links_drop(const skn_parcel_t *parcel)
{
    if (parcel->type == SKN_PARCEL_MESSAGE)
        skn_message_drop(parcel->pointer);
    if (parcel->type == SKN_PARCEL_FAILED)
        free(parcel->pointer);
}

void
skn_links_destroy(skn_links_t **links)
{
    skn_parcel_t parcel;
    if (!*links)
        return;
    while ((*links)->inbox && skn_inbox_take((*links)->inbox, &parcel))
        skn_links_drop(&parcel);
    for (uint32_t k = 0; (*links)->peers && k < (*links)->node_count; k++) {
        skn_link_destroy(&(*links)->peers[k].link);
        free((*links)->peers[k].held);
    }
    for (uint32_t k = 0; (*links)->askers && k < (*links)->system->actor_count;
         k++)
        if ((*links)->askers[k])
            skn_outlet_close(&(*links)->askers[k]);
    free((*links)->askers);
    skn_outlet_close(&(*links)->orders);
    skn_outlet_close(&(*links)->host);
    skn_inbox_close(&(*links)->inbox);
    skn_keys_destroy(&(*links)->keys);
    skn_coder_destroy(&(*links)->coder);
    skn_rounding_probe_fini(&(*links)->probe);
    skn_pool_destroy(&(*links)->pool);
    free((*links)->peers);
    free((*links)->owing);
    free((*links)->guards);
    free(*links);
    *links = NULL;
}
