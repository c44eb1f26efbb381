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

/* A worker tells its parent how to give way, in memory that they share. */
typedef struct cli_yielding_share {
    cli_yielding_options_t options; /* valid if `known` */
    volatile bool known;
} cli_yielding_share_t;

/* Called by the worker that has read the settings; more than once is fine. If
 * they are enabled, it starts a new session, and buffers standard output so
 * that events are written in one piece. */
void cli_yielding_share(cli_yielding_share_t *share,
                        const skn_training_idle_t *idle, bool may_stop);

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

/* The parent's work beside its worker: `step` and `hurry` of a
 * cli_parent_work_t. Nothing happens before the settings are known; close
 * `yielding` at the end. */
typedef struct cli_yielding_watch {
    const cli_call_t *call;
    const cli_yielding_share_t *share;
    cli_yielding_t *yielding;
    bool tried;
} cli_yielding_watch_t;
skn_yielding_wish_t cli_yielding_look(void *watch, pid_t worker);
void cli_yielding_hasten(void *watch);

#endif
