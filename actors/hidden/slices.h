/* slices.h - the slices of a hidden layer, put together for the layer above.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_HIDDEN_SLICES_H
#define ACTORS_HIDDEN_SLICES_H

#include "actors/protocol/messages.h"
#include "skein/actor.h"

/* What the layer above has room for: [rows_max][stride], stride > columns. */
typedef struct skn_slices {
    const char *name; /* of the actor, for sentences */
    uint32_t rows_max, columns;
    size_t stride;
} skn_slices_t;

/* Copies one activation of each shard below into `hidden`, [rows][stride],
 * and sets column `columns` to 1: it meets the bias. SKN_BAD_MESSAGE if the
 * slices do not make up the layer. */
skn_status_t skn_slices_join(const skn_slices_t *slices,
                             const skn_parts_t *parts, float *hidden,
                             skn_error_t *error);

#endif
