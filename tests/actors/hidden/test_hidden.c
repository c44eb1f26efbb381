/* test_hidden.c - tests activation and dropout, forwards and backwards.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/hidden/hidden.h"
#include "tests/support/oracle.h"

#define ROWS 6
#define COLUMNS 40
#define CELLS (ROWS * COLUMNS)
#define KEEP 0.75f

static bool is_linear;

static skn_hidden_t
hidden_of(uint32_t column_first, uint32_t columns, float keep)
{
    return (skn_hidden_t){ .kernels = skn_kernels_best(),
                           .column_first = column_first,
                           .columns = columns,
                           .is_linear = is_linear,
                           .keep = keep,
                           .dropout_key = 31,
                           .batch_rows = ROWS };
}

/* With a tree of two leaves above; freed by skn_hidden_close. */
static skn_hidden_t
hidden_below(uint32_t column_first, float keep)
{
    skn_hidden_t hidden = hidden_of(column_first, COLUMNS, keep);
    hidden.merge = (skn_merge_t){ .kernels = hidden.kernels,
                                  .columns = COLUMNS,
                                  .leaf_count = 2 };
    hidden.merge.scratch =
        malloc(skn_merge_scratch_floats(2, ROWS, COLUMNS) * sizeof(float));
    hidden.nodes = malloc(2 * sizeof(*hidden.nodes));
    hidden.root = malloc((2 * ROWS + CELLS) * sizeof(float));
    return hidden;
}

static skn_activation_t
activation_of(float *value, uint64_t batch, skn_purpose_t purpose,
              uint32_t columns)
{
    return (skn_activation_t){ .batch = batch,
                               .purpose = purpose,
                               .rows = ROWS,
                               .columns = columns,
                               .value = { value, ROWS * columns } };
}

static void
activate(float *value, uint64_t batch, skn_purpose_t purpose, float keep)
{
    skn_hidden_t hidden = hidden_of(0, COLUMNS, keep);
    skn_activation_t activation = activation_of(value, batch, purpose, COLUMNS);
    skn_hidden_activate(&hidden, &activation);
}

/* --- forwards ----------------------------------------------------------- */

Test(hidden, without_dropout_it_is_relu)
{
    oracle_random_t random = { 1 };
    float *x = oracle_floats(&random, CELLS, 1), y[CELLS];
    memcpy(y, x, sizeof(y));
    activate(y, 0, SKN_PURPOSE_TRAIN, 1);
    for (int k = 0; k < CELLS; k++)
        cr_expect_eq(y[k], x[k] > 0 ? x[k] : 0);
    free(x);
}

Test(hidden, a_linear_layer_passes_values_as_they_are)
{
    oracle_random_t random = { 1 };
    float *x = oracle_floats(&random, CELLS, 1), y[CELLS];
    is_linear = true;
    memcpy(y, x, sizeof(y));
    activate(y, 0, SKN_PURPOSE_TRAIN, 1);
    cr_expect(memcmp(y, x, sizeof(y)) == 0);
    is_linear = false;
    free(x);
}

Test(hidden, evaluations_have_no_dropout)
{
    for (skn_purpose_t purpose = SKN_PURPOSE_VALIDATE;
         purpose <= SKN_PURPOSE_TEST; purpose++) {
        float x[CELLS];
        for (int k = 0; k < CELLS; k++)
            x[k] = 2;
        activate(x, 0, purpose, KEEP);
        for (int k = 0; k < CELLS; k++)
            cr_expect_eq(x[k], 2.0f);
    }
}

Test(hidden, dropout_scales_what_it_keeps_and_keeps_its_share)
{
    double kept = 0;
    for (uint64_t batch = 0; batch < 500; batch++) {
        float x[CELLS];
        for (int k = 0; k < CELLS; k++)
            x[k] = 3;
        activate(x, batch, SKN_PURPOSE_TRAIN, KEEP);
        for (int k = 0; k < CELLS; k++) {
            cr_assert(x[k] == 0 || x[k] == 3 / KEEP);
            kept += x[k] > 0;
        }
    }
    double n = 500.0 * CELLS;
    cr_expect(fabs(kept / n - 0.75) <= 5 * sqrt(0.75 * 0.25 / n));
}

