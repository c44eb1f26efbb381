/* test_model.c - tests that a model file becomes a model, or a list of
 * messages.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/model_fixture.h"
#include "topology/model/model_tables.h"

#define CONFIGS "configs/"
#define LISTED(NAME, word) ", " #word

static skn_model_t *
read_file(const char *path, const char *const *overrides, size_t count)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    cr_assert(problems);
    cr_expect(skn_model_read(path, overrides, count, &model, problems,
                             &error) == SKN_OK,
              "%s", error.text);
    skn_problems_destroy(&problems);
    cr_assert(model);
    return model;
}

/* Reads a file that must be refused; fills `error`. */
static void
expect_refused(const char *path, const char *override, skn_status_t status,
               const char *sentence, const char *hint)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    cr_assert(problems);
    cr_expect(skn_model_read(path, &override, override ? 1 : 0, &model,
                             problems, &error) == status,
              "%s", override);
    cr_expect_null(model);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_str_eq(error.hint, hint);
    skn_problems_destroy(&problems);
}

/* --- what is good -------------------------------------------------------- */

Test(model, the_shortest_file_gets_every_default)
{
    skn_model_t *model = fixture_good(FIXTURE);
    cr_expect_str_eq(model->name, "m");
    cr_expect_str_eq(model->source, "m.yaml");
    cr_expect_str_eq(model->data.train, "t");
    cr_expect_str_eq(model->data.test, "");
    cr_expect(model->data.normalize == SKN_NORMALIZE_L2);
    cr_expect_str_eq(model->data.cache, "auto");
    cr_expect(model->data.memory_bytes == 1ll << 30);
    cr_expect(model->plugin_count == 0);
    const skn_model_train_t *train = &model->train;
    cr_expect(train->seed == 1 && train->batch_rows == SKN_AUTO);
    cr_expect(train->epochs == SKN_AUTO && train->max_batches == 0);
    cr_expect(train->window == SKN_AUTO && train->order == SKN_ORDER_FIXED);
    cr_expect(train->reduction == SKN_REDUCTION_FAST);
    cr_expect(train->updates == SKN_UPDATES_LOAN);
    cr_expect(train->validate == 0.0 && train->patience == SKN_AUTO);
    cr_expect(train->optimizer.kind == SKN_OPTIMIZER_AUTO);
    cr_expect(train->optimizer.rate < 0.0);
    cr_expect(train->optimizer.beta1 == 0.9 && train->optimizer.beta2 == 0.999);
    cr_expect(train->optimizer.epsilon == 1e-8);
    cr_expect(train->optimizer.weight_decay == 0.0);
    cr_expect(train->schedule.kind == SKN_SCHEDULE_AUTO);
    cr_expect(train->schedule.warmup_batches == SKN_AUTO);
    cr_expect(train->schedule.floor == 0.0);
    cr_expect(train->evaluate.every_epochs == 1 && train->evaluate.rows == 0);
    cr_expect(train->evaluate.topk == 5);
    cr_expect(train->evaluate.sampler_batches == 0);
    cr_expect_str_eq(model->checkpoint.path, "");
    cr_expect(model->checkpoint.every_batches == SKN_AUTO);
    cr_expect(model->checkpoint.every_epochs == 1);
    cr_expect(model->checkpoint.keep == 3);
    cr_expect(model->resources.cores.limit == SKN_AUTO);
    cr_expect(model->resources.cores.count == 0);
    cr_expect(model->resources.memory_bytes == SKN_AUTO);
    cr_expect(model->resources.huge_pages);
    skn_model_destroy(&model);
    cr_expect_null(model);
    skn_model_destroy(&model);
}

