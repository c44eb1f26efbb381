/* cover.h - places in the merge tree of merge.h, for who plans with them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_COVER_H
#define ACTORS_PROTOCOL_COVER_H

#include <stdint.h>

/* SKN_UNIT_MAX rows in blocks of SKN_BLOCK_ROWS_MAX, and then some. */
#define SKN_LEAVES_MAX (1u << 20)

/* Nodes that one sender sends: a cover has two a level. */
#define SKN_TREE_NODES_MAX 64u

uint32_t skn_node_place(uint32_t level, uint32_t index);

/* The fewest nodes that cover leaves [first, end) of `leaf_count`; returns how
 * many, at most SKN_TREE_NODES_MAX. */
uint32_t skn_merge_cover(uint32_t leaf_count, uint32_t first, uint32_t end,
                         uint32_t *places);

#endif
