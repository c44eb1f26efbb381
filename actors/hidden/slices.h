/* slices.h - joins the slices of a hidden layer into the input of the layer
 * above.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_HIDDEN_SLICES_H
#define ACTORS_HIDDEN_SLICES_H

#include "actors/protocol/messages.h"
#include "skein/actor.h"

/* The size of the layer above's input: [rows_max][stride], stride > columns. */
typedef struct skn_slices {
    const char *name; /* of the actor, for messages */
    uint32_t rows_max, columns;
    size_t stride;
    float constant; /* input of the bias: 1; 0 in a layer without a bias */
} skn_slices_t;

/* Copies one activation of each shard below into `hidden`, [rows][stride], and
 * sets column `columns` to `constant`. SKN_BAD_MESSAGE if the slices do not
 * make up the layer. */
skn_status_t skn_slices_join(const skn_slices_t *slices,
                             const skn_parts_t *parts, float *hidden,
                             skn_error_t *error);

#endif
