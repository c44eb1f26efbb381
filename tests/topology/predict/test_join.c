/* test_join.c - tests that joined networks predict with the mean of their
 * logits.
 *
 * The oracle computes the probabilities of each network in double, from the
 * arrays that it was written from. Covers topology/predict/join.c and
 * topology/predict/join_text.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/join.h"

#include <string.h>
#include <unistd.h>

#include "tests/support/trained_fixture.h"

#define POINTS 20u
#define K 9u
#define NETWORKS_MAX 5u

typedef struct whole {
    trained_fixture_t network[NETWORKS_MAX];
    const char *path[NETWORKS_MAX];
    size_t count;
    char folder[TEMP_FOLDER_BYTES], into[TEMP_FOLDER_BYTES + 8];
    skn_joined_t joined;
} whole_t;

/* Networks like `kind`, but for their weights. */
static void
make(whole_t *whole, const trained_fixture_t *kind, size_t count)
{
    memset(whole, 0, sizeof(*whole));
    whole->count = count;
    temp_folder_make(whole->folder);
    (void)snprintf(whole->into, sizeof(whole->into), "%s/whole", whole->folder);
    for (size_t k = 0; k < count; k++) {
        whole->network[k] = *kind;
        whole->network[k].seed = 7 + (uint32_t)k;
        trained_make(&whole->network[k]);
        whole->path[k] = whole->network[k].path;
    }
}

static void
join(whole_t *whole)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_join(whole->into, whole->path, whole->count, NULL,
                          &whole->joined, &error),
                 SKN_OK, "%s", error.text);
}

static void
drop(whole_t *whole)
{
    for (size_t k = 0; k < whole->count; k++)
        trained_remove(&whole->network[k]);
    temp_folder_remove(whole->folder);
}

/* probability[labels] by the mean of the logits. A softmax's logits are known
 * up to a constant, which a softmax does not see. */
static void
oracle(const whole_t *whole, const uint32_t *feature, const float *value,
       size_t count, double *probability)
{
    static double one[TRAINED_LABELS], logit[TRAINED_LABELS];
    bool one_vs_all = whole->network[0].one_vs_all;
    double greatest = -INFINITY, sum = 0;
    memset(logit, 0, sizeof(logit));
    for (size_t k = 0; k < whole->count; k++) {
        trained_oracle(&whole->network[k], feature, value, count, one);
        for (size_t u = 0; u < TRAINED_LABELS; u++)
            logit[u] +=
                (one_vs_all ? log(one[u] / (1 - one[u])) : log(one[u])) /
                (double)whole->count;
    }
    for (size_t u = 0; u < TRAINED_LABELS; u++)
        greatest = logit[u] > greatest ? logit[u] : greatest;
    for (size_t u = 0; u < TRAINED_LABELS; u++)
        sum += exp(logit[u] - greatest);
    for (size_t u = 0; u < TRAINED_LABELS; u++)
        probability[u] = one_vs_all ? 1 / (1 + exp(-logit[u]))
                                    : exp(logit[u] - greatest) / sum;
}

/* Point i has i % 4 features; values are as long as the model makes them. */
static void
expect_means(const whole_t *whole, double tolerance)
{
    static double want[TRAINED_LABELS];
    skn_error_t error = { 0 };
    oracle_random_t random = { 5 };
    skn_predictor_t *predictor = skn_predictor_open(whole->into, &error);
    cr_assert(predictor, "%s", error.text);
    for (size_t i = 0; i < POINTS; i++) {
        uint32_t feature[3], label[K], k = 0;
        float value[3], score[K];
        size_t offset[2] = { 0, i % 4 };
        double square = 0;
        for (; k < i % 4; k++) {
            feature[k] = k * 3 + oracle_next(&random) % 3;
            value[k] = oracle_float(&random) + 0.1f;
            square += (double)value[k] * (double)value[k];
        }
        for (k = 0; k < i % 4; k++)
            value[k] = (float)((double)value[k] / sqrt(square));
        skn_points_t points = { 1, offset, feature, value };
        cr_assert_eq(
            skn_predictor_best(predictor, &points, K, label, score, &error),
            SKN_OK, "%s", error.text);
        oracle(whole, feature, value, i % 4, want);
        for (k = 0; k < K; k++)
            cr_expect(fabs((double)score[k] - want[label[k]]) <=
                          tolerance * want[label[k]] + 1e-7,
                      "point %zu rank %u: got %.9g, want %.9g", i, k,
                      (double)score[k], want[label[k]]);
        size_t better = 0;
        for (uint32_t u = 0; u < TRAINED_LABELS; u++)
            better += want[u] > want[label[K - 1]] * (1 + 2 * tolerance);
        cr_expect_lt(better, K, "point %zu: %zu are better", i, better);
    }
    skn_predictor_close(&predictor);
}

