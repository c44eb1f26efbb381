/* test_resume_command.c - tests that a shell parses the printed command line as
 * meant.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/base/resume_command.h"

static const cli_option_t options[] = {
    { "override", 'o', "KEY=VALUE", "" },
    { "resume", 0, NULL, "" },
    { "wait", 0, "SECONDS", "" },
    { 0 },
};
static const cli_verb_t verb = { .name = "train", .options = options };

static void
expect(const cli_call_t *call, const char *path, const char *want)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
    cli_resume_command_write(call, path, file);
    cr_assert_eq(fclose(file), 0);
    cr_expect_str_eq(text, want);
    free(text);
}

Test(again, all_that_was_given_and_resume_once)
{
    const cli_call_t call = {
        .verb = &verb,
        .program = "../build/skein",
        .operands = { "a b.yaml" },
        .operand_count = 1,
        .given = { { .option = &options[0], .value = "train.epochs=3" },
                   { .option = &options[1] },
                   { .option = &options[2], .value = "10" },
                   { .option = &options[0], .value = "data.train=it's #1" } },
        .given_count = 4,
    };
    expect(&call, NULL,
           "../build/skein train 'a b.yaml' -o train.epochs=3 --wait 10 -o "
           "'data.train=it'\\''s #1' --resume\n");
}

Test(again, the_folder_of_the_run_where_no_path_was_given)
{
    cli_call_t call = { .verb = &verb,
                        .program = "skein",
                        .operands = { "/dev/null" },
                        .operand_count = 1 };
    expect(&call, "runs/m-1",
           "skein train /dev/null -o checkpoint.path=runs/m-1 "
           "--resume\n");
    expect(
        &call, "runs/a #1",
        "skein train /dev/null -o 'checkpoint.path=\"runs/a #1\"' --resume\n");
    expect(&call, "runs/\x7f",
           "skein train /dev/null -o 'checkpoint.path=\"runs/\\x7f\"' "
           "--resume\n");
    call.operands[0] = "-"; /* which cannot be read again */
    expect(&call, "runs/m-1", "skein train runs/m-1 --resume\n");
}

Test(again, the_folder_alone_where_the_model_file_is_gone)
{
    cli_call_t call = { .verb = &verb,
                        .program = "skein",
                        .operands = { "/nowhere/m.yaml" },
                        .operand_count = 1 };
    expect(&call, "runs/m-1", "skein train runs/m-1 --resume\n");
}
