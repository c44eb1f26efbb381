/* test_point_reader.c - tests points, refused lines, comments and warnings that
 * a reader makes of text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/points.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "skein/limits.h"
#include "tests/support/temp_folder.h"

static skn_error_t error;

static skn_point_reader_t *
open_text(const char *text, uint32_t features, bool strict)
{
    const skn_point_reader_options_t options = {
        .struct_bytes = sizeof(options),
        .feature_count = features,
        .label_count = 7,
        .strict = strict,
    };
    skn_point_reader_t *reader =
        skn_point_reader_open_text(text, strlen(text), "it", &options, &error);
    cr_assert(reader, "%s", error.text);
    return reader;
}

/* Appends what was read to `got`: "3:{1,2} 0=1 5=0.5" is line 3 with labels 1
 * and 2. */
static void
write_points(const skn_read_t *read, char *got, size_t bytes)
{
    const skn_points_t *points = &read->points;
    for (size_t i = 0; i < points->count; i++) {
        size_t used = strlen(got);
        used += (size_t)snprintf(got + used, bytes - used, "%u:{",
                                 (unsigned)read->line[i]);
        for (size_t k = read->label_offset[i]; k < read->label_offset[i + 1];
             k++)
            used += (size_t)snprintf(got + used, bytes - used, "%u,",
                                     read->label[k]);
        used += (size_t)snprintf(got + used, bytes - used, "}");
        for (size_t k = points->offset[i]; k < points->offset[i + 1]; k++)
            used +=
                (size_t)snprintf(got + used, bytes - used, " %u=%g",
                                 points->feature[k], (double)points->value[k]);
        (void)snprintf(got + used, bytes - used, ";");
    }
}

/* All that is read of a text, with "c", "h", "r" and the line for a comment, a
 * header and a refused line, and "w" for a warning. */
static void
expect(const char *text, uint32_t features, bool strict, const char *want)
{
    char got[1024] = "";
    const skn_read_t *read;
    skn_point_reader_t *reader = open_text(text, features, strict);
    while ((read = skn_point_reader_next(reader, &error)) &&
           read->kind != SKN_READ_END) {
        size_t used = strlen(got);
        cr_expect_str_eq(read->name, "it");
        cr_expect_eq(read->struct_bytes, sizeof(*read));
        cr_expect_eq(read->kind == SKN_READ_POINTS, read->points.count > 0);
        cr_expect_eq(read->kind == SKN_READ_REFUSED, read->refusal != NULL);
        if (read->kind != SKN_READ_POINTS)
            (void)snprintf(got + used, sizeof(got) - used, "%c%" PRIu64 ";",
                           "?.rch"[read->kind], read -> line[0]);
        if (read->warning)
            (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "w;");
        write_points(read, got, sizeof(got));
    }
    cr_assert(read, "%s", error.text);
    cr_expect_str_eq(got, want, "%s: %s", text, got);
    cr_expect_eq(skn_point_reader_next(reader, &error)->kind, SKN_READ_END);
    skn_point_reader_close(&reader);
    cr_expect_null(reader);
}

Test(point_reader, points_have_labels_and_features)
{
    expect("", 9, false, "");
    expect("3,1 0:0.5 4:2\n", 9, false, "1:{1,3,} 0=0.5 4=2;");
    expect("0:1\n 1:1\n2 3:1", 9, false, "1:{} 0=1;2:{} 1=1;3:{2,} 3=1;");
    expect("\n", 9, false, "1:{};");
    expect("\xef\xbb\xbf"
           "1 2:3\r\n",
           9, false, "1:{1,} 2=3;");
}

Test(point_reader, comments_at_the_top_are_skipped_and_later_ones_are_not)
{
    expect("# a\n# b\n1 2:3\n# c\n1 2:3\n", 9, false,
           "3:{1,} 2=3;c4;5:{1,} 2=3;");
}

Test(point_reader, a_header_is_doubted_unless_it_has_the_sizes_of_the_model)
{
    expect("5 9 7\n1 2:3\n", 9, false, "h1;2:{1,} 2=3;");
    expect("# a\n5 9 8\n", 9, false, "h2;w;");
    expect("5 9 8\n", 0, false, "h1;");
    expect("1 2:3\n5 9 8\n", 9, false, "w;1:{1,} 2=3;2:{5,} 8=1;");
}

Test(point_reader, a_label_that_may_be_a_feature_is_doubted_once)
{
    expect("1 2\n3 4\n", 9, false, "w;1:{1,} 2=1;2:{3,} 4=1;");
    expect("1,2 3\n5\n", 9, false, "1:{1,2,} 3=1;2:{5,};");
}

Test(point_reader, a_refused_line_comes_after_the_points_before_it)
{
    expect("1 2:3\n1 2:x\n4:1\n", 9, false, "1:{1,} 2=3;r2;3:{} 4=1;");
    skn_point_reader_t *reader = open_text("1 2:x", 9, false);
    const skn_read_t *read = skn_point_reader_next(reader, &error);
    cr_assert(read && read->refusal);
    cr_expect_eq(read->refusal->status, SKN_BAD_DATA);
    cr_expect_eq(strncmp(read->refusal->text, "it:1:", 5), 0, "%s",
                 read->refusal->text);
    skn_point_reader_close(&reader);
}

