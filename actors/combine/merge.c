/* merge.c - merges partial softmax sums by the tree of merge.h, from the left.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/combine/merge.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define INDEX_BITS 26 /* 6 for the level */

_Static_assert(SKN_LEAVES_MAX <= 1u << INDEX_BITS, "every leaf has a place");
_Static_assert(SKN_LEAVES_MAX <= 1u << (SKN_TREE_NODES_MAX / 2 - 1),
               "a cover has at most two nodes on each level");

uint32_t
skn_node_place(uint32_t level, uint32_t index)
{
    assert(level < 1u << (32 - INDEX_BITS) && index < 1u << INDEX_BITS);
    return level << INDEX_BITS | index;
}

static uint32_t
level_of(uint32_t place)
{
    return place >> INDEX_BITS;
}

static uint32_t
index_of(uint32_t place)
{
    return place & ((1u << INDEX_BITS) - 1);
}

static uint32_t
root_level(uint32_t leaf_count)
{
    uint32_t level = 0;
    while ((1u << level) < leaf_count)
        level++;
    return level;
}

static uint32_t
cover(uint32_t leaf_count, uint32_t first, uint32_t end, uint32_t level,
      uint32_t index, uint32_t *places, uint32_t count)
{
    uint32_t node_first = index << level;
    uint32_t node_end = (index + 1) << level;
    if (node_end > leaf_count)
        node_end = leaf_count;
    if (node_first >= end || node_end <= first)
        return count;
    if (node_first >= first && node_end <= end) {
        assert(count < SKN_TREE_NODES_MAX);
        places[count] = skn_node_place(level, index);
        return count + 1;
    }
    count = cover(leaf_count, first, end, level - 1, 2 * index, places, count);
    return cover(leaf_count, first, end, level - 1, 2 * index + 1, places,
                 count);
}

uint32_t
skn_merge_cover(uint32_t leaf_count, uint32_t first, uint32_t end,
                uint32_t *places)
{
    assert(first <= end && end <= leaf_count);
    return cover(leaf_count, first, end, root_level(leaf_count), 0, places, 0);
}

static size_t
partial_floats(size_t rows, size_t columns)
{
    return 2 * rows * (1 + columns);
}

size_t
skn_merge_scratch_floats(uint32_t leaf_count, size_t rows, size_t columns)
{
    return (root_level(leaf_count) + 1) * partial_floats(rows, columns);
}

/* The partial of recursion level `level`, with the arrays that `like` has. */
static skn_partial_t
scratch_partial(const skn_merge_t *merge, uint32_t level,
                const skn_partial_t *like)
{
    assert(level <= root_level(merge->leaf_count));
    float *at =
        merge->scratch + level * partial_floats(merge->rows, merge->columns);
    skn_partial_t partial = { 0 };
    if (like->greatest) {
        partial.greatest = at;
        partial.sum = at + merge->rows;
    }
    at += 2 * merge->rows;
    if (like->pull)
        partial.pull = at;
    if (like->push)
        partial.push = at + merge->rows * merge->columns;
    return partial;
}

static size_t
row_at(const skn_merge_t *merge, size_t i)
{
    return merge->begin ? merge->begin[i] : i * merge->columns;
}

/* Row i: M = max, z = sum of the rescaled z, u = their weighted mean. A side
 * with z = 0 has no rows and changes nothing. */
static void
add_row(const skn_merge_t *merge, skn_partial_t *into,
        const skn_partial_t *other, size_t i)
{
    if (other->sum[i] == 0.0f)
        return;
    float left = into->sum[i], right = other->sum[i];
    float most = into->greatest[i];
    if (left == 0.0f || other->greatest[i] > most)
        most = other->greatest[i];
    left = left == 0.0f ? 0.0f : left * expf(into->greatest[i] - most);
    right *= expf(other->greatest[i] - most);
    into->greatest[i] = most;
    into->sum[i] = left + right;
    if (!into->pull)
        return;
    size_t at = row_at(merge, i), columns = row_at(merge, i + 1) - at;
    float *pull = into->pull + at;
    merge->kernels->scale(pull, left / (left + right), columns);
    merge->kernels->axpy(pull, right / (left + right), other->pull + at,
                         columns);
}

