/* pipe.c - inproc PUSH and PULL sockets that carry parcels.
 *
 * This file owns: every ZeroMQ socket between actors of one process, and the
 * options they are made with.  SPDX-License-Identifier: Apache-2.0 */
#include "transport/inproc/pipe.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "transport/socket/socket.h"

/* Putting a parcel happens before taking it: libzmq's queues ensure this. The
 * thread sanitizer cannot see into a libzmq that was built without it, so these
 * macros declare the order, for the memory that the parcel points to and for
 * nothing else. */
#if defined(__SANITIZE_THREAD__)
#define SKN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SKN_TSAN 1
#endif
#endif
#ifdef SKN_TSAN
#include <sanitizer/tsan_interface.h>
#define HAPPENS_BEFORE(at) __tsan_release(at)
#define HAPPENS_AFTER(at) __tsan_acquire(at)
#else
#define HAPPENS_BEFORE(at) ((void)(at))
#define HAPPENS_AFTER(at) ((void)(at))
#endif

/* `empty`: the last read found nothing. Only then does the descriptor of a
 * socket signal the next parcel: it is edge triggered, and a read that finds
 * nothing arms it (zmq_getsockopt(3), ZMQ_FD). */
struct skn_inbox {
    void *socket;
    int descriptor;
    bool empty;
};
struct skn_outlet {
    void *socket;
};

#define WAIT_INBOXES_MAX 4

_Static_assert(sizeof(skn_parcel_t) <= 24,
               "a ZeroMQ message holds a parcel without an allocation");

void *
skn_context_new(uint32_t socket_count, skn_error_t *error)
{
    void *context = zmq_ctx_new();
    if (!context) {
        skn_fail(error, SKN_NO_MEMORY, "cannot create a ZeroMQ context: %s",
                 zmq_strerror(errno));
        return NULL;
    }
    int limit = zmq_ctx_get(context, ZMQ_SOCKET_LIMIT);
    if (socket_count > (uint32_t)limit) {
        skn_fail(error, SKN_NO_MEMORY,
                 "the topology needs %u sockets, but this libzmq allows %d",
                 socket_count, limit);
        zmq_ctx_term(context);
        return NULL;
    }
    /* 64 spare: libzmq counts its own mailboxes too. */
    int room = (int)socket_count + 64 < limit ? (int)socket_count + 64 : limit;
    (void)zmq_ctx_set(context, ZMQ_MAX_SOCKETS, room);
    return context;
}

void
skn_context_destroy(void **context)
{
    if (!*context)
        return;
    while (zmq_ctx_term(*context) != 0 && errno == EINTR)
        ; /* a signal only interrupts the wait */
    *context = NULL;
}

/* The only place where sockets get their options. */
static void *
socket_open(void *context, int type, skn_error_t *error)
{
    void *socket = zmq_socket(context, type);
    if (!socket) {
        int code = errno;
        skn_fail(error, SKN_NO_MEMORY, "cannot create a ZeroMQ socket: %s",
                 zmq_strerror(code));
        if (code == EMFILE)
            skn_fail_hint(error, SKN_NO_MEMORY,
                          "raise ulimit -n, or ZMQ_MAX_SOCKETS of a ZeroMQ "
                          "context of your own");
        return NULL;
    }
    int unlimited = 0, linger_ms = 0;
    (void)zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof(unlimited));
    (void)zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof(unlimited));
    (void)zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
    return socket;
}

skn_inbox_t *
skn_inbox_open(void *context, const char *address, skn_error_t *error)
{
    skn_inbox_t *inbox = calloc(1, sizeof(*inbox));
    if (!inbox) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for an inbox");
        return NULL;
    }
    inbox->socket = socket_open(context, ZMQ_PULL, error);
    if (inbox->socket &&
        (!skn_socket_bind(inbox->socket, address) ||
         !skn_socket_get(inbox->socket, ZMQ_FD, &inbox->descriptor,
                         sizeof(inbox->descriptor)))) {
        skn_fail(error, SKN_INTERNAL, "cannot bind %s: %s", address,
                 zmq_strerror(errno));
        zmq_close(inbox->socket);
        inbox->socket = NULL;
    }
    if (!inbox->socket) {
        free(inbox);
        return NULL;
    }
    return inbox;
}

void
skn_inbox_close(skn_inbox_t **inbox)
{
    if (!*inbox)
        return;
    zmq_close((*inbox)->socket);
    free(*inbox);
    *inbox = NULL;
}

bool
skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel)
{
    int bytes = skn_socket_take(inbox->socket, parcel, sizeof(*parcel));
    assert(bytes < 0 || bytes == (int)sizeof(*parcel));
    inbox->empty = bytes < 0;
    if (bytes < 0)
        return false;
    if (parcel->pointer)
        HAPPENS_AFTER(parcel->pointer);
    return true;
}

/* poll, not zmq_poll, which examines every socket before and after: eight
 * system calls for three inboxes, where this makes one. */
void
skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count, int descriptor,
               int timeout_ms)
{
    struct pollfd items[WAIT_INBOXES_MAX + 1];
    nfds_t item_count = 0;
    assert(count <= WAIT_INBOXES_MAX);
    for (size_t k = 0; k < count; k++) {
        if (!inboxes[k])
            continue;
        if (!inboxes[k]->empty)
            return; /* an inbox is not known to be empty */
        items[item_count++] =
            (struct pollfd){ inboxes[k]->descriptor, POLLIN, 0 };
    }
    if (descriptor >= 0)
        items[item_count++] = (struct pollfd){ descriptor, POLLIN, 0 };
    (void)poll(items, item_count, timeout_ms);
}

int
skn_inbox_descriptor(const skn_inbox_t *inbox)
{
    return inbox->descriptor;
}

bool
skn_inbox_is_empty(const skn_inbox_t *inbox)
{
    return inbox->empty;
}

skn_outlet_t *
skn_outlet_open(void *context, const char *address, skn_error_t *error)
{
    skn_outlet_t *outlet = calloc(1, sizeof(*outlet));
    if (!outlet) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for an outlet");
        return NULL;
    }
    outlet->socket = socket_open(context, ZMQ_PUSH, error);
    if (outlet->socket && !skn_socket_connect(outlet->socket, address)) {
        skn_fail(error, SKN_INTERNAL, "cannot connect to %s: %s", address,
                 zmq_strerror(errno));
        zmq_close(outlet->socket);
        outlet->socket = NULL;
    }
    if (!outlet->socket) {
        free(outlet);
        return NULL;
    }
    return outlet;
}

void
skn_outlet_close(skn_outlet_t **outlet)
{
    if (!*outlet)
        return;
    zmq_close((*outlet)->socket);
    free(*outlet);
    *outlet = NULL;
}

skn_status_t
skn_outlet_put(skn_outlet_t *outlet, const skn_parcel_t *parcel,
               skn_error_t *error)
{
    int bytes;
    if (parcel->pointer)
        HAPPENS_BEFORE(parcel->pointer);
    do
        bytes = zmq_send(outlet->socket, parcel, sizeof(*parcel), ZMQ_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    if (bytes == (int)sizeof(*parcel))
        return SKN_OK;
    return skn_fail(error, SKN_INTERNAL, "a parcel could not be sent: %s",
                    zmq_strerror(errno));
}
