/* test_ranker.c - tests rows of a ranker against the minimum of their loss,
 * found by descent in double; trees, margins and orders by their definitions.
 *
 * Covers actors/predict/ranker.c, topology/predict/ranker_fit.c,
 * topology/predict/ranker_part.c, topology/predict/ranker_row.c,
 * transport/socket/parallel_for.c, and the use of a ranker by
 * actors/predict/network.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/predict/ranker_fit.h"
#include "tests/support/trained_fixture.h"
#include "topology/predict/join.h"

#define FEATURES 40u
#define POINTS 400u
#define LABELS 310u /* some of them without a point; more than one group */

typedef struct fixture {
    char folder[TEMP_FOLDER_BYTES];
    skn_dataset_t *dataset;
    skn_label_points_t has, taken;
    skn_ranker_source_t source;
    skn_ranker_t ranker;
} fixture_t;

/* A point of label l has much of the feature l % FEATURES, and others by
 * chance. */
static void
write_points(const char *path)
{
    oracle_random_t random = { 11 };
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    (void)fprintf(file, "%u %u %u\n", POINTS, FEATURES, LABELS);
    for (uint32_t i = 0; i < POINTS; i++) {
        (void)fprintf(file, "%u", i % (LABELS - 10));
        for (uint32_t f = 0; f < FEATURES; f++)
            if (f == i % FEATURES || oracle_next(&random) % 5 == 0)
                (void)skn_text_print(
                    file, " %u:%.3f", f,
                    f == i % FEATURES
                        ? 3.0
                        : 0.2 + (double)(oracle_next(&random) % 9) / 9);
        (void)fputc('\n', file);
    }
    cr_assert_eq(fclose(file), 0);
}

/* `kind` 0: the points that have a label; 1: some that have not. */
static void
list_points(const fixture_t *fixture, skn_label_points_t *points, int kind)
{
    oracle_random_t random = { 3 };
    points->label_count = LABELS;
    points->offset = calloc(LABELS + 1, sizeof(*points->offset));
    points->point = calloc((size_t)LABELS * 16, sizeof(*points->point));
    cr_assert(points->offset && points->point);
    uint64_t at = 0;
    for (uint32_t l = 0; l < LABELS; l++) {
        points->offset[l] = at;
        for (uint32_t i = oracle_next(&random) % 50; i < POINTS;
             i += kind == 0 ? 1 : 50 + oracle_next(&random) % 50) {
            skn_dataset_point_t point = skn_dataset_point(fixture->dataset, i);
            if ((point.label[0] == l) == (kind == 0))
                points->point[at++] = i;
        }
        if (kind == 0) { /* all, whatever was drawn */
            at = points->offset[l];
            for (uint32_t i = 0; i < POINTS; i++)
                if (skn_dataset_point(fixture->dataset, i).label[0] == l)
                    points->point[at++] = i;
        }
    }
    points->offset[LABELS] = at;
}

static void
make(fixture_t *fixture)
{
    char path[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    memset(fixture, 0, sizeof(*fixture));
    temp_folder_make(fixture->folder);
    (void)snprintf(path, sizeof(path), "%s/train.txt", fixture->folder);
    write_points(path);
    cr_assert_eq(skn_dataset_open(path, &options, &fixture->dataset, &error),
                 SKN_OK, "%s", error.text);
    list_points(fixture, &fixture->has, 0);
    list_points(fixture, &fixture->taken, 1);
    fixture->source = (skn_ranker_source_t){
        .dataset = fixture->dataset,
        .has = &fixture->has,
        .taken = &fixture->taken,
        .feature_count = FEATURES,
        .tree_count = 2,
        .thread_count = 2,
        .weight_max = 1000000,
        .seed = 5,
    };
}

static void
fit(fixture_t *fixture)
{
    skn_error_t error = { 0 };
    skn_ranker_fini(&fixture->ranker);
    cr_assert_eq(skn_ranker_fit(&fixture->ranker, &fixture->source, &error),
                 SKN_OK, "%s", error.text);
}

static void
drop(fixture_t *fixture)
{
    skn_ranker_fini(&fixture->ranker);
    skn_label_points_fini(&fixture->has);
    skn_label_points_fini(&fixture->taken);
    skn_dataset_close(&fixture->dataset);
    temp_folder_remove(fixture->folder);
}

/* --- trees --------------------------------------------------------------- */

static bool
is_below(const skn_ranker_t *ranker, uint32_t node, uint32_t above)
{
    while (node != UINT32_MAX && node != above)
        node = ranker->parent[node];
    return node == above;
}

static uint32_t
labels_below(const skn_ranker_t *ranker, uint32_t tree, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < LABELS; l++) {
        uint32_t leaf = ranker->leaf[tree * LABELS + l];
        count += leaf != UINT32_MAX && is_below(ranker, leaf, node);
    }
    return count;
}

