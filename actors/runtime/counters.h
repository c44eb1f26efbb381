/* counters.h - counters of an actor's time, messages and bytes.
 *
 * They are written by the actor's own thread only, and read by the host after
 * the threads have been joined, or sent as an event. Those that are written by
 * SKN_COUNT and SKN_COUNT_SET the host also reads during the run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_COUNTERS_H
#define ACTORS_RUNTIME_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

/* Durations by powers of two: bucket k holds [2^k, 2^(k+1)) nanoseconds. */
#define SKN_HISTOGRAM_BUCKETS 48

/* Add to a number that one thread writes, and set it, so that other threads can
 * read it by SKN_COUNTED at any time. They cost what a plain addition does: no
 * order between two numbers is promised. */
#define SKN_COUNT(number, more)                                                \
    __atomic_store_n(&(number), (number) + (more), __ATOMIC_RELAXED)
#define SKN_COUNT_SET(number, value)                                           \
    __atomic_store_n(&(number), (value), __ATOMIC_RELAXED)
#define SKN_COUNTED(number) __atomic_load_n(&(number), __ATOMIC_RELAXED)

typedef struct skn_histogram {
    uint64_t count, sum_ns, max_ns;
    uint64_t bucket[SKN_HISTOGRAM_BUCKETS];
} skn_histogram_t;

/* One end of one pipe between two actors. */
typedef struct skn_edge_counters {
    uint64_t messages, bytes;
    uint64_t queue_max; /* sender: outbox; receiver: parts waiting */
    uint64_t full_ns;   /* sender: time blocked because of this edge */
} skn_edge_counters_t;

typedef struct skn_actor_counters {
    uint64_t waiting_ns;  /* while there was nothing to do */
    uint64_t handling_ns; /* in a handler, a timer, produce, start, drain */
    uint64_t blocked_ns;  /* while an outbox waited for credit */
    uint64_t remote_ns;   /* of waiting_ns: for messages of other nodes */
    uint64_t open_ns;     /* of handling_ns: the first open */
    uint64_t ran_ns;      /* CPU time of the thread; 0: unknown */
    uint64_t queued_ns;   /* runnable, but without a core */
    uint64_t saving_ns;   /* while skn_actor_set_saving was on */
    uint64_t saves, save_begin_ns;
    uint64_t waiting_since_ns, blocked_since_ns; /* the wait that goes on, of
                                                  * each sort; 0: none */
    uint64_t wakeups, restarts;
    uint64_t dropped;  /* messages for which the topology has no pipe */
    uint64_t held_max; /* of what skn_actor_set_held was told */
} skn_actor_counters_t;

void skn_histogram_add(skn_histogram_t *histogram, uint64_t duration_ns);
/* Returns an upper bound of the `share` quantile (0..1): the end of its bucket,
 * at most max_ns. 0 when nothing was added. */
uint64_t skn_histogram_quantile_ns(const skn_histogram_t *histogram,
                                   double share);

#endif