Test(model, layers_get_the_defaults_of_both_sorts)
{
    skn_model_t *model = fixture_good(FIXTURE);
    cr_assert(model->layer_count == 2);
    for (size_t k = 0; k < 2; k++) {
        const skn_model_layer_t *layer = &model->layers[k];
        cr_expect_str_eq(layer->name, k == 0 ? "hidden" : "output");
        cr_expect(layer->output == (k == 1));
        cr_expect(layer->shards == SKN_AUTO && layer->init_std == 0.05);
        cr_expect(layer->units == SKN_AUTO && layer->dropout < 0.0);
        cr_expect(layer->activation == SKN_ACTIVATION_RELU);
        cr_expect(layer->loss == SKN_LOSS_AUTO);
        cr_expect(layer->weights == SKN_WEIGHTS_AUTO);
        cr_expect(layer->index_lag == SKN_AUTO);
        cr_expect(layer->sampler.kind == SKN_SAMPLER_AUTO);
        cr_expect(layer->sampler.rows == SKN_AUTO && layer->sampler.labels);
        cr_expect(layer->sampler.tables == SKN_AUTO);
        cr_expect(layer->sampler.bits == SKN_AUTO);
        cr_expect(layer->sampler.refresh_batches == SKN_AUTO);
        cr_expect(layer->sampler.uniform_rows == SKN_AUTO);
        cr_expect(layer->sampler.weight_cap == 0.0);
    }
    skn_model_destroy(&model);
}

Test(model, what_is_set_is_found)
{
    skn_model_t *model = fixture_good(
        "skein: 1\n"
        "data: { train: /d/t, test: e, normalize: none, cache: c, memory: "
        "2MiB }\n"
        "plugins: [a.so, /b.so]\n"
        "model: { layers: [\n"
        "  { name: h1, units: 64, dropout: 0.5, shards: 2, init_std: 0.1 },\n"
        "  { name: h2, units: 32 },\n"
        "  { name: out, loss: one_vs_all, weights: bf16, shards: 3,\n"
        "    index_lag: 8, sampler: { kind: simhash, rows: 100, labels: false,"
        "\n    tables: 50, bits: 9, refresh_batches: 64, uniform_rows: 10,\n"
        "    weight_cap: 20.5 } } ] }\n"
        "train: { seed: 7, batch_rows: 32, epochs: 2, max_batches: 9, window: "
        "3,\n  order: free, updates: copy, validate: 0.1,\n"
        "  optimizer: { kind: adam, rate: 1e-3, beta1: 0.8, beta2: 0.99,\n"
        "    epsilon: 1e-6, weight_decay: 0.01 },\n"
        "  schedule: { kind: cosine, warmup_batches: 5, floor: 0.1 },\n"
        "  evaluate: { every_epochs: 0, rows: 4096, topk: 3,\n"
        "    sampler_batches: 9 } }\n"
        "checkpoint: { path: runs/x, every_batches: 500, every_epochs: 0,\n"
        "  keep: 1 }\n"
        "resources: { cores: [0, 2], memory: 8GiB, huge_pages: false }\n");
    cr_expect_str_eq(model->data.train, "/d/t");
    cr_expect(model->data.normalize == SKN_NORMALIZE_NONE);
    cr_expect(model->data.memory_bytes == 2 << 20);
    cr_assert(model->plugin_count == 2);
    cr_expect_str_eq(model->plugins[1], "/b.so");
    cr_assert(model->layer_count == 3);
    cr_expect(model->layers[0].units == 64 && model->layers[0].dropout == 0.5);
    cr_expect(model->layers[0].init_std == 0.1 && !model->layers[1].output);
    const skn_model_layer_t *out = &model->layers[2];
    cr_expect(out->output && out->loss == SKN_LOSS_ONE_VS_ALL);
    cr_expect(out->weights == SKN_WEIGHTS_BF16 && out->index_lag == 8);
    cr_expect(out->shards == 3 && out->sampler.kind == SKN_SAMPLER_SIMHASH);
    cr_expect(out->sampler.rows == 100 && !out->sampler.labels);
    cr_expect(out->sampler.tables == 50 && out->sampler.bits == 9);
    cr_expect(out->sampler.refresh_batches == 64);
    cr_expect(out->sampler.uniform_rows == 10);
    cr_expect(out->sampler.weight_cap == 20.5);
    const skn_model_train_t *train = &model->train;
    cr_expect(train->seed == 7 && train->batch_rows == 32);
    cr_expect(train->epochs == 2 && train->max_batches == 9);
    cr_expect(train->window == 3 && train->order == SKN_ORDER_FREE);
    cr_expect(train->updates == SKN_UPDATES_COPY);
    cr_expect(train->validate == 0.1);
    cr_expect(train->patience == SKN_AUTO);
    cr_expect(train->optimizer.kind == SKN_OPTIMIZER_ADAM);
    cr_expect(train->optimizer.rate == 1e-3);
    cr_expect(train->schedule.kind == SKN_SCHEDULE_COSINE);
    cr_expect(train->evaluate.rows == 4096 && train->evaluate.topk == 3);
    cr_expect(train->evaluate.sampler_batches == 9);
    cr_expect_str_eq(model->checkpoint.path, "runs/x");
    cr_expect(model->checkpoint.every_batches == 500);
    cr_assert(model->resources.cores.count == 2);
    cr_expect(model->resources.cores.list[0] == 0 &&
              model->resources.cores.list[1] == 2);
    cr_expect(model->resources.memory_bytes == 8ll << 30);
    cr_expect_not(model->resources.huge_pages);
    skn_model_destroy(&model);
}

