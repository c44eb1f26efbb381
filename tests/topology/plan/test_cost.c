/* test_cost.c - tests the forecast of a plan over nodes against numbers
 * computed by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/support/model_fixture.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"
#include "topology/plan/cost.h"
#include "topology/plan/cost_rates.h"

/* --- bytes --------------------------------------------------------------- */

/* B = 1024, H = 128, half of the ReLUs open:
 * docs/concepts/equations.md, (61). */
static skn_cost_layer_t
layer_of(double value_bytes, bool softmax, double positives)
{
    skn_cost_layer_t layer = { .rows = 1024,
                               .columns = 128,
                               .value_bytes = value_bytes,
                               .scaled = value_bytes < 2,
                               .open = 0.5,
                               .softmax = softmax,
                               .positives = positives };
    return layer;
}

static skn_cost_place_t
even_place(uint32_t nodes)
{
    skn_cost_place_t place = { .share = 1.0 / nodes,
                               .parts = 1,
                               .all_parts = nodes,
                               .above_count = nodes,
                               .below_count = nodes,
                               .node_count = nodes };
    return place;
}

static double
total_of(skn_cost_layer_t layer, uint32_t nodes)
{
    skn_cost_place_t place = even_place(nodes);
    skn_cost_bytes_t bytes = skn_cost_link(&layer, &place);
    cr_expect_lt(fabs(bytes.sent - bytes.received), 1e-6,
                 "%f sent, %f received", bytes.sent, bytes.received);
    return bytes.sent + bytes.received;
}

/* 131,072 cells: x (1/8 + 1) up, x 1 x (1 + phi) down, 16 x 1024 for (m, z). */
Test(cost, is_that_of_the_design_for_two_nodes)
{
    cr_expect_eq(total_of(layer_of(2, false, 0.7), 2), 147456 + 131072);
    cr_expect_eq(total_of(layer_of(2, true, 0), 2), 147456 + 131072 + 16384);
    cr_expect_eq(total_of(layer_of(2, true, 1), 2),
                 147456 + 2 * 131072 + 16384);
    /* as docs/concepts/equations.md rounds them: 0.28 MB; 0.30 to 0.43 MB */
    cr_expect_lt(fabs(total_of(layer_of(2, false, 0), 2) * 1e-6 - 0.28), 0.005);
    cr_expect_lt(fabs(total_of(layer_of(2, true, 0), 2) * 1e-6 - 0.30), 0.0055);
    cr_expect_lt(fabs(total_of(layer_of(2, true, 1), 2) * 1e-6 - 0.43), 0.005);
}

Test(cost, counts_scales_of_the_small_codings)
{
    /* 131,072 x (1/8 + 1/2), x 1/2 x 1.5, 16 x 1024, 8 x 1024 x 2.5 */
    cr_expect_eq(total_of(layer_of(1, true, 0.5), 2),
                 81920 + 98304 + 16384 + 20480);
    /* without softmax: x (1/8 + 1/4), x 1/4, 8 x 1024 x 2 */
    cr_expect_eq(total_of(layer_of(0.5, false, 0), 2), 49152 + 32768 + 16384);
}

Test(cost, of_a_softmax_that_shards_normalise_has_no_second_array)
{
    skn_cost_layer_t late = layer_of(2, true, 0.7);
    late.late = true;
    cr_expect_eq(total_of(late, 2), 147456 + 131072 + 8192);
    late = layer_of(1, true, 0.7);
    late.late = true;
    cr_expect_eq(total_of(late, 2), 81920 + 65536 + 8192 + 16384);
}

/* The formula as (61) of docs/concepts/equations.md writes it. */
static double
formula(const skn_cost_layer_t *l, double n)
{
    double phi = l->softmax && !l->late ? l->positives : 0;
    double bytes = 2 * (n - 1) / n * l->rows * l->columns *
                   (0.125 + l->open * l->value_bytes);
    bytes += 2 * (n - 1) / n * l->rows * l->columns * l->open * l->value_bytes *
             (1 + phi);
    if (l->softmax)
        bytes += (l->late ? 8 : 16) * l->rows * (n - 1);
    if (l->scaled)
        bytes += 8 * l->rows * (n - 1) * (2 + phi);
    return bytes;
}

Test(cost, is_the_formula_for_any_number_of_nodes)
{
    static const double bytes[] = { 4, 2, 1, 0.5 };
    for (uint32_t nodes = 1; nodes <= 64; nodes++)
        for (int k = 0; k < 8; k++) {
            skn_cost_layer_t layer =
                layer_of(bytes[k % 4], k >= 4, 0.1 * (nodes % 11));
            layer.late = nodes % 3 == 0;
            double want = formula(&layer, nodes);
            cr_expect_lt(fabs(total_of(layer, nodes) - want), 1e-9 * (want + 1),
                         "%u nodes", nodes);
        }
}

