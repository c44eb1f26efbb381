/* test_xmc_line.c - tests lines and numbers of the Extreme Classification
 * format (formats/dataset/xmc_line.c, formats/dataset/pairs.c,
 * formats/dataset/xmc_number.c). The oracle for numbers is strtod, rounded to
 * float.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/xmc.h"

#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/point_text.h"

static skn_xmc_line_t
line_of(const char *text)
{
    return (skn_xmc_line_t){ text, strlen(text), NAME, 3 };
}

/* Parses one line and checks that it is refused with exactly `sentence`. */
static void
expect_refused(const char *text, const skn_xmc_bounds_t *bounds,
               const char *sentence)
{
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line = line_of(text);
    cr_expect_eq(skn_xmc_line_parse(&line, bounds, &point, &error),
                 SKN_BAD_DATA, "%s", text);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_eq(point.label_count + point.feature_count, 0u);
    skn_xmc_point_fini(&point);
}

static void
expect_line(const char *text, const char *want)
{
    char got[256];
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line = line_of(text);
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_OK, "%s",
                 error.text);
    point_print(&point, got, sizeof(got));
    cr_expect_str_eq(got, want);
    skn_xmc_point_fini(&point);
}

/* --- lines -------------------------------------------------------------- */

Test(xmc_line, a_line_has_labels_and_features)
{
    expect_line("3,5 1:0.5 7:2", "3,5 1:0.5 7:2");
    expect_line("3", "3");
    expect_line("3 ", "3");
    expect_line(" 1:2", " 1:2");
    expect_line("\t1:2\t \t3:4  ", " 1:2 3:4");
    expect_line("", "");
    expect_line("   ", "");
}

Test(xmc_line, a_feature_without_a_value_is_one)
{
    expect_line("0 7", "0 7:1");
    expect_line(" 7 9:3 8", " 7:1 8:1 9:3");
}

Test(xmc_line, labels_and_features_are_sorted_on_reading)
{
    expect_line("9,1,5 30:-3 10:1 20:2e0", "1,5,9 10:1 20:2 30:-3");
}

Test(xmc_line, leading_zeros_do_not_make_an_index_large)
{
    expect_line("000000000000000000000000000007 0000000000000000000003:1",
                "7 3:1");
}

Test(xmc_line, a_long_unsorted_line_keeps_values_with_their_features)
{
    enum {
        COUNT = 5000
    };
    char *text = malloc(COUNT * 16);
    size_t used = 0;
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    text[used++] = ' ';
    for (unsigned k = 0; k < COUNT; k++) /* 7919 is coprime to 5000 */
        used += (size_t)snprintf(text + used, 16, "%u:%u ", k * 7919u % COUNT,
                                 k * 7919u % COUNT + 1);
    skn_xmc_line_t line = { text, used, NAME, 1 };
    cr_assert_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_OK);
    cr_assert_eq(point.feature_count, (size_t)COUNT);
    for (unsigned k = 0; k < COUNT; k++) {
        cr_assert_eq(point.feature[k], k);
        cr_assert_eq(point.value[k], (float)(k + 1));
    }
    skn_xmc_point_fini(&point);
    free(text);
}

Test(xmc_line, words_that_are_no_numbers_are_refused_where_they_stand)
{
    expect_refused("x 1:1", NULL, "f.txt:3:1: expected a label, found \"x\"");
    expect_refused("1, 1:1", NULL,
                   "f.txt:3:3: expected a label, found nothing");
    expect_refused("1,", NULL, "f.txt:3:3: expected a label, found nothing");
    expect_refused("1,,2", NULL, "f.txt:3:3: expected a label, found \",2\"");
    expect_refused("-1 1:1", NULL, "f.txt:3:1: expected a label, found \"-1\"");
    expect_refused("1 x:1", NULL,
                   "f.txt:3:3: expected a feature, found \"x:1\"");
    expect_refused("1 -2:1", NULL,
                   "f.txt:3:3: expected a feature, found \"-2:1\"");
    expect_refused(" :1", NULL, "f.txt:3:2: expected a feature, found \":1\"");
    expect_refused("1 2.5:1", NULL,
                   "f.txt:3:3: expected a feature, found \"2.5:1\"");
    expect_refused(" abcdefghijklmnopqrstuvwxyz0123", NULL,
                   "f.txt:3:2: expected a feature, found "
                   "\"abcdefghijklmnopqrstuvwx\"");
}