static void
check(const trained_fixture_t *kind, size_t count, double tolerance)
{
    whole_t whole;
    make(&whole, kind, count);
    join(&whole);
    cr_expect_eq(whole.joined.features, TRAINED_FEATURES);
    cr_expect_eq(whole.joined.labels, TRAINED_LABELS);
    cr_expect_eq(whole.joined.units, count * TRAINED_HIDDEN);
    cr_expect_eq(whole.joined.batch, 1);
    expect_means(&whole, tolerance);
    drop(&whole);
}

Test(join, softmax)
{
    for (size_t count = 2; count <= NETWORKS_MAX; count++)
        check(&(trained_fixture_t){ 0 }, count, 1e-5);
}

Test(join, one_vs_all)
{
    check(&(trained_fixture_t){ .one_vs_all = true }, 3, 1e-5);
}

Test(join, a_dense_layer_sees_the_units_of_its_own_network)
{
    check(&(trained_fixture_t){ .dense = true }, 3, 1e-5);
}

/* Means are rounded to bf16: 2^-9 of each bias, and of thirds of weights. */
Test(join, rows_of_bf16)
{
    check(&(trained_fixture_t){ .half = true }, 2, 0.005);
    check(&(trained_fixture_t){ .half = true }, 3, 0.03);
}

/* The wider format wins, and nothing is lost. */
Test(join, rows_of_both_formats)
{
    whole_t whole;
    skn_error_t error = { 0 };
    make(&whole, &(trained_fixture_t){ 0 }, 2);
    trained_remove(&whole.network[1]);
    whole.network[1].half = true;
    trained_make(&whole.network[1]);
    whole.path[1] = whole.network[1].path;
    join(&whole);
    expect_means(&whole, 1e-5);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(whole.into, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_checkpoint_find(checkpoint, "output.weight")->dtype,
                 SKN_DTYPE_F32);
    skn_checkpoint_close(&checkpoint);
    drop(&whole);
}

/* A whole is a network as any other. */
Test(join, a_whole_is_joined_again)
{
    whole_t whole;
    skn_error_t error = { 0 };
    char again[TEMP_FOLDER_BYTES + 8];
    make(&whole, &(trained_fixture_t){ 0 }, 2);
    join(&whole);
    const char *twice[] = { whole.into, whole.into };
    (void)snprintf(again, sizeof(again), "%s/again", whole.folder);
    cr_assert_eq(skn_join(again, twice, 2, NULL, &whole.joined, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(whole.joined.units, 4 * TRAINED_HIDDEN);
    (void)snprintf(whole.into, sizeof(whole.into), "%s/again", whole.folder);
    expect_means(&whole, 1e-5);
    drop(&whole);
}

/* --- refused ------------------------------------------------------------ */

static bool
holds_checkpoint(const char *path)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_ALL, &error);
    bool found = checkpoint != NULL;
    skn_checkpoint_close(&checkpoint);
    return found;
}

static void
expect_refusal(whole_t *whole, skn_status_t status, const char *words)
{
    skn_error_t error = { 0 };
    cr_expect_eq(skn_join(whole->into, whole->path, whole->count, NULL,
                          &whole->joined, &error),
                 status, "%s", error.text);
    cr_expect(strstr(error.text, words), "'%s' is not in '%s'", words,
              error.text);
    cr_expect(!holds_checkpoint(whole->into));
}

