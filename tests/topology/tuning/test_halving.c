/* test_halving.c - tests which trials are run, and how long.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/halving.h"

#include <criterion/criterion.h>
#include <math.h>

static const skn_halving_t usual = { 16, 3, 3, 1.0 / 3 };
static const skn_halving_pace_t pace = { .full_s = 90,
                                         .extra_s = 1,
                                         .mean_cost = 1 };

Test(halving, a_third_enters_the_next_round_and_trains_three_times_longer)
{
    cr_expect_eq(skn_halving_count(&usual, 0), 16);
    cr_expect_eq(skn_halving_count(&usual, 1), 6);
    cr_expect_eq(skn_halving_count(&usual, 2), 2);
    cr_expect_float_eq(skn_halving_share(&usual, 0), 1.0 / 9, 1e-12);
    cr_expect_float_eq(skn_halving_share(&usual, 1), 1.0 / 3, 1e-12);
    cr_expect_eq(skn_halving_share(&usual, 2), 1);
}

Test(halving, a_third_of_nine_is_three_for_all_roundings)
{
    const skn_halving_t nine = { 9, 3, 3, 1.0 / 3 };
    cr_expect_eq(skn_halving_count(&nine, 1), 3);
    cr_expect_eq(skn_halving_count(&nine, 2), 1);
    const skn_halving_t tenth = { 100, 3, 3, 0.1 };
    cr_expect_eq(skn_halving_count(&tenth, 1), 10);
    cr_expect_eq(skn_halving_count(&tenth, 2), 1);
}

Test(halving, failed_trials_have_no_rank_and_equal_ones_stand_by_number)
{
    const double score[] = { .5, NAN, .7, .5, .7, NAN };
    uint32_t order[6];
    cr_assert_eq(skn_halving_rank(score, 6, order), 4);
    const uint32_t want[] = { 2, 4, 0, 3 };
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(order[k], want[k], "place %zu is %u", k, order[k]);
}

Test(halving, auto_enters_the_next_round_beside_the_best)
{
    const skn_halving_t halving = { 9, 3, 3, 1.0 / 3 };
    const double score[] = { .1, .2, .9, .3, .8, .4, .7, .5, .6 };
    uint32_t chosen[9];
    cr_assert_eq(skn_halving_survivors(&halving, 0, score, chosen), 4);
    const uint32_t want[] = { 0, 2, 4, 6 };
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(chosen[k], want[k]);
}

Test(halving, auto_takes_a_place_when_it_is_among_the_best)
{
    const skn_halving_t halving = { 9, 3, 3, 1.0 / 3 };
    const double score[] = { .85, .2, .9, .3, .8, .4, .7, .5, .6 };
    uint32_t chosen[9];
    cr_assert_eq(skn_halving_survivors(&halving, 0, score, chosen), 3);
    const uint32_t want[] = { 0, 2, 4 };
    for (size_t k = 0; k < 3; k++)
        cr_expect_eq(chosen[k], want[k]);
}

/* Auto and at least one other are trained to the end. */
Test(halving, auto_is_never_left_alone)
{
    const skn_halving_t halving = { 3, 2, 2, 1.0 / 3 };
    const double best[] = { .9, .2, .4 }, alone[] = { .9, NAN, NAN };
    const double failed[] = { NAN, .2, .4 };
    uint32_t chosen[3];
    cr_assert_eq(skn_halving_survivors(&halving, 0, best, chosen), 2);
    cr_expect_eq(chosen[0], 0);
    cr_expect_eq(chosen[1], 2);
    cr_expect_eq(skn_halving_survivors(&halving, 0, alone, chosen), 1);
    cr_assert_eq(skn_halving_survivors(&halving, 0, failed, chosen), 1);
    cr_expect_eq(chosen[0], 2);
}

Test(halving, no_candidate_enters_the_next_round_where_all_have_failed)
{
    const skn_halving_t halving = { 3, 2, 2, 0.5 };
    const double score[] = { NAN, NAN, NAN };
    uint32_t chosen[3];
    cr_expect_eq(skn_halving_survivors(&halving, 0, score, chosen), 0);
}

Test(halving, the_forecast_is_the_sum_of_all_trials)
{
    /* Round 0: 16 of 10 s; 1: auto and 6 of 30 s; 2: auto and 2 of 90 s; and
     * one second for each of the 26. */
    cr_expect_float_eq(skn_halving_seconds(&usual, &pace), 160 + 210 + 270 + 26,
                       1e-9);
}

Test(halving, what_fits_is_not_cut)
{
    skn_halving_t halving = usual;
    skn_halving_fit(&halving, &pace, 666);
    cr_expect_eq(halving.candidates, 16);
    cr_expect_eq(halving.ends, 3);
}

Test(halving, candidates_go_first_then_the_longest_trials)
{
    for (double left_s = 666; left_s > 0; left_s -= 1) {
        skn_halving_t halving = usual, more;
        skn_halving_fit(&halving, &pace, left_s);
        cr_assert(halving.candidates >= 1 && halving.candidates <= 16);
        cr_assert(halving.ends >= 1 && halving.ends <= 3);
        if (left_s > 12) /* auto's trial alone, and a second */
            cr_expect_leq(skn_halving_seconds(&halving, &pace), left_s);
        if (halving.candidates == 16)
            continue;
        more = halving;
        more.candidates++;
        cr_expect_gt(skn_halving_seconds(&more, &pace), left_s);
    }
}

Test(halving, one_candidate_is_left_when_there_is_no_time_at_all)
{
    skn_halving_t halving = usual;
    skn_halving_fit(&halving, &pace, 0);
    cr_expect_eq(halving.candidates, 1);
    cr_expect_eq(halving.ends, 1);
}

Test(halving, the_error_is_that_of_two_independent_shares)
{
    cr_expect_float_eq(skn_halving_error(.5, .5, 200), .05, 1e-12);
    cr_expect_eq(skn_halving_error(0, 1, 10), 0);
}