Test(model, cores_are_a_number_or_a_list)
{
    skn_model_t *model = fixture_good(FIXTURE "resources: { cores: 4 }\n");
    cr_expect(model->resources.cores.limit == 4);
    cr_expect(model->resources.cores.count == 0);
    skn_model_destroy(&model);
    model = fixture_good(FIXTURE "resources: { cores: [4095] }\n");
    cr_expect(model->resources.cores.limit == SKN_AUTO);
    cr_assert(model->resources.cores.count == 1);
    cr_expect(model->resources.cores.list[0] == 4095);
    skn_model_destroy(&model);
}

Test(model, sections_may_be_empty)
{
    skn_model_t *model = fixture_good(
        FIXTURE "train:\ncheckpoint: {}\nresources: ~\nplugins: []\n");
    cr_expect(model->train.seed == 1);
    skn_model_destroy(&model);
}

Test(model, ranges_include_their_ends)
{
    skn_model_t *model = fixture_good(
        FIXTURE "train: { window: 1, batch_rows: 65536, validate: 0.5 }\n");
    cr_expect(model->train.window == 1 && model->train.batch_rows == 65536);
    skn_model_destroy(&model);
    model = fixture_good(FIXTURE "train: { window: 64, batch_rows: 1, "
                                 "validate: 0, patience: 0 }\n");
    cr_expect(model->train.window == 64 && model->train.batch_rows == 1);
    skn_model_destroy(&model);
}

Test(model, patience_follows_validate_unless_it_is_set)
{
    skn_model_t *model =
        fixture_good(FIXTURE "train: { validate: 0.1, patience: 0 }\n");
    cr_expect(model->train.patience == 0);
    skn_model_destroy(&model);
    model = fixture_good(FIXTURE "train: { validate: 0.1, patience: 9 }\n");
    cr_expect(model->train.patience == 9);
    skn_model_destroy(&model);
}

/* --- files and overrides ------------------------------------------------- */

Test(model, every_file_of_configs_is_good)
{
    static const char *const names[] = { "sample", "xmc", "wnhyp", "wnrel" };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        char path[64];
        (void)snprintf(path, sizeof(path), CONFIGS "%s.yaml", names[k]);
        skn_model_t *model = read_file(path, NULL, 0);
        cr_expect_str_eq(model->name, names[k]);
        cr_expect_str_eq(model->source, path);
        skn_model_destroy(&model);
    }
}

Test(model, the_sample_has_every_default_that_it_claims)
{
    skn_model_t *sample = read_file(CONFIGS "sample.yaml", NULL, 0);
    skn_model_t *shortest = fixture_good(FIXTURE "train: { validate: 0.05 }\n");
    const skn_model_layer_t *hidden = &sample->layers[0];
    cr_expect_str_eq(sample->train.optimizer.offload_path,
                     shortest->train.optimizer.offload_path);
    shortest->train.optimizer.offload_path =
        sample->train.optimizer.offload_path;
    cr_expect(memcmp(&sample->train, &shortest->train, sizeof(sample->train)) ==
              0);
    cr_expect(sample->data.memory_bytes == shortest->data.memory_bytes);
    cr_expect(sample->checkpoint.keep == shortest->checkpoint.keep);
    cr_expect(sample->checkpoint.every_epochs ==
              shortest->checkpoint.every_epochs);
    cr_expect(hidden->units == SKN_AUTO && hidden->dropout < 0.0);
    cr_expect(hidden->init_std == shortest->layers[0].init_std);
    cr_expect(sample->resources.cores.limit == SKN_AUTO);
    cr_expect(sample->links.coding == shortest->links.coding);
    cr_expect(sample->links.rate == shortest->links.rate);
    cr_expect(!sample->idle.enabled && !shortest->idle.enabled);
    cr_expect(sample->idle.reserve_cores == shortest->idle.reserve_cores);
    cr_expect(sample->idle.share == shortest->idle.share);
    cr_expect(sample->idle.memory == shortest->idle.memory);
    cr_expect(sample->idle.bandwidth == shortest->idle.bandwidth);
    cr_expect(sample->idle.grace_s == shortest->idle.grace_s);
    cr_expect(sample->idle.notice.every_s == shortest->idle.notice.every_s);
    skn_model_destroy(&sample);
    skn_model_destroy(&shortest);
}

