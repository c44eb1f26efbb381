/* points_clean.h - checks the points of a caller and makes them fit a network:
 * features in range, ascending, each once; values finite, scaled if need be.
 *
 * The caller's arrays are only read, and never beyond their offsets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_POINTS_CLEAN_H
#define TOPOLOGY_PREDICT_POINTS_CLEAN_H

#include "topology/predict/point_rows.h"

typedef struct skn_points_clean {
    /* --- options, set by the caller --- */
    uint32_t feature_count; /* features of the model */
    bool strict;            /* refuse points with unknown features */
    bool normalize;
    /* --- results of the last call --- */
    skn_point_rows_t rows;
    bool refused[SKN_NETWORK_POINTS_MAX];
    skn_error_t refusal;  /* for the first point refused in any call */
    size_t refused_first; /* the number of that point */
    uint64_t *key;        /* [key_room], scratch */
    size_t key_room;
} skn_points_clean_t;

/* Checks that offsets start at 0, never fall, and lead to arrays that exist.
 * SKN_BAD_DATA names the point. */
skn_status_t skn_points_check(const skn_points_t *points, skn_error_t *error);

/* Copies points [first, first + count) of checked `points` into clean->rows; at
 * most SKN_NETWORK_POINTS_MAX. A refused point has no features there.
 * SKN_NO_MEMORY. */
skn_status_t skn_points_clean(skn_points_clean_t *clean,
                              const skn_points_t *points, size_t first,
                              size_t count, skn_error_t *error);
void skn_points_clean_fini(skn_points_clean_t *clean);

#endif
