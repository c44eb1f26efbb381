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
skn_decoder_kept_floats(const skn_decoder_t *decoder, size_t tokens)
{
    size_t width = decoder->shape.width, inner = decoder->shape.inner;
    const size_t columns[] = {
        3 * width, width, 2 * inner, inner, width, width
    };
    size_t floats = 2 * skn_norm_kept_floats(tokens, width) +
                    skn_array_floats(decoder->shape.heads * tokens);
    for (size_t k = 0; k < sizeof(columns) / sizeof(*columns); k++)
        floats += skn_kept_rows_floats(tokens, columns[k], decoder->half);
    return floats;
}

void
skn_decoder_kept_init(const skn_decoder_t *decoder, skn_decoder_kept_t *kept,
                      size_t sequences, size_t length, float *memory)
{
    size_t width = decoder->shape.width, inner = decoder->shape.inner;
    size_t tokens = sequences * length;
    const struct {
        skn_kept_rows_t *rows;
        size_t columns;
    } arrays[] = {
        { &kept->qkv, 3 * width },         { &kept->attention, width },
        { &kept->gates, 2 * inner },       { &kept->product, inner },
        { &kept->middle_gradient, width }, { &kept->out_gradient, width }
    };
    kept->sequences = sequences;
    kept->length = length;
    kept->first = 0;
    kept->tokens = tokens;
    memory = skn_norm_kept_init(&kept->input, tokens, width, memory);
    memory = skn_norm_kept_init(&kept->middle, tokens, width, memory);
    for (size_t k = 0; k < sizeof(arrays) / sizeof(*arrays); k++)
        memory = skn_kept_rows_init(arrays[k].rows, tokens, arrays[k].columns,
                                    decoder->half, memory);
    kept->log_sum = memory;
}

void
skn_decoder_kept_continue(skn_decoder_kept_t *kept,
                          const skn_kept_rows_t *cache, size_t first)
{
    kept->first = first;
    kept->qkv = *cache;
    kept->qkv.tokens = kept->tokens;
    kept->qkv.at += first * cache->stride;
}

/* Scratch: two arrays of `width` columns; one of 2 inner or 3 width columns; a
 * row of that; a gain; and the kernels' own. Products of floats do without the
 * second and with fewer columns: what they make is kept where they make it. */
enum scratch_part {
    NARROW,
    SECOND,
    WIDE,
    ROW,
    GAIN,
    PARTS
};

typedef struct scratch {
    float *part[PARTS];
    size_t stride, inner_stride; /* of arrays with width or inner columns */
    void *room;                  /* of the kernels */
} scratch_t;

static size_t
greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void
scratch_floats(const skn_decoder_t *decoder, size_t tokens,
               size_t floats[PARTS])
{
    size_t width = decoder->shape.width, inner = decoder->shape.inner;
    size_t widest = greater(3 * width, 2 * inner);
    floats[NARROW] = tokens * skn_stride_floats(width);
    floats[SECOND] = decoder->half ? floats[NARROW] : 0;
    floats[WIDE] = tokens * skn_stride_floats(decoder->half ? widest : inner);
    floats[ROW] = skn_array_floats(widest);
    floats[GAIN] = skn_array_floats(width);
}

static scratch_t
scratch_of(const skn_decoder_t *decoder, size_t tokens, float *memory)
{
    scratch_t scratch = { .stride = skn_stride_floats(decoder->shape.width),
                          .inner_stride =
                              skn_stride_floats(decoder->shape.inner) };
    size_t floats[PARTS];
    scratch_floats(decoder, tokens, floats);
    for (int part = 0; part < PARTS; part++) {
        scratch.part[part] = memory;
        memory += floats[part];
    }
    scratch.room = memory;
    return scratch;
}

size_t
skn_decoder_scratch_bytes(const skn_decoder_t *decoder, size_t tokens)
{
    const skn_decoder_shape_t *shape = &decoder->shape;
    const skn_kernels_t *kernels = decoder->kernels;
    size_t width = shape->width, floats[PARTS];
    size_t most = greater(3 * width, 2 * (size_t)shape->inner);
    size_t length = tokens < shape->context ? tokens : shape->context;
    size_t bytes =
        skn_heads_scratch_bytes(kernels, length, skn_decoder_head(shape));
    bytes = greater(bytes, kernels->gemm_scratch_bytes(tokens, most, width));
    bytes = greater(bytes, kernels->gemm_scratch_bytes(tokens, width, most));
    bytes = greater(bytes, kernels->gemm_scratch_bytes(most, width, tokens));
    scratch_floats(decoder, tokens, floats);
    for (int part = 0; part < PARTS; part++)
        bytes += floats[part] * sizeof(float);
    return bytes;
}

