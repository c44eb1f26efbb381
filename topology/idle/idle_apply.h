/* idle_apply.h - makes one process give way, as far as the machine lets it.
 *
 * Whatever is refused is left as it is: a process that gives way less is no
 * reason to end it. What a thread was bound to before comes back with the
 * cores. One thread, of another process than the one that gives way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_APPLY_H
#define TOPOLOGY_IDLE_IDLE_APPLY_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/idle/idle_way.h"

/* Threads of a process; those beyond keep the cores that they have. */
#define SKN_IDLE_THREADS_MAX 4096u

typedef struct skn_idle_apply skn_idle_apply_t;

/* For a process that may use the processors of `cpus`. NULL: no memory. */
skn_idle_apply_t *skn_idle_apply_new(const cpu_set_t *cpus, skn_error_t *error);
void skn_idle_apply_destroy(skn_idle_apply_t **apply);

/* Once, for a process: it goes to the place, is the first to be killed where
 * memory ends, has its files read when nobody else's are, and, in a group of
 * cgroup v2 with the memory controller, is held to `memory_bytes` (0: not) and
 * out of the swap. What the place refused is told; the rest is tried anyway. */
skn_status_t skn_idle_apply_begin(skn_idle_apply_t *apply,
                                  const skn_idle_place_t *place, pid_t pid,
                                  uint64_t memory_bytes, skn_error_t *error);

/* The last `count` processors of `cpus`, cores kept together: core[k] is the
 * same for processors k that are threads of one core, and has CPU_SETSIZE
 * items. What is left over are whole cores, as far as that can be. */
void skn_idle_last_cpus(const cpu_set_t *cpus, const uint16_t *core,
                        uint32_t count, cpu_set_t *last);

/* All threads of the process on the last `core_count` of the processors; all
 * of them, or 0: each where it was. To be called again for threads that have
 * appeared, or bound themselves, since. Returns how many threads were moved. */
size_t skn_idle_apply_cores(skn_idle_apply_t *apply, pid_t pid,
                            uint32_t core_count);

#endif
