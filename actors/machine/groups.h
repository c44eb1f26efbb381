/* groups.h - the memory, processor time and threads that control groups leave
 * to this process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_GROUPS_H
#define ACTORS_MACHINE_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* The least memory that the limits of the process's group, and of those above
 * it, leave (memory.limit_in_bytes; memory.max and memory.high). Pages of
 * files, which the kernel can reclaim, count as free. UINT64_MAX without a
 * limit. Version 1 and 2; `root` is "" except in tests, where the files are
 * below it. Any thread. */
uint64_t skn_groups_memory_bytes(const char *root);
/* Processing units that the process may use by the least quota of its group and
 * of those above it; 0 without one. `root` as above. Any thread. */
double skn_groups_units(const char *root);
/* Threads and processes that its group, and those above it, may still start;
 * UINT64_MAX without a limit. As above. */
uint64_t skn_groups_threads(const char *root);
/* How long the quota of its group throttled it, or that of one above if that
 * was longer; summed over processing units; 0 if no group reports it. As
 * above. */
uint64_t skn_groups_throttled_ns(const char *root);

/* --- texts of the kernel ------------------------------------------------- */

/* Longer paths, and words of /proc/self/mountinfo, are not read. */
#define SKN_GROUPS_PATH_BYTES 512u

/* From /proc/self/mountinfo: the mount point of the hierarchy of cgroup v2
 * (`controller` is NULL) or of that controller of v1, and its root within the
 * hierarchy. False: there is none. Both have room for SKN_GROUPS_PATH_BYTES. */
bool skn_groups_mount(const char *mounts, const char *controller, char *mount,
                      char *root);
/* From /proc/self/cgroup: the path in that hierarchy. */
bool skn_groups_own(const char *groups, const char *controller, char *path);

#endif
