/* endpoint_open.c - opens the sockets of a node safely, and closes them.
 *
 * The order makes it safe: everything that can be refused is checked before any
 * socket listens; the authenticator runs before the address is bound; a
 * throw-away key is refused before a peer is dialled.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "formats/text/system_error.h"
#include "transport/socket/auth_selftest.h"
#include "transport/endpoint/endpoint_internal.h"
#include "transport/socket/socket.h"
#include "transport/socket/byte_socket.h"

/* Lower effort, in the upper six bits of the type of service. */
#define SERVICE_CS1 0x20
/* Fragments that may wait for one peer and lane, on either side. At 64 KiB this
 * is 4 MiB: more than a link of 1 Gbit/s and 20 ms round trip holds. A
 * backstop: the link layer grants less. */
#define FRAGMENTS_MAX 64u
/* Two connections for each peer, as many earlier ones that have not been
 * detected as dead yet, and connections of strangers. */
#define ENDPOINT_CONNECTIONS_SPARE 64u
#define CONNECTIONS_PER_PEER 4u
/* Descriptors: for the context, the ROUTER, the door and their signals; for
 * each peer two DEALERs with monitors and their connections; a reserve. */
#define DESCRIPTORS_OWN 32u
#define DESCRIPTORS_PER_PEER 8u
#define DESCRIPTORS_SPARE 32u

/* --- checks before listening --------------------------------------------- */

static skn_status_t
refuse_without_keys(const char *what, const char *name, const char *address,
                    skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "%s%s%s is reachable from other machines, and this node "
                   "has no key: strangers could join",
                   what, name, address);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "links between machines are encrypted: make a key "
                         "for each node with skein keygen, and list it under "
                         "nodes:");
}

static skn_status_t
check_own(skn_endpoint_t *endpoint, const skn_endpoint_options_t *options,
          skn_error_t *error)
{
    skn_status_t status =
        skn_address_read(options->address, true, &endpoint->own, error);
    if (status == SKN_OK)
        status = skn_address_resolve(&endpoint->own, error);
    if (status == SKN_OK && !options->keys && !endpoint->own.loopback)
        status = refuse_without_keys("address ", "", options->address, error);
    return status;
}

static skn_status_t
check_key(const skn_endpoint_options_t *options, size_t k, skn_error_t *error)
{
    const skn_endpoint_peer_t *peer = &options->peers[k];
    if (!options->keys && peer->public_key) {
        (void)skn_fail(error, SKN_BAD_CONFIG,
                       "node %s has a key, and this node has none", peer->name);
        return skn_fail_hint(error, SKN_BAD_CONFIG,
                             "make a key with skein keygen, or remove the "
                             "keys of all nodes");
    }
    if (!options->keys)
        return SKN_OK;
    if (!peer->public_key || !skn_key_good(peer->public_key)) {
        (void)skn_fail(error, SKN_BAD_CONFIG,
                       "node %s has no key, and this "
                       "node has one",
                       peer->name);
        return skn_fail_hint(error, SKN_BAD_CONFIG,
                             "every node needs a key: make one with skein "
                             "keygen");
    }
    if (strcmp(peer->public_key, skn_keys_public(options->keys)) == 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "node %s has the key of this node", peer->name);
    for (size_t j = 0; j < k; j++)
        if (strcmp(options->peers[j].public_key, peer->public_key) == 0)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "nodes %s and %s have the same key",
                            options->peers[j].name, peer->name);
    return SKN_OK;
}

/* Parses the address at which a peer is dialled. Without keys it must be on
 * loopback for certain; with keys, libzmq resolves the name at each attempt,
 * since it may change. */
