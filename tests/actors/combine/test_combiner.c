/* test_combiner.c - tests that a combiner merges the parts of a node's shards.
 *
 * The probe plays the shards and the receivers of the combiner's messages.
 * Leaves hold random numbers; the result must be the nodes of the tree as
 * computed from the leaves directly, bit for bit, cut and packed here. Parts
 * come in any order, those of several batches mixed. Covers
 * actors/combine/combiner.c and actors/combine/combining.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <sys/resource.h>

#include "actors/protocol/block.h"
#include "actors/combine/merge.h"
#include "actors/combine/packing.h"
#include "tests/support/actor_probe.h"
#include "tests/support/oracle.h"
#include "tests/support/sample_messages.h"

#define LEAVES_MAX 24
#define ROWS_MAX 7
#define UNITS_MAX 48
#define SHARDS_MAX 5
#define WINDOW_MAX 8
#define GROUPS 3 /* of so many batches as the window has */

/* What a run is made of. */
typedef struct layout {
    bool softmax, sums, packed, fixed;
    uint32_t rows, units, slices, shards, window;
    uint32_t leaves;                /* of the tree */
    uint32_t first[SHARDS_MAX + 1]; /* leaf of each shard */
    uint32_t shard_first;
    int as_leaf;
} layout_t;

typedef struct cells {
    float greatest[ROWS_MAX], sum[ROWS_MAX];
    float pull[ROWS_MAX * UNITS_MAX], push[ROWS_MAX * UNITS_MAX];
} cells_t;

/* A batch: its leaves, who pushes what, and what is open. */
typedef struct truth {
    cells_t leaf[LEAVES_MAX];
    bool pushes[SHARDS_MAX][ROWS_MAX];
    float mask[ROWS_MAX * UNITS_MAX];
} truth_t;

static layout_t layout;
static truth_t truths[WINDOW_MAX];
static uint32_t group, came; /* groups that have gone, messages of this one */
static uint32_t partitions_came[WINDOW_MAX];
static oracle_random_t dice;

static bool
normalised(void)
{
    return layout.softmax && !layout.sums;
}

/* --- what is true -------------------------------------------------------- */

static void
draw_leaf(cells_t *leaf, uint32_t shard, const truth_t *truth)
{
    for (uint32_t i = 0; i < layout.rows; i++) {
        bool empty = oracle_next(&dice) % 9 == 0;
        leaf->greatest[i] = empty ? -INFINITY : 20 * oracle_float(&dice);
        leaf->sum[i] = empty ? 0 : 1 + fabsf(oracle_float(&dice));
        for (uint32_t c = 0; c < layout.units; c++) {
            bool none = empty && normalised();
            leaf->pull[i * layout.units + c] = none ? 0 : oracle_float(&dice);
            leaf->push[i * layout.units + c] =
                truth->pushes[shard][i] ? oracle_float(&dice) : 0;
        }
    }
}

static void
draw_truth(truth_t *truth)
{
    for (uint32_t k = 0; k < layout.rows * layout.units; k++)
        truth->mask[k] = oracle_next(&dice) % 3 ? 0.5f : 0.0f;
    for (uint32_t s = 0; s < layout.shards; s++) {
        for (uint32_t i = 0; i < layout.rows; i++)
            truth->pushes[s][i] = oracle_next(&dice) % 3 == 0;
        for (uint32_t leaf = layout.first[s]; leaf < layout.first[s + 1];
             leaf++)
            draw_leaf(&truth->leaf[leaf], s, truth);
    }
}

static skn_partial_t
partial_of(cells_t *cells)
{
    skn_partial_t partial = { .pull = cells->pull };
    if (normalised()) {
        partial.greatest = cells->greatest;
        partial.sum = cells->sum;
        partial.push = cells->push;
    }
    return partial;
}

static void
copy_leaf(void *source, uint32_t number, skn_partial_t *into)
{
    const cells_t *leaf = &((truth_t *)source)->leaf[number];
    size_t cells = layout.rows * layout.units;
    memcpy(into->pull, leaf->pull, cells * sizeof(float));
    if (!into->push)
        return;
    memcpy(into->greatest, leaf->greatest, layout.rows * sizeof(float));
    memcpy(into->sum, leaf->sum, layout.rows * sizeof(float));
    memcpy(into->push, leaf->push, cells * sizeof(float));
}

