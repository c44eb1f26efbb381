/* test_ranker.c - rows of a ranker against the minimum of what they minimise,
 * by descent in double; margins and orders by hand.
 *
 * Covers actors/ranker.c, topology/ranker_fit.c and how actors/network.c asks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/ranker_fit.h"
#include "tests/trained_fixture.h"
#include "topology/join.h"

#define FEATURES 40u
#define POINTS 120u
#define LABELS 700u /* more than one run of labels */

typedef struct fixture {
    char folder[TEMP_FOLDER_BYTES];
    skn_dataset_t *dataset;
    skn_ranker_examples_t examples;
    skn_ranker_t ranker;
} fixture_t;

/* Label l's points have feature l % FEATURES more often than others. */
static void
write_points(const char *path)
{
    oracle_random_t random = { 11 };
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    (void)fprintf(file, "%u %u %u\n", POINTS, FEATURES, LABELS);
    for (uint32_t i = 0; i < POINTS; i++) {
        (void)fprintf(file, "%u", i % LABELS);
        for (uint32_t f = 0; f < FEATURES; f++)
            if (f == i % FEATURES || oracle_next(&random) % 5 == 0)
                (void)fprintf(file, " %u:%.3f", f,
                              0.2 + (double)(oracle_next(&random) % 9) / 9);
        (void)fputc('\n', file);
    }
    cr_assert_eq(fclose(file), 0);
}

/* Each label has two points and is mistaken for some others; every seventh has
 * no example at all. */
