/* selection.c - memory of what a sampler picked, and the list of samplers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/sampler.h"

/* Grows *array to `wanted` items; what is there stays. */
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
    /* unit and weight grow together; the room counts once. */
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
                    "no room for an active set of %u rows", units);
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

const skn_sampler_kind_t *const skn_samplers[] = {
    &skn_sampler_exact,
    &skn_sampler_uniform,
    NULL,
};

const skn_sampler_kind_t *
skn_sampler_find(const char *name)
{
    for (size_t k = 0; skn_samplers[k]; k++)
        if (strcmp(skn_samplers[k]->name, name) == 0)
            return skn_samplers[k];
    return NULL;
}
