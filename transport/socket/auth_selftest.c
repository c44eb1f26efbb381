/* auth_selftest.c - tests, by connecting to ourselves, that unknown keys are
 * refused.
 *
 * If the authenticator does not run, or the library does not ask it, every
 * connection that knows our public key is admitted, and nothing else shows it
 * (measured): the reason for this file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/auth_selftest.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "transport/socket/socket.h"

#define CANARY_MS 3000

static uint64_t
now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static skn_status_t
judge(uint16_t event, uint32_t value, const char *address, skn_error_t *error)
{
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value == 400)
        return SKN_OK;
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "%s lets in strangers: a connection with a throw-away "
                       "key was not refused",
                       address);
    else
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "%s: the authenticator did not refuse a throw-away key "
                       "as it should (event %#x, %u)",
                       address, event, value);
    return skn_fail_hint(error, SKN_UNAVAILABLE,
                         "nodes do not run without working authentication: "
                         "check libzmq with skein doctor");
}

static skn_status_t
wait_for_verdict(void *monitor, const char *address, skn_error_t *error)
{
    uint16_t event = 0;
    uint32_t value = 0;
    zmq_pollitem_t item = { monitor, 0, ZMQ_POLLIN, 0 };
    uint64_t end_ms = now_ms() + CANARY_MS;
    /* One event is enough: the first to arrive is the verdict. A profiler of
     * the host may interrupt the wait. */
    for (uint64_t at_ms = now_ms(); at_ms < end_ms; at_ms = now_ms()) {
        int ready = zmq_poll(&item, 1, (long)(end_ms - at_ms));
        if (ready > 0 && skn_monitor_take(monitor, &event, &value))
            return judge(event, value, address, error);
        if (ready < 0 && errno != EINTR)
            break;
    }
    return skn_fail(error, SKN_UNAVAILABLE,
                    "%s: the authenticator does not answer", address);
}

skn_status_t
skn_auth_selftest(void *context, const char *address, const char *server_key,
                  skn_error_t *error)
{
    skn_status_t status = SKN_UNAVAILABLE;
    void *socket = NULL, *monitor = NULL;
    skn_keys_t *keys = skn_keys_new(error);
    if (!keys)
        return error ? error->status : SKN_NO_MEMORY;
    skn_socket_options_t options = {
        .type = ZMQ_DEALER,
        .ipv6 = strchr(address, '[') != NULL,
        .frame_bytes = SKN_FRAME_OVERHEAD_BYTES,
        .fragments_max = 1,
        .keys = keys,
        .server_key = server_key,
    };
    socket = skn_socket_open(context, &options, error);
    if (socket)
        monitor = skn_socket_monitor(
            context, socket,
            ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_DISCONNECTED,
            error);
    if (monitor && skn_socket_connect(socket, address))
        status = wait_for_verdict(monitor, address, error);
    else if (monitor)
        status = skn_fail(error, SKN_UNAVAILABLE, "cannot dial %s: %s", address,
                          zmq_strerror(zmq_errno()));
    skn_socket_close(&socket, &monitor, 0);
    skn_keys_destroy(&keys);
    return status;
}
