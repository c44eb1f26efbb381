/* test_rounding.c - tests that the reported error of a coding is its true
 * error.
 *
 * Three shards send to a layer; the parts of two of them are coded. The oracle
 * merges, in double, the parts before and after coding.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/hidden/hidden.h"
#include "tests/support/coding_fixture.h"

#define SHARDS 3
#define ROWS 24
#define COLUMNS 40
#define CELLS (ROWS * COLUMNS)
#define KEEP 0.5f
#define KEY 9

/* What the shards say, as the receiver has it, and as it was meant. */
static struct {
    skn_output_gradient_t *sent[SHARDS], *got[SHARDS];
    skn_hidden_gradient_t *sent_sum[SHARDS], *got_sum[SHARDS];
    skn_partition_t partition[SHARDS];
    float value[CELLS]; /* the activation: which positions are open */
    float greatest[SHARDS][ROWS], sum[SHARDS][ROWS], gradient[CELLS];
    uint32_t open[ROWS], pushed[ROWS], node[SHARDS];
    skn_hidden_t hidden;
} world;

static skn_rounding_probe_t probe;
static uint64_t keys;

static void
reset(void)
{
    set_up();
    world.hidden = (skn_hidden_t){ .kernels = skn_kernels_best(),
                                   .columns = COLUMNS,
                                   .keep = KEEP,
                                   .batch_rows = ROWS };
    world.hidden.merge = (skn_merge_t){ .kernels = skn_kernels_best(),
                                        .columns = COLUMNS,
                                        .leaf_count = SHARDS };
    world.hidden.merge.scratch =
        malloc(skn_merge_scratch_floats(SHARDS, ROWS, COLUMNS) * sizeof(float));
    world.hidden.nodes = malloc(SHARDS * sizeof(*world.hidden.nodes));
    world.hidden.root = malloc((2 * ROWS + CELLS) * sizeof(float));
    world.hidden.open = malloc(ROWS * sizeof(uint32_t));
}

static void
leave(void)
{
    for (size_t s = 0; s < SHARDS; s++) {
        skn_payload_drop(world.sent[s]);
        skn_payload_drop(world.got[s]);
        skn_payload_drop(world.sent_sum[s]);
        skn_payload_drop(world.got_sum[s]);
    }
    skn_rounding_probe_fini(&probe);
    skn_hidden_close(&world.hidden);
    expect_all_home();
    tear_down();
}

TestSuite(rounding, .init = reset, .fini = leave, .timeout = 60);

/* --- messages ------------------------------------------------------------ */

static void
draw_activation(oracle_random_t *random)
{
    for (size_t k = 0; k < CELLS; k++)
        world.value[k] = oracle_next(random) % 3 ? 0.5f : 0.0f;
}

/* Numbers of [rows][open], or of all columns. v is near u times its share, as
 * late in training: `near` 0 is far away. */
