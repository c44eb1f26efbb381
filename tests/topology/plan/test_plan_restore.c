/* test_plan_restore.c - tests which owners of a plan request their state from
 * the first node, and that all nodes make the same plan regardless of their
 * disks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/kinds.h"
#include "tests/support/model_fixture.h"
#include "tests/support/plan_folder.h"
#include "topology/plan/plan.h"

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
        if (strcmp(actor->kind->name, "course") == 0)
            cr_expect(value_of(actor, "restores")->truth);
        if (strcmp(actor->kind->name, "keeper") == 0)
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
    skn_model_t *model = model_of(3, "simhash");
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

/* --- where nodes keep checkpoints (topology/plan/plan_keepers.c)
 * -------------- */

static skn_model_t *
kept_model_of(uint32_t nodes, uint32_t copies, uint32_t stay)
{
    char text[4096];
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n  layers:\n"
        "    - { name: hidden, units: 256 }\n"
        "    - { name: output, sampler: { kind: simhash } }\n"
        "checkpoint: { copies: %u }\n",
        file, copies);
    for (uint32_t k = 0; k < nodes; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s  - { name: n%u, address: "
                                 "'tcp://127.0.0.1:%u', cores: 2, leaves: %s "
                                 "}\n",
                                 k ? "" : "nodes:\n", k, 7001 + k,
                                 k < stay ? "false" : "true");
    return fixture_good(text);
}

static skn_model_t *
kept_model(uint32_t nodes, uint32_t copies)
{
    return kept_model_of(nodes, copies, nodes);
}

/* How many pipes of `message` lead from node `from` to the keeper of `to`. */
static uint32_t
count_ways(const skn_spec_t *spec, const char *message, uint32_t from,
           uint32_t to)
{
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    uint32_t count = 0;
    for (uint32_t p = 0; p < wiring->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[p];
        if (strcmp(pipe->schema->name, message) != 0 ||
            wiring->actors[pipe->from[0]].node != from)
            continue;
        for (uint32_t k = 0; k < pipe->to_count; k++)
            count += wiring->actors[pipe->to[k]].node == to;
    }
    return count;
}

Test(plan_restore, each_node_s_state_goes_to_so_many_keepers_in_a_ring)
{
    for (uint32_t nodes = 2; nodes <= 4; nodes++)
        for (uint32_t copies = 2; copies <= 5; copies++) {
            skn_model_t *model = kept_model(nodes, copies);
            skn_spec_t *spec = wire_of(model, &going_on);
            uint32_t most = copies < nodes ? copies : nodes;
            for (uint32_t from = 0; from < nodes; from++)
                for (uint32_t to = 0; to < nodes; to++) {
                    uint32_t want = (to + nodes - from) % nodes < most;
                    cr_expect_eq(count_ways(spec, "tensor", from, to), want);
                    cr_expect_eq(count_ways(spec, "chunk", from, to), want);
                }
            skn_spec_destroy(&spec);
            skn_model_destroy(&model);
        }
}

Test(plan_restore, each_keeper_knows_how_many_send_to_it)
{
    skn_model_t *model = kept_model(3, 2);
    skn_spec_t *spec = wire_of(model, &going_on);
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    uint32_t keepers = 0, senders[3] = { 0 };
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        if (strcmp(wiring->pipes[p].schema->name, "chunk") == 0)
            for (uint32_t k = 0; k < wiring->pipes[p].to_count; k++)
                senders[wiring->actors[wiring->pipes[p].to[k]].node] +=
                    wiring->pipes[p].from_count;
    for (uint32_t a = 0; a < wiring->actor_count; a++) {
        const skn_wired_actor_t *actor = &wiring->actors[a];
        if (strcmp(actor->kind->name, "keeper") != 0)
            continue;
        cr_expect_eq(value_of(actor, "owners")->number, senders[actor->node]);
        cr_expect_eq(actor->node, keepers++);
    }
    cr_expect_eq(keepers, 3);
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}

/* Those behind the first one, two or three of four leave: they get no shard and
 * no copy, and give what others fetch. */
