/* follow.h - starts a topology, prints its events, and waits for its end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_FOLLOW_H
#define CLI_BASE_FOLLOW_H

#include "cli/base/events.h"
#include "skein/topology.h"

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

/* Runs the topology as its process `node` to its end and returns the exit code;
 * takes over *topology. Stops cleanly when the parent process asks for it
 * (cli_stop_word), and when standard output is a pipe without a reader. */
int cli_follow(const cli_call_t *call, skn_topology_t **topology,
               uint32_t node);

#endif
