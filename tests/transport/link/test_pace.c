/* test_pace.c - tests round trips, timeouts and rates computed from samples.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "transport/link/link.h"
#include "transport/link/pace.h"

#define MS UINT64_C(1000000)

/* RFC 6298 in double: the oracle. */
Test(pace, round_trips_are_smoothed_as_in_rfc_6298)
{
    skn_pace_t pace = { 0 };
    double smoothed = 0, deviation = 0;
    uint64_t least = UINT64_MAX;
    for (uint64_t k = 0; k < 200; k++) {
        uint64_t sample = (10 + k * 37 % 90) * MS;
        skn_pace_round_trip(&pace, sample);
        double x = (double)sample;
        least = sample < least ? sample : least;
        if (k == 0) {
            smoothed = x;
            deviation = x / 2;
        } else {
            deviation = 0.75 * deviation + 0.25 * fabs(smoothed - x);
            smoothed = 0.875 * smoothed + 0.125 * x;
        }
        cr_expect(fabs((double)pace.rtt_ns - smoothed) < 100);
        cr_expect(fabs((double)pace.rtt_deviation_ns - deviation) < 200);
        cr_expect_eq(pace.rtt_min_ns, least);
    }
}

Test(pace, a_round_trip_of_nothing_or_an_age_is_no_news)
{
    skn_pace_t pace = { 0 };
    skn_pace_round_trip(&pace, SKN_ROUND_TRIP_NS_MAX + 1);
    cr_expect_eq(pace.rtt_ns, 0);
    skn_pace_round_trip(&pace, 0);
    cr_expect_eq(pace.rtt_ns, 1); /* 0 means unknown */
    skn_pace_round_trip(&pace, SKN_ROUND_TRIP_NS_MAX);
    cr_expect_gt(pace.rtt_ns, 1);
}

Test(pace, timeouts_double_within_their_bounds)
{
    skn_pace_t pace = { .rtt_ns = 1, .rtt_min_ns = 1 };
    pace.bytes_per_second = 1e9;
    uint64_t wait = skn_pace_timeout_ns(&pace, 0);
    cr_expect_eq(wait, SKN_TIMEOUT_NS_MIN);
    for (uint32_t k = 1; k < 100; k++) {
        uint64_t next = skn_pace_timeout_ns(&pace, k);
        cr_expect_eq(next, wait * 2 < SKN_TIMEOUT_NS_MAX ? wait * 2
                                                         : SKN_TIMEOUT_NS_MAX);
        wait = next;
    }
    cr_expect_eq(skn_pace_timeout_ns(&pace, UINT32_MAX), SKN_TIMEOUT_NS_MAX);
    pace.rtt_ns = 700 * MS;
    pace.rtt_deviation_ns = 100 * MS;
    wait = skn_pace_timeout_ns(&pace, 0);
    cr_expect(wait >= 1100 * MS && wait < 1101 * MS);
}

Test(pace, a_timeout_waits_for_two_fragments_of_a_thin_wire)
{
    skn_pace_t pace = { .rtt_ns = MS, .rtt_min_ns = MS };
    cr_expect_gt(skn_pace_timeout_ns(&pace, 0), 1000 * MS); /* not known */
    pace.bytes_per_second = 16000;
    cr_expect_gt(skn_pace_timeout_ns(&pace, 0), 2000 * MS);
    pace.bytes_per_second = 1;
    cr_expect_eq(skn_pace_timeout_ns(&pace, 0), SKN_TIMEOUT_NS_MAX);
}

Test(pace, disorder_lasts_a_quarter_of_a_round_trip)
{
    skn_pace_t pace = { 0 };
    cr_expect_eq(skn_pace_disorder_ns(&pace), MS);
    pace.rtt_ns = 40 * MS;
    cr_expect_eq(skn_pace_disorder_ns(&pace), 10 * MS);
}

/* Acks of a wire of `rate`, every 10 ms, `in_flight` always under way. */
static void
carry(skn_pace_t *pace, double rate, uint64_t in_flight, unsigned count)
{
    static uint64_t now_ns, acked;
    if (!pace->busy)
        skn_pace_busy(pace, now_ns, acked);
    for (unsigned k = 0; k < count; k++) {
        now_ns += 10 * MS;
        acked += (uint64_t)(rate / 100);
        skn_pace_acked(pace, now_ns, acked, in_flight);
    }
}

