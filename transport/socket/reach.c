/* reach.c - tests on a thread of its own whether lost machines are reachable.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/reach.h"

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
#include "transport/socket/errand.h"

/* The time for an answer, and from one attempt to the next. */
#define ANSWER_MS 900u
#define ROUND_MS 1000u

struct skn_reach {
    skn_errand_t errand; /* locks all below */
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
dial_all(const skn_reach_t *reach, uint64_t wanted)
{
    struct pollfd polled[SKN_CLUSTER_NODES_MAX];
    uint32_t number[SKN_CLUSTER_NODES_MAX], count = 0;
    uint64_t found = 0;
    for (uint32_t k = 0; k < reach->count; k++) {
        bool answered = false;
        if (!(wanted & ((uint64_t)1 << k)))
            continue;
        int descriptor = dial(reach->address[k], &answered);
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
await_work(skn_reach_t *reach, uint64_t next_ns, uint64_t *wanted)
{
    const struct timespec next = { (time_t)(next_ns / 1000000000u),
                                   (long)(next_ns % 1000000000u) };
    skn_errand_lock(&reach->errand);
    while (!reach->errand.closing) {
        *wanted = reach->wanted & ~reach->found;
        if (*wanted && skn_monotonic_ns() >= next_ns)
            break;
        if (*wanted)
            (void)pthread_cond_timedwait(&reach->errand.news,
                                         &reach->errand.lock, &next);
        else
            (void)pthread_cond_wait(&reach->errand.news, &reach->errand.lock);
    }
    bool goes_on = !reach->errand.closing;
    skn_errand_unlock(&reach->errand);
    return goes_on;
}

static void
reach_all(skn_errand_t *errand)
{
    skn_reach_t *reach = (skn_reach_t *)errand;
    uint64_t next_ns = 0, wanted = 0;
    while (await_work(reach, next_ns, &wanted)) {
        next_ns = skn_monotonic_ns() + ROUND_MS * 1000000ull;
        uint64_t found = dial_all(reach, wanted);
        skn_errand_lock(errand);
        reach->found |= found & reach->wanted;
        skn_errand_unlock(errand);
    }
}

/* --- its owner ------------------------------------------------------------ */

skn_reach_t *
skn_reach_new(const char *const *address, uint32_t count, skn_error_t *error)
{
    skn_reach_t *reach = calloc(1, sizeof(*reach));
    if (!reach) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for addresses");
        return NULL;
    }
    reach->count =
        count < SKN_CLUSTER_NODES_MAX ? count : SKN_CLUSTER_NODES_MAX;
    for (uint32_t k = 0; k < reach->count; k++)
        (void)snprintf(reach->address[k], sizeof(reach->address[k]), "%s",
                       address[k]);
    skn_status_t status =
        skn_errand_begin(&reach->errand, reach_all, "to dial others", error);
    return status == SKN_OK ? reach : NULL;
}

void
skn_reach_destroy(skn_reach_t **reach)
{
    if (*reach)
        skn_errand_leave(&(*reach)->errand);
    *reach = NULL;
}

void
skn_reach_seek(skn_reach_t *reach, uint64_t wanted)
{
    skn_errand_lock(&reach->errand);
    if (wanted != reach->wanted) {
        reach->wanted = wanted;
        reach->found = 0;
        skn_errand_tell(&reach->errand);
    }
    skn_errand_unlock(&reach->errand);
}

uint64_t
skn_reach_found(skn_reach_t *reach)
{
    skn_errand_lock(&reach->errand);
    uint64_t found = reach->found;
    skn_errand_unlock(&reach->errand);
    return found;
}
