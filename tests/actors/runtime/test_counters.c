/* test_counters.c - tests histograms of durations.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/runtime/counters.h"

TestSuite(counters, .timeout = 60);

Test(counters, a_duration_falls_into_the_bucket_of_its_power_of_two)
{
    for (int power = 0; power < SKN_HISTOGRAM_BUCKETS; power++) {
        skn_histogram_t histogram = { 0 };
        uint64_t edge_ns = UINT64_C(1) << power;
        skn_histogram_add(&histogram, edge_ns);
        skn_histogram_add(&histogram, 2 * edge_ns - 1);
        cr_expect_eq(histogram.bucket[power], 2);
        cr_expect_eq(histogram.count, 2);
        cr_expect_eq(histogram.sum_ns, 3 * edge_ns - 1);
        cr_expect_eq(histogram.max_ns, 2 * edge_ns - 1);
    }
}

Test(counters, nothing_and_for_ever_have_a_bucket_too)
{
    skn_histogram_t histogram = { 0 };
    skn_histogram_add(&histogram, 0);
    skn_histogram_add(&histogram, UINT64_MAX);
    cr_expect_eq(histogram.bucket[0], 1);
    cr_expect_eq(histogram.bucket[SKN_HISTOGRAM_BUCKETS - 1], 1);
    cr_expect_eq(histogram.max_ns, UINT64_MAX);
}

Test(counters, an_empty_histogram_has_no_quantiles)
{
    skn_histogram_t histogram = { 0 };
    cr_expect_eq(skn_histogram_quantile_ns(&histogram, 0.5), 0);
}

/* At least `share` of all durations lie below the quantile, and it is at most
 * twice the duration of that rank. */
Test(counters, a_quantile_bounds_the_duration_of_its_rank)
{
    static const double shares[] = { 0.0, 0.01, 0.5, 0.9, 0.99, 1.0 };
    for (uint64_t count = 1; count <= 1000; count += 37) {
        skn_histogram_t histogram = { 0 };
        for (uint64_t k = 1; k <= count; k++)
            skn_histogram_add(&histogram, k * k);
        for (size_t s = 0; s < sizeof(shares) / sizeof(*shares); s++) {
            uint64_t got = skn_histogram_quantile_ns(&histogram, shares[s]);
            uint64_t rank = (uint64_t)(shares[s] * (double)count);
            cr_expect_geq(got, rank * rank);
            cr_expect_leq(got, rank < 1 ? 2 : 2 * rank * rank);
            cr_expect_leq(got, count * count);
        }
    }
}
