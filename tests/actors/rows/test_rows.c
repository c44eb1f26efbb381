/* test_rows.c - tests the layout of rows in memory, and their first values.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/rows/rows.h"
#include "tests/support/oracle.h"

static const skn_rows_kind_t kinds[] = {
    SKN_ROWS_ADAM,     SKN_ROWS_ADAGRAD,        SKN_ROWS_SGD,
    SKN_ROWS_SGD_BF16, SKN_ROWS_ADAGRAD_SLICED, SKN_ROWS_ADAGRAD_BF16
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

Test(rows, parts_of_rows_do_not_overlap_and_are_aligned)
{
    for (size_t k = 0; k < KINDS; k++) {
        for (uint32_t width = 1; width <= 70; width++) {
            skn_rows_t rows;
            skn_error_t error = { 0 };
            cr_assert_eq(
                skn_rows_init(&rows, kinds[k], 3, width, false, &error),
                SKN_OK);
            cr_expect_eq((uintptr_t)rows.at % (2u << 20), 0,
                         "rows begin on a huge page");
            cr_expect_eq(rows.stride_bytes % 64, 0);
            const unsigned char *next = rows.at + rows.stride_bytes;
            const unsigned char *end =
                rows.at + width * (skn_rows_are_bf16(&rows) ? 2 : 4);
            if (kinds[k] == SKN_ROWS_ADAM) {
                float *m = skn_rows_moment(&rows, 0, 1);
                float *v = skn_rows_moment(&rows, 0, 2);
                cr_expect((uintptr_t)m % 16 == 0 && (uintptr_t)v % 16 == 0);
                cr_expect((const unsigned char *)m >= end);
                cr_expect(v >= m + width);
                cr_expect((float *)skn_rows_step(&rows, 0) >= v + width);
                end = (const unsigned char *)(skn_rows_step(&rows, 0) + 1);
            } else if (kinds[k] == SKN_ROWS_ADAGRAD ||
                       kinds[k] == SKN_ROWS_ADAGRAD_BF16 ||
                       kinds[k] == SKN_ROWS_ADAGRAD_SLICED) {
                float *sum = skn_rows_moment(&rows, 0, 1);
                cr_expect((const unsigned char *)sum >= end);
                bool sliced = kinds[k] == SKN_ROWS_ADAGRAD_SLICED;
                cr_expect_eq(skn_rows_sums(&rows),
                             sliced ? (width + 7) / 8 : 1);
                end = (const unsigned char *)(sum + skn_rows_sums(&rows));
            }
            cr_expect(end <= next, "kind %zu, width %u", k, width);
            cr_expect(skn_rows_bytes(kinds[k], 3, width) >=
                      3 * rows.stride_bytes);
            cr_expect(rows.map_bytes >= skn_rows_bytes(kinds[k], 3, width));
            skn_rows_fini(&rows);
        }
    }
}

Test(rows, fresh_rows_are_zero_and_all_of_them_can_be_written)
{
    for (size_t k = 0; k < KINDS; k++) {
        skn_rows_t rows;
        cr_assert_eq(skn_rows_init(&rows, kinds[k], 5000, 33, k % 2, NULL),
                     SKN_OK);
        size_t bytes = 5000 * rows.stride_bytes;
        for (size_t at = 0; at < bytes; at += 97)
            cr_assert_eq(rows.at[at], 0);
        memset(rows.at, 0xab, bytes);
        skn_rows_fini(&rows);
        cr_expect_null(rows.at);
        skn_rows_fini(&rows); /* twice is once */
    }
}

Test(rows, too_many_rows_are_a_sentence)
{
    skn_rows_t rows;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_rows_init(&rows, SKN_ROWS_ADAM, SKN_UNIT_MAX,
                               SKN_HIDDEN_MAX, false, &error),
                 SKN_NO_MEMORY);
    cr_expect_str_eq(error.text,
                     "no memory for 2147483647 rows of 65536 weights "
                     "(1610743810 MiB): Cannot allocate memory");
    skn_rows_fini(&rows);
}

Test(rows, weights_come_back_and_bf16_is_the_nearest)
{
    oracle_random_t random = { 2 };
    const skn_kernels_t *kernels = skn_kernels_best();
    for (size_t k = 0; k < KINDS; k++) {
        skn_rows_t rows;
        float *x = oracle_floats(&random, 45, 2), back[45];
        cr_assert_eq(skn_rows_init(&rows, kinds[k], 3, 45, false, NULL),
                     SKN_OK);
        skn_rows_set(&rows, kernels, 1, x);
        skn_rows_get(&rows, kernels, 1, back);
        for (int c = 0; c < 45; c++) {
            double bound =
                skn_rows_are_bf16(&rows) ? 0x1p-8 * fabs((double)x[c]) : 0;
            cr_expect(fabs((double)back[c] - (double)x[c]) <= bound);
        }
        for (size_t row = 0; row < 3; row += 2) {
            skn_rows_get(&rows, kernels, row, back);
            for (int c = 0; c < 45; c++)
                cr_expect_eq(back[c], 0.0f, "a neighbour was written");
        }
        skn_rows_fini(&rows);
        free(x);
    }
}

Test(rows, the_matrix_is_that_of_the_weights)
{
    const uint32_t index[] = { 2, 0 };
    for (size_t k = 0; k < KINDS; k++) {
        skn_rows_t rows;
        cr_assert_eq(skn_rows_init(&rows, kinds[k], 3, 20, false, NULL),
                     SKN_OK);
        bool half = skn_rows_are_bf16(&rows);
        skn_matrix_t matrix = skn_rows_matrix(&rows, index);
        cr_expect_eq(matrix.row_index, index);
        cr_expect_eq(matrix.column_stride, 1);
        cr_expect((matrix.at != NULL) != (matrix.bf16 != NULL));
        if (half)
            cr_expect_eq(matrix.bf16 + 2 * matrix.row_stride,
                         skn_rows_weight_bf16(&rows, 2));
        else
            cr_expect_eq(matrix.at + 2 * matrix.row_stride,
                         skn_rows_weight(&rows, 2));
        cr_expect_null(skn_rows_matrix(&rows, NULL).row_index);
        skn_rows_fini(&rows);
    }
}
