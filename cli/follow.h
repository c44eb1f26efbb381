/* follow.h - starts a topology, prints its events, and brings it to an end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/bar.h"
#include "cli/verb.h"
#include "topology/host.h"

/* Options that every verb which runs a topology has. */
#define CLI_RUN_OPTIONS                                                        \
    { "trace", 0, "FILE", "write a Chrome / Perfetto trace at the end" },      \
        { "wire", 0, NULL, "encode and decode every message between actors" }, \
        { "no-binding", 0, NULL, "do not bind threads to processing units" },  \
    {                                                                          \
        "report", 0, NULL, "say at the end where the time went"                \
    }

/* Takes *topology. Runs it to its end; returns the exit code. SIGUSR1 asks for
 * a good end, as the parent process does on SIGINT and SIGTERM. *begun (may be
 * NULL) becomes true when all actors are ready. */
int cli_follow(const cli_call_t *call, skn_topology_t **topology,
               volatile bool *begun);
/* Prints one event of a run, a line of JSON, in the form that `call` asks for.
 */
void cli_follow_show(const cli_call_t *call, const char *line);

#endif
