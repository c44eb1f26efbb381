/* train_loop.h - the loop of a worker process that trains: prints events, and
 * obeys signals and the parent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRAIN_LOOP_H
#define CLI_BASE_TRAIN_LOOP_H

#include "cli/base/verb.h"
#include "skein/training.h"

typedef struct cli_train_loop {
    const char *path; /* of the model file, or of the run folder */
    const skn_training_options_t *options;
    bool leash; /* stop cleanly when standard input closes */
    bool lease; /* exit at once when the lease that arrives there has expired:
                 * u64 of the monotonic clock, ns */
    /* Called with what is known of the run, whenever that may have changed. */
    void (*note)(void *job, const skn_training_info_t *info);
    void *job;
    /* The notes for the command that resumes a run, as `note` keeps them: the
     * run's folder, whether that command does not name it, and whether the run
     * has begun. */
    const char *run_path;
    const volatile bool *is_unnamed, *begun;
    volatile bool *stopped; /* set to true: it was asked to stop before it was
                             * done */
    bool unread; /* set to true: nobody reads standard output any more */
} cli_train_loop_t;

/* Trains to the end and returns the exit code; errors are printed. Where a stop
 * has nothing to save, it ends the process. */
int cli_train_loop(const cli_call_t *call, cli_train_loop_t *loop);

#endif
