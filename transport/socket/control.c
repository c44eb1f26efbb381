/* control.c - both ends of a member's connection to the coordinator.
 *
 * The coordinator has one ROUTER that members connect to, a member one DEALER.
 * This file owns: both ends, and the connection that each member used last, so
 * that its end is detected at once and not by silence alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "formats/text/system_error.h"
#include "transport/socket/address.h"
#include "transport/socket/authenticator.h"
#include "transport/socket/auth_selftest.h"
#include "transport/socket/connection_guard.h"
#include "transport/socket/socket.h"
#include "transport/socket/byte_socket.h"
#include "transport/socket/watch.h"

/* Messages that may wait for one member, on either side. */
#define MESSAGES_MAX 64u
#define CONNECTIONS_SPARE 64u
#define CLOSE_MS 1000
#define ROUTING_ID_BYTES 256u
#define POLLED_MAX 256u
#define ADDRESS_BYTES 64u

typedef struct control_connection {
    size_t id_bytes; /* 0: never used, or its connection has ended */
    uint8_t id[ROUTING_ID_BYTES];
    int descriptor;
    uint64_t since; /* ends of connections up to this number are not its own */
    char address[ADDRESS_BYTES];
} control_connection_t;

typedef struct control_member {
    control_connection_t its, other; /* `other` is not admitted */
} control_member_t;

struct skn_control {
    void *context, *socket, *monitor;
    skn_connection_guard_t *guard; /* the coordinator's end */
    skn_watch_t *watch;
    bool is_listener, keyed, needs_admission;
    bool is_unknown; /* the coordinator's name could not be resolved */
    skn_address_t own;
    char bound[SKN_ADDRESS_BYTES];
    control_member_t member[SKN_CLUSTER_NODES_MAX];
    size_t member_count;
    zmq_msg_t frame; /* the last message */
    char sentence[SKN_CONNECTION_GUARD_TEXT_BYTES];
};

static skn_status_t
check(skn_control_t *control, const skn_control_options_t *options,
      skn_error_t *error)
{
    skn_status_t status = skn_socket_library(options->keys != NULL, error);
    if (status == SKN_OK && !control->is_listener && options->keys &&
        skn_byte_socket_is_local(options->address)) {
        (void)snprintf(control->own.text, sizeof(control->own.text), "%s",
                       options->address);
        return SKN_OK;
    }
    if (status == SKN_OK)
        status = skn_address_read(options->address, control->is_listener,
                                  &control->own, error);
    if (status == SKN_OK && control->is_listener)
        status = skn_address_resolve(&control->own, error);
    if (status != SKN_OK)
        return status;
    skn_address_t resolved = control->own;
    if (!control->is_listener && skn_address_resolve(&resolved, NULL) == SKN_OK)
        control->own.ipv6 = resolved.ipv6;
    else
        control->is_unknown = !control->is_listener;
    if (options->keys || resolved.loopback)
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "coordinator %s is reachable from other machines, and has "
                   "no key: strangers could lead the run",
                   options->address);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "make a key with skein keygen, and name it under "
                         "coordinator:");
}

bool
skn_control_is_unknown(const skn_control_t *control)
{
    return control->is_unknown;
}

static skn_control_t *
control_new(const skn_control_options_t *options, bool is_listener,
            skn_error_t *error)
{
    skn_control_t *control = calloc(1, sizeof(*control));
    if (!control) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a line");
        return NULL;
    }
    (void)zmq_msg_init(&control->frame);
    control->is_listener = is_listener;
    control->keyed = options->keys != NULL;
    control->needs_admission = options->needs_admission;
    control->member_count = options->member_count;
    skn_status_t status = SKN_OK;
    if (options->member_count > SKN_CLUSTER_NODES_MAX)
        status =
            skn_fail(error, SKN_BAD_CONFIG, "%zu members, at most %u allowed",
                     options->member_count, (unsigned)SKN_CLUSTER_NODES_MAX);
    if (status == SKN_OK)
        status = check(control, options, error);
    if (status == SKN_OK && !(control->context = zmq_ctx_new()))
        status =
            skn_fail(error, SKN_NO_MEMORY, "cannot create a ZeroMQ context: %s",
                     strerror(errno));
    if (status != SKN_OK)
        skn_control_close(&control);
    return control;
}

