/* point_rows.c - copies points of a data set into arrays for one pass of a
 * network.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/point_rows.h"

#include <stdlib.h>
#include <string.h>

void
skn_point_rows_fini(skn_point_rows_t *rows)
{
    free(rows->feature);
    free(rows->value);
    rows->feature = NULL;
    rows->value = NULL;
    rows->room = 0;
    skn_pass_memory_fini(&rows->pass);
}

skn_points_t
skn_point_rows_points(const skn_point_rows_t *rows, size_t count)
{
    return (skn_points_t){ count, rows->offset, rows->feature, rows->value };
}

static skn_status_t
make_room(skn_point_rows_t *rows, size_t room, skn_error_t *error)
{
    skn_point_rows_fini(rows);
    rows->feature = malloc(room * sizeof(*rows->feature));
    rows->value = malloc(room * sizeof(*rows->value));
    if (!rows->feature || !rows->value)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu features",
                        room);
    rows->room = room;
    return SKN_OK;
}

skn_status_t
skn_point_rows_take(skn_point_rows_t *rows, const skn_dataset_t *dataset,
                    const uint32_t *point, size_t count, skn_error_t *error)
{
    rows->offset[0] = 0;
    for (size_t i = 0; i < count; i++)
        rows->offset[i + 1] =
            rows->offset[i] +
            skn_dataset_point(dataset, point[i]).feature_count;
    if (rows->offset[count] > rows->room &&
        make_room(rows, rows->offset[count] * 2, error) != SKN_OK)
        return SKN_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        skn_dataset_point_t one = skn_dataset_point(dataset, point[i]);
        if (one.feature_count == 0) /* there may be no array */
            continue;
        memcpy(rows->feature + rows->offset[i], one.feature,
               one.feature_count * sizeof(*one.feature));
        memcpy(rows->value + rows->offset[i], one.value,
               one.feature_count * sizeof(*one.value));
    }
    return SKN_OK;
}
