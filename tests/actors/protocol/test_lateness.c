/* test_lateness.c - whom nobody waits for, and since when.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/protocol/lateness.h"

#define MS 1000000u

static skn_lateness_t lateness;

/* So many batches, 10 ms apart; returns when the last one was done. */
static uint64_t
do_batches(uint32_t count, uint64_t now_ns)
{
    while (count-- > 0)
        skn_lateness_moved(&lateness, true, now_ns += 10 * MS);
    return now_ns;
}

Test(lateness, nobody_is_late_before_two_batches_are_done)
{
    const bool here[] = { true, false };
    skn_lateness_init(&lateness, 2, 9, 0.1, SKN_LATENESS_ADDED);
    cr_expect_eq(skn_lateness_wait(&lateness, here, 5 * MS), UINT64_MAX);
    uint64_t now_ns = do_batches(1, 5 * MS);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX);
}

Test(lateness, a_wait_is_a_share_of_the_time_between_two_batches)
{
    const bool here[] = { true, false };
    skn_lateness_init(&lateness, 2, 9, 0.1, SKN_LATENESS_ADDED);
    uint64_t now_ns = do_batches(5, 5 * MS);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), now_ns + 1 * MS);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns + MS / 2),
                 now_ns + 1 * MS, "it does not begin anew");
    skn_lateness_moved(&lateness, false, now_ns + MS / 2);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns + 3 * MS),
                 now_ns + 4 * MS, "unless there was something else to do");
    skn_lateness_init(&lateness, 2, 9, SKN_LATENESS_AHEAD(8),
                      SKN_LATENESS_ADDED);
    now_ns = do_batches(5, now_ns);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), now_ns + 35 * MS);
}

Test(lateness, who_owes_a_part_is_not_waited_for)
{
    const bool first[] = { true, false, true },
               second[] = { false, false, true };
    skn_lateness_init(&lateness, 3, 9, 0.1, SKN_LATENESS_ADDED);
    uint64_t now_ns = do_batches(5, 5 * MS);
    cr_expect_eq(skn_lateness_leave(&lateness, first), 1);
    cr_expect_eq(skn_lateness_wait(&lateness, first, now_ns), now_ns);
    cr_expect_gt(skn_lateness_wait(&lateness, second, now_ns), now_ns,
                 "another one is, too");
    cr_expect_eq(skn_lateness_leave(&lateness, first), 1);
    cr_expect(skn_lateness_came(&lateness, 1));
    cr_expect_eq(skn_lateness_wait(&lateness, first, now_ns), now_ns,
                 "it owes one more");
    cr_expect(skn_lateness_came(&lateness, 1));
    cr_expect_gt(skn_lateness_wait(&lateness, first, now_ns), now_ns);
    cr_expect_not(skn_lateness_came(&lateness, 1), "none is owed");
    cr_expect_not(skn_lateness_came(&lateness, 0));
}

Test(lateness, who_owes_too_much_is_waited_for)
{
    const bool here[] = { true, false };
    skn_lateness_init(&lateness, 2, 2, 0.1, SKN_LATENESS_ADDED);
    uint64_t now_ns = do_batches(5, 5 * MS);
    for (uint32_t k = 0; k < 2; k++) {
        cr_expect_lt(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX);
        cr_expect_eq(skn_lateness_leave(&lateness, here), 1);
    }
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX);
    cr_expect(skn_lateness_came(&lateness, 1));
    cr_expect_lt(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX);
    skn_lateness_init(&lateness, 2, 0, 0.1, SKN_LATENESS_ADDED);
    now_ns = do_batches(5, now_ns);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX,
                 "none may be late");
}

Test(lateness, a_pause_counts_as_two_batches_and_is_forgotten)
{
    const bool here[] = { false };
    skn_lateness_init(&lateness, 1, 9, 1, SKN_LATENESS_ADDED);
    uint64_t now_ns = do_batches(5, 5 * MS) + 60000ull * MS;
    skn_lateness_moved(&lateness, true, now_ns);
    uint64_t wait_ns = skn_lateness_wait(&lateness, here, now_ns) - now_ns;
    cr_expect(wait_ns > 10 * MS && wait_ns < 12 * MS, "%lu", wait_ns);
    now_ns = do_batches(60, now_ns);
    wait_ns = skn_lateness_wait(&lateness, here, now_ns) - now_ns;
    cr_expect(wait_ns < 10 * MS + MS / 100, "%lu", wait_ns);
}

/* One that is slow for good has estimates in its place for a twentieth of the
 * batches, and one that pauses for a while for all of them. */
Test(lateness, who_is_always_late_is_waited_for)
{
    const bool here[] = { true, false };
    uint32_t left = 0;
    skn_lateness_init(&lateness, 2, 9, 0.1, SKN_LATENESS_ESTIMATED);
    uint64_t now_ns = do_batches(19, 5 * MS);
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX,
                 "it has nothing saved up yet");
    for (uint32_t k = 0; k < 1000; k++) {
        now_ns = do_batches(1, now_ns);
        if (skn_lateness_wait(&lateness, here, now_ns) != UINT64_MAX) {
            left += skn_lateness_leave(&lateness, here);
            cr_assert(skn_lateness_came(&lateness, 1));
        }
    }
    cr_expect_geq(left, 48);
    cr_expect_leq(left, 52);
    now_ns = do_batches(400, now_ns);
    for (uint32_t k = 0; k < 9; k++) {
        cr_expect_neq(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX,
                      "%u", k);
        cr_expect_eq(skn_lateness_leave(&lateness, here), 1);
    }
    cr_expect_eq(skn_lateness_wait(&lateness, here, now_ns), UINT64_MAX);
}