/* The nodes that cover leaves [first, end), computed from the leaves. */
static uint32_t
nodes_of(truth_t *truth, uint32_t first, uint32_t end, uint32_t *place,
         cells_t *nodes)
{
    skn_merge_t merge = {
        .kernels = skn_kernels_best(),
        .rows = layout.rows,
        .columns = layout.units,
        .leaf_count = layout.leaves,
    };
    merge.scratch = malloc(
        skn_merge_scratch_floats(layout.leaves, layout.rows, layout.units) *
        sizeof(float));
    uint32_t count = skn_merge_cover(layout.leaves, first, end, place);
    cr_assert_leq(count, LEAVES_MAX);
    for (uint32_t k = 0; k < count; k++) {
        skn_partial_t partial = partial_of(&nodes[k]);
        skn_merge_leaves(&merge, place[k], copy_leaf, truth, &partial);
    }
    free(merge.scratch);
    return count;
}

/* --- messages of it ------------------------------------------------------ */

static skn_packing_t
packing_of(const truth_t *truth, uint32_t slice)
{
    uint32_t first = skn_slice_first(layout.units, layout.slices, slice);
    return (skn_packing_t){
        .mask = truth->mask + first,
        .stride = layout.units,
        .rows = layout.rows,
        .columns =
            skn_slice_first(layout.units, layout.slices, slice + 1) - first,
    };
}

/* One run of a slice: packed, or its columns. Returns how many numbers. */
static size_t
cut(const skn_packing_t *packing, uint32_t first, const uint32_t *open,
    const float *whole, float *into)
{
    size_t count = 0;
    if (layout.packed) {
        skn_packing_pack(packing, open, whole + first, layout.units, into);
        for (uint32_t i = 0; i < layout.rows; i++)
            count += open[i];
        return count;
    }
    for (uint32_t i = 0; i < layout.rows; i++)
        for (uint32_t c = 0; c < packing->columns; c++)
            into[count++] = whole[i * layout.units + first + c];
    return count;
}

/* A gradient of one slice as somebody must send it. */
typedef struct gradient {
    uint32_t first, columns, node_count;
    uint32_t open[ROWS_MAX], pushed[ROWS_MAX];
    size_t pulls, pushes;
    float pull[LEAVES_MAX * ROWS_MAX * UNITS_MAX];
    float push[LEAVES_MAX * ROWS_MAX * UNITS_MAX];
} gradient_t;

static void
cut_slice(const truth_t *truth, uint32_t slice, const bool *pushes,
          const cells_t *nodes, uint32_t node_count, gradient_t *gradient)
{
    skn_packing_t packing = packing_of(truth, slice);
    gradient->first = skn_slice_first(layout.units, layout.slices, slice);
    gradient->columns = packing.columns;
    gradient->node_count = node_count;
    gradient->pulls = gradient->pushes = 0;
    (void)skn_packing_count(&packing, gradient->open);
    for (uint32_t i = 0; i < layout.rows; i++)
        gradient->pushed[i] = pushes[i] ? gradient->open[i] : 0;
    for (uint32_t k = 0; k < node_count; k++) {
        gradient->pulls += cut(&packing, gradient->first, gradient->open,
                               nodes[k].pull, gradient->pull + gradient->pulls);
        if (normalised())
            gradient->pushes +=
                cut(&packing, gradient->first, gradient->pushed, nodes[k].push,
                    gradient->push + gradient->pushes);
    }
}

/* Shard `shard` sends its slice; slice `slices` is the partition. */
static skn_status_t
post_partition(skn_actor_t *actor, uint64_t batch, uint32_t shard,
               const uint32_t *place, const cells_t *nodes, uint32_t count,
               skn_error_t *error)
{
    size_t samples = count * layout.rows;
    const size_t counts[] = { count, samples, samples };
    skn_partition_t *message =
        skn_actor_message(actor, &skn_partition_schema, counts, error);
    cr_assert(message);
    message->batch = batch;
    message->shard = layout.shard_first + shard;
    message->rows = layout.rows;
    memcpy(message->node.at, place, count * sizeof(*place));
    for (uint32_t k = 0; k < count; k++) {
        memcpy(message->greatest.at + k * layout.rows, nodes[k].greatest,
               layout.rows * sizeof(float));
        memcpy(message->sum.at + k * layout.rows, nodes[k].sum,
               layout.rows * sizeof(float));
    }
    return skn_actor_post(actor, message, error);
}

