/* idle_apply.h - makes one process give way, as far as the machine allows.
 *
 * A refused request is ignored: a process that gives way less is no reason to
 * end it. With the cores, a thread's former binding comes back too. To be used
 * by one thread of a process other than the one that gives way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_APPLY_H
#define TOPOLOGY_IDLE_IDLE_APPLY_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/idle/idle_way.h"

/* Threads of a process; further ones keep the cores that they have. */
#define SKN_IDLE_THREADS_MAX 4096u

typedef struct skn_idle_apply skn_idle_apply_t;

/* For a process that may use the processors of `cpus`. NULL: no memory. */
skn_idle_apply_t *skn_idle_apply_new(const cpu_set_t *cpus, skn_error_t *error);
void skn_idle_apply_destroy(skn_idle_apply_t **apply);

/* Called once for a process. The process joins the place, is the first to be
 * killed when memory runs out, and has its files read only when no other
 * process reads. In a group of cgroup v2 with the memory controller, it is
 * limited to `memory_bytes` (0: no limit) and kept out of swap. What the place
 * refused is reported; the rest is tried anyway. */
skn_status_t skn_idle_apply_begin(skn_idle_apply_t *apply,
                                  const skn_idle_place_t *place, pid_t pid,
                                  uint64_t memory_bytes, skn_error_t *error);

/* The last `count` processors of `cpus`, with cores kept together: core[k] has
 * CPU_SETSIZE items and is the same for all processors k that are threads of
 * one core. The remaining processors are whole cores, as far as possible. */
void skn_idle_last_cpus(const cpu_set_t *cpus, const uint16_t *core,
                        uint32_t count, cpu_set_t *last);

/* Moves all threads of the process to the last `core_count` of the processors.
 * If that is all of them, or 0, each thread goes back to where it was. Call it
 * again for threads that have started, or bound themselves, since. Returns how
 * many threads were moved. */
size_t skn_idle_apply_cores(skn_idle_apply_t *apply, pid_t pid,
                            uint32_t core_count);

#endif
