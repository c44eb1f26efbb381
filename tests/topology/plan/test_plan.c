/* test_plan.c - tests the values that `auto` becomes, and their independence of
 * the machine; the sizes that a plan states (topology/plan/plan_make.c, and
 * with it cli/verb_plan.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "actors/protocol/block.h"
#include "tests/support/model_fixture.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"
#include "topology/plan/plan.h"

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];

static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/t.txt", folder);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(plan, .init = set_up, .fini = tear_down, .timeout = 60);

/* `points` points of one label (k * step) and two features. */
static void
write_data(uint32_t points, uint32_t features, uint32_t labels, uint32_t step)
{
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "%u %u %u\n", points, features, labels);
    for (uint32_t k = 0; k < points; k++)
        (void)fprintf(out, "%u %u:1 %u:2\n", k * step % labels, k % features,
                      k % features + 1 < features ? k % features + 1 : 0);
    cr_assert_eq(fclose(out), 0);
}

/* A model over the file; `hidden`, `output`, `rest` go into its text. */
static skn_model_t *
model_of(const char *hidden, const char *output, const char *rest)
{
    char text[4096];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
                   "  layers:\n    - { name: hidden%s }\n"
                   "    - { name: output%s }\n%s",
                   file, hidden, output, rest);
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

static const skn_model_layer_t *
output_of(const skn_model_t *model)
{
    return &model->layers[model->layer_count - 1];
}

Test(plan, nothing_stays_auto)
{
    write_data(100, 20, 50, 1);
    skn_model_t *model = model_of("", "", "");
    skn_plan_t plan = plan_of(model, 2);
    const skn_model_layer_t *hidden = &model->layers[0];
    const skn_model_layer_t *output = output_of(model);
    cr_expect_gt(model->train.batch_rows, 0);
    cr_expect_gt(model->train.window, 0);
    cr_expect_gt(model->train.epochs, 0);
    cr_expect_neq(model->train.optimizer.kind, SKN_OPTIMIZER_AUTO);
    cr_expect_gt(model->train.optimizer.rate, 0);
    cr_expect_neq(model->train.schedule.kind, SKN_SCHEDULE_AUTO);
    cr_expect_gt(hidden->units, 0);
    cr_expect_geq(hidden->dropout, 0);
    cr_expect_gt(hidden->shards, 0);
    cr_expect_neq(output->loss, SKN_LOSS_AUTO);
    cr_expect_neq(output->sampler.kind, SKN_SAMPLER_AUTO);
    cr_expect_gt(output->shards, 0);
    cr_expect_eq(plan.model, model);
    skn_model_destroy(&model);
}

Test(plan, patience_follows_validate)
{
    write_data(100, 20, 50, 1);
    skn_model_t *model = model_of("", "", "");
    (void)plan_of(model, 1);
    cr_expect_eq(model->train.patience, 0, "no points are held back");
    skn_model_destroy(&model);
    model = model_of("", "", "train: { validate: 0.2 }\n");
    (void)plan_of(model, 1);
    cr_expect_eq(model->train.patience, 3);
    skn_model_destroy(&model);
    model = model_of("", "", "train: { validate: 0.2, patience: 7 }\n");
    (void)plan_of(model, 1);
    cr_expect_eq(model->train.patience, 7);
    skn_model_destroy(&model);
}

Test(plan, what_the_file_says_stays)
{
    write_data(100, 20, 50, 1);
    skn_model_t *model = model_of(
        ", units: 40, dropout: 0.2, shards: 2",
        ", loss: one_vs_all, shards: 3, sampler: { kind: uniform, rows: 7 }",
        "train: { batch_rows: 9, window: 3, epochs: 5,\n"
        "  optimizer: { kind: adagrad, rate: 0.25 } }\n");
    (void)plan_of(model, 2);
    cr_expect_eq(model->train.batch_rows, 9);
    cr_expect_eq(model->train.window, 3);
    cr_expect_eq(model->train.epochs, 5);
    cr_expect_eq(model->train.optimizer.kind, SKN_OPTIMIZER_ADAGRAD);
    cr_expect_eq(model->train.optimizer.rate, 0.25);
    cr_expect_eq(model->layers[0].units, 40);
    cr_expect_eq(model->layers[0].dropout, 0.2);
    cr_expect_eq(model->layers[0].shards, 2);
    cr_expect_eq(output_of(model)->loss, SKN_LOSS_ONE_VS_ALL);
    cr_expect_eq(output_of(model)->shards, 3);
    cr_expect_eq(output_of(model)->sampler.rows, 7);
    skn_model_destroy(&model);
}

