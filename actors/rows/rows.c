/* rows.c - maps the memory of rows, and reads and writes their weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/rows.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "actors/protocol/block.h"
#include "actors/protocol/workspace.h"

#define PART_FLOATS 4

static size_t
round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/* The size of a part, in floats. */
static size_t
part_floats(skn_rows_kind_t kind, uint32_t width)
{
    size_t floats =
        kind == SKN_ROWS_ADAGRAD_BF16 ? ((size_t)width + 1) / 2 : width;
    return round_up(floats, PART_FLOATS);
}

static size_t
stride_bytes(skn_rows_kind_t kind, uint32_t width)
{
    size_t part = part_floats(kind, width);
    switch (kind) {
    case SKN_ROWS_ADAM:
        return round_up(3 * part + 1, SKN_LINE_FLOATS) * sizeof(float);
    case SKN_ROWS_ADAGRAD:
    case SKN_ROWS_ADAGRAD_BF16:
        return round_up(part + 1, SKN_LINE_FLOATS) * sizeof(float);
    case SKN_ROWS_ADAGRAD_SLICED:
        return round_up(part + skn_slice_blocks(width), SKN_LINE_FLOATS) *
               sizeof(float);
    case SKN_ROWS_SGD:
        return round_up(part, SKN_LINE_FLOATS) * sizeof(float);
    default:
        return round_up(width, 2 * SKN_LINE_FLOATS) * sizeof(uint16_t);
    }
}

size_t
skn_rows_bytes(skn_rows_kind_t kind, uint64_t row_count, uint32_t width)
{
    return round_up(row_count * stride_bytes(kind, width), SKN_HUGE_PAGE_BYTES);
}

/* Bytes of a row whose moments are in a file: weights and a step. */
static size_t
resident_stride_bytes(uint32_t width)
{
    return round_up(part_floats(SKN_ROWS_ADAM, width) + 1, SKN_LINE_FLOATS) *
           sizeof(float);
}

static size_t
offload_stride_bytes(uint32_t width)
{
    return round_up(2 * part_floats(SKN_ROWS_ADAM, width), SKN_LINE_FLOATS) *
           sizeof(float);
}

size_t
skn_rows_resident_bytes(uint64_t row_count, uint32_t width)
{
    return round_up(row_count * resident_stride_bytes(width),
                    SKN_HUGE_PAGE_BYTES);
}

size_t
skn_rows_offload_bytes(uint64_t row_count, uint32_t width)
{
    return round_up(row_count * offload_stride_bytes(width),
                    SKN_HUGE_PAGE_BYTES);
}

static void
shape(skn_rows_t *rows, skn_rows_kind_t kind, uint32_t row_count,
      uint32_t width)
{
    memset(rows, 0, sizeof(*rows));
    rows->kind = kind;
    rows->row_count = row_count;
    rows->width = width;
    rows->sum_columns =
        kind == SKN_ROWS_ADAGRAD_SLICED ? SKN_SLICE_COLUMNS : width;
    rows->part_floats = part_floats(kind, width);
}

/* Maps `bytes` for the rows. */
static skn_status_t
map_rows(skn_rows_t *rows, size_t bytes, bool huge, skn_error_t *error)
{
    /* One huge page more, so that the start can be moved onto a boundary. */
    rows->map_bytes = bytes + SKN_HUGE_PAGE_BYTES;
    void *map = mmap(NULL, rows->map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for %u rows of %u weights (%zu MiB): %s",
                        rows->row_count, rows->width, rows->map_bytes >> 20,
                        strerror(errno));
    size_t lead = round_up((size_t)(uintptr_t)map, SKN_HUGE_PAGE_BYTES) -
                  (size_t)(uintptr_t)map;
    if (lead > 0)
        (void)munmap(map, lead);
    rows->at = (unsigned char *)map + lead;
    rows->map_bytes -= lead;
    assert(rows->map_bytes >= bytes);
    if (huge)
        (void)madvise(rows->at, rows->map_bytes, MADV_HUGEPAGE);
    return SKN_OK;
}