static skn_status_t
set_address(const skn_endpoint_t *endpoint, peer_t *peer, const char *text,
            skn_error_t *error)
{
    skn_address_t address, resolved;
    if (endpoint->keys && skn_byte_socket_is_local(text)) { /* of our tunnels */
        (void)snprintf(peer->address, sizeof(peer->address), "%s", text);
        peer->ipv6 = peer->is_unknown = false;
        return SKN_OK;
    }
    skn_status_t status = skn_address_read(text, false, &address, error);
    if (status != SKN_OK)
        return status;
    resolved = address;
    status = skn_address_resolve(&resolved, endpoint->keys ? NULL : error);
    if (!endpoint->keys) {
        if (status != SKN_OK)
            return status;
        if (!resolved.loopback)
            return refuse_without_keys("node ", peer->name, "", error);
        address = resolved;
    } else if (status == SKN_OK) {
        address.ipv6 = resolved.ipv6;
    }
    peer->is_unknown = status != SKN_OK;
    (void)snprintf(peer->address, sizeof(peer->address), "%s", address.text);
    peer->ipv6 = address.ipv6;
    return SKN_OK;
}

static void
init_line(peer_t *peer, skn_lane_t lane)
{
    endpoint_line_t *line = &peer->line[lane];
    line->peer = peer;
    line->lane = lane;
    line->dealer_source = (endpoint_source_t){ SOURCE_DEALER, false, -1, line };
    line->monitor_source =
        (endpoint_source_t){ SOURCE_MONITOR, false, -1, line };
}

static skn_status_t
add_peer(skn_endpoint_t *endpoint, const skn_endpoint_options_t *options,
         size_t k, skn_error_t *error)
{
    const skn_endpoint_peer_t *given = &options->peers[k];
    peer_t *peer = &endpoint->peer[k];
    for (size_t j = 0; j < k; j++)
        if (given->number == options->peers[j].number)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "nodes %s and %s have the same number %u",
                            options->peers[j].name, given->name, given->number);
    peer->number = given->number;
    (void)snprintf(peer->name, sizeof(peer->name), "%s", given->name);
    init_line(peer, SKN_LANE_DATA);
    init_line(peer, SKN_LANE_PULSE);
    endpoint->peer_count = k + 1;
    skn_status_t status = check_key(options, k, error);
    if (status != SKN_OK)
        return status;
    if (options->keys)
        (void)snprintf(peer->public_key, sizeof(peer->public_key), "%s",
                       given->public_key);
    return given->address ? set_address(endpoint, peer, given->address, error)
                          : SKN_OK;
}

static size_t
descriptors_open(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        (void)closedir(folder);
    return count > 3 ? count - 3 : 0; /* ".", "..", and the folder's own */
}

/* libzmq aborts when none is left while it binds (measured). */
static skn_status_t
check_descriptors(const skn_endpoint_t *endpoint, size_t peer_count,
                  skn_error_t *error)
{
    struct rlimit limit;
    size_t open = descriptors_open();
    size_t needed = DESCRIPTORS_OWN + peer_count * DESCRIPTORS_PER_PEER +
                    endpoint->connections_max + DESCRIPTORS_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        open + needed <= (size_t)limit.rlim_cur)
        return SKN_OK;
    (void)skn_fail(error, SKN_NO_MEMORY,
                   "%zu file descriptors are needed for %zu peers, but %zu of "
                   "%zu are in use",
                   needed, peer_count, open, (size_t)limit.rlim_cur);
    return skn_fail_hint(error, SKN_NO_MEMORY, "raise the limit: ulimit -n %zu",
                         open + needed);
}

static skn_status_t
check(skn_endpoint_t *endpoint, const skn_endpoint_options_t *options,
      skn_error_t *error)
{
    skn_status_t status = skn_socket_library(options->keys != NULL, error);
    if (status == SKN_OK)
        status = check_own(endpoint, options, error);
    for (size_t k = 0; k < options->peer_count && status == SKN_OK; k++)
        status = add_peer(endpoint, options, k, error);
    if (status == SKN_OK)
        status = check_descriptors(endpoint, options->peer_count, error);
    return status;
}

/* --- opening ------------------------------------------------------------- */

