/* slicing.c - cuts the units of a hidden layer into slices, evenly or by
 * weight.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/slicing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/block.h"

uint32_t
skn_slicing_weighted(uint32_t units, uint32_t slices, uint32_t slice,
                     uint64_t before, uint64_t all)
{
    assert(slice <= slices && before <= all);
    uint32_t blocks = units / SKN_SLICE_COLUMNS;
    if (slice == slices)
        return units;
    if (blocks < slices)
        return skn_slice_first(units, slices, slice);
    uint64_t more =
        ((uint64_t)(blocks - slices) * before * 2 + all) / (2 * all);
    return (slice + (uint32_t)more) * SKN_SLICE_COLUMNS;
}

/* Reads the weight of each slice; false: bad text, or another number of
 * slices. */
static bool
read_weights(const char *text, uint32_t slices, uint64_t *weight)
{
    uint32_t count = 0;
    uint64_t all = 0;
    while (*text) {
        char *end = NULL;
        errno = 0;
        uint64_t runs = strtoull(text, &end, 10);
        if (end == text || *end != 'x' || runs == 0 || runs > slices - count)
            return false;
        text = end + 1;
        uint64_t one = strtoull(text, &end, 10);
        if (end == text || errno != 0 || one == 0 ||
            one > SKN_SLICING_WEIGHT_MAX / SKN_SHARD_MAX ||
            (*end != ',' && *end != '\0'))
            return false;
        for (; runs > 0; runs--)
            all += weight[count++] = one;
        text = *end ? end + 1 : end;
    }
    return count == slices && all < SKN_SLICING_WEIGHT_MAX;
}

static void
cut(skn_slicing_t *slicing, uint32_t units, const uint64_t *weight)
{
    uint64_t before = 0, all = 0;
    for (uint32_t k = 0; k < slicing->slices; k++)
        all += weight[k];
    for (uint32_t k = 0; k < slicing->slices; k++) {
        slicing->first[k] =
            skn_slicing_weighted(units, slicing->slices, k, before, all);
        before += weight[k];
    }
}

skn_status_t
skn_slicing_make(skn_slicing_t *slicing, uint32_t units, uint32_t slices,
                 const char *weights, const char *name, skn_error_t *error)
{
    slicing->slices = slices;
    slicing->first = calloc(slices + (size_t)1, sizeof(*slicing->first));
    uint64_t *weight = calloc(slices, sizeof(*weight));
    skn_status_t status = SKN_OK;
    if (!slicing->first || !weight)
        status =
            skn_fail(error, SKN_NO_MEMORY, "no memory for %u slices", slices);
    else if (weights[0] && !read_weights(weights, slices, weight))
        status = skn_fail(error, SKN_BAD_CONFIG,
                          "%s: slice_weights '%.64s' do not describe %u slices",
                          name, weights, slices);
    else if (weights[0])
        cut(slicing, units, weight);
    else
        for (uint32_t k = 0; k < slices; k++)
            slicing->first[k] = skn_slice_first(units, slices, k);
    if (status == SKN_OK)
        slicing->first[slices] = units;
    free(weight);
    return status;
}

void
skn_slicing_fini(skn_slicing_t *slicing)
{
    free(slicing->first);
    *slicing = (skn_slicing_t){ 0 };
}

uint32_t
skn_slicing_width(const skn_slicing_t *slicing, uint32_t slice)
{
    assert(slice < slicing->slices &&
           slicing->first[slice] <= slicing->first[slice + 1]);
    return slicing->first[slice + 1] - slicing->first[slice];
}

uint32_t
skn_slicing_widest(const skn_slicing_t *slicing)
{
    uint32_t widest = 0;
    for (uint32_t k = 0; k < slicing->slices; k++)
        if (skn_slicing_width(slicing, k) > widest)
            widest = skn_slicing_width(slicing, k);
    return widest;
}
