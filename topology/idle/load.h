/* load.h - measures the share of time in which a node of a run has work to do.
 *
 * The greatest of three, over each second or so: how long the actors of its
 * busiest core were at work; how long any other thread, such as those of its
 * links, ran or waited for a core (schedstat of proc(5)); and the share of its
 * control group's quota that its processor time is. A core that others share
 * shows in the second, a quota only in the third: a thread that the quota holds
 * back waits even if the node has time to spare on the whole.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_LOAD_H
#define TOPOLOGY_IDLE_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define SKN_LOAD_THREADS 64u

typedef struct skn_load_thread {
    int32_t id;
    uint64_t ran_ns, waited_ns; /* waited: for a core, so far */
} skn_load_thread_t;

/* The last sample; all zero before the first. */
typedef struct skn_node_load {
    uint64_t busy_ns; /* so far; never more than the time that has passed */
    uint64_t at_ns, core_ns, cpu_ns, throttled_ns;
    skn_load_thread_t thread[SKN_LOAD_THREADS];
    size_t thread_count;
} skn_node_load_t;

/* A sample of totals since the process started. */
typedef struct skn_load_sample {
    uint64_t at_ns;
    uint64_t core_ns; /* work of the actors of the busiest core */
    uint64_t cpu_ns;
    double quota;          /* in processing units; 0: none */
    uint64_t throttled_ns; /* how long the quota has held us back */
    const skn_load_thread_t *threads;
    size_t thread_count;
} skn_load_sample_t;

/* Adds a sample; the first one only serves to compare the next with. */
void skn_node_load_add(skn_node_load_t *load, const skn_load_sample_t *sample);

/* Up to `max` threads of this process, as many as the system reports, without
 * those that are nicer than the calling thread. */
size_t skn_load_threads(skn_load_thread_t *threads, size_t max);

#endif