/* Every key of the section stands in the text, as a key. */
static void
expect_keys(const skn_section_t *section, const char *text)
{
    for (const skn_option_t *option = section->options; option->name;
         option++) {
        char key[80], line[80];
        (void)snprintf(key, sizeof(key), " %s: ", option->name);
        (void)snprintf(line, sizeof(line), "\n%s: ", option->name);
        cr_expect(strstr(text, key) || strstr(text, line),
                  "%s.%s is not in the sample", section->path, option->name);
    }
    for (const skn_part_t *part = section->parts; part->name; part++)
        if (part->section && part->form != SKN_FORM_NODES)
            expect_keys(part->section, text);
}

Test(model, the_sample_has_every_key)
{
    static const char *const names[] = { CONFIGS "sample.yaml",
                                         CONFIGS "sample_decoder.yaml" };
    char text[32768] = "";
    for (size_t k = 0; k < 2; k++) {
        size_t used = strlen(text);
        FILE *file = fopen(names[k], "r");
        cr_assert(file);
        cr_assert(fread(text + used, 1, sizeof(text) - 1 - used, file) > 0);
        (void)fclose(file);
    }
    expect_keys(&skn_model_section, text);
    expect_keys(&skn_hidden_section, text);
    expect_keys(&skn_output_section, text);
}

Test(model, every_key_of_idle_is_read_and_its_file_starts_at_the_folder)
{
    static const char *const overrides[] = {
        "idle.enabled=true",
        "idle.reserve_cores=2",
        "idle.share=0.75",
        "idle.memory=0.25",
        "idle.bandwidth=12.5",
        "idle.grace_s=0",
        "idle.notice.command=test -e x",
        "idle.notice.every_s=0.5",
    };
    skn_model_t *model = read_file(CONFIGS "sample.yaml", overrides,
                                   sizeof(overrides) / sizeof(overrides[0]));
    cr_expect(model->idle.enabled);
    cr_expect_eq(model->idle.reserve_cores, 2);
    cr_expect_eq(model->idle.share, 0.75);
    cr_expect_eq(model->idle.memory, 0.25);
    cr_expect_eq(model->idle.bandwidth, 12.5);
    cr_expect_eq(model->idle.grace_s, 0);
    cr_expect_str_eq(model->idle.notice.file, "");
    cr_expect_str_eq(model->idle.notice.command, "test -e x");
    cr_expect_eq(model->idle.notice.every_s, 0.5);
    skn_model_destroy(&model);
    model = fixture_good(FIXTURE "idle: { notice: { file: leave } }\n");
    cr_expect_str_eq(model->idle.notice.file, "leave");
    skn_model_destroy(&model);
}

Test(model, the_word_nets_are_trained_as_measured)
{
    skn_model_t *model = read_file(CONFIGS "wnhyp.yaml", NULL, 0);
    cr_expect_str_eq(model->data.train, CONFIGS "../data/wnhyp/train.txt.zst");
    cr_expect(model->layers[1].sampler.kind == SKN_SAMPLER_EXACT);
    cr_expect(model->layers[0].units == 128 && model->train.epochs == 8);
    cr_expect(model->train.batch_rows == 256);
    cr_expect(model->train.optimizer.rate == 3e-3);
    skn_model_destroy(&model);
    model = read_file(CONFIGS "wnrel.yaml", NULL, 0);
    cr_expect(model->layers[1].sampler.kind == SKN_SAMPLER_UNIFORM);
    cr_expect(model->layers[1].sampler.rows == 3072);
    cr_expect(model->layers[1].sampler.labels);
    cr_expect(model->train.batch_rows == 256 && model->train.epochs == 14);
    cr_expect(model->train.schedule.kind == SKN_SCHEDULE_COSINE);
    cr_expect(model->train.optimizer.rate == 3e-3);
    skn_model_destroy(&model);
}

