/* decoder_layer.c - one layer of a decoder over one micro-batch, forwards and
 * backwards.
 *
 * Arrays are [tokens][columns], their rows an odd number of cache lines apart.
 * Products go through gemm; q, k and v are one product, and so are gate and up,
 * since their rows are adjacent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/stage/decoder_layer.h"

#include <string.h>

#include "actors/protocol/workspace.h"
#include "actors/stage/heads.h"

/* Multiply-adds of a part of W: some 10 ms at 100 GFLOP/s. A message that
 * arrives in between waits for at most one part. */
#define PART_MULTIPLIES ((size_t)1 << 29)

/* --- memory --------------------------------------------------------------- */

size_t
skn_decoder_angle_floats(const skn_decoder_shape_t *shape)
{
    return (size_t)shape->context * skn_decoder_head(shape);
}

void
skn_decoder_init(skn_decoder_t *decoder, const skn_decoder_shape_t *shape,
                 const skn_kernels_t *kernels, bool half, float *angles)
{
    float *sine = angles + skn_decoder_angle_floats(shape) / 2;
    skn_heads_angles(angles, sine, shape->context, skn_decoder_head(shape),
                     (double)shape->rope_base);
    *decoder = (skn_decoder_t){ .shape = *shape,
                                .kernels = kernels,
                                .half = half,
                                .cosine = angles,
                                .sine = sine };
}

size_t
skn_decoder_kept_floats(const skn_decoder_shape_t *shape, size_t tokens)
{
    size_t columns = 3 * skn_stride_floats(shape->width) +
                     skn_stride_floats(3 * (size_t)shape->width) +
                     skn_stride_floats(2 * (size_t)shape->inner) +
                     skn_stride_floats(shape->inner);
    return 2 * skn_norm_kept_floats(tokens, shape->width) + tokens * columns +
           skn_array_floats(shape->heads * tokens);
}

static float *
take(float **memory, size_t floats)
{
    float *taken = *memory;
    *memory += floats;
    return taken;
}

void
skn_decoder_kept_init(skn_decoder_kept_t *kept,
                      const skn_decoder_shape_t *shape, size_t sequences,
                      size_t length, float *memory)
{
    size_t tokens = sequences * length;
    *kept = (skn_decoder_kept_t){
        .sequences = sequences,
        .length = length,
        .tokens = tokens,
        .stride = skn_stride_floats(shape->width),
        .qkv_stride = skn_stride_floats(3 * (size_t)shape->width),
        .gates_stride = skn_stride_floats(2 * (size_t)shape->inner),
        .inner_stride = skn_stride_floats(shape->inner),
    };
    memory = skn_norm_kept_init(&kept->input, tokens, shape->width, memory);
    memory = skn_norm_kept_init(&kept->middle, tokens, shape->width, memory);
    kept->qkv = take(&memory, tokens * kept->qkv_stride);
    kept->attention = take(&memory, tokens * kept->stride);
    kept->gates = take(&memory, tokens * kept->gates_stride);
    kept->product = take(&memory, tokens * kept->inner_stride);
    kept->middle_gradient = take(&memory, tokens * kept->stride);
    kept->out_gradient = take(&memory, tokens * kept->stride);
    kept->log_sum = memory;
}

/* Scratch: rows of `width` and of `inner` columns, a gain, and the kernels'
 * own. */
typedef struct scratch {
    float *narrow, *wide, *gain;
    void *room;
} scratch_t;

static scratch_t
scratch_of(const skn_decoder_t *decoder, size_t tokens, void *memory)
{
    float *at = memory;
    scratch_t scratch;
    scratch.narrow =
        take(&at, tokens * skn_stride_floats(decoder->shape.width));
    scratch.wide = take(&at, tokens * skn_stride_floats(decoder->shape.inner));
    scratch.gain = take(&at, skn_array_floats(decoder->shape.width));
    scratch.room = at;
    return scratch;
}