Test(hidden, dropout_is_fixed_by_batch_sample_and_unit)
{
    float whole[CELLS], again[CELLS], other[CELLS];
    for (int k = 0; k < CELLS; k++)
        whole[k] = again[k] = other[k] = 1;
    activate(whole, 7, SKN_PURPOSE_TRAIN, KEEP);
    activate(again, 7, SKN_PURPOSE_TRAIN, KEEP);
    activate(other, 8, SKN_PURPOSE_TRAIN, KEEP);
    cr_expect(memcmp(whole, again, sizeof(whole)) == 0);
    cr_expect(memcmp(whole, other, sizeof(whole)) != 0);
    cr_expect(memcmp(whole, whole + COLUMNS, COLUMNS * 4) != 0);
    for (uint32_t first = 0; first < COLUMNS; first += 8) {
        /* Any slice drops what the whole layer drops. */
        uint32_t columns = COLUMNS - first;
        float slice[CELLS];
        skn_hidden_t hidden = hidden_of(first, columns, KEEP);
        skn_activation_t activation =
            activation_of(slice, 7, SKN_PURPOSE_TRAIN, columns);
        for (int k = 0; k < CELLS; k++)
            slice[k] = 1;
        skn_hidden_activate(&hidden, &activation);
        for (uint32_t i = 0; i < ROWS; i++)
            cr_expect(memcmp(slice + i * columns, whole + i * COLUMNS + first,
                             columns * sizeof(float)) == 0);
    }
}

/* --- backwards ---------------------------------------------------------- */

/* The gradient of sum r h(x) by x, where h is what skn_hidden_activate does:
 * differences are exact, since h is linear on each side of 0. */
static void
expect_differences(void)
{
    oracle_random_t random = { 2 };
    float *x = oracle_floats(&random, CELLS, 1);
    float *r1 = oracle_floats(&random, CELLS, 1);
    float *r2 = oracle_floats(&random, CELLS, 1);
    float h[CELLS], moved[CELLS], gradient[CELLS];
    const float step = 0x1p-12f;
    for (int k = 0; k < CELLS; k++)
        x[k] = roundf(x[k] * 64) / 64 + 0x1p-9f; /* not across 0 */
    memcpy(h, x, sizeof(h));
    activate(h, 3, SKN_PURPOSE_TRAIN, KEEP);
    for (int k = 0; k < CELLS; k++)
        moved[k] = x[k] + step;
    activate(moved, 3, SKN_PURPOSE_TRAIN, KEEP);
    skn_hidden_t hidden = hidden_below(0, KEEP);
    skn_activation_t activation =
        activation_of(h, 3, SKN_PURPOSE_TRAIN, COLUMNS);
    uint32_t place[] = { skn_node_place(0, 0), skn_node_place(0, 1) };
    skn_hidden_gradient_t one = { .batch = 3,
                                  .rows = ROWS,
                                  .columns = COLUMNS,
                                  .node = { place, 1 },
                                  .value = { r1, CELLS } };
    skn_hidden_gradient_t two = { .batch = 3,
                                  .rows = ROWS,
                                  .columns = COLUMNS,
                                  .node = { place + 1, 1 },
                                  .value = { r2, CELLS } };
    const void *part[] = { &one, &two };
    skn_parts_t parts = { .at = part, .count = 2 };
    cr_assert_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, NULL),
                 SKN_OK);
    for (int k = 0; k < CELLS; k++) {
        double slope = ((double)moved[k] - (double)h[k]) / (double)step;
        double want = slope * ((double)r1[k] + (double)r2[k]);
        cr_expect(fabs((double)gradient[k] - want) <= 2e-3,
                  "[%d]: got %g, want %g", k, (double)gradient[k], want);
        cr_expect(h[k] > 0 || is_linear || gradient[k] == 0);
    }
    skn_hidden_close(&hidden);
    free(x);
    free(r1);
    free(r2);
}

Test(hidden, the_way_back_is_what_differences_say)
{
    expect_differences();
}

Test(hidden, the_way_back_of_a_linear_layer_is_what_differences_say)
{
    is_linear = true;
    expect_differences();
    is_linear = false;
}

