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
    float *own;        /* [row_count][width] sums; valid where touched */
    const float *sums; /* own, or the gradients that stay */
    float *scaled;     /* [width] */
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

/* Adds the gradients [count][width] of the rows `unit`, each once and below
 * row_count. `stays`: they are not freed before the step is done; if they are
 * those of all rows in order, and the step's first, they are not copied. */
void skn_accumulator_add(skn_accumulator_t *accumulator, const uint32_t *unit,
                         size_t count, const float *gradients, bool stays);
/* Gives every row without a sum one of zeros. */
void skn_accumulator_touch_all(skn_accumulator_t *accumulator);
/* The first row from `row` on that has a sum; row_count: none. */
uint32_t skn_accumulator_next(const skn_accumulator_t *accumulator,
                              uint32_t row);
static inline const float *
skn_accumulator_sum(const skn_accumulator_t *accumulator, uint32_t row)
{
    return accumulator->sums + (size_t)row * accumulator->width;
}
/* The sum of a row times `factor`, until the next call. */
const float *skn_accumulator_scaled(const skn_accumulator_t *accumulator,
                                    uint32_t row, float factor);
/* The step is done: no row has a sum. */
void skn_accumulator_clear(skn_accumulator_t *accumulator);

#endif