/* Whatever is sent arrives: shares of any size, nodes that own units of only
 * one of the layers. */
Test(cost, what_is_sent_is_received)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        oracle_random_t random = { seed };
        skn_cost_place_t place[8];
        double share[8], sum = 0, sent = 0, received = 0;
        uint32_t count = 2 + oracle_next(&random) % 7, above = 0, below = 0;
        uint32_t most = seed % 2 ? 1 : 12, parts = 0;
        for (uint32_t n = 0; n < count; n++) {
            bool has_above = oracle_next(&random) % 3 > 0;
            bool has_below = !has_above || oracle_next(&random) % 3 > 0;
            share[n] = has_below ? 1 + oracle_next(&random) % 9 : 0;
            place[n].parts = has_above ? 1 + oracle_next(&random) % most : 0;
            parts += place[n].parts;
            above += has_above;
            below += has_below;
            sum += share[n];
        }
        if (below == 0)
            continue;
        skn_cost_layer_t layer = layer_of(seed % 2 ? 1 : 2, seed % 3 > 0, 0.4);
        layer.late = seed % 5 == 0;
        for (uint32_t n = 0; n < count; n++) {
            place[n].share = share[n] / sum;
            place[n].above_count = above;
            place[n].all_parts = parts;
            place[n].below_count = below;
            place[n].node_count = count;
            skn_cost_bytes_t bytes = skn_cost_link(&layer, &place[n]);
            sent += bytes.sent;
            received += bytes.received;
        }
        cr_expect_lt(fabs(sent - received), 1e-6 * (sent + 1),
                     "seed %llu: %f sent, %f received",
                     (unsigned long long)seed, sent, received);
    }
}

/* --- plans --------------------------------------------------------------- */

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];

/* 400 points of 2 features and a label, 64 features, 1000 labels. */
static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/t.txt", folder);
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "400 64 1000\n");
    for (uint32_t k = 0; k < 400; k++)
        (void)fprintf(out, "%u %u:1 %u:1\n", k * 7 % 1000, k % 32, 32 + k % 32);
    cr_assert_eq(fclose(out), 0);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(forecast, .init = set_up, .fini = tear_down, .timeout = 60);

/* Exact softmax, H 128, B 100, with more text for the file. */
static skn_plan_t
plan_of(skn_model_t **model, const char *rest)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    char text[4096];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
                   "  layers:\n"
                   "    - { name: hidden, units: 128, dropout: 0.5 }\n"
                   "    - { name: output, loss: softmax, label_smoothing: 0,\n"
                   "        sampler: { kind: exact } }\n%s",
                   file, rest);
    *model = fixture_good(text);
    cr_assert_eq(skn_plan_make(&plan, *model, 1, &error), SKN_OK, "%s",
                 error.text);
    return plan;
}

#define NODES(cores_a, cores_b)                                                \
    "nodes:\n"                                                                 \
    "  - { name: a, address: 'tcp://127.0.0.1:7001', cores: " cores_a " }\n"   \
    "  - { name: b, address: 'tcp://127.0.0.1:7002', cores: " cores_b " }\n"
#define TRAIN "train: { batch_rows: 100, window: 2 }\n"

Test(forecast, numbers_of_an_even_plan_are_as_by_hand)
{
    skn_model_t *model = NULL;
    skn_cost_t cost;
    skn_plan_t plan = plan_of(
        &model, TRAIN NODES("1", "1") "links: { rate: 1.0e6, coding: f32 }\n");
    skn_cost_plan(&plan, &cost);
    /* Blocks of 2 rows: 500 labels each; one label a point. */
    cr_expect_eq(cost.open, 0.25);
    cr_expect_lt(fabs(cost.positives - 0.5), 1e-12);
    /* 100 x 128: x (1/8 + 1) + x 1, and 8 x 100; half each way */
    double bytes = (12800 * 1.125 + 12800 + 800) / 2;
    /* 100 x 2 active and 64 distinct features; 100 x 1000 logits */
    double work = (4.0 * 200 * 128 + 10.0 * 64 * 128 + 6.0 * 100 * 1000 * 128 +
                   10.0 * 1000 * 128) /
                  SKN_COST_OPERATIONS;
    for (int n = 0; n < 2; n++) {
        const skn_cost_node_t *node = &cost.nodes[n];
        cr_expect_eq(node->shards, 2u);
        cr_expect_eq(node->parameters, 65u * 64 + 129u * 500);
        cr_expect_lt(fabs(node->bytes.sent - bytes), 1e-6);
        cr_expect_lt(fabs(node->bytes.received - bytes), 1e-6);
        cr_expect_lt(fabs(node->link_seconds - bytes * 8e-6), 1e-9);
        cr_expect_lt(fabs(node->work_seconds - work / 2), 1e-12);
    }
    cr_expect_lt(fabs(cost.alone_seconds - work), 1e-12);
    /* 0.11 s on a link of 1 Mbit/s, 1.5 ms of work alone */
    cr_expect(cost.link_bound);
    cr_expect(cost.use_one);
    cr_expect_lt(fabs(cost.batch_seconds - bytes * 8e-6), 1e-9);
    skn_model_destroy(&model);
}