static skn_status_t
post_hidden(skn_actor_t *actor, uint64_t batch, uint32_t shard,
            const uint32_t *place, const gradient_t *gradient,
            skn_error_t *error)
{
    const size_t counts[] = { layout.packed ? layout.rows : 0,
                              gradient->node_count, gradient->pulls, 0 };
    skn_hidden_gradient_t *message =
        skn_actor_message(actor, &skn_hidden_gradient_schema, counts, error);
    cr_assert(message);
    message->batch = batch;
    message->shard = layout.shard_first + shard;
    message->rows = layout.rows;
    message->column_first = gradient->first;
    message->columns = gradient->columns;
    memcpy(message->open.at, gradient->open, counts[0] * sizeof(uint32_t));
    memcpy(message->node.at, place, counts[1] * sizeof(uint32_t));
    memcpy(message->value.at, gradient->pull, counts[2] * sizeof(float));
    return skn_actor_post(actor, message, error);
}

static skn_status_t
post_output(skn_actor_t *actor, uint64_t batch, uint32_t shard,
            const uint32_t *place, const gradient_t *gradient,
            skn_error_t *error)
{
    size_t open = layout.packed ? layout.rows : 0;
    const size_t counts[] = { open,
                              normalised() ? open : 0,
                              gradient->node_count,
                              gradient->pulls,
                              gradient->pushes,
                              0 };
    skn_output_gradient_t *message =
        skn_actor_message(actor, &skn_output_gradient_schema, counts, error);
    cr_assert(message);
    message->batch = batch;
    message->shard = layout.shard_first + shard;
    message->rows = layout.rows;
    message->column_first = gradient->first;
    message->columns = gradient->columns;
    message->normalised = normalised();
    memcpy(message->open.at, gradient->open, counts[0] * sizeof(uint32_t));
    memcpy(message->pushed.at, gradient->pushed, counts[1] * sizeof(uint32_t));
    memcpy(message->node.at, place, counts[2] * sizeof(uint32_t));
    memcpy(message->pull.at, gradient->pull, counts[3] * sizeof(float));
    memcpy(message->push.at, gradient->push, counts[4] * sizeof(float));
    return skn_actor_post(actor, message, error);
}

static skn_status_t
post_part(skn_actor_t *actor, uint64_t batch, uint32_t shard, uint32_t slice,
          skn_error_t *error)
{
    static cells_t nodes[LEAVES_MAX];
    static gradient_t gradient;
    uint32_t place[SKN_TREE_NODES_MAX];
    truth_t *truth = &truths[batch % layout.window];
    uint32_t count = nodes_of(truth, layout.first[shard],
                              layout.first[shard + 1], place, nodes);
    if (slice == layout.slices)
        return post_partition(actor, batch, shard, place, nodes, count, error);
    cut_slice(truth, slice, truth->pushes[shard], nodes, count, &gradient);
    return layout.sums
               ? post_hidden(actor, batch, shard, place, &gradient, error)
               : post_output(actor, batch, shard, place, &gradient, error);
}

/* All parts of a window of batches, in any order. */
static skn_status_t
post_group(skn_actor_t *actor, skn_error_t *error)
{
    uint32_t slices = layout.slices + normalised();
    uint32_t count = layout.window * layout.shards * slices;
    uint32_t *order = malloc(count * sizeof(*order));
    skn_status_t status = SKN_OK;
    came = 0;
    memset(partitions_came, 0, sizeof(partitions_came));
    for (uint32_t b = 0; b < layout.window; b++)
        draw_truth(&truths[b]);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t other = oracle_next(&dice) % (k + 1);
        order[k] = order[other];
        order[other] = k;
    }
    for (uint32_t k = 0; k < count && status == SKN_OK; k++)
        status = post_part(
            actor, (uint64_t)group * layout.window + order[k] % layout.window,
            order[k] / layout.window % layout.shards,
            order[k] / layout.window / layout.shards, error);
    free(order);
    group++;
    return status;
}

/* --- what comes out ------------------------------------------------------ */

static void
expect_nodes(const skn_u32s_t *node, const uint32_t *place, uint32_t count)
{
    cr_assert_eq(node->count, layout.fixed ? count : 1);
    for (uint32_t k = 0; k < node->count; k++)
        cr_expect_eq(node->at[k],
                     layout.fixed
                         ? place[k]
                         : skn_node_place(0, (uint32_t)layout.as_leaf));
}

static void
expect_floats(const skn_f32s_t *run, const float *want, size_t count,
              const char *what)
{
    cr_assert_eq(run->count, count, "%s: %zu, not %zu", what, run->count,
                 count);
    cr_expect(count == 0 || !memcmp(run->at, want, count * sizeof(float)),
              "%s: other bits", what);
}

static void
expect_open(const skn_u32s_t *run, const uint32_t *want, bool there)
{
    cr_assert_eq(run->count, there ? layout.rows : 0);
    cr_expect(!there || !memcmp(run->at, want, layout.rows * sizeof(*want)));
}

