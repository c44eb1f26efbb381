/* cluster.h - what the sampler of clusters and the builder of its lists share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_CLUSTER_H
#define ACTORS_SAMPLERS_CLUSTER_H

#include "actors/samplers/sampler.h"

/* Hidden vectors that are compared in one go. */
#define SKN_NEAREST_ROWS 64u

/* Which of some centroids is nearest: the greatest x.c - |c|^2 / 2. */
typedef struct skn_centroids {
    const skn_kernels_t *kernels;
    uint32_t columns, count, centroids_max;
    size_t stride;
    float *centroid; /* [centroids_max][stride] */
    float *half;     /* [centroids_max] |c|^2 / 2 */
    float *score;    /* [SKN_NEAREST_ROWS][centroids_max] */
    void *gemm;
} skn_centroids_t;

skn_status_t skn_nearest_init(skn_centroids_t *nearest,
                              const skn_sampler_options_t *options,
                              skn_error_t *error);
void skn_nearest_fini(skn_centroids_t *nearest);
/* Takes `count` centroids [count][columns], at least one. */
void skn_nearest_set(skn_centroids_t *nearest, const float *centroid,
                     uint32_t count);
/* |c|^2 / 2 of centroid k, after it was changed in place. */
void skn_nearest_measure(skn_centroids_t *nearest, uint32_t k);
/* The nearest one of each of `rows` vectors; of equal ones the first, which
 * is also that of a vector of NaN. */
void skn_nearest_find(skn_centroids_t *nearest, const float *x, size_t stride,
                      uint32_t rows, uint32_t *which);

/* Rows of a list in this shard. */
uint32_t skn_cluster_list_rows(const skn_sampler_options_t *options);

extern const skn_index_kind_t skn_cluster_index;

#endif