static void
draw_gradient(oracle_random_t *random, size_t shard, uint64_t batch,
              bool packed, bool softmax, float near)
{
    size_t pulls = 0, pushes = 0;
    for (size_t i = 0; i < ROWS; i++) {
        world.open[i] = 0;
        for (size_t c = 0; c < COLUMNS; c++)
            world.open[i] += world.value[i * COLUMNS + c] != 0;
        world.pushed[i] = (i + shard) % 3 ? world.open[i] : 0;
        pulls += world.open[i];
        pushes += world.pushed[i];
    }
    if (!packed)
        pulls = pushes = CELLS;
    size_t counts[] = { packed ? ROWS : 0,
                        packed && softmax ? ROWS : 0,
                        1,
                        pulls,
                        softmax ? pushes : 0,
                        0 };
    skn_output_gradient_t *sent = world.sent[shard] =
        skn_payload_new(pool, &skn_output_gradient_schema, counts, NULL);
    sent->batch = batch;
    sent->shard = (uint32_t)shard;
    sent->rows = ROWS;
    sent->columns = COLUMNS;
    sent->normalised = softmax;
    sent->node.at[0] = world.node[shard] = skn_node_place(0, (uint32_t)shard);
    if (packed)
        memcpy(sent->open.at, world.open, sizeof(world.open));
    if (packed && softmax)
        memcpy(sent->pushed.at, world.pushed, sizeof(world.pushed));
    for (size_t k = 0; k < sent->pull.count; k++)
        sent->pull.at[k] = oracle_float(random);
    for (size_t k = 0; k < sent->push.count; k++)
        sent->push.at[k] =
            near > 0 ? sent->pull.at[k] * near : oracle_float(random);
    for (size_t i = 0; i < ROWS; i++) {
        world.greatest[shard][i] = oracle_float(random);
        world.sum[shard][i] = i == 5 && shard == 1 ? 0 : 2 + (float)shard;
    }
    world.partition[shard] = (skn_partition_t){
        .batch = batch,
        .shard = (uint32_t)shard,
        .rows = ROWS,
        .node = { &world.node[shard], 1 },
        .greatest = { world.greatest[shard], ROWS },
        .sum = { world.sum[shard], ROWS },
    };
}

/* As the link sends it: measured, if that is due, then coded. Each edge has a
 * key of its own. */
static void *
cross(const skn_schema_t *schema, const void *message, skn_coding_t coding)
{
    uint64_t key = KEY + keys++;
    skn_rounding_copy_t copy;
    const void *measured = message;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_rounding_measure(&probe, schema, message, coding, key,
                                      coder, &copy, &measured, &error),
                 SKN_OK, "%s", error.text);
    return over_and_back(schema, measured, coding, key);
}

/* Shard 0 is on the layer's own node. */
static void
cross_all(skn_coding_t coding)
{
    for (size_t s = 0; s < SHARDS; s++)
        world.got[s] =
            s == 0 ? (skn_payload_keep(world.sent[0]), world.sent[0])
                   : cross(&skn_output_gradient_schema, world.sent[s], coding);
}

/* Merged by the layer: what it found. */
static skn_rounding_t
merged(bool softmax)
{
    const void *part[SHARDS], *pair[SHARDS];
    skn_activation_t activation = { .rows = ROWS,
                                    .columns = COLUMNS,
                                    .value = { world.value, CELLS } };
    skn_error_t error = { 0 };
    for (size_t s = 0; s < SHARDS; s++) {
        part[s] = world.got[s];
        pair[s] = &world.partition[s];
    }
    skn_parts_t parts = { .at = part, .count = SHARDS },
                pairs = { .at = pair, .count = SHARDS };
    cr_assert_eq(skn_hidden_merge(&world.hidden, &parts,
                                  softmax ? &pairs : NULL, &activation,
                                  world.gradient, &error),
                 SKN_OK, "%s", error.text);
    return world.hidden.rounding;
}

/* --- the oracle ---------------------------------------------------------- */

/* The share of shard `s` in Z of sample i. */
static double
share(size_t s, size_t i, bool softmax)
{
    double whole = 0;
    for (size_t k = 0; k < SHARDS; k++)
        whole += (double)world.sum[k][i] * exp((double)world.greatest[k][i]);
    return softmax ? (double)world.sum[s][i] *
                         exp((double)world.greatest[s][i]) / whole
                   : 1.0;
}

/* Adds a part's open positions to gradient[CELLS], naively. */
static void
add_part(double *gradient, const skn_output_gradient_t *part, size_t s)
{
    const float *u = part->pull.at, *v = part->push.at;
    bool packed = part->open.count > 0, softmax = part->normalised;
    for (size_t i = 0; i < ROWS; i++) {
        bool pushed = softmax && (!packed || part->pushed.at[i] > 0);
        for (size_t c = 0; c < COLUMNS; c++) {
            bool open = world.value[i * COLUMNS + c] != 0;
            double *g = &gradient[i * COLUMNS + c];
            if (packed && !open)
                continue;
            double pull = (double)*u++;
            double push = pushed ? (double)*v++ : 0;
            if (open)
                *g +=
                    (share(s, i, softmax) * pull - push) / ROWS / (double)KEEP;
        }
    }
}

