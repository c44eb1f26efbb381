/* kept_rows.c - an array of a micro-batch that is kept in f32 or in bf16.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/stage/kept_rows.h"

#include <string.h>

#include "actors/protocol/workspace.h"

/* Floats of memory between two rows. */
static size_t
row_floats(size_t columns, bool half)
{
    return skn_stride_floats(half ? (columns + 1) / 2 : columns);
}

size_t
skn_kept_rows_floats(size_t tokens, size_t columns, bool half)
{
    return tokens * row_floats(columns, half);
}

float *
skn_kept_rows_init(skn_kept_rows_t *rows, size_t tokens, size_t columns,
                   bool half, float *memory)
{
    size_t apart = row_floats(columns, half);
    *rows = (skn_kept_rows_t){ .at = half ? NULL : memory,
                               .half = half ? (uint16_t *)(void *)memory : NULL,
                               .tokens = tokens,
                               .columns = columns,
                               .stride = half ? 2 * apart : apart };
    return memory + tokens * apart;
}

skn_matrix_t
skn_kept_rows_matrix(const skn_kept_rows_t *rows, size_t first)
{
    return (skn_matrix_t){ .at = rows->at ? rows->at + first : NULL,
                           .bf16 = rows->at ? NULL : rows->half + first,
                           .row_stride = rows->stride,
                           .column_stride = 1 };
}

size_t
skn_kept_rows_stride(const skn_kept_rows_t *rows)
{
    return rows->at ? rows->stride : skn_stride_floats(rows->columns);
}

float *
skn_kept_rows_fresh(const skn_kept_rows_t *rows, size_t t, float *room)
{
    return rows->at ? rows->at + t * rows->stride : room;
}

float *
skn_kept_rows_get_row(const skn_kernels_t *kernels, const skn_kept_rows_t *rows,
                      size_t t, float *room)
{
    if (!rows->at)
        kernels->bf16_to_f32(room, rows->half + t * rows->stride,
                             rows->columns);
    return skn_kept_rows_fresh(rows, t, room);
}

float *
skn_kept_rows_get(const skn_kernels_t *kernels, const skn_kept_rows_t *rows,
                  float *room)
{
    size_t stride = skn_kept_rows_stride(rows);
    for (size_t t = 0; t < rows->tokens && !rows->at; t++)
        (void)skn_kept_rows_get_row(kernels, rows, t, room + t * stride);
    return skn_kept_rows_fresh(rows, 0, room);
}

void
skn_kept_rows_put_row(const skn_kernels_t *kernels, const skn_kept_rows_t *rows,
                      size_t t, const float *from)
{
    if (!rows->at)
        kernels->f32_to_bf16(rows->half + t * rows->stride, from,
                             rows->columns);
    else if (from != rows->at + t * rows->stride)
        memcpy(rows->at + t * rows->stride, from,
               rows->columns * sizeof(float));
}

void
skn_kept_rows_put(const skn_kernels_t *kernels, const skn_kept_rows_t *rows,
                  const float *from, size_t from_stride)
{
    for (size_t t = 0; t < rows->tokens && from != rows->at; t++)
        skn_kept_rows_put_row(kernels, rows, t, from + t * from_stride);
}
