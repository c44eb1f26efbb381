/* test_plan_auto_texts.c - tests what `auto` becomes for rows of texts and for
 * points with several labels (topology/plan/plan_auto_texts.c,
 * topology/plan/plan_auto_layers.c, topology/plan/plan_auto.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/model_fixture.h"
#include "tests/support/temp_folder.h"
#include "topology/plan/plan.h"

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];

static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/t.csv", folder);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(plan_auto_texts, .init = set_up, .fini = tear_down, .timeout = 60);

/* The model over the file with all that `auto` is decided. */
static skn_model_t *
planned(const char *data)
{
    char text[4096];
    skn_error_t error = { 0 };
    skn_plan_t plan;
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none%s }\nmodel:\n"
                   "  layers: [{ name: hidden }, { name: output }]\n",
                   file, data);
    skn_model_t *model = fixture_good(text);
    cr_assert_eq(skn_plan_make(&plan, model, 1, &error), SKN_OK, "%s",
                 error.text);
    return model;
}

static void
write_texts(uint32_t rows, uint32_t words)
{
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fputs("text,labels\n", out);
    for (uint32_t k = 0; k < rows; k++) {
        for (uint32_t n = 0; n < words; n++)
            (void)fprintf(out, "w%u ", (k + n * n) % 1000);
        (void)fprintf(out, ",%c\n", 'a' + (int)(k % 3));
    }
    cr_assert_eq(fclose(out), 0);
}

static void
expect_features(uint32_t rows, uint32_t words, const char *data, int64_t groups,
                int64_t letters)
{
    write_texts(rows, words);
    skn_model_t *model = planned(data);
    cr_expect_eq(model->data.word_groups, groups, "%u rows of %u", rows, words);
    cr_expect_eq(model->data.letter_groups, letters, "%u rows of %u", rows,
                 words);
    cr_expect_eq(model->data.term_rows, 2);
    cr_expect_eq(model->data.term_values,
                 words < 16 ? SKN_TERM_VALUE_ONE_IDF : SKN_TERM_VALUE_ONE);
    skn_model_destroy(&model);
}

/* Decision 0038. */
Test(plan_auto_texts,
     many_rows_have_pairs_of_words_and_short_texts_groups_of_letters)
{
    expect_features(4096, 16, "", 2, 0);
    expect_features(4096, 15, "", 2, 3);
    expect_features(4095, 15, "", 1, 3);
    expect_features(4095, 16, "", 1, 0);
    expect_features(4095, 0, "", 1, 0);
    expect_features(4096, 16, ", word_groups: 3, letter_groups: 4", 3, 4);
}

/* Points of `each` labels and five features of many. */
static void
write_points(uint32_t points, uint32_t labels, uint32_t each)
{
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "%u 1000 %u\n", points, labels);
    for (uint32_t k = 0; k < points; k++) {
        for (uint32_t n = 0; n < each; n++)
            (void)fprintf(out, "%s%u", n ? "," : "",
                          (k + n * (labels / each)) % labels);
        for (uint32_t n = 0; n < 5; n++)
            (void)fprintf(out, " %u:1", (k + 7 * n) % 1000);
        (void)fputc('\n', out);
    }
    cr_assert_eq(fclose(out), 0);
}

static void
expect_loss(uint32_t points, uint32_t labels, uint32_t each,
            skn_loss_kind_t loss, int64_t trees)
{
    write_points(points, labels, each);
    skn_model_t *model = planned("");
    cr_expect_eq(model->layers[1].loss, loss, "%u points, %u labels, %u each",
                 points, labels, each);
    cr_expect_eq(model->train.ranker_trees, trees,
                 "%u points, %u labels, %u each", points, labels, each);
    skn_model_destroy(&model);
}

/* Decision 0038: several labels a point; of more than 1,024 labels, with many
 * points each. A tree pays with fewer of such labels. */
Test(plan_auto_texts, several_labels_a_point_have_losses_of_their_own)
{
    expect_loss(4000, 200, 2, SKN_LOSS_ONE_VS_ALL, 1);
    expect_loss(3980, 199, 2, SKN_LOSS_ONE_VS_ALL, 0);
    expect_loss(500, 1024, 2, SKN_LOSS_ONE_VS_ALL, 1);
    expect_loss(20500, 1025, 2, SKN_LOSS_ONE_VS_ALL, 1);
    expect_loss(20400, 1025, 2, SKN_LOSS_SOFTMAX, 1);
    expect_loss(8000, 200, 1, SKN_LOSS_SOFTMAX, 0);
    expect_loss(40000, 8200, 9, SKN_LOSS_SOFTMAX, 1);
}
