/* polite.h - keeps a worker process out of the way of its machine's owner.
 *
 *     polite = cli_polite_open(call, &options);
 *     about five times a second: wish = cli_polite_step(polite, worker);
 *     when the worker has ended: cli_polite_close(&polite);
 *
 * For a process that watches a worker and has one thread: samples, decides
 * (topology/idle/idle_policy.h), confines the worker's threads, stops it for a
 * pause, looks for a notice, and tells each change as an event `idle`. No
 * ZeroMQ. docs/idle.md.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_POLITE_H
#define CLI_BASE_POLITE_H

#include <sys/types.h>

#include "cli/base/verb.h"
#include "skein/limits.h"
#include "topology/model/model.h"

/* What `idle:` of a model file says: plain, so that a worker that has read the
 * file can leave it to its parent in memory that both share. */
typedef struct cli_polite_options {
    bool enabled;
    bool may_stop; /* the worker may be halted for a pause: nobody else waits
                    * for it; otherwise it is left one core */
    int64_t reserve_cores;
    double share, memory, grace_s, every_s;
    char file[SKN_TEXT_MAX], command[SKN_TEXT_MAX];
} cli_polite_options_t;

void cli_polite_options_of(const skn_model_idle_t *idle, bool may_stop,
                           cli_polite_options_t *options);

/* What is best for the worker. */
typedef enum cli_polite_wish {
    CLI_POLITE_STAY,
    CLI_POLITE_LEAVE,      /* the machine will be taken away: a good end, now */
    CLI_POLITE_GIVE_MEMORY /* others need the memory: a good end, for now */
} cli_polite_wish_t;

typedef struct cli_polite cli_polite_t;

/* Chooses how to give way, which takes 0.2 to 0.6 s and is told. `call` must
 * outlive it, `options` need not. NULL: no memory. */
cli_polite_t *cli_polite_open(const cli_call_t *call,
                              const cli_polite_options_t *options,
                              skn_error_t *error);
/* To be called several times a second; a sample is taken once a second. A
 * `worker` that is another than before is taken in; 0: there is none now. */
cli_polite_wish_t cli_polite_step(cli_polite_t *polite, pid_t worker);
/* The worker is to come to an end: it gets its cores and its weight back, so
 * that it does not take longer than the notice. */
void cli_polite_hurry(cli_polite_t *polite);
/* Tells what was harvested, removes control groups. The worker has ended, or
 * is given its cores back. Sets *polite to NULL, which it may be. */
void cli_polite_close(cli_polite_t **polite);

/* For the worker itself, once, before it has threads: a session of its own,
 * and events that leave in one piece. */
void cli_polite_worker(void);

#endif
