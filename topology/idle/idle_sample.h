/* idle_sample.h - what others do on this machine, read from /proc and /sys.
 *
 * "Others" are all but the process tree of one process, by CPU time and never
 * by priority: an owner may well work at nice 19. A file that is missing or
 * that makes no sense is something not known, never a failure.
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

/* Ticks that the processors of `cpus` have worked, for anybody, by the text of
 * /proc/stat; *found is how many of them it has. Time that a hypervisor took
 * is nobody's work. */
uint64_t skn_idle_busy_ticks(const char *text, const cpu_set_t *cpus,
                             uint32_t *found);

typedef struct skn_idle_task {
    pid_t pid, parent;
    uint64_t ticks;   /* of it and of its children that it has waited for */
    uint64_t started; /* ticks after the start of the machine */
} skn_idle_task_t;

/* One /proc/PID/stat, whatever the process calls itself. False: it is none. */
bool skn_idle_task_read(const char *text, skn_idle_task_t *task);
/* avg10 of the line `some` of /proc/pressure/...; -1: there is none. */
double skn_idle_pressure(const char *text);
/* MemAvailable as a share of MemTotal, of /proc/meminfo; -1: unknown. */
double skn_idle_memory_free(const char *text);

/* --- samples ------------------------------------------------------------- */

typedef struct skn_idle_sampler skn_idle_sampler_t;

/* Looks at the processors of `cpus`. `root` goes before /proc, /sys and /dev:
 * "" but for tests. `self` and its descendants are not others; who is one is
 * looked up every 10 s. NULL: no memory. One thread. */
skn_idle_sampler_t *skn_idle_sampler_new(const char *root, pid_t self,
                                         const cpu_set_t *cpus,
                                         skn_error_t *error);
void skn_idle_sampler_destroy(skn_idle_sampler_t **sampler);

/* What is so at `now_ns`. `outside` is that of the time since the last call:
 * unknown at the first one. */
void skn_idle_sampler_take(skn_idle_sampler_t *sampler, uint64_t now_ns,
                           skn_idle_sample_t *sample);
/* A child was started: the tree is looked up at the next call. */
void skn_idle_sampler_look(skn_idle_sampler_t *sampler);
/* Cores that `self` and its descendants used between the last two calls. */
double skn_idle_sampler_inside(const skn_idle_sampler_t *sampler);

#endif
