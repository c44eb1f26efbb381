/* head.h - the arithmetic of an output shard: logits, loss, gradients.
 *
 * A flight is one batch between its forward pass and its update:
 *
 *     hidden [rows][H + 1], the last column 1 (it meets the bias)
 *        │ draw: groups of samples x units, with weights c
 *        ▼
 *     logit  [group samples][group units]      o = hidden . row
 *        │ leaves of the merge tree
 *        ▼
 *     nodes  (m, z, u, v) for the hidden gradient, (m, z) for the other shards
 *        │ when all (m, z) have come: M, Z
 *        ▼
 *     gradient of each distinct unit's row     sum over samples (c p - y) h
 *
 * Equations (10) to (29) of docs/concepts/equations.md. One thread, the
 * shard's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_HEAD_H
#define ACTORS_OUTPUT_HEAD_H

#include "actors/output/flight.h"

/* The caller sets the plain members up to batch_rows, the merge's leaf_count
 * and kernels before; `leaf` is the shard's leaf, unless leaves are blocks
 * (fixed). Freed by skn_head_fini, also after a failure. */
skn_status_t skn_head_init(skn_head_t *head, uint32_t leaf, skn_error_t *error);
void skn_head_fini(skn_head_t *head);

/* Draws the active set, and computes the logits of flight->hidden for
 * flight->labels. */
skn_status_t skn_head_forward(skn_head_t *head, skn_flight_t *flight,
                              skn_error_t *error);
/* Whether the nodes' sums can form the row gradients, too: if the caller then
 * sets flight->value, an array for skn_head_gradient, they do, and
 * skn_head_gradient, which need not wait for M and Z, completes that array.
 * Batches may add to the array of an earlier one, flight->adds. */
bool skn_head_forms_rows(const skn_head_t *head, const skn_flight_t *flight);
/* Computes node k of head->node into `into`, whose arrays the caller has made:
 * greatest and sum [rows] (they may be the flight's own), pull and push
 * [rows][H]. Called once for each node, in order. */
void skn_head_node(skn_head_t *head, skn_flight_t *flight, uint32_t k,
                   skn_partial_t *into);
/* Merges the nodes (m, z) of all shards into the flight's M and Z; false if
 * they do not cover the tree. */
bool skn_head_complete(skn_head_t *head, skn_flight_t *flight,
                       const skn_tree_node_t *nodes, size_t node_count);
/* Whether, by M and Z, each sample with labels has a row in some shard. NaN
 * counts as a row: the loss will show it. */
bool skn_head_has_rows(const skn_head_t *head, const skn_flight_t *flight);
/* With merge late, called when all (m, z) have come: replaces u by the shard's
 * part of the hidden gradient, a u - v, where a is the shard's share of Z. Both
 * [rows][H]. */
void skn_head_normalise(const skn_head_t *head, const skn_flight_t *flight,
                        float *pull, const float *push);
/* Returns the shard's share of the loss, summed over the samples. */
double skn_head_loss(const skn_head_t *head, const skn_flight_t *flight);
/* Returns the number of distinct units whose rows get a gradient; then fills
 * the units and their gradients of the mean loss. `unit` has room for
 * skn_head_gradient_units, `value` for that many times H + 1. */
uint32_t skn_head_gradient_units(skn_head_t *head, const skn_flight_t *flight);
skn_status_t skn_head_gradient(skn_head_t *head, skn_flight_t *flight,
                               uint32_t *unit, float *value,
                               skn_error_t *error);

/* The best labels over all rows for each of `rows` samples; labels are
 * global. */
typedef struct skn_rank_all {
    uint32_t k;
    uint32_t *label;       /* [rows][k] best first; UINT32_MAX: none */
    float *score;          /* [rows][k] logits */
    float *greatest, *sum; /* [rows] (m, z) of the shard's rows; or NULL */
    /* The sums of the logits of the samples' labels that are among the shard's
     * rows, [rows], and these labels; or NULL. */
    float *positive;
    const skn_labels_t *labels;
} skn_rank_all_t;
skn_status_t skn_head_rank_all(skn_head_t *head, const float *hidden,
                               uint32_t rows, const skn_rank_all_t *rank,
                               skn_error_t *error);

#endif
