/* cover.h - numbers of nodes in the merge tree of merge.h, and the fewest that
 * cover a range of leaves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_COVER_H
#define ACTORS_PROTOCOL_COVER_H

#include <stdint.h>

#include "skein/limits.h"

#define SKN_LEAVES_MAX (1u << 20)

_Static_assert(SKN_LEAVES_MAX >= SKN_UNIT_MAX / SKN_BLOCK_ROWS_MAX + 1,
               "a leaf for each block of the largest layer");

/* Most nodes that one sender sends. */
#define SKN_TREE_NODES_MAX 64u

uint32_t skn_node_place(uint32_t level, uint32_t index);

/* The fewest nodes that cover leaves [first, end) of `leaf_count`; returns
 * their number, at most SKN_TREE_NODES_MAX. */
uint32_t skn_merge_cover(uint32_t leaf_count, uint32_t first, uint32_t end,
                         uint32_t *places);

#endif
