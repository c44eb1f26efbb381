/* idle_way.h - ways to give precedence to all other work on a machine.
 *
 * Nice and SCHED_IDLE count only within a control group, or within a session if
 * the kernel groups by session (autogroup): alone they leave the owner half of
 * a core. So, best first: a control group that is idle as a whole (kernel 5.15
 * on), a group of the least weight, and at last a session of its own at nice 19
 * whose threads are SCHED_IDLE. idle_trial.h measures which one works.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_WAY_H
#define TOPOLOGY_IDLE_IDLE_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "actors/machine/groups.h"
#include "skein/error.h"

typedef enum skn_idle_way {
    SKN_IDLE_WAY_GROUP2,  /* cgroup v2, cpu.idle */
    SKN_IDLE_WAY_GROUP1,  /* cgroup v1, cpu.idle */
    SKN_IDLE_WAY_SHARES,  /* cgroup v1, cpu.shares */
    SKN_IDLE_WAY_SESSION, /* its own session and SCHED_IDLE */
    SKN_IDLE_WAY_COUNT
} skn_idle_way_t;

/* A way that has been opened. */
typedef struct skn_idle_place {
    skn_idle_way_t way;
    char path[SKN_GROUPS_PATH_BYTES]; /* path of its control group; "": none */
} skn_idle_place_t;

/* The name of a way for messages, such as "a control group with cpu.idle
 * (v2)". */
const char *skn_idle_way_name(skn_idle_way_t way);

/* Prepares a way. A control group is made at the top, beside those of the
 * owner, and named after this process. SKN_UNAVAILABLE: this machine does not
 * support it, this user lacks permission, or this process has limits of its own
 * that it would escape by moving. */
skn_status_t skn_idle_place_open(skn_idle_place_t *place, skn_idle_way_t way,
                                 skn_error_t *error);
/* Moves the process there with all its threads, present and future.
 * SKN_IDLE_WAY_SESSION: its session is changed as a whole, and only if it is
 * not the caller's. */
skn_status_t skn_idle_place_join(const skn_idle_place_t *place, pid_t pid,
                                 skn_error_t *error);
/* The process should end soon, which takes CPU time: it is scheduled like any
 * other process again, as far as this user may do that, until it joins once
 * more. */
void skn_idle_place_hurry(const skn_idle_place_t *place, pid_t pid);
/* Removes the group; no process may be left in it. */
void skn_idle_place_close(skn_idle_place_t *place);
/* Removes groups of processes that have died. */
void skn_idle_place_clean(void);

#endif
