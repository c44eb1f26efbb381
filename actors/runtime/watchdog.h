/* watchdog.h - reports handlers and hooks that do not return.
 *
 * An actor that stays in a handler takes no messages; in the end all others
 * wait for it. A thread looks at where the actors of this process are (place.h)
 * and reports one that has been at one place for 30 s, again after 60, 120, ...
 * s, with the event "stuck". What those that wait for it would
 * report is then left out (waiting.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_WATCHDOG_H
#define ACTORS_RUNTIME_WATCHDOG_H

#include <pthread.h>

#include "actors/runtime/actor.h"

typedef struct skn_watchdog skn_watchdog_t;

/* NULL and a filled `error` without memory. Started and stopped by the host's
 * thread; stopping waits for the thread, which never waits for an actor. */
skn_watchdog_t *skn_watchdog_new(struct skn_system *system, skn_error_t *error);
/* Returns an error number, 0 for none. */
int skn_watchdog_start(skn_watchdog_t *watchdog,
                       const pthread_attr_t *attributes);
void skn_watchdog_stop(skn_watchdog_t *watchdog);
void skn_watchdog_destroy(skn_watchdog_t **watchdog);

/* Where an actor has been since when, as another thread sees it. */
typedef struct skn_stay {
    skn_place_type_t type; /* SKN_PLACE_LOOP: in none of its handlers */
    const char *name;
    uint64_t since_ns;
} skn_stay_t;

/* Of the actors of this process the one that has been in a handler or hook for
 * longest, if it is `least_ns` or more; its stay in *stay. NULL: none. Any
 * thread, while the system lives. */
const skn_actor_t *skn_watchdog_longest(const struct skn_system *system,
                                        uint64_t now_ns, uint64_t least_ns,
                                        skn_stay_t *stay);

#endif
