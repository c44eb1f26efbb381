/* test_plan_labels.c - tests that a plan reads the file of the labels' names.
 *
 * Covers topology/plan/plan_make.c and topology/plan/plan_keepers.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/support/model_fixture.h"
#include "tests/support/plan_folder.h"
#include "topology/plan/plan.h"

TestSuite(plan_labels, .init = set_up, .fini = tear_down, .timeout = 60);

/* The labels of the data. */
#define LABELS 3000u

static skn_status_t
plan_with(const char *labels, skn_plan_t *plan, skn_error_t *error)
{
    char text[8192];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none, labels: %s }\n"
                   "model:\n  layers:\n    - { name: hidden, units: 8 }\n"
                   "    - { name: output }\n",
                   file, labels);
    skn_model_t *model = fixture_good(text);
    skn_status_t status = skn_plan_make(plan, model, 1, error);
    skn_model_destroy(&model);
    return status;
}

static void
write_names(const char *path, uint32_t count)
{
    FILE *names = fopen(path, "w");
    cr_assert(names);
    for (uint32_t k = 0; k < count; k++)
        (void)fprintf(names, "name %u\n", k);
    (void)fclose(names);
}

/* The text of the note on the names; "": there is none. */
static const char *
note_of(const skn_plan_t *plan)
{
    for (uint32_t k = 0; k < plan->data.note_count; k++)
        if (strstr(plan->data.note[k].text, " names, "))
            return plan->data.note[k].text;
    return "";
}

Test(plan_labels, another_number_of_names_is_a_note)
{
    static const uint32_t counts[] = { LABELS - 1, LABELS, LABELS + 1 };
    char path[512];
    skn_plan_t plan;
    skn_error_t error = { 0 };
    (void)snprintf(path, sizeof(path), "%s.names", file);
    for (size_t k = 0; k < 3; k++) {
        write_names(path, counts[k]);
        cr_assert_eq(plan_with(path, &plan, &error), SKN_OK, "%s", error.text);
        cr_expect_eq(note_of(&plan)[0] == '\0', counts[k] == LABELS, "%s",
                     note_of(&plan));
    }
    cr_assert_eq(plan_with("''", &plan, &error), SKN_OK, "%s", error.text);
    cr_expect_str_eq(note_of(&plan), "");
}

Test(plan_labels, a_missing_file_of_names_is_refused)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    cr_expect_eq(plan_with("/nowhere", &plan, &error), SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "/nowhere: no such file");
    cr_expect_str_eq(error.hint,
                     "data.labels is the file of the labels' names");
}
