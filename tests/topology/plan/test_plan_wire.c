/* test_plan_wire.c - tests the actors and pipes of a plan: their printed form
 * reads as the same, every row has one owner, memory is as estimated. Covers
 * topology/plan/plan_wire.c, topology/run/model_run.c and
 * topology/run/machine.c. Covers topology/plan/plan_course.c,
 * topology/plan/plan_layers.c and topology/plan/plan_pipes.c too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "actors/protocol/kinds.h"
#include "tests/support/pipeline_fixture.h"
#include "tests/support/sanitized.h"
#include "topology/host/host.h"

static pipeline_t data;

static void
set_up(void)
{
    pipeline_init(&data);
}

static void
tear_down(void)
{
    pipeline_fini(&data);
}

TestSuite(plan_wire, .init = set_up, .fini = tear_down, .timeout = 120);

/* Opens a run of one.yaml or two.yaml with the words, not to be saved. */
static skn_model_run_t
open_run(const char *name, const char *const *words, size_t count, bool saved)
{
    static char run_path[SKN_TEXT_MAX], run_id[64];
    char path[TEMP_FOLDER_BYTES + 32];
    skn_error_t error = { 0 };
    skn_model_run_t run = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    (void)snprintf(path, sizeof(path), "%s/%s", data.folder, name);
    (void)snprintf(run_path, sizeof(run_path), "%s/run", data.folder);
    skn_model_run_options_t options = { .path = path,
                                        .overrides = words,
                                        .override_count = count,
                                        .run_path = run_path,
                                        .run_id = run_id,
                                        .unsaved = !saved };
    skn_status_t status = skn_model_run_open(&run, &options, problems, &error);
    if (skn_problems_count(problems) > 0)
        skn_problems_print(problems, stderr);
    cr_assert_eq(status, SKN_OK, "%s", error.text);
    skn_problems_destroy(&problems);
    return run;
}

static char *
print_of(const skn_topology_t *topology)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    cr_assert_eq(skn_spec_print(skn_topology_spec(topology), file, NULL),
                 SKN_OK);
    cr_assert_eq(fclose(file), 0);
    return text;
}

static void
expect_same_again(const char *name, const char *const *words, size_t count)
{
    skn_error_t error = { 0 };
    skn_model_run_t run = open_run(name, words, count, true);
    char *first = print_of(run.topology);
    skn_topology_t *again = skn_topology_new(first, "t.yaml", NULL, &error);
    cr_assert(again, "%s\n%s", error.text, first);
    char *second = print_of(again);
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
    skn_topology_destroy(&again);
    skn_model_run_close(&run);
}

Test(plan_wire, a_printed_plan_is_read_as_the_same_wiring)
{
    static const char *const words[] = { "model.layers.hidden.shards=2",
                                         "model.layers.output.shards=3",
                                         "train.window=4",
                                         "train.validate=0.25" };
    expect_same_again("one.yaml", words, 0);
    expect_same_again("one.yaml", words, 4);
    expect_same_again("two.yaml", words, 4);
}

Test(plan_wire, each_sampler_and_optimizer_is_wired)
{
    static const char *const samplers[] = { "{kind: exact}", "{kind: uniform}",
                                            "{kind: log_uniform}",
                                            "{kind: simhash}", "{kind: dwta}" };
    static const char *const optimizers[] = { "train.optimizer.kind=sgd",
                                              "train.optimizer.kind=adagrad",
                                              "train.optimizer.kind=adam" };
    for (size_t k = 0; k < 5; k++) {
        char word[96];
        (void)snprintf(word, sizeof(word), "model.layers.output.sampler=%s",
                       samplers[k]);
        const char *const words[] = { word, optimizers[k % 3] };
        expect_same_again("one.yaml", words, 2);
    }
}

static const skn_value_t *
value_of(const skn_wired_actor_t *actor, const char *name)
{
    for (size_t k = 0; actor->kind->options[k].name; k++)
        if (strcmp(actor->kind->options[k].name, name) == 0)
            return &actor->values[k];
    return NULL;
}

static uint64_t
number_of(const skn_wired_actor_t *actor, const char *name)
{
    const skn_value_t *value = value_of(actor, name);
    cr_assert(value, "%s %s", actor->name, name);
    return (uint64_t)value->number;
}

