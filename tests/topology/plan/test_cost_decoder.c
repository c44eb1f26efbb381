/* test_cost_decoder.c - tests the forecast of a decoder's pipeline against
 * numbers computed by hand, and how its layers are dealt to nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/model_fixture.h"
#include "tests/support/temp_folder.h"
#include "topology/plan/cost.h"
#include "topology/plan/cost_rates.h"
#include "topology/plan/plan_internal.h"

static char folder[TEMP_FOLDER_BYTES];

static void
set_up(void)
{
    char path[TEMP_FOLDER_BYTES + 16];
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/text.txt", folder);
    FILE *out = fopen(path, "w");
    cr_assert(out);
    for (int k = 0; k < 2000; k++)
        (void)fprintf(out, "line %d of the text\n", k);
    cr_assert_eq(fclose(out), 0);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(cost_decoder, .init = set_up, .fini = tear_down, .timeout = 120);

#define WIDTH 32.0
#define INNER 96.0
#define CONTEXT 32.0
#define TOKENS 128.0
#define MICRO_BATCHES 40.0
/* Weights of a layer. */
#define LAYER (WIDTH * (2 + 4 * WIDTH + 3 * INNER))

/* A decoder of 12 layers over nodes with such lines, up to NULL; none: one
 * process of two cores. */
static skn_plan_t
plan_with(const char *const *lines, const char *rest, const char *head,
          skn_model_t **model)
{
    char text[4096];
    skn_plan_t plan;
    skn_error_t error = { 0 };
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "skein: 1\n"
        "data: { train: %s/text.txt, context: 32, cache: none }\n"
        "model: { kind: decoder, layers: 12, width: 32, heads: 2%s }\n"
        "train: { micro_tokens: 128, batch_tokens: 5120, reduction: fixed }\n"
        "%s%s",
        folder, head, rest, lines[0] ? "nodes:\n" : "");
    for (uint32_t k = 0; lines[k]; k++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "  - { name: n%u, address: 'tcp://127.0.0.1:%u', %s }\n", k,
            7001 + k, lines[k]);
    *model = fixture_good(text);
    cr_assert_eq(skn_plan_make(&plan, *model, 2, &error), SKN_OK, "%s",
                 error.text);
    return plan;
}

static skn_plan_t
plan_of(const char *const *lines, const char *rest, skn_model_t **model)
{
    return plan_with(lines, rest, "", model);
}

#define NODES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOBODY ((const char *const[]){ NULL })

/* But for the weights of the last norm, which belong to no layer. */
static bool
near(double a, double b)
{
    return fabs(a - b) <= 1e-3 * fabs(b);
}

/* f + b, and w with its part of the update, of one layer. */
static const double awaited =
    (4 * LAYER * TOKENS + SKN_COST_ATTENTION * 6 * TOKENS * CONTEXT * WIDTH) /
    SKN_COST_DECODER_OPERATIONS;
static const double rest_of =
    (2 * LAYER * TOKENS + 10 * LAYER / MICRO_BATCHES) /
    SKN_COST_DECODER_OPERATIONS;

Test(cost_decoder, one_process_has_a_micro_batch_for_each_stage)
{
    skn_model_t *model = NULL;
    skn_pipeline_t pipeline;
    skn_plan_t plan = plan_of(NOBODY, "", &model);
    skn_pipeline_forecast(&plan, 0, &pipeline);
    cr_expect_eq(plan.flights, 2);
    cr_expect_eq(pipeline.crossings, 0);
    cr_expect_eq(pipeline.way_seconds, 0);
    cr_expect(near(pipeline.boundary_bytes, TOKENS * WIDTH * 4));
    cr_expect(near(pipeline.awaited_seconds, 6 * awaited), "%g",
              pipeline.awaited_seconds);
    /* The head is on the core of the last stage, and makes it the busiest. */
    double head =
        (6 * 257 * WIDTH * TOKENS + 10 * 257 * WIDTH / MICRO_BATCHES) /
        SKN_COST_DECODER_OPERATIONS;
    double last = 6 * (awaited + rest_of) + head;
    cr_expect(pipeline.period_seconds >= last * 0.95 &&
                  pipeline.period_seconds <= last * 1.05,
              "%g, not %g", pipeline.period_seconds, last);
    cr_expect_gt(pipeline.bubble, 0);
    cr_expect_lt(pipeline.bubble, 0.05);
    cr_expect(near(pipeline.step_seconds * (1 - pipeline.bubble),
                   MICRO_BATCHES * pipeline.period_seconds));
    skn_model_destroy(&model);
}

/* c = S + 2 ceil(2 X L / (f + b)), for L of .1 and of 1.3 times f + b. */
Test(cost_decoder, latency_puts_more_micro_batches_in_flight)
{
    static const double shares[] = { 0.1, 1.3 };
    static const uint32_t flights[] = { 4 + 2, 4 + 2 * 8 };
    double transfer = TOKENS * WIDTH * 4 * 8 / 1e12;
    for (int k = 0; k < 2; k++) {
        skn_model_t *model = NULL;
        skn_pipeline_t pipeline;
        char links[128];
        (void)snprintf(links, sizeof(links),
                       "links: { rate: 1.0e12, latency: %.9f }\n",
                       shares[k] * 3 * awaited - transfer);
        skn_plan_t plan =
            plan_of(NODES("cores: 1", "cores: 1", "cores: 1", "cores: 1"),
                    links, &model);
        skn_pipeline_forecast(&plan, 0, &pipeline);
        cr_expect_eq(pipeline.crossings, 3);
        cr_expect(near(pipeline.awaited_seconds, 3 * awaited));
        cr_expect_eq(plan.flights, flights[k], "%u", plan.flights);
        skn_model_destroy(&model);
    }
}

