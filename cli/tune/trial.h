/* trial.h - one trial of a tuning: `skein train` as a process of its own, from
 * nothing to the score of its last epoch.
 *
 * A process, so that one which runs out of memory, or finds a bug, costs this
 * trial and no more.  SPDX-License-Identifier: Apache-2.0 */
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
    const char *const *overrides; /* KEY=VALUE; first the user's, then ours */
    size_t override_count;
    const char *metric; /* "p1": the member validate_p1 of its last epoch */
    cli_stop_t *stop;   /* a signal ends the trial at once */
    uint64_t until_ns;  /* it is ended then, by skn_monotonic_ns(); 0: never */
    const char *self_path; /* of this program */
} cli_trial_order_t;

typedef enum cli_trial_end {
    CLI_TRIAL_DONE,   /* with a score */
    CLI_TRIAL_FAILED, /* see `text` */
    CLI_TRIAL_LATE,   /* `until_ns` came first */
    CLI_TRIAL_STOPPED /* by a signal, to us or to the trial itself */
} cli_trial_end_t;

typedef struct cli_trial {
    cli_trial_end_t end;
    double score;                    /* DONE */
    double cpu_s, train_s;           /* of training alone, as it told last */
    double wall_s;                   /* all that it took */
    skn_status_t status;             /* FAILED */
    char text[SKN_ERROR_TEXT_BYTES]; /* why */
    char hint[SKN_ERROR_HINT_BYTES];
} cli_trial_t;

/* Runs it to its end. What is wrong with the trial is in *trial; a status is
 * for what is wrong with us: SKN_NO_MEMORY, SKN_UNAVAILABLE. */
skn_status_t cli_trial_run(const cli_trial_order_t *order, cli_trial_t *trial,
                           skn_error_t *error);

#endif
