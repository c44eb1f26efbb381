/* tables.c - draws rows from the buckets of hash tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"
#include "actors/protocol/rowset.h"
#include "actors/samplers/blockwise.h"

/* A sample's bucket in one table, for one draw. */
typedef struct bucket {
    const uint32_t *unit;
    uint32_t key, count;
    double q; /* the table's part of q of each of its rows */
} bucket_t;

typedef struct tables {
    skn_sampler_options_t options;
    skn_hash_t hash;
    skn_blockwise_t tail;   /* the even draws */
    skn_blockwise_t before; /* the draws until there is an index */
    uint64_t draws;         /* d, of this shard */
    const skn_index_t *index;
    uint32_t *key;    /* [batch_rows][L] of the current batch */
    bucket_t *bucket; /* [L] of the current sample */
    double rest;      /* q of every row, from the sample's empty buckets */
    uint64_t entries; /* entries in its buckets */
    double *q;        /* [rows] zeros, except in spread_q .. gather_q */
    skn_rowset_t drawn;
    uint32_t *row;
    float *weight;
} tables_t;

void
skn_tables_close(void *opaque)
{
    tables_t *sampler = opaque;
    skn_hash_fini(&sampler->hash);
    skn_blockwise_fini(&sampler->tail);
    skn_blockwise_fini(&sampler->before);
    skn_rowset_fini(&sampler->drawn);
    free(sampler->key);
    free(sampler->bucket);
    free(sampler->q);
    free(sampler->row);
    free(sampler->weight);
    free(sampler);
}

static skn_status_t
prepare(tables_t *sampler, const skn_hash_family_t *family, skn_error_t *error)
{
    const skn_sampler_options_t *options = &sampler->options;
    if (options->tail == 0 && options->draws > 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s needs uniform_rows of at least 1: otherwise rows "
                        "outside of a sample's buckets are never drawn",
                        family->name);
    sampler->draws = skn_sampler_share(options, options->draws);
    skn_status_t status = skn_hash_init(&sampler->hash, family, options, error);
    if (status == SKN_OK)
        status =
            skn_blockwise_init(&sampler->tail, options, options->tail, error);
    if (status == SKN_OK)
        status = skn_blockwise_init(&sampler->before, options,
                                    options->draws + options->tail, error);
    if (status == SKN_OK)
        status = skn_rowset_init(&sampler->drawn, options->row_count, error);
    if (status != SKN_OK)
        return status;
    uint32_t tables = sampler->hash.tables;
    sampler->key =
        malloc((size_t)options->batch_rows * tables * sizeof(uint32_t));
    sampler->bucket = malloc(tables * sizeof(*sampler->bucket));
    sampler->q = calloc(options->row_count + 1u, sizeof(double));
    sampler->row = malloc((options->row_count + 1u) * sizeof(uint32_t));
    sampler->weight = malloc((options->row_count + 1u) * sizeof(float));
    if (sampler->key && sampler->bucket && sampler->q && sampler->row &&
        sampler->weight)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no memory for a sampler");
}

void *
skn_tables_open(const skn_hash_family_t *family,
                const skn_sampler_options_t *options, skn_error_t *error)
{
    tables_t *sampler = calloc(1, sizeof(*sampler));
    if (!sampler) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a sampler");
        return NULL;
    }
    sampler->options = *options;
    if (prepare(sampler, family, error) == SKN_OK)
        return sampler;
    skn_tables_close(sampler);
    return NULL;
}

/* --- the index ------------------------------------------------------------ */

static bool
all_below(const uint32_t *number, size_t count, uint32_t bound)
{
    uint32_t greatest = 0;
    for (size_t k = 0; k < count; k++)
        greatest = number[k] > greatest ? number[k] : greatest;
    return greatest < bound;
}

/* Whether the bounds of buckets ascend, from 0 to the number of rows. */
static bool
offsets_fit(const skn_index_t *index, uint32_t tables, size_t buckets,
            uint32_t rows)
{
    for (uint32_t t = 0; t < tables; t++) {
        const uint32_t *offset = index->offset.at + t * (buckets + 1);
        if (offset[0] != 0 || offset[buckets] != rows)
            return false;
        for (size_t k = 0; k < buckets; k++)
            if (offset[k] > offset[k + 1])
                return false;
    }
    return true;
}

