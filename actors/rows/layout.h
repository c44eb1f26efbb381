/* layout.h - what the rows of a shard begin with, and which of them decay.
 *
 * Rows of an embedding, a dense or an output layer are all alike; those of a
 * decoder's layers (actors/protocol/decoder.h) are tensors one after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_LAYOUT_H
#define ACTORS_ROWS_LAYOUT_H

#include "actors/protocol/decoder.h"
#include "skein/actor.h"

typedef struct skn_layout {
    float deviation;           /* of first weights */
    uint32_t layers;           /* of a decoder in this shard; 0: all alike */
    skn_decoder_shape_t shape; /* of the decoder */
} skn_layout_t;

/* clang-format off */
/* The options that skn_layout_open reads. */
#define SKN_LAYOUT_OPTIONS                                                     \
    SKN_OPTION_OF("init", "0.05", SKN_SETTING_INIT_STD),                       \
        { "decoder_layers", SKN_OPTION_INT, "0", 0, SKN_DECODER_LAYERS_MAX,    \
          NULL, "layers of the whole decoder; 0: the rows are of another "     \
          "layer" },                                                           \
        { "stage_layers", SKN_OPTION_INT, "1", 1, SKN_DECODER_LAYERS_MAX,      \
          NULL, "layers of the decoder whose rows are here" },                 \
        { "inner", SKN_OPTION_INT, "16", 1, SKN_HIDDEN_MAX, NULL,              \
          "units of a decoder layer's feed-forward network" }
/* clang-format on */

/* `width` is that of the rows. */
void skn_layout_open(skn_layout_t *layout, const skn_actor_t *actor,
                     uint32_t width);
/* Whether row `row` of the shard is a gain: it begins with ones, and does not
 * decay. Otherwise *deviation is that of its first weights. */
bool skn_layout_is_gain(const skn_layout_t *layout, uint32_t row,
                        float *deviation);

#endif