Test(plan, shorter_runs_take_longer_steps)
{
    static const int epochs[] = { 80, 40, 20, 5 };
    double rate[4];
    write_data(100, 20, 50, 1); /* 40 epochs, by itself */
    for (int k = 0; k < 4; k++) {
        char train[80];
        (void)snprintf(train, sizeof(train),
                       "train: { epochs: %d, optimizer: { kind: adam } }\n",
                       epochs[k]);
        skn_model_t *model = model_of("", "", train);
        (void)plan_of(model, 1);
        rate[k] = model->train.optimizer.rate;
        skn_model_destroy(&model);
    }
    cr_expect_eq(rate[0], rate[1], "and longer ones the usual");
    cr_expect(fabs(rate[2] / rate[1] - pow(2, 0.75)) < 1e-9);
    cr_expect(fabs(rate[3] / rate[1] - 1.8) < 1e-9, "1.8 times at most");
}

/* Decision 0018, its end. */
Test(plan, well_known_labels_are_trained_half_as_long_again)
{
    static const struct {
        uint32_t labels, step;
        int64_t epochs;
    } cases[] = {
        { 9000, 180, 60 }, /* 6 points for each of 50 */
        { 9000, 90, 40 },  /* 3 for each of 100 */
        { 50, 1, 40 },     /* 6 again, but of few labels */
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_data(300, 20, cases[k].labels, cases[k].step);
        skn_model_t *model = model_of("", "", "train: { batch_rows: 32 }\n");
        (void)plan_of(model, 1);
        cr_expect_eq(model->train.epochs, cases[k].epochs);
        skn_model_destroy(&model);
    }
}

/* Decision 0021. */
Test(plan, many_labels_are_drawn_by_their_frequency)
{
    static const struct {
        uint32_t points, labels, step;
        int kind;
    } cases[] = {
        { 300, 9000, 90, SKN_SAMPLER_LOG_UNIFORM }, /* 3 for each of 100 */
        { 300, 9000, 45, SKN_SAMPLER_UNIFORM },     /* 1.5 for each of 200 */
        { 100, 50, 1, SKN_SAMPLER_EXACT },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_data(cases[k].points, 20, cases[k].labels, cases[k].step);
        skn_model_t *model = model_of("", "", "");
        (void)plan_of(model, 1);
        cr_expect_eq((int)output_of(model)->sampler.kind, cases[k].kind);
        skn_model_destroy(&model);
    }
}

/* What the optimizer and the format of the rows become. */
static void
expect_optimizer(const char *output, const char *train,
                 skn_optimizer_kind_t kind, int weights)
{
    skn_model_t *model = model_of("", output, train);
    (void)plan_of(model, 1);
    cr_expect_eq(model->train.optimizer.kind, kind, "%s %s", output, train);
    cr_expect_eq((int)output_of(model)->weights, weights, "%s %s", output,
                 train);
    skn_model_destroy(&model);
}

Test(plan, many_labels_are_learnt_by_adagrad_in_rows_of_two_bytes)
{
    const skn_optimizer_kind_t adam = SKN_OPTIMIZER_ADAM;
    const skn_optimizer_kind_t adagrad = SKN_OPTIMIZER_ADAGRAD;
    write_data(300, 20, 9000, 7);
    expect_optimizer("", "", adagrad, SKN_WEIGHTS_BF16);
    expect_optimizer(", weights: f32", "", adagrad, SKN_WEIGHTS_F32);
    expect_optimizer("", "train: { optimizer: { rate: 0.01 } }\n", adam,
                     SKN_WEIGHTS_F32);
    expect_optimizer("", "train: { optimizer: { offload: file } }\n", adam,
                     SKN_WEIGHTS_F32);
    expect_optimizer("", "train: { reduction: fixed }\n", adagrad,
                     SKN_WEIGHTS_F32);
    expect_optimizer("", "train: { updates: copy }\n", adagrad,
                     SKN_WEIGHTS_F32);
    write_data(100, 20, 50, 1);
    expect_optimizer("", "", adam, SKN_WEIGHTS_F32);
    expect_optimizer(", weights: bf16", "", adagrad, SKN_WEIGHTS_BF16);
    expect_optimizer("", "train: { epochs: 20 }\n", adam, SKN_WEIGHTS_F32);
    expect_optimizer("", "train: { epochs: 19 }\n", adagrad, SKN_WEIGHTS_BF16);
}

