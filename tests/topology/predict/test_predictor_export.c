/* test_predictor_export.c - tests that an exported model answers as the run
 * that it was made of.
 *
 * Covers topology/predict/predictor_export.c, topology/predict/predictor_slim.c
 * and actors/predict/network.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/predictor.h"

#include <sys/stat.h>

#include "tests/support/trained_fixture.h"

#define POINTS 300u /* two calls of the network */
#define K 5u

typedef struct answers {
    uint32_t label[POINTS * K];
    float score[POINTS * K];
} answers_t;

static skn_predictor_t *
open_model(const char *path)
{
    skn_error_t error = { 0 };
    skn_predictor_t *predictor = skn_predictor_open(path, &error);
    cr_assert(predictor, "%s", error.text);
    return predictor;
}

static void
ask(const skn_predictor_t *predictor, answers_t *answers)
{
    static size_t offset[POINTS + 1];
    static uint32_t feature[POINTS * 4];
    static float value[POINTS * 4];
    oracle_random_t random = { 7 };
    size_t at = 0;
    for (size_t i = 0; i < POINTS; i++) {
        offset[i] = at;
        for (uint32_t f = 0; f < i % 5; f++) {
            feature[at] = f * 2 + oracle_next(&random) % 2;
            value[at++] = oracle_float(&random) * 3;
        }
    }
    offset[POINTS] = at;
    const skn_points_t points = { POINTS, offset, feature, value };
    skn_error_t error = { 0 };
    cr_assert_eq(skn_predictor_best(predictor, &points, K, answers->label,
                                    answers->score, &error),
                 SKN_OK, "%s", error.text);
}