static skn_status_t
open_socket(skn_control_t *control, const skn_control_options_t *options,
            skn_error_t *error)
{
    skn_socket_options_t how = {
        .type = control->is_listener ? ZMQ_ROUTER : ZMQ_DEALER,
        .ipv6 = control->own.ipv6,
        .frame_bytes = SKN_CONTROL_BYTES_MAX,
        .fragments_max = MESSAGES_MAX,
        .keys = options->keys,
        .server_key = control->is_listener ? NULL : options->server_key,
        .hears = true,
    };
    control->socket = skn_socket_open(control->context, &how, error);
    return control->socket ? SKN_OK : error->status;
}

/* --- the coordinator's end ----------------------------------------------- */

static skn_authenticator_t *
authenticator_of(const skn_control_options_t *options, skn_error_t *error)
{
    skn_admitted_t admitted[SKN_CLUSTER_NODES_MAX] = { { 0 } };
    for (size_t k = 0; options->keys && k < options->member_count; k++) {
        admitted[k].peer = (uint32_t)k;
        (void)snprintf(admitted[k].public_key, sizeof(admitted[k].public_key),
                       "%s", options->member_keys[k]);
    }
    return skn_authenticator_new(options->keys != NULL, admitted,
                                 options->keys ? options->member_count : 0,
                                 error);
}

/* As at a node's endpoint: the thread that answers runs before a socket is
 * bound. */
static skn_status_t
open_guard(skn_control_t *control, const skn_control_options_t *options,
           skn_error_t *error)
{
    skn_watch_options_t watched = {
        .receiver = skn_socket_descriptor(control->socket),
        .connections_max =
            CONNECTIONS_SPARE + 4 * (uint32_t)options->member_count,
        .queue_bytes_max = 2ull * SKN_CONTROL_BYTES_MAX,
        .message_bytes_max = SKN_CONTROL_BYTES_MAX,
    };
    skn_connection_guard_parts_t parts = {
        .context = control->context,
        .keyed = control->keyed,
        .peer_count = (uint32_t)options->member_count
    };
    skn_status_t status = SKN_NO_MEMORY;
    parts.watch = skn_watch_new(&watched, error);
    if (parts.watch)
        parts.authenticator = authenticator_of(options, error);
    if (parts.authenticator)
        status =
            skn_authenticator_start(parts.authenticator, parts.context, error);
    if (status == SKN_OK)
        parts.monitor =
            skn_socket_monitor(control->context, control->socket,
                               skn_connection_guard_events(), error);
    if (parts.monitor)
        control->guard = skn_connection_guard_open(&parts, error);
    if (control->guard) {
        control->watch = parts.watch;
        return SKN_OK;
    }
    skn_authenticator_destroy(&parts.authenticator);
    skn_watch_destroy(&parts.watch);
    if (parts.monitor)
        (void)zmq_close(parts.monitor);
    return error->status;
}

static skn_status_t
bind_and_try(skn_control_t *control, const skn_control_options_t *options,
             skn_error_t *error)
{
    char dialled[SKN_ADDRESS_BYTES];
    if (!skn_socket_bind(control->socket, control->own.text)) {
        int code = zmq_errno();
        return skn_fail_code(error, SKN_UNAVAILABLE, code,
                             code == EADDRINUSE
                                 ? "stop another coordinator of this run "
                                   "there, or choose another port"
                                 : "is this the right machine?",
                             "cannot listen at %s", control->own.text);
    }
    if (!skn_socket_get(control->socket, ZMQ_LAST_ENDPOINT, control->bound,
                        sizeof(control->bound)))
        return skn_fail(error, SKN_UNAVAILABLE, "no address: %s",
                        zmq_strerror(zmq_errno()));
    skn_watch_port(
        control->watch,
        (uint16_t)strtoul(strrchr(control->bound, ':') + 1, NULL, 10));
    skn_address_to_dial(control->bound, dialled);
    return control->keyed
               ? skn_auth_selftest(control->context, dialled,
                                   skn_keys_public(options->keys), error)
               : SKN_OK;
}

