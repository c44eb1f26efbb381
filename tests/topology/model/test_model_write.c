/* test_model_write.c - tests that a printed model reads as the same model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tests/support/model_fixture.h"
#include "topology/model/model_tables.h"

/* The caller frees it. */
static char *
print_model(const skn_model_t *model)
{
    char *text = NULL;
    size_t text_bytes = 0;
    skn_error_t error = { 0 };
    FILE *file = open_memstream(&text, &text_bytes);
    cr_assert(file);
    cr_assert(skn_model_write(model, file, &error) == SKN_OK, "%s", error.text);
    cr_assert(fclose(file) == 0);
    return text;
}

/* Every slot of a section has the same text in both structs. */
static void
expect_same(const skn_section_t *section, const void *one, const void *other)
{
    for (size_t k = 0; section->options[k].name; k++) {
        char one_text[40], other_text[40];
        if (section->slots[k].kind == SKN_SLOT_NONE)
            continue;
        cr_expect_str_eq(skn_slot_text(&section->options[k], section->slots[k],
                                       one, one_text, sizeof(one_text)),
                         skn_slot_text(&section->options[k], section->slots[k],
                                       other, other_text, sizeof(other_text)),
                         "%s.%s", section->path, section->options[k].name);
    }
    for (const skn_part_t *part = section->parts; part->name; part++)
        if (part->form == SKN_FORM_MAPPING)
            expect_same(part->section, (const char *)one + part->offset,
                        (const char *)other + part->offset);
}

static void
expect_same_cores(const skn_model_cores_t *one, const skn_model_cores_t *other)
{
    cr_expect(one->limit == other->limit);
    cr_assert(one->count == other->count);
    for (size_t k = 0; k < one->count; k++)
        cr_expect(one->list[k] == other->list[k]);
}

static void
expect_same_model(const skn_model_t *one, const skn_model_t *other)
{
    expect_same(&skn_model_section, one, other);
    cr_assert(one->layer_count == other->layer_count);
    for (size_t k = 0; k < one->layer_count; k++) {
        expect_same(&skn_hidden_section, &one->layers[k], &other->layers[k]);
        expect_same(&skn_output_section, &one->layers[k], &other->layers[k]);
    }
    cr_assert(one->plugin_count == other->plugin_count);
    for (size_t k = 0; k < one->plugin_count; k++)
        cr_expect_str_eq(one->plugins[k], other->plugins[k]);
    expect_same_cores(&one->resources.cores, &other->resources.cores);
    cr_assert(one->node_count == other->node_count);
    for (size_t k = 0; k < one->node_count; k++) {
        expect_same(&skn_node_section, &one->nodes[k], &other->nodes[k]);
        expect_same_cores(&one->nodes[k].cores, &other->nodes[k].cores);
    }
}

/* Printing and reading gives the same model, and the same text again. */
static void
expect_round(const char *text)
{
    skn_model_t *model = fixture_good(text);
    char *once = print_model(model);
    skn_model_t *again = fixture_good(once);
    char *twice = print_model(again);
    expect_same_model(model, again);
    cr_expect_str_eq(once, twice);
    free(once);
    free(twice);
    skn_model_destroy(&model);
    skn_model_destroy(&again);
}

