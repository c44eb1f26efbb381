/* points_clean.c - checks and sorts the points of a caller for a network.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/points_clean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/pairs.h"

skn_status_t
skn_points_check(const skn_points_t *points, skn_error_t *error)
{
    const size_t *offset = points->offset;
    if (points->count == 0)
        return SKN_OK;
    if (!offset)
        return skn_fail(error, SKN_BAD_DATA, "%zu points have no offsets",
                        points->count);
    if (offset[0] != 0)
        return skn_fail(error, SKN_BAD_DATA,
                        "the offset of point 0 is %zu, it must be 0",
                        offset[0]);
    for (size_t i = 0; i < points->count; i++)
        if (offset[i + 1] < offset[i])
            return skn_fail(error, SKN_BAD_DATA,
                            "point %zu begins at offset %zu and ends at %zu; "
                            "offsets must not fall",
                            i, offset[i], offset[i + 1]);
    size_t total = offset[points->count];
    if (total > SIZE_MAX / (2 * sizeof(uint64_t)))
        return skn_fail(error, SKN_BAD_DATA,
                        "the offsets ask for %zu features, more than any "
                        "memory holds",
                        total);
    if (total > 0 && (!points->feature || !points->value))
        return skn_fail(error, SKN_BAD_DATA,
                        "the offsets ask for %zu features, but the array of %s "
                        "is NULL",
                        total, points->feature ? "values" : "features");
    return SKN_OK;
}

static skn_status_t
make_room(skn_points_clean_t *clean, size_t total, size_t longest,
          skn_error_t *error)
{
    skn_point_rows_t *rows = &clean->rows;
    if (total > rows->room) {
        skn_point_rows_fini(rows);
        rows->feature = malloc(total * sizeof(*rows->feature));
        rows->value = malloc(total * sizeof(*rows->value));
        if (!rows->feature || !rows->value)
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu features",
                            total);
        rows->room = total;
    }
    if (longest <= clean->key_room)
        return SKN_OK;
    free(clean->key);
    clean->key_room = 0;
    clean->key = malloc(longest * sizeof(*clean->key));
    if (!clean->key)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu features",
                        longest);
    clean->key_room = longest;
    return SKN_OK;
}

/* Copies the features of point `i` that the model has; *count is their
 * number. */
static skn_status_t
take(const skn_points_clean_t *clean, const skn_points_t *points, size_t i,
     uint32_t *feature, float *value, size_t *count, skn_error_t *error)
{
    size_t kept = 0;
    for (size_t k = points->offset[i]; k < points->offset[i + 1]; k++) {
        if (!isfinite(points->value[k]))
            return skn_fail(error, SKN_BAD_DATA,
                            "point %zu: the value of feature %u is not finite",
                            i, points->feature[k]);
        if (points->feature[k] < clean->feature_count) {
            feature[kept] = points->feature[k];
            value[kept++] = points->value[k];
        } else if (clean->strict) {
            return skn_fail(error, SKN_BAD_DATA,
                            "point %zu has feature %u, but the model has only "
                            "%u features",
                            i, points->feature[k], clean->feature_count);
        }
    }
    *count = kept;
    return SKN_OK;
}

/* Sorts the features and merges repeated ones. */
static skn_status_t
put_in_order(const skn_points_clean_t *clean, size_t i, uint32_t *feature,
             float *value, size_t *count, skn_error_t *error)
{
    size_t k = 1;
    while (k < *count && feature[k - 1] < feature[k])
        k++;
    if (k >= *count)
        return SKN_OK;
    skn_pairs_sort(feature, value, clean->key, *count);
    *count = skn_pairs_add(feature, value, *count);
    for (k = 0; k < *count; k++)
        if (!isfinite(value[k]))
            return skn_fail(error, SKN_BAD_DATA,
                            "point %zu: the values of feature %u add up to "
                            "more than a float can hold",
                            i, feature[k]);
    return SKN_OK;
}

skn_status_t
skn_points_clean(skn_points_clean_t *clean, const skn_points_t *points,
                 size_t first, size_t count, skn_error_t *error)
{
    const size_t *offset = points->offset;
    skn_point_rows_t *rows = &clean->rows;
    size_t longest = 0;
    for (size_t i = first; i < first + count; i++)
        if (offset[i + 1] - offset[i] > longest)
            longest = offset[i + 1] - offset[i];
    skn_status_t status =
        make_room(clean, offset[first + count] - offset[first], longest, error);
    if (status != SKN_OK)
        return status;
    rows->offset[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = rows->offset[i], kept = 0;
        skn_error_t why = { 0 };
        if (offset[first + i + 1] > offset[first + i]) {
            status = take(clean, points, first + i, rows->feature + at,
                          rows->value + at, &kept, &why);
            if (status == SKN_OK)
                status = put_in_order(clean, first + i, rows->feature + at,
                                      rows->value + at, &kept, &why);
        }
        clean->refused[i] = why.status != SKN_OK;
        if (clean->refused[i]) {
            kept = 0;
            if (clean->refusal.status == SKN_OK) {
                clean->refusal = why;
                clean->refused_first = first + i;
            }
        }
        if (clean->normalize && kept > 0)
            skn_values_normalize(rows->value + at, kept);
        rows->offset[i + 1] = at + kept;
    }
    return SKN_OK;
}

void
skn_points_clean_fini(skn_points_clean_t *clean)
{
    skn_point_rows_fini(&clean->rows);
    free(clean->key);
    clean->key = NULL;
    clean->key_room = 0;
}
