/* test_evaluate.c - tests scores of a trained model against a count by hand.
 *
 * Covers topology/predict/evaluate.c and topology/predict/point_rows.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/evaluate.h"

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

/* The share of points whose label is the best one. */
static double
count_hits(const trained_fixture_t *fixture)
{
    static double probability[TRAINED_LABELS];
    double hits = 0;
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t feature = i % TRAINED_FEATURES, best = 0;
        float one = 1;
        trained_oracle(fixture, &feature, &one, 1, probability);
        for (uint32_t u = 1; u < TRAINED_LABELS; u++)
            if (probability[u] > probability[best])
                best = u;
        hits += best == i * 5 % TRAINED_LABELS;
    }
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
    cr_expect_str_eq(found.warning, "");
    cr_expect(fabs(found.scores.p1 - count_hits(&fixture)) < 1e-9, "%g, %g",
              found.scores.p1, count_hits(&fixture));
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
    cr_expect_neq(found.warning[0], '\0');
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
    cr_expect_eq(found.unknown.labels, 1);
    cr_expect_eq(found.unknown.features, 1);
    cr_expect_eq(found.unknown.points, 2);
    cr_expect_eq(found.unknown.bare_points, 1);
    cr_expect_eq(found.unknown.line, 2);
    cr_expect_eq(found.note_count, 1);
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
    cr_expect_str_eq(error.hint, "give -o data.test=FILE");
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}