Test(join, networks_of_another_kind_are_refused)
{
    whole_t whole;
    static const trained_fixture_t other[] = { { .dense = true },
                                               { .one_vs_all = true },
                                               { .raw = true } };
    static const char *const words[] = { "differ in layers", "differ in loss",
                                         "differ in data.normalize" };
    for (size_t k = 0; k < 3; k++) {
        make(&whole, &(trained_fixture_t){ 0 }, 2);
        trained_remove(&whole.network[1]);
        whole.network[1] = other[k];
        trained_make(&whole.network[1]);
        expect_refusal(&whole, SKN_USAGE, words[k]);
        cr_expect_neq(access(whole.into, F_OK), 0, "a folder was made");
        drop(&whole);
    }
}

Test(join, too_few_and_too_many_are_refused)
{
    whole_t whole;
    make(&whole, &(trained_fixture_t){ 0 }, 1);
    expect_refusal(&whole, SKN_USAGE, "1 networks");
    const char *many[SKN_ENSEMBLE_MAX + 1];
    for (size_t k = 0; k <= SKN_ENSEMBLE_MAX; k++)
        many[k] = whole.path[0];
    cr_expect_eq(skn_join(whole.into, many, SKN_ENSEMBLE_MAX + 1, NULL,
                          &whole.joined, NULL),
                 SKN_USAGE);
    drop(&whole);
}

Test(join, what_is_there_stays)
{
    whole_t whole;
    make(&whole, &(trained_fixture_t){ 0 }, 2);
    (void)snprintf(whole.into, sizeof(whole.into), "%s", whole.path[0]);
    skn_error_t error = { 0 };
    cr_expect_eq(
        skn_join(whole.into, whole.path, 2, NULL, &whole.joined, &error),
        SKN_CANNOT_CREATE, "%s", error.text);
    cr_expect(holds_checkpoint(whole.path[0]));
    whole.path[1] = "/nowhere/at/all";
    (void)snprintf(whole.into, sizeof(whole.into), "%s/whole", whole.folder);
    expect_refusal(&whole, SKN_NO_INPUT, "/nowhere/at/all");
    whole.path[1] = whole.network[1].path;
    drop(&whole);
}

/* A byte of the weights: known when it is read, and then nothing is left. */
Test(join, the_names_of_the_first_network_are_those_of_the_joined_model)
{
    whole_t whole;
    char name[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    make(&whole, &(trained_fixture_t){ 0 }, 2);
    (void)snprintf(name, sizeof(name), "%s/labels", whole.path[0]);
    FILE *file = fopen(name, "w");
    cr_assert(file && fputs("zero\n\ntwo", file) >= 0 && fclose(file) == 0);
    join(&whole);
    skn_predictor_t *predictor = skn_predictor_open(whole.into, &error);
    cr_assert(predictor, "%s", error.text);
    cr_expect_eq(skn_predictor_info(predictor)->label_name_count, 3u);
    cr_expect_str_eq(skn_predictor_label(predictor, 0), "zero");
    cr_expect_str_eq(skn_predictor_label(predictor, 1), "");
    cr_expect_str_eq(skn_predictor_label(predictor, 2), "two");
    cr_expect_str_eq(skn_predictor_label(predictor, 3), "");
    cr_expect_str_eq(skn_predictor_label(predictor, UINT32_MAX), "");
    skn_predictor_close(&predictor);
    predictor = skn_predictor_open(whole.path[1], &error);
    cr_assert(predictor, "%s", error.text);
    cr_expect_eq(skn_predictor_info(predictor)->label_name_count, 0u);
    cr_expect_str_eq(skn_predictor_label(predictor, 0), "");
    skn_predictor_close(&predictor);
    drop(&whole);
}

Test(join, damage_is_found)
{
    whole_t whole;
    char file[TEMP_FOLDER_BYTES + 64];
    make(&whole, &(trained_fixture_t){ 0 }, 2);
    (void)snprintf(file, sizeof(file),
                   "%s/batch-000000000001/output.safetensors", whole.path[1]);
    FILE *damaged = fopen(file, "r+b");
    cr_assert(damaged, "%s", file);
    (void)fseek(damaged, -5, SEEK_END);
    int byte = fgetc(damaged);
    (void)fseek(damaged, -5, SEEK_END);
    (void)fputc(byte ^ 0x10, damaged);
    (void)fclose(damaged);
    expect_refusal(&whole, SKN_BAD_DATA, "output");
    drop(&whole);
}
