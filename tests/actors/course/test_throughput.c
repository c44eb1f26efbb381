/* test_throughput.c - tests that reports about a run are rare, and their rates
 * right.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/course/throughput.h"

#define S 1000000000ull

Test(throughput, nothing_is_reported_without_an_interval)
{
    skn_throughput_t throughput = { 0 };
    skn_throughput_rate_t rate;
    for (uint64_t k = 1; k < 10; k++)
        cr_expect_not(skn_throughput_due(&throughput, k, k * S, &rate));
}

Test(throughput, the_first_result_starts_the_clock)
{
    skn_throughput_t throughput = { .every_ns = 2 * S };
    skn_throughput_rate_t rate = { 0 };
    throughput.rows = 10;
    cr_expect_not(skn_throughput_due(&throughput, 1, 5 * S, &rate));
    throughput.rows = 50;
    cr_expect_not(skn_throughput_due(&throughput, 4, 7 * S - 1, &rate));
    cr_expect(skn_throughput_due(&throughput, 5, 7 * S, &rate));
    cr_expect_float_eq(rate.rows_per_s, 20, 1e-9);
    cr_expect_float_eq(rate.batches_per_s, 2, 1e-9);
    cr_expect_not(skn_throughput_due(&throughput, 6, 8 * S, &rate));
}

Test(throughput, results_may_change_places)
{
    skn_throughput_t throughput = { .every_ns = S };
    skn_throughput_rate_t rate;
    cr_expect_not(skn_throughput_due(&throughput, 9, 1 * S, &rate));
    cr_expect(skn_throughput_due(&throughput, 8, 2 * S, &rate));
    cr_expect_eq(rate.batches_per_s, 0);
}

Test(throughput, a_pause_is_no_time_of_training)
{
    skn_throughput_t throughput = { .every_ns = S };
    skn_throughput_rate_t rate;
    cr_expect_not(skn_throughput_due(&throughput, 1, 1 * S, &rate));
    skn_throughput_pause(&throughput);
    throughput.rows = 8;
    cr_expect_not(skn_throughput_due(&throughput, 2, 99 * S, &rate));
    throughput.rows = 16;
    cr_expect(skn_throughput_due(&throughput, 3, 100 * S, &rate));
    cr_expect_float_eq(rate.rows_per_s, 8, 1e-9);
}

/* Epochs that are shorter than the interval end in pauses. */
Test(throughput, pauses_do_not_put_reports_off)
{
    skn_throughput_t throughput = { .every_ns = 5 * S };
    skn_throughput_rate_t rate;
    uint32_t reports = 0;
    for (uint64_t k = 1; k <= 60; k++) {
        throughput.rows += 4;
        reports += skn_throughput_due(&throughput, k, k * S, &rate);
        if (k % 3 == 0)
            skn_throughput_pause(&throughput);
    }
    cr_expect(reports >= 9 && reports <= 12, "%u", reports);
    cr_expect_float_eq(rate.rows_per_s, 4, 1e-9);
}

Test(throughput, work_is_counted_once_and_rest_is_not)
{
    skn_throughput_t throughput = { 0 };
    cr_expect_eq(skn_throughput_busy_s(&throughput, 5 * S), 0);
    skn_throughput_rest(&throughput, 5 * S);
    skn_throughput_work(&throughput, 5 * S);
    skn_throughput_work(&throughput, 6 * S);
    cr_expect_float_eq(skn_throughput_busy_s(&throughput, 8 * S), 3, 1e-9);
    skn_throughput_rest(&throughput, 9 * S);
    cr_expect_float_eq(skn_throughput_busy_s(&throughput, 20 * S), 4, 1e-9);
    skn_throughput_work(&throughput, 21 * S);
    skn_throughput_rest(&throughput, 22 * S);
    cr_expect_float_eq(skn_throughput_busy_s(&throughput, 30 * S), 5, 1e-9);
}