/* 300 labels of 310 have points: 150 and 150, and 75 under each of four. */
Test(ranker, a_tree_has_each_label_once_and_halves_of_a_size)
{
    fixture_t fixture;
    make(&fixture);
    fit(&fixture);
    const skn_ranker_t *ranker = &fixture.ranker;
    cr_assert_eq(ranker->tree_count, 2);
    cr_assert_eq(ranker->node_count, 2 * (300 + 2 + 4));
    static bool is_leaf[2 * 306];
    for (uint32_t t = 0; t < 2; t++)
        for (uint32_t l = 0; l < LABELS; l++) {
            uint32_t leaf = ranker->leaf[t * LABELS + l];
            cr_expect_eq(leaf == UINT32_MAX, l >= 300, "label %u", l);
            if (leaf == UINT32_MAX)
                continue;
            cr_expect(leaf / 306 == t && !is_leaf[leaf], "label %u", l);
            is_leaf[leaf] = true;
        }
    for (uint32_t n = 0; n < ranker->node_count; n++)
        if (!is_leaf[n])
            cr_expect_eq(labels_below(ranker, n / 306, n),
                         ranker->parent[n] == UINT32_MAX ? 150 : 75);
    drop(&fixture);
}

/* Labels l and l + 40 have a feature in common, which is heavy. */
Test(ranker, like_labels_are_together)
{
    fixture_t fixture;
    make(&fixture);
    fit(&fixture);
    const skn_ranker_t *ranker = &fixture.ranker;
    uint32_t together = 0, pairs = 0;
    for (uint32_t l = 0; l + FEATURES < 300; l++) {
        uint32_t a = ranker->leaf[l], b = ranker->leaf[l + FEATURES];
        together += ranker->parent[a] == ranker->parent[b];
        pairs++;
    }
    cr_expect_gt(together, pairs * 3 / 5, "%u of %u, a quarter by chance",
                 together, pairs);
    drop(&fixture);
}

/* --- rows ---------------------------------------------------------------- */

/* The examples of the row of node `n`, as they must be: point * 2 + (has it).
 * Returns their number. */
static uint32_t
examples_of(const fixture_t *fixture, uint32_t n, uint32_t *example)
{
    const skn_ranker_t *ranker = &fixture->ranker;
    uint32_t tree = n / 306, count = 0, own = UINT32_MAX;
    const uint32_t *leaf = ranker->leaf + (size_t)tree * LABELS;
    for (uint32_t l = 0; l < LABELS; l++)
        if (leaf[l] == n)
            own = l;
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t l = skn_dataset_point(fixture->dataset, i).label[0];
        bool taken = false;
        for (uint64_t k = fixture->taken.offset[own == UINT32_MAX ? 0 : own];
             own != UINT32_MAX && k < fixture->taken.offset[own + 1]; k++)
            taken = taken || fixture->taken.point[k] == i;
        bool near = ranker->parent[n] == UINT32_MAX ||
                    is_below(ranker, leaf[l], ranker->parent[n]);
        if (near || taken)
            example[count++] = 2 * i + is_below(ranker, leaf[l], n);
    }
    return count;
}

/* |w|^2 / 2 + sum max(0, 1 - y z)^2 of w[FEATURES + 1], the bias last; its
 * gradient. */