/* A value of 0 is as good as another: its gradient is needed. */
Test(hidden, a_linear_layer_refuses_packed_parts)
{
    float value[CELLS] = { 0 }, gradient[CELLS];
    uint32_t place = skn_node_place(0, 0), open[ROWS] = { 0 };
    skn_error_t error = { 0 };
    is_linear = true;
    skn_hidden_t hidden = hidden_below(0, 1);
    is_linear = false;
    skn_activation_t activation =
        activation_of(value, 3, SKN_PURPOSE_TRAIN, COLUMNS);
    skn_hidden_gradient_t one = { .batch = 3,
                                  .rows = ROWS,
                                  .columns = COLUMNS,
                                  .open = { open, ROWS },
                                  .node = { &place, 1 } };
    const void *part[] = { &one };
    skn_parts_t parts = { .at = part, .count = 1 };
    cr_expect_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "hidden_gradient of shard 0, batch 3: packed "
                                 "by a different activation");
    skn_hidden_close(&hidden);
}

/* One-vs-all shares add up; the mean is taken over the samples. */
Test(hidden, shares_without_a_normaliser_add_up)
{
    oracle_random_t random = { 3 };
    float *pull = oracle_floats(&random, 3 * CELLS, 1);
    float open[CELLS], gradient[CELLS];
    uint32_t place[3];
    cr_assert_eq(skn_merge_cover(3, 0, 2, place), 1);
    cr_assert_eq(skn_merge_cover(3, 2, 3, place + 1), 1);
    skn_hidden_t hidden = hidden_of(0, COLUMNS, 1);
    hidden.merge = (skn_merge_t){ .kernels = hidden.kernels,
                                  .columns = COLUMNS,
                                  .leaf_count = 3 };
    hidden.merge.scratch =
        malloc(skn_merge_scratch_floats(3, ROWS, COLUMNS) * sizeof(float));
    hidden.nodes = malloc(3 * sizeof(*hidden.nodes));
    for (int k = 0; k < CELLS; k++)
        open[k] = 1;
    skn_activation_t activation =
        activation_of(open, 3, SKN_PURPOSE_TRAIN, COLUMNS);
    skn_output_gradient_t share[2];
    for (uint32_t k = 0; k < 2; k++)
        share[k] =
            (skn_output_gradient_t){ .batch = 3,
                                     .shard = k,
                                     .rows = ROWS,
                                     .columns = COLUMNS,
                                     .node = { place + k, 1 },
                                     .pull = { pull + k * CELLS, CELLS } };
    const void *part[] = { &share[0], &share[1] };
    skn_parts_t parts = { .at = part, .count = 2 };
    cr_assert_eq(
        skn_hidden_merge(&hidden, &parts, NULL, &activation, gradient, NULL),
        SKN_OK);
    for (int k = 0; k < CELLS; k++)
        cr_expect(fabs((double)gradient[k] -
                       ((double)pull[k] + (double)pull[CELLS + k]) / ROWS) <=
                  1e-7);
    skn_hidden_close(&hidden);
    free(pull);
}

/* --- refusals ----------------------------------------------------------- */

/* A softmax share of one leaf that is right, and its partition; `spoil` makes
 * one of them wrong. */
typedef void spoil_t(skn_output_gradient_t *share, skn_partition_t *partition);

