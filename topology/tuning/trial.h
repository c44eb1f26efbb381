/* trial.h - trains one candidate of a tuning to its score.
 *
 * A trial is a training of this process (skein/training.h), up to the score of
 * its last epoch. A failure of it costs only itself.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_TRIAL_H
#define TOPOLOGY_TUNING_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_trial_order {
    const char *file;             /* the model file */
    const char *const *overrides; /* KEY=VALUE; the user's, then the trial's */
    size_t override_count;
    const char *folder; /* of its run */
    const char *metric; /* "p1": the member validate_p1 of its last epoch */
    const atomic_bool *stop; /* true: end at once */
    int wake;                /* a descriptor that is readable then */
    uint64_t until_ns;       /* deadline by skn_monotonic_ns(); 0: none */
} skn_trial_order_t;

typedef enum skn_trial_end {
    SKN_TRIAL_DONE,   /* with a score */
    SKN_TRIAL_FAILED, /* see `error` */
    SKN_TRIAL_LATE,   /* `until_ns` was reached */
    SKN_TRIAL_STOPPED
} skn_trial_end_t;

typedef struct skn_trial {
    skn_trial_end_t end;
    double score;          /* DONE */
    double cpu_s, train_s; /* of training only, last reported */
    double wall_s;         /* in total */
    skn_error_t error;     /* FAILED: the reason */
} skn_trial_t;

/* Runs the trial to its end. A failure of the trial is in *trial; the returned
 * status is for a lack of memory for its events. */
skn_status_t skn_trial_run(const skn_trial_order_t *order, skn_trial_t *trial,
                           skn_error_t *error);

#endif
