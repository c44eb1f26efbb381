/* test_plan_nodes.c - tests plans over several nodes: the shards and rows of
 * each. Covers topology/plan/plan_nodes.c, topology/plan/plan_memory.c and
 * topology/plan/plan_readers.c. The printed form of such plans is in
 * tests/golden/.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "actors/protocol/kinds.h"
#include "tests/support/model_fixture.h"
#include "tests/support/oracle.h"
#include "tests/support/plan_folder.h"
#include "topology/plan/plan_internal.h"

TestSuite(plan_nodes, .init = set_up, .fini = tear_down, .timeout = 120);

/* A model over the file with nodes of so many cores, up to a 0. */
static skn_model_t *
model_of(const uint32_t *cores, const char *hidden, const char *output,
         const char *rest)
{
    char text[8192];
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
        "  layers:\n    - { name: hidden%s }\n    - { name: output%s }\n%s",
        file, hidden, output, rest);
    for (uint32_t k = 0; cores[k] > 0; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s  - { name: n%u, address: "
                                 "'tcp://127.0.0.1:%u', cores: %u }\n",
                                 k ? "" : "nodes:\n", k, 7001 + k, cores[k]);
    return fixture_good(text);
}

static skn_plan_t
plan_of(skn_model_t *model, uint32_t units)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_plan_make(&plan, model, units, &error), SKN_OK, "%s",
                 error.text);
    return plan;
}

