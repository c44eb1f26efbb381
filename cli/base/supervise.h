/* supervise.h - a parent process that watches the one that works.
 *
 * The messaging library asserts on some errors of the environment, and the
 * system may kill for memory: then the worker is started again, with what the
 * run folder holds, within a budget (5 in 60 s). The worker dies with its
 * parent. The signals of cli/base/stop.h ask the worker for a good end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_SUPERVISE_H
#define CLI_BASE_SUPERVISE_H

#include <sys/types.h>

#include "cli/base/polite.h"
#include "cli/base/verb.h"

/* What a worker does; `attempt` is 0 the first time. Returns an exit code. */
typedef int cli_work_t(const cli_call_t *call, void *job, int attempt);

/* What the parent does beside, several times a second, in its own thread. */
typedef struct cli_keeper {
    /* `worker` is 0 while there is none. A wish for a good end is passed on
     * once; a worker that was ended for its memory is started again when there
     * is no such wish any more. */
    cli_polite_wish_t (*look)(void *state, pid_t worker);
    /* The worker was asked to come to an end; it may be halted. */
    void (*hurry)(void *state);
    void *state;
    bool gives_memory;      /* such an end may be followed by another start */
    volatile bool *stopped; /* shared: the worker came to an end too early */
    bool *asked; /* becomes true when a signal asks for an end; or NULL */
    bool leashed, leased; /* as in cli_stop_t */
} cli_keeper_t;

/* Forks, before any other thread exists, and runs `work` in the child until it
 * exits by itself. `job` is memory that parent and child share if it comes from
 * cli_shared_new. A crash is repaired by another attempt only if *begun, which
 * lies in such memory, is true by then: what dies before anything was trained
 * would die again. NULL: a crash is reported, never repaired. `keeper` may be
 * NULL. */
int cli_supervise(const cli_call_t *call, cli_work_t *work, void *job,
                  const volatile bool *begun, const cli_keeper_t *keeper);

/* Tells that the run was asked to end before there was anything to save: at
 * its beginning, or (`begun`) when a worker had taken the place of one that
 * died. */
void cli_tell_early_end(const cli_call_t *call, bool begun);

#endif
