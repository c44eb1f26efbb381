/* tables.h - draws rows from hash buckets, one list a sample, as SLIDE does,
 * with the probability of each row known.
 *
 * L tables of K functions. A table is cut into buckets by key, not into fixed
 * rings: nothing is dropped, and memory is what the rows need.
 *
 *     offset [L][buckets + 1]   bucket k of table t: [offset[k], offset[k + 1])
 *     unit   [L][rows]          rows by bucket, ascending in each
 *            [rows][L]          the key of each row in each table
 *
 * A sample draws d rows with replacement: first a table, all with equal
 * probability, then an entry of its own bucket there (an empty bucket: any
 * row). Given the tables
 *     q = (1/L) sum over t of [row in bucket of t] / its length + (e/L) / N
 * for e empty buckets, without a model of collisions. With the even draws
 * besides, of probability p each, a row is in the list with
 *     pi = 1 - (1 - q)^d (1 - p).
 * The even rows are the same for all samples of a batch: they are read once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_TABLES_H
#define ACTORS_SAMPLERS_TABLES_H

#include "actors/samplers/hash.h"

/* q, row and weight, which a sampler keeps for each row (tables.c). */
#define SKN_TABLES_ROW_BYTES                                                   \
    (uint32_t)(sizeof(double) + sizeof(uint32_t) + sizeof(float))

/* The functions of a sampler that hashes with `family`. */
void *skn_tables_open(const skn_hash_family_t *family,
                      const skn_sampler_options_t *options, skn_error_t *error);
void skn_tables_close(void *sampler);
skn_status_t skn_tables_draw(void *sampler, const skn_sampler_query_t *query,
                             skn_selection_t *selection, skn_error_t *error);
double skn_tables_chance(const void *sampler, const skn_sampler_query_t *query,
                         uint32_t sample, uint32_t row);
skn_status_t skn_tables_adopt(void *sampler, const skn_index_t *index,
                              skn_error_t *error);

/* The functions of its index (tables_build.c). */
void *skn_tables_builder_open(const skn_hash_family_t *family,
                              const skn_sampler_options_t *options,
                              const skn_rows_t *rows, skn_error_t *error);
void skn_tables_builder_close(void *builder);
void skn_tables_change(void *builder, const uint32_t *row, uint32_t count);
skn_status_t skn_tables_build(void *builder, skn_index_t *index,
                              skn_error_t *error);
void skn_tables_describe(const void *builder, char *text, size_t bytes);

/* The sizes of the buckets of an index. */
typedef struct skn_bucket_load {
    uint64_t buckets, empty, greatest;
    double met; /* mean, over rows, of the size of the row's bucket */
} skn_bucket_load_t;
skn_bucket_load_t skn_tables_load(const skn_index_t *index);

#endif
