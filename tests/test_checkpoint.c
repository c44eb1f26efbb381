/* test_checkpoint.c - what is written comes back, on any number of shards.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/checkpoint_fixture.h"
#include "tests/temp_folder.h"

#include <criterion/criterion.h>

static char folder[TEMP_FOLDER_BYTES];

static void
setup(void)
{
    temp_folder_make(folder);
}

static void
teardown(void)
{
    temp_folder_remove(folder);
}

TestSuite(checkpoint, .init = setup, .fini = teardown);

static skn_run_folder_t *
new_run(void)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .config_text = "skein: 1\n" };
    skn_run_folder_t *run = skn_run_folder_open(folder, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    return run;
}

Test(checkpoint, comes_back_as_it_was_written)
{
    skn_error_t error = { 0 };
    skn_run_folder_t *run = new_run();
    cr_assert_eq(fixture_write(run, 7, 2, 3, 3, &error), SKN_OK, "%s",
                 error.text);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect(fixture_good(checkpoint));
    cr_expect_eq(skn_checkpoint_batch(checkpoint), 7);
    cr_expect_str_eq(skn_checkpoint_warning(checkpoint), "");
    cr_expect_str_eq(skn_checkpoint_run_id(checkpoint), skn_run_folder_id(run));
    skn_checkpoint_close(&checkpoint);
    skn_run_folder_close(&run);
}

Test(checkpoint, has_one_hash_for_every_number_of_shards)
{
    char first[SKN_SHA256_TEXT_BYTES] = "", hex[SKN_SHA256_TEXT_BYTES];
    skn_error_t error = { 0 };
    skn_run_folder_t *run = new_run();
    for (unsigned hidden = 1; hidden <= 7; hidden++)
        for (unsigned output = 1; output <= 6; output++) {
            cr_assert_eq(fixture_write(run, 7, hidden, output, 1, &error),
                         SKN_OK, "%s", error.text);
            skn_checkpoint_t *checkpoint =
                skn_checkpoint_open(folder, SKN_VERIFY_LAZY, &error);
            cr_assert(checkpoint, "%s", error.text);
            cr_expect(fixture_good(checkpoint), "%u x %u", hidden, output);
            cr_assert_eq(skn_checkpoint_weights_sha256(checkpoint, hex, &error),
                         SKN_OK, "%s", error.text);
            if (!*first)
                memcpy(first, hex, sizeof(first));
            cr_expect_str_eq(hex, first, "%u x %u", hidden, output);
            skn_checkpoint_close(&checkpoint);
        }
    skn_run_folder_close(&run);
}
