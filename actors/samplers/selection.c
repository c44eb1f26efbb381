/* selection.c - manages the memory of selections, and lists the kinds of
 * samplers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/sampler.h"

/* Grows *array to `wanted` items; existing items stay. */
static bool
grow(void **array, uint32_t *room, uint32_t wanted, size_t item_bytes)
{
    if (wanted <= *room)
        return true;
    uint32_t next = *room < UINT32_MAX / 3 * 2 ? *room + *room / 2 : wanted;
    if (next < wanted)
        next = wanted;
    void *grown = realloc(*array, next * item_bytes);
    if (!grown)
        return false;
    *array = grown;
    *room = next;
    return true;
}

skn_status_t
skn_selection_room(skn_selection_t *selection, uint32_t groups,
                   uint32_t samples, uint32_t units, skn_error_t *error)
{
    /* unit and weight grow together; unit_room counts for both. */
    uint32_t weight_room = selection->unit_room;
    if (grow((void **)&selection->group, &selection->group_room, groups,
             sizeof(skn_group_t)) &&
        grow((void **)&selection->sample, &selection->sample_room, samples,
             sizeof(uint32_t)) &&
        grow((void **)&selection->unit, &selection->unit_room, units,
             sizeof(uint32_t)) &&
        grow((void **)&selection->weight, &weight_room, selection->unit_room,
             sizeof(float)))
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY,
                    "no memory for an active set of %u rows", units);
}

void
skn_selection_fini(skn_selection_t *selection)
{
    free(selection->group);
    free(selection->sample);
    free(selection->unit);
    free(selection->weight);
    memset(selection, 0, sizeof(*selection));
}

void
skn_selection_clear(skn_selection_t *selection)
{
    selection->group_count = 0;
    selection->sample_count = 0;
    selection->unit_count = 0;
    selection->everything = false;
}

skn_status_t
skn_selection_single(skn_selection_t *selection, uint32_t rows,
                     skn_error_t *error)
{
    if (skn_selection_room(selection, 1, rows, 0, error) != SKN_OK)
        return SKN_NO_MEMORY;
    for (uint32_t i = 0; i < rows; i++)
        selection->sample[i] = i;
    selection->sample_count = rows;
    selection->group_count = 1;
    selection->group[0] = (skn_group_t){ .sample_count = rows,
                                         .unit_count = selection->unit_count };
    return SKN_OK;
}

void
skn_selection_union(skn_selection_t *selection, const uint32_t *positive,
                    uint32_t positive_count, const uint32_t *drawn,
                    const float *weight, uint32_t drawn_count)
{
    uint32_t p = 0, d = 0, at = selection->unit_count;
    while (p < positive_count || d < drawn_count) {
        bool label =
            d == drawn_count || (p < positive_count && positive[p] <= drawn[d]);
        uint32_t unit = label ? positive[p] : drawn[d];
        selection->unit[at] = unit;
        selection->weight[at++] = label ? 1.0f : weight[d];
        p += label;
        d += d < drawn_count && drawn[d] == unit;
    }
    assert(at <= selection->unit_room);
    selection->unit_count = at;
}

uint64_t
skn_selection_capped(const skn_selection_t *selection, float cap)
{
    uint64_t count = 0;
    for (uint32_t k = 0; cap > 0.0f && k < selection->unit_count; k++)
        count += selection->weight[k] >= cap;
    return count;
}

float
skn_sampler_weight(const skn_sampler_options_t *options, double chance)
{
    double weight = 1.0 / chance;
    if (options->weight_cap > 0.0 && weight > options->weight_cap)
        weight = options->weight_cap;
    return (float)weight;
}

uint64_t
skn_sampler_share(const skn_sampler_options_t *options, uint64_t total)
{
    uint64_t first = options->row_first, labels = options->labels;
    uint64_t end = first + options->row_count;
    /* In double if the product may overflow: lists have few rows. */
    if (total < UINT32_MAX)
        return end * total / labels - first * total / labels;
    return (uint64_t)((double)total * (double)options->row_count /
                      (double)labels);
}

#define SAMPLER_AT(NAME, word) &skn_sampler_##word,
const skn_sampler_kind_t *const skn_samplers[] = {
    SKN_SAMPLER_NAMES(SAMPLER_AT) NULL,
};

const skn_sampler_kind_t *
skn_sampler_find(const char *name)
{
    for (size_t k = 0; skn_samplers[k]; k++)
        if (strcmp(skn_samplers[k]->name, name) == 0)
            return skn_samplers[k];
    return NULL;
}
