/* groups.h - what the control groups of this process leave it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_GROUPS_H
#define TOPOLOGY_PLAN_GROUPS_H

#include <stdint.h>

/* The least of what the limits of its group, and of those above it, leave
 * (memory.limit_in_bytes; memory.max and memory.high): pages of files, which
 * the kernel takes back, count as free. UINT64_MAX
 * without a limit. Version 1 and 2; `root` is "" but in tests, where the files
 * lie below it. Any thread. */
uint64_t skn_groups_memory_bytes(const char *root);
/* Processing units that it may use by the least quota of its group and of those
 * above it; 0 without one. `root` as above. Any thread. */
double skn_groups_units(const char *root);
/* Threads and processes that its group, and those above it, may still begin;
 * UINT64_MAX without a limit. As above. */
uint64_t skn_groups_threads(const char *root);
/* How long its group was held back by its quota, or one above it if that was
 * longer; summed over processing units; 0 if nothing says so. As above. */
uint64_t skn_groups_throttled_ns(const char *root);

#endif
