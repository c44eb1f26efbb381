/* test_tensors.c - tests the positions of shards' rows in global tensors.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "actors/protocol/block.h"
#include "actors/rows/tensors.h"

#define ROWS 21 /* without a bias row */
#define COLUMNS 24
#define SHARDS_MAX 3

/* What stands at a place of a tensor: its part of the row (0: weights), the
 * global row and column; a bias has the row or column behind the last. */
static float
cell(int part, uint64_t row, uint64_t column)
{
    return (float)(part * 10000) + (float)row * 100 + (float)column;
}

static const skn_rows_kind_t kinds[] = { SKN_ROWS_ADAM, SKN_ROWS_ADAGRAD,
                                         SKN_ROWS_SGD };

typedef struct shard {
    skn_rows_t rows;
    skn_tensor_place_t place;
} shard_t;

static bool
has_sums(skn_rows_kind_t kind)
{
    return kind == SKN_ROWS_ADAGRAD || kind == SKN_ROWS_ADAGRAD_SLICED;
}

/* Slices of columns with a bias row, or ranges of rows with a bias column. */
static void
shard_init(shard_t *shard, skn_rows_kind_t kind, bool bias_row, uint32_t number,
           uint32_t shards)
{
    uint32_t first = bias_row ? skn_slice_first(COLUMNS, shards, number)
                              : ROWS * number / shards;
    uint32_t end = bias_row ? skn_slice_first(COLUMNS, shards, number + 1)
                            : ROWS * (number + 1) / shards;
    uint32_t row_count = bias_row ? ROWS + 1 : end - first;
    uint32_t width = bias_row ? end - first : COLUMNS + 1;
    shard->place = (skn_tensor_place_t){
        .layer = "layer",
        .bias_row = bias_row,
        .global_rows = ROWS,
        .global_columns = COLUMNS,
        .row_first = bias_row ? 0 : first,
        .column_first = bias_row ? first : 0,
        .slice = number,
    };
    cr_assert_eq(
        skn_rows_init(&shard->rows, kind, row_count, width, false, NULL),
        SKN_OK);
    for (uint32_t row = 0; row < row_count; row++) {
        uint64_t r = shard->place.row_first + row;
        for (uint32_t c = 0; c < width; c++)
            for (int part = 0; part < (kind == SKN_ROWS_ADAM ? 3 : 1); part++)
                skn_rows_moment(&shard->rows, row, part)[c] =
                    cell(part, r, shard->place.column_first + c);
        if (kind == SKN_ROWS_ADAM)
            *skn_rows_step(&shard->rows, row) = (uint32_t)(7000 + r);
        for (uint32_t c = 0; has_sums(kind) && c < skn_rows_sums(&shard->rows);
             c++)
            skn_rows_moment(&shard->rows, row, 1)[c] =
                cell(1, r, bias_row ? first / SKN_SLICE_COLUMNS + c : 0);
    }
}

/* What the element at (row, column) of tensor `name` must be. */
static float
wanted(const char *name, bool bias_row, uint64_t row, uint64_t column)
{
    if (strcmp(name, "layer.weight") == 0)
        return cell(0, row, column);
    if (strcmp(name, "layer.bias") == 0)
        return bias_row ? cell(0, ROWS, row) : cell(0, row, COLUMNS);
    if (strcmp(name, "layer.m") == 0 || strcmp(name, "layer.sum") == 0)
        return cell(1, row, column);
    cr_assert_str_eq(name, "layer.v");
    return cell(2, row, column);
}

static void
check_view(const skn_tensor_view_t *view, bool bias_row, uint8_t *seen)
{
    const skn_piece_t *piece = &view->piece;
    cr_assert_leq(piece->row_first + piece->rows, piece->global_rows);
    cr_assert_leq(piece->column_first + piece->columns, piece->global_columns);
    cr_assert_eq(view->row_bytes, piece->columns * 4);
    for (uint64_t r = 0; r < piece->rows; r++) {
        for (uint64_t c = 0; c < piece->columns; c++) {
            uint64_t row = piece->row_first + r;
            uint64_t column = piece->column_first + c;
            float value;
            uint32_t step;
            memcpy(&value, view->at + r * view->stride_bytes + c * 4, 4);
            memcpy(&step, &value, 4);
            seen[row * piece->global_columns + column]++;
            if (piece->dtype == SKN_DTYPE_U32)
                cr_assert_eq(step, 7000 + row);
            else
                cr_assert_eq(value, wanted(piece->name, bias_row, row, column),
                             "%s [%lu][%lu] is %g", piece->name,
                             (unsigned long)row, (unsigned long)column,
                             (double)value);
        }
    }
}

