/* stress_member.c - exercises what a host may do with a member at any time, for
 * the thread sanitizer: requests to leave and to stop that another thread makes
 * at every moment, while the host polls, two hundred times beside one
 * coordinator; descriptors and threads do not grow. Covers
 * topology/cluster/member.c and topology/cluster/party.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cluster_fixture.h"
#include "tests/support/settle.h"
#include "tests/support/tsan_libzmq.h"

#define ROUNDS 200u
/* Both counts are of a process that has done everything once. */
#define WARM_ROUNDS 10u

static char folder[256];
static cluster_t cluster;

typedef struct guest {
    skn_member_t *member;
    uint64_t turns; /* of a loop before the request */
} guest_t;

static void *
ask(void *argument)
{
    const guest_t *guest = argument;
    for (volatile uint64_t turn = 0; turn < guest->turns; turn++)
        continue;
    if (guest->turns % 3 == 0)
        skn_member_leave(guest->member);
    skn_member_stop(guest->member);
    return NULL;
}

/* One member, to its end. */
static skn_status_t
take_part(unsigned round, skn_error_t *error)
{
    static char line[1 << 16];
    pthread_t thread;
    skn_member_options_t options = cluster_member(&cluster);
    skn_member_t *member = skn_member_new(&options, error);
    guest_t guest = { member, (uint64_t)round * round * 500 };
    if (!member || pthread_create(&thread, NULL, ask, &guest) != 0)
        return SKN_NO_MEMORY;
    skn_status_t status = skn_member_start(member, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        skn_member_info_t info = SKN_ZERO;
        struct pollfd item = { skn_member_fd(member), POLLIN, 0 };
        info.struct_bytes = sizeof(info);
        (void)poll(&item, 1, -1);
        status = skn_member_event(member, 0, line, sizeof(line), error);
        if (skn_member_info(member, &info, error) != SKN_OK)
            status = SKN_INTERNAL;
    }
    (void)pthread_join(thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_member_wait(member, error);
    skn_member_destroy(&member);
    return status;
}

static int
run_all(skn_error_t *error)
{
    size_t descriptors = 0, threads = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (take_part(round, error) != SKN_OK) {
            (void)fprintf(stderr, "round %u: %s\n", round, error->text);
            return 1;
        }
        if (round == WARM_ROUNDS) {
            descriptors = settle_stable(SETTLE_DESCRIPTORS);
            threads = settle_stable(SETTLE_THREADS);
        }
    }
    size_t left = settle_at_most(SETTLE_DESCRIPTORS, descriptors);
    size_t running = settle_at_most(SETTLE_THREADS, threads);
    (void)printf("%zu descriptors and %zu threads after %u members, %zu and "
                 "%zu after %u\n",
                 descriptors, threads, WARM_ROUNDS, left, running, ROUNDS);
    return left > descriptors || running > threads;
}

int
main(void)
{
    const char *parent = getenv("TMPDIR");
    char command[300];
    skn_error_t error = SKN_ZERO;
    (void)snprintf(folder, sizeof(folder), "%.200s/skein-stress-XXXXXX",
                   parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder) || !cluster_make(&cluster, folder))
        return 1;
    skn_coordinator_t *coordinator = cluster_lead(&cluster, &error);
    int failed = coordinator ? run_all(&error) : 1;
    skn_coordinator_destroy(&coordinator);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    (void)(system(command) == 0);
    if (failed)
        (void)fprintf(stderr, "it failed: %s\n", error.text);
    return failed;
}
