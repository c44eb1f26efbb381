/* tables_build.c - builds the hash tables of an index from rows.
 *
 * A row that changed is hashed at once, in the message that brings it; the
 * tables are then sorted again from all keys, by counting: three passes over
 * L N numbers, regardless of how many rows changed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/tables.h"

typedef struct tables_builder {
    skn_hash_t hash;
    const skn_rows_t *rows;
    uint32_t row_count;
    uint32_t shape[3];
    uint32_t *offset; /* [L][buckets + 1] */
    uint32_t *unit;   /* [L][rows] */
    uint32_t *key;    /* [rows][L], behind `unit` */
    uint32_t *fresh;  /* [SKN_HASH_ROWS][L] */
} tables_builder_t;

void
skn_tables_builder_close(void *opaque)
{
    tables_builder_t *builder = opaque;
    skn_hash_fini(&builder->hash);
    free(builder->offset);
    free(builder->unit);
    free(builder->fresh);
    free(builder);
}

static skn_status_t
prepare(tables_builder_t *builder, const skn_hash_family_t *family,
        const skn_sampler_options_t *options, skn_error_t *error)
{
    skn_status_t status = skn_hash_init(&builder->hash, family, options, error);
    if (status != SKN_OK)
        return status;
    size_t tables = builder->hash.tables;
    size_t buckets = (size_t)1 << builder->hash.key_bits;
    size_t entries = tables * options->row_count;
    if (2 * entries > SKN_RUN_MAX || tables * (buckets + 1) > SKN_RUN_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: %zu tables of %u rows are too many for one index",
                        family->name, tables, options->row_count);
    builder->shape[0] = builder->hash.tables;
    builder->shape[1] = builder->hash.key_bits;
    builder->shape[2] = options->row_count;
    builder->row_count = options->row_count;
    builder->offset = calloc(tables * (buckets + 1), sizeof(uint32_t));
    builder->unit = calloc(2 * entries, sizeof(uint32_t));
    builder->key = builder->unit ? builder->unit + entries : NULL;
    builder->fresh = malloc(SKN_HASH_ROWS * tables * sizeof(uint32_t));
    if (builder->offset && builder->unit && builder->fresh)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu tables of %u rows",
                    tables, options->row_count);
}

void *
skn_tables_builder_open(const skn_hash_family_t *family,
                        const skn_sampler_options_t *options,
                        const skn_rows_t *rows, skn_error_t *error)
{
    tables_builder_t *builder = calloc(1, sizeof(*builder));
    if (!builder) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a builder");
        return NULL;
    }
    builder->rows = rows;
    if (prepare(builder, family, options, error) == SKN_OK)
        return builder;
    skn_tables_builder_close(builder);
    return NULL;
}

void
skn_tables_change(void *opaque, const uint32_t *row, uint32_t count)
{
    tables_builder_t *builder = opaque;
    size_t tables = builder->hash.tables;
    for (uint32_t first = 0; first < count; first += SKN_HASH_ROWS) {
        uint32_t some =
            count - first < SKN_HASH_ROWS ? count - first : SKN_HASH_ROWS;
        skn_matrix_t x = skn_rows_matrix(builder->rows, row + first);
        skn_hash_keys(&builder->hash, &x, some, builder->fresh);
        for (uint32_t k = 0; k < some; k++)
            memcpy(builder->key + row[first + k] * tables,
                   builder->fresh + k * tables, tables * sizeof(uint32_t));
    }
}

/* Sorts one table: count, sum up, distribute. Rows are visited upwards, so that
 * each bucket's rows ascend; `offset` ends up one bucket late and is moved
 * back. */
static void
sort_table(tables_builder_t *builder, uint32_t table)
{
    size_t tables = builder->hash.tables;
    size_t buckets = (size_t)1 << builder->hash.key_bits;
    uint32_t *offset = builder->offset + table * (buckets + 1);
    uint32_t *unit = builder->unit + (size_t)table * builder->row_count;
    const uint32_t *key = builder->key + table;
    memset(offset, 0, (buckets + 1) * sizeof(*offset));
    for (uint32_t row = 0; row < builder->row_count; row++)
        offset[key[row * tables] + 1]++;
    for (size_t k = 0; k < buckets; k++)
        offset[k + 1] += offset[k];
    for (uint32_t row = 0; row < builder->row_count; row++)
        unit[offset[key[row * tables]]++] = row;
    memmove(offset + 1, offset, buckets * sizeof(*offset));
    offset[0] = 0;
    assert(offset[buckets] == builder->row_count);
}

skn_status_t
skn_tables_build(void *opaque, skn_index_t *index, skn_error_t *error)
{
    tables_builder_t *builder = opaque;
    size_t tables = builder->hash.tables;
    size_t buckets = (size_t)1 << builder->hash.key_bits;
    (void)error;
    for (uint32_t t = 0; t < tables; t++)
        sort_table(builder, t);
    index->shape = (skn_u32s_t){ builder->shape, 3 };
    index->offset = (skn_u32s_t){ builder->offset, tables * (buckets + 1) };
    index->unit =
        (skn_u32s_t){ builder->unit, 2 * tables * builder->row_count };
    return SKN_OK;
}

skn_bucket_load_t
skn_tables_load(const skn_index_t *index)
{
    size_t tables = index->shape.at[0];
    size_t buckets = (size_t)1 << index->shape.at[1];
    double squares = 0.0;
    skn_bucket_load_t load = { .buckets = tables * buckets };
    for (size_t t = 0; t < tables; t++) {
        const uint32_t *offset = index->offset.at + t * (buckets + 1);
        for (size_t k = 0; k < buckets; k++) {
            uint32_t count = offset[k + 1] - offset[k];
            load.empty += count == 0;
            if (count > load.greatest)
                load.greatest = count;
            squares += (double)count * count;
        }
    }
    load.met = squares / (double)tables / (double)index->shape.at[2];
    return load;
}

void
skn_tables_describe(const void *opaque, char *text, size_t bytes)
{
    const tables_builder_t *builder = opaque;
    size_t tables = builder->hash.tables;
    size_t buckets = (size_t)1 << builder->hash.key_bits;
    skn_index_t index = {
        .shape = { (uint32_t *)(uintptr_t)builder->shape, 3 },
        .offset = { builder->offset, tables * (buckets + 1) },
    };
    skn_bucket_load_t load = skn_tables_load(&index);
    (void)skn_text_write(text, bytes,
                         "\"buckets\":%llu,\"empty\":%llu,\"greatest\":%llu,"
                         "\"met\":%.1f",
                         (unsigned long long)load.buckets,
                         (unsigned long long)load.empty,
                         (unsigned long long)load.greatest, load.met);
}
