/* load.h - how much of the time a node of a run has work in hand.
 *
 * The most of three, over each second or so: how long its busiest core's actors
 * were at work; how long any other of its threads, such as those of its links,
 * ran or waited for a core (schedstat of proc(5)); and what its processor time
 * is of what its control group may use. A core that others share shows in the
 * second, a quota in the third alone: a thread that it holds back waits though
 * its node may have time to spare on the whole.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_LOAD_H
#define TOPOLOGY_IDLE_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define SKN_LOAD_THREADS 64u

typedef struct skn_load_thread {
    int32_t id;
    uint64_t ran_ns, waited_ns; /* for a core, so far */
} skn_load_thread_t;

/* What was looked at last; all zero before. */
typedef struct skn_node_load {
    uint64_t busy_ns; /* so far: never more than the time that passed */
    uint64_t at_ns, core_ns, cpu_ns, throttled_ns;
    skn_load_thread_t thread[SKN_LOAD_THREADS];
    size_t thread_count;
} skn_node_load_t;

/* What is known now: so far, since the start of the process. */
typedef struct skn_load_look {
    uint64_t at_ns;
    uint64_t core_ns; /* how long the actors of the busiest core were at work */
    uint64_t cpu_ns;
    double quota;          /* in processing units; 0: none */
    uint64_t throttled_ns; /* how long the quota has held us back */
    const skn_load_thread_t *threads;
    size_t thread_count;
} skn_load_look_t;

/* Takes a look: the first one only to compare the next with. */
void skn_node_load_add(skn_node_load_t *load, const skn_load_look_t *look);

/* Up to `max` threads of this process, as many as the system tells of, without
 * those that are nicer than the one that asks. */
size_t skn_load_threads(skn_load_thread_t *threads, size_t max);

#endif
