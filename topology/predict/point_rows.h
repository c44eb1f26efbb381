/* point_rows.h - copies points of a data set into arrays for one pass of a
 * network.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_POINT_ROWS_H
#define TOPOLOGY_PREDICT_POINT_ROWS_H

#include "actors/predict/network.h"
#include "formats/dataset/dataset.h"

/* { 0 } is empty. */
typedef struct skn_point_rows {
    size_t offset[SKN_NETWORK_POINTS_MAX + 1];
    uint32_t *feature;
    float *value;
    size_t room;
    skn_pass_memory_t pass;
} skn_point_rows_t;

/* Copies the points `point`, at most SKN_NETWORK_POINTS_MAX, over the former
 * ones. Freed by skn_point_rows_fini, also after a failure. SKN_NO_MEMORY. */
skn_status_t skn_point_rows_take(skn_point_rows_t *rows,
                                 const skn_dataset_t *dataset,
                                 const uint32_t *point, size_t count,
                                 skn_error_t *error);
/* The rows in the form that a network takes. */
skn_points_t skn_point_rows_points(const skn_point_rows_t *rows, size_t count);
void skn_point_rows_fini(skn_point_rows_t *rows);

#endif
