/* decoder.h - the shape of a decoder like Llama's, and how the tensors of its
 * layers lie in a table of rows.
 *
 * A stage has one table of rows of `width` floats: the rows of its layers, one
 * layer after the other, and in the last stage one row more, the gain of the
 * norm behind the last layer. The rows of a layer (w: width, i: inner):
 *
 *     rows                  tensor
 *     0                     input_layernorm.weight
 *     1                     post_attention_layernorm.weight
 *     2 .. 2+4w             q_proj, k_proj, v_proj, o_proj   row: output unit
 *     2+4w .. 2+4w+2i       gate_proj, up_proj               row: output unit
 *     2+4w+2i .. 2+4w+3i    down_proj, transposed            row: input unit
 *
 * So every tensor is a matrix of rows of `width` numbers. There are no biases.
 * Pure functions; the table of tensors is constant.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_DECODER_H
#define ACTORS_PROTOCOL_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"

/* A row of 16 floats is a cache line. */
#define SKN_DECODER_WIDTH_STEP 16u
/* Columns of a head: whole vectors of AVX2, and pairs for the rotation. */
#define SKN_DECODER_HEAD_STEP 8u
/* Llama 3.1's largest model has 126 layers. */
#define SKN_DECODER_LAYERS_MAX 1024u
/* A sequence is in one batch, a token a row. */
#define SKN_DECODER_CONTEXT_MAX SKN_BATCH_ROWS_MAX
/* Llama's `initializer_range`: the deviation of the first weights. */
#define SKN_DECODER_DEVIATION 0.02f

/* Llama's rms_norm_eps and rope_theta. */
#define SKN_DECODER_EPSILON 1e-5f
#define SKN_DECODER_ROPE_BASE 10000.0f

typedef struct skn_decoder_shape {
    uint32_t layers;  /* of the whole model, not of one stage */
    uint32_t width;   /* of the residual stream: hidden_size */
    uint32_t heads;   /* num_attention_heads; as many keys and values */
    uint32_t inner;   /* intermediate_size */
    uint32_t context; /* tokens of the longest sequence */
    float epsilon;    /* rms_norm_eps */
    float rope_base;  /* rope_theta */
} skn_decoder_shape_t;

typedef enum skn_decoder_tensor {
    SKN_DECODER_INPUT_GAIN,
    SKN_DECODER_MIDDLE_GAIN,
    SKN_DECODER_Q,
    SKN_DECODER_K,
    SKN_DECODER_V,
    SKN_DECODER_O,
    SKN_DECODER_GATE,
    SKN_DECODER_UP,
    SKN_DECODER_DOWN,
    SKN_DECODER_TENSORS,                          /* of a layer */
    SKN_DECODER_FINAL_GAIN = SKN_DECODER_TENSORS, /* behind the last layer */
    SKN_DECODER_ALL
} skn_decoder_tensor_t;

typedef struct skn_decoder_entry {
    const char *name; /* Llama's, behind "model.layers.N." or "model." */
    /* It has ones + widths * width + inners * inner rows. */
    uint8_t ones, widths, inners;
    bool is_transposed; /* a row is an input unit */
    bool is_gain;       /* begins with 1, and weight decay leaves it alone */
    bool is_residual;   /* its product is added to the residual stream: begins
                         * with a deviation divided by sqrt(2 layers) */
} skn_decoder_entry_t;

/* [SKN_DECODER_ALL], in the order of rows. */
extern const skn_decoder_entry_t skn_decoder_entry[];

/* SKN_BAD_CONFIG and a sentence about the first number that does not fit. */
skn_status_t skn_decoder_check(const skn_decoder_shape_t *shape,
                               skn_error_t *error);

/* Columns of a head. */
static inline uint32_t
skn_decoder_head(const skn_decoder_shape_t *shape)
{
    return shape->width / shape->heads;
}

/* Rows of a tensor; its first row in a layer (of the final gain: 0). */
uint32_t skn_decoder_rows(const skn_decoder_shape_t *shape,
                          skn_decoder_tensor_t tensor);
uint32_t skn_decoder_first(const skn_decoder_shape_t *shape,
                           skn_decoder_tensor_t tensor);
/* Rows of a layer: 2 + 4 width + 3 inner. */
uint32_t skn_decoder_layer_rows(const skn_decoder_shape_t *shape);
/* Rows of a stage of `layers` layers; the last stage has the final gain. */
uint64_t skn_decoder_stage_rows(const skn_decoder_shape_t *shape,
                                uint32_t layers, bool is_last);

/* The tensor of row `row` of a stage of `layers` layers. */
typedef struct skn_decoder_place {
    uint32_t layer; /* of the stage; `layers` for the final gain */
    skn_decoder_tensor_t tensor;
    uint32_t row; /* of the tensor */
} skn_decoder_place_t;
skn_decoder_place_t skn_decoder_find(const skn_decoder_shape_t *shape,
                                     uint32_t layers, uint64_t row);

/* Writes Llama's name of a tensor of layer `layer` of the model, as
 * "model.layers.3.mlp.up_proj.weight"; SKN_NAME_MAX bytes are enough. */
void skn_decoder_name(char *name, size_t bytes, uint32_t layer,
                      skn_decoder_tensor_t tensor);

/* First weights are normal numbers of this deviation, for a model whose other
 * tensors have `deviation`; 0 for a gain, which begins with 1. */
float skn_decoder_deviation(const skn_decoder_shape_t *shape,
                            skn_decoder_tensor_t tensor, float deviation);

#endif
