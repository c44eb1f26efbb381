/* accumulator.c - adds up the row gradients of the batches of one step.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/accumulator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

#define WORD_BITS 64u

static size_t
words(const skn_accumulator_t *accumulator)
{
    return (accumulator->row_count + (size_t)WORD_BITS - 1) / WORD_BITS;
}

skn_status_t
skn_accumulator_open(skn_accumulator_t *accumulator,
                     const skn_kernels_t *kernels, uint32_t row_count,
                     uint32_t width, skn_error_t *error)
{
    accumulator->kernels = kernels;
    accumulator->row_count = row_count;
    accumulator->width = width;
    accumulator->own = skn_floats_new((size_t)row_count * width, error);
    accumulator->sums = accumulator->own;
    accumulator->scaled = skn_floats_new(width, error);
    accumulator->touched = calloc(words(accumulator), sizeof(uint64_t));
    return accumulator->own && accumulator->scaled && accumulator->touched
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY,
                          "no memory for the gradients of %u rows", row_count);
}

void
skn_accumulator_close(skn_accumulator_t *accumulator)
{
    free(accumulator->own);
    free(accumulator->scaled);
    free(accumulator->touched);
    *accumulator = (skn_accumulator_t){ 0 };
}

static float *
own_sum(const skn_accumulator_t *accumulator, uint32_t row)
{
    return accumulator->own + (size_t)row * accumulator->width;
}

/* Returns whether `row` had a sum. */
static bool
touch(skn_accumulator_t *accumulator, uint32_t row)
{
    uint64_t *word = &accumulator->touched[row / WORD_BITS];
    uint64_t bit = UINT64_C(1) << row % WORD_BITS;
    bool had = (*word & bit) != 0;
    *word |= bit;
    accumulator->touched_count += !had;
    return had;
}

static void
add_row(skn_accumulator_t *accumulator, uint32_t row, const float *gradient)
{
    float *sum = own_sum(accumulator, row);
    assert(row < accumulator->row_count);
    if (touch(accumulator, row))
        accumulator->kernels->add(sum, sum, gradient, accumulator->width);
    else
        memcpy(sum, gradient, accumulator->width * sizeof(float));
}

static bool
is_every_row(const skn_accumulator_t *accumulator, const uint32_t *unit,
             size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (unit[k] != k)
            return false;
    return count == accumulator->row_count;
}

void
skn_accumulator_add(skn_accumulator_t *accumulator, const uint32_t *unit,
                    size_t count, const float *gradients, bool stays)
{
    assert(accumulator->sums == accumulator->own);
    if (stays && accumulator->touched_count == 0 &&
        is_every_row(accumulator, unit, count)) {
        for (uint32_t row = 0; row < accumulator->row_count; row++)
            (void)touch(accumulator, row);
        accumulator->sums = gradients;
        return;
    }
    for (size_t k = 0; k < count; k++)
        add_row(accumulator, unit[k], gradients + k * accumulator->width);
}

void
skn_accumulator_touch_all(skn_accumulator_t *accumulator)
{
    for (uint32_t row = 0; row < accumulator->row_count; row++)
        if (!touch(accumulator, row))
            memset(own_sum(accumulator, row), 0,
                   accumulator->width * sizeof(float));
}

const float *
skn_accumulator_scaled(const skn_accumulator_t *accumulator, uint32_t row,
                       float factor)
{
    size_t width = accumulator->width;
    memcpy(accumulator->scaled, skn_accumulator_sum(accumulator, row),
           width * sizeof(float));
    accumulator->kernels->scale(accumulator->scaled, factor, width);
    return accumulator->scaled;
}

uint32_t
skn_accumulator_next(const skn_accumulator_t *accumulator, uint32_t row)
{
    for (; row < accumulator->row_count;
         row = (row / WORD_BITS + 1) * WORD_BITS) {
        uint64_t word =
            accumulator->touched[row / WORD_BITS] >> row % WORD_BITS;
        if (word)
            return row + (uint32_t)__builtin_ctzll(word);
    }
    return accumulator->row_count;
}

void
skn_accumulator_clear(skn_accumulator_t *accumulator)
{
    memset(accumulator->touched, 0, words(accumulator) * sizeof(uint64_t));
    accumulator->sums = accumulator->own;
    accumulator->touched_count = 0;
}
