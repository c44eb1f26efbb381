/* tensors.c - makes the tensor views of rows, and loads them from a checkpoint.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/tensors.h"

#include <stdio.h>

#include "actors/protocol/block.h"

static void
name_piece(skn_tensor_view_t *view, const skn_tensor_place_t *place,
           const char *part)
{
    (void)snprintf(view->piece.name, sizeof(view->piece.name), "%.48s.%s",
                   place->layer, part);
}

/* Returns the view of a rectangle of full rows: [row_count][columns] at
 * `at`. */
static skn_tensor_view_t
matrix_view(const skn_tensor_place_t *place, const char *part,
            skn_dtype_t dtype, unsigned char *at, size_t stride_bytes,
            uint64_t row_count, uint64_t columns, uint64_t global_rows,
            uint64_t global_columns)
{
    skn_tensor_view_t view = {
        .piece = { .dtype = dtype,
                   .dims = 2,
                   .rows = row_count,
                   .columns = columns,
                   .global_rows = global_rows,
                   .global_columns = global_columns,
                   .row_first = place->row_first,
                   .column_first = place->column_first },
        .at = at,
        .stride_bytes = stride_bytes,
        .row_bytes = columns * (dtype == SKN_DTYPE_BF16 ? 2 : 4),
    };
    name_piece(&view, place, part);
    return view;
}

/* Returns the view of a vector with one element every `stride_bytes`. */
static skn_tensor_view_t
vector_view(const skn_tensor_place_t *place, const char *part,
            skn_dtype_t dtype, unsigned char *at, size_t stride_bytes,
            uint64_t count, uint64_t global_count, uint64_t first)
{
    skn_tensor_view_t view = {
        .piece = { .dtype = dtype,
                   .dims = 1,
                   .rows = count,
                   .columns = 1,
                   .global_rows = global_count,
                   .global_columns = 1,
                   .row_first = first },
        .at = at,
        .stride_bytes = stride_bytes,
        .row_bytes = dtype == SKN_DTYPE_BF16 ? 2 : 4,
    };
    name_piece(&view, place, part);
    return view;
}

static uint32_t
weight_views(const skn_rows_t *rows, const skn_tensor_place_t *place,
             skn_tensor_view_t *view)
{
    bool half = skn_rows_are_bf16(rows);
    size_t item = half ? 2 : 4;
    skn_dtype_t dtype = half ? SKN_DTYPE_BF16 : SKN_DTYPE_F32;
    uint64_t last_row = rows->row_count - 1;
    uint64_t last_column = rows->width - 1;
    if (place->no_bias) {
        view[0] = matrix_view(place, "weight", dtype, rows->at,
                              rows->stride_bytes, rows->row_count, rows->width,
                              place->global_rows, place->global_columns);
        return 1;
    }
    if (place->bias_row) {
        view[0] = matrix_view(place, "weight", dtype, rows->at,
                              rows->stride_bytes, last_row, rows->width,
                              place->global_rows, place->global_columns);
        view[1] = vector_view(
            place, "bias", dtype, rows->at + last_row * rows->stride_bytes,
            item, rows->width, place->global_columns, place->column_first);
        return 2;
    }
    view[0] = matrix_view(place, "weight", dtype, rows->at, rows->stride_bytes,
                          rows->row_count, last_column, place->global_rows,
                          place->global_columns);
    view[1] = vector_view(place, "bias", dtype, rows->at + last_column * item,
                          rows->stride_bytes, rows->row_count,
                          place->global_rows, place->row_first);
    return 2;
}

uint32_t
skn_tensors_of(const skn_rows_t *rows, const skn_tensor_place_t *place,
               bool reading, skn_tensor_view_t *view)
{
    uint32_t count = weight_views(rows, place, view);
    /* Moments include the bias: one row, or one column, more. */
    uint64_t all_rows = place->global_rows + (place->bias_row ? 1 : 0);
    uint64_t all_columns =
        place->global_columns + (place->bias_row || place->no_bias ? 0 : 1);
    size_t stride = rows->moment_stride_bytes;
    unsigned char *part1 = (unsigned char *)skn_rows_moment(rows, 0, 1);
    unsigned char *part2 = (unsigned char *)skn_rows_moment(rows, 0, 2);
    /* Column shards of one row are touched together, so only the first writes
     * its steps. */
    bool has_bias = reading || !place->bias_row || place->slice == 0;
    if (rows->kind == SKN_ROWS_ADAM) {
        view[count++] =
            matrix_view(place, "m", SKN_DTYPE_F32, part1, stride,
                        rows->row_count, rows->width, all_rows, all_columns);
        view[count++] =
            matrix_view(place, "v", SKN_DTYPE_F32, part2, stride,
                        rows->row_count, rows->width, all_rows, all_columns);
        if (has_bias)
            view[count++] = vector_view(place, "step", SKN_DTYPE_U32,
                                        (unsigned char *)skn_rows_step(rows, 0),
                                        rows->stride_bytes, rows->row_count,
                                        all_rows, place->row_first);
    }
    if (rows->kind == SKN_ROWS_ADAGRAD || rows->kind == SKN_ROWS_ADAGRAD_BF16)
        view[count++] = matrix_view(place, "sum", SKN_DTYPE_F32, part1, stride,
                                    rows->row_count, 1, all_rows, 1);
    if (rows->kind == SKN_ROWS_ADAGRAD_SLICED) {
        skn_tensor_view_t *sum = &view[count++];
        *sum = matrix_view(place, "sum", SKN_DTYPE_F32, part1, stride,
                           rows->row_count, skn_rows_sums(rows), all_rows,
                           skn_slice_blocks(place->global_columns));
        sum->piece.column_first = place->column_first / SKN_SLICE_COLUMNS;
    }
    return count;
}

skn_status_t
skn_tensors_load(skn_checkpoint_t *checkpoint, const skn_tensor_view_t *view,
                 uint32_t count, skn_error_t *error)
{
    for (uint32_t k = 0; k < count; k++) {
        const skn_piece_t *piece = &view[k].piece;
        const skn_checkpoint_tensor_t *tensor =
            skn_checkpoint_find(checkpoint, piece->name);
        if (tensor && tensor->dtype != piece->dtype)
            return skn_fail(error, SKN_BAD_DATA,
                            "tensor %s of the checkpoint is %s, not %s",
                            piece->name, skn_dtype_name(tensor->dtype),
                            skn_dtype_name(piece->dtype));
        skn_status_t status = skn_checkpoint_read_block(
            checkpoint, piece->name, piece->row_first, piece->rows,
            piece->column_first, piece->columns, view[k].at,
            view[k].stride_bytes, error);
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}