static void
make(fixture_t *fixture)
{
    char path[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    oracle_random_t random = { 3 };
    memset(fixture, 0, sizeof(*fixture));
    temp_folder_make(fixture->folder);
    (void)snprintf(path, sizeof(path), "%s/train.txt", fixture->folder);
    write_points(path);
    cr_assert_eq(skn_dataset_open(path, &options, &fixture->dataset, &error),
                 SKN_OK, "%s", error.text);
    skn_ranker_examples_t *examples = &fixture->examples;
    examples->label_count = LABELS;
    examples->offset = calloc(LABELS + 1, sizeof(*examples->offset));
    examples->point = calloc((size_t)LABELS * 16, sizeof(*examples->point));
    cr_assert(examples->offset && examples->point);
    uint64_t at = 0;
    for (uint32_t l = 0; l < LABELS; l++) {
        uint32_t others = oracle_next(&random) % 12;
        examples->offset[l] = at;
        if (l % 7 == 6)
            continue;
        examples->point[at++] = 2 * (l % POINTS) + 1;
        examples->point[at++] = 2 * ((l + FEATURES) % POINTS) + 1;
        for (uint32_t k = 0; k < others; k++)
            examples->point[at++] = 2 * (oracle_next(&random) % POINTS);
    }
    examples->offset[LABELS] = at;
}

static void
fit(fixture_t *fixture, uint64_t weight_max, uint32_t threads)
{
    skn_error_t error = { 0 };
    skn_ranker_fini(&fixture->ranker);
    cr_assert_eq(skn_ranker_fit(&fixture->ranker, fixture->dataset,
                                &fixture->examples, FEATURES, weight_max,
                                threads, &error),
                 SKN_OK, "%s", error.text);
}

static void
drop(fixture_t *fixture)
{
    skn_ranker_fini(&fixture->ranker);
    skn_ranker_examples_fini(&fixture->examples);
    skn_dataset_close(&fixture->dataset);
    temp_folder_remove(fixture->folder);
}

/* --- fitting ------------------------------------------------------------- */

/* z of example `at` by w[FEATURES + 1], the bias last. */
static double
margin_of(const fixture_t *fixture, const double *w, uint64_t at)
{
    skn_dataset_point_t point =
        skn_dataset_point(fixture->dataset, fixture->examples.point[at] >> 1);
    double z = w[FEATURES];
    for (uint32_t k = 0; k < point.feature_count; k++)
        z += w[point.feature[k]] * (double)point.value[k];
    return z;
}

/* |w|^2 / 2 + sum max(0, 1 - y z)^2, and its gradient. */
static double
objective(const fixture_t *fixture, uint32_t label, const double *w,
          double *gradient)
{
    const skn_ranker_examples_t *examples = &fixture->examples;
    double sum = 0;
    for (uint32_t f = 0; f <= FEATURES; f++) {
        sum += w[f] * w[f] / 2;
        gradient[f] = w[f];
    }
    for (uint64_t at = examples->offset[label];
         at < examples->offset[label + 1]; at++) {
        double y = examples->point[at] & 1 ? 1 : -1;
        double lack = 1 - y * margin_of(fixture, w, at);
        if (lack <= 0)
            continue;
        skn_dataset_point_t point =
            skn_dataset_point(fixture->dataset, examples->point[at] >> 1);
        sum += lack * lack;
        gradient[FEATURES] -= 2 * lack * y;
        for (uint32_t k = 0; k < point.feature_count; k++)
            gradient[point.feature[k]] -= 2 * lack * y * (double)point.value[k];
    }
    return sum;
}

/* Steps below 2 / (greatest curvature), which is at most 1 + 4 a point. */
static double
minimum(const fixture_t *fixture, uint32_t label, double *w)
{
    const uint64_t *offset = fixture->examples.offset;
    double gradient[FEATURES + 1],
        step = 1.0 / (1.0 + 4.0 * (double)(offset[label + 1] - offset[label]));
    memset(w, 0, (FEATURES + 1) * sizeof(*w));
    for (uint32_t round = 0; round < 5000; round++) {
        (void)objective(fixture, label, w, gradient);
        for (uint32_t f = 0; f <= FEATURES; f++)
            w[f] -= step * gradient[f];
    }
    return objective(fixture, label, w, gradient);
}

/* Within the tolerance of the descent; what is below .1 may be left out. */
Test(ranker, rows_are_those_of_the_least_loss)
{
    fixture_t fixture;
    make(&fixture);
    fit(&fixture, 1000000, 2);
    for (uint32_t l = 0; l < LABELS; l += 9) {
        double want[FEATURES + 1], have[FEATURES + 1] = { 0 };
        const skn_ranker_t *ranker = &fixture.ranker;
        (void)minimum(&fixture, l, want);
        for (uint64_t k = ranker->offset[l]; k < ranker->offset[l + 1]; k++) {
            have[ranker->feature[k]] = (double)ranker->weight[k];
            cr_expect_geq(fabsf(ranker->weight[k]), 0.1F);
        }
        have[FEATURES] = (double)ranker->bias[l];
        for (uint32_t f = 0; f <= FEATURES; f++)
            cr_expect(fabs(have[f] - want[f]) < 0.06 ||
                          (have[f] == 0 && fabs(want[f]) < 0.16),
                      "label %u feature %u: %g, not %g", l, f, have[f],
                      want[f]);
    }
    drop(&fixture);
}

Test(ranker, a_label_without_examples_has_no_opinion)
{
    fixture_t fixture;
    make(&fixture);
    fit(&fixture, 1000000, 1);
    cr_expect_eq(fixture.ranker.offset[7], fixture.ranker.offset[6]);
    cr_expect_eq(fixture.ranker.bias[6], 0.0F);
    drop(&fixture);
}

Test(ranker, any_number_of_threads_fits_the_same)
{
    fixture_t one, many;
    make(&one);
    make(&many);
    fit(&one, 1000000, 1);
    for (uint32_t threads = 2; threads < 200; threads *= 3) {
        fit(&many, 1000000, threads);
        const skn_ranker_t *a = &one.ranker, *b = &many.ranker;
        cr_assert_eq(a->weight_count, b->weight_count);
        cr_expect_arr_eq(a->offset, b->offset,
                         (LABELS + 1) * sizeof(*a->offset));
        cr_expect_arr_eq(a->feature, b->feature,
                         a->weight_count * sizeof(*a->feature));
        cr_expect_arr_eq(a->weight, b->weight,
                         a->weight_count * sizeof(*a->weight));
        cr_expect_arr_eq(a->bias, b->bias, LABELS * sizeof(*a->bias));
    }
    drop(&one);
    drop(&many);
}

/* A row keeps 64 of its weights, and its share of the bound, and of them the
 * greatest. Points of one feature each, half of them with the only label;
 * the greater a value is, the greater the weight. */
Test(ranker, weights_have_a_bound)
{
    char path[TEMP_FOLDER_BYTES + 16], folder[TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS,
                                      .normalize = SKN_NORMALIZE_NONE };
    skn_dataset_t *dataset;
    uint64_t offset[2] = { 0, 101 };
    uint32_t example[101];
    skn_ranker_examples_t examples = { 1, offset, example };
    skn_ranker_t all, some;
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/train.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    for (uint32_t i = 0; i <= 100; i++) {
        example[i] = 2 * i + (i & 1);
        (void)fprintf(file, "0 %u:%.3f\n", i, 0.5 + (double)i / 250);
    }
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(skn_dataset_open(path, &options, &dataset, &error), SKN_OK,
                 "%s", error.text);
    cr_assert_eq(skn_ranker_fit(&all, dataset, &examples, 101, 1000, 1, &error),
                 SKN_OK);
    cr_assert_eq(skn_ranker_fit(&some, dataset, &examples, 101, 6, 1, &error),
                 SKN_OK);
    cr_expect_geq(all.weight_count, 80);
    cr_expect_eq(some.weight_count, 70);
    float least = INFINITY;
    for (uint64_t k = 0; k < some.weight_count; k++)
        least = fminf(least, fabsf(some.weight[k]));
    uint64_t greater = 0;
    for (uint64_t k = 0; k < all.weight_count; k++)
        greater += fabsf(all.weight[k]) >= least;
    cr_expect_eq(greater, some.weight_count);
    skn_ranker_fini(&all);
    skn_ranker_fini(&some);
    skn_dataset_close(&dataset);
    temp_folder_remove(folder);
}

/* --- margins and orders -------------------------------------------------- */

/* Label 0 knows features 0, 3, 6, ... 297; label 1 feature 5 alone. */
static void
make_by_hand(skn_ranker_t *ranker)
{
    *ranker = (skn_ranker_t){ .label_count = 3,
                              .feature_count = 300,
                              .weight_count = 101 };
    ranker->offset = calloc(4, sizeof(*ranker->offset));
    ranker->feature = calloc(101, sizeof(*ranker->feature));
    ranker->weight = calloc(101, sizeof(*ranker->weight));
    ranker->bias = calloc(3, sizeof(*ranker->bias));
    cr_assert(ranker->offset && ranker->feature && ranker->weight &&
              ranker->bias);
    for (uint32_t k = 0; k < 100; k++) {
        ranker->feature[k] = 3 * k;
        ranker->weight[k] = 1.0F + (float)k;
    }
    ranker->feature[100] = 5;
    ranker->weight[100] = -2.0F;
    ranker->offset[1] = 100;
    ranker->offset[2] = ranker->offset[3] = 101;
    ranker->bias[0] = 0.5F;
    ranker->bias[1] = 4.0F;
}

Test(ranker, margins_of_short_and_long_rows)
{
    skn_ranker_t ranker;
    make_by_hand(&ranker);
    const uint32_t feature[] = { 0, 1, 5, 9, 297, 299 };
    const float value[] = { 1, 100, 0.5F, 2, -1, 100 };
    for (size_t first = 0; first <= 6; first++)
        for (size_t count = 0; first + count <= 6; count++) {
            skn_sparse_t point = { feature + first, value + first, count };
            double want[3] = { 0.5, 4.0, 0.0 };
            for (size_t k = first; k < first + count; k++) {
                if (feature[k] % 3 == 0)
                    want[0] += (1 + feature[k] / 3) * (double)value[k];
                if (feature[k] == 5)
                    want[1] -= 2 * (double)value[k];
            }
            for (uint32_t l = 0; l < 3; l++)
                cr_expect_eq((double)skn_ranker_margin(&ranker, l, &point),
                             want[l]);
        }
    skn_ranker_fini(&ranker);
}

/* No feature: z is .5, 4 and 0. */
Test(ranker, orders_by_both)
{
    skn_ranker_t ranker;
    make_by_hand(&ranker);
    skn_sparse_t nothing = { 0 };
    for (int shares = 0; shares < 2; shares++) {
        uint32_t label[3] = { 2, 0, 1 };
        float chance[3] = { 0.4F, 0.3F, 0.2F };
        double weight[3] = { 0.3 * exp(-0.125), 0.2, 0.4 * exp(-0.5) };
        double scale = shares ? 0.9 / (weight[0] + weight[1] + weight[2]) : 1.0;
        skn_ranker_order(&ranker, &nothing, shares, 3, label, chance);
        for (uint32_t r = 0; r < 3; r++)
            cr_expect_float_eq((double)chance[r], scale * weight[label[r]],
                               1e-6);
        cr_expect_eq(label[0], 0);
        cr_expect_eq(label[1], 2);
        cr_expect_eq(label[2], 1);
    }
    uint32_t label[2] = { 1, 0 };
    float chance[2] = { 0, 0 };
    skn_ranker_order(&ranker, &nothing, true, 2, label, chance);
    cr_expect_eq(label[0], 0, "of equal ones the lower");
    cr_expect_eq(chance[0], 0.0F);
    skn_ranker_fini(&ranker);
}

/* --- with a network ------------------------------------------------------ */

typedef struct ranked {
    trained_fixture_t network;
    char into[TEMP_FOLDER_BYTES + 16];
    skn_ranker_t ranker;
} ranked_t;

/* Speaks for label 3 by feature 1, against label 8 by feature 2. */
static void
make_ranked(ranked_t *ranked, bool one_vs_all)
{
    memset(ranked, 0, sizeof(*ranked));
    ranked->network.one_vs_all = one_vs_all;
    ranked->network.raw = true;
    trained_make(&ranked->network);
    (void)snprintf(ranked->into, sizeof(ranked->into), "%s/whole",
                   ranked->network.folder);
    skn_ranker_t *ranker = &ranked->ranker;
    *ranker = (skn_ranker_t){ .label_count = TRAINED_LABELS,
                              .feature_count = TRAINED_FEATURES,
                              .weight_count = 2 };
    ranker->offset = calloc(TRAINED_LABELS + 1, sizeof(*ranker->offset));
    ranker->feature = calloc(2, sizeof(*ranker->feature));
    ranker->weight = calloc(2, sizeof(*ranker->weight));
    ranker->bias = calloc(TRAINED_LABELS, sizeof(*ranker->bias));
    cr_assert(ranker->offset && ranker->feature && ranker->weight &&
              ranker->bias);
    ranker->feature[0] = 1;
    ranker->weight[0] = 2.0F;
    ranker->feature[1] = 2;
    ranker->weight[1] = -6.0F;
    for (uint32_t l = 0; l <= TRAINED_LABELS; l++)
        ranker->offset[l] = (l > 3 ? 1u : 0u) + (l > 8 ? 1u : 0u);
}

static void
save(ranked_t *ranked, skn_status_t status)
{
    const char *path = ranked->network.path;
    skn_join_extra_t extra = { .ranker = &ranked->ranker };
    skn_joined_t joined;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_join(ranked->into, &path, 1, &extra, &joined, &error),
                 status, "%s", error.text);
}

