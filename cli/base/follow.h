/* follow.h - starts a topology, prints its events, and waits for its end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_FOLLOW_H
#define CLI_BASE_FOLLOW_H

#include "cli/base/events.h"
#include "topology/host/host.h"

/* Options that every verb which runs a topology has. */
#define CLI_RUN_OPTIONS                                                        \
    { "trace", 0, "FILE", "write a Chrome / Perfetto trace at the end" },      \
        { "wire", 0, NULL, "encode and decode every message between actors" }, \
        { "no-binding", 0, NULL, "do not bind threads to processing units" },  \
        { "warn-after", 0, "SECONDS",                                          \
          "warn about actors that wait or hang this long (30)" },              \
    {                                                                          \
        "report", 0, NULL, "print at the end where the time went"              \
    }

/* Sent in place of a lease time: stop at once, and write the salvage. */
#define CLI_FOLLOW_BREAK UINT64_MAX

typedef struct cli_follow {
    const skn_start_options_t *options; /* NULL: one node; the options of `call`
                                         * are added */
    volatile bool *begun; /* set to true when all actors are ready; or NULL */
    /* Set to true when the run has ended cleanly before it was done, because it
     * was asked to stop here or on another node; or NULL. */
    volatile bool *stopped;
    bool leash; /* stop cleanly when standard input closes */
    bool lease; /* exit at once when the lease that arrives there has expired:
                 * u64 of the monotonic clock, ns */
    /* The folder for what the actors own, written as a salvage of `generation`
     * when the run is broken off, by CLI_FOLLOW_BREAK in place of a lease time
     * or by the end of another node. NULL: none is written. */
    const char *salvage_path;
    uint64_t generation;
    cli_event_stop_t stop;
    uint64_t prepare_ns; /* time spent before the start, for the report */
} cli_follow_t;

/* Runs the topology to its end and returns the exit code; takes over *topology.
 * Stops cleanly when the parent process asks for it (cli_stop_word), and when
 * standard output is a pipe without a reader. */
int cli_follow(const cli_call_t *call, skn_topology_t **topology,
               const cli_follow_t *follow);
#endif
