/* watchdog.h - a thread that reports handlers and hooks which do not return.
 *
 * An actor that stays in a handler takes no messages; in the end all others
 * wait for it. The thread samples the places (place.h) of this process's actors
 * and reports an actor that has been at one place for 30 s, and again after 60,
 * 120, ... s, with the event "stuck". The actors that wait for it then make no
 * reports of their own (waiting.h).  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_WATCHDOG_H
#define ACTORS_RUNTIME_WATCHDOG_H

#include <pthread.h>

#include "actors/runtime/actor.h"

typedef struct skn_watchdog skn_watchdog_t;

/* Returns NULL and a filled `error` if memory is short. The host's thread
 * starts and stops it; stopping waits for the watchdog's thread, which never
 * waits for an actor. */
skn_watchdog_t *skn_watchdog_new(struct skn_system *system, skn_error_t *error);
/* Returns an error number, 0 for none. */
int skn_watchdog_start(skn_watchdog_t *watchdog);
void skn_watchdog_stop(skn_watchdog_t *watchdog);
void skn_watchdog_destroy(skn_watchdog_t **watchdog);

/* The actor of this process that has been in a handler or hook for longest, if
 * for at least `least_ns`, and its stay in *stay; NULL if there is none. Any
 * thread, while the system lives. */
const skn_actor_t *skn_watchdog_longest(const struct skn_system *system,
                                        uint64_t now_ns, uint64_t least_ns,
                                        skn_stay_t *stay);

#endif