static double
objective(const fixture_t *fixture, const uint32_t *example, uint32_t count,
          const double *w, double *gradient)
{
    double sum = 0;
    for (uint32_t f = 0; f <= FEATURES; f++) {
        sum += w[f] * w[f] / 2;
        gradient[f] = w[f];
    }
    for (uint32_t at = 0; at < count; at++) {
        skn_dataset_point_t point =
            skn_dataset_point(fixture->dataset, example[at] >> 1);
        double y = example[at] & 1 ? 1 : -1, z = w[FEATURES];
        for (uint32_t k = 0; k < point.feature_count; k++)
            z += w[point.feature[k]] * (double)point.value[k];
        double lack = 1 - y * z;
        if (lack <= 0)
            continue;
        sum += lack * lack;
        gradient[FEATURES] -= 2 * lack * y;
        for (uint32_t k = 0; k < point.feature_count; k++)
            gradient[point.feature[k]] -= 2 * lack * y * (double)point.value[k];
    }
    return sum;
}

/* Steps below 2 / (greatest curvature), which is at most 1 + 4 a point. */
static void
minimum(const fixture_t *fixture, const uint32_t *example, uint32_t count,
        double *w)
{
    double gradient[FEATURES + 1], step = 1.0 / (1.0 + 4.0 * (double)count);
    memset(w, 0, (FEATURES + 1) * sizeof(*w));
    for (uint32_t round = 0; round < 4000; round++) {
        (void)objective(fixture, example, count, w, gradient);
        for (uint32_t f = 0; f <= FEATURES; f++)
            w[f] -= step * gradient[f];
    }
}

/* Within the tolerance of the descent; what is below .1 may be left out. */
Test(ranker, rows_are_those_of_the_least_loss)
{
    fixture_t fixture;
    make(&fixture);
    fit(&fixture);
    for (uint32_t n = 0; n < fixture.ranker.node_count;
         n += n % 306 < 8 ? 1 : 23) {
        uint32_t example[POINTS];
        double want[FEATURES + 1], have[FEATURES + 1] = { 0 };
        const skn_ranker_t *ranker = &fixture.ranker;
        uint32_t count = examples_of(&fixture, n, example);
        minimum(&fixture, example, count, want);
        for (uint64_t k = ranker->offset[n]; k < ranker->offset[n + 1]; k++) {
            have[ranker->feature[k]] = (double)ranker->weight[k];
            cr_expect_geq(fabsf(ranker->weight[k]), 0.1F);
        }
        have[FEATURES] = (double)ranker->bias[n];
        for (uint32_t f = 0; f <= FEATURES; f++)
            cr_expect(fabs(have[f] - want[f]) < 0.08 ||
                          (have[f] == 0 && fabs(want[f]) < 0.18),
                      "node %u (%u examples) feature %u: %g, not %g", n, count,
                      f, have[f], want[f]);
    }
    drop(&fixture);
}

Test(ranker, any_number_of_threads_fits_the_same)
{
    fixture_t one, many;
    make(&one);
    make(&many);
    one.source.thread_count = 1;
    fit(&one);
    for (uint32_t threads = 2; threads < 200; threads *= 3) {
        many.source.thread_count = threads;
        fit(&many);
        const skn_ranker_t *a = &one.ranker, *b = &many.ranker;
        cr_assert_eq(a->weight_count, b->weight_count);
        cr_assert_eq(a->node_count, b->node_count);
        cr_expect_arr_eq(a->leaf, b->leaf, 2 * LABELS * sizeof(*a->leaf));
        cr_expect_arr_eq(a->parent, b->parent,
                         a->node_count * sizeof(*a->parent));
        cr_expect_arr_eq(a->offset, b->offset,
                         (a->node_count + 1) * sizeof(*a->offset));
        cr_expect_arr_eq(a->feature, b->feature,
                         a->weight_count * sizeof(*a->feature));
        cr_expect_arr_eq(a->weight, b->weight,
                         a->weight_count * sizeof(*a->weight));
        cr_expect_arr_eq(a->bias, b->bias, a->node_count * sizeof(*a->bias));
    }
    drop(&one);
    drop(&many);
}

