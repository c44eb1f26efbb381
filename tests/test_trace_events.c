/* test_trace_events.c - a trace as events, its times by a clock of all nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/process.h"
#include "cli/trace_events.h"
#include "cli/verbs.h"

TestSuite(trace_events, .timeout = 60);

static cli_trace_events_t events;
static skn_start_options_t options;
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
    cr_expect_eq(cli_trace_events_begin(&events, &call, &options, &error),
                 SKN_OK);
    cr_expect_null(options.trace_path);
    cli_trace_events_end(&events, true);
}

Test(trace_events, an_origin_that_is_no_number_is_refused)
{
    cli_call_t call = call_of("now");
    cr_expect_eq(cli_trace_events_begin(&events, &call, &options, &error),
                 SKN_USAGE);
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
    uint64_t before_ns = cli_now_ns();
    cr_assert_eq(cli_trace_events_begin(&events, &call, &options, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_leq(options.trace_origin_ns, before_ns - 1900000000u);
    FILE *file = fopen(options.trace_path, "w");
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
    cr_expect_neq(access(options.trace_path, F_OK), 0);
}
