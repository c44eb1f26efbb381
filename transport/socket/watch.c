/* watch.c - limits the memory that each connection makes libzmq use.
 *
 * Descriptors belong to libzmq, which may close one at any moment, and the
 * number may then be anything else of this process. Before one is shut down it
 * is duplicated, which pins it, and examined: only a TCP connection that was
 * accepted at our port is shut down.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/watch.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h> /* netinet/tcp.h is older */
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors are small numbers; a node with more of them accepts no
 * connections. */
#define DESCRIPTORS_MAX 65536
/* Bytes discarded at a time. */
#define DISCARDED_BYTES ((size_t)1 << 24)

typedef struct watched_connection {
    int descriptor;
    skn_watch_account_t account;
} watched_connection_t;

struct skn_watch {
    skn_watch_options_t options;
    watched_connection_t *connection; /* [connections_max], the oldest first */
    size_t count;
    _Atomic uint16_t port;
    _Atomic bool drained; /* the receiver found nothing the last time */
    _Atomic uint32_t empties;
    _Atomic uint32_t delivered[DESCRIPTORS_MAX]; /* by descriptor */
};

skn_watch_t *
skn_watch_new(const skn_watch_options_t *options, skn_error_t *error)
{
    skn_watch_t *watch = calloc(1, sizeof(*watch));
    if (watch)
        watch->connection =
            calloc(options->connections_max, sizeof(*watch->connection));
    if (!watch || !watch->connection) {
        (void)skn_fail(error, SKN_NO_MEMORY,
                       "no memory to watch %u connections",
                       options->connections_max);
        skn_watch_destroy(&watch);
        return NULL;
    }
    watch->options = *options;
    return watch;
}

void
skn_watch_destroy(skn_watch_t **watch)
{
    if (*watch)
        free((*watch)->connection);
    free(*watch);
    *watch = NULL;
}

void
skn_watch_port(skn_watch_t *watch, uint16_t port)
{
    atomic_store(&watch->port, port);
}

size_t
skn_watch_count(const skn_watch_t *watch)
{
    return watch->count;
}

void
skn_watch_takes(skn_watch_t *watch)
{
    atomic_store(&watch->drained, false);
}

/* Relaxed: the counts order nothing, and a check that is a moment late finds
 * the same as before. */
void
skn_watch_delivered(skn_watch_t *watch, int descriptor)
{
    atomic_store_explicit(&watch->drained, false, memory_order_relaxed);
    if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX)
        atomic_fetch_add_explicit(&watch->delivered[descriptor], 1,
                                  memory_order_relaxed);
}

void
skn_watch_empty(skn_watch_t *watch)
{
    atomic_store(&watch->drained, true);
    atomic_fetch_add_explicit(&watch->empties, 1, memory_order_release);
}

/* --- judging ------------------------------------------------------------- */

skn_connection_guard_verdict_t
skn_watch_judge(skn_watch_account_t *account, const skn_watch_facts_t *facts,
                const skn_watch_options_t *options)
{
    if (!account->begun || facts->delivered != account->delivered) {
        /* A message was completed, so that earlier bytes were, too. */
        account->begun = true;
        account->delivered = facts->delivered;
        account->mark_bytes = account->sample_bytes = facts->received_bytes;
        account->mark_ms = facts->now_ms;
        account->sample_empties = facts->empties;
        return SKN_VERDICT_FAIR;
    }
    /* Heartbeats are deducted, not saved up: the mark stays behind. */
    uint64_t idle_s = (facts->now_ms - account->mark_ms) / 1000;
    if (idle_s > 0) {
        uint64_t forgiven = idle_s * SKN_WATCH_BYTES_PER_S;
        uint64_t held = account->sample_bytes - account->mark_bytes;
        account->mark_bytes += forgiven < held ? forgiven : held;
        account->mark_ms += idle_s * 1000;
    }
    /* Two: the first may have been under way when the sample was taken. Bytes
     * that were sampled and not delivered by then are the beginning of one
     * message. */
    if (facts->empties - account->sample_empties >= 2) {
        if (account->sample_bytes - account->mark_bytes >
            options->message_bytes_max + SKN_WATCH_SLACK_BYTES)
            return SKN_VERDICT_ENDLESS;
        account->sample_bytes = facts->received_bytes;
        account->sample_empties = facts->empties;
    }
    /* The receiver may not be reading at all; then the queue fills at some
     * time. */
    if (facts->received_bytes - account->mark_bytes >
        options->queue_bytes_max + SKN_WATCH_SLACK_BYTES)
        return SKN_VERDICT_ENDLESS;
    return SKN_VERDICT_FAIR;
}

/* --- asking the system --------------------------------------------------- */

/* The bytes that libzmq has read; false if the connection is gone: its end will
 * then be reported. */
