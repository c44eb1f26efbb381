/* norms.h - the RMSNorms of a decoder, those in its layers and the one behind
 * the last layer, over the tokens of one micro-batch.
 *
 * Equation (69) of docs/concepts/equations.md. Nothing allocates or fails; the
 * arrays of a norm belong to one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_STAGE_NORMS_H
#define ACTORS_STAGE_NORMS_H

#include "kernels/kernels.h"

/* The arrays of one micro-batch that a norm keeps from its forward pass on. */
typedef struct skn_norm_kept {
    size_t tokens, width;
    size_t stride;        /* floats between the rows of x */
    float *x;             /* [tokens][width], as it came in */
    skn_norm_row_t *row;  /* [tokens] */
    float *gain_gradient; /* [width]; written by the backward pass */
} skn_norm_kept_t;

/* Floats of a norm's arrays, a multiple of a cache line. */
size_t skn_norm_kept_floats(size_t tokens, size_t width);
/* Lays the arrays into `memory`, which is aligned to 64 bytes; returns what is
 * behind them. */
float *skn_norm_kept_init(skn_norm_kept_t *kept, size_t tokens, size_t width,
                          float *memory);

/* out [tokens][width], rows out_stride apart, = the norm of x, of which the
 * norm keeps a copy. `x` is contiguous; `out` may be x, with a stride of
 * `width`. */
void skn_norm_forward(const skn_kernels_t *kernels, skn_norm_kept_t *kept,
                      const skn_norm_t *norm, const float *x, float *out,
                      size_t out_stride);
/* dx [tokens][width], contiguous, += the gradient by x, for `gradient` by out,
 * with rows gradient_stride apart. Fills gain_gradient. If `renormed` is not
 * NULL, writes out there once more, with the stride of x; it may be x, which is
 * lost then. */
void skn_norm_backward(const skn_kernels_t *kernels, skn_norm_kept_t *kept,
                       const skn_norm_t *norm, const float *gradient,
                       size_t gradient_stride, float *dx, float *renormed);

#endif