skn_decoder_floats_t
skn_decoder_floats(const skn_decoder_t *decoder, size_t layers, size_t tokens,
                   bool recompute)
{
    size_t x = skn_array_floats(tokens * decoder->shape.width);
    size_t kept = skn_decoder_kept_floats(decoder, tokens);
    return recompute ? (skn_decoder_floats_t){ (layers - 1) * x, kept + x }
                     : (skn_decoder_floats_t){ layers * kept, 0 };
}

/* --- parts of both passes ------------------------------------------------- */

static skn_matrix_t
matrix(const float *at, size_t stride)
{
    return (skn_matrix_t){ .at = at, .row_stride = stride, .column_stride = 1 };
}

static skn_matrix_t
transposed(skn_matrix_t matrix)
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

/* q, k, v and what attention makes of them, as floats. */
static skn_heads_t
heads_of(const skn_decoder_t *decoder, const skn_decoder_kept_t *kept,
         float *qkv, float *attention)
{
    return (skn_heads_t){ .kernels = decoder->kernels,
                          .sequences = kept->sequences,
                          .length = kept->length,
                          .first = kept->first,
                          .heads = decoder->shape.heads,
                          .head = skn_decoder_head(&decoder->shape),
                          .cosine = decoder->cosine,
                          .sine = decoder->sine,
                          .qkv = qkv,
                          .out = attention,
                          .log_sum = kept->log_sum,
                          .qkv_stride = skn_kept_rows_stride(&kept->qkv),
                          .stride = skn_kept_rows_stride(&kept->attention) };
}

static skn_norm_t
norm_of_tensor(const skn_decoder_t *decoder, const skn_matrix_t *weights,
               skn_decoder_tensor_t tensor, const scratch_t *scratch)
{
    return norm_of(decoder, tensor_of(decoder, weights, tensor),
                   scratch->part[GAIN]);
}

/* --- forward -------------------------------------------------------------- */

/* Fills qkv and attention from the norm in NARROW. Attention reads q, k and v
 * as they are kept, so that B sees the same ones. */
static void
attend_forward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
               skn_decoder_kept_t *kept, const scratch_t *scratch)
{
    const skn_kernels_t *kernels = decoder->kernels;
    size_t width = decoder->shape.width;
    float *qkv = skn_kept_rows_fresh(&kept->qkv, 0, scratch->part[WIDE]);
    float *attention =
        skn_kept_rows_fresh(&kept->attention, 0, scratch->part[SECOND]);
    skn_heads_t heads = heads_of(decoder, kept, qkv, attention);
    const product_t product = {
        .m = kept->tokens,
        .n = 3 * width,
        .k = width,
        .a = matrix(scratch->part[NARROW], scratch->stride),
        .b = transposed(tensor_of(decoder, weights, SKN_DECODER_Q)),
        .c = qkv,
        .c_stride = heads.qkv_stride
    };
    multiply(decoder, &product, scratch->room);
    for (size_t t = 0; t < kept->tokens; t++) {
        float *row = qkv + t * heads.qkv_stride;
        skn_heads_turn(&heads, t);
        skn_kept_rows_put_row(kernels, &kept->qkv, t, row);
        (void)skn_kept_rows_get_row(kernels, &kept->qkv, t, row);
    }
    skn_heads_forward(&heads, scratch->room);
    skn_kept_rows_put(kernels, &kept->attention, attention, heads.stride);
}

/* x += attention(...) Wo. */
static void
attention_forward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
                  skn_decoder_kept_t *kept, float *x, const scratch_t *scratch)
{
    size_t width = decoder->shape.width;
    skn_norm_t norm =
        norm_of_tensor(decoder, weights, SKN_DECODER_INPUT_GAIN, scratch);
    skn_norm_forward(decoder->kernels, &kept->input, &norm, x,
                     scratch->part[NARROW], scratch->stride);
    attend_forward(decoder, weights, kept, scratch);
    const product_t out = { .m = kept->tokens,
                            .n = width,
                            .k = width,
                            .a = skn_kept_rows_matrix(&kept->attention, 0),
                            .b = transposed(
                                tensor_of(decoder, weights, SKN_DECODER_O)),
                            .c = x,
                            .c_stride = width,
                            .add = true };
    multiply(decoder, &out, scratch->room);
}

