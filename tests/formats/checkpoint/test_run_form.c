/* test_run_form.c - tests that a run folder keeps a tokenizer's file form.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_form.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

static void
expect_kept(const char *run_path, const char *wanted)
{
    char path[SKN_RUN_FORM_PATH_BYTES], found[64] = "";
    cr_assert(skn_run_form_find(run_path, SKN_TOKENIZER_NAME, path));
    FILE *file = fopen(path, "r");
    cr_assert(file);
    (void)fread(found, 1, sizeof(found) - 1, file);
    (void)fclose(file);
    cr_expect_str_eq(found, wanted);
}

static skn_run_folder_t *
open_run(const char *path)
{
    const skn_run_options_t options = { .config_text = "skein: 1\n" };
    skn_error_t error = { 0 };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    return run;
}

Test(run_form, is_kept_replaced_and_no_work_of_the_user)
{
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    char found[SKN_RUN_FORM_PATH_BYTES], fresh[TEMP_FOLDER_BYTES + 32];
    skn_error_t error = { 0 };
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/run", folder);
    (void)snprintf(fresh, sizeof(fresh), "%s/.tmp-tokenizer", path);
    skn_run_folder_t *run = open_run(path);
    cr_expect_not(skn_run_form_find(path, SKN_TOKENIZER_NAME, found));
    cr_assert_eq(
        skn_run_form_keep(run, SKN_TOKENIZER_NAME, "first one", 9, &error),
        SKN_OK, "%s", error.text);
    expect_kept(path, "first one");
    FILE *file = fopen(fresh, "w"); /* a process was killed */
    cr_assert(file);
    (void)fclose(file);
    cr_assert_eq(
        skn_run_form_keep(run, SKN_TOKENIZER_NAME, "second", 6, &error), SKN_OK,
        "%s", error.text);
    expect_kept(path, "second");
    cr_expect_neq(access(fresh, F_OK), 0);
    skn_run_folder_close(&run);
    /* A run that has saved nothing may be replaced. */
    run = open_run(path);
    skn_run_folder_close(&run);
    temp_folder_remove(folder);
}
