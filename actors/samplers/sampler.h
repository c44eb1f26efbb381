/* sampler.h - who picks the active set: a struct of functions, by name.
 *
 * For each batch a sampler gives groups of samples; the samples of a group
 * share a list of rows, each with a weight c: 1 for the batch's own labels,
 * 1/pi or 1/(draws q) for what was drawn, so that sums over the list estimate
 * sums over all rows without bias. One group for all samples is the cheap
 * case: matrix products. One group a sample is SLIDE's.
 *
 * A sampler belongs to one output shard and its thread. What is slow to build
 * (hash tables, centroids) is built by a table_builder and comes as an index.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_SAMPLER_H
#define ACTORS_SAMPLERS_SAMPLER_H

#include "actors/messages.h"
#include "actors/rows.h"
#include "skein/error.h"

/* The options of a sampler, as the output kind has checked them. */
typedef struct skn_sampler_options {
    const skn_kernels_t *kernels;
    uint64_t seed;        /* key of all its draws */
    uint64_t labels;      /* L, over all shards */
    uint32_t row_first;   /* global number of local row 0 */
    uint32_t row_count;   /* of the shard */
    uint32_t block_rows;  /* a power of two; row_first is a multiple of it */
    uint32_t hidden;      /* H */
    uint32_t batch_rows;  /* most samples of a batch */
    uint64_t draws;       /* rows a batch, over all shards */
    uint64_t tail;        /* uniform rows beside a hard list, over all shards */
    double weight_cap;    /* of c; 0: none */
    uint32_t tables, bits, lists, list_rows;
    const uint32_t *frequency; /* [labels] training points of each; or NULL */
} skn_sampler_options_t;

/* What a draw may look at. */
typedef struct skn_sampler_query {
    uint64_t batch;
    uint32_t rows;             /* samples */
    const float *hidden;       /* [rows][hidden_stride], H used */
    size_t hidden_stride;
    const uint32_t *positive;  /* local rows that are labels of the batch, */
    uint32_t positive_count;   /* ascending, each once */
    const skn_rows_t *weights; /* of the shard, read only */
} skn_sampler_query_t;

/* A group: its samples (ascending), and its rows (local, ascending) with their
 * weights. Offsets into the arrays of the selection. */
typedef struct skn_group {
    uint32_t sample_first, sample_count;
    uint32_t unit_first, unit_count;
} skn_group_t;

/* Filled by a draw; the arrays belong to the caller and grow by
 * skn_selection_room. `everything`: one group, all rows, all weights 1, and
 * `unit` may be passed over. */
typedef struct skn_selection {
    skn_group_t *group;
    uint32_t *sample;
    uint32_t *unit;
    float *weight;
    uint32_t group_count, sample_count, unit_count;
    uint32_t group_room, sample_room, unit_room;
    bool everything;
} skn_selection_t;

/* Makes room for that many groups, samples and units in all. What is there
 * stays. SKN_NO_MEMORY. */
skn_status_t skn_selection_room(skn_selection_t *selection, uint32_t groups,
                                uint32_t samples, uint32_t units,
                                skn_error_t *error);
void skn_selection_fini(skn_selection_t *selection);
/* One group of all `rows` samples over units [0, unit_count). */
skn_status_t skn_selection_single(skn_selection_t *selection, uint32_t rows,
                                  skn_error_t *error);

typedef struct skn_sampler skn_sampler_t; /* each sampler's own */

typedef struct skn_sampler_kind {
    const char *name; /* NULL ends a list */
    const char *help;
    /* NULL and a filled `error` if the options do not go together. `options`
     * is copied. */
    skn_sampler_t *(*open)(const skn_sampler_options_t *options,
                           skn_error_t *error);
    void (*close)(skn_sampler_t *sampler);
    skn_status_t (*draw)(skn_sampler_t *sampler,
                         const skn_sampler_query_t *query,
                         skn_selection_t *selection, skn_error_t *error);
    /* The probability that local row `row` is in the list of sample 0's group
     * (labels aside), given the options and the index in use: what 1/c must
     * be. For tests and diagnostics. */
    double (*chance)(const skn_sampler_t *sampler,
                     const skn_sampler_query_t *query, uint32_t row);
    /* Index: built by a table_builder out of its own copy of the rows
     * [row_count][width] and a sample of hidden vectors; adopted by the
     * sampler, which keeps the message. NULL where there is no index. */
    skn_status_t (*build)(const skn_sampler_options_t *options,
                          const skn_rows_t *weights, const float *hidden,
                          uint32_t hidden_rows, uint64_t batch,
                          skn_index_t *shape, skn_error_t *error);
    void (*adopt)(skn_sampler_t *sampler, const skn_index_t *index);
} skn_sampler_kind_t;

extern const skn_sampler_kind_t skn_sampler_exact;
extern const skn_sampler_kind_t skn_sampler_uniform;

/* All of them, and by name (NULL: unknown). */
extern const skn_sampler_kind_t *const skn_samplers[];
const skn_sampler_kind_t *skn_sampler_find(const char *name);

#endif
