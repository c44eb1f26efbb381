/* test_merge.c - tests the tree of partial sums against softmax in double.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/combine/merge.h"
#include "tests/support/oracle.h"

#define ROWS 3
#define COLUMNS 11
#define UNITS_MAX 4 /* of a leaf */
#define LEAVES_MAX 70

/* What each leaf stands for: units with logits and vectors, and positives. */
typedef struct forest {
    uint32_t leaf_count;
    uint32_t units[LEAVES_MAX];
    float o[LEAVES_MAX][UNITS_MAX][ROWS];
    float w[LEAVES_MAX][UNITS_MAX][COLUMNS];
    float y[LEAVES_MAX][UNITS_MAX][ROWS];
    bool softmax;
} forest_t;

/* Arrays of one partial. */
typedef struct cells {
    float greatest[ROWS], sum[ROWS];
    float pull[ROWS * COLUMNS], push[ROWS * COLUMNS];
} cells_t;

static skn_partial_t
partial_of(cells_t *cells, bool softmax)
{
    skn_partial_t partial = { .pull = cells->pull };
    if (softmax) {
        partial.greatest = cells->greatest;
        partial.sum = cells->sum;
        partial.push = cells->push;
    }
    return partial;
}

static void
grow(forest_t *forest, oracle_random_t *random, uint32_t leaf_count,
     uint32_t units_max)
{
    forest->leaf_count = leaf_count;
    for (uint32_t leaf = 0; leaf < leaf_count; leaf++) {
        forest->units[leaf] = oracle_next(random) % (units_max + 1);
        for (uint32_t unit = 0; unit < UNITS_MAX; unit++) {
            for (int i = 0; i < ROWS; i++) {
                forest->o[leaf][unit][i] = 20.0f * oracle_float(random);
                forest->y[leaf][unit][i] =
                    oracle_next(random) % 5 == 0 ? 0.5f : 0.0f;
            }
            for (int c = 0; c < COLUMNS; c++)
                forest->w[leaf][unit][c] = oracle_float(random);
        }
    }
}

/* (m, z, u, v) of one leaf, as head.c computes them. */
static void
fill_leaf(void *source, uint32_t leaf, skn_partial_t *into)
{
    const forest_t *forest = source;
    for (int i = 0; i < ROWS; i++) {
        float m = -INFINITY, z = 0.0f, *u = into->pull + i * COLUMNS;
        memset(u, 0, COLUMNS * sizeof(float));
        if (into->push)
            memset(into->push + i * COLUMNS, 0, COLUMNS * sizeof(float));
        for (uint32_t k = 0; k < forest->units[leaf]; k++)
            m = fmaxf(m, forest->o[leaf][k][i]);
        for (uint32_t k = 0; k < forest->units[leaf]; k++) {
            float e = forest->softmax ? expf(forest->o[leaf][k][i] - m) : 1;
            z += e;
            for (int c = 0; c < COLUMNS; c++) {
                u[c] += e * forest->w[leaf][k][c];
                if (into->push)
                    into->push[i * COLUMNS + c] +=
                        forest->y[leaf][k][i] * forest->w[leaf][k][c];
            }
        }
        if (!forest->softmax)
            continue;
        for (int c = 0; c < COLUMNS && z > 0; c++)
            u[c] /= z;
        into->greatest[i] = m;
        into->sum[i] = z;
    }
}

static skn_merge_t
merge_new(uint32_t leaf_count)
{
    skn_merge_t merge = { .kernels = skn_kernels_best(),
                          .rows = ROWS,
                          .columns = COLUMNS,
                          .leaf_count = leaf_count };
    merge.scratch = malloc(skn_merge_scratch_floats(leaf_count, ROWS, COLUMNS) *
                           sizeof(float));
    return merge;
}

