/* socket.c - opens sockets between nodes with all their options.
 *
 * This file owns: the options of these sockets, each of which was found
 * necessary by measurement, and the monitors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/socket.h"

#include "formats/text/system_error.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* In zmq.h behind its draft guard, in the library since 4.3.0: with it, a
 * socket with ZAP admits no connection while no authenticator runs. */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

/* 4.3.3 closed five holes that strangers could exploit. */
#define LIBZMQ_MIN ZMQ_MAKE_VERSION(4, 3, 3)

skn_status_t
skn_socket_library(bool keyed, skn_error_t *error)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    if (ZMQ_MAKE_VERSION(major, minor, patch) < LIBZMQ_MIN)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "libzmq is %d.%d.%d, but nodes need 4.3.3 or later",
                        major, minor, patch);
    if (keyed && zmq_has("curve") != 1)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "libzmq was built without CURVE, which nodes need");
    return SKN_OK;
}

bool
skn_socket_bind(void *socket, const char *address)
{
    return TEMP_FAILURE_RETRY(zmq_bind(socket, address)) == 0;
}

bool
skn_socket_connect(void *socket, const char *address)
{
    return TEMP_FAILURE_RETRY(zmq_connect(socket, address)) == 0;
}

bool
skn_socket_get(void *socket, int option, void *value, size_t bytes)
{
    return TEMP_FAILURE_RETRY(zmq_getsockopt(socket, option, value, &bytes)) ==
           0;
}

int
skn_socket_take(void *socket, void *frame, size_t bytes)
{
    return (int)TEMP_FAILURE_RETRY(
        zmq_recv(socket, frame, bytes, ZMQ_DONTWAIT));
}

static bool
set_number(void *socket, int option, int number)
{
    return zmq_setsockopt(socket, option, &number, sizeof(number)) == 0;
}

static bool
set_text(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text)) == 0;
}

/* O(option, value) for every socket. */
#define NUMBERS(O)                                                             \
    O(ZMQ_LINGER, SKN_LINGER_MS)                                               \
    O(ZMQ_HEARTBEAT_IVL, SKN_HEARTBEAT_MS)                                     \
    O(ZMQ_HEARTBEAT_TIMEOUT, SKN_SILENCE_MS)                                   \
    O(ZMQ_HEARTBEAT_TTL, SKN_SILENCE_MS)                                       \
    O(ZMQ_CONNECT_TIMEOUT, SKN_CONNECT_MS)                                     \
    O(ZMQ_RECONNECT_IVL, SKN_REDIAL_MS_MIN)                                    \
    O(ZMQ_RECONNECT_IVL_MAX, SKN_REDIAL_MS_MAX)                                \
    O(ZMQ_HANDSHAKE_IVL,                                                       \
      options->handshake_ms > 0 ? options->handshake_ms : SKN_HANDSHAKE_MS)    \
    O(ZMQ_IPV6, options->ipv6)                                                 \
    O(ZMQ_TOS, options->service)                                               \
    /* A send without a connection fails at the caller instead of being \
     * queued. */      \
    O(ZMQ_IMMEDIATE, 1)                                                        \
    O(ZMQ_SNDHWM, (int)options->fragments_max)                                 \
    /* A DEALER receives nothing; if it does all the same, few are queued. */  \
    O(ZMQ_RCVHWM, options->type == ZMQ_ROUTER || options->hears                \
                      ? (int)options->fragments_max                            \
                      : 1)

static const char *
set_options(void *socket, const skn_socket_options_t *options)
{
    int64_t frame_bytes =
        (int64_t)options->frame_bytes + SKN_FRAME_OVERHEAD_BYTES;
#define O(option, value)                                                       \
    if (!set_number(socket, option, value))                                    \
        return #option;
    NUMBERS(O)
#undef O
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_bytes,
                       sizeof(frame_bytes)) != 0)
        return "ZMQ_MAXMSGSIZE";
    if (!set_text(socket, ZMQ_ZAP_DOMAIN, SKN_ZAP_DOMAIN))
        return "ZMQ_ZAP_DOMAIN";
    /* If the library does not know it, the self-test still detects the fault.
     * */
    if (!set_number(socket, ZMQ_ZAP_ENFORCE_DOMAIN, 1) && errno != EINVAL)
        return "ZMQ_ZAP_ENFORCE_DOMAIN";
    return NULL;
}