Test(model, overrides_reach_values_layers_and_sections)
{
    static const char *const overrides[] = {
        "train.window=2",
        "model.layers.hidden.units=64",
        "model.layers.output.sampler={kind: uniform, rows: 10}",
        "resources.cores=[1, 0]",
        "data.train=my/train.txt",
    };
    skn_model_t *model = read_file(CONFIGS "sample.yaml", overrides, 5);
    cr_expect(model->train.window == 2);
    cr_expect(model->layers[0].units == 64);
    cr_expect(model->layers[2].sampler.kind == SKN_SAMPLER_UNIFORM);
    cr_expect(model->layers[2].sampler.rows == 10);
    cr_expect(model->resources.cores.count == 2);
    cr_expect_str_eq(model->data.train, "my/train.txt");
    skn_model_destroy(&model);
}

Test(model, files_of_data_may_be_a_list)
{
    static const char *const overrides[] = { "data.train=[my/a.csv, /b.csv]" };
    skn_model_t *model = read_file(CONFIGS "sample.yaml", overrides, 1);
    cr_expect_str_eq(model->data.train, "my/a.csv\n/b.csv");
    skn_model_destroy(&model);
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    const char text[] = "skein: 1\n"
                        "data: { train: [a, /b], test: [c] }\n"
                        "model: { layers: [ { name: h }, { name: o } ] }\n";
    cr_expect_eq(skn_model_parse(text, strlen(text), "d/m.yaml", NULL, 0,
                                 &model, problems, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(model->data.train, "d/a\n/b");
    cr_expect_str_eq(model->data.test, "d/c");
    skn_model_destroy(&model);
    skn_problems_destroy(&problems);
    fixture_refused("skein: 1\ndata: { train: [a, [b]] }\n"
                    "model: { layers: [ { name: h }, { name: o } ] }\n",
                    "m.yaml:2:20: option 'train' of data must be a list of "
                    "paths, found a list\n");
    fixture_refused("skein: 1\ndata: { train: a, cache: [b] }\n"
                    "model: { layers: [ { name: h }, { name: o } ] }\n",
                    "m.yaml:2:26: option 'cache' of data must be a path, found "
                    "a list\n");
}

Test(model, a_bad_override_is_named_as_it_was_typed)
{
    expect_refused(CONFIGS "sample.yaml", "train.window=65", SKN_BAD_CONFIG,
                   "-o train.window=65: option 'window' of train must be in "
                   "1..64 or auto, found '65'",
                   "");
    expect_refused(CONFIGS "sample.yaml", "train.windwo=2", SKN_BAD_CONFIG,
                   "-o train.windwo=2: unknown option 'windwo' of train",
                   "did you mean 'window'?");
}

Test(model, a_missing_file_is_reported)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    cr_expect(skn_model_read("no/such.yaml", NULL, 0, &model, problems,
                             &error) == SKN_NO_INPUT);
    cr_expect_null(model);
    cr_expect(strstr(error.text, "no/such.yaml"), "%s", error.text);
    skn_problems_destroy(&problems);
}

Test(model, the_name_is_the_files_without_folder_and_ending)
{
    char folder[] = "/tmp/skein_model_XXXXXX";
    static const char *const cases[][2] = {
        { "a.yaml", "a" },     { "a.b.yml", "a.b" },
        { "plain", "plain" },  { "x.txt", "x.txt" },
        { ".yaml", "_yaml" },  { "-a.yml", "_a" },
        { "a b.yaml", "a_b" }, { "\xc3\xbc-1.yml", "__-1" },
    };
    cr_assert(mkdtemp(folder));
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char path[64], train[64];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, cases[k][0]);
        (void)snprintf(train, sizeof(train), "%s/t", folder);
        FILE *file = fopen(path, "w");
        cr_assert(file);
        (void)fputs(FIXTURE "plugins: [p.so]\n", file);
        cr_assert(fclose(file) == 0);
        skn_model_t *model = read_file(path, NULL, 0);
        cr_expect_str_eq(model->name, cases[k][1]);
        cr_expect_str_eq(model->data.train, train);
        cr_expect_str_eq(model->data.cache, "auto", "a word is no path");
        cr_expect_str_eq(model->data.test, "", "nothing is no path");
        (void)snprintf(train, sizeof(train), "%s/p.so", folder);
        cr_expect_str_eq(model->plugins[0], train);
        skn_model_destroy(&model);
        cr_expect(unlink(path) == 0);
    }
    cr_expect(rmdir(folder) == 0);
}

