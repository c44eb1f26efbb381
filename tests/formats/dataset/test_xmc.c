/* test_xmc.c - tests whole files of the Extreme Classification format, plain
 * and compressed (formats/dataset/xmc.c, formats/source/stream.c), and
 * oddities in them (formats/dataset/xmc_odd.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/xmc.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/point_text.h"

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
        memcpy(text + strlen(text), "|", 2);
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

/* --- files -------------------------------------------------------------- */

Test(xmc, a_file_may_have_a_header)
{
    skn_xmc_sizes_t sizes;
    skn_error_t error = { 0 };
    char got[256];
    const char *file = "2 10 5\n0,3 1:0.5\n 2\n";
    cr_assert_eq(read_all(file, strlen(file), got, sizeof(got), &sizes, &error),
                 SKN_OK);
    cr_expect_str_eq(got, "0,3 1:0.5| 2:1|");
    cr_expect(sizes.has_header);
    cr_expect_eq(sizes.point_count, 2u);
    cr_expect_eq(sizes.feature_count, 10u);
    cr_expect_eq(sizes.label_count, 5u);
    cr_expect_eq(sizes.feature_seen, 3u);
    cr_expect_eq(sizes.label_seen, 4u);
    file = "0,3 1:0.5\n 2\n";
    cr_assert_eq(read_all(file, strlen(file), got, sizeof(got), &sizes, &error),
                 SKN_OK);
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

Test(xmc, comments_are_skipped_and_the_header_may_follow_them)
{
    expect_file("# by scikit-learn\n#\n1 2:3\n4 5:6\n", "1 2:3|4 5:6|");
    expect_file("\xef\xbb\xbf# made by hand\r\n2 7 7 # counts\r\n1 2:3\r\n"
                "  # in between\r\n4 5:6 # info\r\n# end\r\n",
                "1 2:3|4 5:6|");
    expect_file("2 7 7\t#counts\n1 2:3 #x\n4 qid:3 5:6\n#", "1 2:3|4 5:6|");
    EXPECT_FILE_REFUSED("# nothing\n#\n", "f.txt: the file has no points");
    EXPECT_FILE_REFUSED("# one\n# two\n1 2:3\n# three\n1 2:x\n",
                        "f.txt:5:5: expected a finite decimal number, found "
                        "\"x\"");
}

/* What is odd about a file. */
static skn_xmc_odd_t
odd_of(const char *file, const skn_xmc_bounds_t *bounds, skn_xmc_sizes_t *sizes)
{
    skn_xmc_reader_t *reader;
    skn_xmc_point_t point;
    skn_error_t error = { 0 };
    bool more = true;
    skn_xmc_point_init(&point);
    cr_assert_eq(
        skn_xmc_open_memory(NAME, file, strlen(file), bounds, &reader, &error),
        SKN_OK);
    while (more)
        cr_assert_eq(skn_xmc_next(reader, &point, &more, &error), SKN_OK, "%s",
                     error.text);
    skn_xmc_odd_t odd = skn_xmc_odd(reader);
    if (sizes)
        *sizes = skn_xmc_sizes(reader);
    skn_xmc_close(&reader);
    skn_xmc_point_fini(&point);
    return odd;
}

#define POINTS4 "0 1:1 5:2\n1,2 0:1\n2 5:1 3:2\n0 4:3\n"

Test(xmc, counts_that_are_not_quite_a_header_are_noticed)
{
    static const char *const odd[] = {
        "4,6,3\n" POINTS4,
        "4 6 3 7\n" POINTS4,
        "4 6\n" POINTS4,
        " 4 6 3\n" POINTS4,
        "40 60\n" POINTS4,
        "4\t6\n" POINTS4,
        "9,12,7\n" POINTS4,
        "3,6\n" POINTS4,
        "12\n" POINTS4 POINTS4 POINTS4,
        "# c\n4 6 3 1\n" POINTS4,
        "4 6 2 1\n0 1 5\n1 0\n0 2\n1 3\n",
    };
    for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
        skn_xmc_odd_t found = odd_of(odd[k], NULL, NULL);
        cr_expect_eq(found.what, SKN_XMC_ODD_COUNTS, "%s: %d", odd[k],
                     found.what);
        cr_expect_eq(found.line, odd[k][0] == '#' ? 2u : 1u);
    }
}