Test(xmc_line, values_must_be_finite_decimal_numbers)
{
    static const char *const wrong[] = { "nan", "NaN",  "inf", "-inf", "0x10",
                                         "1e",  "1.2.", "--1", "+",    ".",
                                         "1f",  "e5",   "1e+", "1:2",  "1,5" };
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        char text[64], sentence[128];
        (void)snprintf(text, sizeof(text), "1 2:%s", wrong[k]);
        (void)snprintf(sentence, sizeof(sentence),
                       "f.txt:3:5: expected a "
                       "finite decimal number, found \"%s\"",
                       wrong[k]);
        expect_refused(text, NULL, sentence);
    }
    expect_refused("1 7:", NULL,
                   "f.txt:3:5: expected a value after the colon, found "
                   "nothing");
    expect_refused("1 7: 8:1", NULL,
                   "f.txt:3:5: expected a value after the colon, found "
                   "nothing");
    expect_refused("1 7:1e39", NULL,
                   "f.txt:3:5: value 1e39 is too large: the maximum of a "
                   "float is 3.4e38");
    expect_refused("1 7:-3.5e38", NULL,
                   "f.txt:3:5: value -3.5e38 is too large: the maximum of a "
                   "float is 3.4e38");
}

Test(xmc_line, features_without_a_leading_space_come_with_a_hint)
{
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line = line_of("7:1 8:2");
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "f.txt:3:1: expected a list of labels, found \"7:1\"");
    cr_expect_str_eq(error.hint, "a line without labels starts with a space");
    skn_xmc_point_fini(&point);
}

Test(xmc_line, bytes_that_no_text_has_are_named)
{
    expect_refused("1 \x01:1", NULL,
                   "f.txt:3:3: byte 0x01 does not belong in a data file, "
                   "which is plain text");
    expect_refused("\xff\xfe", NULL,
                   "f.txt:3:1: byte 0xff does not belong in a data file, "
                   "which is plain text");
    expect_refused("1 2:1\x7f", NULL,
                   "f.txt:3:6: byte 0x7f does not belong in a data file, "
                   "which is plain text");
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line = { "1\0002", 3, NAME, 3 };
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "f.txt:3:2: byte 0x00 does not belong in a "
                                 "data file, which is plain text");
    skn_xmc_point_fini(&point);
}

Test(xmc_line, a_repeated_label_is_refused_at_its_second_place)
{
    expect_refused("4,5,4 1:1", NULL,
                   "f.txt:3:5: label 4 occurs twice in this line");
    expect_refused("44,4,44,04 4:1 4", NULL,
                   "f.txt:3:9: label 4 occurs twice in this line");
}

Test(xmc_line, the_values_of_a_repeated_feature_add_up)
{
    expect_line("4 7:1 8:7 7:2", "4 7:3 8:7");
    expect_line("0 3 3", "0 3:2");
    expect_line("4,44 44:4 04:1 4", "4,44 4:2 44:4");
    expect_line(" 9:7 8:7 7:9 7 9:-7", " 7:10 8:7 9:0");
    expect_line(" 1:3e38 1:-3e38 1:3e38", " 1:3e+38");
    expect_refused(" 1:3e38 2:1 1:3e38", NULL,
                   "f.txt:3:13: the values of feature 1 add up to more than a "
                   "float can hold");
}

