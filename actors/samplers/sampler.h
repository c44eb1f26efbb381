/* sampler.h - the interface of samplers, which choose the active set: a struct
 * of functions, found by name.
 *
 * For each batch a sampler gives groups of samples; the samples of a group
 * share a list of rows, each with a weight c: 1 for the labels, 1/pi for drawn
 * rows, so that sums over the list estimate sums over all rows without bias
 * (Horvitz & Thompson 1952). One group for all samples is the cheap case:
 * matrix products. SLIDE uses one group a sample.
 *
 *     kind            groups       index       rows drawn
 *     exact           one          -           every row
 *     uniform         one          -           evenly, block by block
 *     log_uniform     one          -           by the rank of their frequency
 *     simhash, dwta   one a sample hash tables out of the sample's buckets
 *
 * Every row has pi > 0 if any are drawn: the kinds with an index need `tail`
 * further rows, drawn evenly. A drawn row is in a list once, with weight 1/pi,
 * where pi is the chance that the whole draw contains it. To count each of its
 * draws with 1/(draws q) would be noisier: a row that is nearly always drawn,
 * as in a bucket that holds the rows that matter, has pi near 1 and counts
 * exactly.
 *
 * A sampler belongs to one output shard and its thread. Parts that are slow to
 * build (hash tables) are built by a table_builder and arrive as an index;
 * before the first index the sampler draws evenly, `draws` + `tail` rows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_SAMPLER_H
#define ACTORS_SAMPLERS_SAMPLER_H

#include "actors/protocol/messages.h"
#include "actors/protocol/settings.h"
#include "actors/rows/rows.h"
#include "skein/error.h"

/* The options of a sampler, as a kind has checked them (options.h). */
typedef struct skn_sampler_options {
    const skn_kernels_t *kernels;
    uint64_t seed;       /* key of all its draws */
    uint64_t labels;     /* L, over all shards */
    uint32_t row_first;  /* global number of local row 0 */
    uint32_t row_count;  /* of the shard */
    uint32_t block_rows; /* a power of two; row_first is a multiple of it */
    uint32_t hidden;     /* H */
    uint32_t batch_rows; /* most samples of a batch */
    uint64_t draws;      /* rows a list, over all shards */
    uint64_t tail;       /* even draws of an indexed sampler, over all shards */
    double weight_cap;   /* of c; 0: none */
    uint32_t tables, bits;
    const uint32_t *frequency; /* [labels] training points of each; NULL unless
                                * the kind needs_frequency. Only open reads
                                * it */
} skn_sampler_options_t;

/* The input of a draw. */
typedef struct skn_sampler_query {
    uint64_t batch;
    uint32_t rows;       /* samples */
    const float *hidden; /* [rows][hidden_stride], H used, then 1 */
    size_t hidden_stride;
    /* [positive_count] local rows that are labels of the batch, ascending, each
     * once */
    const uint32_t *positive;
    uint32_t positive_count;
    /* [rows + 1]: sample i has the labels own[own_offset[i]] up to
     * own[own_offset[i + 1]], local, ascending */
    const uint32_t *own_offset;
    const uint32_t *own;
} skn_sampler_query_t;

/* A group: its samples (ascending), and its rows (local, ascending, each once)
 * with their weights. Members are offsets into the arrays of the selection. A
 * group of several samples has all labels of the batch, with weight 1; a group
 * of one sample, if it is not the whole batch, need only have its own. */
typedef struct skn_group {
    uint32_t sample_first, sample_count;
    uint32_t unit_first, unit_count;
} skn_group_t;

/* Filled by a draw; the arrays belong to the caller and grow by
 * skn_selection_room. `everything`: one group, all rows, all weights 1, and
 * `unit` may be ignored. */
typedef struct skn_selection {
    skn_group_t *group;
    uint32_t *sample;
    uint32_t *unit;
    float *weight;
    uint32_t group_count, sample_count, unit_count;
    uint32_t group_room, sample_room, unit_room;
    bool everything;
} skn_selection_t;

/* Makes room for this many groups, samples and units in all. Existing items
 * stay. SKN_NO_MEMORY. */
skn_status_t skn_selection_room(skn_selection_t *selection, uint32_t groups,
                                uint32_t samples, uint32_t units,
                                skn_error_t *error);