static bool
bytes_read(int descriptor, uint64_t *bytes)
{
    struct tcp_info info;
    socklen_t info_bytes = sizeof(info);
    int unread = 0;
    memset(&info, 0, sizeof(info));
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &info_bytes) !=
            0 ||
        ioctl(descriptor, SIOCINQ, &unread) != 0 || unread < 0 ||
        (uint64_t)info.tcpi_bytes_received < (uint64_t)unread)
        return false;
    *bytes = (uint64_t)info.tcpi_bytes_received - (uint64_t)unread;
    return true;
}

static bool
accepted_at(int descriptor, uint16_t port)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof(at);
    if (getsockname(descriptor, (struct sockaddr *)&at, &bytes) != 0)
        return false;
    if (at.ss_family == AF_INET)
        return ((struct sockaddr_in *)&at)->sin_port == htons(port);
    return at.ss_family == AF_INET6 &&
           ((struct sockaddr_in6 *)&at)->sin6_port == htons(port);
}

static void
shut_down(const skn_watch_t *watch, int descriptor)
{
    int pinned = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (pinned < 0)
        return;
    if (accepted_at(pinned, atomic_load(&watch->port))) {
        (void)shutdown(pinned, SHUT_RDWR);
        /* Bytes that the system has received already would still be read:
         * megabytes, and twenty times as many in libzmq's memory. */
        while (recv(pinned, NULL, DISCARDED_BYTES, MSG_DONTWAIT | MSG_TRUNC) >
               0)
            ;
    }
    (void)close(pinned);
}

/* --- the watching thread ------------------------------------------------- */

static void
forget(skn_watch_t *watch, size_t k)
{
    assert(k < watch->count);
    watch->count--;
    memmove(&watch->connection[k], &watch->connection[k + 1],
            (watch->count - k) * sizeof(*watch->connection));
}

static uint32_t
delivered_by(const skn_watch_t *watch, int descriptor)
{
    return atomic_load_explicit(&watch->delivered[descriptor],
                                memory_order_relaxed);
}

bool
skn_watch_close(skn_watch_t *watch, int descriptor)
{
    for (size_t k = 0; k < watch->count; k++)
        if (watch->connection[k].descriptor == descriptor) {
            forget(watch, k);
            return delivered_by(watch, descriptor) == 0;
        }
    return false;
}

skn_connection_guard_verdict_t
skn_watch_accept(skn_watch_t *watch, int descriptor)
{
    skn_connection_guard_verdict_t verdict = SKN_VERDICT_FAIR;
    (void)skn_watch_close(watch, descriptor); /* its end is reported later */
    if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX) {
        shut_down(watch, descriptor);
        return SKN_VERDICT_OVER;
    }
    if (watch->count == watch->options.connections_max) {
        size_t k = 0;
        while (k < watch->count &&
               delivered_by(watch, watch->connection[k].descriptor) > 0)
            k++;
        verdict = SKN_VERDICT_OVER;
        shut_down(watch, k < watch->count ? watch->connection[k].descriptor
                                          : descriptor);
        if (k == watch->count)
            return verdict;
        forget(watch, k);
    }
    atomic_store_explicit(&watch->delivered[descriptor], 0,
                          memory_order_relaxed);
    watch->connection[watch->count++] =
        (watched_connection_t){ .descriptor = descriptor };
    return verdict;
}

/* The order matters: bytes that were read before the receiver found nothing
 * have been delivered, if the message was whole. */
static bool
look_at(const skn_watch_t *watch, const watched_connection_t *connection,
        uint64_t now_ms, skn_watch_facts_t *facts)
{
    facts->now_ms = now_ms;
    if (!bytes_read(connection->descriptor, &facts->received_bytes))
        return false;
    facts->empties =
        atomic_load_explicit(&watch->empties, memory_order_acquire);
    facts->delivered = delivered_by(watch, connection->descriptor);
    return facts->received_bytes >= connection->account.mark_bytes;
}

/* A receiver that sleeps has nothing to take, or it would be woken. Polling a
 * ZMQ_FD does not touch the socket, so that any thread may do it. The
 * descriptor is first: a receiver that made it unreadable has reported before
 * that it reads. */
static void
look_at_receiver(skn_watch_t *watch)
{
    struct pollfd item = { watch->options.receiver, POLLIN, 0 };
    if (item.fd >= 0 && poll(&item, 1, 0) == 0 && atomic_load(&watch->drained))
        atomic_fetch_add_explicit(&watch->empties, 1, memory_order_release);
}

size_t
skn_watch_look(skn_watch_t *watch, uint64_t now_ms)
{
    size_t cut_count = 0;
    look_at_receiver(watch);
    for (size_t k = 0; k < watch->count;) {
        watched_connection_t *connection = &watch->connection[k];
        skn_watch_facts_t facts;
        if (!look_at(watch, connection, now_ms, &facts) ||
            skn_watch_judge(&connection->account, &facts, &watch->options) ==
                SKN_VERDICT_FAIR) {
            k++;
            continue;
        }
        shut_down(watch, connection->descriptor);
        forget(watch, k);
        cut_count++;
    }
    return cut_count;
}
