/* test_calibration.c - tests that a calibration finds the probabilities that
 * made the outcomes, never falls, and stays sensible with few of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/calibration.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define POINTS 20000u

static skn_outcome_t outcome[2 * POINTS];
static skn_error_t error;

/* The chance that an answer with this score is right: too sure by half, and
 * better for the best label than for the one after it. */
static double
truth(double score, bool first)
{
    double odds = log(score / (1 - score));
    return 1 / (1 + exp(-(0.5 * odds - (first ? 0 : 1))));
}

/* From 0 to 1, not evenly spaced twice. */
static double
draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* Two answers to each of `points`; returns their number. */
static size_t
make(uint32_t points)
{
    uint64_t state = 7;
    for (uint32_t k = 0; k < 2 * points; k++) {
        bool first = k % 2 == 0;
        float score = (float)(0.02 + 0.96 * draw(&state));
        outcome[k] = (skn_outcome_t){
            .score = score,
            .right = draw(&state) < truth((double)score, first),
            .first = first,
            .parity = (k / 2) & 1u,
        };
    }
    return 2 * (size_t)points;
}

static skn_calibration_t
fit(size_t count)
{
    skn_calibration_t found;
    cr_assert_eq(
        skn_calibration_fit(&found, outcome, count, SKN_EITHER_PARITY, &error),
        SKN_OK, "%s", error.text);
    return found;
}

Test(calibration, finds_the_probabilities)
{
    size_t count = make(POINTS);
    skn_calibration_t found = fit(count);
    cr_expect_eq(found.points, POINTS);
    for (int k = 5; k < 100; k += 5) {
        /* A step is .03 of the scores. The answer before is sure, and does not
         * bound the second one. */
        float score[2] = { (float)k / 100, (float)k / 100 }, sure = 0.98F;
        skn_calibration_apply(&found, score, 1);
        cr_expect_float_eq((double)score[0], truth(k / 100.0, true), 0.08,
                           "%d: %g", k, (double)score[0]);
        score[0] = sure;
        skn_calibration_apply(&found, score, 2);
        cr_expect_float_eq((double)score[1], truth(k / 100.0, false), 0.08,
                           "%d: %g", k, (double)score[1]);
    }
    static const skn_calibration_t none;
    skn_calibration_error_t before =
        skn_calibration_measure(&none, outcome, count, SKN_EITHER_PARITY);
    skn_calibration_error_t after;
    cr_assert_eq(skn_calibration_cross(&after, outcome, count, &error), SKN_OK);
    cr_expect_gt(before.first, 0.08);
    cr_expect_lt(after.first, 0.02, "%g", after.first);
    cr_expect_lt(after.all, 0.02, "%g", after.all);
}

Test(calibration, never_falls_and_keeps_the_order)
{
    uint64_t state = 3;
    skn_calibration_t found = fit(make(3000));
    float last = 0;
    for (int k = -40; k <= 40; k++) {
        float score = (float)(1 / (1 + exp(-k)));
        skn_calibration_apply(&found, &score, 1);
        cr_expect(score >= last && score <= 1, "%d: %g", k, (double)score);
        last = score;
    }
    for (int k = 0; k < 100; k++) {
        float score[5] = { (float)draw(&state) };
        for (int r = 1; r < 5; r++)
            score[r] = score[r - 1] * (float)draw(&state);
        skn_calibration_apply(&found, score, 5);
        for (int r = 1; r < 5; r++)
            cr_expect_leq(score[r], score[r - 1]);
    }
}

Test(calibration, scores_that_mean_nothing_become_the_share)
{
    uint64_t state = 5;
    size_t count = make(2000);
    for (size_t k = 0; k < count; k++)
        outcome[k].right = draw(&state) < 0.3;
    skn_calibration_t found = fit(count);
    for (int k = 20; k < 100; k += 20) {
        float score = (float)k / 100;
        skn_calibration_apply(&found, &score, 1);
        cr_expect_float_eq((double)score, 0.3, 0.07, "%d: %g", k,
                           (double)score);
    }
}

Test(calibration, few_answers_lead_to_nothing_extreme)
{
    static const uint32_t few[] = { 1, 2, 10, 60 };
    for (size_t f = 0; f < sizeof(few) / sizeof(few[0]); f++)
        for (int right = 0; right < 2; right++) {
            size_t count = make(few[f]);
            for (size_t k = 0; k < count; k++)
                outcome[k].right = right;
            skn_calibration_t found = fit(count);
            float score = 0.99F;
            skn_calibration_apply(&found, &score, 1);
            cr_expect(right ? score > 0.5F && score < 1 : score < 0.5F,
                      "%u: %g", few[f], (double)score);
            cr_expect(score > 0, "%u", few[f]);
        }
}

Test(calibration, without_outcomes_scores_stay)
{
    float score[2] = { 0.7F, NAN };
    outcome[0] = (skn_outcome_t){ .score = NAN, .first = true };
    skn_calibration_t found = fit(0);
    cr_expect_eq(found.points, 0);
    found = fit(1);
    cr_expect_eq(found.points, 0);
    skn_calibration_apply(&found, score, 2);
    cr_expect_eq(score[0], 0.7F);
    cr_expect(isnan(score[1]));
    found = fit(make(100));
    score[1] = NAN;
    skn_calibration_apply(&found, score, 2);
    cr_expect(isnan(score[1]));
}

Test(calibration, equal_scores_share_a_step_whatever_their_order)
{
    skn_calibration_t found[2];
    for (int turn = 0; turn < 2; turn++) {
        size_t count = make(500);
        for (size_t k = 0; k < count; k++) {
            outcome[k].score = k % 4 < 2 ? 0.25F : 0.75F;
            outcome[k].right = k / 4 % 2 == (size_t)turn;
        }
        found[turn] = fit(count);
    }
    cr_expect_eq(found[0].first.count, 2u); /* from .25 to .75 */
    cr_expect_eq(memcmp(&found[0], &found[1], sizeof(found[0])), 0);
}

Test(calibration, the_error_is_that_of_a_count_by_hand)
{
    static const skn_calibration_t none;
    static const skn_outcome_t few[] = {
        { .score = 0.9F, .right = true, .first = true, .parity = 0 },
        { .score = 0.05F, .right = false, .first = false, .parity = 0 },
        { .score = 0.9F, .right = false, .first = true, .parity = 1 },
        { .score = 0.05F, .right = true, .first = false, .parity = 1 },
        { .score = NAN, .right = false, .first = true, .parity = 1 },
    };
    skn_calibration_error_t found =
        skn_calibration_measure(&none, few, 5, SKN_EITHER_PARITY);
    /* |1.8 - 1| of three; and |.1 - 1| besides, of five */
    cr_expect_float_eq(found.first, 0.8 / 3, 1e-6, "%g", found.first);
    cr_expect_float_eq(found.all, 1.7 / 5, 1e-6, "%g", found.all);
    found = skn_calibration_measure(&none, few, 5, 0);
    cr_expect_float_eq(found.first, 0.1, 1e-6, "%g", found.first);
    cr_expect_float_eq(found.all, 0.15 / 2, 1e-6, "%g", found.all);
}