/* --- golden sentences ---------------------------------------------------- */

typedef struct golden {
    const char *more, *want; /* what follows the fixture, what is said */
} golden_t;

static const golden_t mistakes[] = {
    { "train: { window: 0 }\n",
      "m.yaml:7:18: option 'window' of train must be in 1..64 or auto, "
      "found '0'\n" },
    { "train: { window: many }\n",
      "m.yaml:7:18: option 'window' of train must be an integer or auto, "
      "found 'many'\n" },
    { "train: { validate: 0.51 }\n",
      "m.yaml:7:20: option 'validate' of train must be in 0..0.5, found "
      "'0.51'\n" },
    { "train: { order: fixd }\n",
      "m.yaml:7:17: option 'order' of train must be one of fixed, free, "
      "found 'fixd'; did you mean 'fixed'?\n" },
    { "train: { optimizer: adam }\n",
      "m.yaml:7:21: train.optimizer must be a mapping, found 'adam'\n" },
    { "train: { optimizer: { kind: adma } }\n",
      "m.yaml:7:29: option 'kind' of train.optimizer must be one of auto, "
      "adam, adagrad, sgd, found 'adma'; did you mean 'adam'?\n" },
    { "train: 3\n", "m.yaml:7:8: train must be a mapping, found '3'\n" },
    { "tain: {}\n",
      "m.yaml:7:1: unknown option 'tain' of the model file; did you mean "
      "'train'?\n" },
    { "idle: { enabled: maybe, grace_s: -1 }\n",
      "m.yaml:7:18: option 'enabled' of idle must be true or false, found "
      "'maybe'\n"
      "m.yaml:7:34: option 'grace_s' of idle must be in 0..3600, found "
      "'-1'\n" },
    { "idle: { notice: { comand: x, every_s: 0 } }\n",
      "m.yaml:7:19: unknown option 'comand' of idle.notice; did you mean "
      "'command'?\n"
      "m.yaml:7:39: option 'every_s' of idle.notice must be in 0.1..3600, "
      "found '0'\n" },
    { "links: 0\nrecovery: rollback\n",
      "m.yaml:7:8: links must be a mapping, found '0'\n"
      "m.yaml:8:1: unknown option 'recovery' of the model file; it has skein, "
      "data, plugins, model, train, checkpoint, resources, nodes, links, "
      "coordinator, idle\n" },
    { "plugins: a.so\n",
      "m.yaml:7:10: 'plugins' must be a list of paths, found 'a.so'\n" },
    { "plugins: [a.so, [b.so], \"\"]\n",
      "m.yaml:7:17: an item of 'plugins' must be a path, found a list\n"
      "m.yaml:7:25: an item of 'plugins' must be a path, found ''\n" },
    { "resources: { cores: 0 }\n",
      "m.yaml:7:21: 'cores' of resources must be auto, a number in "
      "1..4096, a range such as 0-3 or a list of numbers, found '0'\n" },
    { "resources: { cores: [] }\n",
      "m.yaml:7:21: 'cores' of resources must be auto, a number in "
      "1..4096, a range such as 0-3 or a list of numbers, found an empty "
      "list\n" },
    { "resources: { cores: [0, 1, 0, 4096, x] }\n",
      "m.yaml:7:28: core 0 is in 'cores' twice\n"
      "m.yaml:7:31: an item of 'cores' must be in 0..4095, found '4096'\n"
      "m.yaml:7:37: an item of 'cores' must be in 0..4095, found 'x'\n" },
    { "resources: { memory: 8GB }\n",
      "m.yaml:7:22: option 'memory' of resources must be an integer or a "
      "size such as 8GiB or auto, found '8GB'\n" },
    { "resources: { memory: 0 }\n",
      "m.yaml:7:22: option 'memory' of resources must be at least 1 or "
      "auto, found '0'\n" },
    { "resources: { huge_pages: 1 }\n",
      "m.yaml:7:26: option 'huge_pages' of resources must be true or "
      "false, found '1'\n" },
    { "checkpoint: { keep: 0 }\n",
      "m.yaml:7:21: option 'keep' of checkpoint must be in 1..1000000, found "
      "'0'\n" },
};

