/* yielding.h - keeps a worker process out of the way of its machine's owner.
 *
 *     yielding = cli_yielding_open(call, &options);
 *     about five times a second: wish = cli_yielding_step(yielding, worker);
 *     when the worker has ended: cli_yielding_close(&yielding);
 *
 * For a process with one thread that watches a worker: it samples, decides
 * (topology/idle/idle_policy.h), confines the worker's threads, stops the
 * worker for a pause, checks for a notice, and reports each change as an event
 * `idle`. It uses no ZeroMQ. docs/tasks/idle.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_YIELDING_H
#define CLI_BASE_YIELDING_H

#include <sys/types.h>

#include "cli/base/verb.h"
#include "skein/limits.h"
#include "skein/training.h"

/* The settings `idle:` of a model file, as plain data, so that a worker that
 * has read the file can pass them to its parent in shared memory. */
typedef struct cli_yielding_options {
    bool enabled;
    bool may_stop; /* the worker may be halted for a pause, as no other process
                    * waits for it; otherwise it keeps one core */
    int64_t reserve_cores;
    double share, memory, grace_s, every_s;
    char file[SKN_TEXT_MAX], command[SKN_TEXT_MAX];
} cli_yielding_options_t;

void cli_yielding_options_of(const skn_training_idle_t *idle, bool may_stop,
                             cli_yielding_options_t *options);

/* The action that the caller should take on the worker. */
typedef enum cli_yielding_wish {
    CLI_YIELDING_STAY,
    CLI_YIELDING_LEAVE,      /* the machine will be taken away: stop now */
    CLI_YIELDING_GIVE_MEMORY /* others need the memory: stop for now */
} cli_yielding_wish_t;

typedef struct cli_yielding cli_yielding_t;

/* Chooses how to give way, which takes 0.2 to 0.6 s, and reports it. `call`
 * must outlive the result, `options` need not. NULL if memory is short. */
cli_yielding_t *cli_yielding_open(const cli_call_t *call,
                                  const cli_yielding_options_t *options,
                                  skn_error_t *error);
/* Call it several times a second; it takes a sample once a second. A `worker`
 * that differs from the previous one is confined, too; 0: there is none now. */
cli_yielding_wish_t cli_yielding_step(cli_yielding_t *yielding, pid_t worker);
/* The worker was asked to end: gives it its cores and its weight back, so that
 * it does not take longer than the notice. */
void cli_yielding_hurry(cli_yielding_t *yielding);
/* Reports the harvested time and removes control groups. The worker has ended,
 * or gets its cores back. Sets *yielding to NULL; it may be NULL. */
void cli_yielding_close(cli_yielding_t **yielding);

/* Called by the worker itself, once: starts a new session, and buffers standard
 * output so that events are written in one piece. */
void cli_yielding_worker(void);

#endif
