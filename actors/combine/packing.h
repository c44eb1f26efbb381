/* packing.h - packs a [rows][columns] array into the numbers at open positions.
 *
 * Where ReLU was closed, or a unit was dropped, the gradient of an activation
 * is not needed. The sender of the gradient has seen the activation: a position
 * is open if its value there is not 0. The receiver has sent that activation
 * and knows the same positions; only their number in each row is sent, as a
 * check.
 *
 *     mask     .5  0  2      x      1  2  3      packed   1 3
 *               0  0  1             4  5  6               6
 *     open[i]: 2, 1; a row may be left out as a whole: 0
 *
 * Pure functions.
 * SPDX-License-Identifier: Apache-2.0 */
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
/* Fills `packed` from x[rows][x_stride]; open[i] is the counted number, or
 * 0. */
void skn_packing_pack(const skn_packing_t *packing, const uint32_t *open,
                      const float *x, size_t x_stride, float *packed);
/* Fills x[rows][columns] from `packed`; 0 at all other positions. */
void skn_packing_unpack(const skn_packing_t *packing, const uint32_t *open,
                        const float *packed, float *x);

#endif
