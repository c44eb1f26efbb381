/* uniform.c - a simple random sample of each block, and the batch's labels.
 *
 * Block b of R rows gives m_b of the m draws, m_b = floor((b + 1) m / n) -
 * floor(b m / n), without replacement (Floyd's algorithm, Bentley & Floyd
 * 1987), so pi = m_b / R exactly and a row's fate depends on its block and on
 * nothing else: the same rows are drawn however blocks are dealt to shards.
 * Drawn rows that are labels of the batch count once, with weight 1.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/draws.h"
#include "actors/samplers/sampler.h"

#define WORDS_MAX (SKN_BLOCK_ROWS_MAX / 64)

struct skn_sampler {
    skn_sampler_options_t options;
    uint32_t block_first, block_count; /* of the shard */
    uint64_t blocks;                   /* of the layer */
};

static skn_sampler_t *
uniform_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    skn_sampler_t *sampler = calloc(1, sizeof(*sampler));
    uint32_t size = options->block_rows;
    if (!sampler) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a sampler");
        return NULL;
    }
    assert(size <= SKN_BLOCK_ROWS_MAX && options->row_first % size == 0);
    sampler->options = *options;
    sampler->block_first = options->row_first / size;
    sampler->block_count = (options->row_count + size - 1) / size;
    sampler->blocks = (options->labels + size - 1) / size;
    return sampler;
}

static void
uniform_close(skn_sampler_t *sampler)
{
    free(sampler);
}

/* Rows of the shard's block `block`: the last one may be short. */
static uint32_t
rows_of(const skn_sampler_t *sampler, uint32_t block)
{
    uint32_t size = sampler->options.block_rows;
    uint32_t first = block * size;
    uint32_t left = sampler->options.row_count - first;
    return left < size ? left : size;
}

/* m_b. A short last block cannot give more rows than it has. */
static uint32_t
draws_of(const skn_sampler_t *sampler, uint32_t block)
{
    uint64_t b = sampler->block_first + block, m = sampler->options.draws;
    uint64_t share =
        (b + 1) * m / sampler->blocks - b * m / sampler->blocks;
    uint32_t rows = rows_of(sampler, block);
    return share < rows ? (uint32_t)share : rows;
}

static bool
bit_of(const uint64_t *bits, uint32_t k)
{
    return bits[k / 64] >> (k % 64) & 1;
}

static void
bit_set(uint64_t *bits, uint32_t k)
{
    bits[k / 64] |= (uint64_t)1 << (k % 64);
}

/* Floyd: for j = R - m .. R - 1, draw t <= j; take t, or j if t is taken. */
static void
draw_block(uint64_t key, uint32_t block, uint32_t rows, uint32_t draws,
           uint64_t *bits)
{
    for (uint32_t j = rows - draws; j < rows; j++) {
        uint32_t t = skn_philox_below(key, block, j, j + 1);
        bit_set(bits, bit_of(bits, t) ? j : t);
    }
}

static void
emit_block(const skn_sampler_t *sampler, uint32_t block, const uint64_t *drawn,
           const uint64_t *positive, skn_selection_t *selection)
{
    uint32_t first = block * sampler->options.block_rows;
    uint32_t rows = rows_of(sampler, block);
    uint32_t draws = draws_of(sampler, block);
    float weight = draws ? (float)rows / (float)draws : 0.0f;
    float cap = (float)sampler->options.weight_cap;
    if (cap > 0.0f && weight > cap)
        weight = cap;
    for (uint32_t word = 0; word * 64 < rows; word++) {
        uint64_t left = drawn[word] | positive[word];
        while (left) {
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            left &= left - 1;
            selection->unit[selection->unit_count] = first + word * 64 + bit;
            selection->weight[selection->unit_count++] =
                positive[word] >> bit & 1 ? 1.0f : weight;
        }
    }
}

static skn_status_t
uniform_draw(skn_sampler_t *sampler, const skn_sampler_query_t *query,
             skn_selection_t *selection, skn_error_t *error)
{
    uint64_t key = skn_draw_key(sampler->options.seed, SKN_DRAW_SAMPLE,
                                query->batch);
    uint64_t drawn[WORDS_MAX], positive[WORDS_MAX];
    uint32_t size = sampler->options.block_rows, next = 0, room = 0;
    for (uint32_t block = 0; block < sampler->block_count; block++)
        room += draws_of(sampler, block);
    selection->unit_count = 0;
    selection->everything = false;
    if (skn_selection_room(selection, 1, query->rows,
                           room + query->positive_count, error) != SKN_OK)
        return SKN_NO_MEMORY;
    for (uint32_t block = 0; block < sampler->block_count; block++) {
        uint32_t rows = rows_of(sampler, block);
        size_t bytes = (rows + 63) / 64 * sizeof(uint64_t);
        memset(drawn, 0, bytes);
        memset(positive, 0, bytes);
        for (; next < query->positive_count &&
               query->positive[next] / size == block;
             next++)
            bit_set(positive, query->positive[next] % size);
        draw_block(key, sampler->block_first + block, rows,
                   draws_of(sampler, block), drawn);
        emit_block(sampler, block, drawn, positive, selection);
    }
    return skn_selection_single(selection, query->rows, error);
}

static double
uniform_chance(const skn_sampler_t *sampler, const skn_sampler_query_t *query,
               uint32_t row)
{
    uint32_t block = row / sampler->options.block_rows;
    (void)query;
    return (double)draws_of(sampler, block) / rows_of(sampler, block);
}

const skn_sampler_kind_t skn_sampler_uniform = {
    .name = "uniform",
    .help = "rows drawn evenly, and the batch's labels",
    .open = uniform_open,
    .close = uniform_close,
    .draw = uniform_draw,
    .chance = uniform_chance,
};
