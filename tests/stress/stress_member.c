/* stress_member.c - exercises what a host may do with a member at any time, for
 * the thread sanitizer: requests to leave and to stop that another thread makes
 * at every moment, while the host polls, two hundred times beside one
 * coordinator; descriptors and threads do not grow. Covers
 * topology/cluster/member.c and topology/cluster/party.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress_hosts.h"

#include <poll.h>

#include "tests/support/cluster_fixture.h"
#include "tests/support/settle.h"

#define ROUNDS 200u
/* Both counts are of a process that has done everything once. */
#define WARM_ROUNDS 10u

static cluster_t cluster;

static void
ask(const stress_guest_t *guest)
{
    if (guest->turns % 3 == 0)
        skn_member_leave(guest->handle);
    skn_member_stop(guest->handle);
}

/* One member, to its end. */
static skn_status_t
take_part(unsigned round, skn_error_t *error)
{
    static char line[1 << 16];
    skn_member_options_t options = cluster_member(&cluster);
    skn_member_t *member = skn_member_new(&options, error);
    stress_guest_t guest = { member, ask, (uint64_t)round * round * 500, 0 };
    if (!member)
        return SKN_NO_MEMORY;
    stress_guest_start(&guest);
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
    (void)pthread_join(guest.thread, NULL);
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
    char folder[TEMP_FOLDER_BYTES];
    skn_error_t error = SKN_ZERO;
    temp_folder_make(folder);
    cr_assert(cluster_make(&cluster, folder));
    skn_coordinator_t *coordinator = cluster_lead(&cluster, &error);
    int failed = coordinator ? run_all(&error) : 1;
    skn_coordinator_destroy(&coordinator);
    temp_folder_remove(folder);
    if (failed)
        (void)fprintf(stderr, "it failed: %s\n", error.text);
    return failed;
}
