/* trace_events.h - prints a node's trace as events, for `skein up` to merge.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRACE_EVENTS_H
#define CLI_BASE_TRACE_EVENTS_H

#include "cli/base/verb.h"

/* The text before a record of the trace in an event; "}" follows the record. */
#define CLI_TRACE_EVENT_HEAD "{\"event\":\"trace\",\"of\":"

typedef struct cli_trace_events {
    char path[96]; /* the trace file; "": no trace is wanted */
} cli_trace_events_t;

/* With the option --trace-events, sets *path and *origin_ns, which are options
 * of a run, so that the runtime writes the trace to a private file in $TMPDIR.
 * If that is impossible, the run continues without a trace, and a warning
 * reports it. SKN_USAGE. */
skn_status_t cli_trace_events_begin(cli_trace_events_t *events,
                                    const cli_call_t *call, const char **path,
                                    uint64_t *origin_ns, skn_error_t *error);
/* After the run: prints one event for each record unless the run failed, and
 * removes the file. */
void cli_trace_events_end(cli_trace_events_t *events, bool prints);

#endif
