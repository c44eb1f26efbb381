/* test_xmc.c - lines, numbers and whole files of the Extreme Classification
 * format, plain and packed; the oracle for numbers is strtod, rounded to float.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/xmc.h"

#include <criterion/criterion.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* Names are long where TMPDIR is: golden sentences use names in memory. */
#define NAME "f.txt"

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

/* Writes a point as sorted text, to be compared. */
static void
point_print(const skn_xmc_point_t *point, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < point->label_count; k++)
        used += (size_t)snprintf(text + used, room - used, "%s%u",
                                 k ? "," : "", point->label[k]);
    for (size_t k = 0; k < point->feature_count; k++)
        used += (size_t)snprintf(text + used, room - used, " %u:%g",
                                 point->feature[k], (double)point->value[k]);
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

/* Reads a whole file from memory; points are separated by '|'. */
static skn_status_t
read_all(const void *bytes, size_t count, char *text, size_t room,
         skn_xmc_sizes_t *sizes, skn_error_t *error)
{
    skn_xmc_reader_t *reader;
    skn_xmc_point_t point;
    bool more = true;
    skn_xmc_point_init(&point);
    text[0] = '\0';
    skn_status_t status =
        skn_xmc_open_memory(NAME, bytes, count, NULL, &reader, error);
    while (status == SKN_OK && more) {
        size_t used = strlen(text);
        status = skn_xmc_next(reader, &point, &more, error);
        if (status != SKN_OK || !more || used + 1 >= room)
            continue;
        point_print(&point, text + used, room - used - 1);
        strncat(text, "|", room - strlen(text) - 1);
    }
    if (status == SKN_OK && sizes)
        *sizes = skn_xmc_sizes(reader);
    skn_xmc_close(&reader);
    skn_xmc_point_fini(&point);
    return status;
}