static size_t
greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t
skn_decoder_scratch_bytes(const skn_decoder_t *decoder, size_t tokens)
{
    const skn_decoder_shape_t *shape = &decoder->shape;
    const skn_kernels_t *kernels = decoder->kernels;
    size_t width = shape->width, inner = shape->inner;
    size_t most = greater(3 * width, 2 * inner);
    size_t length = tokens < shape->context ? tokens : shape->context;
    size_t room =
        skn_heads_scratch_bytes(kernels, length, skn_decoder_head(shape));
    room = greater(room, kernels->gemm_scratch_bytes(tokens, most, width));
    room = greater(room, kernels->gemm_scratch_bytes(tokens, width, most));
    room = greater(room, kernels->gemm_scratch_bytes(most, width, tokens));
    return (tokens * (skn_stride_floats(width) + skn_stride_floats(inner)) +
            skn_array_floats(width)) *
               sizeof(float) +
           room;
}

/* --- parts of both passes ------------------------------------------------- */

static skn_matrix_t
matrix(const float *at, size_t stride)
{
    return (skn_matrix_t){ .at = at, .row_stride = stride, .column_stride = 1 };
}

static skn_matrix_t
turned(skn_matrix_t matrix)
{
    size_t kept = matrix.row_stride;
    matrix.row_stride = matrix.column_stride;
    matrix.column_stride = kept;
    return matrix;
}

/* The rows of a layer from a tensor's first one on. */
static skn_matrix_t
tensor_of(const skn_decoder_t *decoder, const skn_matrix_t *weights,
          skn_decoder_tensor_t tensor)
{
    skn_matrix_t rows = *weights;
    size_t at = skn_decoder_first(&decoder->shape, tensor) * rows.row_stride;
    if (rows.at)
        rows.at += at;
    else
        rows.bf16 += at;
    return rows;
}

/* The norm whose gain is the row of `gain`, which is copied if it is bf16. */
static skn_norm_t
norm_of(const skn_decoder_t *decoder, skn_matrix_t gain, float *copy)
{
    if (!gain.at)
        decoder->kernels->bf16_to_f32(copy, gain.bf16, decoder->shape.width);
    return (skn_norm_t){ .gain = gain.at ? gain.at : copy,
                         .eps = decoder->shape.epsilon };
}

/* c [m][n] = (or +=) a [m][k] b [k][n]. */
typedef struct product {
    size_t m, n, k;
    skn_matrix_t a, b;
    float *c;
    size_t c_stride;
    bool add;
} product_t;

static void
multiply(const skn_decoder_t *decoder, const product_t *product, void *room)
{
    const skn_gemm_t job = { .m = product->m,
                             .n = product->n,
                             .k = product->k,
                             .a = product->a,
                             .b = product->b,
                             .c = product->c,
                             .c_stride = product->c_stride,
                             .add = product->add,
                             .half = decoder->half };
    decoder->kernels->gemm(&job, room);
}

static skn_heads_t
heads_of(const skn_decoder_t *decoder, const skn_decoder_kept_t *kept)
{
    return (skn_heads_t){ .kernels = decoder->kernels,
                          .sequences = kept->sequences,
                          .length = kept->length,
                          .heads = decoder->shape.heads,
                          .head = skn_decoder_head(&decoder->shape),
                          .cosine = decoder->cosine,
                          .sine = decoder->sine,
                          .qkv = kept->qkv,
                          .out = kept->attention,
                          .log_sum = kept->log_sum,
                          .qkv_stride = kept->qkv_stride,
                          .stride = kept->stride };
}

/* --- forward -------------------------------------------------------------- */