Test(plan_restore, nodes_that_leave_have_a_keeper_that_gets_nothing)
{
    for (uint32_t stay = 1; stay < 4; stay++) {
        skn_model_t *model = kept_model_of(4, 2, stay);
        skn_spec_t *spec = wire_of(model, &going_on);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        for (uint32_t a = 0; a < wiring->actor_count; a++) {
            const skn_wired_actor_t *actor = &wiring->actors[a];
            if (strcmp(actor->kind->name, "course") == 0)
                cr_expect(value_of(actor, "hands_over")->truth);
            if (strcmp(actor->kind->name, "keeper") != 0) {
                cr_expect_lt(actor->node, stay, "%s", actor->name);
                continue;
            }
            cr_expect_eq(value_of(actor, "keepers")->number, stay);
            cr_expect_eq(value_of(actor, "owners")->number == 0,
                         actor->node >= stay);
        }
        for (uint32_t from = 0; from < 4; from++)
            for (uint32_t to = 0; to < 4; to++) {
                uint32_t most = stay < 2 ? stay : 2;
                bool want = from < stay && to < stay &&
                            (to + stay - from) % stay < most;
                cr_expect_eq(count_ways(spec, "tensor", from, to), want);
            }
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}

/* Nobody reads for himself, and each is counted at its own keeper. */
Test(plan_restore, owners_ask_the_keeper_of_their_node)
{
    skn_model_t *model = kept_model(3, 2);
    skn_spec_t *spec = wire_of(model, &going_on);
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    uint32_t asking = 0;
    for (uint32_t p = 0; p < wiring->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[p];
        if (strcmp(pipe->schema->name, "want") != 0)
            continue;
        for (uint32_t k = 0; k < pipe->from_count; k++) {
            const skn_wired_actor_t *actor = &wiring->actors[pipe->from[k]];
            cr_expect_eq(actor->node, wiring->actors[pipe->to[0]].node);
            cr_expect_eq(value_of(actor, "owner")->number, k);
            cr_expect_str_eq(value_of(actor, "resume")->text, "");
            asking++;
        }
    }
    cr_expect_eq(asking, 12, "two cores: two of hidden and output each");
    skn_spec_destroy(&spec);
    skn_model_destroy(&model);
}

Test(plan_restore, the_path_and_the_checkpoint_are_a_node_s_own)
{
    const skn_plan_start_t starts[] = {
        going_on,
        { .run_path = "elsewhere", .config_text = "a", .restore = true },
        { .run_path = "run", .restore = true, .generation = 2 },
    };
    uint64_t hash[3];
    skn_model_t *model = kept_model(3, 2);
    for (size_t k = 0; k < 3; k++) {
        skn_spec_t *spec = wire_of(model, &starts[k]);
        hash[k] = skn_spec_hash(spec);
        skn_spec_destroy(&spec);
    }
    cr_expect_eq(hash[0], hash[1]);
    cr_expect_neq(hash[0], hash[2], "nodes of two generations do not meet");
    skn_model_destroy(&model);
}

Test(plan_restore, one_copy_or_one_process_has_one_keeper)
{
    static const uint32_t cases[][2] = { { 3, 1 }, { 0, 2 }, { 1, 2 } };
    for (size_t k = 0; k < 3; k++) {
        skn_model_t *model = kept_model(cases[k][0], cases[k][1]);
        skn_spec_t *spec = wire_of(model, &going_on);
        const skn_wiring_t *wiring = skn_spec_wiring(spec);
        uint32_t keepers = 0;
        for (uint32_t a = 0; a < wiring->actor_count; a++) {
            const skn_wired_actor_t *actor = &wiring->actors[a];
            if (strcmp(actor->kind->name, "keeper") != 0)
                continue;
            keepers++;
            cr_expect_eq(actor->node, 0);
            cr_expect_str_eq(value_of(actor, "node")->text, "");
        }
        cr_expect_eq(keepers, 1);
        cr_expect_null(pipe_of(spec, "keep"));
        cr_expect_null(pipe_of(spec, "kept"));
        skn_spec_destroy(&spec);
        skn_model_destroy(&model);
    }
}