static void
expect_file(const char *file, const char *want)
{
    char got[512];
    skn_error_t error = { 0 };
    cr_expect_eq(read_all(file, strlen(file), got, sizeof(got), NULL, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(got, want, "%s: got %s", file, got);
}

static void
expect_file_refused(const void *file, size_t bytes, const char *sentence)
{
    char got[512];
    skn_error_t error = { 0 };
    cr_expect_eq(read_all(file, bytes, got, sizeof(got), NULL, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text, sentence);
}

#define EXPECT_FILE_REFUSED(file, sentence)                                    \
    expect_file_refused(file, strlen(file), sentence)

/* --- lines -------------------------------------------------------------- */

Test(xmc, a_line_has_labels_and_features)
{
    expect_line("3,5 1:0.5 7:2", "3,5 1:0.5 7:2");
    expect_line("3", "3");
    expect_line("3 ", "3");
    expect_line(" 1:2", " 1:2");
    expect_line("\t1:2\t \t3:4  ", " 1:2 3:4");
    expect_line("", "");
    expect_line("   ", "");
}

Test(xmc, a_feature_without_a_value_is_one)
{
    expect_line("0 7", "0 7:1");
    expect_line(" 7 9:3 8", " 7:1 8:1 9:3");
}

Test(xmc, labels_and_features_are_sorted_on_reading)
{
    expect_line("9,1,5 30:-3 10:1 20:2e0", "1,5,9 10:1 20:2 30:-3");
}

Test(xmc, leading_zeros_do_not_make_an_index_large)
{
    expect_line("000000000000000000000000000007 0000000000000000000003:1",
                "7 3:1");
}

Test(xmc, a_long_unsorted_line_keeps_values_with_their_features)
{
    enum { COUNT = 5000 };
    char *text = malloc(COUNT * 16);
    size_t used = 0;
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    text[used++] = ' ';
    for (unsigned k = 0; k < COUNT; k++) /* 7919 is coprime to 5000 */
        used += (size_t)snprintf(text + used, 16, "%u:%u ",
                                 k * 7919u % COUNT, k * 7919u % COUNT + 1);
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

Test(xmc, words_that_are_no_numbers_are_refused_where_they_stand)
{
    expect_refused("x 1:1", NULL, "f.txt:3:1: expected a label, found \"x\"");
    expect_refused("1, 1:1", NULL,
                   "f.txt:3:3: expected a label, found nothing");
    expect_refused("1,", NULL, "f.txt:3:3: expected a label, found nothing");
    expect_refused("1,,2", NULL, "f.txt:3:3: expected a label, found \",2\"");
    expect_refused("-1 1:1", NULL,
                   "f.txt:3:1: expected a label, found \"-1\"");
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

Test(xmc, values_must_be_finite_decimal_numbers)
{
    static const char *const wrong[] = { "nan", "NaN",  "inf", "-inf", "0x10",
                                         "1e",  "1.2.", "--1", "+",    ".",
                                         "1f",  "e5",   "1e+", "1:2",  "1,5" };
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        char text[64], sentence[128];
        (void)snprintf(text, sizeof(text), "1 2:%s", wrong[k]);
        (void)snprintf(sentence, sizeof(sentence), "f.txt:3:5: expected a "
                       "finite decimal number, found \"%s\"", wrong[k]);
        expect_refused(text, NULL, sentence);
    }
    expect_refused("1 7:", NULL,
                   "f.txt:3:5: expected a value after the colon, found "
                   "nothing");
    expect_refused("1 7: 8:1", NULL,
                   "f.txt:3:5: expected a value after the colon, found "
                   "nothing");
    expect_refused("1 7:1e39", NULL, "f.txt:3:5: value 1e39 is too large: a "
                                     "float ends at 3.4e38");
    expect_refused("1 7:-3.5e38", NULL, "f.txt:3:5: value -3.5e38 is too "
                                        "large: a float ends at 3.4e38");
}

Test(xmc, features_without_a_leading_space_come_with_a_hint)
{
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line = line_of("7:1 8:2");
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "f.txt:3:1: expected a list of labels, found \"7:1\"");
    cr_expect_str_eq(error.hint, "a line without labels starts with a space");
    skn_xmc_point_fini(&point);
}

Test(xmc, bytes_that_no_text_has_are_named)
{
    expect_refused("1 \x01:1", NULL, "f.txt:3:3: byte 0x01 does not belong "
                                     "into a data file, which is plain text");
    expect_refused("\xff\xfe", NULL, "f.txt:3:1: byte 0xff does not belong "
                                     "into a data file, which is plain text");
    expect_refused("1 2:1\x7f", NULL, "f.txt:3:6: byte 0x7f does not belong "
                                      "into a data file, which is plain text");
    skn_error_t error = { 0 };
    skn_xmc_point_t point;
    skn_xmc_point_init(&point);
    skn_xmc_line_t line = { "1\0002", 3, NAME, 3 };
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "f.txt:3:2: byte 0x00 does not belong into a "
                                 "data file, which is plain text");
    skn_xmc_point_fini(&point);
}

Test(xmc, repeats_are_refused_at_the_second_place)
{
    expect_refused("4,5,4 1:1", NULL,
                   "f.txt:3:5: label 4 stands twice in this line");
    expect_refused("4 7:1 8:7 7:2", NULL,
                   "f.txt:3:11: feature 7 stands twice in this line");
    expect_refused("4,44 44:4 04:1 4", NULL,
                   "f.txt:3:16: feature 4 stands twice in this line");
    expect_refused(" 9:7 8:7 7:9 7", NULL,
                   "f.txt:3:14: feature 7 stands twice in this line");
}

Test(xmc, indices_end_where_the_limits_say)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%u %u:1", SKN_UNIT_MAX - 1,
                   SKN_UNIT_MAX - 1);
    expect_line(text, text);
    (void)snprintf(text, sizeof(text), "1 %u:1", SKN_UNIT_MAX);
    expect_refused(text, NULL, "f.txt:3:3: feature 2147483647 is out of "
                               "range: at most 2147483646 is possible");
    expect_refused("18446744073709551616", NULL,
                   "f.txt:3:1: label 18446744073709551616 is out of range: "
                   "at most 2147483646 is possible");
    expect_refused("99999999999999999999999999", NULL,
                   "f.txt:3:1: label 99999999999999999999... is out of range: "
                   "at most 2147483646 is possible");
}

