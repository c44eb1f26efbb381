/* test_features.c - tests that texts become points, the same again from the
 * file form, and that a damaged file is refused (formats/features/features.c,
 * formats/features/features_file.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/features.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

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
        const skn_feature_fields_t fields = { &text, 1, false };
        cr_assert_eq(skn_feature_counts_add(counts, &fields, &error), SKN_OK);
    }
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    cr_assert_not_null(featurizer, "%s", error.text);
    skn_feature_counts_destroy(&counts);
    cr_assert_null(counts);
    return featurizer;
}

/* The row as "term:value term:value", with the number of the feature for a knot
 * (the first knot being @0). */
static const char *
row_of_fields(const skn_featurizer_t *featurizer,
              const skn_feature_fields_t *fields)
{
    static char got[1024];
    size_t at = 0;
    skn_feature_row_t row = { 0 };
    skn_error_t error = { 0 };
    cr_assert_eq(skn_featurizer_apply(featurizer, fields, &row, &error),
                 SKN_OK);
    got[0] = '\0';
    for (size_t k = 0; k < row.count; k++) {
        size_t bytes;
        const char *term =
            skn_featurizer_term(featurizer, row.feature[k], &bytes);
        char knot[16];
        if (bytes == 0) {
            bytes = (size_t)skn_text_write(knot, sizeof(knot), "@%u",
                                           row.feature[k] -
                                               featurizer->terms.count);
            term = knot;
        }
        cr_assert(k == 0 || row.feature[k] > row.feature[k - 1]);
        at += (size_t)skn_text_write(got + at, sizeof(got) - at, "%s%.*s:%.4g",
                                     k ? " " : "", (int)bytes, term,
                                     (double)row.value[k]);
    }
    skn_feature_row_fini(&row);
    return got;
}

static const char *
row_of(const skn_featurizer_t *featurizer, const char *text)
{
    const skn_span_t span = { text, strlen(text) };
    return row_of_fields(featurizer,
                         &(skn_feature_fields_t){ &span, 1, false });
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
        const skn_feature_fields_t fields = { &span, 1, false };
        skn_feature_row_t row = { 0 };
        cr_assert_eq(skn_featurizer_apply(featurizer, &fields, &row, &error),
                     SKN_OK);
        for (size_t k = 1; k < row.count; k++)
            cr_assert_gt(row.feature[k], row.feature[k - 1]);
        cr_expect(bytes < at || (row.count == TERMS && row.value[0] == 2 &&
                                 row.value[TERMS - 1] == 2));
        skn_feature_row_fini(&row);
    }
    skn_featurizer_destroy(&featurizer);
}

/* --- columns -------------------------------------------------------------- */

/* A text, two categories and two numbers. */
enum {
    COLUMNS = 5
};
static const char *const table[][COLUMNS] = {
    { "the cat", "red", "x", "1", "" },
    { "the dog", " red ", "y\nz", "2", " " },
    { "a cat", "blue", "", "3", "" },
    { "", "", "red", "1e0", "nan" },
};
static const skn_feature_options_t columns = { .words_max = 1,
                                               .rows_min = 1,
                                               .features_max = 1000,
                                               .category_count = 2,
                                               .number_count = 2 };

static skn_feature_fields_t
fields_of(const char *const row[COLUMNS])
{
    static skn_span_t span[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++)
        span[k] = (skn_span_t){ row[k], strlen(row[k]) };
    return (skn_feature_fields_t){ span, COLUMNS, true };
}

/* A knot of three counts as a term that is in a third of the rows. */
static void
expect_idf_of_knots(const char *text)
{
    skn_error_t error = { 0 };
    skn_feature_options_t options = columns;
    options.category_count = 0;
    options.number_count = 1;
    options.idf = true;
    skn_feature_counts_t *counts = skn_feature_counts_new(&options, 1000);
    for (size_t k = 0; k < 3; k++) {
        const char *const number[] = { "1", "2", "4" };
        const skn_span_t span[] = { { "a", 1 }, { number[k], 1 } };
        const skn_feature_fields_t fields = { span, 2, true };
        cr_assert_eq(skn_feature_counts_add(counts, &fields, &error), SKN_OK);
    }
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    const skn_span_t span[] = { { "", 0 }, { text, strlen(text) } };
    const skn_feature_fields_t fields = { span, 2, true };
    char want[64];
    const double idf = log(4. / 2) + 1;
    (void)skn_text_write(want, sizeof(want), "@1:%.4g @2:%.4g", idf / 2,
                         idf / 2);
    cr_expect_str_eq(row_of_fields(featurizer, &fields), want, "%s",
                     row_of_fields(featurizer, &fields));
    cr_expect_float_eq(skn_featurizer_mass(featurizer, 2), idf * idf, 1e-9);
    skn_featurizer_destroy(&featurizer);
    skn_feature_counts_destroy(&counts);
}