skn_status_t
skn_rows_init(skn_rows_t *rows, skn_rows_kind_t kind, uint32_t row_count,
              uint32_t width, bool huge, skn_error_t *error)
{
    shape(rows, kind, row_count, width);
    rows->stride_bytes = stride_bytes(kind, width);
    skn_status_t status =
        map_rows(rows, skn_rows_bytes(kind, row_count, width), huge, error);
    if (status != SKN_OK)
        return status;
    rows->moment_at = rows->at + rows->part_floats * sizeof(float);
    rows->moment_stride_bytes = rows->stride_bytes;
    rows->step_floats = 3 * rows->part_floats;
    return SKN_OK;
}

skn_status_t
skn_rows_init_offloaded(skn_rows_t *rows, uint32_t row_count, uint32_t width,
                        bool huge, const char *folder, skn_error_t *error)
{
    shape(rows, SKN_ROWS_ADAM, row_count, width);
    rows->stride_bytes = resident_stride_bytes(width);
    rows->moment_stride_bytes = offload_stride_bytes(width);
    rows->step_floats = rows->part_floats;
    skn_status_t status =
        map_rows(rows, skn_rows_resident_bytes(row_count, width), huge, error);
    if (status == SKN_OK)
        status =
            skn_offload_open(&rows->offload, folder,
                             skn_rows_offload_bytes(row_count, width), error);
    if (status != SKN_OK) {
        skn_rows_fini(rows);
        return status;
    }
    rows->moment_at = rows->offload.at;
    return SKN_OK;
}

void
skn_rows_lend(skn_rows_t *rows, skn_rows_kind_t kind, uint32_t row_count,
              uint32_t width, const void *at)
{
    shape(rows, kind, row_count, width);
    rows->at = (unsigned char *)(uintptr_t)at;
    rows->stride_bytes =
        width * (skn_rows_are_bf16(rows) ? sizeof(uint16_t) : sizeof(float));
}

void
skn_rows_fini(skn_rows_t *rows)
{
    if (rows->map_bytes > 0)
        (void)munmap(rows->at, rows->map_bytes);
    skn_offload_close(&rows->offload);
    memset(rows, 0, sizeof(*rows));
}

skn_matrix_t
skn_rows_matrix(const skn_rows_t *rows, const uint32_t *index)
{
    skn_matrix_t matrix = { .column_stride = 1, .row_index = index };
    if (skn_rows_are_bf16(rows)) {
        matrix.bf16 = skn_rows_weight_bf16(rows, 0);
        matrix.row_stride = rows->stride_bytes / sizeof(uint16_t);
    } else {
        matrix.at = skn_rows_weight(rows, 0);
        matrix.row_stride = rows->stride_bytes / sizeof(float);
    }
    return matrix;
}

skn_matrix_t
skn_rows_matrix_from(const skn_rows_t *rows, size_t first)
{
    skn_matrix_t matrix = skn_rows_matrix(rows, NULL);
    if (matrix.at)
        matrix.at += first * matrix.row_stride;
    else
        matrix.bf16 += first * matrix.row_stride;
    return matrix;
}

skn_gemm_t
skn_rows_product(const skn_rows_t *rows, size_t first, size_t count,
                 const float *lower, size_t lower_stride, size_t samples)
{
    skn_matrix_t w = skn_rows_matrix_from(rows, first);
    return (skn_gemm_t){
        .m = samples,
        .n = count,
        .k = rows->width,
        .a = { .at = lower, .row_stride = lower_stride, .column_stride = 1 },
        .b = { .at = w.at,
               .bf16 = w.bf16,
               .row_stride = 1,
               .column_stride = w.row_stride },
    };
}

void
skn_rows_set(const skn_rows_t *rows, const skn_kernels_t *kernels, size_t row,
             const float *weight)
{
    if (skn_rows_are_bf16(rows))
        kernels->f32_to_bf16(skn_rows_weight_bf16(rows, row), weight,
                             rows->width);
    else
        memcpy(skn_rows_weight(rows, row), weight, rows->width * sizeof(float));
}

void
skn_rows_get(const skn_rows_t *rows, const skn_kernels_t *kernels, size_t row,
             float *weight)
{
    if (skn_rows_are_bf16(rows))
        kernels->bf16_to_f32(weight, skn_rows_weight_bf16(rows, row),
                             rows->width);
    else
        memcpy(weight, skn_rows_weight(rows, row), rows->width * sizeof(float));
}
