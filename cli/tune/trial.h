/* trial.h - runs one trial of a tuning in a separate process.
 *
 * The process is `skein train`, up to the score of its last epoch. A trial that
 * runs out of memory, or hits a bug, costs only itself.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_TRIAL_H
#define CLI_TUNE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/stop.h"
#include "skein/error.h"

#define CLI_TRIAL_OVERRIDES_MAX 24u

typedef struct cli_trial_order {
    const char *file;             /* the model file */
    const char *const *overrides; /* KEY=VALUE; the user's, then the trial's */
    size_t override_count;
    const char *metric;    /* "p1": the member validate_p1 of its last epoch */
    cli_stop_t *stop;      /* a signal ends the trial at once */
    uint64_t until_ns;     /* deadline by skn_monotonic_ns(); 0: none */
    const char *self_path; /* path of this program */
} cli_trial_order_t;

typedef enum cli_trial_end {
    CLI_TRIAL_DONE,   /* with a score */
    CLI_TRIAL_FAILED, /* see `text` */
    CLI_TRIAL_LATE,   /* `until_ns` was reached */
    CLI_TRIAL_STOPPED /* by a signal to us or to the trial */
} cli_trial_end_t;

typedef struct cli_trial {
    cli_trial_end_t end;
    double score;                    /* DONE */
    double cpu_s, train_s;           /* of training only, last reported */
    double wall_s;                   /* in total */
    skn_status_t status;             /* FAILED */
    char text[SKN_ERROR_TEXT_BYTES]; /* FAILED: the reason */
    char hint[SKN_ERROR_HINT_BYTES];
} cli_trial_t;

/* Runs the trial to its end. A failure of the trial is in *trial; the returned
 * status is for failures of this process: SKN_NO_MEMORY, SKN_UNAVAILABLE. */
skn_status_t cli_trial_run(const cli_trial_order_t *order, cli_trial_t *trial,
                           skn_error_t *error);

#endif
