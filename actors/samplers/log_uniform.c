/* log_uniform.c - the sampler log_uniform, which draws rows by the rank of
 * their frequency.
 *
 * The label of rank r (0: the most frequent; ties: the lower label first) has
 * mass q_r = ln((r + 2) / (r + 1)) / ln(L + 1), which sums to 1 and is about
 * Zipf's law (the log-uniform candidate sampler of word models, Jean et al.
 * 2015). Block b of mass Q gives m_b of the m draws, with replacement, from
 * its own distribution:
 *
 *     m_b = floor(m C(b + 1) + u) - floor(m C(b) + u)     C: mass before b
 *
 * with one start u in [0, 1) a batch (systematic sampling), so m_b is k or k +
 * 1 with m Q = k + f, and a row of q in the block is in the list with
 *     pi = 1 - (1 - q)^k (1 - f q)
 * in every batch. Draws are keyed by (seed, batch, block): the same rows are
 * drawn for any division of blocks among shards. Masses in a block are whole
 * numbers, so that q is exact. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"
#include "actors/protocol/rowset.h"
#include "actors/samplers/sampler.h"

/* Masses of rows are multiples of 2^-40 of their block's. The rarest of ten
 * million labels has 2^-28 of the whole mass, so at least 2^12 of these
 * units. */
#define MASS_ONE 0x1p40
#define LOG_UNIFORM_STREAM UINT64_MAX

typedef struct log_uniform {
    skn_sampler_options_t options;
    uint32_t block_first, block_count; /* of the shard */
    double *before;  /* [block_count + 1] C of the shard's blocks */
    uint64_t *until; /* [row_count] mass in the block, up to and with the row */
    float *weight;   /* [row_count] 1/pi, capped */
    skn_rowset_t drawn;
    uint32_t *row; /* the current draw */
    float *row_weight;
    uint32_t room;
} log_uniform_t;

static void
log_uniform_close(void *opaque)
{
    log_uniform_t *sampler = opaque;
    free(sampler->before);
    free(sampler->until);
    free(sampler->weight);
    free(sampler->row);
    free(sampler->row_weight);
    skn_rowset_fini(&sampler->drawn);
    free(sampler);
}

/* --- masses --------------------------------------------------------------- */

static int
by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Computes the mass of every label from its rank. */
static bool
fill_masses(const skn_sampler_options_t *options, double *mass)
{
    uint64_t labels = options->labels;
    uint64_t *key = malloc(labels * sizeof(*key));
    if (!key)
        return false;
    for (uint64_t k = 0; k < labels; k++)
        key[k] = (uint64_t)(UINT32_MAX - options->frequency[k]) << 32 | k;
    qsort(key, labels, sizeof(*key), by_key);
    for (uint64_t r = 0; r < labels; r++)
        mass[(uint32_t)key[r]] =
            log1p(1.0 / (double)(r + 1)) / log((double)labels + 1.0);
    free(key);
    return true;
}

static uint32_t
rows_of(const log_uniform_t *sampler, uint32_t block)
{
    uint32_t size = sampler->options.block_rows;
    uint32_t left = sampler->options.row_count - block * size;
    return left < size ? left : size;
}

/* Returns the mass of local row `row` in its block, and that of the block in
 * *whole. */
static uint64_t
mass_of(const log_uniform_t *sampler, uint32_t row, uint64_t *whole)
{
    uint32_t size = sampler->options.block_rows, first = row / size * size;
    *whole = sampler->until[first + rows_of(sampler, row / size) - 1];
    return sampler->until[row] - (row > first ? sampler->until[row - 1] : 0);
}

static double
chance_of(const log_uniform_t *sampler, uint32_t row)
{
    uint32_t block = row / sampler->options.block_rows;
    double draws = (double)sampler->options.draws *
                   (sampler->before[block + 1] - sampler->before[block]);
    uint64_t whole, part = mass_of(sampler, row, &whole);
    double q = (double)part / (double)whole, k = floor(draws);
    if (part == whole)
        return k > 0.0 ? 1.0 : draws;
    return -expm1(k * log1p(-q) + log1p(-(draws - k) * q));
}

/* Computes the masses of the shard's blocks and rows from those of all labels.
 * C is summed over all blocks in one order, so that all shards have the same
 * values. */
static void
fill_blocks(log_uniform_t *sampler, const double *mass)
{
    const skn_sampler_options_t *options = &sampler->options;
    uint32_t size = options->block_rows;
    double before = 0.0;
    for (uint64_t first = 0; first < options->labels; first += size) {
        uint64_t end = first + size, until = 0;
        if (end > options->labels)
            end = options->labels;
        double block_mass = 0.0;
        for (uint64_t k = first; k < end; k++)
            block_mass += mass[k];
        uint64_t block = first / size - sampler->block_first;
        bool own = first / size >= sampler->block_first &&
                   block < sampler->block_count;
        for (uint64_t k = first; k < end && own; k++) {
            until += 1 + (uint64_t)(mass[k] / block_mass * MASS_ONE);
            sampler->until[k - options->row_first] = until;
        }
        if (own)
            sampler->before[block] = before;
        before += block_mass;
        if (own)
            sampler->before[block + 1] = before;
    }
    for (uint32_t row = 0; row < options->row_count && options->draws > 0;
         row++)
        sampler->weight[row] =
            skn_sampler_weight(options, chance_of(sampler, row));
}

