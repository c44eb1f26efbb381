/* test_packing.c - open positions: counted, packed, unpacked.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/packing.h"
#include "tests/oracle.h"

#define ROWS 7
#define COLUMNS_MAX 33
#define STRIDE 40
#define CELLS (ROWS * STRIDE)

static float mask[CELLS], x[CELLS];

/* Row i is open with a chance of i / (ROWS - 1): none, some, all. */
static void
draw(oracle_random_t *random)
{
    for (uint32_t k = 0; k < CELLS; k++) {
        bool open = oracle_next(random) % (ROWS - 1) < k / STRIDE;
        mask[k] = open ? 0.25f : 0.0f;
        x[k] = (float)(k + 1);
    }
}

static uint32_t
open_of(uint32_t row, uint32_t columns)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < columns; c++)
        count += mask[row * STRIDE + c] != 0.0f;
    return count;
}

/* With the rows whose bit is set in `left_out` left out. */
static void
expect_round_trip(uint32_t columns, uint32_t left_out)
{
    skn_packing_t packing = { mask, STRIDE, ROWS, columns };
    uint32_t open[ROWS];
    float packed[CELLS], back[CELLS];
    size_t sum = 0, at = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        sum += open_of(i, columns);
    cr_assert_eq(skn_packing_count(&packing, open), sum);
    for (uint32_t i = 0; i < ROWS; i++) {
        cr_assert_eq(open[i], open_of(i, columns), "row %u", i);
        if (left_out >> i & 1)
            open[i] = 0;
    }
    for (uint32_t k = 0; k < CELLS; k++)
        packed[k] = back[k] = -1;
    skn_packing_pack(&packing, open, x, STRIDE, packed);
    skn_packing_unpack(&packing, open, packed, back);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t c = 0; c < columns; c++) {
            bool there = open[i] > 0 && mask[i * STRIDE + c] != 0.0f;
            float want = there ? x[i * STRIDE + c] : 0.0f;
            cr_assert_eq(back[i * columns + c], want, "%u, %u", i, c);
            if (there)
                cr_assert_eq(packed[at++], want);
        }
    /* Nothing is written behind the end. */
    cr_assert_eq(packed[at], -1.0f);
    cr_assert_eq(back[ROWS * columns], -1.0f);
}

Test(packing, what_is_open_comes_back_and_the_rest_is_zero)
{
    oracle_random_t random = { 3 };
    for (uint32_t columns = 0; columns <= COLUMNS_MAX; columns++)
        for (uint32_t left_out = 0; left_out < 1u << ROWS; left_out += 21) {
            draw(&random);
            expect_round_trip(columns, left_out);
        }
}

Test(packing, all_or_nothing_may_be_open)
{
    for (int open = 0; open < 2; open++) {
        for (uint32_t k = 0; k < CELLS; k++) {
            mask[k] = (float)open;
            x[k] = 1.0f + (float)k;
        }
        expect_round_trip(COLUMNS_MAX, 0);
    }
}

/* Any value but 0 is open, however small; of zeros there are two. */
Test(packing, only_zeros_are_closed)
{
    static const float values[] = { 0.0f,     -0.0f,     0x1p-149f, -0x1p-149f,
                                    INFINITY, -INFINITY, NAN,       1e-30f };
    skn_packing_t packing = { values, 8, 1, 8 };
    float numbers[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, packed[8], back[8];
    static const float want[] = { 0, 0, 3, 4, 5, 6, 7, 8 };
    uint32_t open;
    cr_expect_eq(skn_packing_count(&packing, &open), 6);
    skn_packing_pack(&packing, &open, numbers, 8, packed);
    cr_expect_arr_eq(packed, want + 2, 6 * sizeof(float));
    skn_packing_unpack(&packing, &open, packed, back);
    cr_expect_arr_eq(back, want, sizeof(back));
}

/* Values go through as they are, NaN and -0 among them. */
Test(packing, values_keep_their_bits)
{
    static const float open_mask[] = { 1, 1, 0, 1 };
    float values[] = { NAN, -0.0f, 5, -INFINITY }, packed[4], back[4];
    skn_packing_t packing = { open_mask, 4, 1, 4 };
    uint32_t open;
    cr_expect_eq(skn_packing_count(&packing, &open), 3);
    skn_packing_pack(&packing, &open, values, 4, packed);
    skn_packing_unpack(&packing, &open, packed, back);
    values[2] = 0;
    cr_expect_arr_eq(back, values, sizeof(back));
}

/* A sender that counts wrong does no harm here: who receives has checked. */
Test(packing, a_row_ends_with_its_columns)
{
    static const float open_mask[] = { 1, 0, 1 };
    float values[] = { 1, 2, 3 }, packed[4] = { 0 }, back[3] = { 0 };
    skn_packing_t packing = { open_mask, 3, 1, 3 };
    uint32_t open = 4;
    skn_packing_pack(&packing, &open, values, 3, packed);
    cr_expect_eq(packed[0], 1);
    cr_expect_eq(packed[1], 3);
    skn_packing_unpack(&packing, &open, packed, back);
    cr_expect_eq(back[0], 1);
    cr_expect_eq(back[1], 0);
    cr_expect_eq(back[2], 3);
}