/* One-vs-all begins where every label comes as often as labels do. */
Test(plan_wire, first_biases_are_the_odds_of_a_label)
{
    static const char *const losses[] = { "model.layers.output.loss=softmax",
                                          "model.layers.output.loss="
                                          "one_vs_all" };
    for (int one_vs_all = 0; one_vs_all < 2; one_vs_all++) {
        skn_model_run_t run =
            open_run("two.yaml", &losses[one_vs_all], 1, false);
        const skn_wiring_t *wiring =
            skn_spec_wiring(skn_topology_spec(run.topology));
        const skn_plan_data_t *facts = &run.plan.data;
        double share = facts->labels_per_point / facts->labels;
        for (uint32_t k = 0; k < wiring->actor_count; k++) {
            const skn_wired_actor_t *actor = &wiring->actors[k];
            if (actor->kind != &skn_updater)
                continue;
            bool top = number_of(actor, "layer") == 2;
            cr_expect_float_eq(value_of(actor, "init_bias")->real,
                               top && one_vs_all ? log(share / (1 - share)) : 0,
                               1e-12);
        }
        skn_model_run_close(&run);
    }
}

/* Sums the cells that updaters of `layer` own; each of them must lie apart. */
static uint64_t
cells_of(const skn_wiring_t *wiring, uint64_t layer)
{
    uint64_t cells = 0;
    for (uint32_t k = 0; k < wiring->actor_count; k++) {
        const skn_wired_actor_t *actor = &wiring->actors[k];
        if (actor->kind == &skn_updater && number_of(actor, "layer") == layer)
            cells += number_of(actor, "rows") * number_of(actor, "width");
    }
    return cells;
}

Test(plan_wire, every_weight_has_one_owner)
{
    for (uint32_t shards = 1; shards <= 8; shards += 7) {
        char hidden[64], second[64], output[64];
        (void)snprintf(hidden, 64, "model.layers.hidden.shards=%u",
                       shards > 3 ? 3 : shards);
        (void)snprintf(second, 64, "model.layers.second.shards=%u",
                       shards > 5 ? 5 : shards);
        (void)snprintf(output, 64, "model.layers.output.shards=%u", shards);
        const char *const words[] = { hidden, second, output };
        skn_model_run_t run = open_run("two.yaml", words, 3, false);
        const skn_wiring_t *wiring =
            skn_spec_wiring(skn_topology_spec(run.topology));
        cr_expect_eq(cells_of(wiring, 0), (FEATURES + 1) * 24);
        cr_expect_eq(cells_of(wiring, 1), 40 * (24 + 1));
        cr_expect_eq(cells_of(wiring, 2), LABELS * (40 + 1));
        cr_expect_eq(cells_of(wiring, 0) + cells_of(wiring, 1) +
                         cells_of(wiring, 2),
                     run.plan.parameters);
        skn_model_run_close(&run);
    }
}

static const skn_wired_actor_t *
actor_of(const skn_wiring_t *wiring, const char *name)
{
    for (uint32_t k = 0; k < wiring->actor_count; k++)
        if (strcmp(wiring->actors[k].name, name) == 0)
            return &wiring->actors[k];
    cr_assert_fail("no actor %s", name);
    return NULL;
}

Test(plan_wire, pipes_of_the_loop_have_credit_for_the_window)
{
    static const char *const words[] = { "train.window=8" };
    skn_model_run_t run = open_run("one.yaml", words, 1, false);
    const skn_wiring_t *wiring =
        skn_spec_wiring(skn_topology_spec(run.topology));
    for (uint32_t k = 0; k < wiring->pipe_count; k++)
        cr_expect_geq(wiring->pipes[k].credit, 15);
    cr_expect_eq(number_of(actor_of(wiring, "source"), "window"), 15);
    cr_expect_eq(number_of(actor_of(wiring, "output.0"), "window"), 8);
    cr_expect_eq(number_of(actor_of(wiring, "embedding.0"), "window"), 8);
    skn_model_run_close(&run);
}

/* Actors of `kind` that get `message`. */
static uint32_t
receivers_of(const skn_wiring_t *wiring, const char *message, const char *kind)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < wiring->pipe_count; k++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[k];
        if (strcmp(pipe->schema->name, message) != 0)
            continue;
        for (uint32_t e = 0; e < pipe->to_count; e++)
            count += strcmp(wiring->actors[pipe->to[e]].kind->name, kind) == 0;
    }
    return count;
}

