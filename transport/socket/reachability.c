/* reachability.c - tests on a thread of its own whether lost machines are
 * reachable.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/reachability.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transport/socket/address.h"
#include "transport/socket/clock.h"
#include "transport/socket/background.h"

/* The time for an answer, and from one attempt to the next. */
#define ANSWER_MS 900u
#define ROUND_MS 1000u

struct skn_reachability {
    skn_background_t task; /* locks all below */
    uint64_t wanted, found;
    uint32_t count;
    char address[SKN_CLUSTER_NODES_MAX][SKN_ADDRESS_BYTES]; /* never changed */
};

/* --- the thread ----------------------------------------------------------- */

/* A socket that connects, or -1. *answered: it needs no waiting. */
static int
dial(const char *text, bool *answered)
{
    skn_address_t address;
    char port[8];
    struct addrinfo *list = NULL;
    const struct addrinfo how = { .ai_socktype = SOCK_STREAM };
    int descriptor = -1;
    *answered = false;
    if (skn_address_read(text, false, &address, NULL) != SKN_OK)
        return -1;
    (void)snprintf(port, sizeof(port), "%u", (unsigned)address.port);
    if (getaddrinfo(address.host, port, &how, &list) != 0)
        return -1;
    descriptor =
        socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0 &&
        connect(descriptor, list->ai_addr, list->ai_addrlen) != 0 &&
        errno != EINPROGRESS) {
        *answered = errno == ECONNREFUSED;
        (void)close(descriptor);
        descriptor = -1;
    }
    freeaddrinfo(list);
    return descriptor;
}

static bool
has_answered(int descriptor)
{
    int code = 0;
    socklen_t bytes = sizeof(code);
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &bytes) == 0 &&
           (code == 0 || code == ECONNREFUSED);
}

/* Connects to all of `wanted` at once; returns those that answered in time. */
static uint64_t
dial_all(const skn_reachability_t *reachability, uint64_t wanted)
{
    struct pollfd polled[SKN_CLUSTER_NODES_MAX];
    uint32_t number[SKN_CLUSTER_NODES_MAX], count = 0;
    uint64_t found = 0;
    for (uint32_t k = 0; k < reachability->count; k++) {
        bool answered = false;
        if (!(wanted & ((uint64_t)1 << k)))
            continue;
        int descriptor = dial(reachability->address[k], &answered);
        found |= (uint64_t)answered << k;
        if (descriptor < 0)
            continue;
        polled[count] = (struct pollfd){ descriptor, POLLOUT, 0 };
        number[count++] = k;
    }
    uint64_t until_ns = skn_monotonic_ns() + ANSWER_MS * 1000000ull;
    uint32_t open = count;
    while (open > 0 && skn_monotonic_ns() < until_ns) {
        uint64_t left_ms = (until_ns - skn_monotonic_ns()) / 1000000u + 1;
        (void)poll(polled, count, (int)left_ms);
        for (uint32_t k = 0; k < count; k++) {
            if (polled[k].fd < 0 || polled[k].revents == 0)
                continue;
            found |= (uint64_t)has_answered(polled[k].fd) << number[k];
            (void)close(polled[k].fd);
            polled[k].fd = -1;
            open--;
        }
    }
    for (uint32_t k = 0; k < count; k++)
        if (polled[k].fd >= 0)
            (void)close(polled[k].fd);
    return found;
}

/* Waits until there is an address to try, and at least until `next_ns`; false:
 * the owner has left. */
static bool
await_work(skn_reachability_t *reachability, uint64_t next_ns, uint64_t *wanted)
{
    const struct timespec next = { (time_t)(next_ns / 1000000000u),
                                   (long)(next_ns % 1000000000u) };
    skn_background_lock(&reachability->task);
    while (!reachability->task.closing) {
        *wanted = reachability->wanted & ~reachability->found;
        if (*wanted && skn_monotonic_ns() >= next_ns)
            break;
        if (*wanted)
            (void)pthread_cond_timedwait(&reachability->task.news,
                                         &reachability->task.lock, &next);
        else
            (void)pthread_cond_wait(&reachability->task.news,
                                    &reachability->task.lock);
    }
    bool goes_on = !reachability->task.closing;
    skn_background_unlock(&reachability->task);
    return goes_on;
}

static void
reach_all(skn_background_t *task)
{
    skn_reachability_t *reachability = (skn_reachability_t *)task;
    uint64_t next_ns = 0, wanted = 0;
    while (await_work(reachability, next_ns, &wanted)) {
        next_ns = skn_monotonic_ns() + ROUND_MS * 1000000ull;
        uint64_t found = dial_all(reachability, wanted);
        skn_background_lock(task);
        reachability->found |= found & reachability->wanted;
        skn_background_unlock(task);
    }
}

/* --- its owner ------------------------------------------------------------ */

skn_reachability_t *
skn_reachability_new(const char *const *address, uint32_t count,
                     skn_error_t *error)
{
    skn_reachability_t *reachability = calloc(1, sizeof(*reachability));
    if (!reachability) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for addresses");
        return NULL;
    }
    reachability->count =
        count < SKN_CLUSTER_NODES_MAX ? count : SKN_CLUSTER_NODES_MAX;
    for (uint32_t k = 0; k < reachability->count; k++)
        (void)snprintf(reachability->address[k],
                       sizeof(reachability->address[k]), "%s", address[k]);
    skn_status_t status = skn_background_begin(&reachability->task, reach_all,
                                               "to dial others", error);
    return status == SKN_OK ? reachability : NULL;
}

void
skn_reachability_destroy(skn_reachability_t **reachability)
{
    if (*reachability)
        skn_background_leave(&(*reachability)->task);
    *reachability = NULL;
}

void
skn_reachability_seek(skn_reachability_t *reachability, uint64_t wanted)
{
    skn_background_lock(&reachability->task);
    if (wanted != reachability->wanted) {
        reachability->wanted = wanted;
        reachability->found = 0;
        skn_background_wake(&reachability->task);
    }
    skn_background_unlock(&reachability->task);
}

uint64_t
skn_reachability_found(skn_reachability_t *reachability)
{
    skn_background_lock(&reachability->task);
    uint64_t found = reachability->found;
    skn_background_unlock(&reachability->task);
    return found;
}
