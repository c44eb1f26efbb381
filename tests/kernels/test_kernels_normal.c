/* test_kernels_normal.c - tests numbers from the normal distribution.
 *
 * kernels/body/normal.h: the definition, its bits, its moments.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "kernels/philox.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitized.h"

#include <criterion/criterion.h>
#include <math.h>

/* 4, 2 and 1 blocks of counters of the widest vector, and a rest. */
#define ROW_MAX (7 * 4 * LANES_MAX + 11)
#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)

/* Number `column` of a row, in double. */
static double
want(uint64_t key, uint32_t row, uint32_t column)
{
    skn_philox_t random =
        skn_philox_at(key, (uint64_t)(column / 4) << 32 | row, 0);
    const uint32_t *word = random.word + column % 4 / 2 * 2;
    double radius = sqrt(-2.0 * log(1.0 - (double)skn_philox_unit(word[0])));
    double angle = 2.0 * acos(-1.0) * 0x1p-32 * (double)word[1];
    return radius * (column % 2 ? sin(angle) : cos(angle));
}

Test(kernels_normal, every_number_follows_the_definition)
{
    const skn_kernels_t *kernels;
    static float x[100000];
    EACH_VARIANT(kernels)
    {
        kernels->normal(x, 100000, 1.0f, 0x123456789abcdefull, 21, 3);
        for (uint32_t i = 0; i < 100000; i++) {
            double right = want(0x123456789abcdefull, 21, 3 + i);
            cr_assert(fabs((double)x[i] - right) <= 1e-6,
                      "%s, column %u: %.9g, want %.9g", kernels->isa, 3 + i,
                      (double)x[i], right);
        }
    }
}

Test(kernels_normal, all_instruction_sets_give_the_same_bits)
{
    const skn_kernels_t *kernels, *scalar = skn_kernels_named("scalar");
    static float x[20000], y[20000];
    EACH_VARIANT(kernels)
    for (uint32_t row = 0; row < 50; row++) {
        scalar->normal(x, 20000, 0.1f, 5, row, 0);
        kernels->normal(y, 20000, 0.1f, 5, row, 0);
        cr_assert(memcmp(x, y, sizeof x) == 0, "%s, row %u", kernels->isa, row);
    }
}

Test(kernels_normal, any_slice_draws_the_numbers_of_the_whole)
{
    const skn_kernels_t *kernels;
    float whole[ROW_MAX], slice[ROW_MAX + 1];
    EACH_VARIANT(kernels)
    for (uint32_t row = 0; row < 2; row++) {
        kernels->normal(whole, ROW_MAX, 0.05f, 123, row, 0);
        for (uint32_t first = 0; first < ROW_MAX; first++)
            for (uint32_t n = 0; n <= ROW_MAX - first; n++) {
                if (is_spared(first + n))
                    continue;
                slice[n] = 77.0f;
                kernels->normal(slice, n, 0.05f, 123, row, first);
                cr_assert(memcmp(slice, whole + first, n * sizeof *slice) == 0,
                          "%s, row %u, columns %u..%u", kernels->isa, row,
                          first, first + n);
                cr_assert_eq(slice[n], 77.0f);
            }
    }
}

Test(kernels_normal, rows_and_keys_have_numbers_of_their_own)
{
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    float a[8], b[8];
    kernels->normal(a, 8, 1, 123, 7, 0);
    kernels->normal(b, 8, 1, 123, 8, 0);
    cr_expect(memcmp(a, b, sizeof a) != 0);
    kernels->normal(b, 8, 1, 124, 7, 0);
    cr_expect(memcmp(a, b, sizeof a) != 0);
    kernels->normal(b, 8, 1, 123, 7, 8);
    cr_expect(memcmp(a, b, sizeof a) != 0);
}

/* Moments of a normal distribution over n = 10^6 numbers: mean 0 +- 1/sqrt n,
 * variance 1 +- sqrt(2/n), skewness 0 +- sqrt(6/n), kurtosis 3 +- sqrt(24/n);
 * five of these each. */
Test(kernels_normal, the_numbers_are_normal)
{
    const double n = 1e6;
    double sum = 0, squares = 0, cubes = 0, fourths = 0, across = 0;
    static float x[1000];
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    for (uint32_t row = 0; row < 1000; row++) {
        kernels->normal(x, 1000, 0.25f, 9, row, 0);
        for (int c = 0; c < 1000; c++) {
            double z = (double)x[c] / 0.25;
            sum += z;
            squares += z * z;
            cubes += z * z * z;
            fourths += z * z * z * z;
            if (c > 0)
                across += z * (double)x[c - 1] / 0.25;
        }
    }
    cr_expect(fabs(sum / n) <= 5 / sqrt(n), "mean %g", sum / n);
    cr_expect(fabs(squares / n - 1) <= 5 * sqrt(2 / n));
    cr_expect(fabs(cubes / n) <= 5 * sqrt(15 / n));
    cr_expect(fabs(fourths / n - 3) <= 5 * sqrt(96 / n));
    cr_expect(fabs(across / n) <= 5 / sqrt(n), "neighbours are related");
}