Test(xmc_line, a_sum_has_the_same_bits_in_any_order)
{
    static const char *const lines[] = { " 5:0.1 5:1e8 5:-0.3 5:-1e8 5:1e-3",
                                         " 5:-1e8 5:1e-3 5:1e8 5:-0.3 5:0.1",
                                         " 5:1e8 5:0.1 5:1e-3 5:-1e8 5:-0.3" };
    float sum[3];
    for (int k = 0; k < 3; k++) {
        skn_xmc_point_t point;
        skn_xmc_point_init(&point);
        skn_xmc_line_t line = line_of(lines[k]);
        cr_assert_eq(skn_xmc_line_parse(&line, NULL, &point, NULL), SKN_OK);
        cr_assert_eq(point.feature_count, 1u);
        sum[k] = point.value[0];
        skn_xmc_point_fini(&point);
    }
    cr_expect_eq(memcmp(&sum[0], &sum[1], sizeof(float)), 0);
    cr_expect_eq(memcmp(&sum[0], &sum[2], sizeof(float)), 0);
}

Test(xmc_line, query_numbers_and_comments_of_svmlight_are_skipped)
{
    expect_line("3 qid:7 1:2", "3 1:2");
    expect_line("3 qid:10", "3");
    expect_line(" qid:7 1:2 # 5:1 of query 7", " 1:2");
    expect_line("3 1:2 #", "3 1:2");
    expect_line("3,4 # no features", "3,4");
    expect_line("3\t#x", "3");
    expect_refused("3 1:2 qid:7", NULL,
                   "f.txt:3:7: expected a feature, found \"qid:7\"");
    expect_refused("3 qid: 1:2", NULL,
                   "f.txt:3:3: expected a feature, found \"qid:\"");
    expect_refused("3 qid:x 1:2", NULL,
                   "f.txt:3:3: expected a feature, found \"qid:x\"");
    expect_refused("3#x 1:2", NULL,
                   "f.txt:3:1: expected a label, found \"3#x\"");
}

Test(xmc_line, what_the_model_does_not_have_can_be_left_out)
{
    skn_xmc_bounds_t bounds = { .expected_features = 8,
                                .expected_labels = 4,
                                .unknown_ignored = true };
    char got[256];
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line =
        line_of("9,3,4 8:2 1:5 99999999999999999999:1 4294967296 1");
    cr_expect_eq(skn_xmc_line_parse(&line, &bounds, &point, &error), SKN_OK,
                 "%s", error.text);
    point_print(&point, got, sizeof(got));
    cr_expect_str_eq(got, "3 1:6");
    cr_expect_eq(point.unknown_labels, 2u);
    cr_expect_eq(point.unknown_features, 3u);
    cr_expect_eq(point.unknown_column, 1u);
    line = line_of("1 7:1 8:1");
    cr_expect_eq(skn_xmc_line_parse(&line, &bounds, &point, &error), SKN_OK);
    cr_expect_eq(point.unknown_labels, 0u);
    cr_expect_eq(point.unknown_features, 1u);
    cr_expect_eq(point.unknown_column, 7u);
    skn_xmc_point_fini(&point);
    /* A line must be right nevertheless, and so must a file by its header. */
    expect_refused("9 9:nan", &bounds,
                   "f.txt:3:5: expected a finite decimal number, found "
                   "\"nan\"");
    bounds.has_header = true;
    bounds.header_features = bounds.header_labels = 20;
    expect_refused("9 20:1", &bounds,
                   "f.txt:3:3: feature 20 is out of range: the header says 20 "
                   "features, counted from 0");
}

Test(xmc_line, indices_end_where_the_limits_say)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%u %u:1", SKN_UNIT_MAX - 1,
                   SKN_UNIT_MAX - 1);
    expect_line(text, text);
    (void)snprintf(text, sizeof(text), "1 %u:1", SKN_UNIT_MAX);
    expect_refused(text, NULL,
                   "f.txt:3:3: feature 2147483647 is out of range: the "
                   "maximum is 2147483646");
    expect_refused("18446744073709551616", NULL,
                   "f.txt:3:1: label 18446744073709551616 is out of range: "
                   "the maximum is 2147483646");
    expect_refused("99999999999999999999999999", NULL,
                   "f.txt:3:1: label 99999999999999999999... is out of "
                   "range: the maximum is 2147483646");
}

