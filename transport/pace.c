/* pace.c - how fast a link answers, and how much it carries.
 *
 * This file owns: the two filters. SPDX-License-Identifier: Apache-2.0 */
#include "transport/pace.h"

#include "transport/link.h"

/* A stretch is long enough to be believed downwards: its first round trip, in
 * which no ack can come, is at most a quarter of it. */
#define STRETCH_NS_MIN UINT64_C(100000000)
#define STRETCH_ROUND_TRIPS 4u
/* It is believed downwards only if the sender could have sent more: as much as
 * this is still under way. Less than this says nothing at all. */
#define BURST_BYTES_MIN 16384u
/* Share of a heartbeat's patience (3 s) that one fragment may take. */
#define FRAGMENT_SECONDS 0.75
#define DISORDER_NS_MIN UINT64_C(1000000)

void
skn_pace_round_trip(skn_pace_t *pace, uint64_t rtt_ns)
{
    if (rtt_ns > SKN_ROUND_TRIP_NS_MAX)
        return;
    if (rtt_ns == 0)
        rtt_ns = 1; /* 0 is "unknown" */
    if (pace->rtt_ns == 0) {
        pace->rtt_ns = pace->rtt_min_ns = rtt_ns;
        pace->rtt_deviation_ns = rtt_ns / 2;
        return;
    }
    uint64_t off =
        rtt_ns > pace->rtt_ns ? rtt_ns - pace->rtt_ns : pace->rtt_ns - rtt_ns;
    pace->rtt_deviation_ns = (3 * pace->rtt_deviation_ns + off) / 4;
    pace->rtt_ns = (7 * pace->rtt_ns + rtt_ns + 7) / 8;
    if (rtt_ns < pace->rtt_min_ns)
        pace->rtt_min_ns = rtt_ns;
}

uint64_t
skn_pace_timeout_ns(const skn_pace_t *pace, uint32_t timeouts)
{
    uint64_t wait = SKN_TIMEOUT_NS_FIRST;
    if (pace->rtt_ns > 0)
        wait = pace->rtt_ns + 4 * pace->rtt_deviation_ns;
    if (wait < SKN_TIMEOUT_NS_MIN)
        wait = SKN_TIMEOUT_NS_MIN;
    for (; timeouts > 0 && wait < SKN_TIMEOUT_NS_MAX; timeouts--)
        wait *= 2;
    return wait < SKN_TIMEOUT_NS_MAX ? wait : SKN_TIMEOUT_NS_MAX;
}

uint64_t
skn_pace_disorder_ns(const skn_pace_t *pace)
{
    uint64_t wait = pace->rtt_ns / 4;
    return wait > DISORDER_NS_MIN ? wait : DISORDER_NS_MIN;
}

void
skn_pace_busy(skn_pace_t *pace, uint64_t now_ns, uint64_t acked)
{
    pace->busy = true;
    pace->busy_since_ns = now_ns;
    pace->busy_since_acked = acked;
}

void
skn_pace_cut(skn_pace_t *pace)
{
    pace->busy = false;
}

void
skn_pace_acked(skn_pace_t *pace, uint64_t now_ns, uint64_t acked,
               uint64_t in_flight_bytes)
{
    if (!pace->busy)
        return;
    uint64_t elapsed_ns = now_ns - pace->busy_since_ns;
    uint64_t bytes = acked - pace->busy_since_acked;
    uint64_t long_ns = STRETCH_ROUND_TRIPS * pace->rtt_min_ns;
    bool is_long =
        elapsed_ns >= (long_ns > STRETCH_NS_MIN ? long_ns : STRETCH_NS_MIN);
    double old = pace->bytes_per_second, sample = 0.0;
    if (elapsed_ns > 0)
        sample = (double)bytes * 1e9 / (double)elapsed_ns;
    if (is_long && in_flight_bytes >= BURST_BYTES_MIN)
        pace->bytes_per_second = old > 0.0 ? (3.0 * old + sample) / 4 : sample;
    else if ((is_long || in_flight_bytes == 0) && bytes >= BURST_BYTES_MIN &&
             sample > old)
        pace->bytes_per_second = sample;
    if (is_long)
        skn_pace_busy(pace, now_ns, acked);
    if (in_flight_bytes == 0)
        pace->busy = false;
}

size_t
skn_pace_fragment_bytes(const skn_pace_t *pace, size_t most)
{
    size_t bytes = SKN_FRAGMENT_BYTES_FIRST;
    double allowed = pace->bytes_per_second * FRAGMENT_SECONDS;
    if (pace->bytes_per_second > 0.0)
        bytes = allowed < (double)SKN_FRAGMENT_BYTES_MAX
                    ? (size_t)allowed
                    : SKN_FRAGMENT_BYTES_MAX;
    if (bytes < SKN_FRAGMENT_BYTES_MIN)
        bytes = SKN_FRAGMENT_BYTES_MIN;
    return bytes < most ? bytes : most;
}

uint64_t
skn_pace_flight_bytes(const skn_pace_t *pace)
{
    double second = pace->bytes_per_second;
    if (second > (double)SKN_RECORD_BYTES_MAX)
        return SKN_RECORD_BYTES_MAX;
    return second > (double)SKN_FLIGHT_BYTES_MIN ? (uint64_t)second
                                                 : SKN_FLIGHT_BYTES_MIN;
}