static skn_endpoint_t *
endpoint_new(const skn_endpoint_options_t *options, skn_error_t *error)
{
    skn_endpoint_t *endpoint = calloc(1, sizeof(*endpoint));
    size_t sources = 4 + options->peer_count * SKN_LANE_COUNT * 2;
    if (!endpoint) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for an endpoint");
        return NULL;
    }
    endpoint->epoll = endpoint->timer = endpoint->kick = -1;
    (void)zmq_msg_init(&endpoint->header);
    (void)zmq_msg_init(&endpoint->body);
    endpoint->body_bytes_max = options->body_bytes_max
                                   ? options->body_bytes_max
                                   : SKN_ENDPOINT_BODY_BYTES_MAX;
    endpoint->service = options->background ? SERVICE_CS1 : 0;
    endpoint->fragments_max =
        options->fragments_max ? options->fragments_max : FRAGMENTS_MAX;
    endpoint->connections_max =
        options->connections_max
            ? options->connections_max
            : ENDPOINT_CONNECTIONS_SPARE +
                  CONNECTIONS_PER_PEER * (uint32_t)options->peer_count;
    endpoint->peer = calloc(options->peer_count + 1, sizeof(*endpoint->peer));
    endpoint->ring = calloc(sources, sizeof(*endpoint->ring));
    endpoint->ring_room = sources;
    bool good = endpoint->peer && endpoint->ring;
    if (good && options->keys) {
        endpoint->keys = skn_keys_copy(options->keys, error);
        good = endpoint->keys;
    }
    if (good)
        return endpoint;
    (void)skn_fail(error, SKN_NO_MEMORY, "no memory for an endpoint");
    skn_endpoint_close(&endpoint);
    return NULL;
}

static skn_status_t
open_context(skn_endpoint_t *endpoint, skn_error_t *error)
{
    endpoint->epoll = epoll_create1(EPOLL_CLOEXEC);
    endpoint->timer =
        timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    endpoint->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (endpoint->epoll >= 0 && endpoint->timer >= 0 && endpoint->kick >= 0)
        endpoint->context = zmq_ctx_new();
    if (!endpoint->context)
        return skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                             "cannot create a ZeroMQ context");
    /* A DEALER, and two sockets of its monitor, for each lane; twice, since
     * closed ones are freed late. */
    (void)zmq_ctx_set(endpoint->context, ZMQ_MAX_SOCKETS,
                      (int)(64 + 12 * endpoint->peer_count));
    endpoint->timer_source =
        (endpoint_source_t){ SOURCE_TIMER, false, -1, NULL };
    endpoint->kick_source = (endpoint_source_t){ SOURCE_KICK, false, -1, NULL };
    skn_status_t status = skn_source_add(endpoint, &endpoint->timer_source,
                                         endpoint->timer, error);
    if (status == SKN_OK)
        status = skn_source_add(endpoint, &endpoint->kick_source,
                                endpoint->kick, error);
    return status;
}

static skn_authenticator_t *
authenticator_of(const skn_endpoint_t *endpoint, skn_error_t *error)
{
    size_t count = endpoint->peer_count;
    skn_authenticator_t *authenticator = NULL;
    skn_admitted_t *admitted = calloc(count + 1, sizeof(*admitted));
    for (size_t k = 0; admitted && k < count; k++) {
        admitted[k].peer = endpoint->peer[k].number;
        (void)memcpy(admitted[k].public_key, endpoint->peer[k].public_key,
                     SKN_KEY_TEXT_BYTES);
    }
    if (admitted)
        authenticator = skn_authenticator_new(endpoint->keys != NULL, admitted,
                                              count, error);
    else
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %zu keys", count);
    free(admitted);
    return authenticator;
}

/* Starts the thread that answers for the authenticator, before any socket is
 * bound. */
