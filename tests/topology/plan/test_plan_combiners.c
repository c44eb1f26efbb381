/* test_plan_combiners.c - tests which actors send the parts of a layer's
 * shards.
 *
 * A node sends the parts of its shards of a layer once a batch, for any number
 * of shards, and the leaves of all senders together are the tree that the
 * receivers merge. Covers topology/plan/plan_combiners.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/block.h"
#include "actors/protocol/cover.h"
#include "actors/protocol/kinds.h"
#include "tests/support/model_fixture.h"
#include "tests/support/plan_folder.h"
#include "topology/plan/plan_internal.h"

TestSuite(plan_combiners, .init = set_up, .fini = tear_down, .timeout = 120);

/* Two hidden layers and the output, each with its share of the text, over nodes
 * of so many cores, up to a 0. */
static skn_model_t *
model_of(const uint32_t *cores, const char *const more[3], const char *rest)
{
    char text[8192];
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
        "  layers:\n    - { name: hidden, units: 256%s }\n"
        "    - { name: middle, units: 256%s }\n    - { name: output%s }\n%s",
        file, more[0], more[1], more[2], rest);
    for (uint32_t k = 0; cores[k] > 0; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s  - { name: n%u, address: "
                                 "'tcp://127.0.0.1:%u', cores: %u }\n",
                                 k ? "" : "nodes:\n", k, 7001 + k, cores[k]);
    return fixture_good(text);
}

static skn_plan_t
plan_of(skn_model_t *model)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_plan_make(&plan, model, 2, &error), SKN_OK, "%s",
                 error.text);
    return plan;
}