/* Decision 0025. */
Test(plan, labels_with_a_point_or_two_get_more_negatives)
{
    static const struct {
        uint32_t labels;
        int64_t batch_rows, rows;
        skn_optimizer_kind_t optimizer;
        double rate, dropout;
        int64_t epochs, ensemble;
    } cases[] = {
        /* a point for each label; four */
        { 65536, 1024, 32768, SKN_OPTIMIZER_ADAM, 0.005, 0.1, 21, 3 },
        { 16384, 512, 4096, SKN_OPTIMIZER_ADAGRAD, 0.05, 0.2, 12, 3 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_data(65536, 20, cases[k].labels, 1);
        skn_model_t *model = model_of("", "", "");
        (void)plan_of(model, 1);
        cr_expect_eq(model->train.batch_rows, cases[k].batch_rows);
        cr_expect_eq(output_of(model)->sampler.rows, cases[k].rows);
        cr_expect_eq(model->train.optimizer.kind, cases[k].optimizer);
        cr_expect_float_eq(model->train.optimizer.rate, cases[k].rate, 1e-9);
        cr_expect_float_eq(model->layers[0].dropout, cases[k].dropout, 1e-9);
        cr_expect_eq(model->train.epochs, cases[k].epochs);
        cr_expect_eq(model->train.ensemble, cases[k].ensemble);
        skn_model_destroy(&model);
    }
}

/* Decision 0026: not where somebody says how long, nor where nodes come and
 * go. */
Test(plan, rare_labels_get_three_networks_where_all_is_left_to_auto)
{
    static const struct {
        const char *train;
        int64_t ensemble;
    } cases[] = {
        { "", 3 },
        { "train: { epochs: 21 }\n", 1 },
        { "train: { max_batches: 100 }\n", 1 },
        { "train: { ensemble: 2 }\n", 2 },
        { "train: { ensemble: 1 }\n", 1 },
        { "nodes: [{ name: a }]\n", 3 },
        { "nodes: [{ name: a }]\ncheckpoint: { path: run }\n"
          "coordinator: { address: 'tcp://127.0.0.1:7000' }\n",
          1 },
    };
    write_data(65536, 20, 65536, 1);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_model_t *model = model_of("", "", cases[k].train);
        (void)plan_of(model, 1);
        cr_expect_eq(model->train.ensemble, cases[k].ensemble, "%s",
                     cases[k].train);
        skn_model_destroy(&model);
    }
    write_data(65536, 20, 8000, 1); /* few; or not rare */
    skn_model_t *few = model_of("", "", "");
    (void)plan_of(few, 1);
    cr_expect_eq(few->train.ensemble, 1);
    skn_model_destroy(&few);
    write_data(65536, 20, 13000, 1);
    skn_model_t *frequent = model_of("", "", "");
    (void)plan_of(frequent, 1);
    cr_expect_eq(frequent->train.ensemble, 1);
    skn_model_destroy(&frequent);
}

/* Points of `each` features in a row, of `features`. */
static void
write_dense(uint32_t points, uint32_t features, uint32_t labels, uint32_t each)
{
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "%u %u %u\n", points, features, labels);
    for (uint32_t i = 0; i < points; i++) {
        (void)fprintf(out, "%u", i % labels);
        for (uint32_t k = 0; k < each; k++)
            (void)fprintf(out, " %u:1", k);
        (void)fputc('\n', out);
    }
    cr_assert_eq(fclose(out), 0);
}

/* Decision 0027: features that can be read, labels to order, and nobody says
 * how long. */