static skn_status_t
open_guard(skn_endpoint_t *endpoint, skn_error_t *error)
{
    skn_watch_options_t watched = {
        .receiver = endpoint->router_source.descriptor,
        .connections_max = endpoint->connections_max,
        .queue_bytes_max =
            (uint64_t)endpoint->fragments_max *
            (SKN_ENDPOINT_HEADER_BYTES_MAX + endpoint->body_bytes_max + 128),
    };
    skn_connection_guard_parts_t parts = { .context = endpoint->context,
                                           .keyed = endpoint->keys != NULL,
                                           .peer_count =
                                               (uint32_t)endpoint->peer_count };
    skn_status_t status = SKN_NO_MEMORY;
    parts.watch = skn_watch_new(&watched, error);
    if (parts.watch)
        parts.authenticator = authenticator_of(endpoint, error);
    if (parts.authenticator) {
        status = SKN_OK;
        status =
            skn_authenticator_start(parts.authenticator, parts.context, error);
    }
    if (status == SKN_OK)
        parts.monitor =
            skn_socket_monitor(endpoint->context, endpoint->router,
                               skn_connection_guard_events(), error);
    if (parts.monitor)
        endpoint->guard = skn_connection_guard_open(&parts, error);
    if (endpoint->guard) {
        endpoint->watch = parts.watch;
        endpoint->door_source =
            (endpoint_source_t){ SOURCE_DOOR, false, -1, NULL };
        return skn_source_add(endpoint, &endpoint->door_source,
                              skn_connection_guard_descriptor(endpoint->guard),
                              error);
    }
    skn_authenticator_destroy(&parts.authenticator);
    skn_watch_destroy(&parts.watch);
    if (parts.monitor)
        (void)zmq_close(parts.monitor);
    return error ? error->status : SKN_NO_MEMORY;
}

static skn_status_t
open_router(skn_endpoint_t *endpoint, skn_error_t *error)
{
    skn_socket_options_t options = {
        .type = ZMQ_ROUTER,
        .ipv6 = endpoint->own.ipv6,
        .frame_bytes = endpoint->body_bytes_max > SKN_ENDPOINT_HEADER_BYTES_MAX
                           ? endpoint->body_bytes_max
                           : SKN_ENDPOINT_HEADER_BYTES_MAX,
        .fragments_max = endpoint->fragments_max,
        .keys = endpoint->keys,
        .service = endpoint->service,
    };
    endpoint->router = skn_socket_open(endpoint->context, &options, error);
    if (!endpoint->router)
        return error ? error->status : SKN_NO_MEMORY;
    endpoint->router_source =
        (endpoint_source_t){ SOURCE_ROUTER, false, -1, NULL };
    return skn_source_add(endpoint, &endpoint->router_source,
                          skn_socket_descriptor(endpoint->router), error);
}

static skn_status_t
bind_router(skn_endpoint_t *endpoint, skn_error_t *error)
{
    if (!skn_socket_bind(endpoint->router, endpoint->own.text))
        return skn_byte_socket_cannot_listen(endpoint->own.text, zmq_errno(),
                                             error);
    if (!skn_socket_get(endpoint->router, ZMQ_LAST_ENDPOINT, endpoint->address,
                        sizeof(endpoint->address)))
        return skn_fail(error, SKN_UNAVAILABLE, "no address: %s",
                        zmq_strerror(zmq_errno()));
    const char *port = strrchr(endpoint->address, ':');
    skn_watch_port(endpoint->watch, (uint16_t)strtoul(port + 1, NULL, 10));
    return SKN_OK;
}

/* Connects with a throw-away key to the address that was just bound. */
static skn_status_t
send_selftest(const skn_endpoint_t *endpoint, skn_error_t *error)
{
    char address[SKN_ADDRESS_BYTES];
    skn_address_to_dial(endpoint->address, address);
    return endpoint->keys
               ? skn_auth_selftest(endpoint->context, address,
                                   skn_keys_public(endpoint->keys), error)
               : SKN_OK;
}

