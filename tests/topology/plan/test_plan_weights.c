/* test_plan_weights.c - tests that rows are dealt by speed, and bounded by what
 * could be handed over. Covers topology/plan/plan_weights.c, and plan_nodes.c
 * where nodes differ.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "actors/protocol/block.h"
#include "actors/protocol/kinds.h"
#include "tests/support/model_fixture.h"
#include "tests/support/plan_folder.h"
#include "topology/plan/plan_internal.h"

TestSuite(plan_weights, .init = set_up, .fini = tear_down, .timeout = 120);

/* The output layer: 3000 rows in blocks of 8. */
enum {
    HIDDEN,
    OUTPUT,
    LABELS = 3000
};

/* Nodes as the lines say: "cores: 1, speed: 2" and so on, up to NULL. */
static skn_model_t *
model_of(const char *const *lines, const char *rest)
{
    char text[8192];
    size_t used =
        (size_t)snprintf(text, sizeof(text),
                         "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
                         "  layers:\n    - { name: hidden, units: 128 }\n"
                         "    - { name: output }\n%snodes:\n",
                         file, rest);
    for (uint32_t k = 0; lines[k]; k++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "  - { name: n%u, address: 'tcp://127.0.0.1:%u', %s }\n", k,
            7001 + k, lines[k]);
    return fixture_good(text);
}

static skn_plan_t
plan_of(skn_model_t *model)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_plan_make(&plan, model, 1, &error), SKN_OK, "%s",
                 error.text);
    return plan;
}

#define NODES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
expect_rows(const skn_plan_t *plan, const uint64_t *rows)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        uint64_t share = skn_plan_share(plan, OUTPUT, n);
        cr_expect_leq(share, rows[n] + 8, "node %u has %lu, not %lu", n, share,
                      rows[n]);
        cr_expect_geq(share + 8, rows[n], "node %u has %lu, not %lu", n, share,
                      rows[n]);
        sum += share;
    }
    cr_expect_eq(sum, LABELS);
}

Test(plan_weights, rows_go_by_speed)
{
    skn_model_t *model = model_of(NODES("cores: 1", "cores: 1, speed: 0.25",
                                        "cores: 1", "cores: 1, speed: 0.75"),
                                  "");
    skn_plan_t plan = plan_of(model);
    expect_rows(&plan, (const uint64_t[]){ 1000, 250, 1000, 750 });
    skn_model_destroy(&model);
}

Test(plan_weights, rows_go_by_cores_and_speed)
{
    skn_model_t *model = model_of(NODES("cores: 2", "cores: 1, speed: 4"), "");
    skn_plan_t plan = plan_of(model);
    expect_rows(&plan, (const uint64_t[]){ 1000, 2000 });
    skn_model_destroy(&model);
}

Test(plan_weights, hidden_units_go_by_speed_too)
{
    skn_model_t *model = model_of(NODES("cores: 1", "cores: 1, speed: 0.25",
                                        "cores: 1", "cores: 1, speed: 0.75"),
                                  "");
    skn_plan_t plan = plan_of(model);
    /* 16 blocks: one each, and 4, 1, 4, 3 of the others. */
    const uint64_t want[] = { 40, 16, 40, 32 };
    for (uint32_t n = 0; n < 4; n++)
        cr_expect_eq(skn_plan_share(&plan, HIDDEN, n), want[n], "%u: %lu", n,
                     skn_plan_share(&plan, HIDDEN, n));
    skn_model_destroy(&model);
}

/* Only the ratio of speeds counts. */
Test(plan_weights, one_speed_for_all_changes_nothing)
{
    skn_model_t *plain = model_of(NODES("cores: 1", "cores: 2"), "");
    skn_model_t *fast =
        model_of(NODES("cores: 1, speed: 7", "cores: 2, speed: 7"), "");
    skn_plan_t one = plan_of(plain), other = plan_of(fast);
    for (uint32_t s = 0; s <= 3; s++)
        cr_expect_eq(skn_plan_first(&one, OUTPUT, s),
                     skn_plan_first(&other, OUTPUT, s));
    cr_expect_eq(skn_plan_first(&one, OUTPUT, 1), 1000);
    cr_expect_eq(skn_plan_share(&other, HIDDEN, 0), 40);
    cr_expect_eq(skn_plan_share(&other, HIDDEN, 1), 88);
    skn_model_destroy(&plain);
    skn_model_destroy(&fast);
}

/* Any speeds, any number of shards: every row has one owner, shards ascend,
 * each begins at a block, and none is empty. */
