/* points_clean.h - makes the points of a caller into such as a network reads:
 * features in range, ascending, each once; values finite, scaled if need be.
 *
 * The caller's arrays are read only, and never beyond what their offsets say.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_POINTS_CLEAN_H
#define TOPOLOGY_PREDICT_POINTS_CLEAN_H

#include "topology/predict/point_rows.h"

typedef struct skn_points_clean {
    /* --- how, set by the caller --- */
    uint32_t feature_count; /* of the model */
    bool strict;            /* a feature that the model lacks refuses a point */
    bool normalize;
    /* --- what came of the last call --- */
    skn_point_rows_t rows;
    bool refused[SKN_NETWORK_POINTS_MAX];
    skn_error_t refusal;  /* of the first point of all calls that was refused */
    size_t refused_first; /* that point, if any was */
    uint64_t *key;        /* [key_room], scratch */
    size_t key_room;
} skn_points_clean_t;

/* Whether offsets start at 0, never fall, and lead to arrays that are there.
 * SKN_BAD_DATA with the point. */
skn_status_t skn_points_check(const skn_points_t *points, skn_error_t *error);

/* Copies points [first, first + count) of checked `points` into clean->rows; at
 * most SKN_NETWORK_POINTS_MAX. A point that is refused has no features there.
 * SKN_NO_MEMORY. */
skn_status_t skn_points_clean(skn_points_clean_t *clean,
                              const skn_points_t *points, size_t first,
                              size_t count, skn_error_t *error);
void skn_points_clean_fini(skn_points_clean_t *clean);

#endif