skn_control_t *
skn_control_listen(const skn_control_options_t *options, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_control_t *control = control_new(options, true, error);
    if (!control)
        return NULL;
    skn_status_t status = open_socket(control, options, error);
    if (status == SKN_OK)
        status = open_guard(control, options, error);
    if (status == SKN_OK)
        status = bind_and_try(control, options, error);
    if (status == SKN_OK)
        skn_connection_guard_begin(control->guard);
    else
        skn_control_close(&control);
    return control;
}

/* --- a member's end ------------------------------------------------------ */

skn_control_t *
skn_control_dial(const skn_control_options_t *options, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_control_t *control = control_new(options, false, error);
    if (!control)
        return NULL;
    skn_status_t status = open_socket(control, options, error);
    if (status == SKN_OK) {
        control->monitor = skn_socket_monitor(
            control->context, control->socket,
            ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
            error);
        if (!control->monitor)
            status = error->status;
    }
    if (status == SKN_OK &&
        !skn_socket_connect(control->socket, control->own.text))
        status = skn_fail(error, SKN_BAD_CONFIG, "cannot dial %s: %s",
                          control->own.text, zmq_strerror(zmq_errno()));
    if (status != SKN_OK)
        skn_control_close(&control);
    return control;
}

void
skn_control_close(skn_control_t **closing)
{
    skn_control_t *control = *closing;
    if (!control)
        return;
    (void)zmq_msg_close(&control->frame);
    if (control->is_listener && control->socket)
        (void)zmq_socket_monitor(control->socket, NULL, 0);
    if (control->socket)
        skn_socket_close(&control->socket,
                         control->is_listener ? NULL : &control->monitor,
                         CLOSE_MS);
    skn_connection_guard_close(&control->guard);
    while (control->context && zmq_ctx_term(control->context) != 0 &&
           errno == EINTR)
        ; /* a signal only interrupts the wait */
    free(control);
    *closing = NULL;
}

/* --- sending ------------------------------------------------------------- */