Test(xmc, indices_stay_below_the_header_and_the_expected_sizes)
{
    skn_xmc_bounds_t bounds = { .has_header = true,
                                .header_features = 10,
                                .header_labels = 5 };
    expect_refused("4 9:1 10:1", &bounds, "f.txt:3:7: feature 10 is out of "
                   "range: the header says 10 features, counted from 0");
    expect_refused("5 9:1", &bounds, "f.txt:3:1: label 5 is out of range: the "
                                     "header says 5 labels, counted from 0");
    bounds.expected_features = 8;
    bounds.expected_labels = 100;
    bounds.expected_by = "train.txt";
    expect_refused("4 8:1", &bounds, "f.txt:3:3: feature 8 is out of range: "
                   "train.txt has 8 features (0 to 7), this file's header "
                   "says 10");
    expect_refused("5", &bounds, "f.txt:3:1: label 5 is out of range: the "
                                 "header says 5 labels, counted from 0");
    bounds.has_header = false;
    expect_refused("100", &bounds, "f.txt:3:1: label 100 is out of range: "
                   "train.txt has 100 labels (0 to 99), this file has no "
                   "header");
    bounds.expected_by = NULL;
    expect_refused("100", &bounds, "f.txt:3:1: label 100 is out of range: "
                   "the model has 100 labels (0 to 99), this file has no "
                   "header");
}

Test(xmc, a_line_has_at_most_so_many_items)
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
    line.bytes += (size_t)snprintf(text + used, bytes - used, " %u",
                                   SKN_LINE_ITEMS_MAX);
    cr_expect_eq(skn_xmc_line_parse(&line, NULL, &point, &error),
                 SKN_BAD_DATA);
    char sentence[128];
    (void)snprintf(sentence, sizeof(sentence), "f.txt:1:%zu: more than "
                   "1048576 features in one line", used + 2);
    cr_expect_str_eq(error.text, sentence);
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
    double exact = strtod(text, &end);
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

Test(xmc, numbers_at_the_edges_agree_with_strtod)
{
    static const char *const numbers[] = {
        "0", "-0", "+1", "1.", ".5", "-.5e1", "00012.500", "1e0", "1E+2",
        "1e-2", "3.4028234e38", "3.4028235e38", "3.40282356e38",
        "3.4028236e38", "3.5e38", "1e39", "-1e39", "1e400", "1e-400",
        "1.1754944e-38", "1.1754943e-38", "1.4e-45", "7e-46", "8e-46", "1e-46",
        "0.000000000000000000000000000000000000000000000000001e50",
        "100000000000000000000000000000000000000000000000000e-50",
        "123456789012345678901234567890", "0.1234567890123456789012345",
        "18446744073709551615", "18446744073709551616", "9999999999999999999",
        "10000000000000000000", "16777217", "16777219", "1e22", "1e23", "1e-22",
        "1e-23", "1e-37", "9999999999999999999e-60", "0e999999999999",
        "1e99999999999999999999", "1e-99999999999999999999", "0.1", "0.195",
    };
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
        expect_number(numbers[k]);
}

Test(xmc, random_numbers_agree_with_strtod)
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
        (void)snprintf(text, sizeof(text), k % 3 ? "%.*e" : "%.*g", digits,
                       (double)value);
        expect_number(text);
    }
}

Test(xmc, numbers_stop_at_the_first_foreign_letter)
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

/* --- files -------------------------------------------------------------- */

Test(xmc, a_file_may_have_a_header)
{
    skn_xmc_sizes_t sizes;
    skn_error_t error = { 0 };
    char got[256];
    const char *file = "2 10 5\n0,3 1:0.5\n 2\n";
    cr_assert_eq(read_all(file, strlen(file), got, sizeof(got), &sizes,
                          &error), SKN_OK);
    cr_expect_str_eq(got, "0,3 1:0.5| 2:1|");
    cr_expect(sizes.has_header);
    cr_expect_eq(sizes.point_count, 2u);
    cr_expect_eq(sizes.feature_count, 10u);
    cr_expect_eq(sizes.label_count, 5u);
    cr_expect_eq(sizes.feature_seen, 3u);
    cr_expect_eq(sizes.label_seen, 4u);
    file = "0,3 1:0.5\n 2\n";
    cr_assert_eq(read_all(file, strlen(file), got, sizeof(got), &sizes,
                          &error), SKN_OK);
    cr_expect(!sizes.has_header);
    cr_expect_eq(sizes.feature_count, 3u);
    cr_expect_eq(sizes.label_count, 4u);
}

