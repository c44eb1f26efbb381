/* test_kept_rows.c - tests arrays that are kept in f32 or in bf16.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "actors/stage/kept_rows.h"
#include "tests/support/oracle.h"

#define TOKENS 5
#define COLUMNS_MAX 70
#define FLOATS_MAX (TOKENS * 96)

static float memory[FLOATS_MAX + 1], room[FLOATS_MAX], from[FLOATS_MAX];

/* Returns `x` as the rows keep it. */
static float
kept(float x, bool half)
{
    const skn_kernels_t *kernels = skn_kernels_named("scalar");
    uint16_t rounded;
    kernels->f32_to_bf16(&rounded, &x, 1);
    return half ? oracle_of_bf16(rounded) : x;
}

static void
test_rows(const skn_kernels_t *kernels, size_t columns, bool half)
{
    skn_kept_rows_t rows;
    size_t floats = skn_kept_rows_floats(TOKENS, columns, half);
    cr_assert_leq(floats, FLOATS_MAX);
    cr_assert_eq(floats % 16, 0);
    memory[floats] = 77.0f;
    float *behind = skn_kept_rows_init(&rows, TOKENS, columns, half, memory);
    cr_assert_eq(behind, memory + floats);
    cr_assert((rows.at == NULL) == half && (rows.half == NULL) != half);
    size_t stride = skn_kept_rows_stride(&rows);
    skn_kept_rows_put(kernels, &rows, from, 71);
    float *got = skn_kept_rows_get(kernels, &rows, room);
    cr_assert_eq(got, half ? room : memory);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t c = 0; c < columns; c++)
            cr_assert_eq(oracle_bits(got[t * stride + c]),
                         oracle_bits(kept(from[t * 71 + c], half)));
    /* One row is changed in place, and kept. */
    float *row = skn_kept_rows_get_row(kernels, &rows, 3, room);
    for (size_t c = 0; c < columns; c++)
        row[c] = -2 * row[c];
    skn_kept_rows_put_row(kernels, &rows, 3, row);
    got = skn_kept_rows_get(kernels, &rows, room);
    skn_matrix_t matrix = skn_kept_rows_matrix(&rows, columns - 1);
    for (size_t t = 0; t < TOKENS; t++) {
        float last = kept(from[t * 71 + columns - 1], half);
        size_t at = t * matrix.row_stride;
        last = t == 3 ? -2 * last : last;
        cr_assert_eq(oracle_bits(got[t * stride + columns - 1]),
                     oracle_bits(last));
        cr_assert_eq(
            oracle_bits(half ? oracle_of_bf16(matrix.bf16[at]) : matrix.at[at]),
            oracle_bits(last));
    }
    cr_assert_eq(skn_kept_rows_fresh(&rows, 2, room),
                 half ? room : memory + 2 * stride);
    cr_assert_eq(oracle_bits(memory[floats]), oracle_bits(77.0f));
}

Test(kept_rows, rows_come_back_as_they_were_or_rounded)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 4 };
    for (size_t i = 0; i < FLOATS_MAX; i++)
        from[i] = oracle_float(&random);
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
        for (size_t columns = 1; columns <= COLUMNS_MAX; columns++) {
            test_rows(kernels, columns, false);
            test_rows(kernels, columns, true);
        }
}

Test(kept_rows, halves_take_about_half_of_the_memory)
{
    cr_expect_eq(skn_kept_rows_floats(10, 704, false), 10 * 720);
    cr_expect_eq(skn_kept_rows_floats(10, 704, true), 10 * 368);
    cr_expect_eq(skn_kept_rows_floats(0, 704, true), 0);
}
