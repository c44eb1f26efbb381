/* test_predictor.c - tests that a trained model predicts like the oracle.
 *
 * Covers topology/predict/predictor.c, topology/predict/points_clean.c,
 * topology/run/trained_find.c and actors/predict/network.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/predictor.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/trained_fixture.h"
#include "topology/predict/predictor_internal.h"

#define POINTS 600u /* three calls of the network */
#define K 7u

/* Points of 0 to 4 features, the first of all without. */
typedef struct points {
    size_t offset[POINTS + 1];
    uint32_t feature[POINTS * 4];
    float value[POINTS * 4];
} points_t;

static void
points_make(points_t *points)
{
    oracle_random_t random = { 7 };
    size_t at = 0;
    for (size_t i = 0; i < POINTS; i++) {
        points->offset[i] = at;
        for (uint32_t f = 0; f < i % 5; f++) {
            points->feature[at] = f * 2 + oracle_next(&random) % 2;
            points->value[at++] = oracle_float(&random) * 3;
        }
    }
    points->offset[POINTS] = at;
}

/* Point i, scaled as the model wants it. */
static size_t
scaled_point(const trained_fixture_t *fixture, const points_t *points, size_t i,
             float value[4])
{
    size_t first = points->offset[i], count = points->offset[i + 1] - first;
    double square = 0;
    for (size_t k = 0; k < count; k++)
        square +=
            (double)points->value[first + k] * (double)points->value[first + k];
    for (size_t k = 0; k < count; k++)
        value[k] =
            fixture->raw || square <= 0
                ? points->value[first + k]
                : (float)((double)points->value[first + k] / sqrt(square));
    return count;
}

static void
expect_point(const trained_fixture_t *fixture, const points_t *points, size_t i,
             const uint32_t *label, const float *score)
{
    static double want[TRAINED_LABELS];
    float value[4];
    size_t count = scaled_point(fixture, points, i, value);
    trained_oracle(fixture, points->feature + points->offset[i], value, count,
                   want);
    for (uint32_t r = 0; r < K; r++) {
        cr_assert_lt(label[r], TRAINED_LABELS);
        cr_expect(fabs((double)score[r] - want[label[r]]) <=
                      1e-5 * want[label[r]] + 1e-7,
                  "point %zu rank %u: got %.9g, want %.9g", i, r,
                  (double)score[r], want[label[r]]);
        cr_expect(r == 0 || score[r] <= score[r - 1]);
    }
    /* Nothing better was left out: the last is the k-th greatest of all. */
    size_t better = 0;
    for (uint32_t u = 0; u < TRAINED_LABELS; u++)
        better += want[u] > want[label[K - 1]] * (1 + 1e-5);
    cr_expect_lt(better, K, "point %zu: %zu labels are better", i, better);
}

static void
expect_oracle(trained_fixture_t *fixture)
{
    static points_t points;
    static uint32_t label[POINTS * K];
    static float score[POINTS * K];
    skn_error_t error = { 0 };
    points_make(&points);
    trained_make(fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture->path, &error);
    cr_assert(predictor, "%s", error.text);
    const skn_predictor_info_t *info = skn_predictor_info(predictor);
    cr_expect_eq(info->struct_bytes, sizeof(*info));
    cr_expect_eq(info->feature_count, TRAINED_FEATURES);
    cr_expect_eq(info->label_count, TRAINED_LABELS);
    cr_expect_eq(info->softmax, !fixture->one_vs_all);
    cr_expect_eq(info->normalizes, !fixture->raw);
    skn_points_t asked = { POINTS, points.offset, points.feature,
                           points.value };
    cr_assert_eq(skn_predictor_best(predictor, &asked, K, label, score, &error),
                 SKN_OK, "%s", error.text);
    for (size_t i = 0; i < POINTS; i++)
        expect_point(fixture, &points, i, label + i * K, score + i * K);
    skn_predictor_close(&predictor);
    trained_remove(fixture);
}

Test(predictor, softmax_scores_are_those_of_the_oracle)
{
    trained_fixture_t fixture = { 0 };
    expect_oracle(&fixture);
}

