/* packing.c - packs and unpacks numbers at open positions, row by row.
 *
 * Whether a position is open is practically random, so no branch may depend on
 * it: each position is written, and counted or not; with kernels, a vector of
 * positions at a time, with a bit for each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/combine/packing.h"

#include <string.h>

/* Columns whose bits are computed in one go. */
#define PACKING_STRIP 512u
#define NOT_ZERO 0x7fffffffu /* any of these bits set: neither 0 nor -0 */

/* --- one row ------------------------------------------------------------- */

static uint32_t
strip_at(uint32_t columns, uint32_t c)
{
    return columns - c < PACKING_STRIP ? columns - c : PACKING_STRIP;
}

static uint32_t
count_row(const skn_packing_t *packing, const float *mask)
{
    uint8_t bits[PACKING_STRIP / 8];
    uint32_t columns = packing->columns, count = 0;
    for (uint32_t c = 0; !packing->kernels && c < columns; c++)
        count += mask[c] != 0.0f;
    for (uint32_t c = 0; packing->kernels && c < columns; c += PACKING_STRIP)
        count += (uint32_t)packing->kernels->nonzero_bits(
            bits, mask + c, strip_at(columns, c), NOT_ZERO);
    return count;
}

/* The kernel may write as many numbers as it reads: there is room for `room`,
 * those of this row and of the rows after it. False if `count` was wrong. */
static bool
pack_row(const skn_packing_t *packing, const float *mask, const float *from,
         uint32_t count, float *packed, size_t room)
{
    const skn_kernels_t *kernels = packing->kernels;
    uint8_t bits[PACKING_STRIP / 8];
    float last[PACKING_STRIP];
    size_t used = 0;
    for (uint32_t c = 0; c < packing->columns; c += PACKING_STRIP) {
        uint32_t n = strip_at(packing->columns, c);
        float *to = room - used < n ? last : packed + used;
        size_t open = kernels->nonzero_bits(bits, mask + c, n, NOT_ZERO);
        if (open > count - used)
            return false;
        (void)kernels->pack_nonzero(to, from + c, bits, n);
        if (to == last)
            memcpy(packed + used, last, open * sizeof(*packed));
        used += open;
    }
    return true;
}

static bool
unpack_row(const skn_packing_t *packing, const float *mask, uint32_t count,
           const float *packed, float *to)
{
    const skn_kernels_t *kernels = packing->kernels;
    uint8_t bits[PACKING_STRIP / 8];
    size_t used = 0;
    for (uint32_t c = 0; c < packing->columns; c += PACKING_STRIP) {
        uint32_t n = strip_at(packing->columns, c);
        size_t open = kernels->nonzero_bits(bits, mask + c, n, NOT_ZERO);
        if (open > count - used)
            return false;
        kernels->unpack_nonzero(to + c, packed + used, open, bits, n);
        used += open;
    }
    return true;
}

/* --- all rows ------------------------------------------------------------ */

size_t
skn_packing_count(const skn_packing_t *packing, uint32_t *open)
{
    size_t sum = 0;
    for (size_t i = 0; i < packing->rows; i++) {
        open[i] = count_row(packing, packing->mask + i * packing->stride);
        sum += open[i];
    }
    return sum;
}

static size_t
sum_of(const uint32_t *open, size_t rows)
{
    size_t sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += open[i];
    return sum;
}

void
skn_packing_pack(const skn_packing_t *packing, const uint32_t *open,
                 const float *x, size_t x_stride, float *packed)
{
    size_t room = packing->kernels ? sum_of(open, packing->rows) : 0;
    for (size_t i = 0; i < packing->rows; i++) {
        const float *mask = packing->mask + i * packing->stride;
        const float *from = x + i * x_stride;
        uint32_t count = 0;
        if (packing->kernels && open[i] > 0 &&
            pack_row(packing, mask, from, open[i], packed, room))
            count = open[i];
        room -= packing->kernels ? open[i] : 0;
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
        if (packing->kernels && open[i] > 0 &&
            unpack_row(packing, mask, open[i], packed, to)) {
            packed += open[i];
            continue;
        }
        for (; count < open[i] && c < packing->columns; c++) {
            float value = packed[count];
            to[c] = mask[c] != 0.0f ? value : 0.0f;
            count += mask[c] != 0.0f;
        }
        memset(to + c, 0, (packing->columns - c) * sizeof(*to));
        packed += open[i];
    }
}