static void
add_partial(const skn_merge_t *merge, skn_partial_t *into,
            const skn_partial_t *other)
{
    size_t cells = row_at(merge, merge->rows);
    if (into->greatest)
        for (size_t i = 0; i < merge->rows; i++)
            add_row(merge, into, other, i);
    else if (into->pull)
        merge->kernels->add(into->pull, into->pull, other->pull, cells);
    if (into->push)
        merge->kernels->add(into->push, into->push, other->push, cells);
}

static void
leaves(const skn_merge_t *merge, uint32_t level, uint32_t index,
       skn_leaf_t *leaf, void *source, skn_partial_t *into)
{
    if (level == 0) {
        leaf(source, index, into);
        return;
    }
    leaves(merge, level - 1, 2 * index, leaf, source, into);
    if ((2 * index + 1) << (level - 1) >= merge->leaf_count)
        return; /* no right child: the node equals its left one */
    skn_partial_t right = scratch_partial(merge, level - 1, into);
    leaves(merge, level - 1, 2 * index + 1, leaf, source, &right);
    add_partial(merge, into, &right);
}

void
skn_merge_leaves(const skn_merge_t *merge, uint32_t place, skn_leaf_t *leaf,
                 void *source, skn_partial_t *into)
{
    leaves(merge, level_of(place), index_of(place), leaf, source, into);
}

/* Row i has open[i] numbers, all of them or none. */
static void
copy_rows(const skn_merge_t *merge, const uint32_t *open, const float *from,
          float *into)
{
    for (size_t i = 0; i < merge->rows; i++) {
        size_t at = row_at(merge, i), count = row_at(merge, i + 1) - at;
        if (open[i] == count && count > 0)
            memcpy(into + at, from, count * sizeof(float));
        else
            memset(into + at, 0, count * sizeof(float));
        from += open[i];
    }
}

static void
copy_cells(const skn_merge_t *merge, const uint32_t *open, const float *from,
           float *into)
{
    if (open && merge->begin)
        copy_rows(merge, open, from, into);
    else if (open)
        skn_packing_unpack(merge->packing, open, from, into);
    else
        memcpy(into, from, row_at(merge, merge->rows) * sizeof(float));
}

/* If m + log z was received, z is 1, or 0 without any rows. */
static void
copy_sums(const skn_merge_t *merge, const skn_partial_t *from, float *sum)
{
    if (from->sum)
        memcpy(sum, from->sum, merge->rows * sizeof(float));
    for (size_t i = 0; !from->sum && i < merge->rows; i++)
        sum[i] = from->greatest[i] == -INFINITY ? 0.0f : 1.0f;
}

static void
copy_node(const skn_merge_t *merge, skn_partial_t *into,
          const skn_tree_node_t *node)
{
    const skn_partial_t *from = &node->partial;
    size_t row_bytes = merge->rows * sizeof(float);
    if (into->greatest) {
        memcpy(into->greatest, from->greatest, row_bytes);
        copy_sums(merge, from, into->sum);
    }
    if (into->pull)
        copy_cells(merge, node->open, from->pull, into->pull);
    if (into->push)
        copy_cells(merge, node->pushed, from->push, into->push);
}

static bool
received(const skn_merge_t *merge, uint32_t level, uint32_t index,
         const skn_tree_node_t *nodes, size_t node_count, skn_partial_t *into)
{
    uint32_t place = skn_node_place(level, index);
    for (size_t k = 0; k < node_count; k++) {
        if (nodes[k].place == place) {
            copy_node(merge, into, &nodes[k]);
            return true;
        }
    }
    if (level == 0)
        return false;
    if (!received(merge, level - 1, 2 * index, nodes, node_count, into))
        return false;
    if ((2 * index + 1) << (level - 1) >= merge->leaf_count)
        return true;
    skn_partial_t right = scratch_partial(merge, level - 1, into);
    if (!received(merge, level - 1, 2 * index + 1, nodes, node_count, &right))
        return false;
    add_partial(merge, into, &right);
    return true;
}

bool
skn_merge_node(const skn_merge_t *merge, uint32_t place,
               const skn_tree_node_t *nodes, size_t node_count,
               skn_partial_t *into)
{
    return received(merge, level_of(place), index_of(place), nodes, node_count,
                    into);
}

bool
skn_merge_root(const skn_merge_t *merge, const skn_tree_node_t *nodes,
               size_t node_count, skn_partial_t *into)
{
    return received(merge, root_level(merge->leaf_count), 0, nodes, node_count,
                    into);
}
