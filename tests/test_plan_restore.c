/* test_plan_restore.c - which owners of a plan ask the first node for their
 * state, and that all nodes make the same plan whatever they find.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/kinds.h"
#include "tests/model_fixture.h"
#include "tests/plan_folder.h"
#include "topology/plan.h"

TestSuite(plan_restore, .init = set_up, .fini = tear_down, .timeout = 120);

static skn_model_t *
model_of(uint32_t nodes, const char *sampler)
{
    char text[4096];
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n  layers:\n"
        "    - { name: hidden, units: 256 }\n"
        "    - { name: output, sampler: { kind: %s } }\n",
        file, sampler);
    for (uint32_t k = 0; k < nodes; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s  - { name: n%u, address: "
                                 "'tcp://127.0.0.1:%u', cores: 2 }\n",
                                 k ? "" : "nodes:\n", k, 7001 + k);
    return fixture_good(text);
}

static skn_spec_t *
wire_of(skn_model_t *model, const skn_plan_start_t *start)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_plan_make(&plan, model, 2, &error), SKN_OK, "%s",
                 error.text);
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_spec_t *spec = skn_plan_wire(&plan, start, skn_kinds, problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert(spec);
    skn_problems_destroy(&problems);
    return spec;
}

static const skn_wired_pipe_t *
pipe_of(const skn_spec_t *spec, const char *message)
{
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        if (strcmp(wiring->pipes[p].schema->name, message) == 0)
            return &wiring->pipes[p];
    return NULL;
}

static const skn_value_t *
value_of(const skn_wired_actor_t *actor, const char *name)
{
    size_t k = 0;
    while (actor->kind->options[k].name &&
           strcmp(actor->kind->options[k].name, name) != 0)
        k++;
    cr_assert(actor->kind->options[k].name, "%s has no %s", actor->name, name);
    return &actor->values[k];
}

/* Every owner that is not on the first node asks, under the number by which it
 * is answered; those that are on it read. */
static void
expect_asking(const skn_spec_t *spec, uint32_t wanted)
{
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    const skn_wired_pipe_t *want = pipe_of(spec, "want");
    const skn_wired_pipe_t *restored = pipe_of(spec, "restored");
    cr_assert(want && restored);
    cr_assert_eq(want->from_count, wanted);
    cr_assert_eq(restored->to_count, wanted);
    cr_expect(restored->peer);
    for (uint32_t k = 0; k < wanted; k++) {
        const skn_wired_actor_t *actor = &wiring->actors[want->from[k]];
        cr_expect_eq(restored->to[k], want->from[k]);
        cr_expect_eq(restored->bounds[k], k);
        cr_expect_eq(value_of(actor, "owner")->number, k);
        cr_expect_str_eq(value_of(actor, "resume")->text, "");
        cr_expect_gt(actor->node, 0);
    }
    cr_expect_eq(restored->bounds[wanted], wanted);
    for (uint32_t a = 0; a < wiring->actor_count; a++) {
        const skn_wired_actor_t *actor = &wiring->actors[a];
        if (actor->node == 0 && strcmp(actor->kind->name, "updater") == 0)
            cr_expect_str_eq(value_of(actor, "resume")->text, "run/batch-1");
        if (strcmp(actor->kind->name, "coordinator") == 0)
            cr_expect(value_of(actor, "restores")->truth);
        if (strcmp(actor->kind->name, "checkpointer") == 0)
            cr_expect_str_eq(value_of(actor, "checkpoint")->text,
                             "run/batch-1");
    }
}

static const skn_plan_start_t going_on = {
    .run_path = "run",
    .config_text = "",
    .resume = true,
    .checkpoint = "run/batch-1",
    .first_batch = 1,
    .newest = 1,
    .restore = true,
};

Test(plan_restore, owners_of_other_nodes_ask)
{
    for (uint32_t nodes = 2; nodes <= 4; nodes++) {
        skn_model_t *model = model_of(nodes, "uniform");
        skn_spec_t *spec = wire_of(model, &going_on);
        /* Two cores a node: two updaters of each layer. */
        expect_asking(spec, 4 * (nodes - 1));
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

Test(plan_restore, builders_ask_where_centroids_are_saved)
{
    static const struct {
        const char *sampler;
        uint32_t wanted;
    } cases[] = { { "cluster", 6 }, { "simhash", 4 } };
    for (size_t k = 0; k < 2; k++) {
        skn_model_t *model = model_of(2, cases[k].sampler);
        skn_spec_t *spec = wire_of(model, &going_on);
        expect_asking(spec, cases[k].wanted);
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

/* The other nodes know of no checkpoint, and the first may have found none. */
Test(plan_restore, the_plan_is_the_same_whatever_a_node_finds)
{
    skn_plan_start_t starts[] = {
        going_on,
        { .run_path = "elsewhere", .config_text = "a", .restore = true },
        { .run_path = "run", .resume = true, .restore = true },
        { .run_path = "run", .config_text = "" }, /* no resume at all */
    };
    uint64_t hash[4];
    skn_model_t *model = model_of(3, "cluster");
    for (size_t k = 0; k < 4; k++) {
        skn_spec_t *spec = wire_of(model, &starts[k]);
        hash[k] = skn_spec_hash(spec);
        skn_spec_destroy(&spec);
    }
    cr_expect_eq(hash[0], hash[1]);
    cr_expect_eq(hash[0], hash[2]);
    cr_expect_neq(hash[0], hash[3]);
    skn_model_destroy(&model);
}

Test(plan_restore, without_nodes_everybody_reads)
{
    skn_model_t *model = model_of(0, "uniform");
    skn_spec_t *spec = wire_of(model, &going_on);
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_null(pipe_of(spec, "want"));
    cr_expect_null(pipe_of(spec, "restored"));
    for (uint32_t a = 0; a < wiring->actor_count; a++)
        if (strcmp(wiring->actors[a].kind->name, "updater") == 0)
            cr_expect_str_eq(value_of(&wiring->actors[a], "resume")->text,
                             "run/batch-1");
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}
