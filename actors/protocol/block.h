/* block.h - sizes of blocks, the smallest units of ownership of a layer's rows
 * or units.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_BLOCK_H
#define ACTORS_PROTOCOL_BLOCK_H

#include <stdint.h>

#include "skein/limits.h"

/* Rows in a block, from the number of rows alone (docs/concepts/equations.md,
 * (53)): the greatest power of two that leaves at least SKN_BLOCKS_MIN blocks,
 * at most SKN_BLOCK_ROWS_MAX, at least 1. */
static inline uint32_t
skn_block_rows(uint64_t row_count)
{
    uint32_t rows = 1;
    while (rows < SKN_BLOCK_ROWS_MAX &&
           (uint64_t)rows * 2 * SKN_BLOCKS_MIN <= row_count)
        rows *= 2;
    return rows;
}

static inline uint64_t
skn_block_count(uint64_t row_count)
{
    uint32_t rows = skn_block_rows(row_count);
    return (row_count + rows - 1) / rows;
}

/* Hidden units are cut only at multiples of these columns: the noise of dropout
 * needs it, and values that are stored or summed for each block of them
 * (Adagrad's sums, the gradient that a dense layer sends down) are the same for
 * every number of slices. */
#define SKN_SLICE_COLUMNS 8u

static inline uint32_t
skn_slice_blocks(uint64_t columns)
{
    return (uint32_t)((columns + SKN_SLICE_COLUMNS - 1) / SKN_SLICE_COLUMNS);
}

/* First column of slice `slice` of `columns` hidden units cut into `slices`
 * slices. */
static inline uint32_t
skn_slice_first(uint32_t columns, uint32_t slices, uint32_t slice)
{
    return slice == slices ? columns
                           : (uint32_t)((uint64_t)columns * slice / slices /
                                        SKN_SLICE_COLUMNS * SKN_SLICE_COLUMNS);
}

#endif
