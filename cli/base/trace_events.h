/* trace_events.h - prints a node's trace as events, for `skein up` to merge.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRACE_EVENTS_H
#define CLI_BASE_TRACE_EVENTS_H

#include "cli/base/verb.h"
#include "skein/topology.h"

/* The text before a record of the trace in an event; "}" follows the record. */
#define CLI_TRACE_EVENT_HEAD "{\"event\":\"trace\",\"of\":"

typedef struct cli_trace_events {
    char path[96]; /* the trace file; "": no trace is wanted */
} cli_trace_events_t;

/* With the option --trace-events, has the runtime write the trace to a private
 * file in $TMPDIR. If that is impossible, the run continues without a trace,
 * and a warning reports it. SKN_USAGE. */
skn_status_t cli_trace_events_begin(cli_trace_events_t *events,
                                    const cli_call_t *call,
                                    skn_start_options_t *options,
                                    skn_error_t *error);
/* After the run: prints one event for each record unless the run failed, and
 * removes the file. */
void cli_trace_events_end(cli_trace_events_t *events, bool prints);

#endif
