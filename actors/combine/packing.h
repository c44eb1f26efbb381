/* packing.h - numbers of [rows][columns] at the open positions alone.
 *
 * Where ReLU was closed, or a unit was dropped, the gradient of an activation
 * has no use. Who forms it saw the activation: a position is open if its value
 * there is not 0. Who gets it has sent the activation, and knows the same
 * positions; only how many there are in each row travels, as a check.
 *
 *     mask     .5  0  2      x      1  2  3      packed   1 3
 *               0  0  1             4  5  6               6
 *     open[i]: 2, 1; a row may be left out as a whole: 0
 *
 * Pure functions.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COMBINE_PACKING_H
#define ACTORS_COMBINE_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

typedef struct skn_packing {
    const float *mask; /* [rows][stride] */
    size_t stride;
    uint32_t rows, columns;
    const skn_kernels_t *kernels; /* NULL: number by number, ten times slower */
} skn_packing_t;

/* Counts the open positions of each row; returns their sum. */
size_t skn_packing_count(const skn_packing_t *packing, uint32_t *open);
/* `packed` from x[rows][x_stride]; open[i] is what was counted, or 0. */
void skn_packing_pack(const skn_packing_t *packing, const uint32_t *open,
                      const float *x, size_t x_stride, float *packed);
/* x[rows][columns] from `packed`; 0 where nothing was sent. */
void skn_packing_unpack(const skn_packing_t *packing, const uint32_t *open,
                        const float *packed, float *x);

#endif
