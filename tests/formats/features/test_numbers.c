/* test_numbers.c - tests that a number lies between the right knots, and that
 * knots are quantiles of a sample (formats/features/numbers.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/numbers.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

static void
expect_place(const skn_knots_t *knots, double number, uint32_t first,
             float share)
{
    uint32_t got;
    float got_share;
    skn_knots_find(knots, number, &got, &got_share);
    cr_expect_eq(got, first, "%g: %u", number, got);
    cr_expect_float_eq(got_share, share, 1e-6, "%g: %g", number,
                       (double)got_share);
}

Test(numbers, places)
{
    const skn_knots_t knots = { 3, { -1, 0, 10 } };
    expect_place(&knots, -5, 0, 1);
    expect_place(&knots, -INFINITY, 0, 1);
    expect_place(&knots, -1, 0, 1);
    expect_place(&knots, -.25, 0, .25F);
    expect_place(&knots, 0, 1, 1);
    expect_place(&knots, 2, 1, .8F);
    expect_place(&knots, 10, 2, 1);
    expect_place(&knots, INFINITY, 2, 1);
    expect_place(&(skn_knots_t){ 1, { 7 } }, 3, 0, 1);
    expect_place(&(skn_knots_t){ 2, { -DBL_MAX, DBL_MAX } }, 0, 0, .5F);
    expect_place(&(skn_knots_t){ 2, { 1.5e-323, 2.5e-323 } }, 2e-323, 0, .5F);
}

Test(numbers, good_knots_ascend)
{
    cr_expect(skn_knots_good(&(skn_knots_t){ 0, { 0 } }));
    cr_expect(skn_knots_good(&(skn_knots_t){ 2, { 1, 2 } }));
    cr_expect_not(skn_knots_good(&(skn_knots_t){ 2, { 1, 1 } }));
    cr_expect_not(skn_knots_good(&(skn_knots_t){ 2, { 1, NAN } }));
    cr_expect_not(
        skn_knots_good(&(skn_knots_t){ SKN_COLUMN_KNOTS_MAX + 1, { 0 } }));
}

/* The knots of `count` numbers, the first being 0 and each greater by 1, modulo
 * `different`. */
static skn_knots_t
knots_of(uint32_t count, uint32_t different)
{
    skn_number_sample_t sample = { 0 };
    skn_knots_t knots;
    for (uint32_t k = 0; k < count; k++)
        cr_assert(skn_number_sample_add(&sample, k % different));
    cr_assert(skn_number_sample_add(&sample, NAN));
    cr_assert(skn_number_sample_add(&sample, INFINITY));
    cr_expect_eq(sample.seen, count);
    skn_number_sample_knots(&sample, &knots);
    skn_number_sample_fini(&sample);
    cr_expect(skn_knots_good(&knots));
    return knots;
}

Test(numbers, few_values_are_all_knots)
{
    cr_expect_eq(knots_of(0, 1).count, 0);
    const skn_knots_t knots = knots_of(1000, 5);
    cr_assert_eq(knots.count, 5);
    for (uint32_t k = 0; k < 5; k++)
        cr_expect_eq(knots.at[k], k);
}

/* The quantiles of a million ascending numbers are known as well as a sample of
 * 16,384 tells them. */
Test(numbers, knots_are_quantiles)
{
    const uint32_t count = 1000000;
    const skn_knots_t knots = knots_of(count, count);
    cr_assert_eq(knots.count, SKN_COLUMN_KNOTS_MAX);
    for (uint32_t k = 0; k < SKN_COLUMN_KNOTS_MAX; k++)
        cr_expect_float_eq(knots.at[k] / count,
                           (double)k / (SKN_COLUMN_KNOTS_MAX - 1), .02,
                           "%u: %g", k, knots.at[k]);
}

/* Nine of ten numbers are one: it is a knot once. */
Test(numbers, a_value_that_is_met_often_is_one_knot)
{
    skn_number_sample_t sample = { 0 };
    skn_knots_t knots;
    for (uint32_t k = 0; k < 1000; k++)
        cr_assert(skn_number_sample_add(&sample, k % 10 ? 0 : k));
    skn_number_sample_knots(&sample, &knots);
    skn_number_sample_fini(&sample);
    cr_expect(skn_knots_good(&knots));
    cr_expect_geq(knots.count, 3);
    cr_expect_eq(knots.at[0], 0);
    cr_expect_eq(knots.at[knots.count - 1], 990);
}
