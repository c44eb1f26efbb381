/* test_evaluate.c - tests scores of a trained model against a count by hand.
 *
 * Covers topology/predict/evaluate.c and topology/predict/point_rows.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/evaluate.h"

#include <string.h>

#include "tests/support/trained_fixture.h"

#define POINTS 300u

static void
write_points(const trained_fixture_t *fixture, const char *name,
             const char *tail)
{
    char path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "%u %u %u\n", POINTS, TRAINED_FEATURES, TRAINED_LABELS);
    for (uint32_t i = 0; i < POINTS; i++)
        (void)fprintf(file, "%u%s %u:1\n", i * 5 % TRAINED_LABELS, tail,
                      i % TRAINED_FEATURES);
    (void)fclose(file);
}

/* The share of points whose label is the best one; *error is the calibration
 * error of the best ones. */
static double
count_hits(const trained_fixture_t *fixture, double *error)
{
    static double probability[TRAINED_LABELS], gap[16];
    double hits = 0;
    *error = 0;
    memset(gap, 0, sizeof(gap));
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t feature = i % TRAINED_FEATURES, best = 0;
        float one = 1;
        trained_oracle(fixture, &feature, &one, 1, probability);
        for (uint32_t u = 1; u < TRAINED_LABELS; u++)
            if (probability[u] > probability[best])
                best = u;
        double hit = best == i * 5 % TRAINED_LABELS;
        hits += hit;
        gap[(int)(probability[best] * 15)] += probability[best] - hit;
    }
    for (int k = 0; k < 16; k++)
        *error += fabs(gap[k]) / POINTS;
    return hits / POINTS;
}