/* |g' - g|^2 and |g|^2 of what has come and what was meant. */
static skn_rounding_t
oracle(void)
{
    static double meant[CELLS], come[CELLS];
    skn_rounding_t found = { 0 };
    memset(meant, 0, sizeof(meant));
    memset(come, 0, sizeof(come));
    for (size_t s = 0; s < SHARDS; s++) {
        add_part(meant, world.sent[s], s);
        add_part(come, world.got[s], s);
    }
    for (size_t k = 0; k < CELLS; k++) {
        found.changed += (come[k] - meant[k]) * (come[k] - meant[k]);
        found.square += meant[k] * meant[k];
    }
    return found;
}

/* --- tests --------------------------------------------------------------- */

/* With two parts that are coded their errors are added as if independent: off
 * by chance, 1 / sqrt(cells). With one alone, all is exact. */
static void
expect_told(skn_coding_t coding, bool packed, bool softmax, float near,
            bool only_one)
{
    oracle_random_t random = { 40 + (uint64_t)coding };
    draw_activation(&random);
    for (size_t s = 0; s < SHARDS; s++)
        draw_gradient(&random, s, 2 * SKN_ROUNDING_BATCHES, packed, softmax,
                      near);
    cross_all(coding);
    if (only_one) {
        skn_payload_drop(world.got[1]);
        world.got[1] = world.sent[1];
        skn_payload_keep(world.sent[1]);
    }
    skn_rounding_t told = merged(softmax), want = oracle();
    double bound = only_one ? 1e-4 : 0.15, got = skn_rounding_error(&told);
    double is = sqrt(want.changed / want.square);
    if (coding == SKN_CODING_F32) {
        cr_expect_eq(told.changed, 0);
        cr_expect_eq(got, 0);
        cr_expect_gt(told.square, 0);
    } else if (!packed) {
        /* The sender does not know which positions are closed. */
        cr_expect_geq(told.changed, want.changed * (1 - bound));
    } else {
        cr_expect_float_eq(told.changed / want.changed, 1, bound,
                           "%s: told %g, is %g", coding_word(coding),
                           told.changed, want.changed);
        cr_expect_float_eq(got / is, 1, is < 0.3 ? 0.1 : 0.5,
                           "%s: told %g, is %g", coding_word(coding), got, is);
    }
    for (size_t s = 0; s < SHARDS; s++) {
        skn_payload_drop(world.sent[s]);
        skn_payload_drop(world.got[s]);
        world.sent[s] = world.got[s] = NULL;
    }
}

Test(rounding, the_reported_error_of_a_softmax_is_the_real_one)
{
    EACH_CODING(coding)
    {
        expect_told(coding, true, true, 0, true);
        expect_told(coding, true, true, 0, false);
        expect_told(coding, false, true, 0, false);
    }
}

/* The share of a shard is about a third: with v = u / 3 most is gone. */
Test(rounding, where_u_and_v_cancel_the_error_is_large)
{
    EACH_CODING(coding)
    {
        expect_told(coding, true, true, 0.33f, true);
        expect_told(coding, true, true, 0.33f, false);
    }
}

Test(rounding, the_reported_error_of_one_vs_all_is_the_real_one)
{
    EACH_CODING(coding)
    {
        expect_told(coding, true, false, 0, true);
        expect_told(coding, true, false, 0, false);
    }
}

/* All parts are coded: the error of the whole is that of a row, and a little
 * less for even numbers than for normal ones. */
