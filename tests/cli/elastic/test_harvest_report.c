/* test_harvest_report.c - tests how the account of core time is printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/elastic/harvest_report.h"
#include "topology/cluster/harvest_json.h"

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

static void
expect_words(const skn_harvest_sum_t *sum, const char *want)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    json_t *event = skn_harvest_json_event(sum);
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
