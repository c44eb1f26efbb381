/* decoder_layer.h - the arithmetic of one layer of a decoder over one
 * micro-batch: forward, backward and the gradient of its weights.
 *
 * A micro-batch is whole sequences of equal length: tokens = sequences *
 * length, and x is [tokens][width], contiguous, one sequence after the other. A
 * sequence may be shorter than the shape's context. With n an RMSNorm, and
 * matrices that multiply from the right (docs/concepts/equations.md, (69) to
 * (75)):
 *
 *     x' = x + attention(n(x) Wq, n(x) Wk, n(x) Wv) Wo
 *     y  = x' + (silu(n'(x') Wgate) * (n'(x') Wup)) Wdown
 *
 * The backward pass is in two halves. B makes the gradient by x from that by y,
 * which the stage before waits for; W adds the gradients by the weights, which
 * nobody waits for, and is cut into parts. Only W sums over micro-batches: run
 * in their order, it gives the same bits whatever else ran in between.
 *
 * Weights are a matrix of skn_decoder_layer_rows rows (decoder.h), f32 or bf16,
 * whose rows may lie any distance apart, with a column stride of 1.
 *
 * Threads: a decoder is read by any number of threads; kept and scratch memory
 * belong to one at a time. Memory is the caller's and aligned to 64 bytes.
 * Nothing allocates, and nothing fails.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_STAGE_DECODER_LAYER_H
#define ACTORS_STAGE_DECODER_LAYER_H

#include "actors/protocol/decoder.h"
#include "actors/stage/kept_rows.h"
#include "actors/stage/norms.h"

typedef struct skn_decoder {
    skn_decoder_shape_t shape;
    const skn_kernels_t *kernels;
    bool half;                  /* products of bf16: skn_gemm_t.half */
    const float *cosine, *sine; /* [context][head / 2] */
} skn_decoder_t;

/* `shape` has passed skn_decoder_check; `angles` has room for
 * skn_decoder_angle_floats and lives as long as the decoder. */
size_t skn_decoder_angle_floats(const skn_decoder_shape_t *shape);
void skn_decoder_init(skn_decoder_t *decoder, const skn_decoder_shape_t *shape,
                      const skn_kernels_t *kernels, bool half, float *angles);

/* The arrays of one micro-batch that a layer keeps from its forward pass until
 * the last part of W. B replaces some of them by those that W needs. With
 * products of bf16, all but x, x' and log_sum are kept in bf16. */
typedef struct skn_decoder_kept {
    size_t sequences, length, tokens;
    size_t first;              /* skn_decoder_kept_continue */
    skn_norm_kept_t input;     /* x; after B, n(x) */
    skn_kept_rows_t qkv;       /* [tokens][3 width]; after B, their gradients */
    skn_kept_rows_t attention; /* [tokens][width] */
    float *log_sum;            /* [heads][tokens] */
    skn_norm_kept_t middle;    /* x'; after B, n'(x') */
    skn_kept_rows_t gates;     /* [tokens][2 inner]: gate, up; after B, their
                                * gradients */
    skn_kept_rows_t product;   /* [tokens][inner]: silu(gate) * up */
    /* From B on: */
    skn_kept_rows_t middle_gradient; /* [tokens][width]: by x' */
    skn_kept_rows_t out_gradient;    /* [tokens][width]: by y */
} skn_decoder_kept_t;

/* Floats that a layer keeps of a micro-batch. */
size_t skn_decoder_kept_floats(const skn_decoder_t *decoder, size_t tokens);
/* Lays the arrays into `memory`; `length` is at most the context. A smaller
 * micro-batch fits into the memory of a larger one. */
void skn_decoder_kept_init(const skn_decoder_t *decoder,
                           skn_decoder_kept_t *kept, size_t sequences,
                           size_t length, float *memory);
/* The forward pass is over the next tokens of one sequence, behind `first` that
 * earlier passes have read: its q, k and v go into `cache` [context or more]
 * [3 width], behind those. Products are of f32; there is no backward pass. */
void skn_decoder_kept_continue(skn_decoder_kept_t *kept,
                               const skn_kept_rows_t *cache, size_t first);

/* Scratch that every function below needs, for micro-batches of at most
 * `tokens` tokens. Nothing in it lasts from one call to the next. */
size_t skn_decoder_scratch_bytes(const skn_decoder_t *decoder, size_t tokens);

/* Floats that `layers` consecutive layers keep of each micro-batch in flight,
 * without the norm behind the last layer, and once for all micro-batches. If
 * they are recomputed, a micro-batch keeps only what goes into each layer but
 * the first, whose input the caller has; and all share the arrays of one layer
 * and one x. */
typedef struct skn_decoder_floats {
    size_t flight, shared;
} skn_decoder_floats_t;
skn_decoder_floats_t skn_decoder_floats(const skn_decoder_t *decoder,
                                        size_t layers, size_t tokens,
                                        bool recompute);

/* Replaces x by y. */
void skn_decoder_layer_forward(const skn_decoder_t *decoder,
                               const skn_matrix_t *weights,
                               skn_decoder_kept_t *kept, float *x,
                               void *scratch);
/* Fills `kept` as the forward pass over the same x did, with the same bits, but
 * replaces x by x': for B, which does not need y. */
void skn_decoder_layer_recompute(const skn_decoder_t *decoder,
                                 const skn_matrix_t *weights,
                                 skn_decoder_kept_t *kept, float *x,
                                 void *scratch);
/* B: replaces the gradient by y, in dx [tokens][width], by that by x. */
void skn_decoder_layer_backward(const skn_decoder_t *decoder,
                                const skn_matrix_t *weights,
                                skn_decoder_kept_t *kept, float *dx,
                                void *scratch);
/* W: part `part` of skn_decoder_parts adds to its rows of `gradient`
 * [layer rows][width], contiguous. Parts have rows of their own: any order of
 * them gives the same bits. A shorter micro-batch may have fewer parts; those
 * beyond its last do nothing. */
uint32_t skn_decoder_parts(const skn_decoder_shape_t *shape, size_t tokens);
void skn_decoder_layer_weights(const skn_decoder_t *decoder,
                               const skn_decoder_kept_t *kept, uint32_t part,
                               float *gradient, void *scratch);

/* The same for the norm behind the last layer: `weights` and `gradient` are one
 * row, the final gain. W has one part. */
void skn_decoder_final_forward(const skn_decoder_t *decoder,
                               const skn_matrix_t *weights,
                               skn_norm_kept_t *kept, float *x, void *scratch);
void skn_decoder_final_backward(const skn_decoder_t *decoder,
                                const skn_matrix_t *weights,
                                skn_norm_kept_t *kept, float *dx,
                                void *scratch);
void skn_decoder_final_weights(const skn_decoder_t *decoder,
                               const skn_norm_kept_t *kept, float *gradient);

#endif