static void
expect_refused(spoil_t *spoil, const char *want)
{
    static float room[2 * CELLS], gradient[CELLS];
    uint32_t place[2] = { 0, 0 }, other[2] = { 0, 0 };
    skn_error_t error = { 0 };
    skn_hidden_t hidden = hidden_below(8, 1);
    skn_activation_t activation =
        activation_of(room, 3, SKN_PURPOSE_TRAIN, COLUMNS);
    skn_output_gradient_t share[2];
    skn_partition_t partition[2];
    const void *part[] = { &share[0], &share[1] };
    const void *pair[] = { &partition[1], &partition[0] }; /* any order */
    for (uint32_t k = 0; k < 2; k++) {
        place[k] = other[k] = skn_node_place(0, k);
        share[k] = (skn_output_gradient_t){ .batch = 3,
                                            .shard = k,
                                            .rows = ROWS,
                                            .column_first = 8,
                                            .columns = COLUMNS,
                                            .normalised = 1,
                                            .node = { place + k, 1 },
                                            .pull = { room, CELLS },
                                            .push = { room, CELLS } };
        partition[k] = (skn_partition_t){ .batch = 3,
                                          .shard = k,
                                          .rows = ROWS,
                                          .node = { other + k, 1 },
                                          .greatest = { room, ROWS },
                                          .sum = { room, ROWS } };
    }
    skn_parts_t parts = { .at = part, .count = 2 },
                partitions = { .at = pair, .count = 2 };
    cr_assert_eq(skn_hidden_merge(&hidden, &parts, &partitions, &activation,
                                  gradient, &error),
                 SKN_OK, "%s", error.text);
    spoil(&share[1], &partition[1]);
    cr_expect_eq(skn_hidden_merge(&hidden, &parts, &partitions, &activation,
                                  gradient, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, want);
    skn_hidden_close(&hidden);
}

#define SPOIL(name, change)                                                    \
    static void name(skn_output_gradient_t *share, skn_partition_t *partition) \
    {                                                                          \
        (void)share, (void)partition;                                          \
        change;                                                                \
    }

SPOIL(fewer_rows, share->rows--)
SPOIL(other_slice, share->column_first = 0)
SPOIL(short_pull, share->pull.count--)
SPOIL(no_node, share->node.count = share->pull.count = 0)
SPOIL(short_push, share->push.count--)
SPOIL(odd_change, share->changed.count = 3 * ROWS - 1)
SPOIL(other_loss, (share->push.count = 0, share->normalised = 0))
SPOIL(the_same_leaf,
      share->node.at[0] = partition->node.at[0] = skn_node_place(0, 0))
SPOIL(other_shard, partition->shard = 2)
SPOIL(other_rows, partition->rows--)
SPOIL(other_leaf, partition->node.at[0] = skn_node_place(0, 0))
SPOIL(more_leaves, partition->node.count++)
SPOIL(short_greatest, partition->greatest.count--)
SPOIL(short_sum, partition->sum.count--)

Test(hidden, shares_that_do_not_fit_are_refused)
{
#define OF "output_gradient of shard 1, batch 3: "
    expect_refused(fewer_rows, OF "its rows or columns belong to another "
                                  "slice");
    expect_refused(other_slice, OF "its rows or columns belong to another "
                                   "slice");
    expect_refused(short_pull, OF "its pull has the wrong size");
    expect_refused(no_node, OF "its pull has the wrong size");
    expect_refused(short_push, OF "its push has the wrong size");
    expect_refused(odd_change, OF "its `changed` has the wrong size");
    expect_refused(other_loss, OF "its loss differs from that of shard 0");
    expect_refused(the_same_leaf,
                   "output_gradient of shard 0, batch 3: the shards together "
                   "do not cover all rows");
}

Test(hidden, partitions_of_other_nodes_are_refused)
{
    static spoil_t *const spoils[] = { other_shard, other_rows,     other_leaf,
                                       more_leaves, short_greatest, short_sum };
    for (size_t k = 0; k < sizeof(spoils) / sizeof(spoils[0]); k++)
        expect_refused(spoils[k], OF "its partition is for other tree nodes");
}

Test(hidden, sums_that_do_not_fit_are_refused)
{
    float value[3 * CELLS] = { 0 }, gradient[CELLS];
    uint32_t place[] = { skn_node_place(0, 0), skn_node_place(0, 1), 0 };
    skn_error_t error = { 0 };
    skn_hidden_t hidden = hidden_below(8, 1);
    skn_activation_t activation =
        activation_of(value, 3, SKN_PURPOSE_TRAIN, COLUMNS);
    skn_hidden_gradient_t one = { .batch = 3,
                                  .shard = 4,
                                  .rows = ROWS,
                                  .column_first = 8,
                                  .columns = COLUMNS,
                                  .node = { place, 2 },
                                  .value = { value, 2 * CELLS - 1 } };
    const void *part[] = { &one };
    skn_parts_t parts = { .at = part, .count = 1 };
    cr_expect_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "hidden_gradient of shard 4, batch 3: 479 "
                                 "values, 480 expected");
    one.value.count = 2 * CELLS;
    cr_expect_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, &error),
                 SKN_OK);
    one.column_first = 0;
    cr_expect_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, &error),
                 SKN_BAD_MESSAGE);
    one.column_first = 8;
    one.node.count = 3;
    one.value.count = 3 * CELLS;
    cr_expect_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "hidden_gradient of shard 4, batch 3: too many tree "
                     "nodes");
    one.node.count = 1;
    one.value.count = CELLS;
    cr_expect_eq(skn_hidden_sum(&hidden, &parts, &activation, gradient, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "hidden_gradient of batch 3: the shards "
                                 "together do not cover all units");
    skn_hidden_close(&hidden);
}
