/* test_block.c - tests blocks of rows and slices of columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/protocol/block.h"

/* Equation (53) of docs/concepts/equations.md: a power of two from the number
 * of rows alone; at least 256 blocks (where there are as many rows), at most
 * 4096 rows each. */
Test(block, rows_of_a_block_are_the_greatest_that_the_rule_allows)
{
    for (uint64_t rows = 1; rows < 3000000; rows += rows / 97 + 1) {
        uint32_t size = skn_block_rows(rows);
        cr_assert(size > 0 && (size & (size - 1)) == 0);
        cr_assert_leq(size, 4096);
        cr_assert(size == 1 || rows / size >= 256);
        cr_assert(size == 4096 || rows / (2 * size) < 256);
        cr_assert_eq(skn_block_count(rows), (rows + size - 1) / size);
    }
}

Test(block, the_rule_at_its_edges)
{
    cr_expect_eq(skn_block_rows(0), 1);
    cr_expect_eq(skn_block_rows(1), 1);
    cr_expect_eq(skn_block_rows(511), 1);
    cr_expect_eq(skn_block_rows(512), 2);
    cr_expect_eq(skn_block_rows(700), 2);
    cr_expect_eq(skn_block_rows(4096 * 256 - 1), 2048);
    cr_expect_eq(skn_block_rows(4096 * 256), 4096);
    cr_expect_eq(skn_block_rows(SKN_UNIT_MAX), 4096);
    cr_expect_eq(skn_block_count(0), 0);
    cr_expect_eq(skn_block_count(1), 1);
    cr_expect_eq(skn_block_count(700), 350);
}

Test(block, slices_cover_the_columns_once_in_multiples_of_eight)
{
    for (uint32_t columns = 8; columns <= 520; columns += 3) {
        for (uint32_t slices = 1; slices <= columns / 8; slices++) {
            cr_assert_eq(skn_slice_first(columns, slices, 0), 0);
            cr_assert_eq(skn_slice_first(columns, slices, slices), columns);
            for (uint32_t k = 0; k < slices; k++) {
                uint32_t first = skn_slice_first(columns, slices, k);
                cr_assert_eq(first % 8, 0);
                cr_assert_lt(first, skn_slice_first(columns, slices, k + 1),
                             "%u columns, slice %u of %u is empty", columns, k,
                             slices);
            }
        }
    }
}
