/* usage.h - what the process has used so far.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_USAGE_H
#define ACTORS_MACHINE_USAGE_H

#include <stdint.h>

typedef struct skn_usage {
    uint64_t cpu_ns; /* user and system time of all its threads */
    uint64_t rss_bytes;
} skn_usage_t;

/* Any thread. What the system does not tell is 0. */
void skn_usage_now(skn_usage_t *usage);

/* CPU time of the calling thread, and how long it was ready to run and had no
 * core. What the system does not tell is left as it is. */
void skn_usage_thread(uint64_t *ran_ns, uint64_t *queued_ns);

#endif
