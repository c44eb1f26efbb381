/* trace_events.h - a node's trace as events, for who puts several together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRACE_EVENTS_H
#define CLI_BASE_TRACE_EVENTS_H

#include "cli/base/verb.h"
#include "skein/topology.h"

/* What stands before a record of the trace in an event; "}" stands behind. */
#define CLI_TRACE_EVENT_HEAD "{\"event\":\"trace\",\"of\":"

typedef struct cli_trace_events {
    char path[96]; /* where the runtime writes it; "": not wanted */
} cli_trace_events_t;

/* With the option --trace-events: has the trace written to a file that nobody
 * else sees, in $TMPDIR; where it cannot be, the run goes on without, and a
 * warning says so. SKN_USAGE. */
skn_status_t cli_trace_events_begin(cli_trace_events_t *events,
                                    const cli_call_t *call,
                                    skn_start_options_t *options,
                                    skn_error_t *error);
/* After the run: prints it, an event a record, unless it failed; and removes
 * the file. */
void cli_trace_events_end(cli_trace_events_t *events, bool prints);

#endif
