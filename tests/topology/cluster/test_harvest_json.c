/* test_harvest_json.c - tests that the account of core time is saved and read
 * back, and its event.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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

Test(harvest_json, what_is_written_down_is_read_again)
{
    skn_harvest_sum_t sum = { 0 };
    json_t *counts = skn_harvest_json(&sample);
    char *text = json_dumps(counts, JSON_COMPACT);
    json_t *again = json_loads(text, 0, NULL);
    skn_harvest_json_read(again, &sum);
    cr_expect_eq(memcmp(&sum, &sample, sizeof(sum)), 0, "%s", text);
    free(text);
    json_decref(counts);
    json_decref(again);
}

Test(harvest_json, what_is_no_such_thing_changes_nothing)
{
    skn_harvest_sum_t sum = sample;
    json_t *list = json_pack("[i]", 1);
    json_t *wrong =
        json_pack("{sisssf}", "died", -4, "left", "x", "cpu_ns", 2.0);
    skn_harvest_json_read(NULL, &sum);
    skn_harvest_json_read(list, &sum);
    cr_expect_eq(memcmp(&sum, &sample, sizeof(sum)), 0);
    skn_harvest_json_read(wrong, &sum);
    cr_expect_eq(sum.died + sum.left + sum.cpu_ns, 0, "no numbers, no counts");
    json_decref(list);
    json_decref(wrong);
}

Test(harvest_json, the_event_has_shares_that_sum_up_to_one)
{
    json_t *event = skn_harvest_json_event(&sample);
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
