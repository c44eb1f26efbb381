/* test_trace_events.c - tests a trace that is sent as events, with times by a
 * common clock of all nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/base/trace_events.h"
#include "cli/base/verbs.h"
#include "tests/support/temp_folder.h"
#include "transport/socket/clock.h"

TestSuite(trace_events, .timeout = 60);

static cli_trace_events_t events;
static const char *path;
static uint64_t origin_ns;
static skn_error_t error;

static cli_call_t
call_of(const char *origin)
{
    cli_call_t call = { .verb = &cli_node };
    const cli_option_t *option = cli_node.options;
    while (strcmp(option->name, "trace-events") != 0)
        option++;
    if (origin) {
        call.given[0].option = option;
        call.given[0].value = origin;
        call.given_count = 1;
    }
    return call;
}

Test(trace_events, without_the_option_there_are_none)
{
    cli_call_t call = call_of(NULL);
    cr_expect_eq(
        cli_trace_events_begin(&events, &call, &path, &origin_ns, &error),
        SKN_OK);
    cr_expect_null(path);
    cli_trace_events_end(&events, true);
}

Test(trace_events, an_origin_that_is_no_number_is_refused)
{
    static const char *const wrong[] = { "now", "-1", "12x", "" };
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        cli_call_t call = call_of(wrong[k]);
        cr_expect_eq(
            cli_trace_events_begin(&events, &call, &path, &origin_ns, &error),
            SKN_USAGE, "'%s'", wrong[k]);
    }
}

Test(trace_events, the_file_lies_where_the_user_wants_temporary_files)
{
    char folder[TEMP_FOLDER_BYTES], missing[TEMP_FOLDER_BYTES + 8];
    cli_call_t call = call_of("1");
    temp_folder_make(folder);
    (void)setenv("TMPDIR", folder, 1);
    cr_assert_eq(
        cli_trace_events_begin(&events, &call, &path, &origin_ns, &error),
        SKN_OK);
    cr_expect_eq(strncmp(path, folder, strlen(folder)), 0, "%s", path);
    cli_trace_events_end(&events, false);
    path = NULL;
    (void)snprintf(missing, sizeof(missing), "%s/none", folder);
    (void)setenv("TMPDIR", missing, 1);
    cr_expect_eq(
        cli_trace_events_begin(&events, &call, &path, &origin_ns, &error),
        SKN_OK, "the run goes on without");
    cr_expect_null(path);
    cli_trace_events_end(&events, true);
    temp_folder_remove(folder);
}

Test(trace_events, records_are_events_and_the_file_goes,
     .init = cr_redirect_stdout)
{
    char origin[32], text[1024] = "";
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(origin, sizeof(origin), "%lld%09ld",
                   (long long)now.tv_sec - 2, now.tv_nsec);
    cli_call_t call = call_of(origin);
    uint64_t before_ns = skn_monotonic_ns();
    cr_assert_eq(
        cli_trace_events_begin(&events, &call, &path, &origin_ns, &error),
        SKN_OK, "%s", error.text);
    cr_expect_leq(origin_ns, before_ns - 1900000000u);
    FILE *file = fopen(path, "w");
    (void)fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                "{\"ph\":\"X\",\"ts\":1.5},\n{\"ph\":\"M\"}\n]}\n",
                file);
    (void)fclose(file);
    cli_trace_events_end(&events, true);
    (void)fflush(stdout);
    text[fread(text, 1, sizeof(text) - 1, cr_get_redirected_stdout())] = '\0';
    cr_expect_str_eq(text, "{\"event\":\"trace\",\"of\":{\"ph\":\"X\",\"ts\":"
                           "1.5}}\n{\"event\":\"trace\",\"of\":{\"ph\":\"M\"}}"
                           "\n");
    cr_expect_neq(access(path, F_OK), 0);
}
