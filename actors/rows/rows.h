/* rows.h - the memory of one shard's rows: weights and optimizer state side by
 * side.
 *
 * All values of a row are stored together, since a row is touched as a whole:
 *
 *     adam     | w [width] | m [width] | v [width] | step | up to 64 bytes
 *     adagrad  | w [width] | sum of squares        |     rows of dense, output
 *              | w [width] | a sum every 8 columns |     rows of an embedding
 *     sgd      | w [width] |
 *     bf16: sgd | w [width], 2 bytes each |
 *     adagrad   | w [width], 2 bytes each | sum of squares |
 *
 * Each part starts at a multiple of 4 floats. Adagrad with one sum a row is
 * "row-wise" (Mudigere et al. 2022). A slice of an embedding's columns does not
 * have the whole row's gradient, so there each SKN_SLICE_COLUMNS columns have a
 * sum, for any number of slices. Offloaded moments are stored together in the
 * file, so that a step touches few of its pages:
 *
 *     adam, memory | w [width] | step | up to 64 bytes |
 *           file   | m [width] | v [width] | up to 64 bytes |
 *
 * The updater owns the rows and is their only writer; it lends them to its
 * shard for reading.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_ROWS_H
#define ACTORS_ROWS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKN_LINE_FLOATS 16 /* of a cache line of 64 bytes */

#include "actors/rows/offload.h"
#include "kernels/kernels.h"
#include "skein/error.h"

typedef enum skn_rows_kind {
    SKN_ROWS_ADAM,
    SKN_ROWS_ADAGRAD,
    SKN_ROWS_ADAGRAD_SLICED, /* of an embedding */
    SKN_ROWS_SGD,
    SKN_ROWS_SGD_BF16,
    SKN_ROWS_ADAGRAD_BF16 /* of an output layer */
} skn_rows_kind_t;

typedef struct skn_rows {
    skn_rows_kind_t kind;
    uint32_t row_count;
    uint32_t width;       /* weights of a row, including its bias if any */
    uint32_t sum_columns; /* adagrad: columns that share a sum */
    size_t part_floats;   /* between w, m and v */
    size_t stride_bytes;  /* between rows */
    unsigned char *at;
    size_t map_bytes;
    unsigned char *moment_at; /* part 1 of row 0: behind its weights, or in the
                               * file */
    size_t moment_stride_bytes;
    size_t step_floats; /* adam: from the weights of a row to its step */
    skn_offload_t offload;
} skn_rows_t;

/* Returns the bytes of `row_count` rows, without allocating them. */
size_t skn_rows_bytes(skn_rows_kind_t kind, uint64_t row_count, uint32_t width);

/* The same for adam's rows with moments in a file: bytes in memory, and in the
 * file. */
size_t skn_rows_resident_bytes(uint64_t row_count, uint32_t width);
size_t skn_rows_offload_bytes(uint64_t row_count, uint32_t width);

/* Maps zeroed rows, on huge pages if `huge` and the system has them. The pages
 * come from the calling thread's memory node. */
skn_status_t skn_rows_init(skn_rows_t *rows, skn_rows_kind_t kind,
                           uint32_t row_count, uint32_t width, bool huge,
                           skn_error_t *error);
/* Maps adam's rows, with their moments in a file in `folder`. */
skn_status_t skn_rows_init_offloaded(skn_rows_t *rows, uint32_t row_count,
                                     uint32_t width, bool huge,
                                     const char *folder, skn_error_t *error);
/* Weights alone (a kind of sgd), without gaps, in memory of the caller, which
 * outlives the rows and is only read. */
void skn_rows_lend(skn_rows_t *rows, skn_rows_kind_t kind, uint32_t row_count,
                   uint32_t width, const void *at);
void skn_rows_fini(skn_rows_t *rows);

/* Whether weights are bf16: skn_rows_weight_bf16, not skn_rows_weight. */
static inline bool
skn_rows_are_bf16(const skn_rows_t *rows)
{
    return rows->kind == SKN_ROWS_SGD_BF16 ||
           rows->kind == SKN_ROWS_ADAGRAD_BF16;
}

static inline float *
skn_rows_weight(const skn_rows_t *rows, size_t row)
{
    return (float *)(void *)(rows->at + row * rows->stride_bytes);
}

static inline uint16_t *
skn_rows_weight_bf16(const skn_rows_t *rows, size_t row)
{
    return (uint16_t *)(void *)(rows->at + row * rows->stride_bytes);
}

/* adam: part 1 is m, part 2 is v; adagrad: part 1 is the sums. */
static inline float *
skn_rows_moment(const skn_rows_t *rows, size_t row, int part)
{
    return (float *)(void *)(rows->moment_at +
                             row * rows->moment_stride_bytes) +
           (size_t)(part - 1) * rows->part_floats;
}

/* adagrad: sums of a row. */
static inline uint32_t
skn_rows_sums(const skn_rows_t *rows)
{
    return (rows->width + rows->sum_columns - 1) / rows->sum_columns;
}

/* adam: the batch (counted from 1) that touched the row last; 0: none. */
static inline uint32_t *
skn_rows_step(const skn_rows_t *rows, size_t row)
{
    return (uint32_t *)(void *)(skn_rows_weight(rows, row) + rows->step_floats);
}

/* Returns the weights of the rows in `index` (NULL: all), as a matrix
 * [rows][width] for the product kernel. */
skn_matrix_t skn_rows_matrix(const skn_rows_t *rows, const uint32_t *index);
/* The same for the rows from `first` on. */
skn_matrix_t skn_rows_matrix_from(const skn_rows_t *rows, size_t first);

/* Returns the job of lower [samples][width], `lower_stride` floats apart, times
 * `count` rows from `first` on, complete except for c and c_stride. */
skn_gemm_t skn_rows_product(const skn_rows_t *rows, size_t first, size_t count,
                            const float *lower, size_t lower_stride,
                            size_t samples);

/* Prefetches a row's weights into the second-level cache. Always inline: gcc 12
 * treats a function that only prefetches as one without effects, and drops
 * calls of it. */
static inline __attribute__((always_inline)) void
skn_rows_fetch(const skn_rows_t *rows, size_t row)
{
    const unsigned char *at = rows->at + row * rows->stride_bytes;
    size_t bytes = rows->width *
                   (skn_rows_are_bf16(rows) ? sizeof(uint16_t) : sizeof(float));
    for (size_t k = 0; k < bytes; k += 64)
        __builtin_prefetch(at + k, 0, 2);
}

/* Writes one row of `width` floats as weights (rounded to nearest in bf16). */
void skn_rows_set(const skn_rows_t *rows, const skn_kernels_t *kernels,
                  size_t row, const float *weight);
/* Reads one row's weights as floats. */
void skn_rows_get(const skn_rows_t *rows, const skn_kernels_t *kernels,
                  size_t row, float *weight);

#endif
