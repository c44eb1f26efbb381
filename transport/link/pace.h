/* pace.h - estimates the round trip and the rate of a link.
 *
 * Timeouts and sizes are derived from them. Pure arithmetic over samples: round
 * trips (Jacobson 1988, as in RFC 6298), and the rate at which bytes are
 * acknowledged while some are in flight.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_PACE_H
#define TRANSPORT_LINK_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times after which a fragment that was sent counts as lost. Within a
 * connection hardly any are; but acks wait in the queue of the other direction,
 * and with 200 ms (and 20 ms of round trip, 100 Mbit/s, both ways) a third was
 * sent twice: tests/transport/link/test_link_rate.c. */
#define SKN_TIMEOUT_NS_MIN UINT64_C(500000000)
#define SKN_TIMEOUT_NS_MAX UINT64_C(5000000000)
/* Before the first round trip is known (RFC 6298, 2.1). */
#define SKN_TIMEOUT_NS_FIRST UINT64_C(1000000000)
/* A longer round trip is not counted as a sample. */
#define SKN_ROUND_TRIP_NS_MAX UINT64_C(60000000000)
/* Fragments and bytes in flight before the rate is known: half a second, and
 * eight seconds, of 256 kbit/s. */
#define SKN_FRAGMENT_BYTES_FIRST ((size_t)1 << 14)
#define SKN_FLIGHT_BYTES_FIRST ((size_t)1 << 18)

/* { 0 } has no samples. */
typedef struct skn_pace {
    uint64_t rtt_ns, rtt_deviation_ns, rtt_min_ns;
    double bytes_per_second;
    /* A period in which bytes were in flight all the time. */
    bool busy;
    uint64_t busy_since_ns, busy_since_acked;
} skn_pace_t;

void skn_pace_round_trip(skn_pace_t *pace, uint64_t rtt_ns);
/* How long to wait for an ack, after `timeouts` in a row. */
uint64_t skn_pace_timeout_ns(const skn_pace_t *pace, uint32_t timeouts);
/* How long a gap may be mere reordering: a quarter of a round trip (RFC
 * 8985). */
uint64_t skn_pace_disorder_ns(const skn_pace_t *pace);

/* Bytes are sent while none were in flight; `acked` were acknowledged so
 * far. */
void skn_pace_busy(skn_pace_t *pace, uint64_t now_ns, uint64_t acked);
/* Bytes up to `acked` are acknowledged, `in_flight_bytes` are still in
 * flight. */
void skn_pace_acked(skn_pace_t *pace, uint64_t now_ns, uint64_t acked,
                    uint64_t in_flight_bytes);
/* The lane was cut: the current period is discarded. */
void skn_pace_cut(skn_pace_t *pace);

/* The bytes that take a tenth of a second, at most `most` and, unless `most` is
 * less, at least SKN_FRAGMENT_BYTES_MIN. */
size_t skn_pace_fragment_bytes(const skn_pace_t *pace, size_t most);
/* The bytes that may be in flight: those of two round trips and a little, or
 * four fragments. More would only wait in queues, and acks behind them. */
uint64_t skn_pace_flight_bytes(const skn_pace_t *pace);

#endif
