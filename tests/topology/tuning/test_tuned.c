/* test_tuned.c - tests the report on the best candidate.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/tuned.h"

#include <criterion/criterion.h>
#include <math.h>

static void
expect(skn_tuned_result_t verdict, const char *want)
{
    char text[256];
    if (verdict.share <= 0)
        verdict.share = 1;
    cr_expect_str_eq(skn_tuned_describe(&verdict, text, sizeof(text)), want);
}

Test(tuned, a_difference_within_the_error_is_said_to_be_none)
{
    expect(
        (skn_tuned_result_t){
            .best = 3, .score = .62, .auto_score = .61, .error = .0125 },
        "0.0100 more than auto, within the standard error of 0.0125: it may "
        "be no better");
}

Test(tuned, a_difference_of_one_error_is_likely_of_two_it_stands_for_itself)
{
    expect(
        (skn_tuned_result_t){
            .best = 3, .score = .625, .auto_score = .61, .error = .0125 },
        "0.0150 more than auto, with a standard error of 0.0125: likely "
        "better");
    expect(
        (skn_tuned_result_t){
            .best = 3, .score = .65, .auto_score = .61, .error = .0125 },
        "0.0400 more than auto, with a standard error of 0.0125");
}

Test(tuned, auto_may_be_the_best)
{
    expect(
        (skn_tuned_result_t){
            .best = 0, .score = .61, .auto_score = .61, .error = .01 },
        "nothing better than auto was found");
}

Test(tuned, an_unknown_score_or_error_is_not_printed)
{
    expect(
        (skn_tuned_result_t){
            .best = 3, .score = .61, .auto_score = NAN, .error = NAN },
        "the trial of auto itself failed");
    expect(
        (skn_tuned_result_t){
            .best = 3, .score = .5, .auto_score = .25, .error = NAN },
        "0.2500 more than auto");
}

Test(tuned, trials_that_were_short_are_said_to_be)
{
    expect((skn_tuned_result_t){ .best = 3,
                                 .score = .65,
                                 .auto_score = .61,
                                 .error = .0125,
                                 .share = 1.0 / 3 },
           "0.0400 more than auto, with a standard error of 0.0125; trials had "
           "0.33 of the full length, and whole runs may differ");
}
