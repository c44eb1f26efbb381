/* cuts.c - cuts the units of a hidden layer into slices, evenly or by weight.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/cuts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/block.h"

uint32_t
skn_cuts_weighted(uint32_t units, uint32_t slices, uint32_t slice,
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
            one > SKN_CUTS_WEIGHT_MAX / SKN_SHARD_MAX ||
            (*end != ',' && *end != '\0'))
            return false;
        for (; runs > 0; runs--)
            all += weight[count++] = one;
        text = *end ? end + 1 : end;
    }
    return count == slices && all < SKN_CUTS_WEIGHT_MAX;
}

static void
cut(skn_cuts_t *cuts, uint32_t units, const uint64_t *weight)
{
    uint64_t before = 0, all = 0;
    for (uint32_t k = 0; k < cuts->slices; k++)
        all += weight[k];
    for (uint32_t k = 0; k < cuts->slices; k++) {
        cuts->first[k] = skn_cuts_weighted(units, cuts->slices, k, before, all);
        before += weight[k];
    }
}

skn_status_t
skn_cuts_make(skn_cuts_t *cuts, uint32_t units, uint32_t slices,
              const char *weights, const char *name, skn_error_t *error)
{
    cuts->slices = slices;
    cuts->first = calloc(slices + (size_t)1, sizeof(*cuts->first));
    uint64_t *weight = calloc(slices, sizeof(*weight));
    skn_status_t status = SKN_OK;
    if (!cuts->first || !weight)
        status =
            skn_fail(error, SKN_NO_MEMORY, "no room for %u slices", slices);
    else if (weights[0] && !read_weights(weights, slices, weight))
        status = skn_fail(error, SKN_BAD_CONFIG,
                          "%s: slice_weights '%.64s' are not those of %u "
                          "slices",
                          name, weights, slices);
    else if (weights[0])
        cut(cuts, units, weight);
    else
        for (uint32_t k = 0; k < slices; k++)
            cuts->first[k] = skn_slice_first(units, slices, k);
    if (status == SKN_OK)
        cuts->first[slices] = units;
    free(weight);
    return status;
}

void
skn_cuts_fini(skn_cuts_t *cuts)
{
    free(cuts->first);
    *cuts = (skn_cuts_t){ 0 };
}

uint32_t
skn_cuts_width(const skn_cuts_t *cuts, uint32_t slice)
{
    assert(slice < cuts->slices &&
           cuts->first[slice] <= cuts->first[slice + 1]);
    return cuts->first[slice + 1] - cuts->first[slice];
}

uint32_t
skn_cuts_widest(const skn_cuts_t *cuts)
{
    uint32_t widest = 0;
    for (uint32_t k = 0; k < cuts->slices; k++)
        if (skn_cuts_width(cuts, k) > widest)
            widest = skn_cuts_width(cuts, k);
    return widest;
}
