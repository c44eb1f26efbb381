/* supervise.h - a parent process that watches the one that works.
 *
 * The messaging library asserts on some errors of the environment, and the
 * system may kill for memory: then the worker is started again, with what the
 * run folder holds, within a budget (5 in 60 s). The worker dies with its
 * parent. SIGINT and SIGTERM ask the worker for a good end, the second time at
 * once. DESIGN section 3.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include "cli/verb.h"

/* What a worker does; `attempt` is 0 the first time. Returns an exit code. */
typedef int cli_work_t(const cli_call_t *call, void *job, int attempt);

/* Forks, before any other thread exists, and runs `work` in the child until it
 * exits by itself. `job` is memory that parent and child share if it comes from
 * cli_shared_new. A crash is repaired by another attempt only if *begun, which
 * lies in such memory, is true by then: what dies before anything was trained
 * would die again. NULL: a crash is reported, never repaired. */
int cli_supervise(const cli_call_t *call, cli_work_t *work, void *job,
                  const volatile bool *begun);

/* Zeroed memory that survives a worker's death. NULL: none. */
void *cli_shared_new(size_t bytes);

#endif
