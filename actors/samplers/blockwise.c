/* blockwise.c - draws rows evenly, block by block, without replacement.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/blockwise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"

#define WORDS_MAX (SKN_BLOCK_ROWS_MAX / 64)
/* The random stream of the start u; a block's stream has the block's number. */
#define BLOCK_STREAM UINT32_MAX

/* Rows of the shard's block `block`; the last one may be short. */
static uint32_t
rows_of(const skn_blockwise_t *blockwise, uint32_t block)
{
    uint32_t size = blockwise->options.block_rows;
    uint32_t left = blockwise->options.row_count - block * size;
    return left < size ? left : size;
}

/* m_b of the shard's block `block`; start: u, or 0. A short last block cannot
 * give more rows than it has. */
static uint32_t
draws_of(const skn_blockwise_t *blockwise, uint32_t block, uint64_t start)
{
    uint64_t b = blockwise->block_first + block, m = blockwise->draws;
    uint64_t n = blockwise->blocks;
    uint64_t share = ((b + 1) * m + start) / n - (b * m + start) / n;
    uint32_t rows = rows_of(blockwise, block);
    return share < rows ? (uint32_t)share : rows;
}

/* pi of the rows of a block. */
static double
chance_of(const skn_blockwise_t *blockwise, uint32_t block)
{
    double rows = rows_of(blockwise, block);
    if (blockwise->draws < blockwise->blocks)
        return (double)blockwise->draws / (double)blockwise->blocks / rows;
    return draws_of(blockwise, block, 0) / rows;
}

skn_status_t
skn_blockwise_init(skn_blockwise_t *blockwise,
                   const skn_sampler_options_t *options, uint64_t draws,
                   skn_error_t *error)
{
    uint32_t size = options->block_rows;
    assert(size <= SKN_BLOCK_ROWS_MAX && options->row_first % size == 0);
    memset(blockwise, 0, sizeof(*blockwise));
    blockwise->options = *options;
    blockwise->draws = draws;
    blockwise->blocks = (options->labels + size - 1) / size;
    blockwise->block_first = options->row_first / size;
    blockwise->block_count = (options->row_count + size - 1) / size;
    blockwise->chance = malloc((blockwise->block_count + 1u) * sizeof(double));
    if (!blockwise->chance)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u blocks",
                        blockwise->block_count);
    for (uint32_t k = 0; k < blockwise->block_count; k++) {
        blockwise->chance[k] = chance_of(blockwise, k);
        blockwise->room +=
            draws < blockwise->blocks ? draws > 0 : draws_of(blockwise, k, 0);
    }
    blockwise->row = malloc((blockwise->room + 1u) * sizeof(uint32_t));
    blockwise->weight = malloc((blockwise->room + 1u) * sizeof(float));
    if (blockwise->row && blockwise->weight)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no memory for a draw of %u rows",
                    blockwise->room);
}

void
skn_blockwise_fini(skn_blockwise_t *blockwise)
{
    free(blockwise->chance);
    free(blockwise->row);
    free(blockwise->weight);
    memset(blockwise, 0, sizeof(*blockwise));
}

double
skn_blockwise_chance(const skn_blockwise_t *blockwise, uint32_t row)
{
    return blockwise->chance[row / blockwise->options.block_rows];
}

/* Floyd's algorithm: for j = R - m .. R - 1, draw t <= j; take t, or j if t is
 * taken. */
static void
draw_block(uint64_t key, uint32_t block, uint32_t rows, uint32_t draws,
           uint64_t *bits)
{
    for (uint32_t j = rows - draws; j < rows; j++) {
        uint32_t t = skn_philox_below(key, block, j, j + 1);
        if (bits[t / 64] >> (t % 64) & 1)
            t = j;
        bits[t / 64] |= (uint64_t)1 << (t % 64);
    }
}

void
skn_blockwise_draw(skn_blockwise_t *blockwise, uint64_t batch)
{
    const skn_sampler_options_t *options = &blockwise->options;
    uint64_t key = skn_draw_key(options->seed, SKN_DRAW_SAMPLE, batch);
    uint64_t bits[WORDS_MAX], start = 0;
    blockwise->count = 0;
    if (blockwise->draws < blockwise->blocks)
        start =
            skn_philox_below(key, BLOCK_STREAM, 0, (uint32_t)blockwise->blocks);
    for (uint32_t block = 0;
         blockwise->draws > 0 && block < blockwise->block_count; block++) {
        uint32_t rows = rows_of(blockwise, block);
        uint32_t draws = draws_of(blockwise, block, start);
        uint32_t first = block * options->block_rows;
        if (draws == 0)
            continue;
        float weight = skn_sampler_weight(options, blockwise->chance[block]);
        memset(bits, 0, (rows + 63) / 64 * sizeof(*bits));
        draw_block(key, blockwise->block_first + block, rows, draws, bits);
        for (uint32_t word = 0; word * 64 < rows; word++)
            for (uint64_t left = bits[word]; left; left &= left - 1) {
                uint32_t bit = (uint32_t)__builtin_ctzll(left);
                blockwise->weight[blockwise->count] = weight;
                blockwise->row[blockwise->count++] = first + word * 64 + bit;
            }
    }
    assert(blockwise->count <= blockwise->room);
}

skn_status_t
skn_blockwise_select(skn_blockwise_t *blockwise,
                     const skn_sampler_query_t *query,
                     skn_selection_t *selection, skn_error_t *error)
{
    skn_selection_clear(selection);
    if (skn_selection_room(selection, 1, query->rows,
                           blockwise->room + query->positive_count,
                           error) != SKN_OK)
        return SKN_NO_MEMORY;
    skn_blockwise_draw(blockwise, query->batch);
    skn_selection_union(selection, query->positive, query->positive_count,
                        blockwise->row, blockwise->weight, blockwise->count);
    return skn_selection_single(selection, query->rows, error);
}