Test(evaluate, precision_is_the_share_of_hits)
{
    trained_fixture_t fixture = { 0 };
    skn_evaluation_t found;
    skn_error_t error = { 0 };
    trained_make(&fixture);
    write_points(&fixture, "train.txt", ",3");
    write_points(&fixture, "test.txt", "");
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_assert_eq(skn_evaluate(predictor, NULL, NULL, &found, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(found.points, POINTS);
    cr_expect_eq(found.unlabelled, 0);
    cr_expect_eq(found.warning_count, 0u);
    double calibration, hits = count_hits(&fixture, &calibration);
    cr_expect(fabs(found.scores.p1 - hits) < 1e-9, "%g, %g", found.scores.p1,
              hits);
    cr_expect(calibration > 1e-3 &&
                  fabs(found.calibration_error - calibration) < 1e-6,
              "%g, %g", found.calibration_error, calibration);
    cr_expect_geq(found.scores.psp1, 0);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

Test(evaluate, without_a_training_file_there_is_no_psp)
{
    trained_fixture_t fixture = { 0 };
    skn_evaluation_t found;
    skn_error_t error = { 0 };
    char test[TEMP_FOLDER_BYTES + 32];
    trained_make(&fixture);
    write_points(&fixture, "other.txt", "");
    (void)snprintf(test, sizeof(test), "%s/other.txt", fixture.folder);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_assert_eq(skn_evaluate(predictor, test, NULL, &found, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_str_eq(found.test, test);
    cr_expect_lt(found.scores.psp5, 0);
    cr_expect_geq(found.scores.p5, 0);
    cr_assert_eq(found.warning_count, 1u);
    cr_expect_eq(strncmp(found.warnings[0].text, "PSP@k is left out", 17), 0);
    cr_expect_str_eq(found.warnings[0].hint, "set data.train=FILE");
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

Test(evaluate, what_cannot_be_right_counts_as_wrong_and_is_reported)
{
    trained_fixture_t fixture = { .raw = true };
    skn_evaluation_t found;
    skn_error_t error = { 0 };
    char test[TEMP_FOLDER_BYTES + 32];
    trained_make(&fixture);
    (void)snprintf(test, sizeof(test), "%s/odd.txt", fixture.folder);
    FILE *file = fopen(test, "w");
    cr_assert(file);
    /* fine, unknown label, unlabelled, unknown feature, two that overflow */
    (void)fprintf(file,
                  "1 2:1\n%u 2:1\n 2:1\n1 2:1 %u:1\n"
                  "1 0:3e38 1:3e38 2:3e38\n1 0:-3e38 1:3e38 2:3e38\n",
                  TRAINED_LABELS, TRAINED_FEATURES);
    (void)fclose(file);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_assert_eq(skn_evaluate(predictor, test, NULL, &found, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(found.points, 6);
    cr_expect_eq(found.unlabelled, 2);
    cr_expect_eq(found.unknown_labels, 1);
    cr_expect_eq(found.unknown_features, 1);
    cr_expect_eq(found.unknown_points, 2);
    /* without a training file, the last one is about propensities */
    cr_assert_eq(found.warning_count, 3u);
    cr_expect(strstr(found.warnings[0].text, "odd.txt:2:"), "%s",
              found.warnings[0].text);
    cr_expect(strstr(found.warnings[1].text, "not finite: 2, "), "%s",
              found.warnings[1].text);
    cr_expect_eq(strncmp(found.warnings[2].text, "PSP@k", 5), 0);
    cr_expect_eq(found.overflows, 2);
    cr_expect_eq(found.overflow_first, 4);
    cr_expect_leq(found.scores.p1, 2.0 / 6 + 1e-9);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

Test(evaluate, a_missing_test_file_is_reported_with_the_way_out)
{
    trained_fixture_t fixture = { 0 };
    skn_evaluation_t found;
    skn_error_t error = { 0 };
    trained_make(&fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_expect_eq(skn_evaluate(predictor, NULL, NULL, &found, &error),
                 SKN_NO_INPUT);
    cr_expect_str_eq(error.hint, "set data.test=FILE");
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

/* --- for hosts ----------------------------------------------------------- */

static skn_status_t
ask(const trained_fixture_t *fixture, const char *const *overrides,
    uint32_t count, skn_evaluation_t *found, skn_error_t *error)
{
    const skn_evaluation_options_t options = { .struct_bytes = sizeof(options),
                                               .override_count = count,
                                               .overrides = overrides };
    skn_predictor_t *predictor = skn_predictor_open(fixture->path, error);
    cr_assert(predictor, "%s", error->text);
    found->struct_bytes = sizeof(*found);
    skn_status_t status =
        skn_predictor_evaluate(predictor, &options, found, error);
    skn_predictor_close(&predictor);
    return status;
}

Test(evaluate, overrides_choose_the_files)
{
    trained_fixture_t fixture = { 0 };
    skn_evaluation_t found;
    skn_error_t error = { 0 };
    char test[TEMP_FOLDER_BYTES + 32], train[TEMP_FOLDER_BYTES + 32];
    const char *const overrides[] = { test, train };
    double calibration;
    trained_make(&fixture);
    write_points(&fixture, "a # b.txt", "");
    (void)snprintf(test, sizeof(test), "data.test=%s/a # b.txt",
                   fixture.folder);
    (void)snprintf(train, sizeof(train), "data.train=%s/a # b.txt",
                   fixture.folder);
    cr_assert_eq(ask(&fixture, overrides, 1, &found, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(found.struct_bytes, sizeof(found));
    cr_expect_str_eq(found.test, test + strlen("data.test="));
    cr_expect(found.points == POINTS && found.scores.psp1 < 0);
    cr_expect(fabs(found.scores.p1 - count_hits(&fixture, &calibration)) <
              1e-9);
    cr_expect_geq(found.seconds, 0);
    cr_assert_eq(ask(&fixture, overrides, 2, &found, &error), SKN_OK, "%s",
                 error.text);
    cr_expect(found.scores.psp1 >= 0 && found.warning_count == 0);
    trained_remove(&fixture);
}

Test(evaluate, other_overrides_are_refused)
{
    static const struct {
        const char *override;
        skn_status_t status;
    } cases[] = {
        { "train.epochs=3", SKN_USAGE },
        { "data.cache=none", SKN_USAGE },
        { "", SKN_USAGE },
        { NULL, SKN_USAGE },
        { "data.test=", SKN_BAD_CONFIG },
        { "data.test=/nowhere", SKN_NO_INPUT },
    };
    trained_fixture_t fixture = { 0 };
    skn_evaluation_t found;
    skn_error_t error = { 0 };
    trained_make(&fixture);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        cr_expect_eq(ask(&fixture, &cases[k].override, 1, &found, &error),
                     cases[k].status, "%s: %s", cases[k].override, error.text);
    trained_remove(&fixture);
}