static skn_status_t
dial_peer(skn_endpoint_t *endpoint, peer_t *peer, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < SKN_LANE_COUNT && status == SKN_OK; k++) {
        status = skn_line_dial(endpoint, &peer->line[k], error);
        skn_source_ready(endpoint, &peer->line[k].monitor_source);
    }
    return status;
}

skn_endpoint_t *
skn_endpoint_open(const skn_endpoint_options_t *options, skn_error_t *error)
{
    if (options->peer_count > SKN_PEERS_MAX ||
        options->body_bytes_max > SKN_ENDPOINT_BODY_BYTES_MAX) {
        (void)skn_fail(error, SKN_BAD_CONFIG, "%zu peers, at most %u allowed",
                       options->peer_count, SKN_PEERS_MAX);
        return NULL;
    }
    skn_endpoint_t *endpoint = endpoint_new(options, error);
    if (!endpoint)
        return NULL;
    skn_status_t status = check(endpoint, options, error);
    if (status == SKN_OK)
        status = open_context(endpoint, error);
    if (status == SKN_OK)
        status = open_router(endpoint, error);
    if (status == SKN_OK)
        status = open_guard(endpoint, error);
    if (status == SKN_OK)
        status = bind_router(endpoint, error);
    if (status == SKN_OK)
        status = send_selftest(endpoint, error);
    if (status == SKN_OK)
        skn_connection_guard_begin(endpoint->guard);
    for (size_t k = 0; k < endpoint->peer_count && status == SKN_OK; k++)
        if (endpoint->peer[k].address[0])
            status = dial_peer(endpoint, &endpoint->peer[k], error);
    if (status != SKN_OK)
        skn_endpoint_close(&endpoint);
    return endpoint;
}

skn_status_t
skn_endpoint_connect(skn_endpoint_t *endpoint, uint32_t number,
                     const char *address, skn_error_t *error)
{
    for (size_t k = 0; k < endpoint->peer_count; k++) {
        peer_t *peer = &endpoint->peer[k];
        if (peer->number != number)
            continue;
        skn_status_t status = set_address(endpoint, peer, address, error);
        return status == SKN_OK ? dial_peer(endpoint, peer, error) : status;
    }
    return skn_fail(error, SKN_BAD_CONFIG, "there is no node %u", number);
}

bool
skn_endpoint_is_unknown(const skn_endpoint_t *endpoint, uint32_t number)
{
    for (size_t k = 0; k < endpoint->peer_count; k++)
        if (endpoint->peer[k].number == number)
            return endpoint->peer[k].is_unknown;
    return false;
}

/* --- closing ------------------------------------------------------------- */

static void
close_descriptor(int descriptor)
{
    if (descriptor >= 0)
        (void)close(descriptor);
}

void
skn_endpoint_close(skn_endpoint_t **closing)
{
    skn_endpoint_t *endpoint = *closing;
    if (!endpoint)
        return;
    (void)zmq_msg_close(&endpoint->header);
    (void)zmq_msg_close(&endpoint->body);
    for (size_t k = 0; k < endpoint->peer_count * SKN_LANE_COUNT; k++)
        skn_line_close(
            endpoint,
            &endpoint->peer[k / SKN_LANE_COUNT].line[k % SKN_LANE_COUNT],
            SKN_LINGER_MS);
    if (endpoint->router) {
        (void)zmq_socket_monitor(endpoint->router, NULL, 0);
        skn_socket_close(&endpoint->router, NULL, 0);
    }
    skn_connection_guard_close(&endpoint->guard);
    while (endpoint->context && zmq_ctx_term(endpoint->context) != 0 &&
           errno == EINTR)
        ; /* a signal only interrupts the wait */
    close_descriptor(endpoint->epoll);
    close_descriptor(endpoint->timer);
    close_descriptor(endpoint->kick);
    skn_keys_destroy(&endpoint->keys);
    free(endpoint->ring);
    free(endpoint->peer);
    free(endpoint);
    *closing = NULL;
}
