/* packing.c - open positions, row by row.
 *
 * Whether a position is open is as good as random, so that no branch may depend
 * on it: each position is written, and counted or not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/packing.h"

#include <string.h>

size_t
skn_packing_count(const skn_packing_t *packing, uint32_t *open)
{
    size_t sum = 0;
    for (size_t i = 0; i < packing->rows; i++) {
        const float *mask = packing->mask + i * packing->stride;
        uint32_t count = 0;
        for (uint32_t c = 0; c < packing->columns; c++)
            count += mask[c] != 0.0f;
        open[i] = count;
        sum += count;
    }
    return sum;
}

void
skn_packing_pack(const skn_packing_t *packing, const uint32_t *open,
                 const float *x, size_t x_stride, float *packed)
{
    for (size_t i = 0; i < packing->rows; i++) {
        const float *mask = packing->mask + i * packing->stride;
        const float *from = x + i * x_stride;
        uint32_t count = 0;
        for (uint32_t c = 0; count < open[i] && c < packing->columns; c++) {
            packed[count] = from[c];
            count += mask[c] != 0.0f;
        }
        packed += open[i];
    }
}

void
skn_packing_unpack(const skn_packing_t *packing, const uint32_t *open,
                   const float *packed, float *x)
{
    for (size_t i = 0; i < packing->rows; i++) {
        const float *mask = packing->mask + i * packing->stride;
        float *to = x + i * packing->columns;
        uint32_t count = 0, c = 0;
        for (; count < open[i] && c < packing->columns; c++) {
            float value = packed[count];
            to[c] = mask[c] != 0.0f ? value : 0.0f;
            count += mask[c] != 0.0f;
        }
        memset(to + c, 0, (packing->columns - c) * sizeof(*to));
        packed += open[i];
    }
}
