/* network_slim.h - a network in one file (formats/checkpoint/slim.h): which
 * tensors it has there, and how it is used from a mapped one.
 *
 *     LAYER.rows      F32 or BF16, as skn_network_t has them, without gaps; or
 *                     I8, without the bias
 *     LAYER.scale     I8: F32 [rows], what 1 is worth in each row
 *     LAYER.bias      I8: F32 [units]
 *     LAYER.features  if features were pruned: U32, those that have a row in
 *                     the first layer, ascending
 *     LAYER.ranker.*  of the last layer, as in a checkpoint; the weights F32,
 *                     or BF16 where the rows are shorter
 *
 * All are used where they are: I8 rows, and BF16 rows of the first layer, are
 * widened each time that they are used.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_NETWORK_SLIM_H
#define ACTORS_PREDICT_NETWORK_SLIM_H

#include "actors/predict/network.h"
#include "formats/checkpoint/slim_list.h"

/* Finds the rows of each named layer, input first, and the ranker. `network` is
 * { .softmax }, as for skn_network_load. The file outlives the network.
 * SKN_BAD_DATA, SKN_NO_MEMORY. */
skn_status_t skn_network_map(skn_network_t *network, const skn_slim_t *slim,
                             const char *const *layer, uint32_t layer_count,
                             skn_error_t *error);

/* The features that have a row, ascending. */
typedef struct skn_kept_features {
    const uint32_t *feature;
    uint32_t count;
} skn_kept_features_t;

/* Lists the tensors of a network. `kept` are some of the features that have a
 * row in it; NULL: all. The list borrows from the network and from `kept`. */
skn_status_t skn_network_list(const skn_network_t *network,
                              const char *const *layer, skn_export_rows_t rows,
                              const skn_kept_features_t *kept,
                              skn_slim_list_t *list, skn_error_t *error);
/* The sum of the squares of a feature's row, which is written to `weight`,
 * [units]; -1: it has none. */
double skn_network_feature_norm(const skn_network_t *network, uint32_t feature,
                                float *weight);

/* ranker_slim.c: the same for its ranker. */
skn_status_t skn_ranker_map(skn_ranker_t *ranker, const skn_slim_t *slim,
                            const skn_network_t *network, const char *layer,
                            skn_error_t *error);
skn_status_t skn_ranker_list(const skn_ranker_t *ranker,
                             const skn_kernels_t *kernels, const char *layer,
                             skn_export_rows_t rows,
                             const skn_kept_features_t *kept,
                             skn_slim_list_t *list, skn_error_t *error);

#endif