/* x += attention(...) Wo. */
static void
attention_forward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
                  skn_decoder_kept_t *kept, float *x, const scratch_t *scratch)
{
    size_t width = decoder->shape.width;
    skn_heads_t heads = heads_of(decoder, kept);
    skn_norm_t norm =
        norm_of(decoder, tensor_of(decoder, weights, SKN_DECODER_INPUT_GAIN),
                scratch->gain);
    skn_norm_forward(decoder->kernels, &kept->input, &norm, x, scratch->narrow,
                     kept->stride);
    const product_t qkv = { .m = kept->tokens,
                            .n = 3 * width,
                            .k = width,
                            .a = matrix(scratch->narrow, kept->stride),
                            .b = turned(
                                tensor_of(decoder, weights, SKN_DECODER_Q)),
                            .c = kept->qkv,
                            .c_stride = kept->qkv_stride };
    multiply(decoder, &qkv, scratch->room);
    skn_heads_forward(&heads, scratch->room);
    const product_t out = { .m = kept->tokens,
                            .n = width,
                            .k = width,
                            .a = matrix(kept->attention, kept->stride),
                            .b = turned(
                                tensor_of(decoder, weights, SKN_DECODER_O)),
                            .c = x,
                            .c_stride = width,
                            .add = true };
    multiply(decoder, &out, scratch->room);
}

/* x += (silu(gate) * up) Wdown. */
static void
inner_forward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
              skn_decoder_kept_t *kept, float *x, const scratch_t *scratch)
{
    size_t width = decoder->shape.width, inner = decoder->shape.inner;
    skn_norm_t norm =
        norm_of(decoder, tensor_of(decoder, weights, SKN_DECODER_MIDDLE_GAIN),
                scratch->gain);
    skn_norm_forward(decoder->kernels, &kept->middle, &norm, x, scratch->narrow,
                     kept->stride);
    const product_t gates = { .m = kept->tokens,
                              .n = 2 * inner,
                              .k = width,
                              .a = matrix(scratch->narrow, kept->stride),
                              .b = turned(tensor_of(decoder, weights,
                                                    SKN_DECODER_GATE)),
                              .c = kept->gates,
                              .c_stride = kept->gates_stride };
    multiply(decoder, &gates, scratch->room);
    for (size_t t = 0; t < kept->tokens; t++) {
        const float *gate = kept->gates + t * kept->gates_stride;
        decoder->kernels->silu_gate(kept->product + t * kept->inner_stride,
                                    gate, gate + inner, inner);
    }
    const product_t down = { .m = kept->tokens,
                             .n = width,
                             .k = inner,
                             .a = matrix(kept->product, kept->inner_stride),
                             .b = tensor_of(decoder, weights, SKN_DECODER_DOWN),
                             .c = x,
                             .c_stride = width,
                             .add = true };
    multiply(decoder, &down, scratch->room);
}

void
skn_decoder_layer_forward(const skn_decoder_t *decoder,
                          const skn_matrix_t *weights, skn_decoder_kept_t *kept,
                          float *x, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    attention_forward(decoder, weights, kept, x, &scratch);
    inner_forward(decoder, weights, kept, x, &scratch);
}

/* --- B -------------------------------------------------------------------- */

static void
keep_rows(float *to, size_t stride, const float *from, size_t tokens,
          size_t width)
{
    for (size_t t = 0; t < tokens; t++)
        memcpy(to + t * stride, from + t * width, width * sizeof(float));
}

