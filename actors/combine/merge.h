/* merge.h - partial softmax sums, and the one tree in which they are merged.
 *
 * The rows of the output layer are leaves 0, 1, ... (reduction `fixed`: one
 * leaf for each block of rows; `fast`: one leaf for each shard). Node (level,
 * index) covers the leaves [index << level, (index + 1) << level); its value is
 * the merge of its two children, in that order, so it has the same bits
 * wherever it is computed. A shard sends the fewest nodes that cover its own
 * leaves:
 *
 *     level 2            (2,0)
 *     level 1      (1,0)       (1,1)       shard a owns leaves 0 1 2: it
 *     level 0   0    1      2    3         sends (1,0) and (0,2)
 *
 * A partial is (m, z, u, v): m = max o, z = sum c exp(o - m), u = sum c exp(o -
 * m) w / z, v = sum over positives of y w. Equations (16) to (21) and (54) of
 * docs/concepts/equations.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COMBINE_MERGE_H
#define ACTORS_COMBINE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actors/protocol/cover.h"
#include "actors/protocol/messages.h"
#include "actors/combine/packing.h"
#include "kernels/kernels.h"

/* `greatest` and `sum` are [rows] (NULL: one-vs-all, where `pull` is only
 * summed; `sum` alone is NULL in a received node whose `greatest` is m + log
 * z); `pull` and `push` are [rows][columns] (NULL: not wanted). */
typedef struct skn_partial {
    float *greatest, *sum, *pull, *push;
} skn_partial_t;

/* Source of a leaf or a finished node. Fills `into` for leaf `leaf`. */
typedef void skn_leaf_t(void *source, uint32_t leaf, skn_partial_t *into);

/* A node that was received, or that will be sent. */
typedef struct skn_tree_node {
    uint32_t place; /* skn_node_place(level, index) */
    skn_partial_t partial;
    /* [rows] lengths of packed pull and push rows; NULL: not packed */
    const uint32_t *open, *pushed;
} skn_tree_node_t;

typedef struct skn_merge {
    const skn_kernels_t *kernels;
    size_t rows, columns;
    uint32_t leaf_count;
    /* Room for skn_merge_scratch_floats floats. */
    float *scratch;
    const skn_packing_t *packing; /* for packed nodes */
    /* NULL, or packed nodes are merged in packed form: row i of `pull` and
     * `push` is at begin[i], before begin[i + 1], never longer than `columns`.
     * All have the same open positions; a row that is not pushed is zeros. */
    const size_t *begin;
} skn_merge_t;

/* Scratch floats for trees of `leaf_count` leaves. */
size_t skn_merge_scratch_floats(uint32_t leaf_count, size_t rows,
                                size_t columns);

/* Computes node `place` from its leaves into `into`, which has pointers for the
 * wanted arrays and NULL for the others. */
void skn_merge_leaves(const skn_merge_t *merge, uint32_t place,
                      skn_leaf_t *leaf, void *source, skn_partial_t *into);

/* Merges received nodes, which together cover all leaves, into the root. The
 * nodes' arrays are only read. False if a leaf is covered by no node. */
bool skn_merge_root(const skn_merge_t *merge, const skn_tree_node_t *nodes,
                    size_t node_count, skn_partial_t *into);

/* The same for node `place` alone, all of whose leaves the received nodes must
 * cover. A packed node stays packed, including every open row of push. */
bool skn_merge_node(const skn_merge_t *merge, uint32_t place,
                    const skn_tree_node_t *nodes, size_t node_count,
                    skn_partial_t *into);

#endif
