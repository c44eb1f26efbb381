/* kept_rows.h - one array [tokens][columns] that a layer keeps of a
 * micro-batch, in f32 or rounded to bf16.
 *
 * Where products round their factors to bf16, the factors may be kept as bf16,
 * in half of the memory and with the same bits. Rows are an odd number of cache
 * lines apart. Nothing allocates or fails; an array belongs to one thread at a
 * time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_STAGE_KEPT_ROWS_H
#define ACTORS_STAGE_KEPT_ROWS_H

#include "kernels/kernels.h"

/* Exactly one of `at` and `half` is set. */
typedef struct skn_kept_rows {
    float *at;
    uint16_t *half;
    size_t tokens, columns;
    size_t stride; /* between rows, in numbers */
} skn_kept_rows_t;

/* Floats of memory that the array takes, whole cache lines. */
size_t skn_kept_rows_floats(size_t tokens, size_t columns, bool half);
/* Lays it into `memory`, which is aligned to 64 bytes; returns what is behind
 * it. */
float *skn_kept_rows_init(skn_kept_rows_t *rows, size_t tokens, size_t columns,
                          bool half, float *memory);

/* The columns from `first` on, as a factor of a product. */
skn_matrix_t skn_kept_rows_matrix(const skn_kept_rows_t *rows, size_t first);

/* The array, or row `t` of it, as floats: itself, or a copy in `room`, whose
 * rows are skn_kept_rows_stride apart, too. What is written there is kept by a
 * put. `fresh` does not fill the copy (from row `t` on): all of it will be
 * written. */
size_t skn_kept_rows_stride(const skn_kept_rows_t *rows);
float *skn_kept_rows_fresh(const skn_kept_rows_t *rows, size_t t, float *room);
float *skn_kept_rows_get(const skn_kernels_t *kernels,
                         const skn_kept_rows_t *rows, float *room);
float *skn_kept_rows_get_row(const skn_kernels_t *kernels,
                             const skn_kept_rows_t *rows, size_t t,
                             float *room);
/* Keeps `from`: [tokens] rows that are from_stride apart, or one row. It may be
 * what `fresh` or `get` returned. */
void skn_kept_rows_put(const skn_kernels_t *kernels,
                       const skn_kept_rows_t *rows, const float *from,
                       size_t from_stride);
void skn_kept_rows_put_row(const skn_kernels_t *kernels,
                           const skn_kept_rows_t *rows, size_t t,
                           const float *from);

#endif