Test(ranker, another_seed_grows_other_trees)
{
    fixture_t fixture;
    make(&fixture);
    fit(&fixture);
    uint32_t before[LABELS], same = 0;
    memcpy(before, fixture.ranker.leaf, sizeof(before));
    cr_expect(memcmp(before, fixture.ranker.leaf + LABELS, sizeof(before)),
              "nor are two trees the same");
    fixture.source.seed = 6;
    fit(&fixture);
    for (uint32_t l = 0; l < LABELS; l++)
        same += fixture.ranker.leaf[l] == before[l];
    cr_expect_lt(same, LABELS / 2);
    drop(&fixture);
}

/* No label has a point: there is nothing to grow. */
Test(ranker, without_points_there_is_none)
{
    fixture_t fixture;
    make(&fixture);
    memset(fixture.has.offset, 0, (LABELS + 1) * sizeof(*fixture.has.offset));
    fit(&fixture);
    cr_expect_eq(fixture.ranker.label_count, 0);
    cr_expect_eq(skn_ranker_bytes(&fixture.ranker), 0);
    drop(&fixture);
}

/* A row keeps 64 of its weights, and its share of the bound, and of them the
 * greatest. Points of one feature each, half of them with label 0; the greater
 * a value is, the greater the weight. */
Test(ranker, weights_have_a_bound)
{
    char path[TEMP_FOLDER_BYTES + 16], folder[TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS,
                                      .normalize = SKN_NORMALIZE_NONE };
    skn_dataset_t *dataset;
    uint64_t offset[3] = { 0, 101, 202 }, none[3] = { 0, 0, 0 };
    uint32_t point[202];
    skn_label_points_t has = { 2, offset, point };
    skn_label_points_t taken = { 2, none, point };
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/train.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    for (uint32_t i = 0; i < 202; i++) {
        point[i] = i;
        (void)skn_text_print(file, "%u %u:%.3f\n", i / 101, i,
                             0.5 + (double)(i % 101) / 250);
    }
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(skn_dataset_open(path, &options, &dataset, &error), SKN_OK,
                 "%s", error.text);
    skn_ranker_source_t source = { .dataset = dataset,
                                   .has = &has,
                                   .taken = &taken,
                                   .feature_count = 202,
                                   .tree_count = 1,
                                   .weight_max = 1000 };
    skn_ranker_t all, some;
    cr_assert_eq(skn_ranker_fit(&all, &source, &error), SKN_OK);
    source.weight_max = 24; /* a half by two: 6 for each */
    cr_assert_eq(skn_ranker_fit(&some, &source, &error), SKN_OK);
    cr_expect_geq(all.weight_count, 320);
    cr_expect_eq(some.weight_count, 140);
    for (uint32_t n = 0; n < 2; n++) {
        float least = INFINITY;
        uint64_t greater = 0;
        for (uint64_t k = some.offset[n]; k < some.offset[n + 1]; k++)
            least = fminf(least, fabsf(some.weight[k]));
        for (uint64_t k = all.offset[n]; k < all.offset[n + 1]; k++)
            greater += fabsf(all.weight[k]) >= least;
        cr_expect_eq(greater, 70);
    }
    skn_ranker_fini(&all);
    skn_ranker_fini(&some);
    skn_dataset_close(&dataset);
    temp_folder_remove(folder);
}

/* --- margins and orders -------------------------------------------------- */

/* Node 0 knows features 0, 3, 6, ... 297; node 1, below it, feature 5 alone,
 * and node 2, below it too, nothing; 3 is a root. Label 0 is node 1, label 1
 * node 2, label 2 node 3, label 3 in no tree. */