static void
drop_ranked(ranked_t *ranked)
{
    skn_ranker_fini(&ranked->ranker);
    trained_remove(&ranked->network);
}

static int
by_chance(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

static void
expect_ranked(bool one_vs_all)
{
    static double all[TRAINED_LABELS], sorted[TRAINED_LABELS];
    ranked_t ranked;
    skn_error_t error = { 0 };
    make_ranked(&ranked, one_vs_all);
    save(&ranked, SKN_OK);
    skn_predictor_t *predictor = skn_predictor_open(ranked.into, &error);
    cr_assert(predictor, "%s", error.text);
    /* not in order, as a program may give them */
    const uint32_t feature[3] = { 2, 7, 1 };
    const float value[3] = { 0.5F, 0.25F, 0.5F };
    const size_t offset[2] = { 0, 3 };
    skn_points_t points = { 1, offset, feature, value };
    uint32_t label[128];
    float score[128];
    cr_assert_eq(
        skn_predictor_best(predictor, &points, 100, label, score, &error),
        SKN_OK, "%s", error.text);
    trained_oracle(&ranked.network, feature, value, 3, all);
    memcpy(sorted, all, sizeof(all));
    qsort(sorted, TRAINED_LABELS, sizeof(*sorted), by_chance);
    double before = 0, after = 0;
    for (uint32_t l = 0; l < TRAINED_LABELS; l++) {
        double lack = l == 3 ? 0.0 : l == 8 ? 4.0 : 1.0;
        if (all[l] < sorted[99]) {
            all[l] = 0;
            continue;
        }
        before += all[l];
        all[l] *= exp(-0.5 * lack * lack);
        after += all[l];
    }
    for (uint32_t r = 0; r < 100; r++) {
        double want = all[label[r]] * (one_vs_all ? 1 : before / after);
        cr_expect_float_eq((double)score[r], want, 1e-5 * want + 1e-9,
                           "%u: %g, not %g", label[r], (double)score[r], want);
        cr_expect(r == 0 || score[r] <= score[r - 1]);
    }
    skn_predictor_close(&predictor);
    drop_ranked(&ranked);
}

Test(ranker, a_predictor_asks_it)
{
    expect_ranked(false);
    expect_ranked(true);
}

Test(ranker, disorder_in_a_checkpoint_is_refused)
{
    for (int fault = 0; fault < 5; fault++) {
        ranked_t ranked;
        skn_error_t error = { 0 };
        make_ranked(&ranked, false);
        if (fault == 0)
            ranked.ranker.feature[0] = TRAINED_FEATURES;
        else if (fault == 1)
            ranked.ranker.offset[2] = 2;
        else if (fault == 2)
            ranked.ranker.offset[0] = 1;
        else if (fault == 3)
            ranked.ranker.weight[1] = NAN;
        else
            ranked.ranker.bias[9] = INFINITY;
        save(&ranked, SKN_OK);
        skn_predictor_t *predictor = skn_predictor_open(ranked.into, &error);
        cr_expect_null(predictor);
        cr_expect_eq(error.status, SKN_BAD_DATA, "%s", error.text);
        cr_expect(strstr(error.text, "ranker"), "%s", error.text);
        drop_ranked(&ranked);
    }
}

Test(ranker, one_of_another_model_is_refused)
{
    ranked_t ranked;
    make_ranked(&ranked, false);
    ranked.ranker.feature_count++;
    save(&ranked, SKN_USAGE);
    drop_ranked(&ranked);
}