Test(point_reader, unknown_features_are_left_out_and_counted_or_refused)
{
    static const char text[] = "0:1 9:1\n8:1\n9:1 10:1 11:1\n";
    expect(text, 9, false, "1:{} 0=1;2:{} 8=1;3:{};");
    expect(text, 9, true, "r1;2:{} 8=1;r3;");
    expect(text, 0, false, "1:{} 0=1 9=1;2:{} 8=1;3:{} 9=1 10=1 11=1;");
    skn_point_reader_t *reader = open_text(text, 9, false);
    const skn_read_t *read = skn_point_reader_next(reader, &error);
    cr_assert(read);
    cr_expect(read->unknown_features == 4 && read->unknown_points == 2);
    cr_expect(read->unknown_line == 1 && read->unknown_column == 5);
    cr_expect_eq(read->line_count, 3u);
    skn_point_reader_close(&reader);
}

Test(point_reader, a_line_that_is_too_long_is_refused_and_passed_over)
{
    char *text = malloc(SKN_LINE_BYTES_MAX + 8u);
    cr_assert(text);
    memset(text, '1', SKN_LINE_BYTES_MAX + 1u);
    (void)snprintf(text + SKN_LINE_BYTES_MAX + 1u, 7, "\n1:1\n");
    expect(text, 9, false, "r1;2:{} 1=1;");
    free(text);
}

Test(point_reader, many_points_come_in_parts)
{
    char text[4 * (SKN_READ_POINTS_MAX + 2)] = "";
    for (uint32_t i = 0; i <= SKN_READ_POINTS_MAX; i++)
        memcpy(text + (size_t)4 * i, "2:1\n", 4);
    skn_point_reader_t *reader = open_text(text, 9, false);
    const skn_read_t *read = skn_point_reader_next(reader, &error);
    cr_assert(read && read->points.count == SKN_READ_POINTS_MAX);
    read = skn_point_reader_next(reader, &error);
    cr_assert(read && read->points.count == 1);
    cr_expect(read->points.offset[0] == 0 && read->points.offset[1] == 1);
    cr_expect_eq(read->line[0], SKN_READ_POINTS_MAX + 1u);
    skn_point_reader_close(&reader);
}

/* Sends the second line only after the first has been returned. */
Test(point_reader, a_line_in_a_pipe_is_returned_before_the_next_has_come,
     .timeout = 30)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    cr_assert_eq(write(ends[1], "1 2:3\n", 6), 6);
    skn_point_reader_t *reader = skn_point_reader_open("-", NULL, &error);
    cr_assert(reader, "%s", error.text);
    const skn_read_t *read = skn_point_reader_next(reader, &error);
    cr_assert(read && read->points.count == 1 && read->line[0] == 1);
    cr_expect_str_eq(read->name, "stdin");
    cr_assert_eq(write(ends[1], "# c\n", 4), 4);
    read = skn_point_reader_next(reader, &error);
    cr_assert(read && read->kind == SKN_READ_COMMENT && read->line[0] == 2);
    (void)close(ends[1]);
    read = skn_point_reader_next(reader, &error);
    cr_assert(read && read->kind == SKN_READ_END);
    skn_point_reader_close(&reader);
    (void)close(ends[0]);
}

Test(point_reader, a_damaged_file_fails_after_its_points_and_stays_failed)
{
    /* A gzip member of stored bytes that breaks off. */
    static const char packed[] = "\x1f\x8b\x08\0\0\0\0\0\0\3\1\x10\0\xef\xff"
                                 "1 2:3\n";
    char path[32];
    int file = memfd_create("packed", MFD_CLOEXEC);
    ssize_t bytes = (ssize_t)sizeof(packed) - 1;
    cr_assert_eq(write(file, packed, sizeof(packed) - 1), bytes);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    skn_point_reader_t *reader = skn_point_reader_open(path, NULL, &error);
    cr_assert(reader, "%s", error.text);
    const skn_read_t *read = skn_point_reader_next(reader, &error);
    if (read)
        cr_expect_eq(read->points.count, 1u);
    if (read)
        read = skn_point_reader_next(reader, &error);
    cr_expect_null(read);
    cr_expect_eq(error.status, SKN_BAD_DATA, "%s", error.text);
    cr_expect_eq(strncmp(error.text, path, strlen(path)), 0, "%s", error.text);
    cr_expect_null(skn_point_reader_next(reader, NULL));
    skn_point_reader_close(&reader);
    (void)close(file);
}

/* It may hold millions of points, and come from anywhere. */
Test(point_reader, the_path_may_go_once_the_reader_is_open)
{
    char folder[TEMP_FOLDER_BYTES], *path;
    temp_folder_make(folder);
    cr_assert_neq(asprintf(&path, "%s/name", folder), -1);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs("1 x:y\n", file);
    (void)fclose(file);
    skn_point_reader_t *reader = skn_point_reader_open(path, NULL, &error);
    cr_assert(reader, "%s", error.text);
    memset(path, '?', strlen(path));
    free(path);
    const skn_read_t *read = skn_point_reader_next(reader, &error);
    cr_assert_not_null(read);
    cr_expect_eq(read->kind, SKN_READ_REFUSED);
    cr_expect(strstr(read->refusal->text, "/name:1:"), "%s",
              read->refusal->text);
    skn_point_reader_close(&reader);
    temp_folder_remove(folder);
}

Test(point_reader, a_packed_request_is_refused)
{
    static const char gzip[] = "\x1f\x8b\x08\0", zstd[] = "\x28\xb5\x2f\xfd";
    cr_expect_null(skn_point_reader_open_text(gzip, 4, NULL, NULL, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "text: is packed, and only a file is unpacked");
    cr_expect_null(skn_point_reader_open_text(zstd, 4, "r", NULL, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
}

Test(point_reader, what_cannot_be_read_is_refused)
{
    skn_point_reader_options_t options = { .struct_bytes = 4 };
    cr_expect_null(skn_point_reader_open("/nowhere/f", NULL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    cr_expect_null(skn_point_reader_open("-", &options, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect(strstr(error.text, "struct_bytes of the reader's options is 4"));
}
