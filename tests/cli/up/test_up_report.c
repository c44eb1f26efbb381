/* test_up_report.c - tests the tables, the verdict and the trace that are made
 * from the events of nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/trace_events.h"
#include "cli/up/up_report.h"
#include "cli/base/verbs.h"

TestSuite(up_report, .timeout = 60);

static cli_up_report_t report;
static skn_error_t error;
static char path[64] = "/tmp/skein-up-report.XXXXXX";

/* `up` with `--trace value`, if there is one. */
static cli_call_t
call_of(const char *value, bool json)
{
    cli_call_t call = { .verb = &cli_up, .json = json };
    const cli_option_t *option = cli_up.options;
    while (strcmp(option->name, "trace") != 0)
        option++;
    if (value) {
        call.given[0].option = option;
        call.given[0].value = value;
        call.given_count = 1;
    }
    return call;
}

static bool
take(size_t place, const char *line)
{
    json_t *event = json_loads(line, 0, NULL);
    cr_assert(event, "%s", line);
    bool taken = cli_up_report_take(&report, place, event, line);
    json_decref(event);
    return taken;
}

static const char *
event_of(const char *node, unsigned busy_s)
{
    static char line[1024];
    (void)snprintf(
        line, sizeof(line),
        "{\"event\":\"report\",\"node\":\"%s\",\"run_ns\":10000000000,"
        "\"core_busy_ns\":%u000000000,\"actors\":[{\"name\":\"output.%s\","
        "\"kind\":\"output\",\"core\":-1,\"busy_ns\":%u000000000}]}",
        node, busy_s, node, busy_s);
    return line;
}

Test(up_report, a_table_a_node_in_their_order_and_one_verdict,
     .init = cr_redirect_stdout)
{
    cli_call_t call = call_of(NULL, false);
    char text[8192] = "";
    cr_assert_eq(cli_up_report_open(&report, &call, &error), SKN_OK);
    cr_expect(take(1, event_of("b", 9)));
    cr_expect(take(0, event_of("a", 3)));
    cr_expect_not(take(0, "{\"event\":\"epoch\"}"));
    cli_up_report_print(&report, false);
    cli_up_report_close(&report);
    (void)fflush(stdout);
    FILE *out = cr_get_redirected_stdout();
    text[fread(text, 1, sizeof(text) - 1, out)] = '\0';
    const char *a = strstr(text, "node a\n"), *b = strstr(text, "node b\n");
    cr_expect(a && b && a < b, "%s", text);
    cr_expect(strstr(text, "output.b"), "%s", text);
    cr_expect(strstr(text, "\nbound by "), "%s", text);
    cr_expect(strstr(text, "node b"), "%s", text);
}

Test(up_report, as_events_they_pass_and_the_verdict_is_one,
     .init = cr_redirect_stdout)
{
    cli_call_t call = call_of(NULL, true);
    char text[8192] = "";
    cr_assert_eq(cli_up_report_open(&report, &call, &error), SKN_OK);
    cr_expect(take(0, event_of("a", 9)));
    cli_up_report_print(&report, false);
    cli_up_report_close(&report);
    (void)fflush(stdout);
    text[fread(text, 1, sizeof(text) - 1, cr_get_redirected_stdout())] = '\0';
    char *verdict = strstr(text, "{\"event\":\"verdict\",");
    cr_assert(verdict && verdict > text, "%s", text);
    json_t *event = json_loads(verdict, 0, NULL);
    cr_expect_str_eq(json_string_value(json_object_get(event, "bound_by")),
                     "actor");
    json_decref(event);
}

Test(up_report, records_of_all_nodes_become_one_trace)
{
    cr_assert_geq(mkstemp(path), 0);
    cli_call_t call = call_of(path, false);
    json_error_t wrong;
    cr_assert_eq(cli_up_report_open(&report, &call, &error), SKN_OK);
    cr_expect_gt(report.origin_ns, 0);
    cr_expect(cli_up_report_trace(&report, CLI_TRACE_EVENT_HEAD
                                  "{\"ph\":\"X\",\"pid\":1,\"ts\":1.5}}"));
    cr_expect(cli_up_report_trace(&report, CLI_TRACE_EVENT_HEAD
                                  "{\"ph\":\"X\",\"pid\":2,\"ts\":2.5}}"));
    cr_expect_not(cli_up_report_trace(&report, "{\"event\":\"epoch\"}"));
    cli_up_report_close(&report);
    json_t *trace = json_load_file(path, 0, &wrong);
    cr_assert(trace, "%s", wrong.text);
    cr_expect_eq(json_array_size(json_object_get(trace, "traceEvents")), 3);
    json_decref(trace);
    (void)unlink(path);
}

Test(up_report, a_trace_that_cannot_be_written_is_reported_before_the_run)
{
    cli_call_t call = call_of("/nowhere/trace.json", false);
    cr_expect_eq(cli_up_report_open(&report, &call, &error), SKN_CANNOT_CREATE);
    cr_expect(strstr(error.text, "/nowhere/trace.json"), "%s", error.text);
}
