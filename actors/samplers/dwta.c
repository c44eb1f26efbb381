/* dwta.c - the sampler dwta, which draws from hash tables of greatest
 * coordinates (hash_dwta.c, tables.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/tables.h"

static void *
dwta_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    return skn_tables_open(&skn_hash_dwta, options, error);
}

static void *
builder_open(const skn_sampler_options_t *options, const skn_rows_t *rows,
             skn_error_t *error)
{
    return skn_tables_builder_open(&skn_hash_dwta, options, rows, error);
}

static const skn_index_kind_t index_kind = {
    .function_bits = SKN_HASH_DWTA_BITS,
    .open = builder_open,
    .close = skn_tables_builder_close,
    .change = skn_tables_change,
    .build = skn_tables_build,
    .describe = skn_tables_describe,
};

const skn_sampler_kind_t skn_sampler_dwta = {
    .name = "dwta",
    .help = "draws rows that share a sample's greatest coordinates, and "
            "uniform ones",
    .row_bytes = SKN_TABLES_ROW_BYTES,
    .open = dwta_open,
    .close = skn_tables_close,
    .draw = skn_tables_draw,
    .chance = skn_tables_chance,
    .index = &index_kind,
    .adopt = skn_tables_adopt,
};
