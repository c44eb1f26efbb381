/* idle_trial.h - does the owner really come first? Measured in 0.2 s, or
 * longer on a machine that has much to do.
 *
 * Two processes spin on one core: one as an owner's, one that gives way. What
 * the second one gets of what both get is the harm that it does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_TRIAL_H
#define TOPOLOGY_IDLE_IDLE_TRIAL_H

#include "topology/idle/idle_way.h"

/* How long both spin, at least; until the owner has had so much of it, at
 * most. */
#define SKN_IDLE_TRIAL_MS 200u
#define SKN_IDLE_TRIAL_OWN_MS 50u
#define SKN_IDLE_TRIAL_MS_MAX 3000u
/* A way that takes more from a busy owner does not work. */
#define SKN_IDLE_TRIAL_SHARE_MAX 0.10

/* What a process that gives way like this takes of a core that an owner is
 * busy on, 0 to 1. Forks two processes and waits for them; the caller has one
 * thread. SKN_UNAVAILABLE: it cannot be measured. */
skn_status_t skn_idle_trial(const skn_idle_place_t *place, double *share,
                            skn_error_t *error);

/* Opens the first way that works by this measure, or, if none does, the last
 * one; *share is what was measured, below 0 if nothing could be. */
void skn_idle_choose(skn_idle_place_t *place, double *share);

#endif
