/* decoder.c - the tensors of a decoder's layers, and the check of its shape.
 *
 * Names are those of Llama's checkpoints (Touvron et al. 2023).
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/decoder.h"

#include <math.h>
#include <stdio.h>

#include "skein/limits.h"

/* clang-format off */
const skn_decoder_entry_t skn_decoder_entry[SKN_DECODER_ALL] = {
    /* name, ones, widths, inners, is_transposed, is_gain, is_residual */
    { "input_layernorm.weight",          1, 0, 0, false, true,  false },
    { "post_attention_layernorm.weight", 1, 0, 0, false, true,  false },
    { "self_attn.q_proj.weight",         0, 1, 0, false, false, false },
    { "self_attn.k_proj.weight",         0, 1, 0, false, false, false },
    { "self_attn.v_proj.weight",         0, 1, 0, false, false, false },
    { "self_attn.o_proj.weight",         0, 1, 0, false, false, true  },
    { "mlp.gate_proj.weight",            0, 0, 1, false, false, false },
    { "mlp.up_proj.weight",              0, 0, 1, false, false, false },
    { "mlp.down_proj.weight",            0, 0, 1, true,  false, true  },
    { "norm.weight",                     1, 0, 0, false, true,  false },
};
/* clang-format on */

static skn_status_t
check_counts(const skn_decoder_shape_t *shape, skn_error_t *error)
{
    const struct {
        const char *name;
        uint32_t value, max;
    } counts[] = { { "layers", shape->layers, SKN_DECODER_LAYERS_MAX },
                   { "width", shape->width, SKN_HIDDEN_MAX },
                   { "heads", shape->heads, shape->width },
                   { "inner", shape->inner, SKN_HIDDEN_MAX },
                   { "context", shape->context, SKN_DECODER_CONTEXT_MAX } };
    for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++)
        if (counts[k].value < 1 || counts[k].value > counts[k].max)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "decoder: %s %u, allowed are 1 to %u",
                            counts[k].name, counts[k].value, counts[k].max);
    return SKN_OK;
}

skn_status_t
skn_decoder_check(const skn_decoder_shape_t *shape, skn_error_t *error)
{
    skn_status_t status = check_counts(shape, error);
    if (status != SKN_OK)
        return status;
    if (shape->width % SKN_DECODER_WIDTH_STEP != 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "decoder: width %u is not a multiple of %u",
                        shape->width, SKN_DECODER_WIDTH_STEP);
    if (shape->width % shape->heads != 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "decoder: width %u is not a multiple of its %u heads",
                        shape->width, shape->heads);
    if (skn_decoder_head(shape) % SKN_DECODER_HEAD_STEP != 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "decoder: %u heads of a width of %u have %u columns "
                        "each, not a multiple of %u",
                        shape->heads, shape->width, skn_decoder_head(shape),
                        SKN_DECODER_HEAD_STEP);
    if (!(shape->epsilon > 0.0f && shape->epsilon < 1.0f))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "decoder: epsilon %g is not between 0 and 1",
                        (double)shape->epsilon);
    if (!(shape->rope_base > 1.0f && isfinite(shape->rope_base)))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "decoder: rope_base %g is not a number above 1",
                        (double)shape->rope_base);
    return SKN_OK;
}

uint32_t
skn_decoder_rows(const skn_decoder_shape_t *shape, skn_decoder_tensor_t tensor)
{
    const skn_decoder_entry_t *entry = &skn_decoder_entry[tensor];
    return entry->ones + entry->widths * shape->width +
           entry->inners * shape->inner;
}

uint32_t
skn_decoder_first(const skn_decoder_shape_t *shape, skn_decoder_tensor_t tensor)
{
    uint32_t first = 0;
    for (int k = 0; k < (int)tensor && tensor < SKN_DECODER_TENSORS; k++)
        first += skn_decoder_rows(shape, (skn_decoder_tensor_t)k);
    return first;
}

uint32_t
skn_decoder_layer_rows(const skn_decoder_shape_t *shape)
{
    return skn_decoder_first(shape, SKN_DECODER_DOWN) +
           skn_decoder_rows(shape, SKN_DECODER_DOWN);
}

uint64_t
skn_decoder_stage_rows(const skn_decoder_shape_t *shape, uint32_t layers,
                       bool is_last)
{
    return (uint64_t)layers * skn_decoder_layer_rows(shape) +
           (is_last ? skn_decoder_rows(shape, SKN_DECODER_FINAL_GAIN) : 0);
}

skn_decoder_place_t
skn_decoder_find(const skn_decoder_shape_t *shape, uint32_t layers,
                 uint64_t row)
{
    uint32_t layer_rows = skn_decoder_layer_rows(shape);
    skn_decoder_place_t place = { .layer = (uint32_t)(row / layer_rows),
                                  .row = (uint32_t)(row % layer_rows) };
    int tensor = 0;
    if (place.layer >= layers)
        return (skn_decoder_place_t){ layers, SKN_DECODER_FINAL_GAIN, 0 };
    for (uint32_t rows;
         place.row >=
         (rows = skn_decoder_rows(shape, (skn_decoder_tensor_t)tensor));
         tensor++)
        place.row -= rows;
    place.tensor = (skn_decoder_tensor_t)tensor;
    return place;
}

void
skn_decoder_name(char *name, size_t bytes, uint32_t layer,
                 skn_decoder_tensor_t tensor)
{
    if (tensor < SKN_DECODER_TENSORS)
        (void)snprintf(name, bytes, "model.layers.%u.%s", layer,
                       skn_decoder_entry[tensor].name);
    else
        (void)snprintf(name, bytes, "model.%s", skn_decoder_entry[tensor].name);
}

float
skn_decoder_deviation(const skn_decoder_shape_t *shape,
                      skn_decoder_tensor_t tensor, float deviation)
{
    if (skn_decoder_entry[tensor].is_gain)
        return 0.0f;
    return skn_decoder_entry[tensor].is_residual
               ? deviation / sqrtf(2.0f * (float)shape->layers)
               : deviation;
}
