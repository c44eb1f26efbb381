/* test_accumulator.c - tests sums of row gradients against plain addition.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/rows/accumulator.h"
#include "tests/support/oracle.h"

#define ROWS_MAX 200
#define WIDTH 5

static void
expect_sums(const skn_accumulator_t *accumulator, double sum[][WIDTH],
            const bool *touched)
{
    uint32_t count = 0, row = skn_accumulator_next(accumulator, 0);
    for (uint32_t k = 0; k < accumulator->row_count; k++) {
        if (!touched[k])
            continue;
        cr_assert_eq(row, k);
        for (uint32_t c = 0; c < WIDTH; c++)
            cr_expect_float_eq(skn_accumulator_sum(accumulator, k)[c],
                               sum[k][c], 1e-5);
        row = skn_accumulator_next(accumulator, row + 1);
        count++;
    }
    cr_expect_eq(row, accumulator->row_count);
    cr_expect_eq(accumulator->touched_count, count);
}

Test(accumulator, rows_have_the_sum_of_what_was_added_since_the_last_step)
{
    static const uint32_t counts[] = { 1, 63, 64, 65, 128, ROWS_MAX };
    static double sum[ROWS_MAX][WIDTH];
    skn_error_t error = { 0 };
    oracle_random_t random = { 7 };
    for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
        skn_accumulator_t accumulator = { 0 };
        cr_assert_eq(skn_accumulator_open(&accumulator, skn_kernels_best(),
                                          counts[n], WIDTH, &error),
                     SKN_OK);
        for (int step = 0; step < 4; step++) {
            bool touched[ROWS_MAX] = { false };
            memset(sum, 0, sizeof(sum));
            for (int k = 0; k < 60; k++) {
                uint32_t row = (uint32_t)(oracle_next(&random) % counts[n]);
                float gradient[WIDTH];
                for (uint32_t c = 0; c < WIDTH; c++) {
                    gradient[c] = (float)(oracle_next(&random) % 64) - 32;
                    sum[row][c] += (double)gradient[c];
                }
                skn_accumulator_add(&accumulator, &row, 1, gradient, k == 59);
                touched[row] = true;
            }
            expect_sums(&accumulator, sum, touched);
            if (step == 2) {
                skn_accumulator_touch_all(&accumulator);
                memset(touched, true, sizeof(touched));
                expect_sums(&accumulator, sum, touched);
            }
            skn_accumulator_clear(&accumulator);
            cr_expect_eq(skn_accumulator_next(&accumulator, 0), counts[n]);
        }
        skn_accumulator_close(&accumulator);
    }
}

Test(accumulator, a_first_batch_of_all_rows_that_stays_is_read_in_place)
{
    static const uint32_t units[][2] = { { 0, 1 }, { 1, 0 } };
    const float gradients[2][WIDTH] = { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 } };
    const struct {
        const uint32_t *unit;
        size_t count;
        bool stays, in_place;
    } cases[] = { { units[0], 2, true, true },
                  { units[0], 2, false, false },
                  { units[1], 2, true, false },
                  { units[0], 1, true, false } };
    skn_accumulator_t accumulator = { 0 };
    cr_assert_eq(
        skn_accumulator_open(&accumulator, skn_kernels_best(), 2, WIDTH, NULL),
        SKN_OK);
    for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
        skn_accumulator_add(&accumulator, cases[n].unit, cases[n].count,
                            gradients[0], cases[n].stays);
        cr_expect_eq(accumulator.touched_count, cases[n].count);
        cr_expect_eq(skn_accumulator_sum(&accumulator, 0) == gradients[0],
                     cases[n].in_place);
        for (size_t k = 0; k < cases[n].count; k++) {
            const float *half =
                skn_accumulator_scaled(&accumulator, cases[n].unit[k], .5f);
            for (uint32_t c = 0; c < WIDTH; c++)
                cr_expect_eq(half[c], .5f * gradients[k][c]);
        }
        cr_expect_eq(gradients[1][0], 6);
        skn_accumulator_clear(&accumulator);
        cr_expect_eq(skn_accumulator_next(&accumulator, 0), 2);
    }
    skn_accumulator_close(&accumulator);
}
