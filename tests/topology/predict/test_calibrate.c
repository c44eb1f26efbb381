/* test_calibrate.c - tests that a calibration is fitted to the test set of a
 * run, kept beside it, used by its predictor, and exported with it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/calibrate.h"

#include <string.h>
#include <unistd.h>

#include "skein/evaluation.h"
#include "tests/support/trained_fixture.h"

#define POINTS 600u
#define K 8u

/* Of each point the label that the network ranks first, two of three times. */
static void
write_points(const trained_fixture_t *fixture, const char *name)
{
    static double probability[TRAINED_LABELS];
    char path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "%u %u %u\n", POINTS, TRAINED_FEATURES, TRAINED_LABELS);
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t feature = i % TRAINED_FEATURES, best = 0;
        float one = 1;
        trained_oracle(fixture, &feature, &one, 1, probability);
        for (uint32_t u = 1; u < TRAINED_LABELS; u++)
            if (probability[u] > probability[best])
                best = u;
        (void)fprintf(file, "%u %u:1\n", i % 7 % 3 ? best : 3u, feature);
    }
    (void)fclose(file);
}

typedef struct answers {
    uint32_t label[TRAINED_FEATURES * K];
    float score[TRAINED_FEATURES * K];
} answers_t;

static answers_t
ask(const char *path, bool calibrated)
{
    static const size_t offset[TRAINED_FEATURES + 1] = { 0, 1, 2, 3, 4,
                                                         5, 6, 7, 8, 9 };
    static const uint32_t feature[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const float value[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const skn_points_t points = { TRAINED_FEATURES, offset, feature, value };
    answers_t answers;
    skn_error_t error = { 0 };
    skn_predictor_t *predictor = skn_predictor_open(path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_expect_eq(skn_predictor_info(predictor)->calibrated, calibrated);
    cr_assert_eq(skn_predictor_best(predictor, &points, K, answers.label,
                                    answers.score, &error),
                 SKN_OK, "%s", error.text);
    skn_predictor_close(&predictor);
    return answers;
}

static void
make(trained_fixture_t *fixture)
{
    trained_make(fixture);
    write_points(fixture, "train.txt");
    write_points(fixture, "test.txt");
}

static skn_calibrated_t
calibrate(const trained_fixture_t *fixture)
{
    skn_calibrated_t found;
    skn_error_t error = { 0 };
    atomic_bool stop = true;
    cr_expect_eq(
        skn_calibrate(fixture->path, fixture->path, &stop, &found, &error),
        SKN_UNAVAILABLE);
    cr_assert_eq(
        skn_calibrate(fixture->path, fixture->path, NULL, &found, &error),
        SKN_OK, "%s", error.text);
    return found;
}

static void
expect_calibrated(bool one_vs_all)
{
    trained_fixture_t fixture = { .one_vs_all = one_vs_all };
    make(&fixture);
    answers_t before = ask(fixture.path, false);
    skn_calibrated_t found = calibrate(&fixture);
    cr_expect_eq(found.calibration.points, POINTS);
    cr_expect_gt(found.error_before, 0.05, "%g", found.error_before);
    cr_expect_lt(found.error, found.error_before / 2, "%g, before %g",
                 found.error, found.error_before);
    answers_t after = ask(fixture.path, true);
    cr_expect_arr_eq(before.label, after.label, sizeof(after.label));
    /* 4 of 7 points have the best label */
    double mean = 0;
    for (size_t i = 0; i < TRAINED_FEATURES; i++) {
        mean += (double)after.score[i * K] / TRAINED_FEATURES;
        for (size_t r = 1; r < K; r++)
            cr_expect_leq(after.score[i * K + r], after.score[i * K + r - 1]);
    }
    cr_expect_float_eq(mean, 4.0 / 7, 0.03, "%g", mean);
    trained_remove(&fixture);
}

Test(calibrate, a_softmax_is_calibrated)
{
    expect_calibrated(false);
}

Test(calibrate, labels_that_are_independent_are_calibrated)
{
    expect_calibrated(true);
}

Test(calibrate, an_exported_file_has_the_same_probabilities)
{
    trained_fixture_t fixture = { 0 };
    char path[TEMP_FOLDER_BYTES + 32];
    skn_error_t error = { 0 };
    make(&fixture);
    (void)calibrate(&fixture);
    (void)snprintf(path, sizeof(path), "%s/file", fixture.folder);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert_eq(skn_predictor_export(predictor, path, NULL, NULL, &error),
                 SKN_OK, "%s", error.text);
    skn_predictor_close(&predictor);
    answers_t run = ask(fixture.path, true), file = ask(path, true);
    cr_expect_arr_eq(&run, &file, sizeof(run));
    trained_remove(&fixture);
}

Test(calibrate, an_evaluation_judges_each_half_by_the_other)
{
    trained_fixture_t fixture = { 0 };
    char test[TEMP_FOLDER_BYTES + 32];
    const char *override = test;
    const skn_evaluation_options_t other = { sizeof(other), 1, &override };
    skn_evaluation_t own = { .struct_bytes = sizeof(own) }, same = own;
    skn_error_t error = { 0 };
    make(&fixture);
    skn_calibrated_t found = calibrate(&fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_assert_eq(skn_predictor_evaluate(predictor, NULL, &own, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_float_eq(own.calibration_error, found.error, 1e-9);
    cr_expect_gt(own.calibration_error, 0);
    (void)snprintf(test, sizeof(test), "data.test=%s/train.txt",
                   fixture.folder);
    cr_assert_eq(skn_predictor_evaluate(predictor, &other, &same, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_lt(same.calibration_error, own.calibration_error);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

/* Replaces the form in the run folder; "" removes it. */
static void
replace_form(const trained_fixture_t *fixture, const char *form)
{
    char path[sizeof(fixture->path) + 16];
    (void)snprintf(path, sizeof(path), "%s/calibration", fixture->path);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(form, file) >= 0 && fclose(file) == 0);
}

Test(calibrate, that_of_another_batch_is_not_used)
{
    trained_fixture_t fixture = { 0 };
    skn_json_text_t form = { 0 };
    skn_error_t error = { 0 };
    make(&fixture);
    skn_calibrated_t found = calibrate(&fixture);
    cr_assert_eq(skn_calibration_write(&found.calibration, 2, &form, &error),
                 SKN_OK);
    replace_form(&fixture, form.bytes);
    (void)ask(fixture.path, false);
    skn_json_text_fini(&form);
    trained_remove(&fixture);
}

Test(calibrate, the_form_is_read_as_it_was_written)
{
    skn_calibration_t one = { .points = 7 }, read;
    skn_json_text_t form = { 0 };
    skn_error_t error = { 0 };
    one.first = (skn_curve_t){ 2, { -1.0 / 3, 2 }, { -2.5, 0.1 } };
    cr_assert_eq(skn_calibration_write(&one, 9, &form, &error), SKN_OK);
    cr_assert_eq(
        skn_calibration_read("x", form.bytes, form.count, 9, &read, &error),
        SKN_OK, "%s", error.text);
    cr_expect_eq(memcmp(&one, &read, sizeof(one)), 0);
    cr_assert_eq(
        skn_calibration_read("x", form.bytes, form.count, 8, &read, &error),
        SKN_OK);
    cr_expect_eq(read.points, 0);
    skn_json_text_fini(&form);
}

/* Seals the text before it is read. */
static void
expect_refused(const char *text, const char *reason)
{
    skn_calibration_t read;
    skn_json_text_t form = { 0 };
    skn_error_t error = { 0 };
    skn_json_text_add(&form, "%s\n", text);
    cr_assert_eq(skn_json_text_seal(&form, &error), SKN_OK);
    cr_expect_eq(
        skn_calibration_read("x", form.bytes, form.count, 1, &read, &error),
        SKN_BAD_DATA, "%s", text);
    cr_expect(strstr(error.text, reason), "%s: %s", text, error.text);
    skn_json_text_fini(&form);
}

#define BEGIN "{\"format\":\"skein-calibration\",\"version\":1,\"batch\":1"

Test(calibrate, bad_forms_are_refused)
{
    trained_fixture_t fixture = { 0 };
    skn_error_t error = { 0 };
    expect_refused("{\"format\":\"other\",\"version\":1", "no calibration");
    expect_refused("{\"format\":\"skein-calibration\",\"version\":2", "newer");
    expect_refused(BEGIN, "range");
    expect_refused(BEGIN ",\"points\":1,\"first\":[[1]],\"later\":[]", "range");
    expect_refused(BEGIN ",\"points\":1,\"first\":[[1,2],[1,2]],\"later\":[]",
                   "range");
    expect_refused(BEGIN ",\"points\":1,\"first\":[[1,2],[2,1]],\"later\":[]",
                   "range");
    make(&fixture);
    replace_form(&fixture, "{}");
    cr_expect_null(skn_predictor_open(fixture.path, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect(strstr(error.text, "/calibration"), "%s", error.text);
    trained_remove(&fixture);
}
