/* follow.h - starts a topology, prints its events, and brings it to an end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_FOLLOW_H
#define CLI_BASE_FOLLOW_H

#include "cli/base/events.h"
#include "topology/run/host.h"

/* Options that every verb which runs a topology has. */
#define CLI_RUN_OPTIONS                                                        \
    { "trace", 0, "FILE", "write a Chrome / Perfetto trace at the end" },      \
        { "wire", 0, NULL, "encode and decode every message between actors" }, \
        { "no-binding", 0, NULL, "do not bind threads to processing units" },  \
        { "warn-after", 0, "SECONDS",                                          \
          "warn of actors that wait or hang for so long (30)" },               \
    {                                                                          \
        "report", 0, NULL, "say at the end where the time went"                \
    }

/* In place of a time of the lease: drop everything, and write the cut. */
#define CLI_FOLLOW_BREAK UINT64_MAX

typedef struct cli_follow {
    const skn_start_options_t *options; /* NULL: one node; but for what `call`
                                         * says, which is added */
    volatile bool *begun; /* becomes true when all actors are ready; or NULL */
    /* Becomes true when the run has come to a good end because it was told to
     * stop, here or on another node, before it was done; or NULL. */
    volatile bool *stopped;
    bool leash; /* end well when standard input ends */
    bool lease; /* ... and at once when a time is over that comes
                             * there: u64 of the monotonic clock, ns */
    /* Where what the actors own is written when the run is broken off, by the
     * word CLI_FOLLOW_BREAK in place of a time or by another's end; as
     * a cut of that generation. NULL: nowhere. */
    const char *cut_path;
    uint64_t generation;
    cli_event_stop_t stop;
    uint64_t prepare_ns; /* what went before, for the report */
} cli_follow_t;

/* Takes *topology. Runs it to its end; returns the exit code. Asked for a good
 * end by the parent process (cli_stop_word), and where standard output is a
 * pipe that nobody reads any more. */
int cli_follow(const cli_call_t *call, skn_topology_t **topology,
               const cli_follow_t *follow);
#endif
