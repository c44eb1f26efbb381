/* supervise.h - runs work in a child process that is restarted after a crash.
 *
 * The messaging library asserts on some errors of the environment, and the
 * system may kill a process for memory: then the worker is restarted from the
 * run folder, within a budget (5 in 60 s). The worker dies with its parent. The
 * signals of cli/base/stop.h make the parent ask the worker for a clean end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_SUPERVISE_H
#define CLI_BASE_SUPERVISE_H

#include <sys/types.h>

#include "cli/base/worker_yielding.h"
#include "cli/base/verb.h"

/* The work of a worker; `attempt` is 0 the first time. Returns an exit code. */
typedef int cli_work_t(const cli_call_t *call, void *job, int attempt);

/* The parent's own work beside the worker, several times a second, in its only
 * thread. */
typedef struct cli_parent_work {
    /* Returns its wish for the worker; `worker` is 0 while there is none. A
     * request for a clean end is forwarded once; a worker that was stopped for
     * its memory is restarted when the request is withdrawn. */
    skn_yielding_wish_t (*step)(void *state, pid_t worker);
    /* Called when the worker was asked to end; it may be halted. */
    void (*hurry)(void *state);
    void *state;
    bool gives_memory;      /* a worker stopped for memory may be restarted */
    volatile bool *stopped; /* shared: the worker ended before it was done */
    bool leashed, leased;   /* as in cli_stop_t */
    const char *doing, *insisting; /* the same; NULL: those of a run */
    const char *resumes; /* where the next worker begins; NULL: "from its last
                          * checkpoint" */
} cli_parent_work_t;

/* Forks, before any other thread exists, and runs `work` in the child until it
 * exits by itself. Parent and child share `job` if it comes from
 * cli_shared_new. After a crash the worker is restarted only if *begun, which
 * is in such memory, is true: a worker that dies before it trained anything
 * would die again. NULL: a crash is reported, and there is no restart. `parent`
 * may be NULL. */
int cli_supervise(const cli_call_t *call, cli_work_t *work, void *job,
                  const volatile bool *begun, const cli_parent_work_t *parent);

/* Reports that the run was asked to stop before there was anything to save: at
 * its beginning, or (`begun`) after a worker had replaced one that died. */
void cli_tell_early_end(const cli_call_t *call, bool begun);

#endif