/* cat a.txt b.txt, where a.txt has no header. */
Test(xmc, a_header_behind_the_first_line_is_noticed)
{
    static const char *const odd[] = {
        POINTS4 POINTS4 "4 6 3\n" POINTS4,
        POINTS4 POINTS4 POINTS4 POINTS4 "4 6 3\n" POINTS4 "4 6 3\n",
        POINTS4 POINTS4 POINTS4 "90 6 3\n",
    };
    for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
        skn_xmc_odd_t found = odd_of(odd[k], NULL, NULL);
        cr_expect_eq(found.what, SKN_XMC_ODD_COUNTS, "%s: %d", odd[k],
                     found.what);
        cr_expect_eq(found.line, k == 0 ? 9u : k == 1 ? 17u : 13u);
    }
}

Test(xmc, points_are_not_taken_for_counts)
{
    static const char *const fine[] = {
        "4 6 3\n" POINTS4, /* that is the header */
        POINTS4,
        "0,2\n" POINTS4, /* labels alone */
        "2\n" POINTS4,
        "3\n" POINTS4,                  /* a label that no other line has */
        "1 4\n" POINTS4,                /* a feature without a value */
        "1 5 8 2\n0 1 5\n1 0\n2 5 3\n", /* a bag of words */
        "3,4\n0,1\n2\n4,3\n",
        "5 4:1\n0 1:1\n",
        "300 1:1 2:1\n0 1:1\n1 1:2\n",
        POINTS4 POINTS4 POINTS4 "0,1 5\n2 5\n0\n",
        POINTS4 "0 1 5\n2 5 0\n1 4 2\n",     /* every second line */
        "2 5\n0 1 5\n1 4 2\n0 2 3\n1 0 4\n", /* no values at all */
    };
    for (size_t k = 0; k < sizeof(fine) / sizeof(fine[0]); k++) {
        skn_xmc_odd_t found = odd_of(fine[k], NULL, NULL);
        cr_expect_eq(found.what, SKN_XMC_NOTHING_ODD, "%s: %d", fine[k],
                     found.what);
    }
}

Test(xmc, one_index_far_beyond_all_others_is_noticed)
{
    skn_xmc_odd_t odd = odd_of(POINTS4 "1,9999999 2:1\n" POINTS4, NULL, NULL);
    cr_expect_eq(odd.what, SKN_XMC_ODD_LABEL);
    cr_expect_eq(odd.line, 5u);
    cr_expect_eq(odd.greatest, 9999999u);
    cr_expect_eq(odd.next, 2u);
    odd = odd_of(POINTS4 "1 2:1 77777:1\n", NULL, NULL);
    cr_expect_eq(odd.what, SKN_XMC_ODD_FEATURE);
    cr_expect_eq(odd.line, 5u);
    cr_expect_eq(odd.greatest, 77777u);
    cr_expect_eq(odd.next, 5u);
    /* twice is no slip, and a header knows what it says */
    odd = odd_of(POINTS4 "9999999 2:1\n9999999 1:1\n", NULL, NULL);
    cr_expect_eq(odd.what, SKN_XMC_NOTHING_ODD);
    odd = odd_of("5 9 90000\n" POINTS4 "80000 2:1\n", NULL, NULL);
    cr_expect_eq(odd.what, SKN_XMC_NOTHING_ODD);
}

