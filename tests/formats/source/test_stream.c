/* test_stream.c - tests the reading of files as one stream of bytes
 * (formats/source/stream.c); compressed text is tested in test_xmc.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/stream.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/data_folder.h"

/* Reads to the end in pieces of `step` bytes. */
static size_t
read_all(skn_stream_t *stream, char *room, size_t room_bytes, size_t step)
{
    size_t used = 0, got = 1;
    skn_error_t error = { 0 };
    while (got > 0) {
        size_t now = room_bytes - used < step ? room_bytes - used : step;
        cr_assert_gt(now, 0u);
        cr_assert_eq(skn_stream_read(stream, room + used, now, &got, &error),
                     SKN_OK, "%s", error.text);
        used += got;
    }
    return used;
}

Test(stream, text_comes_out_the_same_in_steps_of_any_size)
{
    char room[512];
    size_t bytes = strlen(sample_text);
    for (size_t step = 1; step <= bytes + 1; step++) {
        skn_stream_t *stream;
        cr_assert_eq(
            skn_stream_open_memory("m", sample_text, bytes, &stream, NULL),
            SKN_OK);
        cr_expect_eq(read_all(stream, room, sizeof(room), step), bytes);
        cr_expect_eq(memcmp(room, sample_text, bytes), 0);
        cr_expect_eq(skn_stream_hash(stream), XXH3_64bits(sample_text, bytes));
        cr_expect_eq(skn_stream_source_bytes(stream), bytes);
        skn_stream_close(&stream);
        cr_expect_null(stream);
    }
}

Test(stream, packed_text_comes_out_the_same_in_steps_of_any_size)
{
    char room[512], packed[512];
    size_t bytes = strlen(sample_text);
    size_t packed_bytes =
        ZSTD_compress(packed, sizeof(packed), sample_text, bytes, 3);
    cr_assert(!ZSTD_isError(packed_bytes));
    for (size_t step = 1; step <= bytes + 1; step++) {
        skn_stream_t *stream;
        cr_assert_eq(
            skn_stream_open_memory("m", packed, packed_bytes, &stream, NULL),
            SKN_OK);
        cr_expect_eq(read_all(stream, room, sizeof(room), step), bytes);
        cr_expect_eq(memcmp(room, sample_text, bytes), 0);
        cr_expect_eq(skn_stream_hash(stream), XXH3_64bits(sample_text, bytes));
        skn_stream_close(&stream);
    }
}

/* What `member` is, and then a second one, with `padding` zeros behind each. */
static void
expect_padded(const char *member, size_t member_bytes, const char *text,
              size_t padding)
{
    size_t text_bytes = strlen(text), bytes = 2 * (member_bytes + padding);
    char *file = calloc(1, bytes), room[1024];
    cr_assert(file);
    memcpy(file, member, member_bytes);
    memcpy(file + member_bytes + padding, member, member_bytes);
    for (int twice = 0; twice < 2; twice++) {
        skn_stream_t *stream;
        skn_error_t error = { 0 };
        cr_assert_eq(skn_stream_open_memory(
                         "m", file, twice ? bytes : bytes / 2, &stream, &error),
                     SKN_OK, "%s", error.text);
        cr_expect_eq(read_all(stream, room, sizeof(room), 7),
                     text_bytes * (size_t)(1 + twice));
        cr_expect_eq(
            memcmp(room + text_bytes * (size_t)twice, text, text_bytes), 0);
        skn_stream_close(&stream);
    }
    free(file);
}