Test(xmc, only_three_whole_numbers_are_a_header)
{
    expect_file("1  3\t5 \n2 2\n", "2 2:1|");
    expect_file("1 3\n", "1 3:1|");
    expect_file("1 3 5 7\n", "1 3:1 5:1 7:1|");
    expect_file(" 1 3 5\n", " 1:1 3:1 5:1|");
    expect_file("1 3 5:1\n", "1 3:1 5:1|");
    expect_file("1,2 3 5\n", "1,2 3:1 5:1|");
    expect_file("0 3 5\n", "");
}

Test(xmc, line_ends_may_be_lf_or_crlf_and_the_last_may_be_missing)
{
    expect_file("1 2:3\n4 5:6", "1 2:3|4 5:6|");
    expect_file("2 7 7\r\n1 2:3\r\n4 5:6\r\n", "1 2:3|4 5:6|");
    expect_file("1 2:3\r\n4 5:6\r", "1 2:3|4 5:6|");
    expect_file("\xef\xbb\xbf" "1 7 7\n1 2:3\n", "1 2:3|");
}

Test(xmc, empty_lines_are_points_except_at_the_end)
{
    expect_file("1 2:3\n\n4\n", "1 2:3||4|");
    expect_file("\n\r\n4\n", "||4|");
    expect_file("4\n\n\n\r\n", "4|");
    expect_file("4\n \n", "4||");
    expect_file("3 5 5\n4\n\n\n", "4|||");
    expect_file("2 5 5\n4\n\n\n\n", "4||");
    expect_file("1 5 5\n\n\n", "|");
    EXPECT_FILE_REFUSED("3 5 5\n4\n\n", "f.txt:1:1: the header says 3 points, "
                                        "but the file ends after 2");
}

Test(xmc, a_header_that_disagrees_is_refused)
{
    EXPECT_FILE_REFUSED("1 5 5\n4\n\n3\n", "f.txt:4:1: the header says 1 "
                        "points, but here is one more");
    EXPECT_FILE_REFUSED("3 5 5\n4\n3\n", "f.txt:1:1: the header says 3 points, "
                        "but the file ends after 2");
    EXPECT_FILE_REFUSED("1 5 5\n5\n", "f.txt:2:1: label 5 is out of range: "
                        "the header says 5 labels, counted from 0");
    EXPECT_FILE_REFUSED("4294967296 5 5\n", "f.txt:1:1: the header says more "
                        "than 4294967295 points, which is the most possible");
    EXPECT_FILE_REFUSED("1 2147483648 5\n", "f.txt:1:3: the header says more "
                        "than 2147483647 features, which is the most possible");
    EXPECT_FILE_REFUSED("1 1 99999999999999999999\n", "f.txt:1:5: the header "
                        "says more than 2147483647 labels, which is the most "
                        "possible");
}

Test(xmc, files_without_points_are_refused)
{
    EXPECT_FILE_REFUSED("", "f.txt: the file is empty");
    EXPECT_FILE_REFUSED("\n\n", "f.txt: the file has no points");
}

