/* test_harvest_report.c - tests that the report of core time is saved, read
 * back and printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/elastic/harvest_report.h"

static const skn_harvest_sum_t sample = {
    .useful_ns = 81000000000u,
    .redone_ns = 9000000000u,
    .waiting_ns = 10000000000u,
    .cpu_ns = 77000000000u,
    .sent_bytes = 12345678,
    .batches = 400,
    .redone_batches = 40,
    .died = 3,
    .died_ns = 8000000000u,
    .died_batches = 35,
    .left = 2,
    .left_ns = 1000000000u,
    .left_batches = 5,
    .generations = 6,
};

Test(harvest_report, what_is_written_down_is_read_again)
{
    skn_harvest_sum_t sum = { 0 };
    json_t *counts = cli_harvest_report_json(&sample);
    char *text = json_dumps(counts, JSON_COMPACT);
    json_t *again = json_loads(text, 0, NULL);
    cli_harvest_report_read(again, &sum);
    cr_expect_eq(memcmp(&sum, &sample, sizeof(sum)), 0, "%s", text);
    free(text);
    json_decref(counts);
    json_decref(again);
}

Test(harvest_report, what_is_no_such_thing_changes_nothing)
{
    skn_harvest_sum_t sum = sample;
    json_t *list = json_pack("[i]", 1);
    json_t *wrong =
        json_pack("{sisssf}", "died", -4, "left", "x", "cpu_ns", 2.0);
    cli_harvest_report_read(NULL, &sum);
    cli_harvest_report_read(list, &sum);
    cr_expect_eq(memcmp(&sum, &sample, sizeof(sum)), 0);
    cli_harvest_report_read(wrong, &sum);
    cr_expect_eq(sum.died + sum.left + sum.cpu_ns, 0, "no numbers, no counts");
    json_decref(list);
    json_decref(wrong);
}

Test(harvest_report, the_event_has_shares_that_sum_up_to_one)
{
    json_t *event = cli_harvest_report_event(&sample);
    double sum = 0;
    static const char *const shares[] = { "useful", "redone", "waiting" };
    for (size_t k = 0; k < 3; k++)
        sum += json_number_value(json_object_get(event, shares[k]));
    cr_expect_float_eq(sum, 1, 1e-12);
    cr_expect_float_eq(json_number_value(json_object_get(event, "core_hours")),
                       100.0 / 3600, 1e-12);
    cr_expect_eq(json_integer_value(json_object_get(event, "died_batches")),
                 35);
    cr_expect_str_eq(json_string_value(json_object_get(event, "event")),
                     "harvest");
    json_decref(event);
}

static void
expect_words(const skn_harvest_sum_t *sum, const char *want)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    json_t *event = cli_harvest_report_event(sum);
    cli_harvest_report_print(event, file);
    cr_assert_eq(fclose(file), 0);
    cr_expect_str_eq(text, want);
    free(text);
    json_decref(event);
}

Test(harvest_report, three_lines_say_it)
{
    expect_words(&sample,
                 "time   100 core seconds of members (77 CPU seconds): 81.0% "
                 "useful, 9.0% redone, 10.0% waiting\n"
                 "lost   to 3 deaths without notice, 35 batches (8 core "
                 "seconds); to 2 departures with notice, 5 batches (1 core "
                 "seconds)\n"
                 "work   400 batches, 40 more redone, in 6 generations; 12.3 "
                 "MB between nodes\n");
    skn_harvest_sum_t hours = { .useful_ns = 9000000000000u };
    expect_words(&hours,
                 "time   2.5 core hours of members (0 CPU seconds): 100.0% "
                 "useful, 0.0% redone, 0.0% waiting\n"
                 "lost   to 0 deaths without notice, 0 batches (0 core "
                 "seconds); to 0 departures with notice, 0 batches (0 core "
                 "seconds)\n"
                 "work   0 batches, 0 more redone, in 0 generations; 0.0 MB "
                 "between nodes\n");
}