Test(stream, zeros_between_and_behind_members_and_frames_are_padding)
{
    char gzip[512], zstd[512], skipped[512] = "\x5a\x2a\x4d\x18\3\0\0\0abc";
    z_stream deflating = { 0 };
    cr_assert_eq(
        deflateInit2(&deflating, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
    deflating.next_in = (Bytef *)(uintptr_t)sample_text;
    deflating.avail_in = (uInt)strlen(sample_text);
    deflating.next_out = (Bytef *)gzip;
    deflating.avail_out = sizeof(gzip);
    cr_assert_eq(deflate(&deflating, Z_FINISH), Z_STREAM_END);
    size_t gzip_bytes = sizeof(gzip) - deflating.avail_out;
    (void)deflateEnd(&deflating);
    size_t zstd_bytes =
        ZSTD_compress(zstd, sizeof(zstd), sample_text, strlen(sample_text), 3);
    cr_assert(!ZSTD_isError(zstd_bytes));
    memcpy(skipped + 11, zstd, zstd_bytes); /* a frame to skip, then this */
    for (size_t padding = 0; padding < 3000; padding += 1 + padding * 7) {
        expect_padded(gzip, gzip_bytes, sample_text, padding);
        expect_padded(zstd, zstd_bytes, sample_text, padding);
        expect_padded(skipped, zstd_bytes + 11, sample_text, padding);
    }
}

/* A block device or a tape pads with more than the reader has in memory. */
Test(stream, padding_longer_than_the_buffer_is_read_over)
{
    folder_t folder;
    char zstd[512], room[512];
    folder_make(&folder);
    int fd = open(folder.file, O_WRONLY | O_CREAT, 0600);
    size_t bytes =
        ZSTD_compress(zstd, sizeof(zstd), sample_text, strlen(sample_text), 3);
    cr_assert_eq(write(fd, zstd, bytes), (ssize_t)bytes);
    cr_assert_eq(ftruncate(fd, 1 << 20), 0);
    (void)close(fd);
    skn_stream_t *stream;
    cr_assert_eq(skn_stream_open(folder.file, &stream, NULL), SKN_OK);
    cr_expect_eq(read_all(stream, room, sizeof(room), 500),
                 strlen(sample_text));
    skn_stream_close(&stream);
    folder_remove(folder.path);
}

/* Who asks one question at a time gets an answer to an empty first line. */
Test(stream, one_byte_of_a_pipe_is_given_at_once)
{
    static const char starts[] = { '\n', '0', '#', ' ' };
    for (size_t k = 0; k < sizeof(starts); k++) {
        int ends[2];
        char path[64], got[8];
        size_t bytes = 0;
        cr_assert_eq(pipe(ends), 0);
        cr_assert_eq(write(ends[1], &starts[k], 1), 1);
        (void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
        skn_stream_t *stream;
        cr_assert_eq(skn_stream_open(path, &stream, NULL), SKN_OK);
        cr_expect_eq(skn_stream_read(stream, got, sizeof(got), &bytes, NULL),
                     SKN_OK);
        cr_expect_eq(bytes, 1u);
        skn_stream_close(&stream);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

/* The magic number must be found although it comes in four pieces. */
Test(stream, a_slow_pipe_is_unpacked_too)
{
    folder_t folder;
    char room[512], packed[512];
    size_t bytes = strlen(sample_text);
    size_t packed_bytes =
        ZSTD_compress(packed, sizeof(packed), sample_text, bytes, 3);
    folder_make(&folder);
    cr_assert_eq(mkfifo(folder.file, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open(folder.file, O_WRONLY);
        for (size_t at = 0; at < packed_bytes; at++)
            if (write(fd, packed + at, 1) != 1)
                _exit(1);
        _exit(0);
    }
    skn_stream_t *stream;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_stream_open(folder.file, &stream, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(read_all(stream, room, sizeof(room), 7), bytes);
    cr_expect_eq(memcmp(room, sample_text, bytes), 0);
    skn_stream_close(&stream);
    int code;
    cr_assert_eq(waitpid(writer, &code, 0), writer);
    cr_expect_eq(code, 0);
    folder_remove(folder.path);
}

Test(stream, files_longer_than_the_buffer_are_read_whole)
{
    enum {
        BYTES = 700001
    };
    folder_t folder;
    char *bytes = malloc(BYTES), *room = malloc(BYTES + 1);
    folder_make(&folder);
    for (size_t k = 0; k < BYTES; k++)
        bytes[k] = (char)('a' + k % 23);
    file_write(folder.file, bytes, BYTES);
    skn_stream_t *stream;
    cr_assert_eq(skn_stream_open(folder.file, &stream, NULL), SKN_OK);
    cr_expect_eq(read_all(stream, room, BYTES + 1, 100003), (size_t)BYTES);
    cr_expect_eq(memcmp(bytes, room, BYTES), 0);
    skn_stream_close(&stream);
    folder_remove(folder.path);
    free(bytes);
    free(room);
}

Test(stream, what_cannot_be_opened_or_read_is_reported)
{
    folder_t folder;
    char path[400], sentence[512];
    skn_error_t error = { 0 };
    skn_stream_t *stream;
    folder_make(&folder);
    text_write(folder.file, "1\n");
    (void)snprintf(path, sizeof(path), "%s/below", folder.file);
    cr_expect_eq(skn_stream_open(path, &stream, &error), SKN_NO_INPUT);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: cannot be opened: Not a directory", path);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_null(stream);
    /* Nothing is mapped at address 0, so that reading there fails. */
    cr_expect_eq(skn_stream_open("/proc/self/mem", &stream, &error),
                 SKN_STORAGE);
    cr_expect_str_eq(error.text,
                     "/proc/self/mem: cannot be read: Input/output error");
    cr_expect_null(stream);
    folder_remove(folder.path);
}

Test(stream, the_tail_of_a_long_name_is_shown)
{
    char name[300];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    cr_expect_eq(skn_stream_name_shown(name), name + 299 - 240);
    cr_expect_eq(skn_stream_name_shown(name + 59), name + 59);
    cr_expect_eq(skn_stream_name_shown(name + 298), name + 298);
}

Test(stream, a_message_is_one_line_whatever_the_path_has)
{
    skn_stream_t *stream;
    skn_error_t error = { 0 };
    char longest[SKN_ERROR_TEXT_BYTES + 100];
    cr_expect_eq(skn_stream_open("a\nb\t\r\x1b[2J\x7f", &stream, &error),
                 SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "a\\nb\\t\\r\\x1b[2J\\x7f: no such file");
    cr_expect_eq(skn_stream_open("", &stream, &error), SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "\"\": no such file");
    /* What does not fit is cut, not written beyond the end. */
    for (size_t bytes = 500; bytes < 520; bytes++) {
        memset(longest, '\n', bytes);
        longest[bytes] = '\0';
        (void)skn_fail(&error, SKN_USAGE, "%s", longest);
        cr_expect_lt(strlen(error.text), sizeof(error.text));
        cr_expect_null(strchr(error.text, '\n'));
    }
}
