/* norms.c - RMSNorm over the tokens of a micro-batch, forwards and backwards.
 *
 * The gradient of the gain is summed over the tokens of one micro-batch here,
 * beside that by x, while the rows are in the cache; the sum over micro-batches
 * is the business of W (decoder_layer.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/stage/norms.h"

#include <string.h>

#include "actors/protocol/workspace.h"

static size_t
row_floats(size_t tokens)
{
    return skn_array_floats(tokens * sizeof(skn_norm_row_t) / sizeof(float));
}

size_t
skn_norm_kept_floats(size_t tokens, size_t width)
{
    return tokens * skn_stride_floats(width) + row_floats(tokens) +
           skn_array_floats(width);
}

float *
skn_norm_kept_init(skn_norm_kept_t *kept, size_t tokens, size_t width,
                   float *memory)
{
    kept->tokens = tokens;
    kept->width = width;
    kept->stride = skn_stride_floats(width);
    kept->x = memory;
    memory += tokens * kept->stride;
    kept->row = (skn_norm_row_t *)(void *)memory;
    kept->gain_gradient = memory + row_floats(tokens);
    return kept->gain_gradient + skn_array_floats(width);
}

void
skn_norm_forward(const skn_kernels_t *kernels, skn_norm_kept_t *kept,
                 const skn_norm_t *norm, const float *x, float *out,
                 size_t out_stride)
{
    size_t width = kept->width;
    for (size_t t = 0; t < kept->tokens; t++) {
        float *mine = kept->x + t * kept->stride;
        memcpy(mine, x + t * width, width * sizeof(float));
        kernels->norm_row(out + t * out_stride, mine, width, norm,
                          &kept->row[t]);
    }
}

void
skn_norm_backward(const skn_kernels_t *kernels, skn_norm_kept_t *kept,
                  const skn_norm_t *norm, const float *gradient,
                  size_t gradient_stride, float *dx, float *renormed)
{
    size_t width = kept->width;
    memset(kept->gain_gradient, 0, width * sizeof(float));
    for (size_t t = 0; t < kept->tokens; t++) {
        const float *x = kept->x + t * kept->stride;
        const float *by = gradient + t * gradient_stride;
        kernels->norm_row_gradient(dx + t * width, by, x, width, norm,
                                   &kept->row[t]);
        kernels->norm_gain_gradient(kept->gain_gradient, NULL, by, x, width,
                                    &kept->row[t]);
        if (renormed)
            kernels->norm_row(renormed + t * kept->stride, x, width, norm,
                              &kept->row[t]);
    }
}