/* A long category is known by its hash. */
Test(features, long_categories)
{
    char one[301], other[301];
    memset(one, 'c', 300);
    memset(other, 'c', 300);
    one[300] = other[300] = '\0';
    other[299] = 'd';
    const char *const first[COLUMNS] = { "", one, "", "", "" };
    const char *const second[COLUMNS] = { "", other, "", "", "" };
    skn_error_t error = { 0 };
    skn_feature_counts_t *counts = skn_feature_counts_new(&columns, 1000);
    for (size_t k = 0; k < 2; k++) {
        const skn_feature_fields_t fields = fields_of(k ? second : first);
        cr_assert_eq(skn_feature_counts_add(counts, &fields, &error), SKN_OK);
    }
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    cr_expect_eq(skn_featurizer_count(featurizer), 2);
    skn_feature_row_t row = { 0 };
    for (size_t k = 0; k < 2; k++) {
        const skn_feature_fields_t fields = fields_of(k ? second : first);
        uint32_t before = k ? row.feature[0] : UINT32_MAX;
        cr_assert_eq(skn_featurizer_apply(featurizer, &fields, &row, &error),
                     SKN_OK);
        cr_expect(row.count == 1 && row.feature[0] != before);
    }
    skn_feature_row_fini(&row);
    skn_featurizer_destroy(&featurizer);
    skn_feature_counts_destroy(&counts);
}

Test(features, numbers_have_idf)
{
    expect_idf_of_knots("3");
}

/* The table's rows, the first `first` of them counted apart and then merged. */
static skn_featurizer_t *
learned_of_table(size_t first)
{
    skn_error_t error = { 0 };
    skn_feature_counts_t *counts = skn_feature_counts_new(&columns, 1000);
    skn_feature_counts_t *part = skn_feature_counts_new(&columns, SIZE_MAX);
    cr_assert(counts && part);
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        const skn_feature_fields_t fields = fields_of(table[k]);
        cr_assert_eq(
            skn_feature_counts_add(k < first ? part : counts, &fields, &error),
            SKN_OK);
        if (k + 1 == first)
            cr_assert_eq(skn_feature_counts_merge(counts, part, &error),
                         SKN_OK);
    }
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    cr_assert_not_null(featurizer, "%s", error.text);
    skn_feature_counts_destroy(&part);
    skn_feature_counts_destroy(&counts);
    return featurizer;
}

static void
expect_row(const skn_featurizer_t *featurizer, const char *const row[COLUMNS],
           const char *want)
{
    const skn_feature_fields_t fields = fields_of(row);
    cr_expect_str_eq(row_of_fields(featurizer, &fields), want, "%s",
                     row_of_fields(featurizer, &fields));
}

/* Equal categories in two columns are two features. */
static void
expect_rows_of_table(const skn_featurizer_t *featurizer)
{
    cr_expect_eq(skn_featurizer_count(featurizer), 4 + 5 + 3);
    expect_row(featurizer, table[0], "=0=red:1 cat:1 the:1 =1=x:1 @0:1");
    expect_row(featurizer, table[1], "=0=red:1 the:1 =1=y z:1 dog:1 @1:1");
    expect_row(featurizer, table[3], "=1=red:1 @0:1");
    expect_row(
        featurizer,
        (const char *const[COLUMNS]){ "cat", "green", "blue", "2.25", "8" },
        "cat:1 @1:0.75 @2:0.25");
    expect_row(featurizer,
               (const char *const[COLUMNS]){ "", "", "", "many", "" }, "");
    cr_expect_str_eq(row_of(featurizer, "a cat"), "cat:1 a:1");
    cr_expect_float_eq(skn_featurizer_mass(featurizer, 9), 4. / 3, 1e-9);
}

Test(features, categories_and_numbers)
{
    skn_error_t error = { 0 };
    size_t bytes, again_bytes;
    skn_featurizer_t *featurizer = learned_of_table(0), *again;
    expect_rows_of_table(featurizer);
    char *form = skn_featurizer_write(featurizer, &bytes);
    again = skn_featurizer_read("f", form, bytes, &error);
    cr_assert_not_null(again, "%s", error.text);
    expect_rows_of_table(again);
    skn_featurizer_destroy(&again);
    for (size_t first = 1; first <= 4; first++) {
        again = learned_of_table(first);
        char *other = skn_featurizer_write(again, &again_bytes);
        cr_expect_str_eq(other, form, "%zu: %s", first, other);
        free(other);
        skn_featurizer_destroy(&again);
    }
    free(form);
    skn_featurizer_destroy(&featurizer);
}

/* The form with its second line, the knots of a column, replaced. */
static void
expect_knots(const char *knots, bool is_good)
{
    skn_error_t error = { 0 };
    char lines[200], form[300];
    int bytes = skn_text_write(lines, sizeof(lines), "%s\n\n1 =0=red\n", knots);
    (void)skn_text_write(form, sizeof(form),
                         "skein-features 2 1 0-0 one plain 1 2 4 1 %016llx\n%s",
                         (unsigned long long)XXH3_64bits(lines, (size_t)bytes),
                         lines);
    skn_featurizer_t *read =
        skn_featurizer_read("f", form, strlen(form), &error);
    cr_expect_eq(read != NULL, is_good, "%s: %s", knots, error.text);
    if (!is_good)
        cr_expect_str_eq(error.text,
                         "f:2: expected the knots of a column, in ascending "
                         "order");
    skn_featurizer_destroy(&read);
}

Test(features, knots_of_a_file_are_checked)
{
    expect_knots("-1 0.5 1.0000000000000001e+300", true);
    expect_knots("", true);
    const char *const wrong[] = { "2 1",   "1 1", "1  2",  " 1",   "1 ",
                                  "1 nan", "inf", "1 x",   "1\t2", "01",
                                  "1.0",   "+1",  "1 2.50" };
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++)
        expect_knots(wrong[k], false);
    char many[100] = "0";
    for (int k = 1; k <= 32; k++)
        (void)snprintf(many + strlen(many), 4, " %d", k);
    expect_knots(many, false);
    *strrchr(many, ' ') = '\0';
    expect_knots(many, true);
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