static const char in_full[] = "skein: 1\n"
                              "data:\n"
                              "  train: t\n"
                              "  test: \"\"\n"
                              "  held_back: 0\n"
                              "  format: auto\n"
                              "  text_column: text\n"
                              "  category_columns: \"\"\n"
                              "  number_columns: \"\"\n"
                              "  label_column: labels\n"
                              "  label_separator: auto\n"
                              "  bad_rows: 0.01\n"
                              "  word_groups: auto\n"
                              "  letter_groups: auto\n"
                              "  term_rows: auto\n"
                              "  terms_max: 1000000\n"
                              "  term_values: auto\n"
                              "  normalize: l2\n"
                              "  cache: auto\n"
                              "  memory: 1GiB\n"
                              "  feature_count: 0\n"
                              "  label_count: 0\n"
                              "  labels: \"\"\n"
                              "plugins: []\n"
                              "model:\n"
                              "  kind: layers\n"
                              "  layers:\n"
                              "    - name: hidden\n"
                              "      units: auto\n"
                              "      activation: relu\n"
                              "      dropout: auto\n"
                              "      shards: auto\n"
                              "      init_std: 0.05\n"
                              "    - name: output\n"
                              "      loss: auto\n"
                              "      label_smoothing: auto\n"
                              "      weights: auto\n"
                              "      index_lag: auto\n"
                              "      shards: auto\n"
                              "      init_std: 0.05\n"
                              "      sampler:\n"
                              "        kind: auto\n"
                              "        tables: auto\n"
                              "        bits: auto\n"
                              "        refresh_batches: auto\n"
                              "        rows: auto\n"
                              "        labels: true\n"
                              "        uniform_rows: auto\n"
                              "        weight_cap: 0\n"
                              "train:\n"
                              "  seed: 1\n"
                              "  ensemble: auto\n"
                              "  ranker_trees: auto\n"
                              "  batch_rows: auto\n"
                              "  epochs: auto\n"
                              "  max_batches: 0\n"
                              "  window: auto\n"
                              "  order: fixed\n"
                              "  reduction: fast\n"
                              "  merge: auto\n"
                              "  precision: auto\n"
                              "  updates: loan\n"
                              "  validate: 0\n"
                              "  patience: auto\n"
                              "  optimizer:\n"
                              "    kind: auto\n"
                              "    rate: auto\n"
                              "    beta1: 0.9\n"
                              "    beta2: 0.999\n"
                              "    epsilon: 1e-8\n"
                              "    weight_decay: 0\n"
                              "    offload: auto\n"
                              "    offload_path: \"\"\n"
                              "  schedule:\n"
                              "    kind: auto\n"
                              "    warmup_batches: auto\n"
                              "    floor: 0\n"
                              "  evaluate:\n"
                              "    every_epochs: 1\n"
                              "    rows: 0\n"
                              "    topk: 5\n"
                              "    sampler_batches: 0\n"
                              "checkpoint:\n"
                              "  path: \"\"\n"
                              "  every_batches: auto\n"
                              "  every_epochs: 1\n"
                              "  keep: 3\n"
                              "  copies: 1\n"
                              "resources:\n"
                              "  memory: auto\n"
                              "  huge_pages: true\n"
                              "  cores: auto\n"
                              "links:\n"
                              "  coding: auto\n"
                              "  rate: 1e9\n"
                              "  latency: 0.0005\n"
                              "coordinator:\n"
                              "  address: \"\"\n"
                              "  key: \"\"\n"
                              "  least: 1\n"
                              "  balance: true\n"
                              "  recovery: rollback\n"
                              "idle:\n"
                              "  enabled: false\n"
                              "  reserve_cores: auto\n"
                              "  share: 1\n"
                              "  memory: 0.5\n"
                              "  bandwidth: 0\n"
                              "  grace_s: 3\n"
                              "  notice:\n"
                              "    file: \"\"\n"
                              "    command: \"\"\n"
                              "    every_s: 5\n";

Test(model_write, the_shortest_file_is_printed_in_full)
{
    skn_model_t *model = fixture_good(FIXTURE);
    char *text = print_model(model);
    cr_expect_str_eq(text, in_full);
    free(text);
    skn_model_destroy(&model);
}

Test(model_write, defaults_read_as_the_same_model)
{
    expect_round(FIXTURE);
}

Test(model_write, every_value_reads_as_the_same)
{
    expect_round(
        "skein: 1\n"
        "data: { train: /d/t, test: e, normalize: none, cache: none, memory: "
        "3000000001 }\n"
        "plugins: [a.so, /b.so, \"c d.so\"]\n"
        "model: { layers: [\n"
        "  { name: h1, units: 64, dropout: 0.30000000000000004, shards: 2 },\n"
        "  { name: h2, units: 32, dropout: 0, init_std: 1e-5 },\n"
        "  { name: out, loss: one_vs_all, weights: bf16, shards: 3,\n"
        "    index_lag: 8, sampler: { kind: simhash, rows: 100, labels: false,"
        "\n    tables: 50, bits: 9, refresh_batches: 64, uniform_rows: 10,\n"
        "    weight_cap: 20.5 } } ] }\n"
        "train: { seed: 9007199254740992, batch_rows: 32, epochs: 2,\n"
        "  max_batches: 9, window: 3, order: free, updates: copy,\n"
        "  merge: late, validate: 0.1, patience: 2,\n"
        "  optimizer: { kind: adam, rate: 1e-3, beta1: 0.8, beta2: 0.99,\n"
        "    epsilon: 1e-30, weight_decay: 0.01, offload: file,\n"
        "    offload_path: /d/disk },\n"
        "  schedule: { kind: cosine, warmup_batches: 5, floor: 0.1 },\n"
        "  evaluate: { every_epochs: 0, rows: 4096, topk: 3,\n"
        "    sampler_batches: 9 } }\n"
        "checkpoint: { path: runs/x, every_batches: 500, every_epochs: 0,\n"
        "  keep: 1 }\n"
        "resources: { cores: [0, 2], memory: 8GiB, huge_pages: false }\n");
}