void skn_selection_fini(skn_selection_t *selection);
/* Empties it; the room stays. */
void skn_selection_clear(skn_selection_t *selection);
/* One group of all `rows` samples over units [0, unit_count). */
skn_status_t skn_selection_single(skn_selection_t *selection, uint32_t rows,
                                  skn_error_t *error);
/* Appends the union of two ascending lists of rows: labels with weight 1, and
 * drawn rows with their own weights. There must be room. */
void skn_selection_union(skn_selection_t *selection, const uint32_t *positive,
                         uint32_t positive_count, const uint32_t *drawn,
                         const float *weight, uint32_t drawn_count);
/* Returns how many rows of the lists have the greatest weight that `cap`
 * allows; 0 without a cap. */
uint64_t skn_selection_capped(const skn_selection_t *selection, float cap);
/* c of a row that is in the list with probability `chance`. */
float skn_sampler_weight(const skn_sampler_options_t *options, double chance);
/* Returns this shard's part of `total`, a number over all shards: the parts of
 * neighbours add up, and a shard with all rows has all of it. */
uint64_t skn_sampler_share(const skn_sampler_options_t *options,
                           uint64_t total);

/* The functions by which the actor with a copy of the rows builds an index. A
 * builder has the type of its kind: what open returns. */
typedef struct skn_index_kind {
    /* Bits of a bucket's number that each of the `bits` functions gives. */
    uint32_t function_bits;
    /* `rows` is the copy, f32, [row_count][H + 1]; it changes between calls,
     * and outlives the builder. NULL and a filled `error`. */
    void *(*open)(const skn_sampler_options_t *options, const skn_rows_t *rows,
                  skn_error_t *error);
    void (*close)(void *builder);
    /* These rows of the copy have changed. */
    void (*change)(void *builder, const uint32_t *row, uint32_t count);
    /* Builds the index of the present rows. All but batch and kind are set; the
     * builder owns the arrays, which stay until the next build. */
    skn_status_t (*build)(void *builder, skn_index_t *index,
                          skn_error_t *error);
    /* Describes the index as members of a JSON object: loads of buckets. */
    void (*describe)(const void *builder, char *text, size_t bytes);
} skn_index_kind_t;

/* The functions of one kind of sampler; a sampler, too, has the type of its
 * kind. */
typedef struct skn_sampler_kind {
    const char *name; /* NULL ends a list */
    const char *help;
    bool needs_frequency; /* open reads `frequency` of the options */
    uint32_t row_bytes;   /* memory that it keeps for each row, for the plan */
    /* NULL and a filled `error` if the options are not compatible. `options` is
     * copied; the kernels outlive the sampler. */
    void *(*open)(const skn_sampler_options_t *options, skn_error_t *error);
    void (*close)(void *sampler);
    skn_status_t (*draw)(void *sampler, const skn_sampler_query_t *query,
                         skn_selection_t *selection, skn_error_t *error);
    /* The probability that local row `row` is in the list of `sample`'s group
     * (labels aside), given the options and the index in use: 1/c, apart from
     * the cap. Called after a draw for this query. */
    double (*chance)(const void *sampler, const skn_sampler_query_t *query,
                     uint32_t sample, uint32_t row);
    const skn_index_kind_t *index; /* NULL: none */
    /* Draws from `index` from now on; it stays until the next one is adopted
     * or the sampler is closed. SKN_BAD_MESSAGE if it does not fit. */
    skn_status_t (*adopt)(void *sampler, const skn_index_t *index,
                          skn_error_t *error);
} skn_sampler_kind_t;

/* skn_sampler_exact, skn_sampler_uniform, ...: each in the file of its name. */
#define SKN_SAMPLER_DECLARE(NAME, word)                                        \
    extern const skn_sampler_kind_t skn_sampler_##word;
SKN_SAMPLER_NAMES(SKN_SAMPLER_DECLARE)

/* All of them, in the order of SKN_SAMPLER_NAMES, and by name (NULL:
 * unknown). */
extern const skn_sampler_kind_t *const skn_samplers[];
const skn_sampler_kind_t *skn_sampler_find(const char *name);

#endif
