/* tensors.h - describes a shard's rows as rectangles of the global tensors of a
 * checkpoint, with their addresses in memory.
 *
 *     LAYER.weight [rows][units below]   LAYER.bias [rows], unless no_bias
 *     LAYER.m, LAYER.v, LAYER.step  (adam)
 *     LAYER.sum [rows][1], or of an embedding [rows][blocks of 8 columns]
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_TENSORS_H
#define ACTORS_ROWS_TENSORS_H

#include "actors/rows/rows.h"
#include "formats/checkpoint/checkpoint.h"

/* The position of a shard in its layer. `bias_row`: the last row is the bias
 * and the shard is a slice of columns (embedding); else the last column is the
 * bias and the shard is a range of rows. */
typedef struct skn_tensor_place {
    const char *layer; /* its name */
    bool bias_row;
    bool no_bias;                         /* all of a row are weights */
    uint64_t global_rows, global_columns; /* of LAYER.weight */
    uint64_t row_first, column_first;
    uint32_t slice; /* bias_row: number of the column shard */
} skn_tensor_place_t;

#define SKN_TENSOR_VIEWS_MAX 7

/* Fills `view` (room for SKN_TENSOR_VIEWS_MAX); returns the count. Tensors that
 * are the same in all column shards are written by the first and read by
 * each. */
uint32_t skn_tensors_of(const skn_rows_t *rows, const skn_tensor_place_t *place,
                        bool reading, skn_tensor_view_t *view);

/* Reads all views from an open checkpoint into the rows. Moments that the
 * checkpoint lacks (another optimizer wrote it), and those in another number
 * format, are SKN_BAD_DATA. */
skn_status_t skn_tensors_load(skn_checkpoint_t *checkpoint,
                              const skn_tensor_view_t *view, uint32_t count,
                              skn_error_t *error);

#endif
