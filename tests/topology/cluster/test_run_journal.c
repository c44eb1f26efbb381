/* test_run_journal.c - tests what a restarted coordinator recovers of its run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/run_journal.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES];
static skn_model_node_t nodes[] = { { .name = "a" }, { .name = "b" } };
static skn_model_t model = { .name = "m", .nodes = nodes, .node_count = 2 };
static skn_run_journal_t journal;

static void
setup(void)
{
    skn_error_t error = { 0 };
    temp_folder_make(folder);
    model.checkpoint.path = folder;
    cr_assert_eq(skn_run_journal_open(&journal, &model, &error), SKN_OK, "%s",
                 error.text);
}

static void
teardown(void)
{
    skn_run_journal_close(&journal);
    temp_folder_remove(folder);
}

TestSuite(run_journal, .init = setup, .fini = teardown);

static void
add(const char *line)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_journal_add(journal.file, line, &error), SKN_OK, "%s",
                 error.text);
}

static void
read_again(void)
{
    skn_error_t error = { 0 };
    skn_run_journal_close(&journal);
    cr_assert_eq(skn_run_journal_open(&journal, &model, &error), SKN_OK, "%s",
                 error.text);
}

Test(run_journal, a_run_keeps_its_id_and_its_newest_generation)
{
    char id[SKN_RUN_ID_BYTES];
    memcpy(id, journal.run_id, sizeof(id));
    add("{\"generation\":1,\"members\":[\"a\",\"b\"],\"batch\":0}");
    add("{\"generation\":2,\"members\":[\"b\"],\"serving\":[\"b\"],\"batch\":7"
        ",\"from_saved\":true}");
    read_again();
    cr_expect_str_eq(journal.run_id, id);
    cr_expect_eq(journal.generation, 2);
    cr_expect_eq(journal.members, 2);
    cr_expect_eq(journal.serving, 2);
    cr_expect_eq(journal.saved_batch, 7);
    cr_expect_eq(journal.saved_in, 0);
}

Test(run_journal, what_is_composed_was_never_saved)
{
    add("{\"generation\":1,\"members\":[\"a\",\"b\"],\"batch\":0}");
    add("{\"saved\":20,\"generation\":1}");
    add("{\"generation\":2,\"members\":[\"a\"],\"batch\":33,\"from_saved\":true"
        ",\"composed\":true}");
    read_again();
    cr_expect_eq(journal.saved_batch, 20);
}

Test(run_journal, a_save_belongs_to_the_generation_that_wrote_it)
{
    add("{\"generation\":1,\"members\":[\"a\",\"b\"],\"batch\":0}");
    add("{\"generation\":2,\"members\":[\"a\"],\"batch\":0}");
    add("{\"saved\":20,\"generation\":1}");
    read_again();
    cr_expect_eq(journal.saved_batch, 20);
    cr_expect_eq(journal.saved_in, 1);
}

Test(run_journal, older_ones_do_not_say_which_and_it_is_the_newest)
{
    add("{\"generation\":2,\"members\":[\"a\"],\"batch\":0}");
    add("{\"saved\":20}");
    read_again();
    cr_expect_eq(journal.saved_in, 2);
    cr_expect_not(journal.over);
    add("{\"over\":\"done\"}");
    read_again();
    cr_expect(journal.over);
}

Test(run_journal, what_is_written_is_read)
{
    json_t *members = json_pack("[ss]", "a", "b"),
           *serving = json_pack("[s]", "a");
    const skn_run_journal_line_t lines[] = {
        { .generation = 4, .members = members, .serving = serving, .batch = 9 },
        { .saved = 11, .generation = 4 },
        { .over = "done" },
    };
    for (size_t k = 0; k < 3; k++)
        skn_run_journal_add(&journal, &lines[k]);
    cr_expect_eq(journal.broken.status, SKN_OK);
    json_decref(members);
    json_decref(serving);
    read_again();
    cr_expect_eq(journal.generation, 4);
    cr_expect_eq(journal.members, 3);
    cr_expect_eq(journal.serving, 1);
    cr_expect_eq(journal.saved_batch, 11);
    cr_expect_eq(journal.saved_in, 4);
    cr_expect(journal.over);
}

Test(run_journal, a_line_with_a_value_of_the_wrong_type_is_an_error)
{
    skn_error_t error = { 0 };
    add("{\"saved\":\"20\"}");
    skn_run_journal_close(&journal);
    cr_expect_neq(skn_run_journal_open(&journal, &model, &error), SKN_OK);
    cr_expect(strstr(error.text, "'saved' is not an integer"), "%s",
              error.text);
}
