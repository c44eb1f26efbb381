/* test_bucket.c - tests the token bucket, with a synthetic clock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/bucket.h"

#include <criterion/criterion.h>

#include "tests/support/oracle.h"

#define SECOND UINT64_C(1000000000)

Test(bucket, without_a_limit_it_is_always_open)
{
    skn_bucket_t bucket = { 0 };
    for (int k = 0; k < 1000; k++) {
        cr_assert(skn_bucket_is_open(&bucket, 7));
        cr_assert_eq(skn_bucket_due_ns(&bucket, 7), 7u);
        skn_bucket_take(&bucket, SIZE_MAX);
    }
    skn_bucket_init(&bucket, 0, 0);
    skn_bucket_take(&bucket, 1u << 30);
    cr_expect(skn_bucket_is_open(&bucket, 0));
}

Test(bucket, a_full_one_lets_a_burst_pass_and_then_waits_for_what_is_owed)
{
    skn_bucket_t bucket;
    skn_bucket_init(&bucket, 1000, SECOND); /* 16384 bytes at once */
    cr_expect(skn_bucket_is_open(&bucket, SECOND));
    skn_bucket_take(&bucket, 16383);
    cr_expect(skn_bucket_is_open(&bucket, SECOND));
    skn_bucket_take(&bucket, 2001);
    cr_expect_not(skn_bucket_is_open(&bucket, SECOND));
    /* 2,000 are owed, and one more. */
    uint64_t due_ns = skn_bucket_due_ns(&bucket, SECOND);
    cr_expect(due_ns >= 3 * SECOND && due_ns <= 3 * SECOND + SECOND / 500,
              "%llu", (unsigned long long)due_ns);
    cr_expect_not(skn_bucket_is_open(&bucket, due_ns - SECOND / 500));
    cr_expect(skn_bucket_is_open(&bucket, due_ns));
    /* However long nothing leaves, it holds no more than a burst. */
    cr_expect(skn_bucket_is_open(&bucket, 1000 * SECOND));
    skn_bucket_take(&bucket, 16384);
    cr_expect_not(skn_bucket_is_open(&bucket, 1000 * SECOND));
    /* A clock that stands, or goes back, fills nothing. */
    cr_expect_not(skn_bucket_is_open(&bucket, 999 * SECOND));
}

Test(bucket, what_passes_is_the_rate_whatever_is_sent)
{
    static const uint64_t rates[] = { 1, 12500, 125000, 12500000 };
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        oracle_random_t random = { 11 + r };
        skn_bucket_t bucket;
        uint64_t now_ns = 5, begin_ns = 5, passed = 0, burst;
        skn_bucket_init(&bucket, rates[r], now_ns);
        for (int k = 0; k < 3000; k++) {
            size_t bytes = 1 + oracle_next(&random) % 65536;
            now_ns = skn_bucket_due_ns(&bucket, now_ns);
            cr_assert(skn_bucket_is_open(&bucket, now_ns));
            skn_bucket_take(&bucket, bytes);
            passed += bytes;
        }
        double carried = (double)(now_ns - begin_ns) * 1e-9 * (double)rates[r];
        burst = rates[r] / 50 > 16384 ? rates[r] / 50 : 16384;
        cr_expect_leq((double)passed, carried + (double)burst + 65536.0,
                      "rate %llu", (unsigned long long)rates[r]);
        cr_expect_geq((double)passed, carried, "rate %llu",
                      (unsigned long long)rates[r]);
    }
}