skn_status_t
skn_tables_adopt(void *opaque, const skn_index_t *index, skn_error_t *error)
{
    tables_t *sampler = opaque;
    const skn_hash_t *hash = &sampler->hash;
    uint32_t rows = sampler->options.row_count, tables = hash->tables;
    size_t buckets = (size_t)1 << hash->key_bits;
    size_t entries = (size_t)tables * rows;
    bool is_whole =
        index->shape.count == 3 && index->shape.at[0] == tables &&
        index->shape.at[1] == hash->key_bits && index->shape.at[2] == rows &&
        index->offset.count == tables * (buckets + 1) &&
        index->unit.count == 2 * entries &&
        offsets_fit(index, tables, buckets, rows) &&
        all_below(index->unit.at, entries, rows) &&
        all_below(index->unit.at + entries, entries, (uint32_t)buckets);
    if (!is_whole)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "the index of batch %llu does not have %u tables, %u "
                        "bits and %u rows",
                        (unsigned long long)index->batch, tables,
                        hash->key_bits, rows);
    sampler->index = index;
    return SKN_OK;
}

/* --- draws ---------------------------------------------------------------- */

/* Finds the buckets of `sample`, by the keys of the current batch. */
static void
find_buckets(tables_t *sampler, uint32_t sample)
{
    uint32_t tables = sampler->hash.tables, empty = 0;
    size_t rows = sampler->options.row_count;
    size_t buckets = (size_t)1 << sampler->hash.key_bits;
    sampler->entries = 0;
    for (uint32_t t = 0; t < tables; t++) {
        bucket_t *bucket = &sampler->bucket[t];
        bucket->key = sampler->key[(size_t)sample * tables + t];
        const uint32_t *offset =
            sampler->index->offset.at + t * (buckets + 1) + bucket->key;
        bucket->unit = sampler->index->unit.at + t * rows + offset[0];
        bucket->count = offset[1] - offset[0];
        empty += bucket->count == 0;
        sampler->entries += bucket->count;
        bucket->q = bucket->count ? 1.0 / tables / bucket->count : 0.0;
    }
    sampler->rest = (double)empty / tables / (double)rows;
}

/* Returns q of a row, by its keys, for the sample whose buckets were found. */
static double
find_q(const tables_t *sampler, uint32_t row)
{
    uint32_t tables = sampler->hash.tables;
    const uint32_t *key =
        sampler->index->unit.at +
        (size_t)tables * (sampler->options.row_count + (size_t)row);
    double q = sampler->rest;
    for (uint32_t t = 0; t < tables; t++)
        q += key[t] == sampler->bucket[t].key ? sampler->bucket[t].q : 0.0;
    return q;
}

/* Computes q for all rows of the buckets at once, table by table: less work
 * than by the keys of the drawn rows, unless these are few or the buckets are
 * very full. */
static void
spread_q(tables_t *sampler)
{
    double *q = sampler->q;
    for (uint32_t t = 0; t < sampler->hash.tables; t++) {
        const bucket_t *bucket = &sampler->bucket[t];
        for (uint32_t k = 0; k < bucket->count; k++) {
            double before = q[bucket->unit[k]];
            q[bucket->unit[k]] =
                (before == 0.0 ? sampler->rest : before) + bucket->q;
        }
    }
}

static void
gather_q(tables_t *sampler)
{
    for (uint32_t t = 0; t < sampler->hash.tables; t++)
        for (uint32_t k = 0; k < sampler->bucket[t].count; k++)
            sampler->q[sampler->bucket[t].unit[k]] = 0.0;
}

/* Returns pi of a row that a draw takes with probability q. */
static double
chance_of(const tables_t *sampler, uint32_t row, double q)
{
    double p = skn_blockwise_chance(&sampler->tail, row);
    if (q == 0.0 || sampler->draws == 0)
        return p;
    if (q >= 1.0 || p >= 1.0)
        return 1.0;
    return -expm1((double)sampler->draws * log1p(-q) + log1p(-p));
}

/* Computes c of the rows of the current list. */
static void
weigh_rows(tables_t *sampler, uint32_t count)
{
    /* spread_q touches an entry twice, find_q a key once. */
    bool spread =
        2 * sampler->entries <= (uint64_t)count * sampler->hash.tables;
    if (spread)
        spread_q(sampler);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t row = sampler->row[k];
        double q = spread ? sampler->q[row] : find_q(sampler, row);
        if (q == 0.0)
            q = sampler->rest;
        sampler->weight[k] =
            skn_sampler_weight(&sampler->options, chance_of(sampler, row, q));
    }
    if (spread)
        gather_q(sampler);
}