static const char *
set_keys(void *socket, const skn_socket_options_t *options)
{
    const skn_keys_t *keys = options->keys;
    if (!set_text(socket, ZMQ_CURVE_PUBLICKEY, skn_keys_public(keys)))
        return "ZMQ_CURVE_PUBLICKEY";
    if (!set_text(socket, ZMQ_CURVE_SECRETKEY, skn_keys_secret(keys)))
        return "ZMQ_CURVE_SECRETKEY";
    if (options->server_key) {
        if (!set_text(socket, ZMQ_CURVE_SERVERKEY, options->server_key))
            return "ZMQ_CURVE_SERVERKEY";
    } else if (!set_number(socket, ZMQ_CURVE_SERVER, 1)) {
        return "ZMQ_CURVE_SERVER";
    }
    return NULL;
}

void *
skn_socket_open(void *context, const skn_socket_options_t *options,
                skn_error_t *error)
{
    void *socket = zmq_socket(context, options->type);
    if (!socket) {
        (void)skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                            "cannot create a ZeroMQ socket");
        return NULL;
    }
    const char *refused = set_options(socket, options);
    if (!refused && options->keys)
        refused = set_keys(socket, options);
    if (refused) {
        (void)skn_fail(error, SKN_UNAVAILABLE, "libzmq refuses %s: %s", refused,
                       zmq_strerror(errno));
        skn_socket_close(&socket, NULL, 0);
    }
    return socket;
}

void *
skn_socket_monitor(void *context, void *socket, int events, skn_error_t *error)
{
    static _Atomic uint64_t number;
    char name[64];
    (void)snprintf(name, sizeof(name), "inproc://monitor-%llu",
                   (unsigned long long)atomic_fetch_add(&number, 1));
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    if (!monitor) {
        (void)skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                            "cannot create a ZeroMQ socket");
        return NULL;
    }
    /* Unlimited: a full queue would stop libzmq's own thread. It grows at most
     * at the rate of connections, and `events` keeps it short. */
    if (!set_number(monitor, ZMQ_RCVHWM, 0) ||
        !set_number(monitor, ZMQ_LINGER, 0) ||
        TEMP_FAILURE_RETRY(zmq_socket_monitor(socket, name, events)) != 0 ||
        !skn_socket_connect(monitor, name)) {
        (void)skn_fail(error, SKN_UNAVAILABLE, "cannot monitor a socket: %s",
                       zmq_strerror(errno));
        (void)zmq_close(monitor);
        return NULL;
    }
    return monitor;
}

/* An event is two frames: 16 bits of event and 32 of value, then an address. */
bool
skn_monitor_take(void *monitor, uint16_t *event, uint32_t *value)
{
    unsigned char frame[6];
    char address[SKN_FRAME_OVERHEAD_BYTES];
    if (skn_socket_take(monitor, frame, sizeof(frame)) < 0)
        return false;
    (void)memcpy(event, frame, sizeof(*event));
    (void)memcpy(value, frame + sizeof(*event), sizeof(*value));
    (void)skn_socket_take(monitor, address, sizeof(address));
    return true;
}

void
skn_socket_close(void **socket, void **monitor, int linger_ms)
{
    if (*socket) {
        (void)set_number(*socket, ZMQ_LINGER, linger_ms);
        if (monitor && *monitor)
            (void)zmq_socket_monitor(*socket, NULL, 0);
        (void)zmq_close(*socket);
        *socket = NULL;
    }
    if (monitor && *monitor) {
        (void)zmq_close(*monitor);
        *monitor = NULL;
    }
}

int
skn_socket_descriptor(void *socket)
{
    int descriptor = -1;
    (void)skn_socket_get(socket, ZMQ_FD, &descriptor, sizeof(descriptor));
    return descriptor;
}