Test(rounding, bf16_costs_2_to_the_minus_9)
{
    oracle_random_t random = { 3 };
    draw_activation(&random);
    for (size_t s = 0; s < SHARDS; s++)
        draw_gradient(&random, s, 0, true, false, 0);
    for (size_t s = 0; s < SHARDS; s++)
        world.got[s] =
            cross(&skn_output_gradient_schema, world.sent[s], SKN_CODING_BF16);
    skn_rounding_t told = merged(false);
    cr_expect_float_eq(skn_rounding_error(&told), 0x1p-9, 0.3 * 0x1p-9, "%g",
                       skn_rounding_error(&told));
}

/* Sums of a dense layer, of which the next two are coded. */
Test(rounding, sums_of_a_dense_layer_are_measured)
{
    oracle_random_t random = { 4 };
    double changed = 0, square = 0;
    skn_activation_t activation = { .rows = ROWS,
                                    .columns = COLUMNS,
                                    .value = { world.value, CELLS } };
    const void *part[SHARDS];
    for (size_t k = 0; k < CELLS; k++)
        world.value[k] = 1;
    for (size_t s = 0; s < SHARDS; s++) {
        size_t counts[] = { 0, 1, CELLS, 0 };
        skn_hidden_gradient_t *sent = world.sent_sum[s] =
            skn_payload_new(pool, &skn_hidden_gradient_schema, counts, NULL);
        sent->rows = ROWS;
        sent->columns = COLUMNS;
        sent->node.at[0] = skn_node_place(0, (uint32_t)s);
        for (size_t k = 0; k < CELLS; k++)
            sent->value.at[k] = oracle_float(&random);
        part[s] = world.got_sum[s] =
            cross(&skn_hidden_gradient_schema, sent, SKN_CODING_INT8);
        cr_assert_eq(world.got_sum[s]->changed.count, ROWS);
    }
    skn_parts_t parts = { .at = part, .count = SHARDS };
    cr_assert_eq(skn_hidden_sum(&world.hidden, &parts, &activation,
                                world.gradient, NULL),
                 SKN_OK);
    for (size_t k = 0; k < CELLS; k++) {
        double off = 0, all = 0;
        for (size_t s = 0; s < SHARDS; s++) {
            all += (double)world.got_sum[s]->value.at[k] / (double)KEEP;
            off += ((double)world.got_sum[s]->value.at[k] -
                    (double)world.sent_sum[s]->value.at[k]) /
                   (double)KEEP;
        }
        changed += off * off;
        square += all * all;
    }
    cr_expect_float_eq(world.hidden.rounding.changed / changed, 1, 0.15);
    cr_expect_float_eq(world.hidden.rounding.square / square, 1, 1e-5);
}

/* One batch of SKN_ROUNDING_BATCHES, and no other message. */
Test(rounding, only_gradients_of_a_batch_that_is_due_are_measured)
{
    oracle_random_t random = { 5 };
    draw_activation(&random);
    for (uint64_t batch = 31; batch <= 33; batch++) {
        draw_gradient(&random, 0, batch, true, true, 0);
        world.got[0] =
            cross(&skn_output_gradient_schema, world.sent[0], SKN_CODING_INT8);
        cr_expect_eq(world.got[0]->changed.count, batch == 32 ? 3 * ROWS : 0);
        cr_expect_eq(world.sent[0]->changed.count, 0, "the message stays");
        skn_payload_drop(world.sent[0]);
        skn_payload_drop(world.got[0]);
        world.sent[0] = world.got[0] = NULL;
    }
    skn_issue_t issue = { .batch = 32 };
    const void *measured = &issue;
    cr_expect_eq(skn_rounding_measure(&probe, &skn_issue_schema, &issue,
                                      SKN_CODING_INT8, 1, coder, NULL,
                                      &measured, NULL),
                 SKN_OK);
    cr_expect_eq(measured, &issue);
}