static skn_spec_t *
wire_of(const skn_plan_t *plan)
{
    skn_plan_start_t start = { .config_text = "" };
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_spec_t *spec = skn_plan_wire(plan, &start, skn_kinds, problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert(spec);
    skn_problems_destroy(&problems);
    return spec;
}

static const char *const plain[3] = { "", "", "" };
static const uint32_t clusters[][8] = {
    { 1, 1, 0 },    { 2, 2, 0 },    { 1, 3, 0 },       { 3, 1, 0 },
    { 1, 1, 1, 0 }, { 4, 1, 2, 0 }, { 2, 2, 2, 2, 0 }, { 1, 2, 3, 2, 0 },
};
#define CLUSTERS (sizeof(clusters) / sizeof(clusters[0]))

static int64_t
option_of(const skn_wired_actor_t *actor, const char *name)
{
    for (size_t k = 0; actor->kind->options[k].name; k++)
        if (strcmp(actor->kind->options[k].name, name) == 0)
            return actor->values[k].number;
    cr_assert_fail("%s has no option %s", actor->name, name);
    return 0;
}

static bool
is_combiner(const skn_wired_actor_t *actor)
{
    return actor->kind == &skn_combiner;
}

/* --- who sends ----------------------------------------------------------- */

/* Every pipe of parts that leads to other nodes has one sender a node; to its
 * combiner a shard sends on a pipe that stays there. */
static uint32_t
check_senders(const skn_wiring_t *wiring, const skn_wired_pipe_t *pipe)
{
    uint32_t combiners = 0, from[8] = { 0 };
    const skn_wired_actor_t *to = &wiring->actors[pipe->to[0]];
    for (uint32_t f = 0; f < pipe->from_count; f++) {
        const skn_wired_actor_t *actor = &wiring->actors[pipe->from[f]];
        combiners += is_combiner(actor);
        from[actor->node]++;
        if (is_combiner(to)) {
            cr_expect_eq(actor->node, to->node);
            cr_expect_eq(actor->index, option_of(to, "shard_first") + f);
        }
    }
    cr_expect(pipe->peer);
    if (is_combiner(to)) {
        cr_expect_eq(pipe->to_count, 1);
        cr_expect_eq(pipe->from_count, option_of(to, "shards"));
        cr_expect_gt(pipe->from_count, 1);
        return 0;
    }
    for (uint32_t n = 0; n < wiring->node_count; n++)
        cr_expect_leq(from[n], 1, "%s: %u senders", pipe->schema->name,
                      from[n]);
    return combiners;
}

Test(plan_combiners, a_node_sends_the_parts_of_a_layer_once)
{
    static const char *const rests[] = { "", "train: { reduction: fixed }\n" };
    for (size_t c = 0; c < 2 * CLUSTERS; c++) {
        const uint32_t *cores = clusters[c / 2];
        skn_model_t *model = model_of(cores, plain, rests[c % 2]);
        skn_plan_t plan = plan_of(model);
        skn_spec_t *spec = wire_of(&plan);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        uint32_t combiners = 0, several = 0, sent = 0;
        for (uint32_t n = 0; cores[n] > 0; n++)
            several += cores[n] > 1;
        for (uint32_t a = 0; a < wiring->actor_count; a++)
            combiners += is_combiner(&wiring->actors[a]);
        cr_expect_eq(combiners, 2 * several, "of output and middle");
        for (uint32_t p = 0; p < wiring->pipe_count; p++) {
            const char *name = wiring->pipes[p].schema->name;
            if (!strcmp(name, "partition") ||
                !strcmp(name, "hidden_gradient") ||
                !strcmp(name, "output_gradient"))
                sent += check_senders(wiring, &wiring->pipes[p]);
        }
        cr_expect_eq(sent, 3 * several);
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

Test(plan_combiners, there_are_none_without_need)
{
    static const uint32_t alone[] = { 4, 0 }, two[] = { 3, 1, 0 };
    /* All of hidden and middle on the first node, the output on both. */
    static const char *const low[] = { ", shards: 1", ", shards: 1", "" };
    skn_model_t *model = model_of(alone, plain, "");
    skn_plan_t plan = plan_of(model);
    for (size_t layer = 0; layer < 3; layer++) {
        cr_expect_not(skn_plan_combines(&plan, layer, 0));
        cr_expect_eq(skn_plan_senders(&plan, layer),
                     (uint32_t)model->layers[layer].shards);
    }
    skn_model_destroy(&model);
    model = model_of(two, low, "");
    plan = plan_of(model);
    cr_expect_not(skn_plan_combines(&plan, 0, 0));
    cr_expect_not(skn_plan_combines(&plan, 1, 0));
    cr_expect(skn_plan_combines(&plan, 2, 0));
    cr_expect_not(skn_plan_combines(&plan, 2, 1));
    cr_expect_eq(skn_plan_senders(&plan, 2), 2u);
    skn_model_destroy(&model);
}

/* Without softmax there is no partition to combine. */
Test(plan_combiners, one_vs_all_has_no_pipe_of_partitions)
{
    static const uint32_t cores[] = { 2, 2, 0 };
    static const char *const more[] = { "", "", ", loss: one_vs_all" };
    skn_model_t *model = model_of(cores, more, "");
    skn_plan_t plan = plan_of(model);
    skn_spec_t *spec = wire_of(&plan);
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        cr_expect_str_neq(wiring->pipes[p].schema->name, "partition");
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}

/* --- leaves -------------------------------------------------------------- */

/* Which leaves of the receivers' tree are sent by whom: each once. */
static void
expect_each_leaf_once(const skn_plan_t *plan, const skn_wiring_t *wiring,
                      size_t layer, const char *shard_stem, const char *stem)
{
    bool fixed = plan->model->train.reduction == SKN_REDUCTION_FIXED;
    uint32_t leaves = skn_plan_leaves(plan, layer), seen[512] = { 0 };
    size_t shard_bytes = strlen(shard_stem), bytes = strlen(stem);
    cr_assert_leq(leaves, 512);
    for (uint32_t a = 0; a < wiring->actor_count; a++) {
        const skn_wired_actor_t *actor = &wiring->actors[a];
        uint32_t s = actor->index;
        if (!strncmp(actor->name, stem, bytes) && actor->name[bytes] == '.') {
            cr_expect_eq(option_of(actor, "columns"), 256);
            cr_expect_eq(option_of(actor, "leaves"),
                         fixed ? leaves : option_of(actor, "shards"));
            int64_t first = option_of(actor, "leaf_first");
            int64_t as = option_of(actor, "as_leaf");
            cr_expect_eq(as < 0, fixed);
            for (int64_t k = 0; k < option_of(actor, "leaf_count") && fixed;
                 k++)
                seen[first + k]++;
            if (!fixed)
                seen[as]++;
        }
        if (strncmp(actor->name, shard_stem, shard_bytes) != 0 ||
            actor->name[shard_bytes] != '.' ||
            skn_plan_combines(plan, layer, actor->node))
            continue;
        uint64_t end = skn_plan_first(plan, layer, s + 1);
        uint32_t rows = layer == 2 ? 8 : SKN_SLICE_COLUMNS;
        for (uint64_t row = skn_plan_first(plan, layer, s); row < end && fixed;
             row += rows)
            seen[row / rows]++;
        int64_t leaf = option_of(actor, "leaf");
        if (!fixed)
            seen[leaf < 0 ? s : (uint32_t)leaf]++;
    }
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        cr_expect_eq(seen[leaf], 1, "leaf %u of %u of %s: %u times", leaf,
                     leaves, shard_stem, seen[leaf]);
}

Test(plan_combiners, every_leaf_is_sent_by_one)
{
    static const char *const rests[] = { "", "train: { reduction: fixed }\n" };
    for (size_t c = 0; c < 2 * CLUSTERS; c++) {
        skn_model_t *model = model_of(clusters[c / 2], plain, rests[c % 2]);
        skn_plan_t plan = plan_of(model);
        skn_spec_t *spec = wire_of(&plan);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        expect_each_leaf_once(&plan, wiring, 2, "output", "combiner");
        expect_each_leaf_once(&plan, wiring, 1, "dense_1", "combiner_1");
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

/* The shards of a node that are combined are leaves 0, 1, ... of its own tree;
 * the receivers' has one for each sender. */
Test(plan_combiners, with_reduction_fast_a_sender_is_a_leaf)
{
    static const uint32_t cores[] = { 1, 3, 1, 2, 0 };
    static const uint32_t leaf[] = { 0, 0, 1, 2, 2, 0, 1 };
    skn_model_t *model = model_of(cores, plain, "");
    skn_plan_t plan = plan_of(model);
    cr_expect_eq(skn_plan_senders(&plan, 2), 4u);
    cr_expect_eq(skn_plan_leaves(&plan, 2), 4u);
    for (uint32_t s = 0; s < 7; s++)
        cr_expect_eq(skn_plan_leaf(&plan, 2, s), leaf[s], "shard %u: %u", s,
                     skn_plan_leaf(&plan, 2, s));
    for (uint32_t n = 0; n < 4; n++)
        cr_expect_eq(skn_plan_parts(&plan, 2, n), 1u);
    skn_model_destroy(&model);
}

/* 375 blocks, cut at 187: 128 + 32 + 16 + 8 + 2 + 1, and 1 + 4 + 64 + (256 and
 * what is behind); the shards of a node cut no further. */
Test(plan_combiners, with_reduction_fixed_a_node_sends_what_covers_its_blocks)
{
    static const uint32_t cores[][3] = { { 1, 1, 0 },
                                         { 2, 2, 0 },
                                         { 4, 4, 0 } };
    for (size_t c = 0; c < 3; c++) {
        skn_model_t *model =
            model_of(cores[c], plain, "train: { reduction: fixed }\n");
        skn_plan_t plan = plan_of(model);
        cr_expect_eq(skn_plan_leaves(&plan, 2), 375u);
        cr_expect_eq(skn_plan_parts(&plan, 2, 0), 6u);
        cr_expect_eq(skn_plan_parts(&plan, 2, 1), 4u);
        /* 32 blocks of 8 units, in halves */
        cr_expect_eq(skn_plan_parts(&plan, 1, 0), 1u);
        cr_expect_eq(skn_plan_parts(&plan, 1, 1), 1u);
        skn_model_destroy(&model);
    }
}

Test(plan_combiners, a_node_without_shards_of_a_layer_sends_nothing)
{
    static const uint32_t cores[] = { 1, 1, 0 };
    static const char *const low[] = { ", shards: 1", ", shards: 1", "" };
    skn_model_t *model = model_of(cores, low, "");
    skn_plan_t plan = plan_of(model);
    cr_expect_eq(skn_plan_parts(&plan, 1, 0), 1u);
    cr_expect_eq(skn_plan_parts(&plan, 1, 1), 0u);
    skn_model_destroy(&model);
}

/* The greatest clusters are wired in a moment. */
Test(plan_combiners, many_shards_on_many_nodes)
{
    uint32_t cores[65] = { 0 };
    static const char *const more[] = { ", shards: 8", ", shards: 8",
                                        ", shards: 256" };
    for (uint32_t n = 0; n < 64; n++)
        cores[n] = 4;
    skn_model_t *model = model_of(cores, more, "");
    skn_plan_t plan = plan_of(model);
    cr_expect_eq(skn_plan_senders(&plan, 2), 64u);
    skn_spec_t *spec = wire_of(&plan);
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}