/* Fills gates and product from the norm of x'. */
static void
gates_forward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
              skn_decoder_kept_t *kept, const float *x,
              const scratch_t *scratch)
{
    const skn_kernels_t *kernels = decoder->kernels;
    size_t inner = decoder->shape.inner;
    size_t stride = skn_kept_rows_stride(&kept->gates);
    skn_norm_t norm =
        norm_of_tensor(decoder, weights, SKN_DECODER_MIDDLE_GAIN, scratch);
    skn_norm_forward(kernels, &kept->middle, &norm, x, scratch->part[NARROW],
                     scratch->stride);
    float *gates = skn_kept_rows_fresh(&kept->gates, 0, scratch->part[WIDE]);
    const product_t product = {
        .m = kept->tokens,
        .n = 2 * inner,
        .k = decoder->shape.width,
        .a = matrix(scratch->part[NARROW], scratch->stride),
        .b = transposed(tensor_of(decoder, weights, SKN_DECODER_GATE)),
        .c = gates,
        .c_stride = stride
    };
    multiply(decoder, &product, scratch->room);
    for (size_t t = 0; t < kept->tokens; t++) {
        float *gate = gates + t * stride;
        float *out = skn_kept_rows_fresh(&kept->product, t, scratch->part[ROW]);
        kernels->silu_gate(out, gate, gate + inner, inner);
        skn_kept_rows_put_row(kernels, &kept->gates, t, gate);
        skn_kept_rows_put_row(kernels, &kept->product, t, out);
    }
}

/* x += (silu(gate) * up) Wdown. */
static void
inner_forward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
              const skn_decoder_kept_t *kept, float *x,
              const scratch_t *scratch)
{
    size_t width = decoder->shape.width;
    const product_t down = { .m = kept->tokens,
                             .n = width,
                             .k = decoder->shape.inner,
                             .a = skn_kept_rows_matrix(&kept->product, 0),
                             .b = tensor_of(decoder, weights, SKN_DECODER_DOWN),
                             .c = x,
                             .c_stride = width,
                             .add = true };
    multiply(decoder, &down, scratch->room);
}

void
skn_decoder_layer_recompute(const skn_decoder_t *decoder,
                            const skn_matrix_t *weights,
                            skn_decoder_kept_t *kept, float *x, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    attention_forward(decoder, weights, kept, x, &scratch);
    gates_forward(decoder, weights, kept, x, &scratch);
}

void
skn_decoder_layer_forward(const skn_decoder_t *decoder,
                          const skn_matrix_t *weights, skn_decoder_kept_t *kept,
                          float *x, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    skn_decoder_layer_recompute(decoder, weights, kept, x, memory);
    inner_forward(decoder, weights, kept, x, &scratch);
}

/* --- B -------------------------------------------------------------------- */

/* Replaces gate and up by their gradients, for that by y. */
static void
gates_backward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
               skn_decoder_kept_t *kept, const scratch_t *scratch)
{
    const skn_kernels_t *kernels = decoder->kernels;
    size_t inner = decoder->shape.inner;
    const product_t by_product = {
        .m = kept->tokens,
        .n = inner,
        .k = decoder->shape.width,
        .a = skn_kept_rows_matrix(&kept->out_gradient, 0),
        .b = transposed(tensor_of(decoder, weights, SKN_DECODER_DOWN)),
        .c = scratch->part[WIDE],
        .c_stride = scratch->inner_stride
    };
    multiply(decoder, &by_product, scratch->room);
    for (size_t t = 0; t < kept->tokens; t++) {
        float *gate =
            skn_kept_rows_get_row(kernels, &kept->gates, t, scratch->part[ROW]);
        kernels->silu_gate_gradient(
            gate, gate + inner, scratch->part[WIDE] + t * scratch->inner_stride,
            gate, gate + inner, inner);
        skn_kept_rows_put_row(kernels, &kept->gates, t, gate);
    }
}

/* dx: from the gradient by y to that by x'. */
static void
inner_backward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
               skn_decoder_kept_t *kept, float *dx, const scratch_t *scratch)
{
    size_t width = decoder->shape.width;
    skn_norm_t norm =
        norm_of_tensor(decoder, weights, SKN_DECODER_MIDDLE_GAIN, scratch);
    skn_kept_rows_put(decoder->kernels, &kept->out_gradient, dx, width);
    gates_backward(decoder, weights, kept, scratch);
    const product_t by_norm = { .m = kept->tokens,
                                .n = width,
                                .k = kept->gates.columns,
                                .a = skn_kept_rows_matrix(&kept->gates, 0),
                                .b = tensor_of(decoder, weights,
                                               SKN_DECODER_GATE),
                                .c = scratch->part[NARROW],
                                .c_stride = scratch->stride };
    multiply(decoder, &by_norm, scratch->room);
    skn_norm_backward(decoder->kernels, &kept->middle, &norm,
                      scratch->part[NARROW], scratch->stride, dx,
                      kept->middle.x);
}

