/* up_report.c - collects and prints the measurements of all nodes of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/up/up_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/process.h"
#include "cli/base/trace_events.h"
#include "formats/text/json_text.h"
#include "formats/text/system_error.h"
#include "skein/training.h"

skn_status_t
cli_up_report_open(cli_up_report_t *report, const cli_call_t *call,
                   skn_error_t *error)
{
    const char *path = cli_value(call, "trace");
    struct timespec now;
    report->call = call;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    report->origin_ns =
        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (!path)
        return SKN_OK;
    report->trace = fopen(path, "we");
    if (!report->trace)
        return skn_fail_code(
            error, SKN_CANNOT_CREATE, errno,
            "choose a file for the trace that you may write to", "%s", path);
    (void)fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                report->trace);
    return SKN_OK;
}

bool
cli_up_report_trace(cli_up_report_t *report, const char *line)
{
    size_t head = strlen(CLI_TRACE_EVENT_HEAD), bytes = strlen(line);
    if (!report->trace || bytes <= head + 1 ||
        strncmp(line, CLI_TRACE_EVENT_HEAD, head) != 0)
        return false;
    (void)fwrite(line + head, 1, bytes - head - 1, report->trace);
    (void)fputs(",\n", report->trace);
    return true;
}

bool
cli_up_report_take(cli_up_report_t *report, size_t place, const json_t *event,
                   const char *line)
{
    if (strcmp(skn_json_word(event, "event"), "report") != 0)
        return false;
    if (report->call->json)
        (void)puts(line);
    if (!report->events[place])
        report->events[place] = strdup(line);
    return true;
}

/* Writes the last line, which closes the list: without it the file is not
 * JSON. */
static void
end_trace(cli_up_report_t *report)
{
    (void)fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,"
                "\"args\":{\"name\":\"skein up\"}}\n]}\n",
                report->trace);
    bool written = !ferror(report->trace);
    if (fclose(report->trace) != 0)
        written = false;
    report->trace = NULL;
    if (!written)
        cli_warn(report->call, "the trace could not be written",
                 "is the disk full?");
}

void
cli_up_report_print(cli_up_report_t *report, bool one_machine)
{
    skn_error_t error = { 0 };
    if (!report->call || cli_output_unread()) /* nothing was started, or read */
        return;
    if (skn_training_reports_print(
            (const char *const *)report->events, SKN_CLUSTER_NODES_MAX,
            one_machine, report->call->json, stdout, &error) != SKN_OK)
        cli_warn(report->call, error.text, error.hint);
    (void)fflush(stdout);
}

void
cli_up_report_close(cli_up_report_t *report)
{
    if (report->trace)
        end_trace(report);
    for (size_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        free(report->events[k]);
}
