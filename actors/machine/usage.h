/* usage.h - the CPU time and memory that the process has used, and the work of
 * its cores.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_USAGE_H
#define ACTORS_MACHINE_USAGE_H

#include <sched.h>
#include <stdint.h>

typedef struct skn_usage {
    uint64_t cpu_ns; /* user and system time of all its threads */
    uint64_t rss_bytes;
} skn_usage_t;

/* Any thread. Values that the system does not report are 0. */
void skn_usage_now(skn_usage_t *usage);
uint64_t skn_usage_cpu_ns(void);

/* Gets the CPU time of the calling thread, and how long it was ready to run but
 * had no core. Values that the system does not report are left unchanged. */
void skn_usage_thread(uint64_t *ran_ns, uint64_t *queued_ns);

/* Ticks that the processors of `cpus` have worked for any process, from the
 * text of /proc/stat; *found is the number of them that it lists. Time that a
 * hypervisor took counts as no work. */
uint64_t skn_usage_busy_ticks(const char *text, const cpu_set_t *cpus,
                              uint32_t *found);

#endif
