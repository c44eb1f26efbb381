/* idle_way.h - ways to let everybody else's work come first on a machine.
 *
 * Nice and SCHED_IDLE count only within a control group, or within a session
 * where the kernel groups by session (autogroup): alone they leave the owner
 * half of a core. So, best first: a control group that is idle as a whole
 * (kernel 5.15 on), a group of the least weight, and at last an own session at
 * nice 19 whose threads are SCHED_IDLE. idle_trial.h measures which one works.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_WAY_H
#define TOPOLOGY_IDLE_IDLE_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"

typedef enum skn_idle_way {
    SKN_IDLE_WAY_GROUP2,  /* cgroup v2, cpu.idle */
    SKN_IDLE_WAY_GROUP1,  /* cgroup v1, cpu.idle */
    SKN_IDLE_WAY_SHARES,  /* cgroup v1, cpu.shares */
    SKN_IDLE_WAY_SESSION, /* an own session and SCHED_IDLE */
    SKN_IDLE_WAY_COUNT
} skn_idle_way_t;

#define SKN_IDLE_PATH_BYTES 512u

/* A way that was opened. */
typedef struct skn_idle_place {
    skn_idle_way_t way;
    char path[SKN_IDLE_PATH_BYTES]; /* of its control group; "": none */
} skn_idle_place_t;

/* "a control group with cpu.idle (v2)", for sentences. */
const char *skn_idle_way_name(skn_idle_way_t way);

/* Makes what the way needs. A control group stands at the top, beside those of
 * the owner, and is named after this process. SKN_UNAVAILABLE: this machine
 * has no such thing, this user may not, or this process has limits of its own
 * that it would escape by moving. */
skn_status_t skn_idle_place_open(skn_idle_place_t *place, skn_idle_way_t way,
                                 skn_error_t *error);
/* The process and all its threads, those to come included, go there.
 * SKN_IDLE_WAY_SESSION: its session is changed as a whole, and only if it is
 * not that of the caller. */
skn_status_t skn_idle_place_join(const skn_idle_place_t *place, pid_t pid,
                                 skn_error_t *error);
/* It is to come to an end soon, which takes CPU time: it counts as any other
 * process again, as far as this user may do that, until it joins once more. */
void skn_idle_place_hurry(const skn_idle_place_t *place, pid_t pid);
/* Nobody is there any more: removes the group. */
void skn_idle_place_close(skn_idle_place_t *place);
/* Removes groups of processes that have died. */
void skn_idle_place_clean(void);

/* --- texts of the kernel ------------------------------------------------- */

/* The mount point, of /proc/self/mountinfo, of the hierarchy of cgroup v2
 * (`controller` is NULL) or of that controller of v1, and its root within the
 * hierarchy. False: there is none. Both have room for SKN_IDLE_PATH_BYTES. */
bool skn_idle_mount(const char *mounts, const char *controller, char *mount,
                    char *root);
/* The path, of /proc/self/cgroup, in that hierarchy. */
bool skn_idle_own_group(const char *groups, const char *controller, char *path);

#endif
