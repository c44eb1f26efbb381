/* follow.h - starts a topology, prints its events, and brings it to an end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_FOLLOW_H
#define CLI_BASE_FOLLOW_H

#include <jansson.h>

#include "cli/base/bar.h"
#include "cli/base/verb.h"
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
    /* The run's folder, where the command that goes on has to name it; NULL:
     * it does. */
    const char *resume_path;
    bool is_part; /* of what another tells the end of: says nothing of it */
    uint64_t prepare_ns; /* what went before, for the report */
} cli_follow_t;

/* Takes *topology. Runs it to its end; returns the exit code. Asked for a good
 * end by the parent process (cli_stop_word), and where standard output is a
 * pipe that nobody reads any more. */
int cli_follow(const cli_call_t *call, skn_topology_t **topology,
               const cli_follow_t *follow);
/* Makes the process outlive whoever reads its standard output. */
void cli_follow_outlive(void);
/* Whether standard output is a pipe that nobody reads. */
bool cli_follow_unread(void);
/* Ends the process as SIGPIPE does others, when all else is done; where that
 * cannot be, returns the exit code. */
int cli_follow_end_unread(void);
/* A text of an event, which may be NULL; "" where there is none. */
const char *cli_event_text(const json_t *event, const char *key);
/* Prints it, a line of JSON on standard output, and releases it; it may be
 * NULL. */
void cli_event_put(json_t *event);
/* Whether it is an actor that waits, or a handler that does not return, and not
 * a node that waits for others at the start. */
bool cli_event_actor_waits(const json_t *event);
/* Prints one event of a run, a line of JSON, in the form that `call` asks for;
 * the bar, which may be NULL, gives way to it, or shows it. */
void cli_follow_print(const cli_call_t *call, const char *line, cli_bar_t *bar);
/* Says where a run has stopped, by its event `stopped`, and on a line of its
 * own the command that goes on; resume_path as in cli_follow_t. */
void cli_follow_tell_stop(const cli_call_t *call, const json_t *event,
                          const char *resume_path);
void cli_follow_show(const cli_call_t *call, const char *line);

#endif