Test(model, each_mistake_has_its_sentence)
{
    for (size_t k = 0; k < sizeof(mistakes) / sizeof(mistakes[0]); k++) {
        char text[512];
        (void)snprintf(text, sizeof(text), FIXTURE "%s", mistakes[k].more);
        fixture_refused(text, mistakes[k].want);
    }
}

/* A file with `layers` as its model's layers, on line 3 from column 18. */
#define LAYERS(layers)                                                         \
    "skein: 1\ndata: { train: t }\nmodel: { layers: " layers " }\n"

static const golden_t layer_mistakes[] = {
    { LAYERS("[ { name: h, units: 0 }, { name: o } ]"),
      "m.yaml:3:38: option 'units' of layer 'h' must be in 1..65536 or "
      "auto, found '0'\n" },
    { LAYERS("[ { units: 1 }, { name: o } ]"),
      "m.yaml:3:20: option 'name' of layer 1 is missing; name: name of "
      "the layer, for overrides, checkpoints and reports\n" },
    { LAYERS("[ { name: h, loss: softmax }, { name: o } ]"),
      "m.yaml:3:31: 'loss' is for the last layer, and others follow; put the "
      "output layer at the end\n" },
    { LAYERS("[ { name: h, sampler: {} }, { name: o } ]"),
      "m.yaml:3:31: 'sampler' is for the last layer, and others follow; "
      "put the output layer at the end\n" },
    { LAYERS("[ { name: h }, { name: o, dropout: 0.5 } ]"),
      "m.yaml:3:44: 'dropout' is for hidden layers, and this is the last "
      "one; the last layer has one row per label\n" },
    { LAYERS("[ { name: h, unit: 3 }, { name: o } ]"),
      "m.yaml:3:31: unknown option 'unit' of layer 'h'; did you mean "
      "'units'?\n" },
    { LAYERS("[ { name: h }, { name: o, sampler: { kind: unifrm } } ]"),
      "m.yaml:3:61: option 'kind' of the sampler of layer 'o' must be one "
      "of auto" SKN_SAMPLER_NAMES(
          LISTED) ", found "
                  "'unifrm'; did you mean 'uniform'?\n" },
    { LAYERS("[ { name: h }, { name: o, sampler: { kind: cluster } } ]"),
      "m.yaml:3:61: option 'kind' of the sampler of layer 'o' must be one "
      "of auto" SKN_SAMPLER_NAMES(LISTED) ", found "
                                          "'cluster'\n" },
    { LAYERS("[ { name: h } ]"),
      "m.yaml:3:18: a model has at least a hidden and an output layer, "
      "found 1; for example: layers: [{ name: hidden }, { name: output "
      "}]\n" },
    { LAYERS("[]"),
      "m.yaml:3:18: a model has at least a hidden and an output layer, "
      "found 0; for example: layers: [{ name: hidden }, { name: output "
      "}]\n" },
    { LAYERS("5"),
      "m.yaml:3:18: 'layers' of model must be a list of layers, found "
      "'5'; for example: layers: [{ name: hidden }, { name: output }]; of a "
      "transformer, set kind: decoder\n" },
    { "skein: 1\ndata: { train: t }\n"
      "model: { kind: decoder, layers: 2, width: 64, heads: 4, layer: 4 }\n",
      "m.yaml:3:57: unknown option 'layer' of model; did you mean "
      "'layers'?\n" },
    { LAYERS("[ 5, { name: o } ]"),
      "m.yaml:3:20: layer 1 must be a mapping, found '5'\n" },
    { LAYERS(""),
      "m.yaml:3:10: 'layers' of model is missing; for example: layers: [{ "
      "name: hidden }, { name: output }]\n" },
    { "skein: 1\ndata: { train: t }\n",
      "m.yaml:1:1: 'layers' of model is missing; for example: layers: [{ "
      "name: hidden }, { name: output }]\n" },
};