/* dx: from the gradient by y to that by x'. */
static void
inner_backward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
               skn_decoder_kept_t *kept, float *dx, const scratch_t *scratch)
{
    size_t width = decoder->shape.width, inner = decoder->shape.inner;
    skn_norm_t norm =
        norm_of(decoder, tensor_of(decoder, weights, SKN_DECODER_MIDDLE_GAIN),
                scratch->gain);
    keep_rows(kept->out_gradient, kept->stride, dx, kept->tokens, width);
    const product_t by_product = {
        .m = kept->tokens,
        .n = inner,
        .k = width,
        .a = matrix(kept->out_gradient, kept->stride),
        .b = turned(tensor_of(decoder, weights, SKN_DECODER_DOWN)),
        .c = scratch->wide,
        .c_stride = kept->inner_stride
    };
    multiply(decoder, &by_product, scratch->room);
    for (size_t t = 0; t < kept->tokens; t++) {
        float *gate = kept->gates + t * kept->gates_stride;
        decoder->kernels->silu_gate_gradient(
            gate, gate + inner, scratch->wide + t * kept->inner_stride, gate,
            gate + inner, inner);
    }
    const product_t by_norm = { .m = kept->tokens,
                                .n = width,
                                .k = 2 * inner,
                                .a = matrix(kept->gates, kept->gates_stride),
                                .b = tensor_of(decoder, weights,
                                               SKN_DECODER_GATE),
                                .c = scratch->narrow,
                                .c_stride = kept->stride };
    multiply(decoder, &by_norm, scratch->room);
    skn_norm_backward(decoder->kernels, &kept->middle, &norm, scratch->narrow,
                      kept->stride, dx, kept->middle.x);
}

/* dx: from the gradient by x' to that by x. */
static void
attention_backward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
                   skn_decoder_kept_t *kept, float *dx,
                   const scratch_t *scratch)
{
    size_t width = decoder->shape.width;
    skn_heads_t heads = heads_of(decoder, kept);
    skn_norm_t norm =
        norm_of(decoder, tensor_of(decoder, weights, SKN_DECODER_INPUT_GAIN),
                scratch->gain);
    keep_rows(kept->middle_gradient, kept->stride, dx, kept->tokens, width);
    const product_t by_attention = {
        .m = kept->tokens,
        .n = width,
        .k = width,
        .a = matrix(kept->middle_gradient, kept->stride),
        .b = tensor_of(decoder, weights, SKN_DECODER_O),
        .c = scratch->narrow,
        .c_stride = kept->stride
    };
    multiply(decoder, &by_attention, scratch->room);
    skn_heads_backward(&heads, scratch->narrow, scratch->room);
    const product_t by_norm = { .m = kept->tokens,
                                .n = width,
                                .k = 3 * width,
                                .a = matrix(kept->qkv, kept->qkv_stride),
                                .b = tensor_of(decoder, weights, SKN_DECODER_Q),
                                .c = scratch->narrow,
                                .c_stride = kept->stride };
    multiply(decoder, &by_norm, scratch->room);
    skn_norm_backward(decoder->kernels, &kept->input, &norm, scratch->narrow,
                      kept->stride, dx, kept->input.x);
}

void
skn_decoder_layer_backward(const skn_decoder_t *decoder,
                           const skn_matrix_t *weights,
                           skn_decoder_kept_t *kept, float *dx, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    inner_backward(decoder, weights, kept, dx, &scratch);
    attention_backward(decoder, weights, kept, dx, &scratch);
}

/* --- W -------------------------------------------------------------------- */

/* Adjacent tensors whose gradient is one product: gradient [rows][width] +=
 * left^T right, with left [tokens][rows] and right [tokens][width]. */
typedef struct owed {
    skn_decoder_tensor_t first, last;
    const float *left, *right;
    size_t left_stride;
} owed_t;

#define OWED 4

static void
list_owed(const skn_decoder_kept_t *kept, owed_t owed[OWED])
{
    owed[0] = (owed_t){ SKN_DECODER_Q, SKN_DECODER_V, kept->qkv, kept->input.x,
                        kept->qkv_stride };
    owed[1] = (owed_t){ SKN_DECODER_O, SKN_DECODER_O, kept->middle_gradient,
                        kept->attention, kept->stride };
    owed[2] = (owed_t){ SKN_DECODER_GATE, SKN_DECODER_UP, kept->gates,
                        kept->middle.x, kept->gates_stride };
    owed[3] = (owed_t){ SKN_DECODER_DOWN, SKN_DECODER_DOWN, kept->product,
                        kept->out_gradient, kept->inner_stride };
}