Test(pace, the_rate_follows_what_is_acked)
{
    static const double rates[] = { 32e3, 1e6, 2e5, 125e6, 5e6 };
    skn_pace_t pace = { .rtt_ns = 20 * MS, .rtt_min_ns = 20 * MS };
    for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
        carry(&pace, rates[k], 1 << 20, 500);
        cr_expect(fabs(pace.bytes_per_second / rates[k] - 1) < 0.02,
                  "%.0f for %.0f", pace.bytes_per_second, rates[k]);
    }
}

Test(pace, a_sender_with_little_to_say_does_not_lower_the_rate)
{
    skn_pace_t pace = { .rtt_ns = 20 * MS, .rtt_min_ns = 20 * MS };
    carry(&pace, 1e6, 1 << 20, 200);
    double rate = pace.bytes_per_second;
    carry(&pace, 1e4, 1000, 500);
    cr_expect_eq(pace.bytes_per_second, rate);
    skn_pace_acked(&pace, UINT64_MAX / 2, UINT64_MAX / 2, 0);
    cr_expect_not(pace.busy);
}

Test(pace, a_cut_ends_the_counting)
{
    skn_pace_t pace = { .rtt_ns = MS, .rtt_min_ns = MS };
    skn_pace_busy(&pace, 0, 0);
    skn_pace_cut(&pace);
    skn_pace_acked(&pace, 1000 * MS, 1 << 30, 1 << 20);
    cr_expect_eq(pace.bytes_per_second, 0.0);
}

Test(pace, a_short_burst_counts_from_one_round_trip_on)
{
    skn_pace_t pace = { .rtt_ns = 2 * MS, .rtt_min_ns = 2 * MS };
    skn_pace_busy(&pace, 0, 0);
    skn_pace_acked(&pace, MS, 1 << 20, 0); /* cannot be: acks of before */
    cr_expect_eq(pace.bytes_per_second, 0.0);
    skn_pace_busy(&pace, 0, 0);
    skn_pace_acked(&pace, 4 * MS, 1 << 10, 0); /* says nothing */
    cr_expect_eq(pace.bytes_per_second, 0.0);
    skn_pace_busy(&pace, 0, 0);
    skn_pace_acked(&pace, 4 * MS, 40000, 0);
    cr_expect(fabs(pace.bytes_per_second - 1e7) < 10);
}

Test(pace, fragments_fit_a_tenth_of_a_second)
{
    skn_pace_t pace = { 0 };
    cr_expect_eq(skn_pace_fragment_bytes(&pace, 65536),
                 SKN_FRAGMENT_BYTES_FIRST);
    pace.bytes_per_second = 1;
    cr_expect_eq(skn_pace_fragment_bytes(&pace, 65536), SKN_FRAGMENT_BYTES_MIN);
    cr_expect_eq(skn_pace_fragment_bytes(&pace, 100), 100);
    pace.bytes_per_second = 2e5;
    cr_expect_eq(skn_pace_fragment_bytes(&pace, 65536), 20000);
    pace.bytes_per_second = 1e12;
    cr_expect_eq(skn_pace_fragment_bytes(&pace, 65536), SKN_FRAGMENT_BYTES_MAX);
    cr_expect_eq(skn_pace_fragment_bytes(&pace, 5000), 5000);
}

Test(pace, what_is_under_way_is_bounded_by_the_rate)
{
    skn_pace_t pace = { 0 };
    cr_expect_eq(skn_pace_flight_bytes(&pace), SKN_FLIGHT_BYTES_FIRST);
    pace.bytes_per_second = 1e7;
    pace.rtt_min_ns = 50 * MS;
    cr_expect_eq(skn_pace_flight_bytes(&pace), 2000000);
    pace.bytes_per_second = 1;
    cr_expect_eq(skn_pace_flight_bytes(&pace), 4 * SKN_FRAGMENT_BYTES_MIN);
    pace.bytes_per_second = 1e15;
    cr_expect_eq(skn_pace_flight_bytes(&pace), SKN_RECORD_BYTES_MAX);
}