/* Each element of each tensor is written by exactly one shard. */
static void
expect_all_written_once(skn_rows_kind_t kind, bool bias_row, uint32_t shards)
{
    static uint8_t seen[SKN_TENSOR_VIEWS_MAX][(ROWS + 1) * (COLUMNS + 1)];
    uint64_t cells[SKN_TENSOR_VIEWS_MAX] = { 0 };
    uint32_t most = 0;
    memset(seen, 0, sizeof(seen));
    for (uint32_t number = 0; number < shards; number++) {
        shard_t shard;
        skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
        shard_init(&shard, kind, bias_row, number, shards);
        uint32_t count = skn_tensors_of(&shard.rows, &shard.place, false, view);
        for (uint32_t k = 0; k < count; k++) {
            cells[k] = view[k].piece.global_rows * view[k].piece.global_columns;
            check_view(&view[k], bias_row, seen[k]);
        }
        most = count > most ? count : most;
        skn_rows_fini(&shard.rows);
    }
    cr_expect_eq(most, kind == SKN_ROWS_ADAM ? 5 : has_sums(kind) ? 3 : 2);
    for (uint32_t k = 0; k < most; k++)
        for (uint64_t c = 0; c < cells[k]; c++)
            cr_assert_eq(seen[k][c], 1, "tensor %u, element %lu: %u times", k,
                         (unsigned long)c, seen[k][c]);
}

Test(tensors, each_element_is_written_by_exactly_one_shard)
{
    for (size_t k = 0; k < 3; k++)
        for (uint32_t shards = 1; shards <= SHARDS_MAX; shards++) {
            if (kinds[k] != SKN_ROWS_ADAGRAD) /* an embedding's is sliced */
                expect_all_written_once(kinds[k], true, shards);
            expect_all_written_once(kinds[k], false, shards);
        }
    for (uint32_t shards = 1; shards <= SHARDS_MAX; shards++)
        expect_all_written_once(SKN_ROWS_ADAGRAD_SLICED, true, shards);
}

Test(tensors, every_column_shard_reads_the_steps_that_the_first_writes)
{
    for (uint32_t number = 0; number < 2; number++) {
        shard_t shard;
        skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
        shard_init(&shard, SKN_ROWS_ADAM, true, number, 2);
        cr_expect_eq(skn_tensors_of(&shard.rows, &shard.place, true, view), 5);
        cr_expect_str_eq(view[4].piece.name, "layer.step");
        cr_expect_eq(skn_tensors_of(&shard.rows, &shard.place, false, view),
                     number == 0 ? 5 : 4);
        skn_rows_fini(&shard.rows);
    }
}

Test(tensors, rows_of_bf16_are_tensors_of_bf16)
{
    skn_rows_t rows;
    skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
    skn_tensor_place_t place = {
        .layer = "output", .global_rows = 9, .global_columns = 6, .row_first = 4
    };
    cr_assert_eq(skn_rows_init(&rows, SKN_ROWS_SGD_BF16, 5, 7, false, NULL),
                 SKN_OK);
    for (uint32_t row = 0; row < 5; row++)
        for (uint32_t c = 0; c < 7; c++)
            skn_rows_weight_bf16(&rows, row)[c] = (uint16_t)(row * 100 + c);
    cr_assert_eq(skn_tensors_of(&rows, &place, false, view), 2);
    for (uint32_t k = 0; k < 2; k++) {
        cr_expect_eq(view[k].piece.dtype, SKN_DTYPE_BF16);
        cr_expect_eq(view[k].piece.row_first, 4);
        for (uint32_t row = 0; row < 5; row++) {
            uint16_t got;
            memcpy(&got, view[k].at + row * view[k].stride_bytes, 2);
            cr_expect_eq(got, row * 100 + (k == 0 ? 0 : 6));
        }
    }
    cr_expect_eq(view[0].row_bytes, 12);
    cr_expect_eq(view[1].row_bytes, 2);
    skn_rows_fini(&rows);
}

Test(tensors, rows_of_bf16_have_sums_of_floats)
{
    skn_rows_t rows;
    skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
    skn_tensor_place_t place = {
        .layer = "output", .global_rows = 9, .global_columns = 6, .row_first = 4
    };
    cr_assert_eq(skn_rows_init(&rows, SKN_ROWS_ADAGRAD_BF16, 5, 7, false, NULL),
                 SKN_OK);
    for (uint32_t row = 0; row < 5; row++)
        *skn_rows_moment(&rows, row, 1) = (float)row + 0.5f;
    cr_assert_eq(skn_tensors_of(&rows, &place, false, view), 3);
    cr_expect_eq(view[0].piece.dtype, SKN_DTYPE_BF16);
    cr_expect_eq(view[1].piece.dtype, SKN_DTYPE_BF16);
    cr_expect_str_eq(view[2].piece.name, "output.sum");
    cr_expect_eq(view[2].piece.dtype, SKN_DTYPE_F32);
    cr_expect_eq(view[2].row_bytes, 4);
    for (uint32_t row = 0; row < 5; row++) {
        float got;
        memcpy(&got, view[2].at + row * view[2].stride_bytes, 4);
        cr_expect_eq(got, (float)row + 0.5f);
    }
    skn_rows_fini(&rows);
}
