/* centroids.c - the nearest centroid of each of many vectors.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/cluster.h"
#include "actors/protocol/workspace.h"

/* Lists of a sampler that does not say how many. */
#define LISTS_DEFAULT 64

skn_status_t
skn_nearest_init(skn_centroids_t *nearest, const skn_sampler_options_t *options,
                 skn_error_t *error)
{
    memset(nearest, 0, sizeof(*nearest));
    uint32_t most = options->lists ? options->lists : LISTS_DEFAULT;
    nearest->kernels = options->kernels;
    nearest->columns = options->hidden;
    nearest->centroids_max = most;
    nearest->stride = skn_stride_floats(options->hidden);
    nearest->centroid = skn_floats_new(most * nearest->stride, error);
    nearest->half = skn_floats_new(most, error);
    nearest->score = skn_floats_new((size_t)SKN_NEAREST_ROWS * most, error);
    nearest->gemm =
        skn_floats_new(options->kernels->gemm_scratch_bytes(
                           SKN_NEAREST_ROWS, most, options->hidden) /
                               sizeof(float) +
                           1,
                       error);
    if (nearest->centroid && nearest->half && nearest->score && nearest->gemm)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no room for %u centroids", most);
}

void
skn_nearest_fini(skn_centroids_t *nearest)
{
    free(nearest->centroid);
    free(nearest->half);
    free(nearest->score);
    free(nearest->gemm);
    memset(nearest, 0, sizeof(*nearest));
}

void
skn_nearest_measure(skn_centroids_t *nearest, uint32_t k)
{
    const float *centroid = nearest->centroid + k * nearest->stride;
    nearest->half[k] =
        0.5f * nearest->kernels->dot(centroid, centroid, nearest->columns);
}

void
skn_nearest_set(skn_centroids_t *nearest, const float *centroid, uint32_t count)
{
    nearest->count = count;
    for (uint32_t k = 0; k < count; k++) {
        memcpy(nearest->centroid + k * nearest->stride,
               centroid + (size_t)k * nearest->columns,
               nearest->columns * sizeof(float));
        skn_nearest_measure(nearest, k);
    }
}

void
skn_nearest_find(skn_centroids_t *nearest, const float *x, size_t stride,
                 uint32_t rows, uint32_t *which)
{
    for (uint32_t first = 0; first < rows; first += SKN_NEAREST_ROWS) {
        uint32_t some =
            rows - first < SKN_NEAREST_ROWS ? rows - first : SKN_NEAREST_ROWS;
        skn_gemm_t job = {
            .m = some,
            .n = nearest->count,
            .k = nearest->columns,
            .a = { .at = x + first * stride,
                   .row_stride = stride,
                   .column_stride = 1 },
            .b = { .at = nearest->centroid,
                   .row_stride = 1,
                   .column_stride = nearest->stride },
            .c = nearest->score,
            .c_stride = nearest->count,
        };
        nearest->kernels->gemm(&job, nearest->gemm);
        for (uint32_t i = 0; i < some; i++) {
            const float *score = nearest->score + (size_t)i * nearest->count;
            float greatest = -INFINITY;
            which[first + i] = 0;
            for (uint32_t k = 0; k < nearest->count; k++)
                if (score[k] - nearest->half[k] > greatest) {
                    greatest = score[k] - nearest->half[k];
                    which[first + i] = k;
                }
        }
    }
}
