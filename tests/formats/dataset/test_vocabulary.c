/* test_vocabulary.c - tests that a vocabulary is the same from its file, and
 * that a damaged file is refused (formats/dataset/vocabulary.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/vocabulary.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char names[] = "sport\nwith blanks\n\xc3\xa9\n";

/* A featurizer of two words, as a form for free(). */
static char *
features_make(size_t *bytes)
{
    const skn_feature_options_t options = { .words_max = 1,
                                            .rows_min = 1,
                                            .features_max = 10 };
    const skn_span_t text = { "ball net", 8 };
    const skn_feature_fields_t fields = { &text, 1, false };
    skn_error_t error = { 0 };
    skn_feature_counts_t *counts = skn_feature_counts_new(&options, 100);
    cr_assert_eq(skn_feature_counts_add(counts, &fields, &error), SKN_OK);
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    char *form = skn_featurizer_write(featurizer, bytes);
    skn_featurizer_destroy(&featurizer);
    skn_feature_counts_destroy(&counts);
    return form;
}

static char *
whole_make(size_t *bytes)
{
    size_t features_bytes;
    char *features = features_make(&features_bytes);
    const skn_vocabulary_form_t form = { features, names, features_bytes,
                                         sizeof(names) - 1 };
    char *whole = skn_vocabulary_write(&form, bytes);
    cr_assert_not_null(whole);
    free(features);
    return whole;
}

Test(vocabulary, is_the_same_from_its_file)
{
    char path[] = "/tmp/skein-vocabulary-XXXXXX";
    size_t bytes, name_bytes;
    char *whole = whole_make(&bytes);
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, whole, bytes), (ssize_t)bytes);
    (void)close(file);
    skn_error_t error = { 0 };
    skn_vocabulary_t *vocabulary = skn_vocabulary_open(path, &error);
    cr_assert_not_null(vocabulary, "%s", error.text);
    cr_expect_eq(skn_featurizer_count(vocabulary->featurizer), 2u);
    cr_expect_eq(vocabulary->names.count, 3u);
    (void)skn_strings_at(&vocabulary->names, 1, &name_bytes);
    cr_expect_eq(name_bytes, 11u);
    uint64_t again_bytes;
    char *again = skn_names_write(&vocabulary->names, &again_bytes);
    cr_expect_eq(again_bytes, sizeof(names) - 1);
    cr_expect_eq(memcmp(again, names, sizeof(names) - 1), 0);
    skn_vocabulary_form_t form;
    cr_assert_eq(skn_vocabulary_find("f", whole, bytes, &form, &error), SKN_OK);
    cr_expect_eq(skn_vocabulary_hash(&form), vocabulary->hash);
    free(again);
    free(whole);
    skn_vocabulary_destroy(&vocabulary);
    (void)unlink(path);
    cr_expect_null(skn_vocabulary_open(path, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
}

Test(vocabulary, names_are_lines)
{
    skn_strings_t known = { 0 };
    uint32_t number;
    const skn_span_t odd = { "a\nb\tc", 5 }, plain = { "a b c", 5 };
    const skn_span_t other = { "x", 1 };
    cr_assert_eq(skn_names_find(&known, odd, true, &number), SKN_OK);
    cr_expect_eq(number, 0u);
    cr_assert_eq(skn_names_find(&known, plain, false, &number), SKN_OK);
    cr_expect_eq(number, 0u);
    cr_assert_eq(skn_names_find(&known, other, false, &number), SKN_OK);
    cr_expect_eq(number, SKN_STRINGS_NONE);
    skn_strings_fini(&known);
}

/* No byte may be lost, added or changed. */
Test(vocabulary, damage_is_found)
{
    size_t bytes;
    char *whole = whole_make(&bytes);
    skn_vocabulary_form_t form;
    skn_error_t error = { 0 };
    for (size_t k = 0; k < bytes; k++) {
        whole[k] ^= 0x20;
        cr_expect_eq(skn_vocabulary_find("f", whole, bytes, &form, &error),
                     SKN_BAD_DATA, "byte %zu", k);
        whole[k] ^= 0x20;
        cr_expect_eq(skn_vocabulary_find("f", whole, k, &form, &error),
                     SKN_BAD_DATA, "%zu bytes", k);
    }
    cr_expect_eq(skn_vocabulary_find("f", whole, bytes, &form, &error), SKN_OK);
    free(whole);
}

Test(vocabulary, names_that_stand_twice_are_refused)
{
    size_t bytes;
    char *features = features_make(&bytes);
    skn_vocabulary_form_t form = { features, "a\nb\na\n", bytes, 6 };
    skn_error_t error = { 0 };
    cr_expect_null(skn_vocabulary_read("f", &form, &error));
    cr_expect_str_eq(error.text, "f: labels 0 and 2 have one name: a");
    form.names_bytes = 5;
    cr_expect_null(skn_vocabulary_read("f", &form, &error));
    free(features);
}
