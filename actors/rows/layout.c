/* layout.c - what the rows of a shard begin with, and which of them decay.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/layout.h"

void
skn_layout_open(skn_layout_t *layout, const skn_actor_t *actor, uint32_t width)
{
    uint32_t layers = (uint32_t)skn_actor_option_int(actor, "decoder_layers");
    layout->deviation = (float)skn_actor_option_real(actor, "init");
    layout->layers =
        layers > 0 ? (uint32_t)skn_actor_option_int(actor, "stage_layers") : 0;
    layout->shape = (skn_decoder_shape_t){
        .layers = layers,
        .width = width,
        .inner = (uint32_t)skn_actor_option_int(actor, "inner"),
    };
}

bool
skn_layout_is_gain(const skn_layout_t *layout, uint32_t row, float *deviation)
{
    *deviation = layout->deviation;
    if (layout->layers == 0)
        return false;
    skn_decoder_tensor_t tensor =
        skn_decoder_find(&layout->shape, layout->layers, row).tensor;
    *deviation =
        skn_decoder_deviation(&layout->shape, tensor, layout->deviation);
    return skn_decoder_entry[tensor].is_gain;
}
