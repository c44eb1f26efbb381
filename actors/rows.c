/* rows.c - memory of rows and their first values.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "actors/block.h"
#include "kernels/philox.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define LINE_FLOATS 16 /* 64 bytes */
#define PART_FLOATS 4

static size_t
round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static size_t
stride_bytes(skn_rows_kind_t kind, uint32_t width)
{
    size_t part = round_up(width, PART_FLOATS);
    switch (kind) {
    case SKN_ROWS_ADAM:
        return round_up(3 * part + 1, LINE_FLOATS) * sizeof(float);
    case SKN_ROWS_ADAGRAD:
        return round_up(part + 1, LINE_FLOATS) * sizeof(float);
    case SKN_ROWS_ADAGRAD_SLICED:
        return round_up(part + skn_slice_blocks(width), LINE_FLOATS) *
               sizeof(float);
    case SKN_ROWS_SGD:
        return round_up(part, LINE_FLOATS) * sizeof(float);
    default:
        return round_up(width, 2 * LINE_FLOATS) * sizeof(uint16_t);
    }
}

size_t
skn_rows_bytes(skn_rows_kind_t kind, uint64_t row_count, uint32_t width)
{
    return round_up(row_count * stride_bytes(kind, width), HUGE_BYTES);
}

skn_status_t
skn_rows_init(skn_rows_t *rows, skn_rows_kind_t kind, uint32_t row_count,
              uint32_t width, bool huge, skn_error_t *error)
{
    memset(rows, 0, sizeof(*rows));
    rows->kind = kind;
    rows->row_count = row_count;
    rows->width = width;
    rows->sum_columns =
        kind == SKN_ROWS_ADAGRAD_SLICED ? SKN_SLICE_COLUMNS : width;
    rows->part_floats = round_up(width, PART_FLOATS);
    rows->stride_bytes = stride_bytes(kind, width);
    /* One huge page more, so that the start can be moved onto a boundary. */
    rows->map_bytes = skn_rows_bytes(kind, row_count, width) + HUGE_BYTES;
    void *map = mmap(NULL, rows->map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no room for %u rows of %u weights (%zu MiB): %s",
                        row_count, width, rows->map_bytes >> 20,
                        strerror(errno));
    size_t lead =
        round_up((size_t)(uintptr_t)map, HUGE_BYTES) - (size_t)(uintptr_t)map;
    if (lead > 0)
        (void)munmap(map, lead);
    rows->at = (unsigned char *)map + lead;
    rows->map_bytes -= lead;
    if (huge)
        (void)madvise(rows->at, rows->map_bytes, MADV_HUGEPAGE);
    return SKN_OK;
}

void
skn_rows_fini(skn_rows_t *rows)
{
    if (rows->at)
        (void)munmap(rows->at, rows->map_bytes);
    memset(rows, 0, sizeof(*rows));
}

skn_matrix_t
skn_rows_matrix(const skn_rows_t *rows, const uint32_t *index)
{
    skn_matrix_t matrix = { .column_stride = 1, .row_index = index };
    if (rows->kind == SKN_ROWS_SGD_BF16) {
        matrix.bf16 = skn_rows_weight_bf16(rows, 0);
        matrix.row_stride = rows->stride_bytes / sizeof(uint16_t);
    } else {
        matrix.at = skn_rows_weight(rows, 0);
        matrix.row_stride = rows->stride_bytes / sizeof(float);
    }
    return matrix;
}

void
skn_rows_set(const skn_rows_t *rows, const skn_kernels_t *kernels, size_t row,
             const float *weight)
{
    if (rows->kind == SKN_ROWS_SGD_BF16)
        kernels->f32_to_bf16(skn_rows_weight_bf16(rows, row), weight,
                             rows->width);
    else
        memcpy(skn_rows_weight(rows, row), weight, rows->width * sizeof(float));
}

void
skn_rows_get(const skn_rows_t *rows, const skn_kernels_t *kernels, size_t row,
             float *weight)
{
    if (rows->kind == SKN_ROWS_SGD_BF16)
        kernels->bf16_to_f32(weight, skn_rows_weight_bf16(rows, row),
                             rows->width);
    else
        memcpy(weight, skn_rows_weight(rows, row), rows->width * sizeof(float));
}

/* Four normal numbers out of one block of random bits. */
static void
normal4(skn_philox_t random, float *normal)
{
    for (int pair = 0; pair < 4; pair += 2) {
        /* (0, 1]: the logarithm is finite. */
        float u = 1.0f - skn_philox_unit(random.word[pair]);
        float angle = 6.2831853f * skn_philox_unit(random.word[pair + 1]);
        float radius = sqrtf(-2.0f * logf(u));
        normal[pair] = radius * cosf(angle);
        normal[pair + 1] = radius * sinf(angle);
    }
}

void
skn_rows_draw_normal(float *weight, uint32_t width, float deviation,
                     uint64_t key, uint32_t row, uint32_t column_first)
{
    float normal[4] = { 0 };
    uint32_t block = UINT32_MAX;
    for (uint32_t k = 0; k < width; k++) {
        uint32_t column = column_first + k;
        if (column / 4 != block) {
            block = column / 4;
            normal4(skn_philox_at(key, (uint64_t)block << 32 | row, 0), normal);
        }
        weight[k] = deviation * normal[column % 4];
    }
}