Test(xmc, lines_longer_than_the_limit_are_refused)
{
    size_t bytes = (size_t)SKN_LINE_BYTES_MAX + 8;
    char *file = malloc(bytes);
    memset(file, ' ', bytes);
    file[0] = '1';
    memcpy(file + SKN_LINE_BYTES_MAX, "\r\n2\n", 4);
    char got[64];
    skn_error_t error = { 0 };
    cr_expect_eq(read_all(file, SKN_LINE_BYTES_MAX + 4u, got, sizeof(got),
                          NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_str_eq(got, "1|2|");
    memcpy(file + SKN_LINE_BYTES_MAX, "  \n2", 4);
    expect_file_refused(file, bytes, "f.txt:1:1: the line is longer than "
                                     "33554432 bytes");
    memset(file + 1, ' ', bytes - 1);
    expect_file_refused(file, bytes, "f.txt:1:1: the line is longer than "
                                     "33554432 bytes");
    free(file);
}

/* --- packed files ------------------------------------------------------- */

static size_t
gzip_pack(const char *text, unsigned char *packed, size_t room)
{
    z_stream stream = { 0 };
    cr_assert_eq(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8,
                              Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)text;
    stream.avail_in = (uInt)strlen(text);
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t bytes = room - stream.avail_out;
    (void)deflateEnd(&stream);
    return bytes;
}

static size_t
zstd_pack(const char *text, unsigned char *packed, size_t room)
{
    size_t bytes = ZSTD_compress(packed, room, text, strlen(text), 3);
    cr_assert(!ZSTD_isError(bytes));
    return bytes;
}

static const char *const packed_text = "2 10 5\n0,3 1:0.5 7:3e-2\n 2 5\n";
static const char *const packed_want = "0,3 1:0.5 7:0.03| 2:1 5:1|";

/* Every shorter file is cut off or empty, never a crash, never a success. */
static void
expect_packed(size_t (*pack)(const char *, unsigned char *, size_t),
              const char *cut_off)
{
    unsigned char packed[256];
    char got[256];
    skn_error_t error = { 0 };
    size_t bytes = pack(packed_text, packed, sizeof(packed));
    cr_expect_eq(read_all(packed, bytes, got, sizeof(got), NULL, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(got, packed_want);
    for (size_t shorter = 4; shorter < bytes; shorter++)
        expect_file_refused(packed, shorter, cut_off);
    for (size_t shorter = 0; shorter < 4; shorter++)
        cr_expect_eq(read_all(packed, shorter, got, sizeof(got), NULL,
                              &error), SKN_BAD_DATA);
}

Test(xmc, gzip_is_read_and_a_cut_is_noticed_at_every_byte)
{
    expect_packed(gzip_pack, "f.txt: the gzip data is cut off");
}

Test(xmc, zstd_is_read_and_a_cut_is_noticed_at_every_byte)
{
    expect_packed(zstd_pack, "f.txt: the zstd data is cut off");
}

Test(xmc, several_packed_parts_are_one_text)
{
    unsigned char packed[512];
    char got[256];
    skn_error_t error = { 0 };
    size_t bytes = gzip_pack("1 2:", packed, 256);
    bytes += gzip_pack("3\n4\n", packed + bytes, 256);
    cr_expect_eq(read_all(packed, bytes, got, sizeof(got), NULL, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(got, "1 2:3|4|");
    bytes = zstd_pack("1 2:", packed, 256);
    bytes += zstd_pack("3\n4\n", packed + bytes, 256);
    cr_expect_eq(read_all(packed, bytes, got, sizeof(got), NULL, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(got, "1 2:3|4|");
}

Test(xmc, damaged_packed_bytes_never_crash)
{
    unsigned char packed[256];
    char got[256];
    skn_error_t error = { 0 };
    size_t bytes = gzip_pack(packed_text, packed, sizeof(packed));
    packed[3] = 0xff; /* reserved flags of RFC 1952 */
    expect_file_refused(packed, bytes, "f.txt: the gzip data is damaged: "
                                       "unknown header flags set");
    for (int format = 0; format < 2; format++)
        for (size_t at = 0; at < bytes; at++) {
            bytes = (format ? zstd_pack : gzip_pack)(packed_text, packed,
                                                     sizeof(packed));
            packed[at] ^= 0x55;
            (void)read_all(packed, bytes, got, sizeof(got), NULL, &error);
        }
}

/* --- real files --------------------------------------------------------- */

typedef struct folder {
    char path[256], file[300];
} folder_t;

static void
folder_make(folder_t *folder)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder->path, sizeof(folder->path), "%s/skn_xmc_XXXXXX",
                   base ? base : "/tmp");
    cr_assert(mkdtemp(folder->path));
    (void)snprintf(folder->file, sizeof(folder->file), "%s/f.txt",
                   folder->path);
}

static void
folder_remove(folder_t *folder)
{
    (void)unlink(folder->file);
    cr_expect_eq(rmdir(folder->path), 0);
}

Test(xmc, a_file_longer_than_the_window_is_read_whole)
{
    enum { POINTS = 60000 };
    folder_t folder;
    folder_make(&folder);
    FILE *file = fopen(folder.file, "w");
    cr_assert(file);
    for (unsigned k = 0; k < POINTS; k++)
        (void)fprintf(file, "%u %u:%u.5 %u\n", k, k % 7, k, k % 11 + 7);
    cr_assert_eq(fclose(file), 0);
    skn_error_t error = { 0 };
    skn_xmc_reader_t *reader;
    skn_xmc_point_t point;
    bool more;
    skn_xmc_point_init(&point);
    cr_assert_eq(skn_xmc_open(folder.file, NULL, &reader, &error), SKN_OK);
    for (unsigned k = 0; k < POINTS; k++) {
        cr_assert_eq(skn_xmc_next(reader, &point, &more, &error), SKN_OK);
        cr_assert(more && point.label_count == 1 && point.feature_count == 2);
        cr_assert_eq(point.label[0], k);
        cr_assert_eq(point.value[0], (float)k + 0.5f);
        cr_assert_eq(point.feature[1], k % 11 + 7);
    }
    cr_assert_eq(skn_xmc_next(reader, &point, &more, &error), SKN_OK);
    cr_expect(!more);
    cr_expect_eq(skn_xmc_sizes(reader).label_count, (uint32_t)POINTS);
    skn_xmc_close(&reader);
    cr_expect_null(reader);
    skn_xmc_point_fini(&point);
    folder_remove(&folder);
}

Test(xmc, files_that_cannot_be_opened_have_their_own_status)
{
    folder_t folder;
    char sentence[512];
    skn_error_t error = { 0 };
    skn_xmc_reader_t *reader;
    folder_make(&folder);
    cr_expect_eq(skn_xmc_open(folder.file, NULL, &reader, &error),
                 SKN_NO_INPUT);
    (void)snprintf(sentence, sizeof(sentence), "%s: there is no such file",
                   folder.file);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_null(reader);
    cr_expect_eq(skn_xmc_open(folder.path, NULL, &reader, &error),
                 SKN_NO_INPUT);
    (void)snprintf(sentence, sizeof(sentence), "%s: is a folder, not a file",
                   folder.path);
    cr_expect_str_eq(error.text, sentence);
    FILE *file = fopen(folder.file, "w");
    cr_assert(file && fclose(file) == 0);
    cr_assert_eq(chmod(folder.file, 0), 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    /* Root reads everything; the test process is its own, so it can stop
     * being root. */
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    cr_expect_eq(skn_xmc_open(folder.file, NULL, &reader, &error),
                 SKN_NO_PERMISSION);
    (void)snprintf(sentence, sizeof(sentence), "%s: no permission to read it",
                   folder.file);
    cr_expect_str_eq(error.text, sentence);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    folder_remove(&folder);
}

Test(xmc, errors_may_be_asked_for_nothing)
{
    skn_xmc_reader_t *reader;
    cr_expect_eq(skn_xmc_open("/nonexistent/f", NULL, &reader, NULL),
                 SKN_NO_INPUT);
    cr_expect_eq(skn_xmc_open_memory(NAME, NULL, 0, NULL, &reader, NULL),
                 SKN_BAD_DATA);
    skn_xmc_close(&reader);
}

Test(xmc, a_long_path_leaves_room_for_the_reason)
{
    char path[400];
    skn_error_t error = { 0 };
    skn_xmc_reader_t *reader;
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    cr_expect_eq(skn_xmc_open_memory(path, "?", 1, NULL, &reader, &error),
                 SKN_OK);
    skn_xmc_point_t point;
    bool more;
    skn_xmc_point_init(&point);
    cr_expect_eq(skn_xmc_next(reader, &point, &more, &error), SKN_BAD_DATA);
    cr_expect(strstr(error.text, "x:1:1: expected a label, found \"?\""));
    cr_expect_eq(strlen(error.text), 240 + strlen(":1:1: expected a label, "
                                                  "found \"?\""));
    skn_xmc_close(&reader);
    skn_xmc_point_fini(&point);
}
