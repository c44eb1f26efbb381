/* test_blockwise.c - tests even draws: their number, blocks and weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/blockwise.h"
#include "tests/support/sampler_fixture.h"

static void
blockwise_open(skn_blockwise_t *blockwise, uint32_t labels, uint32_t block_rows,
               uint64_t draws)
{
    skn_sampler_options_t options = { .seed = 2,
                                      .labels = labels,
                                      .row_count = labels,
                                      .block_rows = block_rows };
    skn_error_t error = { 0 };
    cr_assert_eq(skn_blockwise_init(blockwise, &options, draws, &error),
                 SKN_OK);
}

static void
expect_draw(uint32_t labels, uint32_t block_rows, uint64_t draws)
{
    skn_blockwise_t blockwise;
    blockwise_open(&blockwise, labels, block_rows, draws);
    uint64_t all = draws < labels ? draws : labels;
    for (uint64_t batch = 0; batch < 20; batch++) {
        skn_blockwise_draw(&blockwise, batch);
        cr_expect_leq(blockwise.count, all);
        cr_expect_leq(blockwise.count, blockwise.room);
        if (labels % block_rows == 0 || draws < blockwise.blocks)
            cr_expect_eq(blockwise.count, all, "%u of %u: %u", (unsigned)draws,
                         labels, blockwise.count);
        for (uint32_t k = 0; k < blockwise.count; k++) {
            cr_assert_lt(blockwise.row[k], labels);
            cr_expect(k == 0 || blockwise.row[k] > blockwise.row[k - 1]);
            cr_expect_float_eq(
                (double)blockwise.weight[k] *
                    skn_blockwise_chance(&blockwise, blockwise.row[k]),
                1.0, 1e-6);
        }
    }
    skn_blockwise_fini(&blockwise);
}

Test(blockwise, as_many_rows_are_drawn_as_were_asked_for)
{
    static const uint64_t draws[] = { 0, 1, 7, 31, 32, 33, 64, 255, 256, 257 };
    for (size_t k = 0; k < sizeof(draws) / sizeof(draws[0]); k++) {
        expect_draw(256, 8, draws[k]);
        expect_draw(253, 8, draws[k]);
        expect_draw(256, 1, draws[k]);
        expect_draw(5, 4, draws[k]);
        expect_draw(1, 1, draws[k]);
    }
    expect_draw(10000, 4096, 5000);
}

Test(blockwise, all_rows_are_certain_when_all_are_asked_for)
{
    skn_blockwise_t blockwise;
    blockwise_open(&blockwise, 256, 8, 256);
    for (uint32_t row = 0; row < 256; row++)
        cr_expect_eq(skn_blockwise_chance(&blockwise, row), 1.0);
    skn_blockwise_fini(&blockwise);
}

/* With 3 rows of 32 blocks every block has its turn. */
Test(blockwise, no_block_is_left_out_for_ever)
{
    skn_blockwise_t blockwise;
    uint32_t turns[32] = { 0 };
    blockwise_open(&blockwise, 256, 8, 3);
    for (uint64_t batch = 0; batch < 3200; batch++) {
        skn_blockwise_draw(&blockwise, batch);
        cr_expect_eq(blockwise.count, 3);
        for (uint32_t k = 0; k < 3; k++)
            turns[blockwise.row[k] / 8]++;
    }
    for (uint32_t block = 0; block < 32; block++) /* 300, 4 deviations */
        cr_expect_lt(fabs(turns[block] - 300.0), 4 * 16.5, "%u", turns[block]);
    skn_blockwise_fini(&blockwise);
}
