/* slices.c - joins the activations of a layer's shards, row by row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/hidden/slices.h"

#include <string.h>

static skn_status_t
copy_slice(const skn_slices_t *slices, const skn_activation_t *part,
           uint32_t rows, float *hidden, skn_error_t *error)
{
    size_t columns = part->columns;
    if (part->rows != rows || part->rows > slices->rows_max ||
        part->value.count != part->rows * columns ||
        part->column_first + columns > slices->columns)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: activation of shard %u, batch %llu: %zu values "
                        "for %u rows, columns %u..%zu of %u",
                        slices->name, part->shard,
                        (unsigned long long)part->batch, part->value.count,
                        part->rows, part->column_first,
                        part->column_first + columns, slices->columns);
    for (uint32_t i = 0; i < part->rows; i++)
        memcpy(hidden + i * slices->stride + part->column_first,
               part->value.at + i * columns, columns * sizeof(float));
    return SKN_OK;
}

skn_status_t
skn_slices_join(const skn_slices_t *slices, const skn_parts_t *parts,
                float *hidden, skn_error_t *error)
{
    const skn_activation_t *first = parts->at[0];
    uint64_t columns = 0;
    for (size_t p = 0; p < parts->count; p++) {
        const skn_activation_t *part = parts->at[p];
        skn_status_t status =
            copy_slice(slices, part, first->rows, hidden, error);
        if (status != SKN_OK) {
            skn_parts_refuse(parts, p);
            return status;
        }
        columns += part->columns;
    }
    if (columns != slices->columns)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the activations of batch %llu have %llu columns, "
                        "the layer has %u",
                        slices->name, (unsigned long long)first->batch,
                        (unsigned long long)columns, slices->columns);
    for (uint32_t i = 0; i < first->rows; i++)
        hidden[i * slices->stride + slices->columns] = slices->constant;
    return SKN_OK;
}
