/* slicing.h - cuts the units of a hidden layer into slices, one for each shard.
 *
 * Evenly, or by weights, in blocks of SKN_SLICE_COLUMNS. Plans and actors cut
 * by the same function, so that an actor needs only the text of the weights:
 * "3x1000000,1x250000" is three slices and one of a quarter of their size.
 * Pure; a cut is written once, and read by one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_SLICING_H
#define ACTORS_PROTOCOL_SLICING_H

#include <stdint.h>

#include "skein/actor.h"

/* The sum of the weights of all slices is below it. */
#define SKN_SLICING_WEIGHT_MAX (1ull << 40)

/* The first unit of slice `slice`; the slices before it have the weight
 * `before` of `all`. Each slice has one block, and its share of the others, to
 * the nearest block. */
uint32_t skn_slicing_weighted(uint32_t units, uint32_t slices, uint32_t slice,
                              uint64_t before, uint64_t all);

typedef struct skn_slicing {
    uint32_t slices;
    uint32_t *first; /* [slices + 1] */
} skn_slicing_t;

/* `weights` as above; "": even. `name` is the actor's, for the message:
 * SKN_BAD_CONFIG unless there is one weight for each slice; SKN_NO_MEMORY.
 * Freed by skn_slicing_fini, also after a failure. */
skn_status_t skn_slicing_make(skn_slicing_t *slicing, uint32_t units,
                              uint32_t slices, const char *weights,
                              const char *name, skn_error_t *error);
void skn_slicing_fini(skn_slicing_t *slicing);

/* The number of columns of a slice; and of the widest one. */
uint32_t skn_slicing_width(const skn_slicing_t *slicing, uint32_t slice);
uint32_t skn_slicing_widest(const skn_slicing_t *slicing);

/* Options of actors that send to the shards of a layer below. */
/* clang-format off */
#define SKN_SLICING_OPTIONS                                                   \
    { "slices", SKN_OPTION_INT, "1", 1, SKN_SHARD_MAX, NULL,                  \
      "number of shards of the layer below" },                                 \
        { "slice_weights", SKN_OPTION_TEXT, "", 0, 0, NULL,                   \
          "division of its units: COUNTxWEIGHT,... (slicing.h); empty: even" }
/* clang-format on */

#endif