/* Returns a number below `bound`; probabilities differ by at most 2^-32 of
 * themselves. */
static uint32_t
below(uint32_t low, uint32_t high, uint32_t bound)
{
    uint64_t bits = (uint64_t)high << 32 | low;
    return (uint32_t)(((unsigned __int128)bits * bound) >> 64);
}

static void
draw_rows(tables_t *sampler, uint64_t key, uint32_t sample)
{
    uint64_t place = (uint64_t)sampler->options.row_first << 32;
    for (uint64_t k = 0; k < sampler->draws; k++) {
        skn_philox_t random = skn_philox_at(key, place | k, sample);
        const bucket_t *bucket = &sampler->bucket[below(
            random.word[0], random.word[1], sampler->hash.tables)];
        uint32_t count =
            bucket->count ? bucket->count : sampler->options.row_count;
        uint32_t at = below(random.word[2], random.word[3], count);
        skn_rowset_add(&sampler->drawn, bucket->count ? bucket->unit[at] : at);
    }
}

/* Draws the list of one sample, as a group of its own. */
static skn_status_t
draw_sample(tables_t *sampler, const skn_sampler_query_t *query, uint64_t key,
            uint32_t sample, skn_selection_t *selection, skn_error_t *error)
{
    uint32_t own_count =
        query->own_offset[sample + 1] - query->own_offset[sample];
    uint32_t cursor = 0, first = selection->unit_count;
    find_buckets(sampler, sample);
    draw_rows(sampler, key, sample);
    for (uint32_t k = 0; k < sampler->tail.count; k++)
        skn_rowset_add(&sampler->drawn, sampler->tail.row[k]);
    uint32_t count = skn_rowset_take(&sampler->drawn, &cursor, sampler->row,
                                     sampler->options.row_count);
    weigh_rows(sampler, count);
    if (count + own_count > UINT32_MAX - first)
        return skn_fail(error, SKN_NO_MEMORY,
                        "the lists of a batch have more than %u rows; draw "
                        "fewer",
                        UINT32_MAX);
    if (skn_selection_room(selection, query->rows, query->rows,
                           first + count + own_count, error) != SKN_OK)
        return SKN_NO_MEMORY;
    skn_selection_union(selection, query->own + query->own_offset[sample],
                        own_count, sampler->row, sampler->weight, count);
    selection->sample[sample] = sample;
    selection->group[sample] =
        (skn_group_t){ .sample_first = sample,
                       .sample_count = 1,
                       .unit_first = first,
                       .unit_count = selection->unit_count - first };
    return SKN_OK;
}

skn_status_t
skn_tables_draw(void *opaque, const skn_sampler_query_t *query,
                skn_selection_t *selection, skn_error_t *error)
{
    tables_t *sampler = opaque;
    if (!sampler->index)
        return skn_blockwise_select(&sampler->before, query, selection, error);
    skn_matrix_t hidden = { .at = query->hidden,
                            .row_stride = query->hidden_stride,
                            .column_stride = 1 };
    uint64_t key =
        skn_draw_key(sampler->options.seed, SKN_DRAW_HASH, query->batch);
    skn_status_t status = SKN_OK;
    skn_hash_keys(&sampler->hash, &hidden, query->rows, sampler->key);
    skn_blockwise_draw(&sampler->tail, query->batch);
    skn_selection_clear(selection);
    for (uint32_t i = 0; i < query->rows && status == SKN_OK; i++)
        status = draw_sample(sampler, query, key, i, selection, error);
    selection->group_count = selection->sample_count = query->rows;
    return status;
}

double
skn_tables_chance(const void *opaque, const skn_sampler_query_t *query,
                  uint32_t sample, uint32_t row)
{
    const tables_t *sampler = opaque;
    (void)query;
    if (!sampler->index)
        return skn_blockwise_chance(&sampler->before, row);
    /* The buckets are found again; nothing else of the sampler changes. */
    tables_t *looking = (tables_t *)(uintptr_t)sampler;
    find_buckets(looking, sample);
    return chance_of(sampler, row, find_q(sampler, row));
}