static void
expect_partition(const skn_partition_t *message)
{
    static cells_t nodes[LEAVES_MAX];
    uint32_t place[SKN_TREE_NODES_MAX], rows = layout.rows;
    truth_t *truth = &truths[message->batch % layout.window];
    uint32_t count = nodes_of(truth, layout.first[0],
                              layout.first[layout.shards], place, nodes);
    cr_expect_eq(message->shard, layout.shard_first);
    cr_expect_eq(message->rows, rows);
    expect_nodes(&message->node, place, count);
    for (uint32_t k = 0; k < count; k++) {
        skn_f32s_t greatest = { message->greatest.at + k * rows, rows };
        skn_f32s_t sum = { message->sum.at + k * rows, rows };
        expect_floats(&greatest, nodes[k].greatest, rows, "greatest");
        expect_floats(&sum, nodes[k].sum, rows, "sum");
    }
    partitions_came[message->batch % layout.window]++;
}

static uint32_t
slice_at(uint32_t column)
{
    uint32_t slice = 0;
    while (skn_slice_first(layout.units, layout.slices, slice) != column)
        cr_assert_lt(++slice, layout.slices, "column %u", column);
    return slice;
}

/* What must be in the slice that begins at `column`, of all shards. */
static const gradient_t *
want_slice(uint64_t batch, uint32_t column, const skn_u32s_t *node)
{
    static cells_t nodes[LEAVES_MAX];
    static gradient_t want;
    bool pushes[ROWS_MAX] = { false };
    uint32_t place[SKN_TREE_NODES_MAX];
    truth_t *truth = &truths[batch % layout.window];
    uint32_t count = nodes_of(truth, layout.first[0],
                              layout.first[layout.shards], place, nodes);
    for (uint32_t s = 0; s < layout.shards; s++)
        for (uint32_t i = 0; i < layout.rows; i++)
            pushes[i] = pushes[i] || truth->pushes[s][i];
    cut_slice(truth, slice_at(column), pushes, nodes, count, &want);
    expect_nodes(node, place, count);
    return &want;
}

static void
expect_output(const skn_output_gradient_t *message)
{
    const gradient_t *want =
        want_slice(message->batch, message->column_first, &message->node);
    cr_expect_eq(message->shard, layout.shard_first);
    cr_expect_eq(message->rows, layout.rows);
    cr_expect_eq(message->columns, want->columns);
    cr_expect_eq(message->normalised, normalised());
    cr_expect_eq(partitions_came[message->batch % layout.window], normalised(),
                 "a gradient before its partition");
    expect_open(&message->open, want->open, layout.packed);
    expect_open(&message->pushed, want->pushed, layout.packed && normalised());
    expect_floats(&message->pull, want->pull, want->pulls, "pull");
    expect_floats(&message->push, want->push, want->pushes, "push");
}

static void
expect_hidden(const skn_hidden_gradient_t *message)
{
    const gradient_t *want =
        want_slice(message->batch, message->column_first, &message->node);
    cr_expect_eq(message->shard, layout.shard_first);
    cr_expect_eq(message->rows, layout.rows);
    cr_expect_eq(message->columns, want->columns);
    expect_open(&message->open, want->open, layout.packed);
    expect_floats(&message->value, want->pull, want->pulls, "value");
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_partition_schema)
        expect_partition(message);
    else if (schema == &skn_output_gradient_schema)
        expect_output(message);
    else
        expect_hidden(message);
    if (++came < layout.window * (layout.slices + normalised()))
        return SKN_OK;
    if (group < GROUPS)
        return post_group(actor, error);
    skn_actor_finish(actor);
    return SKN_OK;
}

/* --- runs ---------------------------------------------------------------- */

static void
set_number(const char *name, int number)
{
    static char text[16][16];
    static uint32_t used;
    char *at = text[used++ % 16];
    (void)snprintf(at, sizeof(text[0]), "%d", number);
    probe_option(name, at);
}

static void
run_layout(void)
{
    probe.kind = &skn_combiner;
    probe.start = post_group;
    probe.react = react;
    memset(probe.to, 0, sizeof(probe.to));
    memset(probe.from, 0, sizeof(probe.from));
    probe.to[0] = probe.from[0] =
        layout.sums ? "hidden_gradient" : "output_gradient";
    if (normalised())
        probe.to[1] = probe.from[1] = "partition";
    set_number("shard_first", (int)layout.shard_first);
    set_number("shards", (int)layout.shards);
    set_number("leaves", (int)layout.leaves);
    set_number("leaf_first", (int)layout.first[0]);
    set_number("leaf_count",
               (int)(layout.first[layout.shards] - layout.first[0]));
    set_number("as_leaf", layout.as_leaf);
    set_number("columns", (int)layout.units);
    set_number("slices", (int)layout.slices);
    set_number("batch_rows", (int)layout.rows);
    set_number("window", (int)layout.window);
    group = 0;
    probe_run_well();
    cr_expect_eq(group, GROUPS);
    cr_expect_eq(came, layout.window * (layout.slices + normalised()));
}