Test(model_write, each_sampler_reads_as_the_same)
{
    static const char *const samplers[] = {
        "kind: exact",
        "kind: uniform, rows: 0",
        "kind: log_uniform, rows: 7, weight_cap: 0.1",
        "kind: dwta, tables: 4, bits: 3",
        "kind: simhash, refresh_batches: 1, uniform_rows: 0",
    };
    for (size_t k = 0; k < sizeof(samplers) / sizeof(samplers[0]); k++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "skein: 1\ndata: { train: t }\nmodel: { layers: [ { "
                       "name: h }, { name: o, sampler: { %s } } ] }\n",
                       samplers[k]);
        expect_round(text);
    }
}

Test(model_write, awkward_paths_read_as_the_same)
{
    static const char *const paths[] = {
        "\"a: b\"",          "\"#c\"",    "\"it's\"",
        "\"say \\\"x\\\"\"", "\"1\"",     "\"true\"",
        "\"null\"",          "\"~\"",     "\"a\\tb\"",
        "\"[x, y]\"",        "\" lead\"", "\"back\\\\slash\"",
        "\"\u00e4\u4e2d\"",
    };
    for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "skein: 1\ndata: { train: %s }\nmodel: { layers: [ { "
                       "name: h }, { name: o } ] }\nplugins: [ %s, x ]\n",
                       paths[k], paths[k]);
        expect_round(text);
    }
}

Test(model_write, cores_in_each_form_read_as_the_same)
{
    expect_round(FIXTURE "resources: { cores: auto }\n");
    expect_round(FIXTURE "resources: { cores: 1 }\n");
    expect_round(FIXTURE "resources: { cores: 4096 }\n");
    expect_round(FIXTURE "resources: { cores: [4095, 0, 7] }\n");
}

Test(model_write, nodes_and_links_read_as_the_same)
{
    expect_round(FIXTURE "nodes: [{ name: a }]\n");
    expect_round(FIXTURE
                 "nodes:\n"
                 "  - { name: a, address: \"tcp://10.0.0.1:7001\", key: a.key, "
                 "cores: [3, 1], memory: 8GiB }\n"
                 "  - { name: b, address: \"tcp://[fe80::1]:7001\", key: b, "
                 "cores: 2-5, ssh: me@b }\n"
                 "links: { coding: int4, rate: 1.25e7 }\n");
}

Test(model_write, a_full_disk_is_reported)
{
    skn_error_t error = { 0 };
    skn_model_t *model = fixture_good(FIXTURE);
    FILE *file = fopen("/dev/full", "w");
    cr_assert(file);
    cr_expect(skn_model_write(model, file, &error) == SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing the model: No space left on device");
    (void)fclose(file);
    skn_model_destroy(&model);
}

/* --- values that a plan decided ------------------------------------------- */

Test(model_write, decided_values_that_mean_nothing_are_left_out)
{
    skn_model_t *model = fixture_good(FIXTURE);
    skn_error_t error = { 0 };
    char *text = NULL, *said = NULL;
    size_t bytes = 0;
    /* As topology/plan/plan_make.c completes a model: the reader made the
     * layers. */
    skn_model_layer_t *output =
        (skn_model_layer_t *)(uintptr_t)&model->layers[1];
    output->sampler.kind = SKN_SAMPLER_UNIFORM;
    output->sampler.rows = 3072;
    output->sampler.tables = 50;
    output->index_lag = 4;
    model->train.schedule.kind = SKN_SCHEDULE_CONSTANT;
    model->train.schedule.warmup_batches = 0;
    model->train.optimizer.kind = SKN_OPTIMIZER_SGD;
    model->train.optimizer.beta1 = 0.5;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_eq(skn_model_write(model, file, &error), SKN_OK);
    (void)fclose(file);
    cr_expect(strstr(text, "rows: 3072"), "%s", text);
    cr_expect_null(strstr(text, "tables"));
    cr_expect_null(strstr(text, "index_lag"));
    cr_expect_null(strstr(text, "warmup_batches"));
    cr_expect_null(strstr(text, "beta1"));
    skn_model_t *again = fixture_read(text, &said);
    cr_expect(again, "%s", said);
    skn_model_destroy(&again);
    skn_model_destroy(&model);
    free(text);
    free(said);
}