/* Replaces q, k and v by their gradients, for that by x'. */
static void
attend_backward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
                skn_decoder_kept_t *kept, const scratch_t *scratch)
{
    const skn_kernels_t *kernels = decoder->kernels;
    size_t width = decoder->shape.width;
    float *qkv = skn_kept_rows_get(kernels, &kept->qkv, scratch->part[WIDE]);
    float *attention =
        skn_kept_rows_get(kernels, &kept->attention, scratch->part[SECOND]);
    skn_heads_t heads = heads_of(decoder, kept, qkv, attention);
    const product_t by_attention = {
        .m = kept->tokens,
        .n = width,
        .k = width,
        .a = skn_kept_rows_matrix(&kept->middle_gradient, 0),
        .b = tensor_of(decoder, weights, SKN_DECODER_O),
        .c = scratch->part[NARROW],
        .c_stride = heads.stride
    };
    multiply(decoder, &by_attention, scratch->room);
    skn_heads_backward(&heads, scratch->part[NARROW], scratch->room);
    skn_kept_rows_put(kernels, &kept->qkv, qkv, heads.qkv_stride);
}

/* dx: from the gradient by x' to that by x. */
static void
attention_backward(const skn_decoder_t *decoder, const skn_matrix_t *weights,
                   skn_decoder_kept_t *kept, float *dx,
                   const scratch_t *scratch)
{
    size_t width = decoder->shape.width;
    skn_norm_t norm =
        norm_of_tensor(decoder, weights, SKN_DECODER_INPUT_GAIN, scratch);
    skn_kept_rows_put(decoder->kernels, &kept->middle_gradient, dx, width);
    attend_backward(decoder, weights, kept, scratch);
    const product_t by_norm = { .m = kept->tokens,
                                .n = width,
                                .k = kept->qkv.columns,
                                .a = skn_kept_rows_matrix(&kept->qkv, 0),
                                .b = tensor_of(decoder, weights, SKN_DECODER_Q),
                                .c = scratch->part[NARROW],
                                .c_stride = scratch->stride };
    multiply(decoder, &by_norm, scratch->room);
    skn_norm_backward(decoder->kernels, &kept->input, &norm,
                      scratch->part[NARROW], scratch->stride, dx,
                      kept->input.x);
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
    const skn_kept_rows_t *left;
    skn_matrix_t right;
} owed_t;

#define OWED 4

static void
list_owed(const skn_decoder_kept_t *kept, owed_t owed[OWED])
{
    owed[0] = (owed_t){ SKN_DECODER_Q, SKN_DECODER_V, &kept->qkv,
                        matrix(kept->input.x, kept->input.stride) };
    owed[1] = (owed_t){ SKN_DECODER_O, SKN_DECODER_O, &kept->middle_gradient,
                        skn_kept_rows_matrix(&kept->attention, 0) };
    owed[2] = (owed_t){ SKN_DECODER_GATE, SKN_DECODER_UP, &kept->gates,
                        matrix(kept->middle.x, kept->middle.stride) };
    owed[3] = (owed_t){ SKN_DECODER_DOWN, SKN_DECODER_DOWN, &kept->product,
                        skn_kept_rows_matrix(&kept->out_gradient, 0) };
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
        size_t first = rows * piece / pieces;
        const product_t product = {
            .m = rows * (piece + 1) / pieces - first,
            .n = width,
            .k = kept->tokens,
            .a = transposed(skn_kept_rows_matrix(owed[k].left, first)),
            .b = owed[k].right,
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
    skn_norm_t norm = norm_of(decoder, *weights, scratch.part[GAIN]);
    skn_norm_forward(decoder->kernels, kept, &norm, x, x, kept->width);
}

void
skn_decoder_final_backward(const skn_decoder_t *decoder,
                           const skn_matrix_t *weights, skn_norm_kept_t *kept,
                           float *dx, void *memory)
{
    scratch_t scratch = scratch_of(decoder, kept->tokens, memory);
    skn_norm_t norm = norm_of(decoder, *weights, scratch.part[GAIN]);
    for (size_t t = 0; t < kept->tokens; t++)
        memcpy(scratch.part[NARROW] + t * scratch.stride, dx + t * kept->width,
               kept->width * sizeof(float));
    memset(dx, 0, kept->tokens * kept->width * sizeof(float));
    skn_norm_backward(decoder->kernels, kept, &norm, scratch.part[NARROW],
                      scratch.stride, dx, NULL);
}

void
skn_decoder_final_weights(const skn_decoder_t *decoder,
                          const skn_norm_kept_t *kept, float *gradient)
{
    decoder->kernels->add(gradient, gradient, kept->gain_gradient, kept->width);
}
