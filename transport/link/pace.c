/* pace.c - estimates the round trip and the rate of a link.
 *
 * This file owns: the two filters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/pace.h"

#include <assert.h>

#include "transport/link/fragment.h"

#define STRETCH_NS_MIN UINT64_C(25000000)
/* A rate is raised after one period, lowered after several, and only if the
 * sender could have sent more: if at least this much is still in flight. Fewer
 * bytes than this are not a sample. */
#define STRETCHES_DOWN 2u
#define PACE_BURST_BYTES_MIN 16384u
/* How long one fragment may occupy the wire. Far below a quarter of libzmq's 3
 * s between two heartbeats, which only count between whole frames: acks wait
 * behind it too. At 125 kB/s its header is then half a percent. */
#define FRAGMENT_SECONDS 0.1
/* Before the rate is known: the slowest wire that we support, 256 kbit/s. */
#define RATE_FIRST 32000.0
/* The bytes in flight: this times (round trip and a little) x rate. Twice, as
 * in BBR (Cardwell 2016), so that the rate grows while there is room, and since
 * acks wait in the queue of the other direction. */
#define FLIGHT_GAIN 2.0
#define QUEUE_NS UINT64_C(50000000)
#define FLIGHT_FRAGMENTS_MIN 4.0
#define DISORDER_NS_MIN UINT64_C(1000000)

void
skn_pace_round_trip(skn_pace_t *pace, uint64_t rtt_ns)
{
    if (rtt_ns > SKN_ROUND_TRIP_NS_MAX)
        return;
    if (rtt_ns == 0)
        rtt_ns = 1; /* 0 means unknown */
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
    /* A fragment that has just started to leave, and the one behind it; both
     * may have been cut before the rate was known. */
    size_t fragment_bytes =
        skn_pace_fragment_bytes(pace, SKN_FRAGMENT_BYTES_MAX);
    if (fragment_bytes < SKN_FRAGMENT_BYTES_FIRST)
        fragment_bytes = SKN_FRAGMENT_BYTES_FIRST;
    double bytes = 2.0 * (double)fragment_bytes;
    double rate = pace->bytes_per_second;
    wait += (uint64_t)(bytes / (rate > 0.0 ? rate : RATE_FIRST) * 1e9);
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

/* The shortest time over which acks are counted, `count` times: acks arrive in
 * bursts, and none in the first round trip. */
static uint64_t
stretch_ns(const skn_pace_t *pace, uint64_t count)
{
    uint64_t trip_ns = pace->rtt_ns;
    return count * (trip_ns > STRETCH_NS_MIN ? trip_ns : STRETCH_NS_MIN);
}

void
skn_pace_acked(skn_pace_t *pace, uint64_t now_ns, uint64_t acked,
               uint64_t in_flight_bytes)
{
    if (!pace->busy)
        return;
    assert(now_ns >= pace->busy_since_ns && acked >= pace->busy_since_acked);
    uint64_t elapsed_ns = now_ns - pace->busy_since_ns;
    uint64_t bytes = acked - pace->busy_since_acked;
    double old = pace->bytes_per_second;
    double sample = (double)bytes * 1e9 / (double)(elapsed_ns + 1);
    bool full = in_flight_bytes >= PACE_BURST_BYTES_MIN;
    bool drained = in_flight_bytes == 0;
    bool up = sample > old && bytes >= PACE_BURST_BYTES_MIN &&
              elapsed_ns >= (drained ? pace->rtt_min_ns : stretch_ns(pace, 1));
    bool down = full && elapsed_ns >= stretch_ns(pace, STRETCHES_DOWN);
    if ((up || down) && old <= 0.0)
        pace->bytes_per_second = sample;
    else if (up)
        pace->bytes_per_second = (old + sample) / 2;
    else if (down)
        pace->bytes_per_second = (3.0 * old + sample) / 4;
    if (up || elapsed_ns >= stretch_ns(pace, STRETCHES_DOWN))
        skn_pace_busy(pace, now_ns, acked);
    if (drained)
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
    if (pace->bytes_per_second <= 0.0)
        return SKN_FLIGHT_BYTES_FIRST;
    double seconds = (double)(pace->rtt_min_ns + QUEUE_NS) / 1e9;
    double bytes = FLIGHT_GAIN * pace->bytes_per_second * seconds;
    double least = FLIGHT_FRAGMENTS_MIN * (double)skn_pace_fragment_bytes(
                                              pace, SKN_FRAGMENT_BYTES_MAX);
    if (bytes > (double)SKN_RECORD_BYTES_MAX)
        return SKN_RECORD_BYTES_MAX;
    return (uint64_t)(bytes > least ? bytes : least);
}
