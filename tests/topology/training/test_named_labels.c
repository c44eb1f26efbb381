/* test_named_labels.c - tests the names in predictions of nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "topology/training/named_labels.h"

static const char *const text[] = { "games", "", "a \"web\" page" };
static const skn_names_t names = { .name = text,
                                   .count = sizeof(text) / sizeof(text[0]) };

Test(named_labels, each_label_has_its_name)
{
    skn_json_text_t event = { 0 };
    cr_assert(
        skn_named_labels_write(&names,
                               "{\"event\":\"prediction\",\"labels\":[2,0,1,3],"
                               "\"scores\":[0.4,0.3,0.2,0.1]}",
                               &event));
    cr_expect_str_eq(event.bytes,
                     "{\"event\":\"prediction\",\"labels\":[2,0,1,3],"
                     "\"scores\":[0.4,0.3,0.2,0.1],\"names\":[\"a \\\"web\\\" "
                     "page\",\"games\",\"\",\"\"]}");
    skn_json_text_fini(&event);
}

Test(named_labels, other_events_stay_as_they_are)
{
    skn_json_text_t event = { 0 };
    cr_expect_not(
        skn_named_labels_write(&names, "{\"event\":\"done\"}", &event));
    cr_expect_not(skn_named_labels_write(
        NULL, "{\"event\":\"prediction\",\"labels\":[1]}", &event));
    cr_expect_not(skn_named_labels_write(
        &names, "{\"event\":\"prediction\",\"labels\":[1", &event));
    cr_expect_eq(event.count, 0);
}

Test(named_labels, a_folder_that_is_no_run_is_refused)
{
    skn_names_t *none = NULL;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_named_labels_open("/nowhere", &none, &error),
                 SKN_NO_INPUT);
    cr_expect_null(none);
}
