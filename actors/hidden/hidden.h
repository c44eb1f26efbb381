/* hidden.h - the steps that all hidden layers share: activation and dropout
 * forwards; merging and masking of gradients backwards.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_HIDDEN_HIDDEN_H
#define ACTORS_HIDDEN_HIDDEN_H

#include "actors/combine/merge.h"
#include "actors/protocol/messages.h"
#include "actors/combine/rounding.h"
#include "actors/protocol/settings.h"
#include "actors/protocol/turns.h"
#include "skein/actor.h"

typedef struct skn_hidden {
    const skn_kernels_t *kernels;
    uint32_t column_first, columns;
    bool is_linear; /* no ReLU: values and gradients pass as they are */
    float keep;     /* 1 - dropout */
    uint64_t dropout_key;
    uint32_t batch_rows;
    skn_merge_t merge;
    float *root;            /* greatest, sum and push of the merged partial */
    skn_tree_node_t *nodes; /* [leaves]: no cover of the tree has more */
    skn_packing_t packing;  /* of the activation being processed */
    uint32_t *open;         /* [batch_rows] its open positions, once counted */
    size_t open_sum;
    skn_rounding_t rounding; /* of the gradient that was merged last */
} skn_hidden_t;

/* clang-format off */
/* The options that skn_hidden_open reads. */
#define SKN_HIDDEN_OPTIONS                                                     \
    SKN_OPTION_OF("layer", "0", SKN_SETTING_LAYER),                            \
        SKN_OPTION_OF("batch_rows", NULL, SKN_SETTING_BATCH_ROWS),             \
        SKN_OPTION_OF("dropout", "0", SKN_SETTING_DROPOUT),                    \
        { "leaves", SKN_OPTION_INT, "1", 1, SKN_LEAVES_MAX, NULL,              \
          "number of leaves in the tree that merges the parts from above" },   \
        SKN_OPTION_OF("seed", "1", SKN_SETTING_SEED)

/* The options of owners that take turns (turns.h). */
#define SKN_TURNS_OPTIONS                                                      \
    SKN_OPTION_OF("window", "1", SKN_SETTING_WINDOW),                          \
        SKN_OPTION_OF("accumulate", "1", SKN_SETTING_ACCUMULATE),              \
        { "flights", SKN_OPTION_INT, "1", 1, SKN_WINDOW_MAX, NULL,             \
          "with accumulate: batches between forward pass and update" },        \
        SKN_OPTION_OF("order", "fixed", SKN_SETTING_ORDER)

/* The option of kinds whose layer may have no bias. */
#define SKN_BIAS_OPTION                                                        \
    { "bias", SKN_OPTION_BOOL, "true", 0, 0, NULL,                             \
      "false: the bias is never trained, and stays as it was made" }
/* clang-format on */

/* Reads SKN_TURNS_OPTIONS. */
void skn_hidden_turns(skn_turns_t *turns, const skn_actor_t *actor);

/* Reads the options of `actor` and allocates. Freed by skn_hidden_close, also
 * after a failure. */
skn_status_t skn_hidden_open(skn_hidden_t *hidden, skn_actor_t *actor,
                             uint32_t column_first, uint32_t columns,
                             skn_error_t *error);
void skn_hidden_close(skn_hidden_t *hidden);

/* Applies ReLU, unless the layer is linear, and dropout in training, to a slice
 * [rows][columns], in place. */
void skn_hidden_activate(const skn_hidden_t *hidden,
                         skn_activation_t *activation);

/* Merges the output shards' parts into the gradient [rows][columns] of the mean
 * loss before dropout and ReLU. `partitions` are from the same shards and
 * batch, or NULL if the parts are not normalised. Parts that are packed by the
 * zeros of `activation` are refused if the layer is linear: a 0 is a value like
 * any other there. */
skn_status_t skn_hidden_merge(skn_hidden_t *hidden, const skn_parts_t *parts,
                              const skn_parts_t *partitions,
                              const skn_activation_t *activation,
                              float *gradient, skn_error_t *error);
/* Does the same for parts that are only summed, from the shards of a dense
 * layer. */
skn_status_t skn_hidden_sum(skn_hidden_t *hidden, const skn_parts_t *parts,
                            const skn_activation_t *activation, float *gradient,
                            skn_error_t *error);

#endif