/* (m, z) goes beside and below, once; with one-vs-all there is none. */
Test(plan_wire, the_normaliser_goes_beside_and_below)
{
    static const char *const words[] = {
        "model.layers.hidden.shards=2", "model.layers.second.shards=4",
        "model.layers.output.shards=3", "model.layers.output.loss=one_vs_all"
    };
    for (int deep = 0; deep < 2; deep++)
        for (int one_vs_all = 0; one_vs_all < 2; one_vs_all++) {
            const char *chosen[] = { words[0], words[2],
                                     words[one_vs_all ? 3 : 0],
                                     words[deep ? 1 : 0] };
            skn_model_run_t run =
                open_run(deep ? "two.yaml" : "one.yaml", chosen, 4, false);
            const skn_wiring_t *wiring =
                skn_spec_wiring(skn_topology_spec(run.topology));
            uint32_t shards = one_vs_all ? 0 : 3;
            cr_expect_eq(receivers_of(wiring, "partition", "output"), shards);
            cr_expect_eq(receivers_of(wiring, "partition", "dense"),
                         deep && !one_vs_all ? 4 : 0);
            cr_expect_eq(receivers_of(wiring, "partition", "embedding"),
                         deep || one_vs_all ? 0 : 2);
            skn_model_run_close(&run);
        }
}

Test(plan_wire, a_plan_that_is_not_saved_has_no_keeper)
{
    skn_model_run_t run = open_run("one.yaml", NULL, 0, false);
    char *text = print_of(run.topology);
    cr_expect_null(strstr(text, "keeper"));
    free(text);
    skn_model_run_close(&run);
    run = open_run("one.yaml", NULL, 0, true);
    text = print_of(run.topology);
    cr_expect(strstr(text, "keeper"));
    free(text);
    skn_model_run_close(&run);
}

/* Hash tables are made of rows alone. */
Test(plan_wire, nothing_of_an_index_is_saved)
{
    static const char *const words[] = {
        "model.layers.output.shards=3", "model.layers.hidden.shards=1",
        "model.layers.output.sampler={kind: simhash, rows: 50}"
    };
    skn_model_run_t run = open_run("one.yaml", words, 3, true);
    const skn_wiring_t *wiring =
        skn_spec_wiring(skn_topology_spec(run.topology));
    cr_expect_eq(number_of(actor_of(wiring, "keeper.0"), "owners"), 4);
    cr_expect_eq(number_of(actor_of(wiring, "source"), "owners"), 4);
    char *text = print_of(run.topology);
    cr_expect_null(strstr(text, "table_builder.0]"), "%s", text);
    free(text);
    skn_model_run_close(&run);
}

/* Sanitizers need memory of their own. */
#ifndef UNDER_ADDRESS_SANITIZER
/* Resident bytes of this process. */
static double
resident(void)
{
    unsigned long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%lu %lu", &size, &pages) == 2);
    (void)fclose(file);
    return (double)pages * 4096;
}

Test(plan_wire, the_estimate_of_memory_holds)
{
    static const char *const words[] = { "model.layers.hidden.units=2048",
                                         "model.layers.output.shards=2",
                                         "model.layers.hidden.shards=2",
                                         "train.optimizer={kind: adam}",
                                         "train.batch_rows=64",
                                         "train.max_batches=6" };
    char line[4096];
    double before = resident(), most = 0;
    skn_error_t error = { 0 };
    skn_start_options_t start = SKN_START_OPTIONS(.no_binding = true);
    skn_model_run_t run = open_run("one.yaml", words, 6, false);
    double estimate = (double)run.plan.memory_bytes;
    cr_assert_eq(skn_topology_start(run.topology, &start, &error), SKN_OK);
    while (skn_topology_event(run.topology, -1, line, sizeof(line), &error) ==
           SKN_OK) {
        const char *at = strstr(line, "\"rss_mb\":");
        if (at && skn_text_real(at + 9, NULL) * 1048576 - before > most)
            most = skn_text_real(at + 9, NULL) * 1048576 - before;
    }
    cr_assert_eq(skn_topology_wait(run.topology, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_gt(most, estimate / 8, "%.0f of %.0f", most, estimate);
    cr_expect_lt(most, estimate * 1.25, "%.0f of %.0f", most, estimate);
    skn_model_run_close(&run);
}
#endif

Test(plan_wire, the_machine_lends_units_and_memory)
{
    skn_error_t error = { 0 };
    cr_expect_geq(skn_unit_count(&error), 1, "%s", error.text);
    cr_expect_gt(skn_memory_available_bytes(), (uint64_t)1 << 20);
}