Test(xmc, what_is_left_out_is_counted_with_its_first_place)
{
    skn_xmc_bounds_t bounds = { .expected_features = 5,
                                .expected_labels = 2,
                                .unknown_ignored = true };
    skn_xmc_sizes_t sizes;
    (void)odd_of("0 1:1\n" POINTS4, &bounds, &sizes);
    cr_expect_eq(sizes.unknown.labels, 2u);
    cr_expect_eq(sizes.unknown.features, 2u);
    cr_expect_eq(sizes.unknown.points, 3u);
    cr_expect_eq(sizes.unknown.bare_points, 1u);
    cr_expect_eq(sizes.unknown.line, 2u);
    cr_expect_eq(sizes.unknown.column, 7u);
    cr_expect_eq(sizes.label_seen, 2u);
    cr_expect_eq(sizes.feature_seen, 5u);
}

Test(xmc, line_ends_may_be_lf_or_crlf_and_the_last_may_be_missing)
{
    expect_file("1 2:3\n4 5:6", "1 2:3|4 5:6|");
    expect_file("2 7 7\r\n1 2:3\r\n4 5:6\r\n", "1 2:3|4 5:6|");
    expect_file("1 2:3\r\n4 5:6\r", "1 2:3|4 5:6|");
    expect_file("\xef\xbb\xbf"
                "1 7 7\n1 2:3\n",
                "1 2:3|");
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
                                           "point, but here is one more");
    EXPECT_FILE_REFUSED("3 5 5\n4\n3\n", "f.txt:1:1: the header says 3 points, "
                                         "but the file ends after 2");
    EXPECT_FILE_REFUSED("1 5 5\n5\n",
                        "f.txt:2:1: label 5 is out of range: "
                        "the header says 5 labels, counted from 0");
    EXPECT_FILE_REFUSED("4294967296 5 5\n",
                        "f.txt:1:1: the header says more than 4294967295 "
                        "points, which is the maximum");
    EXPECT_FILE_REFUSED("1 2147483648 5\n",
                        "f.txt:1:3: the header says more than 2147483647 "
                        "features, which is the maximum");
    EXPECT_FILE_REFUSED("1 1 99999999999999999999\n",
                        "f.txt:1:5: the header says more than 2147483647 "
                        "labels, which is the maximum");
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
    cr_expect_eq(
        read_all(file, SKN_LINE_BYTES_MAX + 4u, got, sizeof(got), NULL, &error),
        SKN_OK, "%s", error.text);
    cr_expect_str_eq(got, "1|2|");
    memcpy(file + SKN_LINE_BYTES_MAX, "  \n2", 4);
    expect_file_refused(file, bytes,
                        "f.txt:1:1: the line is longer than "
                        "33554432 bytes");
    memset(file + 1, ' ', bytes - 1);
    expect_file_refused(file, bytes,
                        "f.txt:1:1: the line is longer than "
                        "33554432 bytes");
    free(file);
}

/* --- packed files ------------------------------------------------------- */

static size_t
gzip_pack(const char *text, unsigned char *packed, size_t room)
{
    z_stream stream = { 0 };
    cr_assert_eq(
        deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
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
        cr_expect_eq(read_all(packed, shorter, got, sizeof(got), NULL, &error),
                     SKN_BAD_DATA);
}

Test(xmc, gzip_is_read_and_a_cut_is_noticed_at_every_byte)
{
    expect_packed(gzip_pack, "f.txt: the gzip data is truncated");
}

Test(xmc, zstd_is_read_and_a_cut_is_noticed_at_every_byte)
{
    expect_packed(zstd_pack, "f.txt: the zstd data is truncated");
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
    expect_file_refused(packed, bytes,
                        "f.txt: the gzip data is damaged: "
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
    enum {
        POINTS = 60000
    };
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
    (void)snprintf(sentence, sizeof(sentence), "%s: no such file", folder.file);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_null(reader);
    cr_expect_eq(skn_xmc_open(folder.path, NULL, &reader, &error),
                 SKN_NO_INPUT);
    (void)snprintf(sentence, sizeof(sentence), "%s: there is no file in it",
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
