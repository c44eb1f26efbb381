/* up_report.h - collects and prints the measurements of all nodes of a run.
 *
 * Nodes send their figures and traces as events. At the end there is a table
 * for each node, one verdict for the run, and one trace in which each node is a
 * process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_UP_UP_REPORT_H
#define CLI_UP_UP_REPORT_H

#include <jansson.h>

#include "cli/base/verb.h"
#include "skein/limits.h"

typedef struct cli_up_report {
    const cli_call_t *call;
    uint64_t origin_ns; /* origin of the trace's times, in time of day */
    FILE *trace;        /* NULL: none is wanted */
    char *events[SKN_CLUSTER_NODES_MAX]; /* `report`, in the order of nodes;
                                          * NULL: none has come */
} cli_up_report_t;

/* Opens the file of --trace before the run, so that a bad path is reported
 * early. SKN_CANNOT_CREATE. */
skn_status_t cli_up_report_open(cli_up_report_t *report, const cli_call_t *call,
                                skn_error_t *error);
/* Takes an event of the node at `place`; false: it is not part of a report.
 * `line` is its text. */
bool cli_up_report_take(cli_up_report_t *report, size_t place,
                        const json_t *event, const char *line);
/* The same for a record of a trace, before the line is parsed. */
bool cli_up_report_trace(cli_up_report_t *report, const char *line);
/* Prints tables, and the verdict on nodes of which all, or not, are on one
 * machine. */
void cli_up_report_print(cli_up_report_t *report, bool one_machine);
void cli_up_report_close(cli_up_report_t *report);

#endif