Test(plan, a_ranker_is_fitted_where_points_have_some_features_of_many)
{
    static const struct {
        uint32_t features, labels, each;
        const char *train;
        int64_t trees;
    } cases[] = {
        { 100, 1000, 4, "", 1 },
        { 100, 999, 4, "", 0 },
        { 100, 1000, 3, "", 0 },
        { 100, 1000, 10, "", 1 },
        { 100, 1000, 11, "", 0 },
        { 100, 1000, 4, "train: { epochs: 5 }\n", 0 },
        { 100, 1000, 4, "train: { max_batches: 5 }\n", 0 },
        { 100, 1000, 4, "train: { ranker_trees: 0 }\n", 0 },
        { 100, 1000, 2, "train: { ranker_trees: 1 }\n", 1 },
        { 100, 1000, 4, "nodes: [{ name: a }]\n", 1 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_dense(1000, cases[k].features, cases[k].labels, cases[k].each);
        skn_model_t *model = model_of("", "", cases[k].train);
        (void)plan_of(model, 1);
        cr_expect_eq(model->train.ranker_trees, cases[k].trees, "case %zu", k);
        skn_model_destroy(&model);
    }
}

Test(plan, no_more_rows_are_drawn_than_there_are_labels)
{
    static const char *const kinds[] = { "uniform", "log_uniform" };
    for (size_t k = 0; k < 2; k++) {
        char sampler[80];
        (void)snprintf(sampler, sizeof(sampler),
                       ", sampler: { kind: %s, rows: 2147483647 }", kinds[k]);
        write_data(300, 20, 9000, 1);
        skn_model_t *model = model_of("", sampler, "");
        (void)plan_of(model, 1);
        cr_expect_eq(output_of(model)->sampler.rows, 9000);
        skn_model_destroy(&model);
    }
}

/* 50 tables of 2^18 buckets would be 13 million for 20 labels. */
Test(plan, few_labels_get_few_buckets)
{
    static const struct {
        uint32_t labels;
        int64_t bits;
    } cases[] = { { 20, 3 }, { 600, 5 }, { 9000, 6 } };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_data(300, 20, cases[k].labels, 1);
        skn_model_t *model = model_of("", ", sampler: { kind: dwta }", "");
        (void)plan_of(model, 1);
        cr_expect_eq(output_of(model)->sampler.bits, cases[k].bits);
        skn_model_destroy(&model);
    }
}

/* One config gives one model on any machine: docs/decisions/0003-auto.md. */
Test(plan, cores_change_shards_and_nothing_else)
{
    write_data(300, 20, 900, 7);
    skn_model_t *small = model_of("", "", ""), *large = model_of("", "", "");
    skn_plan_t one = plan_of(small, 1), many = plan_of(large, 16);
    cr_expect_eq(output_of(small)->shards, 1);
    cr_expect_eq(output_of(large)->shards, 16);
    cr_expect_lt(small->layers[0].shards, large->layers[0].shards);
    cr_expect_eq(small->layers[0].units, large->layers[0].units);
    cr_expect_eq(small->layers[0].dropout, large->layers[0].dropout);
    cr_expect_eq(small->train.batch_rows, large->train.batch_rows);
    cr_expect_eq(small->train.window, large->train.window);
    cr_expect_eq(small->train.epochs, large->train.epochs);
    cr_expect_eq(small->train.optimizer.rate, large->train.optimizer.rate);
    cr_expect_eq(output_of(small)->sampler.kind,
                 output_of(large)->sampler.kind);
    cr_expect_eq(one.parameters, many.parameters);
    cr_expect_eq(one.total_batches, many.total_batches);
    skn_model_destroy(&small);
    skn_model_destroy(&large);
}

Test(plan, few_labels_are_exact_and_many_are_drawn)
{
    static const uint32_t labels[] = { 8192, 8193 };
    for (int k = 0; k < 2; k++) {
        write_data(50, 5, labels[k], 100);
        skn_model_t *model = model_of("", "", "");
        (void)plan_of(model, 1);
        cr_expect_eq(output_of(model)->sampler.kind == SKN_SAMPLER_EXACT,
                     k == 0);
        cr_expect_leq(output_of(model)->sampler.rows, labels[k]);
        skn_model_destroy(&model);
    }
}