/* The root, when the leaves are dealt to shards that begin at first[k]. */
static bool
root_of_shards(const skn_merge_t *merge, forest_t *forest,
               const uint32_t *first, uint32_t shard_count, cells_t *root)
{
    skn_tree_node_t nodes[LEAVES_MAX] = { 0 };
    cells_t *cells = calloc(LEAVES_MAX, sizeof(*cells));
    size_t node_count = 0;
    for (uint32_t k = 0; k < shard_count; k++) {
        uint32_t place[SKN_TREE_NODES_MAX];
        uint32_t count =
            skn_merge_cover(merge->leaf_count, first[k], first[k + 1], place);
        for (uint32_t n = 0; n < count; n++) {
            nodes[node_count].place = place[n];
            nodes[node_count].partial =
                partial_of(&cells[node_count], forest->softmax);
            skn_merge_leaves(merge, place[n], fill_leaf, forest,
                             &nodes[node_count].partial);
            node_count++;
        }
    }
    skn_partial_t into = partial_of(root, forest->softmax);
    bool whole = skn_merge_root(merge, nodes, node_count, &into);
    free(cells);
    return whole;
}

/* M, Z, sum z e^(m - M) u / Z and v of all leaves, in double. */
static void
expect_softmax(const forest_t *forest, const cells_t *root)
{
    for (int i = 0; i < ROWS; i++) {
        double m = -INFINITY, z = 0, u[COLUMNS] = { 0 }, v[COLUMNS] = { 0 };
        for (uint32_t leaf = 0; leaf < forest->leaf_count; leaf++)
            for (uint32_t k = 0; k < forest->units[leaf]; k++)
                m = fmax(m, (double)forest->o[leaf][k][i]);
        for (uint32_t leaf = 0; leaf < forest->leaf_count; leaf++) {
            for (uint32_t k = 0; k < forest->units[leaf]; k++) {
                double e = exp((double)forest->o[leaf][k][i] - m);
                z += e;
                for (int c = 0; c < COLUMNS; c++) {
                    u[c] += e * (double)forest->w[leaf][k][c];
                    v[c] += (double)forest->y[leaf][k][i] *
                            (double)forest->w[leaf][k][c];
                }
            }
        }
        if (z == 0) {
            cr_expect(root->sum[i] == 0.0f, "no unit: z is 0");
            continue;
        }
        cr_expect(root->greatest[i] == (float)m);
        cr_expect(fabs((double)root->sum[i] - z) <= 1e-5 * z,
                  "%u leaves: z is %g, want %g", forest->leaf_count,
                  (double)root->sum[i], z);
        for (int c = 0; c < COLUMNS; c++) {
            double got = (double)root->pull[i * COLUMNS + c];
            cr_expect(fabs(got - u[c] / z) <= 1e-5, "u is %g, want %g", got,
                      u[c] / z);
            got = (double)root->push[i * COLUMNS + c];
            cr_expect(fabs(got - v[c]) <= 1e-4, "v is %g, want %g", got, v[c]);
        }
    }
}

static void
expect_same_root_for_any_shards(bool softmax, uint32_t units_max)
{
    oracle_random_t random = { 7 };
    forest_t *forest = calloc(1, sizeof(*forest));
    forest->softmax = softmax;
    for (uint32_t leaves = 1; leaves <= LEAVES_MAX;
         leaves += leaves < 18 ? 1 : 13) {
        skn_merge_t merge = merge_new(leaves);
        uint32_t alone[] = { 0, leaves };
        grow(forest, &random, leaves, units_max);
        cells_t whole;
        memset(&whole, 0, sizeof(whole));
        cr_assert(root_of_shards(&merge, forest, alone, 1, &whole));
        if (softmax)
            expect_softmax(forest, &whole);
        for (uint32_t shards = 2; shards <= leaves; shards++) {
            uint32_t first[LEAVES_MAX + 1];
            cells_t root;
            memset(&root, 0, sizeof(root));
            for (uint32_t k = 0; k <= shards; k++)
                first[k] = k * leaves / shards;
            for (uint32_t k = 1; k < shards && leaves > 1; k++)
                if (oracle_next(&random) % 3 == 0 &&
                    first[k] + 1 < first[k + 1])
                    first[k]++;
            cr_assert(root_of_shards(&merge, forest, first, shards, &root));
            cr_expect(memcmp(&root, &whole, sizeof(root)) == 0,
                      "%u leaves, %u shards: other bits", leaves, shards);
        }
        free(merge.scratch);
    }
    free(forest);
}

Test(merge, any_shards_give_the_bits_of_one_shard_and_softmax_in_double)
{
    expect_same_root_for_any_shards(true, UNITS_MAX);
}

Test(merge, leaves_without_units_change_nothing)
{
    /* Half of all leaves are empty, and some trees have no unit at all. */
    expect_same_root_for_any_shards(true, 1);
    expect_same_root_for_any_shards(true, 0);
}