Test(xmc_line, indices_stay_below_the_header_and_the_expected_sizes)
{
    skn_xmc_bounds_t bounds = { .has_header = true,
                                .header_features = 10,
                                .header_labels = 5 };
    expect_refused("4 9:1 10:1", &bounds,
                   "f.txt:3:7: feature 10 is out of "
                   "range: the header says 10 features, counted from 0");
    expect_refused("5 9:1", &bounds,
                   "f.txt:3:1: label 5 is out of range: the "
                   "header says 5 labels, counted from 0");
    bounds.expected_features = 8;
    bounds.expected_labels = 100;
    bounds.expected_by = "train.txt";
    expect_refused("4 8:1", &bounds,
                   "f.txt:3:3: feature 8 is out of range: "
                   "train.txt has 8 features (0 to 7), this file's header "
                   "says 10");
    expect_refused("5", &bounds,
                   "f.txt:3:1: label 5 is out of range: the "
                   "header says 5 labels, counted from 0");
    bounds.expected_labels = 5; /* the header is the nearer one */
    expect_refused("5", &bounds,
                   "f.txt:3:1: label 5 is out of range: the "
                   "header says 5 labels, counted from 0");
    bounds.expected_labels = 100;
    bounds.has_header = false;
    expect_refused("100", &bounds,
                   "f.txt:3:1: label 100 is out of range: "
                   "train.txt has 100 labels (0 to 99), this file has no "
                   "header");
    bounds.expected_by = NULL;
    expect_refused("100", &bounds,
                   "f.txt:3:1: label 100 is out of range: "
                   "the model has 100 labels (0 to 99), this file has no "
                   "header");
}

Test(xmc_line, a_line_has_at_most_so_many_items)
{
    size_t bytes = (size_t)SKN_LINE_ITEMS_MAX * 9 + 16, used = 0;
    char *text = malloc(bytes);
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    for (unsigned k = 0; k < SKN_LINE_ITEMS_MAX; k++)
        used += (size_t)snprintf(text + used, bytes - used, " %u", k);
    skn_xmc_line_t line = { text, used, NAME, 1 };
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_OK);
    cr_expect_eq(point.feature_count, SKN_LINE_ITEMS_MAX);
    line.bytes +=
        (size_t)snprintf(text + used, bytes - used, " %u", SKN_LINE_ITEMS_MAX);
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_BAD_DATA);
    char sentence[128];
    (void)snprintf(sentence, sizeof(sentence),
                   "f.txt:1:%zu: more than "
                   "1048576 features in one line",
                   used + 2);
    cr_expect_str_eq(error.text, sentence);
    skn_xmc_point_fini(&point);
    free(text);
}

Test(xmc_line, a_line_has_at_most_so_many_labels)
{
    size_t bytes = (size_t)SKN_LINE_ITEMS_MAX * 2 + 2;
    char *text = malloc(bytes);
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    for (size_t k = 0; k < bytes; k += 2)
        memcpy(text + k, "1,", 2);
    skn_xmc_line_t line = { text, bytes - 1, NAME, 1 };
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "f.txt:1:2097153: more than 1048576 labels "
                                 "in one line");
    skn_xmc_point_fini(&point);
    free(text);
}

/* --- numbers ------------------------------------------------------------ */

/* At most 1 ulp from strtod rounded to float. */
static void
expect_number(const char *text)
{
    float got = NAN;
    char *end;
    double exact = skn_text_real(text, &end);
    size_t bytes = skn_xmc_number_parse(text, strlen(text), &got);
    cr_assert_eq(bytes, (size_t)(end - text), "%s: read %zu bytes", text,
                 bytes);
    if (fabs(exact) >= 0x1.ffffffp127) {
        cr_expect(isinf(got), "%s: got %.9g", text, (double)got);
        return;
    }
    float want = (float)exact;
    cr_expect(got == want || got == nextafterf(want, -HUGE_VALF) ||
                  got == nextafterf(want, HUGE_VALF),
              "%s: got %.9g, want %.9g", text, (double)got, (double)want);
    cr_expect_eq(signbit(got), signbit(want), "%s", text);
}