Test(plan, wide_layers_multiply_bf16)
{
    static const struct {
        const char *hidden, *rest;
        skn_precision_t precision;
    } cases[] = {
        { ", units: 255", "", SKN_PRECISION_F32 },
        { ", units: 256", "", SKN_PRECISION_BF16 },
        { ", units: 256", "train: { precision: f32 }\n", SKN_PRECISION_F32 },
        { ", units: 8", "train: { precision: bf16 }\n", SKN_PRECISION_BF16 },
        { ", units: 256", "train: { reduction: fixed }\n", SKN_PRECISION_F32 },
    };
    write_data(100, 20, 50, 1);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_model_t *model = model_of(cases[k].hidden, "", cases[k].rest);
        (void)plan_of(model, 2);
        cr_expect_eq(model->train.precision, cases[k].precision, "case %zu", k);
        skn_model_destroy(&model);
    }
}

Test(plan, rows_to_draw_are_no_more_than_labels)
{
    write_data(50, 5, 30, 1);
    skn_model_t *model = model_of("", ", sampler: { kind: uniform }", "");
    (void)plan_of(model, 1);
    cr_expect_eq(output_of(model)->sampler.rows, 30);
    skn_model_destroy(&model);
}

/* What is learnt by heart most easily is held back most. */
Test(plan, what_few_points_get)
{
    static const struct {
        uint32_t points, labels;
        int64_t units, batch_rows, epochs;
        double dropout, smoothing;
    } cases[] = {
        { 100, 50, 256, 32, 40, 0.5, 0.4 },
        { 4095, 100, 256, 32, 12, 0.5, 0.1 },
        { 4096, 400, 1024, 64, 16, 0.7, 0.4 },
        { 40000, 100, 1024, 256, 12, 0.7, 0.1 },
        { 70000, 70000, 512, 1024, 20, 0.1, 0.4 },
        { 70000, 20000, 512, 512, 12, 0.2, 0.4 },
        { 70000, 7000, 512, 512, 12, 0.1, 0.4 },
        { 1000000, 100, 512, 512, 4, 0.3, 0.1 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_data(cases[k].points, 20, cases[k].labels, 1);
        skn_model_t *model = model_of("", "", "");
        (void)plan_of(model, 1);
        cr_expect_eq(model->layers[0].units, cases[k].units, "case %zu", k);
        cr_expect_eq(model->layers[0].dropout, cases[k].dropout, "case %zu", k);
        cr_expect_eq(output_of(model)->label_smoothing, cases[k].smoothing,
                     "case %zu", k);
        cr_expect_eq(model->train.batch_rows, cases[k].batch_rows, "case %zu",
                     k);
        cr_expect_eq(model->train.epochs, cases[k].epochs, "case %zu", k);
        cr_expect_eq(model->train.schedule.kind, SKN_SCHEDULE_COSINE);
        cr_expect_leq((uint64_t)model->train.schedule.warmup_batches, 100);
        skn_model_destroy(&model);
    }
}

/* Half of the epochs are spent on a quarter of the units (decision 0019). */
Test(plan, short_runs_are_narrow)
{
    static const struct {
        uint32_t points, labels, epochs;
        int64_t units;
        double dropout;
    } cases[] = {
        { 40000, 100, 10, 1024, 0.7 }, { 40000, 100, 9, 512, 0.5 },
        { 40000, 100, 7, 512, 0.5 },   { 40000, 100, 6, 256, 0.3 },
        { 70000, 70000, 8, 512, 0.1 }, { 70000, 70000, 7, 256, 0.1 },
        { 70000, 20000, 7, 512, 0.2 }, { 70000, 20000, 6, 256, 0.2 },
        { 70000, 7000, 7, 512, 0.1 },  { 70000, 7000, 6, 256, 0.2 },
        { 100, 50, 1, 256, 0.5 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char train[64];
        (void)snprintf(train, sizeof(train), "train: { epochs: %u }\n",
                       cases[k].epochs);
        write_data(cases[k].points, 20, cases[k].labels, 1);
        skn_model_t *model = model_of("", "", train);
        (void)plan_of(model, 1);
        cr_expect_eq(model->layers[0].units, cases[k].units, "case %zu", k);
        cr_expect_eq(model->layers[0].dropout, cases[k].dropout, "case %zu", k);
        skn_model_destroy(&model);
    }
}

Test(plan, shards_stop_at_the_blocks)
{
    write_data(50, 5, 3, 1);
    skn_model_t *model = model_of("", ", shards: 64", "");
    (void)plan_of(model, 8);
    cr_expect_eq((uint64_t)output_of(model)->shards, skn_block_count(3));
    skn_model_destroy(&model);
}

Test(plan, hidden_slices_are_wide_enough)
{
    write_data(50, 5, 30, 1);
    skn_model_t *model = model_of(", units: 64", "", "");
    (void)plan_of(model, 16);
    cr_expect_eq(model->layers[0].shards, 2); /* of 32 columns */
    skn_model_destroy(&model);
    model = model_of(", units: 1", "", "");
    (void)plan_of(model, 16);
    cr_expect_eq(model->layers[0].shards, 1);
    skn_model_destroy(&model);
}

Test(plan, batches_and_their_limit)
{
    write_data(101, 5, 30, 1);
    skn_model_t *model =
        model_of("", "", "train: { batch_rows: 10, epochs: 3 }\n");
    skn_plan_t plan = plan_of(model, 1);
    cr_expect_eq(plan.batches_per_epoch, 11);
    cr_expect_eq(plan.total_batches, 33);
    skn_model_destroy(&model);
    model = model_of("", "",
                     "train: { batch_rows: 10, epochs: 3, max_batches: 32 }\n");
    plan = plan_of(model, 1);
    cr_expect_eq(plan.total_batches, 32);
    skn_model_destroy(&model);
}

Test(plan, parameters_are_counted_with_biases)
{
    write_data(50, 13, 30, 1);
    skn_model_t *model = model_of(", units: 8", "", "");
    cr_expect_eq(plan_of(model, 1).parameters, (13 + 1) * 8 + (8 + 1) * 30);
    skn_model_destroy(&model);
    model = model_of(", units: 8 }\n    - { name: second, units: 6", "", "");
    cr_expect_eq(plan_of(model, 1).parameters,
                 (13 + 1) * 8 + (8 + 1) * 6 + (6 + 1) * 30);
    skn_model_destroy(&model);
}

/* The rows alone: w, m, v of every parameter in 4 bytes each. */
Test(plan, memory_holds_the_rows_and_not_much_more)
{
    write_data(50, 3000, 100000, 1999);
    skn_model_t *model =
        model_of(", units: 256", "",
                 "train: { ensemble: 1, optimizer: { kind: adam } }\n");
    skn_plan_t plan = plan_of(model, 2);
    uint64_t rows = plan.parameters * 12;
    cr_expect_gt(plan.memory_bytes, rows);
    cr_expect_lt(plan.memory_bytes, 2 * rows);
    skn_model_destroy(&model);
    model = model_of(", units: 256", ", weights: bf16",
                     "train: { ensemble: 1, optimizer: { kind: sgd } }\n");
    cr_expect_lt(plan_of(model, 2).memory_bytes, plan.memory_bytes / 2);
    skn_model_destroy(&model);
}

/* Output rows are [100000][257]; lines of 64 bytes round them up to 272. */
Test(plan, memory_holds_the_copies_too)
{
    static const struct {
        const char *weights, *optimizer;
        uint64_t least; /* bytes a weight of the output, for the rows alone */
    } cases[] = { { "f32", "adam", 16 },
                  { "bf16", "adam", 14 },
                  { "f32", "sgd", 8 },
                  { "bf16", "sgd", 6 } };
    uint64_t weights = 257 * 100000, last = UINT64_MAX;
    write_data(50, 3000, 100000, 1999);
    for (size_t k = 0; k < 4; k++) {
        char output[64], train[128];
        (void)snprintf(output, sizeof(output), ", weights: %s",
                       cases[k].weights);
        (void)snprintf(train, sizeof(train),
                       "train: { updates: copy, optimizer: { kind: %s } }\n",
                       cases[k].optimizer);
        skn_model_t *model = model_of(", units: 256", output, train);
        uint64_t bytes = plan_of(model, 2).memory_bytes;
        cr_expect_gt(bytes, cases[k].least * weights, "%s", cases[k].weights);
        cr_expect_lt(bytes, last, "%s %s", cases[k].weights,
                     cases[k].optimizer);
        last = bytes;
        skn_model_destroy(&model);
    }
}

static uint64_t
bytes_with(const char *sampler)
{
    char output[256];
    (void)snprintf(output, sizeof(output),
                   ", weights: bf16, sampler: { rows: 256, %s }", sampler);
    skn_model_t *model =
        model_of(", units: 15", output,
                 "train: { ensemble: 1, optimizer: { kind: sgd } }\n");
    uint64_t bytes = plan_of(model, 1).memory_bytes;
    skn_model_destroy(&model);
    return bytes;
}

/* 8 tables of 2^10 buckets: what the builder keeps, what is computed with, and
 * the next; the builder's copy of the rows in f32 (32 bytes in bf16). */
Test(plan, memory_holds_what_samplers_keep_by_row)
{
    uint64_t labels = 500000;
    write_data(50, 3000, (uint32_t)labels, 1999);
    uint64_t uniform = bytes_with("kind: uniform");
    cr_expect_gt(uniform, (32 + 4) * labels);
    cr_expect_geq(bytes_with("kind: log_uniform"), uniform + 12 * labels);
    cr_expect_geq(bytes_with("kind: simhash, tables: 8, bits: 10"),
                  uniform + (64 + 3 * 64) * labels);
}

/* What is there when all is trained: the units of all networks; a ranker with
 * half as many weights as parameters, 8 bytes each, twice while it is
 * gathered. */
Test(plan, memory_holds_what_comes_after_training)
{
    uint64_t bytes[3];
    static const char *const after[] = { "ensemble: 1", "ensemble: 16",
                                         "ensemble: 1, ranker_trees: 3" };
    write_data(50, 3000, 100000, 1999);
    for (size_t k = 0; k < 3; k++) {
        char train[128];
        (void)snprintf(train, sizeof(train),
                       "train: { %s, batch_rows: 16, optimizer: { kind: sgd } "
                       "}\n",
                       after[k]);
        skn_model_t *model = model_of(", units: 256", ", weights: bf16", train);
        skn_plan_t plan = plan_of(model, 1);
        bytes[k] = plan.memory_bytes;
        if (k == 1)
            cr_expect_gt(bytes[1], 16 * 2 * plan.parameters);
        if (k == 2)
            cr_expect_gt(bytes[2], 8 * plan.parameters);
        skn_model_destroy(&model);
    }
    cr_expect_lt(bytes[0], bytes[1]);
    cr_expect_leq(bytes[0], bytes[2]);
}

/* A point is 36 bytes in the copy of the file, with its offset; its number
 * stands in two lists of 4 bytes. */
Test(plan, memory_holds_the_data)
{
    uint64_t bytes[2];
    for (uint32_t k = 0; k < 2; k++) {
        write_data(k == 0 ? 20000 : 100000, 3000, 500, 1);
        skn_model_t *model =
            model_of(", units: 15", "", "train: { batch_rows: 64 }\n");
        bytes[k] = plan_of(model, 1).memory_bytes;
        skn_model_destroy(&model);
    }
    cr_expect_eq(bytes[1] - bytes[0], 80000 * (36 + 8), "%llu more",
                 (unsigned long long)(bytes[1] - bytes[0]));
}

Test(plan, a_limit_of_memory_is_reported_with_numbers)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    write_data(50, 3000, 100000, 1999);
    skn_model_t *model = model_of("", "", "resources: { memory: 16MiB }\n");
    cr_expect_eq(skn_plan_make(&plan, model, 1, &error), SKN_NO_MEMORY);
    cr_expect(strstr(error.text, "resources.memory allows 16 MiB"), "%s",
              error.text);
    skn_model_destroy(&model);
}

#define ADAM(words)                                                            \
    "train: { ensemble: 1, optimizer: { kind: adam" words " } }\n"

Test(plan, moments_in_a_file_are_two_thirds_of_the_rows)
{
    write_data(50, 30, 100000, 1999);
    skn_model_t *none = model_of(", units: 512", "", ADAM(", offload: none"));
    skn_model_t *other = model_of(", units: 512", "", ADAM(", offload: file"));
    skn_plan_t memory = plan_of(none, 1), split = plan_of(other, 1);
    cr_expect_eq(memory.offload_bytes, 0);
    cr_expect_not(split.offload_auto);
    /* 513 weights, and a step. */
    uint64_t moments = 100000ull * 2 * 516 * 4;
    cr_expect(split.offload_bytes >= moments &&
              split.offload_bytes < moments * 102 / 100 + (4u << 20));
    cr_expect(memory.memory_bytes - split.memory_bytes > moments * 97 / 100);
    skn_model_destroy(&none);
    skn_model_destroy(&other);
}

Test(plan, moments_go_to_a_file_by_themselves_only_where_they_do_not_fit)
{
    static const struct {
        const char *words;
        int64_t allowed; /* resources.memory beside what all would need */
        skn_offload_choice_t want;
    } cases[] = { { ADAM(""), 0, SKN_OFFLOAD_NONE },
                  { ADAM(""), -1, SKN_OFFLOAD_FILE },
                  { "train: { optimizer: { kind: adagrad } }\n", 0,
                    SKN_OFFLOAD_AUTO } };
    write_data(50, 30, 100000, 1999);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_plan_t plan;
        skn_model_t *model = model_of(", units: 512", "", cases[k].words);
        int64_t bytes = (int64_t)plan_of(model, 1).memory_bytes;
        skn_model_destroy(&model);
        model = model_of(", units: 512", "", cases[k].words);
        model->resources.memory_bytes = bytes + cases[k].allowed;
        plan = plan_of(model, 1);
        cr_expect_eq(model->train.optimizer.offload, cases[k].want, "%zu", k);
        cr_expect_eq(plan.offload_bytes > 0, cases[k].allowed < 0);
        skn_model_destroy(&model);
        model = model_of(", units: 512", "", cases[k].words);
        cr_expect_eq(skn_plan_make_within(&plan, model, 1,
                                          (uint64_t)(bytes + cases[k].allowed),
                                          NULL),
                     SKN_OK);
        cr_expect_eq(model->train.optimizer.offload, cases[k].want, "%zu", k);
        skn_model_destroy(&model);
    }
}