static skn_spec_t *
wire_of(const skn_plan_t *plan)
{
    skn_plan_start_t start = { .run_path = "run", .config_text = "" };
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_spec_t *spec = skn_plan_wire(plan, &start, skn_kinds, problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert(spec);
    skn_problems_destroy(&problems);
    return spec;
}

/* --- dealing ------------------------------------------------------------- */

static const uint32_t clusters[][8] = {
    { 1, 1, 0 },    { 2, 2, 0 },       { 1, 3, 0 },       { 3, 1, 0 },
    { 1, 1, 1, 0 }, { 4, 1, 2, 0 },    { 8, 8, 8, 8, 0 }, { 1, 2, 3, 4, 5, 0 },
    { 1, 7, 0 },    { 1, 1, 1, 1, 0 },
};
#define CLUSTERS (sizeof(clusters) / sizeof(clusters[0]))

Test(plan_nodes, there_is_a_shard_a_core_and_neighbours_share_a_node)
{
    for (size_t c = 0; c < CLUSTERS; c++) {
        skn_model_t *model = model_of(clusters[c], ", units: 2048", "", "");
        skn_plan_t plan = plan_of(model, 1);
        uint32_t core = 0;
        for (uint32_t n = 0; n < plan.node_count; n++) {
            cr_expect_eq(plan.nodes[n].units, clusters[c][n]);
            for (uint32_t k = 0; k < clusters[c][n]; k++, core++)
                for (size_t layer = 0; layer < 2; layer++) {
                    skn_plan_seat_t seat = skn_plan_seat(&plan, layer, core);
                    cr_expect_eq(seat.node, n);
                    cr_expect_eq(seat.core, (int)k);
                }
        }
        cr_expect_eq(plan.units, core);
        cr_expect_eq(model->layers[0].shards, (int64_t)core);
        cr_expect_eq(model->layers[1].shards, (int64_t)core);
        skn_model_destroy(&model);
    }
}

/* Any number of shards: nodes ascend, the first has the first, every unit has
 * one owner, and nobody has a shard more than his cores are of all. */
Test(plan_nodes, any_number_of_shards_is_dealt_by_cores)
{
    for (size_t c = 0; c < CLUSTERS; c++)
        for (uint32_t shards = 4; shards <= 40; shards += 3) {
            char output[32];
            (void)snprintf(output, sizeof(output), ", shards: %u", shards);
            skn_model_t *model =
                model_of(clusters[c], ", units: 2048", output, "");
            skn_plan_t plan = plan_of(model, 1);
            uint32_t before = 0, count[8] = { 0 };
            uint64_t rows = 0;
            for (uint32_t s = 0; s < shards; s++) {
                skn_plan_seat_t seat = skn_plan_seat(&plan, 1, s);
                cr_assert_lt(seat.node, plan.node_count);
                cr_expect_geq(seat.node, before);
                cr_expect_lt(seat.core, (int)plan.nodes[seat.node].units);
                cr_expect(s > 0 || seat.node == 0);
                before = seat.node;
                count[seat.node]++;
            }
            for (uint32_t n = 0; n < plan.node_count; n++) {
                double fair = (double)shards * plan.nodes[n].units / plan.units;
                cr_expect_lt(fabs(count[n] - fair), 1.0, "%u of %.2f", count[n],
                             fair);
                rows += skn_plan_share(&plan, 1, n);
            }
            cr_expect_eq(rows, 3000u);
            skn_model_destroy(&model);
        }
}

Test(plan_nodes, given_cores_are_those_of_the_node)
{
    static const uint32_t cores[] = { 1, 1, 0 };
    skn_model_t *model = model_of(cores, ", units: 256", "", "");
    static const uint32_t list[] = { 5, 2, 7 };
    skn_model_node_t *nodes = (skn_model_node_t *)(uintptr_t)model->nodes;
    nodes[1].cores =
        (skn_model_cores_t){ .limit = SKN_AUTO, .list = list, .count = 3 };
    skn_plan_t plan = plan_of(model, 1);
    cr_expect_eq(plan.units, 4u);
    cr_expect_eq(skn_plan_seat(&plan, 1, 0).core, 0);
    for (uint32_t k = 0; k < 3; k++) {
        cr_expect_eq(skn_plan_seat(&plan, 1, 1 + k).node, 1u);
        cr_expect_eq(skn_plan_seat(&plan, 1, 1 + k).core, (int)list[k]);
    }
    skn_model_destroy(&model);
}

Test(plan_nodes, a_node_has_one_core_where_the_file_says_none)
{
    static const uint32_t cores[] = { 1, 1, 0 };
    skn_model_t *model = model_of(cores, "", "", "");
    skn_model_node_t *nodes = (skn_model_node_t *)(uintptr_t)model->nodes;
    nodes[0].cores.limit = nodes[1].cores.limit = SKN_AUTO;
    skn_plan_t plan = plan_of(model, 64);
    cr_expect_eq(plan.units, 2u);
    cr_expect_eq(plan.nodes[0].units, 1u);
    cr_expect_eq(plan.nodes[1].units, 1u);
    skn_model_destroy(&model);
}

Test(plan_nodes, a_single_node_is_one_process_with_its_cores)
{
    static const uint32_t cores[] = { 3, 0 };
    skn_model_t *model = model_of(cores, "", "", "");
    skn_plan_t plan = plan_of(model, 8);
    cr_expect_eq(plan.node_count, 0u);
    cr_expect_eq(plan.units, 3u);
    skn_spec_t *spec = wire_of(&plan);
    cr_expect_eq(skn_spec_wiring(spec)->node_count, 0u);
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}

Test(plan_nodes, a_node_without_a_shard_is_refused)
{
    static const uint32_t cores[] = { 1, 1, 1, 0 };
    skn_error_t error = { 0 };
    skn_plan_t plan;
    skn_model_t *model =
        model_of(cores, ", units: 64, shards: 1", ", shards: 2", "");
    cr_expect_eq(skn_plan_make(&plan, model, 1, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "m.yaml: node 'n2' gets no shard: the layers "
                                 "have fewer shards than the nodes have cores");
    cr_expect_str_eq(error.hint,
                     "leave out the node, or the 'shards' of the layers");
    skn_model_destroy(&model);
}

/* --- the wiring ---------------------------------------------------------- */

static const skn_wired_actor_t *
actor_of(const skn_wiring_t *wiring, const char *stem, uint32_t index)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s.%u", stem, index);
    for (uint32_t k = 0; k < wiring->actor_count; k++)
        if (strcmp(wiring->actors[k].name, name) == 0)
            return &wiring->actors[k];
    cr_assert_fail("no actor %s", name);
    return NULL;
}

static void
expect_beside(const skn_wiring_t *wiring, const char *stem, const char *other,
              uint32_t index)
{
    const skn_wired_actor_t *a = actor_of(wiring, stem, index);
    const skn_wired_actor_t *b = actor_of(wiring, other, index);
    cr_expect_eq(a->node, b->node, "%s and %s", a->name, b->name);
    cr_expect_eq(a->core, b->core, "%s and %s", a->name, b->name);
}

Test(plan_nodes, updaters_and_builders_stand_beside_their_shards)
{
    static const uint32_t cores[] = { 1, 2, 0 };
    skn_model_t *model =
        model_of(cores, ", units: 256", ", sampler: { kind: simhash }", "");
    skn_plan_t plan = plan_of(model, 1);
    skn_spec_t *spec = wire_of(&plan);
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    for (uint32_t k = 0; k < 3; k++) {
        expect_beside(wiring, "embedding", "up_hidden", k);
        expect_beside(wiring, "output", "up_output", k);
        expect_beside(wiring, "output", "table_builder", k);
        cr_expect_eq(actor_of(wiring, "output", k)->node, k > 0);
    }
    for (uint32_t k = 0; k < wiring->actor_count; k++) {
        const char *kind = wiring->actors[k].kind->name;
        if (strcmp(kind, "source") == 0 || strcmp(kind, "evaluator") == 0 ||
            strcmp(kind, "course") == 0 || strcmp(kind, "keeper") == 0)
            cr_expect_eq(wiring->actors[k].node, 0u, "%s", kind);
    }
    cr_expect_eq(wiring->nodes[0].core_count, 1u);
    cr_expect_eq(wiring->nodes[1].core_count, 2u);
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}

static bool
is_packed(const skn_wiring_t *wiring, const char *stem)
{
    const skn_wired_actor_t *actor = actor_of(wiring, stem, 0);
    for (size_t k = 0; actor->kind->options[k].name; k++)
        if (strcmp(actor->kind->options[k].name, "packed") == 0)
            return actor->values[k].truth;
    cr_assert_fail("%s has no option packed", stem);
    return false;
}

/* Gradients are packed where they cross nodes: both hidden layers below have
 * one shard, so that only the output is on two. */
Test(plan_nodes, gradients_that_leave_a_node_are_packed)
{
    static const uint32_t cores[] = { 1, 1, 0 }, alone[] = { 2, 0 };
    skn_model_t *model = model_of(
        cores, ", units: 64, shards: 1 }\n    - { name: second, units: 32", "",
        "");
    skn_plan_t plan = plan_of(model, 1);
    skn_spec_t *spec = wire_of(&plan);
    cr_expect_not(is_packed(skn_spec_wiring(spec), "dense_1"));
    cr_expect(is_packed(skn_spec_wiring(spec), "output"));
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
    model = model_of(alone, "", "", "");
    plan = plan_of(model, 2);
    spec = wire_of(&plan);
    cr_expect_not(is_packed(skn_spec_wiring(spec), "output"));
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}

/* The coding of each message, -1 where pipes of one differ. */
static int
coding_of(const skn_wiring_t *wiring, const char *message)
{
    int coding = -1;
    for (uint32_t k = 0; k < wiring->pipe_count; k++)
        if (strcmp(wiring->pipes[k].schema->name, message) == 0)
            coding = (int)wiring->pipes[k].coding;
    return coding;
}

Test(plan_nodes, activations_and_their_gradients_are_coded)
{
    static const struct {
        const char *rest;
        int coding;
    } cases[] = { { "", 1 },
                  { "train: { reduction: fixed }\n", 0 },
                  { "links: { coding: f32 }\n", 0 },
                  { "links: { coding: bf16 }\n", 1 },
                  { "links: { coding: int8 }\n", 2 },
                  { "links: { coding: int4 }\n", 3 } };
    static const uint32_t cores[] = { 1, 1, 0 }, alone[] = { 2, 0 };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_model_t *model = model_of(cores, "", "", cases[k].rest);
        skn_plan_t plan = plan_of(model, 1);
        skn_spec_t *spec = wire_of(&plan);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        cr_expect_eq(coding_of(wiring, "activation"), cases[k].coding);
        cr_expect_eq(coding_of(wiring, "output_gradient"), cases[k].coding);
        cr_expect_eq(coding_of(wiring, "partition"), 0);
        cr_expect_eq(coding_of(wiring, "chunk"), 0);
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
        model = model_of(alone, "", "", cases[k].rest);
        plan = plan_of(model, 2);
        spec = wire_of(&plan);
        cr_expect_eq(coding_of(skn_spec_wiring(spec), "activation"), 0);
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

/* Whether (m, z) goes to an actor. */
static bool
hears_normalisers(const skn_wiring_t *wiring, const char *stem)
{
    for (uint32_t k = 0; k < wiring->pipe_count; k++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[k];
        for (uint32_t a = 0; a < pipe->to_count; a++)
            if (strcmp(pipe->schema->name, "partition") == 0 &&
                strncmp(wiring->actors[pipe->to[a]].name, stem, strlen(stem)) ==
                    0)
                return true;
    }
    return false;
}

Test(plan_nodes, shards_on_several_nodes_normalise_what_they_send)
{
    static const uint32_t cores[] = { 1, 1, 0 }, alone[] = { 2, 0 };
    static const struct {
        const char *rest;
        const uint32_t *cores;
        bool late;
    } cases[] = { { "", cores, true },
                  { "", alone, false },
                  { "train: { merge: late }\n", alone, true },
                  { "train: { merge: early }\n", cores, false },
                  { "train: { reduction: fixed }\n", cores, false } };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_model_t *model = model_of(cases[k].cores, "", "", cases[k].rest);
        skn_plan_t plan = plan_of(model, 2);
        skn_spec_t *spec = wire_of(&plan);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        cr_expect_eq(model->train.merge,
                     cases[k].late ? SKN_MERGING_LATE : SKN_MERGING_EARLY);
        cr_expect(hears_normalisers(wiring, "output"));
        cr_expect_eq(hears_normalisers(wiring, "embedding"), !cases[k].late,
                     "case %zu", k);
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

/* --- memory -------------------------------------------------------------- */

/* What is split adds up to what one process needs; activations of the hidden
 * layer, and the runtime, are on every node. Arrays are rounded to 2 MiB. */
Test(plan_nodes, shares_of_memory_add_up)
{
    static const uint32_t cores[] = { 1, 3, 0 }, alone[] = { 4, 0 };
    static const char *const samplers[] = { ", sampler: { kind: exact }",
                                            ", sampler: { kind: uniform }" };
    for (size_t k = 0; k < 2; k++) {
        skn_model_t *one = model_of(alone, ", units: 8192", samplers[k], "");
        skn_model_t *two = model_of(cores, ", units: 8192", samplers[k], "");
        skn_plan_t whole = plan_of(one, 4), split = plan_of(two, 1);
        uint64_t values = (uint64_t)(one->train.window + 1) *
                          (uint64_t)one->train.batch_rows * 8192 * 4;
        uint64_t everywhere = ((uint64_t)96 << 20) + 6 * values;
        cr_expect_eq(split.memory_bytes,
                     split.nodes[0].memory_bytes + split.nodes[1].memory_bytes);
        /* Shards of several nodes merge late: each keeps its v. */
        double want = (double)(whole.memory_bytes + everywhere + 2 * values);
        everywhere += values;
        cr_expect_lt(fabs((double)split.memory_bytes - want), 16 * 2097152.0,
                     "%llu, not %.0f", (unsigned long long)split.memory_bytes,
                     want);
        double first = (double)(split.nodes[0].memory_bytes - everywhere);
        double second = (double)(split.nodes[1].memory_bytes - everywhere);
        cr_expect_lt(fabs(second / first - 3), 0.35, "%.0f and %.0f", first,
                     second);
        cr_expect_eq(whole.parameters, split.parameters);
        skn_model_destroy(&one);
        skn_model_destroy(&two);
    }
}

Test(plan_nodes, a_share_that_does_not_fit_is_refused_with_the_numbers)
{
    static const uint32_t cores[] = { 1, 3, 0 };
    skn_error_t error = { 0 };
    skn_plan_t plan;
    char want[256];
    skn_model_t *model = model_of(cores, ", units: 1024", "", "");
    skn_model_node_t *nodes = (skn_model_node_t *)(uintptr_t)model->nodes;
    plan = plan_of(model, 1);
    uint64_t bytes = plan.nodes[1].memory_bytes;
    nodes[0].memory_bytes = (int64_t)plan.nodes[0].memory_bytes;
    nodes[1].memory_bytes = (int64_t)bytes;
    cr_expect_eq(skn_plan_make(&plan, model, 1, &error), SKN_OK);
    nodes[1].memory_bytes = (int64_t)bytes - 1;
    cr_expect_eq(skn_plan_make(&plan, model, 1, &error), SKN_NO_MEMORY);
    (void)snprintf(want, sizeof(want),
                   "node 'n1' needs about %llu MiB of memory for its share, "
                   "nodes.n1.memory allows %llu MiB",
                   (unsigned long long)(bytes >> 20),
                   (unsigned long long)((bytes - 1) >> 20));
    cr_expect_str_eq(error.text, want);
    cr_expect_str_eq(error.hint,
                     "allow more, give it fewer of the cores, add a node, or "
                     "use fewer model.layers.hidden.units");
    skn_model_destroy(&model);
}

Test(plan_nodes, a_share_that_does_not_fit_puts_the_moments_of_all_into_files)
{
    static const uint32_t cores[] = { 1, 3, 0 };
    skn_model_t *model = model_of(cores, ", units: 1024", "",
                                  "train: { optimizer: { kind: adam } }\n");
    skn_model_node_t *nodes = (skn_model_node_t *)(uintptr_t)model->nodes;
    skn_plan_t plan = plan_of(model, 1);
    cr_expect_eq(plan.offload_bytes, 0);
    nodes[1].memory_bytes = (int64_t)plan.nodes[1].memory_bytes - 1;
    model->train.optimizer.offload = SKN_OFFLOAD_AUTO;
    plan = plan_of(model, 1);
    cr_expect(plan.nodes[0].offload_bytes > 0);
    cr_expect(plan.nodes[1].offload_bytes > plan.nodes[0].offload_bytes);
    cr_expect_eq(plan.offload_bytes,
                 plan.nodes[0].offload_bytes + plan.nodes[1].offload_bytes);
    skn_model_destroy(&model);
}

Test(plan_nodes, the_memory_of_a_single_node_is_that_of_the_run)
{
    static const uint32_t cores[] = { 1, 0 };
    skn_error_t error = { 0 };
    skn_plan_t plan;
    skn_model_t *model = model_of(cores, ", units: 1024", "", "");
    skn_model_node_t *nodes = (skn_model_node_t *)(uintptr_t)model->nodes;
    nodes[0].memory_bytes = 1 << 20;
    cr_expect_eq(skn_plan_make(&plan, model, 1, &error), SKN_NO_MEMORY);
    cr_expect(strstr(error.text, "nodes.n0.memory allows 1 MiB"), "%s",
              error.text);
    skn_model_destroy(&model);
}

/* --- reading ------------------------------------------------------------- */

/* Batches and labels never cross a link: who makes them stands beside who gets
 * them, and every shard has exactly one who makes them. */
Test(plan_nodes, every_node_reads_for_its_own_shards)
{
    for (size_t c = 0; c < CLUSTERS; c++) {
        skn_model_t *model = model_of(clusters[c], ", units: 256", "", "");
        skn_plan_t plan = plan_of(model, 2);
        skn_spec_t *spec = wire_of(&plan);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        uint32_t fed[256] = { 0 }, readers = 0, issues = 0;
        cr_assert_leq(wiring->actor_count, 256);
        for (uint32_t p = 0; p < wiring->pipe_count; p++) {
            const skn_wired_pipe_t *pipe = &wiring->pipes[p];
            const char *name = pipe->schema->name;
            bool data = !strcmp(name, "batch") || !strcmp(name, "labels");
            issues += !strcmp(name, "issue");
            for (uint32_t t = 0; data && t < pipe->to_count; t++) {
                cr_expect_eq(pipe->from_count, 1);
                cr_expect_eq(wiring->actors[pipe->from[0]].node,
                             wiring->actors[pipe->to[t]].node, "%s to %s", name,
                             wiring->actors[pipe->to[t]].name);
                fed[pipe->to[t]]++;
            }
        }
        for (uint32_t a = 0; a < wiring->actor_count; a++) {
            const char *kind = wiring->actors[a].kind->name;
            bool eats = !strcmp(kind, "embedding") || !strcmp(kind, "output") ||
                        !strcmp(kind, "evaluator");
            cr_expect_eq(fed[a], eats, "%s", wiring->actors[a].name);
            readers += !strcmp(kind, "reader");
        }
        cr_expect_eq(readers, wiring->node_count - 1);
        cr_expect_eq(issues, 1);
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}