static skn_predictor_t *export(const skn_predictor_t *predictor,
                               const char *folder, const char *name,
                               const skn_export_options_t *options,
                               skn_exported_t *made)
{
    char path[TEMP_FOLDER_BYTES + 32];
    struct stat facts;
    skn_error_t error = { 0 };
    *made = (skn_exported_t){ .struct_bytes = sizeof(*made) };
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(skn_predictor_export(predictor, path, options, made, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(stat(path, &facts), 0);
    cr_expect_eq(made->bytes, (uint64_t)facts.st_size);
    return open_model(path);
}

static void
expect_same_bits(trained_fixture_t *fixture)
{
    static answers_t want, got;
    skn_exported_t made;
    trained_make(fixture);
    skn_predictor_t *run = open_model(fixture->path);
    skn_predictor_t *file = export(run, fixture->folder, "f32", NULL, &made);
    ask(run, &want);
    ask(file, &got);
    cr_expect_arr_eq(&got, &want, sizeof(got));
    const skn_predictor_info_t *a = skn_predictor_info(run),
                               *b = skn_predictor_info(file);
    cr_expect_str_eq(b->run_id, a->run_id);
    cr_expect_str_eq(b->config, a->config);
    cr_expect_eq(b->batch, a->batch);
    cr_expect_eq(b->feature_count, a->feature_count);
    cr_expect_eq(b->label_count, a->label_count);
    cr_expect_eq(b->parameter_count, a->parameter_count);
    cr_expect_eq(b->softmax, a->softmax);
    cr_expect_eq(b->normalizes, a->normalizes);
    cr_expect_eq(b->label_name_count, a->label_name_count);
    cr_expect_str_eq(skn_predictor_label(file, 3), skn_predictor_label(run, 3));
    skn_predictor_close(&run);
    skn_predictor_close(&file);
    trained_remove(fixture);
}

Test(predictor_export, f32_answers_with_the_same_bits)
{
    trained_fixture_t fixture = { .names = "label" };
    expect_same_bits(&fixture);
}

Test(predictor_export, so_do_dense_layers_and_one_vs_all)
{
    trained_fixture_t fixture = { .dense = true,
                                  .one_vs_all = true,
                                  .raw = true };
    expect_same_bits(&fixture);
}

Test(predictor_export, so_do_rows_that_were_trained_in_bf16)
{
    trained_fixture_t fixture = { .half = true };
    expect_same_bits(&fixture);
}

/* The scores of the same label may differ by the rounding of some logits, which
 * are at most 20 here. */
Test(predictor_export, shorter_rows_answer_nearly_the_same)
{
    static answers_t want, got;
    static const double tolerance[] = { 0, 0.15, 0.15 };
    trained_fixture_t fixture = { .one_vs_all = true };
    trained_make(&fixture);
    skn_predictor_t *run = open_model(fixture.path);
    ask(run, &want);
    uint64_t before = UINT64_MAX;
    for (unsigned rows = 0; rows < 3; rows++) {
        char name[8];
        skn_exported_t made;
        const skn_export_options_t options = { .struct_bytes = sizeof(options),
                                               .rows =
                                                   (skn_export_rows_t)rows };
        (void)snprintf(name, sizeof(name), "%u", rows);
        skn_predictor_t *file =
            export(run, fixture.folder, name, &options, &made);
        cr_expect_eq(made.rows, rows);
        /* Of six units, int8 with a scale and a bias has no fewer bytes. */
        cr_expect_leq(made.bytes, before);
        before = made.bytes + 1024; /* longer header */
        ask(file, &got);
        for (size_t k = 0; k < POINTS * K; k++)
            cr_expect(fabs((double)got.score[k] - (double)want.score[k]) <=
                          tolerance[rows],
                      "rows %u: %g, not %g", rows, (double)got.score[k],
                      (double)want.score[k]);
        skn_predictor_close(&file);
    }
    skn_predictor_close(&run);
    trained_remove(&fixture);
}

Test(predictor_export, a_size_chooses_rows_and_then_features)
{
    static answers_t answers;
    trained_fixture_t fixture = { 0 };
    skn_exported_t made, full;
    skn_export_options_t options = { .struct_bytes = sizeof(options) };
    skn_error_t error = { 0 };
    trained_make(&fixture);
    skn_predictor_t *run = open_model(fixture.path);
    skn_predictor_t *file = export(run, fixture.folder, "f32", NULL, &full);
    skn_predictor_close(&file);
    options.bytes_max = full.bytes;
    file = export(run, fixture.folder, "same", &options, &made);
    cr_expect_eq(made.rows, SKN_EXPORT_F32);
    skn_predictor_close(&file);
    options.bytes_max = full.bytes - 1;
    file = export(run, fixture.folder, "bf16", &options, &made);
    cr_expect_eq(made.rows, SKN_EXPORT_BF16);
    cr_expect_eq(made.kept_count, TRAINED_FEATURES);
    skn_predictor_close(&file);
    options.rows = SKN_EXPORT_INT8;
    options.bytes_max = 0;
    file = export(run, fixture.folder, "int8", &options, &made);
    skn_predictor_close(&file);
    options.bytes_max = made.bytes - 1;
    char path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/pruned", fixture.folder);
    skn_status_t status =
        skn_predictor_export(run, path, &options, &made, &error);
    /* Nine features of six units are less than the padding of a tensor. */
    cr_expect(status == SKN_BAD_DATA || made.kept_count < TRAINED_FEATURES,
              "%s", error.text);
    options.bytes_max = 1000;
    cr_expect_eq(skn_predictor_export(run, path, &options, &made, &error),
                 SKN_BAD_DATA);
    cr_expect(strstr(error.text, "cannot have 1000 bytes"), "%s", error.text);
    ask(run, &answers);
    skn_predictor_close(&run);
    trained_remove(&fixture);
}

Test(predictor_export, wrong_calls_are_refused)
{
    trained_fixture_t fixture = { 0 };
    skn_export_options_t options = { 0 };
    skn_exported_t made = { 0 };
    trained_make(&fixture);
    skn_predictor_t *run = open_model(fixture.path);
    cr_expect_eq(skn_predictor_export(NULL, "x", NULL, NULL, NULL), SKN_USAGE);
    cr_expect_eq(skn_predictor_export(run, NULL, NULL, NULL, NULL), SKN_USAGE);
    cr_expect_eq(skn_predictor_export(run, "x", &options, NULL, NULL),
                 SKN_USAGE);
    cr_expect_eq(skn_predictor_export(run, "x", NULL, &made, NULL), SKN_USAGE);
    options.struct_bytes = sizeof(options);
    options.rows = (skn_export_rows_t)9;
    cr_expect_eq(skn_predictor_export(run, "x", &options, NULL, NULL),
                 SKN_USAGE);
    cr_expect_eq(skn_predictor_export(run, fixture.folder, NULL, NULL, NULL),
                 SKN_CANNOT_CREATE);
    skn_predictor_close(&run);
    trained_remove(&fixture);
}