static skn_status_t
prepare(log_uniform_t *sampler, skn_error_t *error)
{
    const skn_sampler_options_t *options = &sampler->options;
    uint32_t size = options->block_rows;
    double *mass = malloc(options->labels * sizeof(*mass));
    sampler->block_first = options->row_first / size;
    sampler->block_count = (options->row_count + size - 1) / size;
    sampler->before = calloc(sampler->block_count + 1u, sizeof(double));
    sampler->until = malloc(options->row_count * sizeof(uint64_t));
    sampler->weight = malloc(options->row_count * sizeof(float));
    if (!mass || !sampler->before || !sampler->until || !sampler->weight ||
        !fill_masses(options, mass)) {
        free(mass);
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the masses of %llu labels",
                        (unsigned long long)options->labels);
    }
    fill_blocks(sampler, mass);
    free(mass);
    double draws = (double)options->draws *
                   (sampler->before[sampler->block_count] - sampler->before[0]);
    sampler->room = draws + 2.0 < (double)options->row_count
                        ? (uint32_t)(draws + 2.0)
                        : options->row_count;
    sampler->row = malloc((sampler->room + 1u) * sizeof(uint32_t));
    sampler->row_weight = malloc((sampler->room + 1u) * sizeof(float));
    if (!sampler->row || !sampler->row_weight)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a draw of %u rows",
                        sampler->room);
    return skn_rowset_init(&sampler->drawn, options->row_count, error);
}

static void *
log_uniform_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    log_uniform_t *sampler = calloc(1, sizeof(*sampler));
    if (!options->frequency) {
        skn_fail(error, SKN_BAD_CONFIG,
                 "log_uniform draws labels by frequency, but no frequencies "
                 "are given");
        free(sampler);
        return NULL;
    }
    if (!sampler) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a sampler");
        return NULL;
    }
    sampler->options = *options;
    if (prepare(sampler, error) == SKN_OK) {
        sampler->options.frequency = NULL; /* the array is the caller's */
        return sampler;
    }
    log_uniform_close(sampler);
    return NULL;
}

/* --- draws ---------------------------------------------------------------- */

/* Returns the row whose part of the block's mass includes `place`. */
static uint32_t
row_at(const uint64_t *until, uint32_t rows, uint64_t place)
{
    uint32_t low = 0, high = rows - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (until[middle] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Draw j of a block takes 64 bits, two of each block of random numbers. */
static void
draw_block(log_uniform_t *sampler, uint64_t key, uint32_t block, uint64_t draws)
{
    uint32_t first = block * sampler->options.block_rows;
    uint32_t rows = rows_of(sampler, block);
    const uint64_t *until = sampler->until + first;
    uint64_t whole = until[rows - 1];
    for (uint64_t j = 0; j < draws; j++) {
        skn_philox_t random =
            skn_philox_at(key, j / 2, sampler->block_first + block);
        uint32_t half = (uint32_t)(j % 2) * 2;
        uint64_t bits =
            (uint64_t)random.word[half + 1] << 32 | random.word[half];
        uint64_t place = (uint64_t)(((unsigned __int128)bits * whole) >> 64);
        skn_rowset_add(&sampler->drawn, first + row_at(until, rows, place));
    }
}

static skn_status_t
log_uniform_draw(void *opaque, const skn_sampler_query_t *query,
                 skn_selection_t *selection, skn_error_t *error)
{
    log_uniform_t *sampler = opaque;
    uint64_t key =
        skn_draw_key(sampler->options.seed, SKN_DRAW_SAMPLE, query->batch);
    skn_philox_t random = skn_philox_at(key, 0, LOG_UNIFORM_STREAM);
    double start = skn_philox_unit_double(random.word[0], random.word[1]);
    double m = (double)sampler->options.draws;
    uint32_t cursor = 0;
    skn_selection_clear(selection);
    if (skn_selection_room(selection, 1, query->rows,
                           sampler->room + query->positive_count,
                           error) != SKN_OK)
        return SKN_NO_MEMORY;
    for (uint32_t block = 0; m > 0.0 && block < sampler->block_count; block++)
        draw_block(sampler, key, block,
                   (uint64_t)(floor(m * sampler->before[block + 1] + start) -
                              floor(m * sampler->before[block] + start)));
    uint32_t count =
        skn_rowset_take(&sampler->drawn, &cursor, sampler->row, sampler->room);
    for (uint32_t k = 0; k < count; k++)
        sampler->row_weight[k] = sampler->weight[sampler->row[k]];
    skn_selection_union(selection, query->positive, query->positive_count,
                        sampler->row, sampler->row_weight, count);
    return skn_selection_single(selection, query->rows, error);
}

static double
log_uniform_chance(const void *opaque, const skn_sampler_query_t *query,
                   uint32_t sample, uint32_t row)
{
    const log_uniform_t *sampler = opaque;
    (void)query, (void)sample;
    return sampler->options.draws > 0 ? chance_of(sampler, row) : 0.0;
}

const skn_sampler_kind_t skn_sampler_log_uniform = {
    .name = "log_uniform",
    .help = "draws rows by the rank of their frequency, and the batch's labels",
    .needs_frequency = true,
    .row_bytes = sizeof(uint64_t) + sizeof(float), /* until, weight */
    .open = log_uniform_open,
    .close = log_uniform_close,
    .draw = log_uniform_draw,
    .chance = log_uniform_chance,
};