/* Parts that nobody has measured say nothing. */
Test(rounding, without_a_link_nothing_is_reported)
{
    oracle_random_t random = { 6 };
    draw_activation(&random);
    for (size_t s = 0; s < SHARDS; s++) {
        draw_gradient(&random, s, 0, true, true, 0);
        skn_payload_keep(world.sent[s]);
        world.got[s] = world.sent[s];
    }
    skn_rounding_t told = merged(true);
    cr_expect_eq(told.changed, 0);
    cr_expect_eq(told.square, 0);
    cr_expect_eq(skn_rounding_error(&told), -1);
}

/* What does not fit itself is left to its receiver. */
Test(rounding, a_gradient_that_does_not_fit_is_not_measured)
{
    oracle_random_t random = { 7 };
    draw_activation(&random);
    draw_gradient(&random, 0, 0, true, true, 0);
    skn_output_gradient_t good = *world.sent[0];
    for (int kind = 0; kind < 6; kind++) {
        skn_output_gradient_t bad = good;
        uint32_t more[ROWS];
        memcpy(more, good.pushed.at, sizeof(more));
        more[1]++;
        if (kind == 0)
            bad.pull.count--;
        else if (kind == 1)
            bad.push.count--;
        else if (kind == 2)
            bad.open.count--;
        else if (kind == 3)
            bad.node.count = 0;
        else if (kind == 4)
            bad.pushed.count--;
        else
            bad.pushed.at = more;
        const void *measured = &bad;
        cr_expect_eq(skn_rounding_measure(&probe, &skn_output_gradient_schema,
                                          &bad, SKN_CODING_INT8, 1, coder, NULL,
                                          &measured, NULL),
                     SKN_OK);
        cr_expect_eq(measured, &bad, "%d", kind);
    }
}

/* Two nodes of two samples: |a du - dv|^2 with a = 1/2, 1 and 0. */
Test(rounding, each_node_has_its_own_sums)
{
    static const float changed[] = { 4, 8, 16, 32, 1, 2, 3, 4, 1, 1, 2, 2 };
    static const float greatest[] = { 0, 0 }, sum[] = { 1, 0 };
    static const float root_greatest[] = { 0, 0 }, root_sum[] = { 2, 2 };
    static const float more[] = { 5, 5 };
    const skn_rounding_scale_t half = { greatest, sum, root_greatest,
                                        root_sum };
    const skn_rounding_scale_t whole = { more, root_sum, more, root_sum };
    const skn_rounding_scale_t one = { NULL, NULL, NULL, NULL };
    skn_rounding_t told = { 0 };
    skn_rounding_add(&told, &half, changed, 0, 2, 2);
    cr_expect_float_eq(told.changed, (1 + 1 - 1) + 2, 1e-9);
    told = (skn_rounding_t){ 0 };
    skn_rounding_add(&told, &whole, changed, 1, 2, 2);
    cr_expect_float_eq(told.changed, (16 + 3 - 4) + (32 + 4 - 4), 1e-9);
    told = (skn_rounding_t){ 0 };
    skn_rounding_add(&told, &one, changed, 1, 2, 2);
    cr_expect_eq(told.changed, 16 + 32);
}

Test(rounding, an_error_is_a_share_of_what_was_meant)
{
    static const struct {
        double changed, square, error;
    } cases[] = {
        { 0, 0, -1 },  { 0, 4, 0 },          { 1, 5, 0.5 },
        { 4, 8, 1 },   { 8, 8, 31.6227766 }, { 9, 8, 33.5410197 },
        { -1, 4, -1 }, { NAN, 4, -1 },       { 1, NAN, -1 },
        { 1, -4, -1 }, { INFINITY, 4, -1 },  { 1, INFINITY, -1 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_rounding_t rounding = { cases[k].changed, cases[k].square };
        cr_expect_float_eq(skn_rounding_error(&rounding), cases[k].error, 1e-6,
                           "%zu: %g", k, skn_rounding_error(&rounding));
    }
}