Test(predictor, one_vs_all_scores_are_those_of_the_oracle)
{
    trained_fixture_t fixture = { .one_vs_all = true };
    expect_oracle(&fixture);
}

Test(predictor, a_dense_layer_between_is_passed_through)
{
    trained_fixture_t fixture = { .dense = true };
    expect_oracle(&fixture);
}

Test(predictor, weights_in_bf16_are_read)
{
    trained_fixture_t fixture = { .half = true };
    expect_oracle(&fixture);
}

Test(predictor, values_stay_as_they_are_where_the_model_says_so)
{
    trained_fixture_t fixture = { .raw = true, .one_vs_all = true };
    expect_oracle(&fixture);
}

/* --- questions ----------------------------------------------------------- */

static skn_predictor_t *
open_plain(trained_fixture_t *fixture)
{
    skn_error_t error = { 0 };
    trained_make(fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture->path, &error);
    cr_assert(predictor, "%s", error.text);
    return predictor;
}

Test(predictor, the_greatest_k_asks_for_a_hundred_labels_and_more)
{
    trained_fixture_t fixture = { 0 };
    skn_predictor_t *predictor = open_plain(&fixture);
    uint32_t label[SKN_PREDICTOR_LABELS_MAX];
    float score[SKN_PREDICTOR_LABELS_MAX];
    size_t offset[] = { 0, 1 };
    uint32_t feature[] = { 8 };
    float value[] = { 1 };
    skn_points_t points = { 1, offset, feature, value };
    cr_expect_eq(skn_predictor_best(predictor, &points,
                                    SKN_PREDICTOR_LABELS_MAX, label, score,
                                    NULL),
                 SKN_OK);
    cr_expect_lt(label[SKN_PREDICTOR_LABELS_MAX - 1], TRAINED_LABELS);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

static void
expect_refused(const skn_predictor_t *predictor, uint32_t feature_asked,
               float value_asked, uint32_t k, skn_status_t status,
               const char *text)
{
    skn_error_t error = { 0 };
    uint32_t label[SKN_PREDICTOR_LABELS_MAX];
    float score[SKN_PREDICTOR_LABELS_MAX];
    size_t offset[] = { 0, 1 };
    skn_points_t points = { 1, offset, &feature_asked, &value_asked };
    cr_expect_eq(
        skn_predictor_best(predictor, &points, k, label, score, &error),
        status);
    cr_expect_str_eq(error.text, text);
}

Test(predictor, questions_out_of_range_are_refused)
{
    trained_fixture_t fixture = { 0 };
    skn_predictor_t *predictor = open_plain(&fixture);
    expect_refused(predictor, 0, 1, 0, SKN_USAGE,
                   "0 labels per point were requested, 1 to 128 allowed");
    expect_refused(predictor, 0, 1, 129, SKN_USAGE,
                   "129 labels per point were requested, 1 to 128 allowed");
    skn_predictor_strict(predictor, true);
    expect_refused(predictor, 9, 1, 1, SKN_BAD_DATA,
                   "point 0 has feature 9, but the model has only 9 "
                   "features");
    skn_predictor_strict(predictor, false);
    expect_refused(predictor, 3, NAN, 1, SKN_BAD_DATA,
                   "point 0: the value of feature 3 is not finite");
    skn_points_t none = { 0, (size_t[]){ 0 }, NULL, NULL };
    cr_expect_eq(skn_predictor_best(predictor, &none, 1, NULL, NULL, NULL),
                 SKN_OK);
    skn_predictor_close(&predictor);
    cr_expect_null(predictor);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

/* Two features, at most; the second point is empty where `offset` says so. */
typedef struct offsets_case {
    size_t count, offset[4];
    bool no_offset, no_feature, no_value;
    const char *text;
} offsets_case_t;

Test(predictor, offsets_that_cannot_be_are_refused_with_the_point)
{
    static const offsets_case_t cases[] = {
        { 2,
          { 0, 2, 1 },
          .text = "point 1 begins at offset 2 and ends at 1; "
                  "offsets must not fall" },
        { 1, { 5, 2 }, .text = "the offset of point 0 is 5, it must be 0" },
        { 1, { 1, 2 }, .text = "the offset of point 0 is 1, it must be 0" },
        { 3,
          { 0, 1, SIZE_MAX, 2 },
          .text = "point 2 begins at offset 18446744073709551615 and ends at "
                  "2; offsets must not fall" },
        { 1,
          { 0, SIZE_MAX / 2 },
          .text =
              "the offsets ask for 9223372036854775807 features, more than any "
              "memory holds" },
        { 1, { 0 }, .no_offset = true, .text = "1 points have no offsets" },
        { 1,
          { 0, 2 },
          .no_feature = true,
          .text = "the offsets ask for 2 features, but the array of "
                  "features is NULL" },
        { 1,
          { 0, 2 },
          .no_value = true,
          .text = "the offsets ask for 2 features, but the array of "
                  "values is NULL" },
    };
    trained_fixture_t fixture = { 0 };
    skn_predictor_t *predictor = open_plain(&fixture);
    uint32_t feature[] = { 1, 2 };
    float value[] = { 1, 1 };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        uint32_t label[3] = { 0 };
        float score[3] = { 0 };
        skn_error_t error = { 0 };
        skn_points_t points = { cases[k].count,
                                cases[k].no_offset ? NULL : cases[k].offset,
                                cases[k].no_feature ? NULL : feature,
                                cases[k].no_value ? NULL : value };
        cr_expect_eq(
            skn_predictor_best(predictor, &points, 1, label, score, &error),
            SKN_BAD_DATA, "case %zu", k);
        cr_expect_str_eq(error.text, cases[k].text);
        for (size_t i = 0; i < cases[k].count; i++)
            cr_expect(label[i] == UINT32_MAX && isnan(score[i]));
        cr_expect_eq(skn_predictor_unknown(predictor, &points, NULL, NULL), 0);
    }
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

Test(predictor, missing_arguments_are_a_wrong_use_and_no_crash)
{
    trained_fixture_t fixture = { 0 };
    skn_predictor_t *predictor = open_plain(&fixture);
    size_t offset[] = { 0, 0 };
    skn_points_t points = { 1, offset, NULL, NULL };
    uint32_t label[1];
    float score[1];
    skn_error_t error = { 0 };
    cr_expect_eq(skn_predictor_best(NULL, &points, 1, label, score, &error),
                 SKN_USAGE);
    cr_expect_eq(skn_predictor_best(predictor, NULL, 1, label, score, &error),
                 SKN_USAGE);
    cr_expect_eq(skn_predictor_best(predictor, &points, 1, NULL, score, &error),
                 SKN_USAGE);
    cr_expect_eq(skn_predictor_best(predictor, &points, 1, label, NULL, &error),
                 SKN_USAGE);
    cr_expect_eq(skn_predictor_index(NULL, 0, 0, &error), SKN_USAGE);
    cr_expect_null(skn_predictor_info(NULL));
    cr_expect_null(skn_predictor_open(NULL, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_null(skn_predictor_open("", &error));
    cr_expect_eq(skn_predictor_unknown(NULL, &points, NULL, NULL), 0);
    skn_predictor_strict(NULL, true);
    skn_predictor_close(NULL);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

/* The answer to one point. */
static void
ask(const skn_predictor_t *predictor, size_t count, const uint32_t *feature,
    const float *value, uint32_t label[K], float score[K])
{
    size_t offset[] = { 0, count };
    skn_points_t points = { 1, offset, feature, value };
    skn_error_t error = { 0 };
    cr_assert_eq(
        skn_predictor_best(predictor, &points, K, label, score, &error), SKN_OK,
        "%s", error.text);
}

static void
expect_same_answer(trained_fixture_t *fixture)
{
    static const uint32_t once[] = { 1, 4, 7 };
    static const float sums[] = { 0.5F, 1.0F, 3.0F };
    /* feature 4 in three pieces, out of order, and two unknown ones */
    static const uint32_t pieces[] = { 7, 4, 99, 1, 4, 4, UINT32_MAX };
    static const float parts[] = { 3.0F, 0.25F, 1.0F, 0.5F, 1.5F, -0.75F, 2.F };
    skn_predictor_t *predictor = open_plain(fixture);
    uint32_t want[K], got[K], feature = 0;
    float want_score[K], got_score[K];
    size_t offset[] = { 0, 0, 7 }, point = 0;
    skn_points_t points = { 2, offset, pieces, parts };
    ask(predictor, 3, once, sums, want, want_score);
    ask(predictor, 7, pieces, parts, got, got_score);
    cr_expect_arr_eq(got, want, sizeof(want));
    cr_expect_arr_eq(got_score, want_score, sizeof(want_score));
    cr_expect_eq(skn_predictor_unknown(predictor, &points, &point, &feature),
                 2);
    cr_expect_eq(point, 1);
    cr_expect_eq(feature, 99);
    skn_predictor_close(&predictor);
    trained_remove(fixture);
}

Test(predictor, repeated_features_add_up_and_unknown_ones_are_left_out)
{
    trained_fixture_t scaled = { 0 }, raw = { .raw = true };
    expect_same_answer(&scaled);
    expect_same_answer(&raw);
}

/* Of four points the second and the third overflow, in the first layer, or as
 * they are added up; the others have the answers that they have alone. */
static void
expect_overflow(trained_fixture_t *fixture, bool index)
{
    static const size_t offset[] = { 0, 1, 3, 5, 6 };
    static const uint32_t feature[] = { 2, 0, 1, 3, 3, 5 };
    static const float value[] = { 1, 3e38F, 3e38F, 3e38F, 3e38F, 1 };
    fixture->raw = true;
    skn_predictor_t *predictor = open_plain(fixture);
    skn_points_t points = { 4, offset, feature, value };
    uint32_t label[4 * K], alone[K];
    float score[4 * K], alone_score[K];
    skn_error_t error = { 0 };
    if (index)
        cr_assert_eq(skn_predictor_index(predictor, 20, 20, NULL), SKN_OK);
    cr_expect_eq(
        skn_predictor_best(predictor, &points, K, label, score, &error),
        SKN_BAD_DATA);
    cr_expect(strcmp(error.text, "point 1: its logits are not finite") == 0 ||
                  strcmp(error.text, "point 2: the values of feature 3 add up "
                                     "to more than a float can hold") == 0,
              "%s", error.text);
    for (size_t r = 0; r < K; r++) {
        cr_expect(label[K + r] == UINT32_MAX && isnan(score[K + r]));
        cr_expect(label[2 * K + r] == UINT32_MAX && isnan(score[2 * K + r]));
    }
    for (size_t i = 0; i < 4; i += 3) {
        ask(predictor, 1, feature + offset[i], value + offset[i], alone,
            alone_score);
        cr_expect_arr_eq(label + i * K, alone, sizeof(alone));
        cr_expect_arr_eq(score + i * K, alone_score, sizeof(alone_score));
    }
    skn_predictor_close(&predictor);
    trained_remove(fixture);
}

Test(predictor, sums_that_overflow_cost_their_own_point_only)
{
    trained_fixture_t plain = { 0 }, dense = { .dense = true },
                      half = { .half = true }, one = { .one_vs_all = true },
                      listed = { 0 };
    expect_overflow(&plain, false);
    expect_overflow(&dense, false);
    expect_overflow(&half, false);
    expect_overflow(&one, false);
    expect_overflow(&listed, true);
}

/* Whatever a call leaves there, it changes no answer of the next one, which may
 * have fewer points, or more. */
Test(predictor, the_memory_of_a_call_serves_the_next)
{
    static points_t points;
    static uint32_t label[2][POINTS * K];
    static float score[2][POINTS * K];
    static const size_t counts[] = { 3, POINTS, 256, 1, 300 };
    trained_fixture_t fixture = { .dense = true };
    skn_predictor_t *fresh = open_plain(&fixture);
    skn_points_t asked = { POINTS, points.offset, points.feature,
                           points.value };
    points_make(&points);
    cr_assert_eq(skn_predictor_best(fresh, &asked, K, label[0], score[0], NULL),
                 SKN_OK);
    skn_predictor_close(&fresh);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, NULL);
    cr_assert(predictor);
    const skn_points_clean_t *kept = NULL;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        asked.count = counts[c];
        cr_assert_eq(
            skn_predictor_best(predictor, &asked, K, label[1], score[1], NULL),
            SKN_OK);
        cr_expect_arr_eq(label[1], label[0], asked.count * K * 4);
        cr_expect_arr_eq(score[1], score[0], asked.count * K * 4);
        const skn_points_clean_t *now = atomic_load(&predictor->kept->clean[0]);
        cr_expect(now && (c == 0 || now == kept), "call %zu", c);
        cr_expect_null(atomic_load(&predictor->kept->clean[1]));
        kept = now;
    }
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

/* --- paths --------------------------------------------------------------- */

static void
expect_no_model(const char *path, skn_status_t status, const char *end)
{
    skn_error_t error = { 0 };
    skn_predictor_t *predictor = skn_predictor_open(path, &error);
    cr_expect_null(predictor);
    cr_expect_eq(error.status, status, "%s", error.text);
    size_t bytes = strlen(error.text), want = strlen(end);
    cr_expect(bytes >= want && strcmp(error.text + bytes - want, end) == 0,
              "%s", error.text);
    cr_expect_null(skn_predictor_open(path, NULL));
}

Test(predictor, what_is_no_model_is_reported)
{
    trained_fixture_t fixture = { 0 };
    char path[TEMP_FOLDER_BYTES + 64], away[TEMP_FOLDER_BYTES + 64];
    trained_make(&fixture);
    expect_no_model("/nowhere", SKN_NO_INPUT,
                    "/nowhere: No such file or directory");
    expect_no_model(
        fixture.folder, SKN_NO_INPUT,
        "is neither a run folder, a checkpoint nor an exported model");
    (void)snprintf(path, sizeof(path), "%s/batch-000000000001", fixture.path);
    (void)snprintf(away, sizeof(away), "%s/away", fixture.folder);
    cr_assert_eq(rename(path, away), 0);
    expect_no_model(away, SKN_NO_INPUT,
                    "is not in a run folder, which has its config");
    expect_no_model(fixture.path, SKN_NO_INPUT, "holds no checkpoint");
    trained_remove(&fixture);
}

Test(predictor, a_run_gives_its_best_and_a_checkpoint_itself)
{
    trained_fixture_t fixture = { 0 };
    skn_error_t error = { 0 };
    char path[TEMP_FOLDER_BYTES + 64];
    skn_run_options_t options = { .resume = true };
    trained_make(&fixture);
    skn_run_folder_t *run =
        skn_run_folder_open(fixture.path, &options, NULL, &error);
    trained_save(&fixture, run, 2);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_expect_eq(skn_predictor_info(predictor)->batch, 2);
    skn_predictor_close(&predictor);
    cr_assert_eq(skn_run_folder_mark_best(run, 1, 0, &error), SKN_OK);
    skn_run_folder_close(&run);
    predictor = skn_predictor_open(fixture.path, &error);
    cr_expect_eq(skn_predictor_info(predictor)->batch, 1);
    skn_predictor_close(&predictor);
    (void)snprintf(path, sizeof(path), "%s/latest", fixture.path);
    predictor = skn_predictor_open(path, &error);
    cr_expect_eq(skn_predictor_info(predictor)->batch, 2);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}

static void
damage(const char *folder, const char *file, long offset)
{
    char path[TEMP_FOLDER_BYTES + 96];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *handle = fopen(path, "r+b");
    cr_assert(handle, "%s", path);
    (void)fseek(handle, offset, offset < 0 ? SEEK_END : SEEK_SET);
    int byte = fgetc(handle);
    (void)fseek(handle, -1, SEEK_CUR);
    (void)fputc(byte ^ 1, handle);
    (void)fclose(handle);
}

Test(predictor, damage_falls_back_to_an_older_checkpoint_of_the_run)
{
    trained_fixture_t fixture = { 0 };
    skn_error_t error = { 0 };
    char path[TEMP_FOLDER_BYTES + 64];
    skn_run_options_t options = { .resume = true };
    trained_make(&fixture);
    skn_run_folder_t *run =
        skn_run_folder_open(fixture.path, &options, NULL, &error);
    trained_save(&fixture, run, 2);
    skn_run_folder_close(&run);
    (void)snprintf(path, sizeof(path), "%s/batch-000000000002", fixture.path);
    damage(path, "output.safetensors", -1);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_expect_eq(skn_predictor_info(predictor)->batch, 1);
    cr_expect_neq(skn_predictor_info(predictor)->warning[0], '\0');
    skn_predictor_close(&predictor);
    cr_expect_null(skn_predictor_open(path, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    trained_remove(&fixture);
}

/* Makes FOLDER/NAME a run folder of that run, with one checkpoint. */
static void
add_node(trained_fixture_t *fixture, const char *folder, const char *name,
         const skn_run_options_t *options, uint64_t batch)
{
    char path[TEMP_FOLDER_BYTES + 64];
    skn_error_t error = { 0 };
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    skn_run_folder_t *run = skn_run_folder_open(path, options, NULL, &error);
    cr_assert(run, "%s", error.text);
    trained_save(fixture, run, batch);
    skn_run_folder_close(&run);
}

/* The node's folder may hold folders of its run, too: a copy. */
Test(predictor, a_node_s_folder_gives_the_run_that_has_gone_on_without_it)
{
    trained_fixture_t fixture = { 0 };
    skn_trained_t trained;
    skn_error_t error = { 0 };
    char config[4096], id[SKN_RUN_ID_BYTES], node[TEMP_FOLDER_BYTES + 16];
    skn_run_options_t options = { .resume = true };
    trained_make(&fixture);
    trained_config(&fixture, config, sizeof(config));
    add_node(&fixture, fixture.path, ".", &options, 2);
    skn_run_folder_t *run = skn_run_folder_open_read_only(fixture.path, NULL);
    memcpy(id, skn_run_folder_id(run), sizeof(id));
    skn_run_folder_close(&run);
    options = (skn_run_options_t){ .run_id = id, .config_text = config };
    add_node(&fixture, fixture.path, "n0", &options, 1);
    add_node(&fixture, fixture.path, "n0/copy", &options, 1);
    (void)snprintf(node, sizeof(node), "%s/n0", fixture.path);
    cr_assert_eq(skn_trained_open(&trained, node, SKN_VERIFY_LAZY, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(trained.place.path, fixture.path);
    cr_expect_eq(trained.place.nodes.count, 1);
    cr_expect_eq(skn_checkpoint_batch(trained.checkpoint), 2);
    cr_expect(strstr(trained.warning, "n0 lacks the newest checkpoint"), "%s",
              trained.warning);
    skn_trained_close(&trained);
    trained_remove(&fixture);
}

/* --- the network itself -------------------------------------------------- */

static skn_status_t
load(const trained_fixture_t *fixture, const char *const *names, uint32_t count,
     uint64_t memory_bytes, skn_error_t *error)
{
    skn_network_t network = { .softmax = true };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(fixture->path, SKN_VERIFY_LAZY, error);
    cr_assert(checkpoint, "%s", error->text);
    skn_status_t status = skn_network_load(&network, checkpoint, names, count,
                                           memory_bytes, error);
    skn_network_fini(&network);
    skn_checkpoint_close(&checkpoint);
    return status;
}

Test(predictor, layers_that_do_not_fit_are_refused)
{
    trained_fixture_t fixture = { .dense = true };
    skn_error_t error = { 0 };
    const char *skips[] = { "hidden", "output" };
    const char *lacks[] = { "hidden", "inner", "output" };
    const char *fits[] = { "hidden", "middle", "output" };
    trained_make(&fixture);
    cr_expect_eq(load(&fixture, skips, 2, UINT64_MAX, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "output.weight has 5 columns, but the "
                                 "layer below has 6 units");
    cr_expect_eq(load(&fixture, lacks, 3, UINT64_MAX, &error), SKN_BAD_DATA);
    cr_expect(strstr(error.text, "tensor inner.weight is missing"), "%s",
              error.text);
    cr_expect_eq(load(&fixture, fits, 1, UINT64_MAX, &error), SKN_BAD_CONFIG);
    cr_expect_eq(load(&fixture, fits, 3, 1 << 20, &error), SKN_NO_MEMORY);
    cr_expect_str_eq(error.text, "the model needs 6 MiB of memory, 1 MiB are "
                                 "available");
    cr_expect_eq(load(&fixture, fits, 3, UINT64_MAX, &error), SKN_OK);
    trained_remove(&fixture);
}

/* Answers of an index are of the labels that it finds: each with a score of at
 * least the exact one, and in the right order. */
static void
expect_listed(trained_fixture_t *fixture, uint32_t lists, uint32_t probes)
{
    static points_t points;
    static uint32_t exact[POINTS * K], listed[POINTS * K];
    static float exact_score[POINTS * K], listed_score[POINTS * K];
    skn_error_t error = { 0 };
    points_make(&points);
    trained_make(fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture->path, &error);
    cr_assert(predictor, "%s", error.text);
    skn_points_t all = { POINTS, points.offset, points.feature, points.value };
    cr_assert_eq(
        skn_predictor_best(predictor, &all, K, exact, exact_score, &error),
        SKN_OK);
    cr_assert_eq(skn_predictor_index(predictor, lists, probes, &error), SKN_OK,
                 "%s", error.text);
    const skn_predictor_info_t *info = skn_predictor_info(predictor);
    cr_expect_eq(info->index_lists, lists);
    cr_expect_eq(info->index_probes, probes);
    cr_assert_eq(
        skn_predictor_best(predictor, &all, K, listed, listed_score, &error),
        SKN_OK, "%s", error.text);
    size_t hits = 0;
    for (size_t k = 0; k < (size_t)POINTS * K; k++) {
        bool same = listed[k] == exact[k];
        hits += same;
        cr_expect(k % K == 0 || listed_score[k] <= listed_score[k - 1]);
        cr_expect(!same || listed_score[k] >= exact_score[k] * (1 - 1e-5f));
    }
    if (lists == probes)
        cr_expect_eq(hits, (size_t)POINTS * K, "every list was looked into");
    else
        cr_expect(hits > (size_t)POINTS * K / 4 && hits < (size_t)POINTS * K,
                  "%zu of %u labels", hits, POINTS * K);
    skn_predictor_close(&predictor);
    trained_remove(fixture);
}

Test(predictor, an_index_with_all_its_lists_is_exact)
{
    trained_fixture_t fixture = { 0 };
    expect_listed(&fixture, 40, 40);
}

Test(predictor, an_index_with_some_of_its_lists_finds_many)
{
    trained_fixture_t fixture = { 0 };
    expect_listed(&fixture, 40, 10);
}

Test(predictor, an_index_goes_with_one_vs_all_dense_layers_and_bf16)
{
    trained_fixture_t one_vs_all = { .one_vs_all = true, .dense = true };
    expect_listed(&one_vs_all, 32, 32);
    trained_fixture_t half = { .half = true };
    expect_listed(&half, 32, 32);
}

Test(predictor, an_index_has_numbers_of_its_own_and_refuses_others)
{
    trained_fixture_t fixture = { 0 };
    skn_error_t error = { 0 };
    trained_make(&fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    cr_expect_eq(skn_predictor_info(predictor)->index_lists, 0);
    cr_expect_eq(skn_predictor_index(predictor, 1501, 0, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "the index has 1501 lists for 1500 labels");
    cr_expect_eq(skn_predictor_index(predictor, 1500, 129, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "129 probes: the index has 1500 lists, of "
                                 "which a point can probe at most 128");
    cr_expect_eq(skn_predictor_index(predictor, 9, 10, &error), SKN_USAGE);
    cr_expect_eq(skn_predictor_info(predictor)->index_lists, 0);
    cr_assert_eq(skn_predictor_index(predictor, 0, 0, &error), SKN_OK);
    cr_expect_eq(skn_predictor_info(predictor)->index_lists, 154);
    cr_expect_eq(skn_predictor_info(predictor)->index_probes, 8);
    cr_assert_eq(skn_predictor_index(predictor, 3, 2, &error), SKN_OK);
    cr_expect_eq(skn_predictor_info(predictor)->index_lists, 3);
    skn_predictor_close(&predictor);
    trained_remove(&fixture);
}