Test(xmc_line, numbers_at_the_edges_agree_with_strtod)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "+1",
        "1.",
        ".5",
        "-.5e1",
        "00012.500",
        "1e0",
        "1E+2",
        "1e-2",
        "3.4028234e38",
        "3.4028235e38",
        "3.40282356e38",
        "3.4028236e38",
        "3.5e38",
        "1e39",
        "-1e39",
        "1e400",
        "1e-400",
        "1.1754944e-38",
        "1.1754943e-38",
        "1.4e-45",
        "7e-46",
        "8e-46",
        "1e-46",
        "0.000000000000000000000000000000000000000000000000001e50",
        "100000000000000000000000000000000000000000000000000e-50",
        "123456789012345678901234567890",
        "0.1234567890123456789012345",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "10000000000000000000",
        "16777217",
        "16777219",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "1e-37",
        "9999999999999999999e-60",
        "0e999999999999",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "0.1",
        "0.195",
    };
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
        expect_number(numbers[k]);
}

Test(xmc_line, random_numbers_agree_with_strtod)
{
    uint64_t seed = 42; /* a linear congruence: Knuth's MMIX */
    char text[64];
    for (int k = 0; k < 200000; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        float value;
        uint32_t bits = (uint32_t)(seed >> 32);
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        int digits = (int)(seed >> 8 & 15) + 1;
        (void)skn_text_write(text, sizeof(text), k % 3 ? "%.*e" : "%.*g",
                             digits, (double)value);
        expect_number(text);
    }
}

Test(xmc_line, numbers_stop_at_the_first_foreign_letter)
{
    float value;
    cr_expect_eq(skn_xmc_number_parse("", 0, &value), 0u);
    cr_expect_eq(skn_xmc_number_parse("x", 1, &value), 0u);
    cr_expect_eq(skn_xmc_number_parse("12x", 3, &value), 2u);
    cr_expect_eq(skn_xmc_number_parse("12", 1, &value), 1u);
    cr_expect_eq(value, 1.0f);
    cr_expect_eq(skn_xmc_number_parse("1e5", 2, &value), 1u);
    cr_expect_eq(skn_xmc_number_parse("1e-", 3, &value), 1u);
    cr_expect_eq(skn_xmc_number_parse("0x1p3", 5, &value), 1u);
}

/* --- labels that may be left out ------------------------------------------ */

static void
expect_optional(const char *text, size_t labels, size_t features)
{
    skn_xmc_bounds_t bounds = { .labels_optional = true };
    skn_xmc_line_t line = { text, strlen(text), NAME, 1 };
    skn_xmc_point_t point;
    skn_error_t error = { 0 };
    skn_xmc_point_init(&point);
    cr_expect_eq(skn_xmc_line_parse(&line, &bounds, &point, &error), SKN_OK,
                 "'%s': %s", text, error.text);
    cr_expect_eq(point.label_count, labels, "'%s'", text);
    cr_expect_eq(point.feature_count, features, "'%s'", text);
    skn_xmc_point_fini(&point);
}

Test(xmc_line, a_line_may_begin_with_a_feature_where_labels_are_optional)
{
    expect_optional("1:0.5", 0, 1);
    expect_optional("1:0.5 2", 0, 2);
    expect_optional(" 1:0.5 2", 0, 2);
    expect_optional("1 2:0.5", 1, 1);
    expect_optional("1,4 2", 2, 1);
    expect_optional("7", 1, 0);
    expect_optional("", 0, 0);
}

Test(xmc_line, places_stay_right_where_labels_are_optional)
{
    skn_xmc_bounds_t bounds = { .labels_optional = true };
    skn_xmc_line_t line = { "2:1 x", 5, NAME, 3 };
    skn_xmc_point_t point;
    skn_error_t error = { 0 };
    skn_xmc_point_init(&point);
    cr_expect_eq(skn_xmc_line_parse(&line, &bounds, &point, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text, NAME ":3:5: expected a feature, found \"x\"");
    skn_xmc_point_fini(&point);
}