Test(merge, one_vs_all_shares_add_up_to_the_same_bits)
{
    expect_same_root_for_any_shards(false, UNITS_MAX);
}

Test(merge, a_missing_leaf_is_noticed)
{
    oracle_random_t random = { 3 };
    forest_t *forest = calloc(1, sizeof(*forest));
    for (uint32_t leaves = 2; leaves <= 9; leaves++) {
        skn_merge_t merge = merge_new(leaves);
        grow(forest, &random, leaves, 1);
        for (uint32_t gap = 0; gap < leaves; gap++) {
            /* Two shards: [0, gap) and [gap + 1, leaves). */
            skn_tree_node_t nodes[2 * SKN_TREE_NODES_MAX] = { 0 };
            uint32_t place[2 * SKN_TREE_NODES_MAX];
            cells_t cells[2 * SKN_TREE_NODES_MAX], root;
            uint32_t count = skn_merge_cover(leaves, 0, gap, place);
            count += skn_merge_cover(leaves, gap + 1, leaves, place + count);
            for (uint32_t n = 0; n < count; n++) {
                nodes[n].place = place[n];
                nodes[n].partial = partial_of(&cells[n], false);
                skn_merge_leaves(&merge, place[n], fill_leaf, forest,
                                 &nodes[n].partial);
            }
            skn_partial_t into = partial_of(&root, false);
            cr_expect(!skn_merge_root(&merge, nodes, count, &into),
                      "%u leaves without %u", leaves, gap);
        }
        free(merge.scratch);
    }
    free(forest);
}

Test(merge, a_cover_has_the_fewest_nodes_and_each_leaf_once)
{
    for (uint32_t leaves = 1; leaves <= 40; leaves++) {
        for (uint32_t first = 0; first <= leaves; first++) {
            for (uint32_t end = first; end <= leaves; end++) {
                uint32_t place[SKN_TREE_NODES_MAX], seen[40] = { 0 };
                uint32_t count = skn_merge_cover(leaves, first, end, place);
                for (uint32_t n = 0; n < count; n++) {
                    uint32_t level = place[n] >> 26;
                    uint32_t index = place[n] & ((1u << 26) - 1);
                    cr_assert_eq(place[n], skn_node_place(level, index));
                    for (uint32_t leaf = index << level;
                         leaf < (index + 1) << level && leaf < leaves; leaf++)
                        seen[leaf]++;
                }
                for (uint32_t leaf = 0; leaf < leaves; leaf++)
                    cr_assert_eq(seen[leaf], leaf >= first && leaf < end);
                cr_expect(count <= 2 * 6 && (first < end) == (count > 0));
                if (first == 0 && end == leaves)
                    cr_expect_eq(count, 1);
            }
        }
    }
}

Test(merge, the_greatest_tree_fits_into_places_and_messages)
{
    uint32_t place[SKN_TREE_NODES_MAX];
    uint32_t count =
        skn_merge_cover(SKN_LEAVES_MAX, 1, SKN_LEAVES_MAX - 1, place);
    cr_expect_eq(count, 38); /* two a level, but for the top and its like */
    cr_expect_eq(place[0], skn_node_place(0, 1));
    cr_expect_eq(place[count - 1], skn_node_place(0, SKN_LEAVES_MAX - 2));
}

Test(merge, an_overflowing_loss_is_not_hidden)
{
    /* A diverged shard's z is NaN: so is the root's, whichever side it is. */
    skn_merge_t merge = merge_new(2);
    for (int side = 0; side < 2; side++) {
        float m[2] = { 1, 1 }, z[2] = { 2, 2 }, root_m, root_z;
        merge.rows = 1;
        z[side] = NAN;
        skn_tree_node_t nodes[2];
        for (uint32_t k = 0; k < 2; k++)
            nodes[k] = (skn_tree_node_t){ .place = skn_node_place(0, k),
                                          .partial = { .greatest = &m[k],
                                                       .sum = &z[k] } };
        skn_partial_t root = { .greatest = &root_m, .sum = &root_z };
        cr_assert(skn_merge_root(&merge, nodes, 2, &root));
        cr_expect(isnan(root_z));
    }
    free(merge.scratch);
}