/* A layout out of a number: anything that a plan could ask for, and more. */
static void
draw_layout(uint32_t seed)
{
    dice = (oracle_random_t){ seed + 1 };
    layout = (layout_t){
        .softmax = seed % 2 == 0,
        .sums = seed % 5 == 0,
        .packed = seed % 3 != 0,
        .fixed = seed / 2 % 2 == 0,
        .rows = 1 + oracle_next(&dice) % ROWS_MAX,
        .slices = 1 + oracle_next(&dice) % 3,
        .shards = 1 + oracle_next(&dice) % SHARDS_MAX,
        .window = 1 + oracle_next(&dice) % WINDOW_MAX,
        .shard_first = oracle_next(&dice) % 3,
        .as_leaf = -1,
    };
    layout.units = 24 + 8 * (oracle_next(&dice) % 4);
    layout.leaves = layout.shards;
    for (uint32_t s = 0; s <= layout.shards; s++)
        layout.first[s] = s;
    if (!layout.fixed) {
        layout.as_leaf = (int)(oracle_next(&dice) % 9);
        return;
    }
    uint32_t before = oracle_next(&dice) % 4;
    for (uint32_t s = 0; s <= layout.shards; s++) {
        layout.first[s] = before;
        before += 1 + oracle_next(&dice) % 3;
    }
    layout.leaves = layout.first[layout.shards] + oracle_next(&dice) % 6;
    cr_assert_leq(layout.leaves, LEAVES_MAX);
}

TestSuite(combiner, .timeout = 120);

Test(combiner, parts_in_any_order_become_the_nodes_that_cover_them)
{
    for (uint32_t seed = 0; seed < 120; seed++) {
        draw_layout(seed);
        run_layout();
    }
}

/* --- what is refused ----------------------------------------------------- */

static void
expect_refused(const char *option, const char *value, const char *sentence)
{
    draw_layout(2);
    layout.shards = 2;
    layout.fixed = true;
    layout.as_leaf = -1;
    layout.leaves = 5;
    layout.first[0] = 1;
    layout.first[1] = 2;
    layout.first[2] = 4;
    probe.kind = &skn_combiner;
    probe.react = react;
    probe.to[0] = probe.from[0] = "output_gradient";
    probe_option("shards", "2");
    probe_option("leaves", "5");
    probe_option("leaf_first", "1");
    probe_option("leaf_count", "3");
    probe_option("columns", "8");
    probe_option("batch_rows", "2");
    probe_option(option, value);
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(probe.error.text, sentence);
}

Test(combiner, refuses_leaves_beyond_the_tree)
{
    expect_refused("leaf_first", "3",
                   "combiner: leaves 3 to 5 are outside of a tree of 5 leaves");
}

Test(combiner, refuses_more_leaves_than_the_tree_has)
{
    expect_refused("leaf_count", "6",
                   "combiner: leaves 1 to 6 are outside of a tree of 5 leaves");
}

Test(combiner, refuses_to_send_two_nodes_as_one_leaf)
{
    expect_refused("as_leaf", "0",
                   "combiner: 2 tree nodes cannot be sent as one leaf");
}

#ifndef UNDER_ADDRESS_SANITIZER
/* A thousand shards and slices of 128 batches have 16 GB of places. */
Test(combiner, too_little_memory_is_reported)
{
    struct rlimit room = { (rlim_t)1 << 31, (rlim_t)1 << 31 };
    cr_assert_eq(setrlimit(RLIMIT_AS, &room), 0);
    probe.kind = &skn_combiner;
    probe.react = react;
    probe.to[0] = probe.from[0] = "output_gradient";
    probe_option("shards", "1024");
    probe_option("leaves", "1024");
    probe_option("leaf_count", "1024");
    probe_option("columns", "8192");
    probe_option("slices", "1024");
    probe_option("batch_rows", "2");
    probe_option("window", "64");
    probe_run();
    cr_expect_eq(probe.status, SKN_NO_MEMORY);
    cr_expect_str_eq(probe.error.text,
                     "combiner: no memory for the parts of 128 batches");
}
#endif