static void
make_by_hand(skn_ranker_t *ranker)
{
    static const uint32_t parent[4] = { UINT32_MAX, 0, 0, UINT32_MAX };
    static const uint32_t leaf[4] = { 1, 2, 3, UINT32_MAX };
    *ranker = (skn_ranker_t){ .label_count = 4,
                              .feature_count = 300,
                              .tree_count = 1,
                              .node_count = 4,
                              .weight_count = 101 };
    ranker->parent = calloc(4, sizeof(*ranker->parent));
    ranker->leaf = calloc(4, sizeof(*ranker->leaf));
    ranker->offset = calloc(5, sizeof(*ranker->offset));
    ranker->feature = calloc(101, sizeof(*ranker->feature));
    ranker->weight = calloc(101, sizeof(*ranker->weight));
    ranker->bias = calloc(4, sizeof(*ranker->bias));
    cr_assert(ranker->parent && ranker->leaf && ranker->offset &&
              ranker->feature && ranker->weight && ranker->bias);
    memcpy(ranker->parent, parent, sizeof(parent));
    memcpy(ranker->leaf, leaf, sizeof(leaf));
    for (uint32_t k = 0; k < 100; k++) {
        ranker->feature[k] = 3 * k;
        ranker->weight[k] = 1.0F + (float)k;
    }
    ranker->feature[100] = 5;
    ranker->weight[100] = -2.0F;
    ranker->offset[1] = 100;
    ranker->offset[2] = ranker->offset[3] = ranker->offset[4] = 101;
    ranker->bias[0] = 0.5F;
    ranker->bias[1] = 4.0F;
    ranker->bias[3] = -1.0F;
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
            double want[4] = { 0.5, 4.0, 0.0, -1.0 };
            for (size_t k = first; k < first + count; k++) {
                if (feature[k] % 3 == 0)
                    want[0] += (1 + feature[k] / 3) * (double)value[k];
                if (feature[k] == 5)
                    want[1] -= 2 * (double)value[k];
            }
            for (uint32_t n = 0; n < 4; n++)
                cr_expect_eq((double)skn_ranker_margin(&ranker, n, &point),
                             want[n]);
        }
    skn_ranker_fini(&ranker);
}

/* No feature: z is .5, 4, 0 and -1. What is lacking: .25 and nothing more for
 * label 0, 1 more for label 1, 4 for label 2, 16 for label 3. */
Test(ranker, orders_by_what_is_lacking_on_the_way)
{
    static const double lack[4] = { 0.25, 1.25, 4.0, 16.0 };
    static const float was[4] = { 0.05F, 0.2F, 0.4F, 0.3F };
    skn_ranker_t ranker;
    make_by_hand(&ranker);
    skn_sparse_t nothing = { 0 };
    for (int shares = 0; shares < 2; shares++) {
        uint32_t label[4] = { 2, 3, 1, 0 };
        float chance[4] = { 0.4F, 0.3F, 0.2F, 0.05F };
        double sum = 0;
        for (uint32_t l = 0; l < 4; l++)
            sum += (double)was[l] * exp(-0.5 * lack[l]);
        cr_expect(
            skn_ranker_order(&ranker, &nothing, shares, 4, label, chance));
        for (uint32_t r = 0; r < 4; r++)
            cr_expect_float_eq((double)chance[r],
                               (double)was[label[r]] *
                                   exp(-0.5 * lack[label[r]]) *
                                   (shares ? 0.95 / sum : 1.0),
                               1e-6);
        cr_expect_eq(label[0], 1);
        cr_expect_eq(label[1], 2);
        cr_expect_eq(label[2], 0);
        cr_expect_eq(label[3], 3);
    }
    uint32_t label[2] = { 1, 0 };
    float chance[2] = { 0, 0 };
    cr_expect(skn_ranker_order(&ranker, &nothing, true, 2, label, chance));
    cr_expect_eq(label[0], 0, "of equal ones the lower");
    cr_expect_eq(chance[0], 0.0F);
    skn_ranker_fini(&ranker);
}

Test(ranker, margins_that_overflow_are_reported)
{
    static const uint32_t feature[] = { 0, 297 };
    static const float values[][2] = { { 1, 3e38F }, { 1, -3e38F } };
    skn_ranker_t ranker;
    make_by_hand(&ranker);
    for (int k = 0; k < 2; k++) {
        skn_sparse_t point = { feature, values[k], 2 };
        uint32_t label[4] = { 2, 3, 1, 0 };
        float chance[4] = { 0.4F, 0.3F, 0.2F, 0.05F };
        cr_expect(!skn_ranker_order(&ranker, &point, true, 4, label, chance));
    }
    skn_ranker_fini(&ranker);
}

