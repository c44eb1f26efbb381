/* accumulator.h - adds up the row gradients of the batches of one step.
 *
 * Rows keep their sum until the step is done. A row that no batch of the step
 * touched has none, and costs nothing: its memory is not even read. One thread,
 * the updater's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_ACCUMULATOR_H
#define ACTORS_ROWS_ACCUMULATOR_H

#include "kernels/kernels.h"
#include "skein/error.h"

typedef struct skn_accumulator {
    const skn_kernels_t *kernels;
    uint32_t row_count, width;
    float *sum;        /* [row_count][width]; valid where touched */
    uint64_t *touched; /* a bit a row */
    uint32_t touched_count;
} skn_accumulator_t;

/* Makes room for rows of `width` floats. SKN_NO_MEMORY. Freed by close, also
 * after a failure. */
skn_status_t skn_accumulator_open(skn_accumulator_t *accumulator,
                                  const skn_kernels_t *kernels,
                                  uint32_t row_count, uint32_t width,
                                  skn_error_t *error);
void skn_accumulator_close(skn_accumulator_t *accumulator);

/* Adds the gradient [width] of `row`, which is below row_count. */
void skn_accumulator_add(skn_accumulator_t *accumulator, uint32_t row,
                         const float *gradient);
/* Gives every row without a sum one of zeros. */
void skn_accumulator_touch_all(skn_accumulator_t *accumulator);
/* The first row from `row` on that has a sum; row_count: none. */
uint32_t skn_accumulator_next(const skn_accumulator_t *accumulator,
                              uint32_t row);
static inline float *
skn_accumulator_sum(const skn_accumulator_t *accumulator, uint32_t row)
{
    return accumulator->sum + (size_t)row * accumulator->width;
}
/* The step is done: no row has a sum. */
void skn_accumulator_clear(skn_accumulator_t *accumulator);

#endif
