/* idle_trial.h - measures whether a process that gives way leaves a core to its
 * owner, in 0.2 s, or longer on a busy machine.
 *
 * Two processes spin on one core: one works as an owner would, one gives way.
 * The share of the second in what both get is the harm that it does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_TRIAL_H
#define TOPOLOGY_IDLE_IDLE_TRIAL_H

#include "topology/idle/idle_way.h"

/* The shortest time for which both spin; the time that the owner must have had;
 * the longest time for which they spin. */
#define SKN_IDLE_TRIAL_MS 200u
#define SKN_IDLE_TRIAL_OWN_MS 50u
#define SKN_IDLE_TRIAL_MS_MAX 3000u
/* A way that takes more than this share from a busy owner does not work. */
#define SKN_IDLE_TRIAL_SHARE_MAX 0.10

/* The share of a core, 0 to 1, that a process which gives way like this takes
 * from a busy owner. Forks two processes, which take no signals, and waits for
 * them by their numbers. SKN_UNAVAILABLE: it cannot be measured. */
skn_status_t skn_idle_trial(const skn_idle_place_t *place, double *share,
                            skn_error_t *error);

/* Opens the first way that works by this measure or, if none does, the last
 * one. *share is the measured value, below 0 if it could not be measured. */
void skn_idle_choose(skn_idle_place_t *place, double *share);

#endif