Test(plan_weights, every_row_has_one_owner)
{
    static const char *const speeds[] = { "0.001", "0.1", "1", "30", "1000" };
    char lines[3][64], rest[128];
    for (uint32_t draw = 0; draw < 5 * 5 * 5; draw++)
        for (int shards = 6; shards <= 375; shards *= 5) {
            for (uint32_t n = 0, d = draw; n < 3; n++, d /= 5)
                (void)snprintf(lines[n], sizeof(lines[n]),
                               "cores: %u, speed: %s", n + 1, speeds[d % 5]);
            (void)snprintf(rest, sizeof(rest), "train: { epochs: 1 }\n");
            skn_model_t *model =
                model_of(NODES(lines[0], lines[1], lines[2]), rest);
            ((skn_model_layer_t *)(uintptr_t)model->layers)[OUTPUT].shards =
                shards;
            skn_plan_t plan = plan_of(model);
            cr_assert_eq(skn_plan_first(&plan, OUTPUT, 0), 0);
            for (uint32_t s = 0; s < (uint32_t)shards; s++) {
                uint64_t first = skn_plan_first(&plan, OUTPUT, s);
                cr_assert_lt(first, skn_plan_first(&plan, OUTPUT, s + 1));
                cr_assert_eq(first % 8, 0);
            }
            cr_assert_eq(skn_plan_first(&plan, OUTPUT, (uint32_t)shards),
                         LABELS);
            skn_model_destroy(&model);
        }
}

/* --- notice --------------------------------------------------------------- */

/* A row of the output layer: 129 weights and two moments each, as f32. */
#define ROW_BYTES ((uint64_t)129 * 12)

static void
expect_hand_over(const skn_plan_t *plan, uint32_t node)
{
    const skn_model_node_t *asked = &plan->model->nodes[node];
    double most = asked->notice_s * plan->model->links.rate / 8 / 2;
    cr_expect(skn_plan_hands_over(plan, node));
    cr_expect_leq((double)skn_plan_hand_over_bytes(plan, node), most);
}

Test(plan_weights, the_state_of_a_node_is_what_its_rows_take)
{
    skn_model_t *model = model_of(NODES("cores: 1", "cores: 1"), "");
    skn_plan_t plan = plan_of(model);
    uint64_t hidden = (uint64_t)65 * 64 * 12; /* 64 features, a bias */
    cr_expect_eq(skn_plan_hand_over_bytes(&plan, 0),
                 hidden + skn_plan_share(&plan, OUTPUT, 0) * ROW_BYTES);
    cr_expect(skn_plan_hands_over(&plan, 0), "nobody asked");
    skn_model_destroy(&model);
}

/* 8 Mbit/s for half a second: 500 kB, of some 4.6 MB. */
Test(plan_weights, a_node_gets_no_more_than_it_can_hand_over)
{
    skn_model_t *model =
        model_of(NODES("cores: 1, notice: 1", "cores: 1", "cores: 1, speed: 3"),
                 "links: { rate: 8e6 }\n");
    skn_plan_t plan = plan_of(model);
    expect_hand_over(&plan, 0);
    uint64_t share = skn_plan_share(&plan, OUTPUT, 0);
    cr_expect_geq(skn_plan_hand_over_bytes(&plan, 0), 500000 - 40 * ROW_BYTES,
                  "and not much less");
    /* The others share what is left, by their speed. */
    expect_rows(&plan, (const uint64_t[]){ share, (LABELS - share) / 4,
                                           (LABELS - share) * 3 / 4 });
    skn_model_destroy(&model);
}

Test(plan_weights, what_fills_one_node_may_fill_the_next)
{
    skn_model_t *model = model_of(
        NODES("cores: 1, notice: 0.5", "cores: 1, notice: 2", "cores: 1"),
        "links: { rate: 8e6 }\n");
    skn_plan_t plan = plan_of(model);
    expect_hand_over(&plan, 0);
    expect_hand_over(&plan, 1);
    cr_expect_gt(skn_plan_share(&plan, OUTPUT, 2), LABELS / 2);
    cr_expect_lt(skn_plan_share(&plan, OUTPUT, 0),
                 skn_plan_share(&plan, OUTPUT, 1));
    skn_model_destroy(&model);
}

/* The plan stands; `skein plan` says so. */
Test(plan_weights, where_no_node_has_room_all_get_more)
{
    skn_model_t *model =
        model_of(NODES("cores: 1, notice: 0.5", "cores: 1, notice: 0.5"),
                 "links: { rate: 8e6 }\n");
    skn_plan_t plan = plan_of(model);
    cr_expect_not(skn_plan_hands_over(&plan, 0));
    cr_expect_not(skn_plan_hands_over(&plan, 1));
    expect_rows(&plan, (const uint64_t[]){ 1500, 1500 });
    skn_model_destroy(&model);
}
