/* cover.h - numbers of nodes in the merge tree of merge.h, and the fewest that
 * cover a range of leaves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_COVER_H
#define ACTORS_PROTOCOL_COVER_H

#include <stdint.h>

/* More than SKN_UNIT_MAX rows in blocks of SKN_BLOCK_ROWS_MAX. */
#define SKN_LEAVES_MAX (1u << 20)

/* Most nodes that one sender sends: a cover has two on each level. */
#define SKN_TREE_NODES_MAX 64u

uint32_t skn_node_place(uint32_t level, uint32_t index);

/* The fewest nodes that cover leaves [first, end) of `leaf_count`; returns
 * their number, at most SKN_TREE_NODES_MAX. */
uint32_t skn_merge_cover(uint32_t leaf_count, uint32_t first, uint32_t end,
                         uint32_t *places);

#endif