Test(model, each_mistake_in_a_layer_has_its_sentence)
{
    for (size_t k = 0; k < sizeof(layer_mistakes) / sizeof(layer_mistakes[0]);
         k++)
        fixture_refused(layer_mistakes[k].more, layer_mistakes[k].want);
}

Test(model, a_model_has_at_most_64_layers)
{
    char text[4096], *at = text;
    for (int hidden = 63; hidden <= 64; hidden++) {
        at = text + snprintf(text, sizeof(text),
                             "skein: 1\ndata: { train: t "
                             "}\nmodel: { layers: [ ");
        for (int k = 0; k < hidden; k++)
            at += snprintf(at, 32, "{ name: h%d }, ", k);
        (void)snprintf(at, 32, "{ name: o } ] }\n");
        if (hidden == 64) {
            fixture_refused(text, "m.yaml:3:18: a model has at most 64 layers, "
                                  "found 65\n");
        } else {
            skn_model_t *model = fixture_good(text);
            cr_expect(model->layer_count == 64);
            skn_model_destroy(&model);
        }
    }
}

Test(model, version_and_training_points_are_required)
{
    fixture_refused("data: { train: t }\nmodel: { layers: [ { name: h }, { "
                    "name: o } ] }\n",
                    "m.yaml:1:1: option 'skein' of the model file is missing; "
                    "skein: format version of the file\n");
    fixture_refused("skein: 2\ndata: { train: t }\nmodel: { layers: [ { name: "
                    "h }, { name: o } ] }\n",
                    "m.yaml:1:8: option 'skein' of the model file must be 1, "
                    "found '2'\n");
    fixture_refused("skein: 1\nmodel: { layers: [ { name: h }, { name: o } ] "
                    "}\n",
                    "m.yaml:1:1: option 'train' of data is missing; train: "
                    "training file, plain or compressed (.gz, .zst): rows of "
                    "texts and labels, or numbered features; for a decoder: "
                    "text; or a folder, a pattern such as data/*.csv, or a "
                    "list of these\n");
}

Test(model, all_mistakes_are_reported_in_one_pass)
{
    fixture_refused(
        "skein: 2\n"
        "data: { trian: t, memory: 0 }\n"
        "model: { layers: [ { name: h, units: 0 }, { name: o, units: 3 } ] }\n"
        "train: { patience: 2 }\n"
        "nodes: 1\n",
        "m.yaml:1:8: option 'skein' of the model file must be 1, found '2'\n"
        "m.yaml:2:7: option 'train' of data is missing; train: training "
        "file, plain or compressed (.gz, .zst): rows of texts and labels, or "
        "numbered features; for a decoder: text; or a folder, a pattern such "
        "as data/*.csv, or a list of these\n"
        "m.yaml:2:9: unknown option 'trian' of data; did you mean 'train'?\n"
        "m.yaml:2:27: option 'memory' of data must be at least 1, found '0'\n"
        "m.yaml:3:38: option 'units' of layer 'h' must be in 1..65536 or "
        "auto, found '0'\n"
        "m.yaml:3:54: 'units' is for hidden layers, and this is the last one; "
        "the last layer has one row per label\n"
        "m.yaml:4:20: 'patience' needs points that are held back, but "
        "'validate' is 0; set 'validate', for example 0.05\n"
        "m.yaml:5:8: 'nodes' must be a list of nodes, found '1'\n");
}

/* --- corrupted files ----------------------------------------------------- */

Test(model, a_sample_cut_at_any_byte_is_read_or_refused)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *file = fopen(CONFIGS "sample.yaml", "r");
    cr_assert(file);
    text = calloc(1, 16384);
    cr_assert(text);
    text_bytes = fread(text, 1, 16383, file);
    (void)fclose(file);
    for (size_t cut = 0; cut < text_bytes; cut += 3) {
        char *said = NULL, left = text[cut];
        text[cut] = '\0';
        skn_model_t *model = fixture_read(text, &said);
        skn_model_destroy(&model);
        free(said);
        text[cut] = left;
    }
    free(text);
}
