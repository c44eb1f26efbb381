/* pace.h - how fast a link answers, and how much it carries.
 *
 * Pure arithmetic over samples: round trips (Jacobson 1988, as in RFC 6298),
 * and the rate at which bytes are acked while some are under way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_PACE_H
#define TRANSPORT_LINK_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times after which something that was sent counts as lost. Within a connection
 * next to nothing is; but acks stand in the queue of the other direction, and
 * with 200 ms (and 20 ms of round trip, 100 Mbit/s, both ways) a third was sent
 * twice: tests/transport/link/test_link_rate.c. */
#define SKN_TIMEOUT_NS_MIN UINT64_C(500000000)
#define SKN_TIMEOUT_NS_MAX UINT64_C(5000000000)
/* Before the first round trip is known (RFC 6298, 2.1). */
#define SKN_TIMEOUT_NS_FIRST UINT64_C(1000000000)
/* A round trip that was longer is no news about the link. */
#define SKN_ROUND_TRIP_NS_MAX UINT64_C(60000000000)
/* Fragments and bytes under way before the rate is known: half a second, and
 * eight, of 256 kbit/s. */
#define SKN_FRAGMENT_BYTES_FIRST ((size_t)1 << 14)
#define SKN_FLIGHT_BYTES_FIRST ((size_t)1 << 18)

/* { 0 } knows nothing. */
typedef struct skn_pace {
    uint64_t rtt_ns, rtt_deviation_ns, rtt_min_ns;
    double bytes_per_second;
    /* A stretch in which bytes were under way all the time. */
    bool busy;
    uint64_t busy_since_ns, busy_since_acked;
} skn_pace_t;

void skn_pace_round_trip(skn_pace_t *pace, uint64_t rtt_ns);
/* How long to wait for an ack, after `timeouts` in a row. */
uint64_t skn_pace_timeout_ns(const skn_pace_t *pace, uint32_t timeouts);
/* How long a gap may be mere disorder: a quarter of a round trip (RFC 8985). */
uint64_t skn_pace_disorder_ns(const skn_pace_t *pace);

/* Bytes leave while none were under way; `acked` are acked so far. */
void skn_pace_busy(skn_pace_t *pace, uint64_t now_ns, uint64_t acked);
/* Bytes up to `acked` are acked, so many others are still under way. */
void skn_pace_acked(skn_pace_t *pace, uint64_t now_ns, uint64_t acked,
                    uint64_t in_flight_bytes);
/* The lane was cut: the stretch says nothing. */
void skn_pace_cut(skn_pace_t *pace);

/* What takes a tenth of a second, within `most` and, unless `most` is less,
 * SKN_FRAGMENT_BYTES_MIN. */
size_t skn_pace_fragment_bytes(const skn_pace_t *pace, size_t most);
/* What may be under way: that of two round trips and a little, or four
 * fragments. More would only stand in queues, and acks behind it. */
uint64_t skn_pace_flight_bytes(const skn_pace_t *pace);

#endif
