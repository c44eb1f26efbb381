/* test_features.c - tests that texts become points, the same again from the
 * file form, and that a damaged file is refused (formats/features/features.c,
 * formats/features/features_file.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/features.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/features/features_internal.h"
#include "formats/text/text.h"

static const skn_feature_options_t words = { .words_max = 1,
                                             .rows_min = 1,
                                             .features_max = 1000 };

static const char *const rows[] = { "The cat sat", "the dog sat, sat",
                                    "The CAT", "a bird" };

static skn_featurizer_t *
learned(const skn_feature_options_t *options)
{
    skn_error_t error = { 0 };
    skn_feature_counts_t *counts = skn_feature_counts_new(options, 1000);
    cr_assert_not_null(counts);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const skn_span_t text = { rows[k], strlen(rows[k]) };
        cr_assert_eq(skn_feature_counts_add(counts, &text, 1, &error), SKN_OK);
    }
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    cr_assert_not_null(featurizer, "%s", error.text);
    skn_feature_counts_destroy(&counts);
    cr_assert_null(counts);
    return featurizer;
}

/* The row of a text as "term:value term:value". */
static const char *
row_of(const skn_featurizer_t *featurizer, const char *text)
{
    static char got[1024];
    size_t at = 0;
    skn_feature_row_t row = { 0 };
    const skn_span_t span = { text, strlen(text) };
    skn_error_t error = { 0 };
    cr_assert_eq(skn_featurizer_apply(featurizer, &span, 1, &row, &error),
                 SKN_OK);
    got[0] = '\0';
    for (size_t k = 0; k < row.count; k++) {
        size_t bytes;
        const char *term =
            skn_featurizer_term(featurizer, row.feature[k], &bytes);
        cr_assert(k == 0 || row.feature[k] > row.feature[k - 1]);
        at += (size_t)skn_text_write(got + at, sizeof(got) - at, "%s%.*s:%.4g",
                                     k ? " " : "", (int)bytes, term,
                                     (double)row.value[k]);
    }
    skn_feature_row_fini(&row);
    return got;
}

static void
expect(skn_feature_options_t options, const char *text, const char *want)
{
    skn_error_t error = { 0 };
    skn_featurizer_t *featurizer = learned(&options), *again;
    cr_expect_str_eq(row_of(featurizer, text), want, "%s",
                     row_of(featurizer, text));
    size_t bytes;
    char *form = skn_featurizer_write(featurizer, &bytes);
    cr_assert_not_null(form);
    cr_assert_eq(strlen(form), bytes);
    again = skn_featurizer_read("f", form, bytes, &error);
    cr_assert_not_null(again, "%s", error.text);
    cr_expect_eq(skn_featurizer_count(again), skn_featurizer_count(featurizer));
    cr_expect_str_eq(row_of(again, text), want);
    free(form);
    skn_featurizer_destroy(&again);
    skn_featurizer_destroy(&featurizer);
}

Test(features, words)
{
    expect(words, "the cat and the CAT", "the:1 cat:1");
    expect(words, "", "");
    expect(words, "unknown", "");
}

Test(features, values)
{
    skn_feature_options_t options = words;
    options.weight = SKN_FEATURE_COUNT;
    expect(options, "the cat, the", "the:2 cat:1");
    options.weight = SKN_FEATURE_LOG;
    expect(options, "the cat, the", "the:1.693 cat:1");
    options.weight = SKN_FEATURE_COUNT;
    options.idf = true;
    /* 4 rows; `the` is in 3 of them, `bird` in 1. */
    char want[64];
    (void)skn_text_write(want, sizeof(want), "the:%.4g bird:%.4g",
                         2 * (log(5. / 4) + 1), log(5. / 2) + 1);
    expect(options, "the bird the", want);
}

Test(features, groups_of_words)
{
    skn_feature_options_t options = words;
    options.words_max = 2;
    expect(options, "the cat sat", "the:1 cat:1 sat:1 the cat:1 cat sat:1");
}

Test(features, groups_of_letters)
{
    skn_feature_options_t options = words;
    options.letters_min = options.letters_max = 3;
    expect(options, "cats", "*<ca:1 *cat:1");
    expect(options, "a", "*<a>:1 a:1");
}

Test(features, frequent_enough)
{
    skn_feature_options_t options = words;
    options.rows_min = 2;
    expect(options, "a bird the cat sat dog", "the:1 cat:1 sat:1");
    options.features_max = 1;
    expect(options, "a bird the cat sat dog", "the:1");
}

/* Every number has two digits of 8 bits; what is met twice is one feature. */
Test(features, long_texts_are_sorted)
{
    enum {
        TERMS = 1500
    };
    skn_feature_options_t options = words;
    options.features_max = TERMS;
    options.weight = SKN_FEATURE_COUNT;
    skn_error_t error = { 0 };
    skn_featurizer_t *featurizer = skn_featurizer_make(&options, 1, TERMS);
    char text[2 * 8 * TERMS], term[8];
    size_t at = 0;
    cr_assert_not_null(featurizer);
    for (int k = 0; k < TERMS; k++) {
        (void)skn_text_write(term, sizeof(term), "w%d", k);
        cr_assert(skn_featurizer_add(featurizer, term, strlen(term), 1));
    }
    for (int k = 0; k < 2 * TERMS; k++) /* 7 and 1,500 have no common factor */
        at += (size_t)skn_text_write(text + at, sizeof(text) - at, "w%d ",
                                     7 * k % TERMS);
    for (size_t bytes = 0; bytes <= at; bytes += at / 8) {
        const skn_span_t span = { text, bytes };
        skn_feature_row_t row = { 0 };
        cr_assert_eq(skn_featurizer_apply(featurizer, &span, 1, &row, &error),
                     SKN_OK);
        for (size_t k = 1; k < row.count; k++)
            cr_assert_gt(row.feature[k], row.feature[k - 1]);
        cr_expect(bytes < at || (row.count == TERMS && row.value[0] == 2 &&
                                 row.value[TERMS - 1] == 2));
        skn_feature_row_fini(&row);
    }
    skn_featurizer_destroy(&featurizer);
}

/* Every byte changed, and every length: refused, with the reason. */
Test(features, a_damaged_file_is_refused)
{
    skn_feature_options_t options = words;
    options.words_max = 2;
    skn_featurizer_t *featurizer = learned(&options), *read;
    size_t bytes;
    char *form = skn_featurizer_write(featurizer, &bytes);
    for (size_t k = 0; k < bytes; k++) {
        skn_error_t error = { 0 };
        form[k] ^= 1;
        read = skn_featurizer_read("f", form, bytes, &error);
        /* The options of the head have no hash: other ones may be good. */
        if (read)
            cr_expect(k < strcspn(form, "\n"));
        else
            cr_expect_eq(error.status, SKN_BAD_DATA);
        skn_featurizer_destroy(&read);
        form[k] ^= 1;
        error = (skn_error_t){ 0 };
        cr_expect_null(skn_featurizer_read("f", form, k, &error));
        cr_expect_eq(error.status, SKN_BAD_DATA);
    }
    free(form);
    skn_featurizer_destroy(&featurizer);
}
