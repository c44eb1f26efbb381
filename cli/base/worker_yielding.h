/* worker_yielding.h - keeps a worker process of the command out of the way
 * of its machine's owner.
 *
 *     yielding = cli_yielding_open(call, &options);
 *     about five times a second: wish = cli_yielding_step(yielding, worker);
 *     when the worker has ended: cli_yielding_close(&yielding);
 *
 * The library does the work (skein/yielding.h); here its events are printed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_WORKER_YIELDING_H
#define CLI_BASE_WORKER_YIELDING_H

#include <sys/types.h>

#include "cli/base/verb.h"
#include "skein/limits.h"
#include "skein/yielding.h"

/* The settings `idle:` of a model file, as plain data, so that a worker that
 * has read the file can pass them to its parent in shared memory. */
typedef struct cli_yielding_options {
    bool may_stop;            /* as in skn_yielding_options_t */
    skn_training_idle_t idle; /* without its texts, which follow */
    char file[SKN_TEXT_MAX], command[SKN_TEXT_MAX];
} cli_yielding_options_t;

void cli_yielding_options_of(const skn_training_idle_t *idle, bool may_stop,
                             cli_yielding_options_t *options);

typedef struct cli_yielding cli_yielding_t;

/* As skn_yielding_new. `call` must outlive the result, `options` need not. */
cli_yielding_t *cli_yielding_open(const cli_call_t *call,
                                  const cli_yielding_options_t *options,
                                  skn_error_t *error);
/* As skn_yielding_step. A `worker` that differs from the previous one is
 * confined, too; 0: there is none now. */
skn_yielding_wish_t cli_yielding_step(cli_yielding_t *yielding, pid_t worker);
/* As skn_yielding_hurry. */
void cli_yielding_hurry(cli_yielding_t *yielding);
/* As skn_yielding_end and skn_yielding_destroy; *yielding may be NULL. */
void cli_yielding_close(cli_yielding_t **yielding);

/* Called by the worker itself, once: starts a new session, and buffers standard
 * output so that events are written in one piece. */
void cli_yielding_worker(void);

#endif