/* 500 blocks of 2 labels, cut at 250: [0, 250) is 128 + 64 + 32 + 16 + 8 + 2
 * leaves of the tree, [250, 500) is 2 + 4, and 244 of the 256 behind. */
Test(forecast, a_fixed_tree_costs_a_part_for_each_of_its_nodes)
{
    skn_model_t *model = NULL;
    skn_cost_t cost;
    const char *cores[] = { NODES("1", "1"), NODES("2", "2"), NODES("4", "4") };
    for (int k = 0; k < 3; k++) {
        char rest[512];
        (void)snprintf(rest, sizeof(rest),
                       "train: { batch_rows: 100, reduction: fixed }\n%s",
                       cores[k]);
        skn_plan_t plan = plan_of(&model, rest);
        skn_cost_plan(&plan, &cost);
        double up = 100 * 64 * 1.125, down = 100 * 64 * 1.5, pair = 800;
        double a = 6, b = 3;
        cr_expect_lt(fabs(cost.nodes[0].bytes.sent - up - a * (down + pair)),
                     1e-6, "%d: %f", k, cost.nodes[0].bytes.sent);
        cr_expect_lt(fabs(cost.nodes[1].bytes.sent - up - b * (down + pair)),
                     1e-6, "%d: %f", k, cost.nodes[1].bytes.sent);
        skn_model_destroy(&model);
    }
}

Test(forecast, fast_links_make_two_nodes_better_than_one)
{
    skn_model_t *model = NULL;
    skn_cost_t cost;
    skn_plan_t plan =
        plan_of(&model, TRAIN NODES("1", "3") "links: { rate: 1.0e10 }\n");
    skn_cost_plan(&plan, &cost);
    cr_expect_not(cost.link_bound);
    cr_expect_not(cost.use_one);
    cr_expect_eq(cost.alone, 1u);
    cr_expect_lt(cost.batch_seconds, cost.alone_seconds);
    /* with a window of 1 nothing hides the link */
    skn_cost_t narrow;
    model->train.window = 1;
    skn_cost_plan(&plan, &narrow);
    const skn_cost_node_t *slow = &narrow.nodes[narrow.slowest];
    cr_expect_lt(
        fabs(narrow.batch_seconds - (slow->work_seconds + slow->link_seconds)),
        1e-15);
    skn_model_destroy(&model);
}

Test(forecast, a_node_that_cannot_hold_it_all_is_not_advised)
{
    skn_model_t *model = NULL;
    skn_cost_t cost;
    skn_plan_t plan =
        plan_of(&model, TRAIN NODES("1", "1") "links: { rate: 1.0e6 }\n");
    skn_cost_plan(&plan, &cost);
    cr_expect(cost.use_one);
    skn_model_node_t *nodes = (skn_model_node_t *)(uintptr_t)model->nodes;
    nodes[0].memory_bytes = (int64_t)plan.nodes[0].memory_bytes;
    skn_cost_plan(&plan, &cost);
    cr_expect_not(cost.use_one);
    skn_model_destroy(&model);
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

Test(forecast, is_printed_as_comments)
{
    skn_model_t *model = NULL;
    skn_plan_t plan = plan_of(
        &model, TRAIN NODES("1", "1") "links: { rate: 1.0e6, coding: f32 }\n");
    char *text = print_of(&plan);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        cr_expect_eq(line[0], '#', "%s", line);
    cr_expect(strstr(text, "# 2 nodes, f32 on the links, which carry 1 Mbit/s "
                           "each way:\n"),
              "%s", text);
    cr_expect(strstr(text, "#     per batch: 14.0 kB sent, 14.0 kB received, "
                           "112.00 ms on the link, 0.78 ms of work\n"),
              "%s", text);
    cr_expect(strstr(text, "# use one node: a alone is expected to be faster "
                           "than all 2 together\n"),
              "%s", text);
    free(text);
    plan.node_count = 0;
    text = print_of(&plan);
    cr_expect_str_eq(text, "");
    free(text);
    skn_model_destroy(&model);
}

Test(forecast, a_full_disk_is_reported)
{
    skn_model_t *model = NULL;
    skn_error_t error = { 0 };
    skn_plan_t plan = plan_of(&model, TRAIN NODES("1", "1"));
    FILE *full = fopen("/dev/full", "w");
    cr_assert(full);
    (void)setvbuf(full, NULL, _IONBF, 0);
    cr_expect_eq(skn_cost_print(&plan, full, &error), SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing a forecast: No space left on device");
    (void)fclose(full);
    skn_model_destroy(&model);
}
