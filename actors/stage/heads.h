/* heads.h - rotary positions and causal attention of all heads, over the
 * sequences of one micro-batch.
 *
 * Equations (70) and (71) of docs/concepts/equations.md. Nothing allocates or
 * fails; the arrays belong to one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_STAGE_HEADS_H
#define ACTORS_STAGE_HEADS_H

#include "kernels/kernels.h"

typedef struct skn_heads {
    const skn_kernels_t *kernels;
    size_t sequences, length;   /* their tokens: sequences * length */
    size_t first;               /* tokens of the sequence before them, with
                                 * their rows of qkv in front; 0: any number
                                 * of sequences, else one */
    size_t heads, head;         /* how many, and columns of each */
    const float *cosine, *sine; /* [first + length or more]
                                 * [head / 2] */
    float *qkv;                 /* [tokens][3 heads head]: q, k, v */
    float *out;                 /* [tokens][heads head] */
    float *log_sum;             /* [heads][tokens] */
    size_t qkv_stride, stride;  /* floats between rows of qkv, of out */
} skn_heads_t;

/* Fills [context][head / 2] cosines and sines of the angles
 * position * base^(-2 i / head). */
void skn_heads_angles(float *cosine, float *sine, size_t context, size_t head,
                      double base);

/* Room that both need for sequences of at most `length` tokens, aligned to 64
 * bytes. */
size_t skn_heads_scratch_bytes(const skn_kernels_t *kernels, size_t length,
                               size_t head);

/* Turns q and k of token `t` of the micro-batch by their position. */
void skn_heads_turn(const skn_heads_t *heads, size_t t);
/* Fills out and log_sum from the turned q and k, and v. */
void skn_heads_forward(const skn_heads_t *heads, void *scratch);
/* Replaces q, k and v, as the forward pass read them, by the gradients by what
 * they were before the turn, for `gradient` by out, with the stride of out. */
void skn_heads_backward(const skn_heads_t *heads, const float *gradient,
                        void *scratch);

#endif
