/* test_run_config.c - tests the config of a run folder with options that no
 * longer exist.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/run_config.h"

#include <criterion/criterion.h>

#include "formats/checkpoint/run_folder.h"
#include "tests/support/temp_folder.h"
#include "topology/run/trained.h"

#define HEAD                                                                   \
    "skein: 1\n"                                                               \
    "data:\n"                                                                  \
    "  train: /d/t\n"                                                          \
    "model:\n"                                                                 \
    "  layers: [{ name: h }, { name: o }]\n"                                   \
    "train:\n"                                                                 \
    "  window: 3\n"

/* Configs as they were written before decision 0030. */
static const char *const older[] = {
    HEAD "  late: wait\n  staleness_max: auto\n  order: free\n",
    HEAD "  order: free\n  late: stale\n  staleness_max: 5\n",
    "skein: 1\ndata: { train: /d/t }\nmodel:\n"
    "  layers: [{ name: h }, { name: o, "
    "sampler: { kind: uniform, lists: auto, list_rows: auto } }]\n"
    "train:\n  window: 3\n  order: free\n",
    HEAD "  order: free\n",
};

static char folder[TEMP_FOLDER_BYTES];

static void
begin_run(const char *config)
{
    skn_error_t error = { 0 };
    temp_folder_make(folder);
    const skn_run_options_t options = { .config_text = config };
    skn_run_folder_t *run = skn_run_folder_open(folder, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_run_folder_close(&run);
}

Test(run_config, options_that_are_gone_do_not_keep_a_run_from_being_used)
{
    for (size_t k = 0; k < sizeof(older) / sizeof(older[0]); k++) {
        skn_error_t error = { 0 };
        skn_model_t *model = NULL;
        begin_run(older[k]);
        skn_run_folder_t *run = skn_run_folder_open_read_only(folder, &error);
        cr_assert(run, "%s", error.text);
        cr_expect_eq(skn_trained_model(run, &model, &error), SKN_OK, "%s",
                     error.text);
        cr_assert(model);
        cr_expect(model->train.window == 3);
        cr_expect(model->train.order == SKN_ORDER_FREE);
        skn_model_destroy(&model);
        skn_run_folder_close(&run);
        temp_folder_remove(folder);
    }
}

Test(run_config, a_resumed_run_ignores_removed_options)
{
    for (size_t k = 0; k < sizeof(older) / sizeof(older[0]); k++) {
        skn_error_t error = { 0 };
        skn_model_t *model = NULL;
        const char *const overrides[] = { "train.epochs=9" };
        begin_run(older[k]);
        skn_problems_t *problems = skn_problems_new(&error);
        cr_assert(problems);
        cr_expect_eq(
            skn_run_config_read(folder, overrides, 1, &model, problems, &error),
            SKN_OK, "%s", error.text);
        cr_assert(model);
        cr_expect(model->train.epochs == 9 && model->train.window == 3);
        skn_model_destroy(&model);
        skn_problems_destroy(&problems);
        temp_folder_remove(folder);
    }
}

Test(run_config, removed_options_in_an_override_are_refused)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    const char *const overrides[] = { "train.late=wait" };
    begin_run(older[0]);
    skn_problems_t *problems = skn_problems_new(&error);
    cr_assert(problems);
    cr_expect_eq(
        skn_run_config_read(folder, overrides, 1, &model, problems, &error),
        SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "unknown option 'late' of train"), "%s",
              error.text);
    skn_model_destroy(&model);
    skn_problems_destroy(&problems);
    temp_folder_remove(folder);
}
