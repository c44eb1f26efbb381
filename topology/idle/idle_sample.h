/* idle_sample.h - samples what other processes do on this machine, from /proc
 * and /sys.
 *
 * "Others" are all processes outside the tree of one process, by CPU time and
 * never by priority: an owner may well work at nice 19. A file that is missing
 * or malformed makes a value unknown, never a failure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_SAMPLE_H
#define TOPOLOGY_IDLE_IDLE_SAMPLE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"
#include "topology/idle/idle_policy.h"

/* --- texts of the kernel ------------------------------------------------- */

typedef struct skn_idle_task {
    pid_t pid, parent;
    uint64_t ticks;   /* its own and those of children that it has waited for */
    uint64_t started; /* ticks after the machine started */
} skn_idle_task_t;

/* Parses a /proc/PID/stat, whatever the process is named. False: malformed. */
bool skn_idle_task_read(const char *text, skn_idle_task_t *task);
/* avg10 in the line `some` of /proc/pressure/...; -1: there is none. */
double skn_idle_pressure(const char *text);
/* MemAvailable as a share of MemTotal, from /proc/meminfo; -1: unknown. */
double skn_idle_memory_free(const char *text);

/* --- samples ------------------------------------------------------------- */

typedef struct skn_idle_sampler skn_idle_sampler_t;

/* Samples the processors of `cpus`. `root` goes before /proc, /sys and /dev: ""
 * except in tests. `self` and its descendants are not others; the tree is
 * looked up every 10 s. NULL: no memory. For one thread. */
skn_idle_sampler_t *skn_idle_sampler_new(const char *root, pid_t self,
                                         const cpu_set_t *cpus,
                                         skn_error_t *error);
void skn_idle_sampler_destroy(skn_idle_sampler_t **sampler);

/* The state at `now_ns`. `outside` covers the time since the last call, and is
 * unknown at the first one. */
void skn_idle_sampler_take(skn_idle_sampler_t *sampler, uint64_t now_ns,
                           skn_idle_sample_t *sample);
/* Call it after starting a child: the next call looks up the tree. */
void skn_idle_sampler_refresh(skn_idle_sampler_t *sampler);
/* Cores that `self` and its descendants used between the last two calls. */
double skn_idle_sampler_inside(const skn_idle_sampler_t *sampler);

#endif