Test(cost_decoder, a_slow_link_is_the_period)
{
    skn_model_t *model = NULL;
    skn_cost_t cost;
    skn_plan_t plan = plan_of(NODES("cores: 1", "cores: 1"),
                              "links: { rate: 1.0e6 }\n", &model);
    skn_cost_plan(&plan, &cost);
    double transfer = TOKENS * WIDTH * 4 * 8 / 1e6;
    cr_expect(near(cost.pipeline.way_seconds, 0.0005 + transfer));
    cr_expect(near(cost.pipeline.period_seconds, transfer));
    cr_expect(cost.link_bound);
    cr_expect(cost.use_one);
    cr_expect(near(cost.nodes[0].bytes.sent, TOKENS * WIDTH * 4));
    cr_expect(near(cost.nodes[1].bytes.received, TOKENS * WIDTH * 4));
    cr_expect_eq(cost.batch_seconds, cost.pipeline.step_seconds);
    skn_model_destroy(&model);
}

/* The shares of 12 layers that make the busiest stage as little busy as can
 * be. */
Test(cost_decoder, layers_go_by_the_weights_of_nodes)
{
    static const struct {
        const char *lines[4];
        uint64_t share[3];
    } cases[] = {
        { { "speed: 1", "speed: 1", "speed: 1" }, { 4, 4, 4 } },
        { { "speed: 1", "speed: 3" }, { 3, 9 } },
        { { "speed: 0.5", "speed: 1.0", "speed: 1.5" }, { 2, 4, 6 } },
        { { "speed: 0.01", "speed: 1", "speed: 1" }, { 1, 6, 5 } },
        { { "cores: 3", "cores: 1" }, { 9, 3 } },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_model_t *model = NULL;
        skn_plan_t plan = plan_of(cases[k].lines, "", &model);
        for (uint32_t n = 0; n < plan.node_count; n++)
            cr_expect_eq(skn_plan_share(&plan, SKN_DECODER_LAYER, n),
                         cases[k].share[n], "case %zu, node %u: %lu", k, n,
                         skn_plan_share(&plan, SKN_DECODER_LAYER, n));
        skn_model_destroy(&model);
    }
}

/* A layer counts more than its weights, for its attention. A head in two parts
 * weighs on both cores. */
Test(cost_decoder, the_core_of_a_large_head_gets_fewer_layers)
{
    static const struct {
        const char *head;
        int labels;
        uint64_t share[2];
    } cases[] = {
        { "", 257, { 6, 6 } },
        { "", 8 * (int)(LAYER / WIDTH), { 9, 3 } },
        { "", 100 * (int)(LAYER / WIDTH), { 11, 1 } },
        { ", head: { shards: 2 }", 8 * (int)(LAYER / WIDTH), { 6, 6 } },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_model_t *model = NULL;
        skn_plan_t plan =
            plan_with(NODES("cores: 1", "cores: 1"), "", cases[k].head, &model);
        plan.data.labels = (uint32_t)cases[k].labels;
        skn_plan_deal_stages(&plan);
        for (uint32_t n = 0; n < 2; n++)
            cr_expect_eq(skn_plan_share(&plan, SKN_DECODER_LAYER, n),
                         cases[k].share[n], "case %zu, node %u: %lu", k, n,
                         skn_plan_share(&plan, SKN_DECODER_LAYER, n));
        skn_model_destroy(&model);
    }
}

/* A decoder on four cores alone takes at least a fourth of one core's time, and
 * no bubble is negative. */
Test(cost_decoder, one_node_alone_has_a_stage_for_each_core)
{
    skn_model_t *model = NULL;
    skn_cost_t cost;
    skn_plan_t plan = plan_of(NODES("cores: 1", "cores: 4"), "", &model);
    skn_cost_plan(&plan, &cost);
    cr_expect_eq(cost.alone, 1);
    cr_expect_eq(cost.pipeline.alone_units, 4);
    cr_expect_gt(cost.alone_seconds,
                 MICRO_BATCHES * 12 * (awaited + rest_of) / 4);
    cr_expect_geq(cost.pipeline.bubble, 0);
    skn_model_destroy(&model);
}

/* Criterion would read the text as a format. */
static void
expect_in(const char *text, const char *part)
{
    bool found = strstr(text, part) != NULL;
    if (!found)
        (void)fputs(text, stderr);
    cr_expect(found, "%s", part);
}

static char *
print_of(const skn_plan_t *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert(out);
    cr_expect_eq(skn_cost_print(plan, out, NULL), SKN_OK);
    cr_assert_eq(fclose(out), 0);
    return text;
}

Test(cost_decoder, is_printed_for_one_process_too)
{
    skn_model_t *model = NULL;
    skn_plan_t plan = plan_of(NOBODY, "", &model);
    char *text = print_of(&plan);
    expect_in(text, "# decoder: 2 stages of 6 layers each; 40 micro-batches of "
                    "128 tokens a step, at most 2 in flight\n");
    cr_expect_not(strstr(text, "alone"));
    free(text);
    skn_model_destroy(&model);
    plan = plan_of(NODES("speed: 0.5", "speed: 1.0", "speed: 1.5"), "", &model);
    text = print_of(&plan);
    expect_in(text, "# decoder: 3 stages of 2, 4 and 6 layers; 40");
    expect_in(text, "# from one node's stage to the next: 16.4 kB a "
                    "micro-batch each way, 0.63 ms on the way\n");
    expect_in(text, " ms per step; n0 alone would take ");
    free(text);
    skn_model_destroy(&model);
}