static size_t
owed_rows(const skn_decoder_shape_t *shape, const owed_t *owed)
{
    return skn_decoder_first(shape, owed->last) +
           skn_decoder_rows(shape, owed->last) -
           skn_decoder_first(shape, owed->first);
}

/* The number of parts that a product of `rows` rows is cut into. */
static size_t
pieces_of(const skn_decoder_shape_t *shape, size_t tokens, size_t rows)
{
    size_t work = rows * tokens * shape->width;
    size_t pieces = (work + PART_MULTIPLIES - 1) / PART_MULTIPLIES;
    return pieces > 1 ? pieces : 1;
}

uint32_t
skn_decoder_parts(const skn_decoder_shape_t *shape, size_t tokens)
{
    static const skn_decoder_kept_t none;
    size_t parts = 1; /* the gains */
    owed_t owed[OWED];
    list_owed(&none, owed);
    for (size_t k = 0; k < OWED; k++)
        parts += pieces_of(shape, tokens, owed_rows(shape, &owed[k]));
    return (uint32_t)parts;
}

static void
add_gains(const skn_decoder_t *decoder, const skn_decoder_kept_t *kept,
          float *gradient)
{
    size_t width = decoder->shape.width;
    decoder->kernels->add(gradient, gradient, kept->input.gain_gradient, width);
    gradient +=
        width * skn_decoder_first(&decoder->shape, SKN_DECODER_MIDDLE_GAIN);
    decoder->kernels->add(gradient, gradient, kept->middle.gain_gradient,
                          width);
}

void
skn_decoder_layer_weights(const skn_decoder_t *decoder,
                          const skn_decoder_kept_t *kept, uint32_t part,
                          float *gradient, void *memory)
{
    const skn_decoder_shape_t *shape = &decoder->shape;
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    size_t piece = part, width = shape->width;
    owed_t owed[OWED];
    if (piece-- == 0) {
        add_gains(decoder, kept, gradient);
        return;
    }
    list_owed(kept, owed);
    for (size_t k = 0; k < OWED; k++) {
        size_t rows = owed_rows(shape, &owed[k]);
        size_t pieces = pieces_of(shape, kept->tokens, rows);
        if (piece >= pieces) {
            piece -= pieces;
            continue;
        }
        size_t first = rows * piece / pieces, stride = owed[k].left_stride;
        const product_t product = {
            .m = rows * (piece + 1) / pieces - first,
            .n = width,
            .k = kept->tokens,
            .a = turned(matrix(owed[k].left + first, stride)),
            .b = matrix(owed[k].right, kept->stride),
            .c = gradient +
                 (skn_decoder_first(shape, owed[k].first) + first) * width,
            .c_stride = width,
            .add = true
        };
        multiply(decoder, &product, scratch.room);
        return;
    }
}

/* --- the norm behind the last layer --------------------------------------- */

void
skn_decoder_final_forward(const skn_decoder_t *decoder,
                          const skn_matrix_t *weights, skn_norm_kept_t *kept,
                          float *x, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    skn_norm_t norm = norm_of(decoder, *weights, scratch.gain);
    skn_norm_forward(decoder->kernels, kept, &norm, x, x, kept->width);
}

void
skn_decoder_final_backward(const skn_decoder_t *decoder,
                           const skn_matrix_t *weights, skn_norm_kept_t *kept,
                           float *dx, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    skn_norm_t norm = norm_of(decoder, *weights, scratch.gain);
    keep_rows(scratch.narrow, kept->stride, dx, kept->tokens, kept->width);
    memset(dx, 0, kept->tokens * kept->width * sizeof(float));
    skn_norm_backward(decoder->kernels, kept, &norm, scratch.narrow,
                      kept->stride, dx, NULL);
}

void
skn_decoder_final_weights(const skn_decoder_t *decoder,
                          const skn_norm_kept_t *kept, float *gradient)
{
    decoder->kernels->add(gradient, gradient, kept->gain_gradient, kept->width);
}
