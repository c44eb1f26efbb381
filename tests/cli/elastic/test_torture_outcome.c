/* test_torture_outcome.c - tests how the outcome of a tortured run is printed
 * and judged.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/torture_outcome.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const cli_torture_outcome_t good = {
    .kills = 4,
    .leaves = 2,
    .killed = 4,
    .killed_coordinator = 1,
    .left = 2,
    .together = 2,
    .want_sha256 = "abc",
    .sha256 = "abc",
    .want_p1 = .5,
    .p1 = .5,
    .generations = 9,
    .back_s_sum = 6,
    .back_s_max = 3,
    .leave_s_median = 1,
    .leave_s_max = 2,
};
static skn_error_t error;

static void
expect_printed(const cli_torture_outcome_t *outcome, bool json,
               const char *want)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cli_torture_outcome_print(outcome, json, file);
    cr_assert_eq(fclose(file), 0);
    cr_expect_str_eq(text, want);
    free(text);
}

Test(torture_outcome, three_lines_say_it)
{
    expect_printed(&good, false,
                   "4 kills (1 of the coordinator) and 2 leaves in 9 "
                   "generations: 0 batches lost, 0 applied twice\n"
                   "training again after 2.0 s, at most 3.0 s; left after "
                   "1.0 s, at most 2.0 s\n"
                   "same weights as in an undisturbed run: abc\n");
}

Test(torture_outcome, an_event_says_it)
{
    expect_printed(
        &good, true,
        "{\"event\":\"torture\",\"kills\":4,\"kills_coordinator\":1,"
        "\"leaves\":2,\"lost\":0,\"applied_twice\":0,\"same_weights\":true,"
        "\"generations\":9,\"back_s_mean\":2.00,\"back_s_max\":3.00,"
        "\"leaves_together\":2,\"leave_s_median\":1.00,\"leave_s_max\":2.00}"
        "\n");
}

Test(torture_outcome, a_partial_recovery_has_an_event_of_its_own)
{
    cli_torture_outcome_t outcome = { .partial = true,
                                      .partials = 3,
                                      .told_lost = 7,
                                      .lost = 5,
                                      .want_sha256 = "abc",
                                      .want_p1 = .5,
                                      .p1 = .25 };
    expect_printed(
        &outcome, true,
        "{\"event\":\"torture_partial\",\"partials\":3,\"told_lost\":7,"
        "\"p1\":0.25000,\"want_p1\":0.50000}\n"
        "{\"event\":\"torture\",\"kills\":0,\"kills_coordinator\":0,"
        "\"leaves\":0,\"lost\":5,\"applied_twice\":0,\"same_weights\":false,"
        "\"generations\":0,\"back_s_mean\":0.00,\"back_s_max\":0.00,"
        "\"leaves_together\":0,\"leave_s_median\":0.00,\"leave_s_max\":0.00}"
        "\n");
}

Test(torture_outcome, the_same_weights_and_a_balanced_ledger_pass)
{
    cli_torture_outcome_t outcome = good;
    cr_expect_eq(cli_torture_to_come(&outcome), 0);
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_OK);
    outcome.applied_twice = 1;
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_INTERNAL);
    outcome.applied_twice = 0;
    outcome.lost = -1;
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text, "the ledger does not balance");
    outcome.sha256[0] = 'b';
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text, "the weights differ from those of the "
                                 "undisturbed run, abc");
}

Test(torture_outcome, kills_that_did_not_come_are_a_failure)
{
    cli_torture_outcome_t outcome = good;
    outcome.left = 1;
    cr_expect_eq(cli_torture_to_come(&outcome), 1);
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "the run was over after 5 of 6 kills and leaves");
    cr_expect_str_eq(error.hint, "give it more epochs");
}

Test(torture_outcome, a_partial_recovery_may_lose_what_it_reported)
{
    cli_torture_outcome_t outcome = good;
    outcome.partial = true;
    outcome.sha256[0] = 'b';
    outcome.lost = outcome.told_lost = 5;
    outcome.p1 = .48;
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_OK);
    outcome.p1 = .46;
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text,
                     "P@1 is 0.4600, but 0.5000 in the undisturbed run");
    outcome.lost = 6;
    cr_expect_eq(cli_torture_outcome_judge(&outcome, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text, "the ledger does not balance: 6 lost, 5 "
                                 "reported, 0 applied twice");
}