static bool
put(void *socket, const void *at, size_t bytes, int flags)
{
    int sent;
    do
        sent = zmq_send(socket, bytes ? at : "", bytes, flags | ZMQ_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

static skn_status_t
send_to(skn_control_t *control, const control_connection_t *connection,
        skn_frame_t frame, skn_error_t *error)
{
    bool sent = false;
    if (frame.bytes == 0 || frame.bytes > SKN_CONTROL_BYTES_MAX)
        return skn_fail(error, SKN_INTERNAL, "a message of %zu bytes",
                        frame.bytes);
    if (!control->is_listener)
        sent = put(control->socket, frame.at, frame.bytes, 0);
    else if (connection && connection->id_bytes > 0)
        sent = put(control->socket, connection->id, connection->id_bytes,
                   ZMQ_SNDMORE) &&
               put(control->socket, frame.at, frame.bytes, 0);
    return sent ? SKN_OK
                : skn_fail(error, SKN_BUSY,
                           "no connection can take a message now");
}

skn_status_t
skn_control_send(skn_control_t *control, uint32_t number, skn_frame_t frame,
                 skn_error_t *error)
{
    bool known = control->is_listener && number < control->member_count;
    return send_to(control, known ? &control->member[number].its : NULL, frame,
                   error);
}

skn_status_t
skn_control_answer(skn_control_t *control, uint32_t number, skn_frame_t frame,
                   skn_error_t *error)
{
    return send_to(control, &control->member[number].other, frame, error);
}

bool
skn_control_admit(skn_control_t *control, uint32_t number)
{
    control_member_t *member = &control->member[number];
    if (member->other.id_bytes == 0)
        return false;
    member->its = member->other;
    member->other.id_bytes = 0;
    return true;
}

const char *
skn_control_where(const skn_control_t *control, uint32_t number, bool other)
{
    const control_member_t *member = &control->member[number];
    const char *address = other ? member->other.address : member->its.address;
    return address[0] ? address : "an unknown address";
}

/* --- taking -------------------------------------------------------------- */

static bool
receive(void *socket, zmq_msg_t *frame)
{
    int bytes;
    do
        bytes = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    return bytes >= 0;
}

/* Drops the frames after the first; returns how many there were. */
static size_t
drop_rest(void *socket, zmq_msg_t *frame)
{
    zmq_msg_t extra;
    size_t count = 0;
    (void)zmq_msg_init(&extra);
    for (bool more = zmq_msg_more(frame); more; count++) {
        if (!receive(socket, &extra))
            break; /* impossible: messages are delivered whole */
        more = zmq_msg_more(&extra);
    }
    (void)zmq_msg_close(&extra);
    return count;
}

/* Looked up by the number that our authenticator gave the connection, taken
 * from the frame: libzmq 4.3.4 forgets that of a routing id that it read ahead
 * (as zmq_poll does). Without keys every connection is member 0: for tests of
 * one. */
static control_member_t *
member_of(skn_control_t *control, zmq_msg_t *frame, uint64_t *since)
{
    uint32_t number;
    const char *user = zmq_msg_gets(frame, "User-Id");
    return skn_authenticator_read(user, &number, since) &&
                   number < control->member_count
               ? &control->member[number]
               : NULL;
}

static bool
is_of(const control_connection_t *connection, zmq_msg_t *id)
{
    return connection->id_bytes == zmq_msg_size(id) &&
           memcmp(connection->id, zmq_msg_data(id), connection->id_bytes) == 0;
}

/* The connection that this frame arrived on, which may be a new one. */
static control_connection_t *
connection_of(skn_control_t *control, control_member_t *member, zmq_msg_t *id,
              bool *fresh)
{
    bool other = control->needs_admission && !is_of(&member->its, id);
    control_connection_t *connection = other ? &member->other : &member->its;
    const char *address = zmq_msg_gets(&control->frame, "Peer-Address");
    *fresh = !is_of(connection, id);
    if (!*fresh)
        return connection;
    connection->id_bytes = zmq_msg_size(id);
    memcpy(connection->id, zmq_msg_data(id), connection->id_bytes);
    (void)snprintf(connection->address, sizeof(connection->address), "%s",
                   address ? address : "");
    return connection;
}

static bool
take_from_member(skn_control_t *control, skn_control_arrival_t *arrival,
                 bool *empty)
{
    zmq_msg_t id;
    (void)zmq_msg_init(&id);
    skn_watch_takes(control->watch);
    *empty = !receive(control->socket, &id);
    if (*empty) {
        (void)zmq_msg_close(&id);
        skn_watch_empty(control->watch);
        return false;
    }
    bool whole = zmq_msg_more(&id) && receive(control->socket, &control->frame);
    int descriptor = zmq_msg_get(&control->frame, ZMQ_SRCFD);
    uint64_t since = 0;
    control_member_t *member = member_of(control, &control->frame, &since);
    size_t extra = whole ? drop_rest(control->socket, &control->frame) : 0;
    size_t bytes = zmq_msg_size(&control->frame);
    bool good = member && whole && extra == 0 && bytes > 0 &&
                bytes <= SKN_CONTROL_BYTES_MAX &&
                zmq_msg_size(&id) <= ROUTING_ID_BYTES;
    if (good) {
        bool fresh;
        control_connection_t *connection =
            connection_of(control, member, &id, &fresh);
        connection->descriptor = descriptor;
        connection->since = since;
        *arrival = (skn_control_arrival_t){
            .kind = SKN_CONTROL_MESSAGE,
            .member = (uint32_t)(member - control->member),
            .fresh = fresh,
            .other = connection == &member->other,
            .frame = { zmq_msg_data(&control->frame), bytes },
        };
    }
    (void)zmq_msg_close(&id);
    skn_watch_delivered(control->watch, descriptor);
    return good;
}

static bool
has_ended(control_connection_t *connection, int descriptor, uint64_t number)
{
    if (connection->id_bytes == 0 || connection->descriptor != descriptor ||
        number <= connection->since)
        return false;
    connection->id_bytes = 0;
    return true;
}

/* Takes the end of the connection that a member used last. */
static bool
take_end(skn_control_t *control, skn_control_arrival_t *arrival)
{
    int descriptor;
    uint64_t number;
    while (skn_connection_guard_ended(control->guard, &descriptor, &number))
        for (size_t k = 0; k < control->member_count; k++) {
            control_member_t *member = &control->member[k];
            if (!has_ended(&member->its, descriptor, number)) {
                (void)has_ended(&member->other, descriptor, number);
                continue;
            }
            *arrival = (skn_control_arrival_t){ .kind = SKN_CONTROL_LOST,
                                                .member = (uint32_t)k };
            return true;
        }
    return false;
}

static bool
take_as_coordinator(skn_control_t *control, skn_control_arrival_t *arrival)
{
    bool empty = false;
    /* A member's last messages come before its end. */
    while (!empty)
        if (take_from_member(control, arrival, &empty))
            return true;
    if (take_end(control, arrival))
        return true;
    if (!skn_connection_guard_take(control->guard, control->sentence))
        return false;
    *arrival = (skn_control_arrival_t){
        .kind = SKN_CONTROL_STRANGER,
        .frame = { control->sentence, strlen(control->sentence) },
    };
    return true;
}

static bool
take_as_member(skn_control_t *control, skn_control_arrival_t *arrival)
{
    uint16_t event;
    uint32_t value;
    while (receive(control->socket, &control->frame)) {
        size_t extra = drop_rest(control->socket, &control->frame);
        size_t bytes = zmq_msg_size(&control->frame);
        if (extra > 0 || bytes == 0)
            continue;
        *arrival = (skn_control_arrival_t){
            .kind = SKN_CONTROL_MESSAGE,
            .frame = { zmq_msg_data(&control->frame), bytes },
        };
        return true;
    }
    if (!skn_monitor_take(control->monitor, &event, &value))
        return false;
    *arrival = (skn_control_arrival_t){
        .kind = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ? SKN_CONTROL_CONNECTED
                : event == ZMQ_EVENT_DISCONNECTED      ? SKN_CONTROL_LOST
                                                       : SKN_CONTROL_REFUSED,
        /* A connection that was cut, or was too slow, is made again. */
        .over = event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
                event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
    };
    return true;
}

bool
skn_control_take(skn_control_t *control, skn_control_arrival_t *arrival)
{
    (void)zmq_msg_close(&control->frame);
    (void)zmq_msg_init(&control->frame);
    return control->is_listener ? take_as_coordinator(control, arrival)
                                : take_as_member(control, arrival);
}

void
skn_control_wait(skn_control_t *control, struct pollfd *polled,
                 size_t polled_count, int timeout_ms)
{
    zmq_pollitem_t items[POLLED_MAX + 2];
    size_t place[POLLED_MAX]; /* index in `items` of each of `polled` */
    int count = 0;
    if (polled_count > POLLED_MAX)
        polled_count = POLLED_MAX;
    items[count++] = (zmq_pollitem_t){ control->socket, 0, ZMQ_POLLIN, 0 };
    items[count++] =
        control->is_listener
            ? (zmq_pollitem_t){ NULL,
                                skn_connection_guard_descriptor(control->guard),
                                ZMQ_POLLIN, 0 }
            : (zmq_pollitem_t){ control->monitor, 0, ZMQ_POLLIN, 0 };
    for (size_t k = 0; k < polled_count; k++) {
        polled[k].revents = 0;
        place[k] = (size_t)count;
        if (polled[k].fd >= 0) /* -1: none for poll(), an error for libzmq */
            items[count++] =
                (zmq_pollitem_t){ NULL, polled[k].fd, ZMQ_POLLIN, 0 };
    }
    (void)zmq_poll(items, count, timeout_ms);
    for (size_t k = 0; k < polled_count; k++)
        if (polled[k].fd >= 0 && items[place[k]].revents)
            polled[k].revents = POLLIN;
}

const char *
skn_control_address(const skn_control_t *control)
{
    return control->bound;
}

void
skn_control_polled(const skn_control_t *control, struct pollfd polled[2])
{
    int second = control->is_listener
                     ? skn_connection_guard_descriptor(control->guard)
                     : skn_socket_descriptor(control->monitor);
    polled[0] =
        (struct pollfd){ skn_socket_descriptor(control->socket), POLLIN, 0 };
    polled[1] = (struct pollfd){ second, POLLIN, 0 };
}
