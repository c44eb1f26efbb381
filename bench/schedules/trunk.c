/* trunk.c - computes the layers of a decoder for a stage of bench_schedules.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/schedules/trunk.h"

#include <stdlib.h>
#include <string.h>

#include "actors/protocol/settings.h"
#include "actors/protocol/workspace.h"

/* Weights and angles of the usual size. */
skn_status_t
trunk_open(trunk_t *trunk, const skn_actor_t *actor, uint32_t slots,
           skn_error_t *error)
{
    const skn_decoder_shape_t shape = {
        .layers = skn_option_u32(actor, "layers"),
        .width = skn_option_u32(actor, "width"),
        .heads = skn_option_u32(actor, "heads"),
        .inner = skn_option_u32(actor, "inner"),
        .context = skn_option_u32(actor, "context"),
        .epsilon = 1e-5f,
        .rope_base = 1e4f,
    };
    if (shape.layers == 0)
        return SKN_OK;
    const skn_kernels_t *kernels = skn_kernels_pick(error);
    if (!kernels || skn_decoder_check(&shape, error) != SKN_OK)
        return error->status;
    trunk->layers = shape.layers;
    trunk->sequences = skn_option_u32(actor, "sequences");
    trunk->tokens = trunk->sequences * shape.context;
    trunk->values = trunk->tokens * shape.width;
    trunk->weights = (size_t)skn_decoder_layer_rows(&shape) * shape.width;
    trunk->pieces = trunk->layers * skn_decoder_parts(&shape, trunk->tokens);
    trunk->angles = skn_floats_new(skn_decoder_angle_floats(&shape), error);
    if (!trunk->angles)
        return SKN_NO_MEMORY;
    skn_decoder_init(&trunk->decoder, &shape, kernels, false, trunk->angles);
    size_t kept = skn_decoder_kept_floats(&trunk->decoder, trunk->tokens);
    size_t scratch = skn_decoder_scratch_bytes(&trunk->decoder, trunk->tokens);
    size_t places = (size_t)slots * trunk->layers;
    trunk->table = skn_floats_new(trunk->layers * trunk->weights, error);
    trunk->gradient = skn_floats_new(trunk->layers * trunk->weights, error);
    trunk->memory = skn_floats_new(places * kept, error);
    trunk->x = skn_floats_new(trunk->values, error);
    trunk->scratch = skn_floats_new(scratch / sizeof(float) + 1, error);
    trunk->kept = calloc(places, sizeof(*trunk->kept));
    if (!trunk->table || !trunk->gradient || !trunk->memory || !trunk->x ||
        !trunk->scratch || !trunk->kept)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %s",
                        skn_actor_name(actor));
    memset(trunk->gradient, 0, trunk->layers * trunk->weights * sizeof(float));
    memset(trunk->memory, 0, places * kept * sizeof(float));
    for (size_t k = 0; k < trunk->layers * trunk->weights; k++)
        trunk->table[k] = (float)(k * 7919 % 2001) * 3e-5f - 0.03f;
    return SKN_OK;
}

void
trunk_close(trunk_t *trunk)
{
    free(trunk->angles);
    free(trunk->table);
    free(trunk->gradient);
    free(trunk->memory);
    free(trunk->x);
    free(trunk->scratch);
    free(trunk->kept);
}

static skn_matrix_t
layer_weights(const trunk_t *trunk, uint32_t layer)
{
    return (skn_matrix_t){ .at = trunk->table + layer * trunk->weights,
                           .row_stride = trunk->decoder.shape.width,
                           .column_stride = 1 };
}

void
trunk_work(trunk_t *trunk, work_t work, uint32_t slot, uint32_t first,
           uint32_t end)
{
    size_t kept_at = (size_t)slot * trunk->layers;
    skn_decoder_kept_t *kept = trunk->kept + kept_at;
    const skn_decoder_t *decoder = &trunk->decoder;
    size_t floats = skn_decoder_kept_floats(decoder, trunk->tokens);
    uint32_t parts = skn_decoder_parts(&decoder->shape, trunk->tokens);
    for (uint32_t k = 0; k < trunk->layers && work == F; k++) {
        const skn_matrix_t weights = layer_weights(trunk, k);
        skn_decoder_kept_init(decoder, &kept[k], trunk->sequences,
                              decoder->shape.context,
                              trunk->memory + (kept_at + k) * floats);
        skn_decoder_layer_forward(decoder, &weights, &kept[k], trunk->x,
                                  trunk->scratch);
    }
    for (uint32_t k = trunk->layers; k-- > 0 && work == B;) {
        const skn_matrix_t weights = layer_weights(trunk, k);
        skn_decoder_layer_backward(decoder, &weights, &kept[k], trunk->x,
                                   trunk->scratch);
    }
    for (uint32_t k = first; k < end && work == W; k++)
        skn_decoder_layer_weights(decoder, &kept[k / parts], k % parts,
                                  trunk->gradient + k / parts * trunk->weights,
                                  trunk->scratch);
}

/* FNV-1a, over numbers (Fowler, Noll & Vo 1991). */
uint64_t
trunk_end_step(trunk_t *trunk)
{
    uint64_t hash = 0xCBF29CE484222325;
    size_t count = trunk->layers * trunk->weights;
    for (size_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &trunk->gradient[k], sizeof(bits));
        hash = (hash ^ bits) * 0x100000001B3;
        trunk->gradient[k] = 0;
    }
    return hash;
}