Test(plan, the_folder_of_moments_is_the_one_that_is_named_or_that_of_the_run)
{
    skn_model_t model = { .train.optimizer.offload_path = "" };
    cr_expect_str_eq(skn_plan_offload_path(&model, "runs/a"), "runs/a");
    cr_expect_str_eq(skn_plan_offload_path(&model, ""), ".");
    cr_expect_str_eq(skn_plan_offload_path(&model, NULL), ".");
    model.train.optimizer.offload_path = "disk";
    cr_expect_str_eq(skn_plan_offload_path(&model, "runs/a"), "disk");
}

Test(plan, what_the_data_lack_is_reported)
{
    skn_plan_t plan;
    skn_error_t error = { 0 };
    FILE *out = fopen(file, "w");
    cr_assert(out && fputs(" 1:1\n 2:1\n", out) >= 0);
    (void)fclose(out);
    skn_model_t *model = model_of("", "", "");
    cr_expect_eq(skn_plan_make(&plan, model, 1, &error), SKN_BAD_DATA);
    cr_expect(strstr(error.text, ": no point has a label"), "%s", error.text);
    skn_model_destroy(&model);
}

Test(plan, a_layer_has_no_more_shards_than_a_layer_may_have)
{
    write_data(100, 20, 50, 1);
    skn_model_t *model = model_of(", units: 65536", "", "");
    skn_plan_t plan = plan_of(model, 4096);
    cr_expect_eq(model->layers[0].shards, SKN_SHARD_MAX);
    cr_expect_str_eq(skn_reason_why(skn_reasons_find(
                         &plan.reasons, "model.layers.hidden.shards")),
                     "no layer has more than 1024, on 4096 cores");
    skn_model_destroy(&model);
}

Test(plan, facts_of_the_data_are_those_of_the_file)
{
    FILE *out = fopen(file, "w");
    cr_assert(out &&
              fputs("5 4 6\n0,1 1:1\n2 0:1 3:1\n 1:1\n5\n0 2:1\n", out) >= 0);
    (void)fclose(out);
    skn_model_t *model = model_of("", "", "");
    skn_plan_t plan = plan_of(model, 1);
    cr_expect_eq(plan.data.train_points, 4); /* one has no label */
    cr_expect_eq(plan.data.validate_points, 0);
    cr_expect_eq(plan.data.unlabelled, 1);
    cr_expect_eq(plan.data.featureless, 1);
    cr_expect_eq(plan.data.features, 4);
    cr_expect_eq(plan.data.labels, 6);
    cr_expect_eq(plan.data.labels_occurring, 4);
    cr_expect_float_eq(plan.data.labels_per_point, 1.0, 1e-9);
    cr_expect_float_eq(plan.data.features_per_point, 1.0, 1e-9);
    skn_model_destroy(&model);
}
