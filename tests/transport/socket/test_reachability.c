/* test_reachability.c - tests which machines accept a connection.
 *
 * Covers transport/socket/reachability.c. Waits end as soon as the awaited
 * state is seen.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/socket/reachability.h"
#include "skein/error.h"

/* A port of loopback that is bound, and listens if `listens`. */
static int
open_port(bool listens, char address[64])
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t bytes = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(bind(descriptor, (struct sockaddr *)&at, sizeof(at)), 0);
    if (listens)
        cr_assert_eq(listen(descriptor, 4), 0);
    cr_assert_eq(getsockname(descriptor, (struct sockaddr *)&at, &bytes), 0);
    (void)snprintf(address, 64, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    return descriptor;
}

/* What is found, once all of `wanted` is, or after 20 s. */
static uint64_t
await(skn_reachability_t *reachability, uint64_t wanted)
{
    uint64_t found = 0;
    for (int k = 0; k < 2000 && (found & wanted) != wanted; k++) {
        found = skn_reachability_found(reachability);
        (void)poll(NULL, 0, 10);
    }
    return found;
}

static skn_reachability_t *
open_reach(const char *const *address, uint32_t count)
{
    skn_error_t error = { 0 };
    skn_reachability_t *reachability =
        skn_reachability_new(address, count, &error);
    cr_assert_not_null(reachability, "%s", error.text);
    return reachability;
}

Test(reachability, machines_that_listen_and_machines_that_refuse_answer)
{
    char first[64], second[64];
    int listens = open_port(true, first), refuses = open_port(false, second);
    skn_reachability_t *reachability =
        open_reach((const char *const[]){ first, second }, 2);
    cr_assert_eq(skn_reachability_found(reachability), 0);
    skn_reachability_seek(reachability, 3);
    cr_assert_eq(await(reachability, 3), 3);
    skn_reachability_destroy(&reachability);
    cr_assert_null(reachability);
    (void)close(listens);
    (void)close(refuses);
}

Test(reachability, only_those_that_are_sought_are_dialled)
{
    char first[64], second[64];
    int quiet = open_port(true, first), sought = open_port(true, second);
    skn_reachability_t *reachability =
        open_reach((const char *const[]){ first, second }, 2);
    skn_reachability_seek(reachability, 2);
    cr_assert_eq(await(reachability, 2), 2);
    struct pollfd polled[2] = { { quiet, POLLIN, 0 }, { sought, POLLIN, 0 } };
    cr_assert_eq(poll(polled, 2, 0), 1);
    cr_assert_eq(polled[0].revents, 0);
    skn_reachability_destroy(&reachability);
    (void)close(quiet);
    (void)close(sought);
}

Test(reachability, another_set_begins_again)
{
    char first[64], second[64];
    int a = open_port(true, first), b = open_port(true, second);
    skn_reachability_t *reachability =
        open_reach((const char *const[]){ first, second }, 2);
    skn_reachability_seek(reachability, 1);
    cr_assert_eq(await(reachability, 1), 1);
    skn_reachability_seek(reachability, 1);
    cr_assert_eq(skn_reachability_found(reachability), 1);
    skn_reachability_seek(reachability, 0);
    cr_assert_eq(skn_reachability_found(reachability), 0);
    skn_reachability_seek(reachability, 3);
    cr_assert_eq(await(reachability, 3), 3);
    skn_reachability_destroy(&reachability);
    (void)close(a);
    (void)close(b);
}

/* Nobody accepts, and the queue is full: packets are dropped, as on a line
 * that is cut. */
Test(reachability, a_machine_that_does_not_answer_is_dialled_again_and_again)
{
    struct sockaddr_in at;
    socklen_t bytes = sizeof(at);
    char mute[64], well[64];
    int full = open_port(true, mute), other = open_port(true, well);
    int filler[64];
    cr_assert_eq(listen(full, 0), 0);
    cr_assert_eq(getsockname(full, (struct sockaddr *)&at, &bytes), 0);
    for (int k = 0; k < 64; k++) {
        filler[k] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filler[k], (struct sockaddr *)&at, sizeof(at));
    }
    skn_reachability_t *reachability =
        open_reach((const char *const[]){ mute, well }, 2);
    skn_reachability_seek(reachability, 3);
    cr_assert_eq(await(reachability, 2), 2);
    for (int k = 0; k < 64; k++)
        (void)close(filler[k]);
    for (int k = 0; k < 64; k++) { /* room in the queue */
        int taken = -1;
        struct pollfd polled = { full, POLLIN, 0 };
        if (poll(&polled, 1, 100) == 1)
            taken = accept(full, NULL, NULL);
        if (taken < 0)
            break;
        (void)close(taken);
    }
    cr_assert_eq(await(reachability, 1), 3);
    skn_reachability_destroy(&reachability);
    (void)close(full);
    (void)close(other);
}

Test(reachability, addresses_that_are_none_are_never_found)
{
    char well[64];
    int listens = open_port(true, well);
    const char *const address[] = { "", "ipc://x", "tcp://127.0.0.1:0", well };
    skn_reachability_t *reachability = open_reach(address, 4);
    skn_reachability_seek(reachability, UINT64_MAX);
    cr_assert_eq(await(reachability, 8), 8);
    skn_reachability_destroy(&reachability);
    skn_reachability_destroy(&reachability);
    (void)close(listens);
}
