/* tuning_internal.h - the state of a tuning, private to this room.
 *
 *     host's thread                    the tuning's thread
 *     tuning.c   ── orders ──▶         search.c, rounds.c, trial.c
 *                ◀── queue, info ──    tuning_events.c
 *
 * What the two share is atomic, or under the mutex of `queue`, or set before
 * the thread starts and constant from then on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_TUNING_INTERNAL_H
#define TOPOLOGY_TUNING_TUNING_INTERNAL_H

#include "skein/tuning.h"
#include "topology/config/problems.h"
#include "topology/plan/plan.h"
#include "topology/training/task.h"
#include "topology/tuning/trials.h"
#include "topology/tuning/tuned.h"

#define SKN_DIFFERS_BYTES 256

struct skn_tuning {
    /* Set by skn_tuning_new. */
    skn_task_t task;
    skn_tuning_options_t options; /* the task owns its texts */

    atomic_bool stop; /* skn_task_order wakes the thread */

    /* For the host. */
    skn_tuning_info_t info; /* under the queue's mutex */
    skn_training_idle_t idle;

    /* The thread's. */
    skn_problems_t *problems;
    skn_model_t *model; /* model of the trials, resolved */
    skn_plan_t plan;
    skn_space_t space;
    skn_halving_t halving;
    skn_candidate_t candidate[SKN_CANDIDATES_MAX];
    double cost[SKN_CANDIDATES_MAX];
    skn_trials_t trials;
    char folder[SKN_TEXT_MAX];
    const char *died;  /* the option, until its trial has failed */
    uint64_t until_ns; /* 0: no limit */
    bool was_stopped, is_late;
};

#endif
