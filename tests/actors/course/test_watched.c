/* test_watched.c - tests that reports about a run are rare, and their rates
 * right.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/course/watched.h"

#define S 1000000000ull

Test(watched, nobody_watches_nothing_is_told)
{
    skn_watched_t watched = { 0 };
    skn_watched_rate_t rate;
    for (uint64_t k = 1; k < 10; k++)
        cr_expect_not(skn_watched_due(&watched, k, k * S, &rate));
}

Test(watched, the_first_result_starts_the_clock)
{
    skn_watched_t watched = { .every_ns = 2 * S };
    skn_watched_rate_t rate = { 0 };
    watched.rows = 10;
    cr_expect_not(skn_watched_due(&watched, 1, 5 * S, &rate));
    watched.rows = 50;
    cr_expect_not(skn_watched_due(&watched, 4, 7 * S - 1, &rate));
    cr_expect(skn_watched_due(&watched, 5, 7 * S, &rate));
    cr_expect_float_eq(rate.rows_per_s, 20, 1e-9);
    cr_expect_float_eq(rate.batches_per_s, 2, 1e-9);
    cr_expect_not(skn_watched_due(&watched, 6, 8 * S, &rate));
}

Test(watched, results_may_change_places)
{
    skn_watched_t watched = { .every_ns = S };
    skn_watched_rate_t rate;
    cr_expect_not(skn_watched_due(&watched, 9, 1 * S, &rate));
    cr_expect(skn_watched_due(&watched, 8, 2 * S, &rate));
    cr_expect_eq(rate.batches_per_s, 0);
}

Test(watched, a_pause_is_no_time_of_training)
{
    skn_watched_t watched = { .every_ns = S };
    skn_watched_rate_t rate;
    cr_expect_not(skn_watched_due(&watched, 1, 1 * S, &rate));
    watched.told_ns = 0;
    watched.rows = 8;
    cr_expect_not(skn_watched_due(&watched, 2, 99 * S, &rate));
    watched.rows = 16;
    cr_expect(skn_watched_due(&watched, 3, 100 * S, &rate));
    cr_expect_float_eq(rate.rows_per_s, 8, 1e-9);
}

Test(watched, work_is_counted_once_and_rest_is_not)
{
    skn_watched_t watched = { 0 };
    cr_expect_eq(skn_watched_busy_s(&watched, 5 * S), 0);
    skn_watched_rest(&watched, 5 * S);
    skn_watched_work(&watched, 5 * S);
    skn_watched_work(&watched, 6 * S);
    cr_expect_float_eq(skn_watched_busy_s(&watched, 8 * S), 3, 1e-9);
    skn_watched_rest(&watched, 9 * S);
    cr_expect_float_eq(skn_watched_busy_s(&watched, 20 * S), 4, 1e-9);
    skn_watched_work(&watched, 21 * S);
    skn_watched_rest(&watched, 22 * S);
    cr_expect_float_eq(skn_watched_busy_s(&watched, 30 * S), 5, 1e-9);
}