/* --- with a network ------------------------------------------------------ */

typedef struct ranked {
    trained_fixture_t network;
    char into[TEMP_FOLDER_BYTES + 16];
    skn_ranker_t ranker;
} ranked_t;

/* A tree of one level: it speaks for label 3 by feature 1, against label 8 by
 * feature 2. */
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
                              .tree_count = 1,
                              .node_count = TRAINED_LABELS,
                              .weight_count = 2 };
    ranker->parent = calloc(TRAINED_LABELS, sizeof(*ranker->parent));
    ranker->leaf = calloc(TRAINED_LABELS, sizeof(*ranker->leaf));
    ranker->offset = calloc(TRAINED_LABELS + 1, sizeof(*ranker->offset));
    ranker->feature = calloc(2, sizeof(*ranker->feature));
    ranker->weight = calloc(2, sizeof(*ranker->weight));
    ranker->bias = calloc(TRAINED_LABELS, sizeof(*ranker->bias));
    cr_assert(ranker->parent && ranker->leaf && ranker->offset &&
              ranker->feature && ranker->weight && ranker->bias);
    ranker->feature[0] = 1;
    ranker->weight[0] = 2.0F;
    ranker->feature[1] = 2;
    ranker->weight[1] = -6.0F;
    for (uint32_t l = 0; l <= TRAINED_LABELS; l++)
        ranker->offset[l] = (l > 3 ? 1u : 0u) + (l > 8 ? 1u : 0u);
    for (uint32_t l = 0; l < TRAINED_LABELS; l++) {
        ranker->parent[l] = UINT32_MAX;
        ranker->leaf[l] = l;
    }
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
    uint32_t label[30];
    float score[30];
    cr_assert_eq(
        skn_predictor_best(predictor, &points, 30, label, score, &error),
        SKN_OK, "%s", error.text);
    trained_oracle(&ranked.network, feature, value, 3, all);
    memcpy(sorted, all, sizeof(all));
    qsort(sorted, TRAINED_LABELS, sizeof(*sorted), by_chance);
    double before = 0, after = 0;
    for (uint32_t l = 0; l < TRAINED_LABELS; l++) {
        double lack = l == 3 ? 0.0 : l == 8 ? 4.0 : 1.0; /* 1 - z */
        if (all[l] < sorted[29]) {
            all[l] = 0;
            continue;
        }
        before += all[l];
        all[l] *= exp(-0.5 * lack * lack);
        after += all[l];
    }
    for (uint32_t r = 0; r < 30; r++) {
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
    for (int fault = 0; fault < 8; fault++) {
        ranked_t ranked;
        skn_error_t error = { 0 };
        make_ranked(&ranked, false);
        skn_ranker_t *ranker = &ranked.ranker;
        if (fault == 0)
            ranker->feature[0] = TRAINED_FEATURES;
        else if (fault == 1)
            ranker->offset[2] = 2;
        else if (fault == 2)
            ranker->offset[0] = 1;
        else if (fault == 3)
            ranker->weight[1] = NAN;
        else if (fault == 4)
            ranker->bias[9] = INFINITY;
        else if (fault == 5)
            ranker->leaf[9] = TRAINED_LABELS;
        else if (fault == 6)
            ranker->parent[9] = 9; /* a ring */
        for (uint32_t l = 1; fault == 7 && l < 70; l++)
            ranker->parent[l] = l - 1; /* deeper than any tree */
        save(&ranked, SKN_OK);
        skn_predictor_t *predictor = skn_predictor_open(ranked.into, &error);
        cr_expect_null(predictor);
        cr_expect_eq(error.status, SKN_BAD_DATA, "%s", error.text);
        cr_expect(strstr(error.text, "output.ranker"), "%s", error.text);
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
