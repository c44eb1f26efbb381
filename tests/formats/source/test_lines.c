/* test_lines.c - tests that lines are passed on whole, at once, and none is
 * lost.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/lines.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "skein/limits.h"
#include "tests/support/temp_folder.h"

typedef struct file {
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
} file_t;

static void
file_make(file_t *file, const char *text, size_t bytes)
{
    temp_folder_make(file->folder);
    (void)snprintf(file->path, sizeof(file->path), "%s/f", file->folder);
    FILE *handle = fopen(file->path, "w");
    cr_assert(handle);
    cr_assert_eq(fwrite(text, 1, bytes, handle), bytes);
    (void)fclose(handle);
}

/* The lines of `text`, each in brackets. */
static void
expect_lines(const char *text, const char *want)
{
    file_t file;
    skn_error_t error = { 0 };
    char got[256] = "";
    const char *line = NULL;
    size_t bytes = 0, used = 0;
    bool more = false;
    file_make(&file, text, strlen(text));
    skn_lines_t *lines = skn_lines_open(file.path, &error);
    cr_assert(lines, "%s", error.text);
    cr_expect_str_eq(skn_lines_name(lines), file.path);
    for (uint64_t number = 1;; number++) {
        cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                     SKN_OK);
        if (bytes == SIZE_MAX)
            break;
        cr_expect_eq(skn_lines_number(lines), number);
        used += (size_t)snprintf(got + used, sizeof(got) - used, "[%.*s]",
                                 (int)bytes, line);
    }
    cr_expect_str_eq(got, want, "of '%s': %s", text, got);
    skn_lines_close(&lines);
    temp_folder_remove(file.folder);
}

Test(lines, every_line_comes_once)
{
    expect_lines("", "");
    expect_lines("a", "[a]");
    expect_lines("a\n", "[a]");
    expect_lines("a\nb", "[a][b]");
    expect_lines("\n", "[]");
    expect_lines("\n\na\n\n", "[][][a][]");
    expect_lines("a\r\nb\r\n\r\n", "[a][b][]");
}

Test(lines, a_line_longer_than_the_room_stays_whole)
{
    size_t bytes = 300000;
    char *text = malloc(bytes + 3);
    file_t file;
    skn_error_t error = { 0 };
    const char *line = NULL;
    size_t got = 0;
    bool more;
    memset(text, 'x', bytes);
    memcpy(text + bytes, "\ny\n", 3);
    file_make(&file, text, bytes + 3);
    skn_lines_t *lines = skn_lines_open(file.path, &error);
    cr_assert_eq(skn_lines_next(lines, true, &line, &got, &more, &error),
                 SKN_OK);
    cr_expect_eq(got, bytes);
    cr_expect_eq(memcmp(line, text, bytes), 0);
    cr_assert_eq(skn_lines_next(lines, true, &line, &got, &more, &error),
                 SKN_OK);
    cr_expect_eq(got, 1);
    skn_lines_close(&lines);
    skn_lines_close(&lines);
    free(text);
    temp_folder_remove(file.folder);
}

Test(lines, without_waiting_only_what_is_there_comes)
{
    file_t file;
    skn_error_t error = { 0 };
    const char *line = NULL;
    size_t bytes = 0;
    bool more = false;
    file_make(&file, "a\nb", 3);
    skn_lines_t *lines = skn_lines_open(file.path, &error);
    cr_assert_eq(skn_lines_next(lines, false, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(more && bytes == SIZE_MAX); /* nothing was read yet */
    cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(!more && bytes == 1 && *line == 'a');
    cr_assert_eq(skn_lines_next(lines, false, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(more); /* b has no line end yet */
    cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(!more && bytes == 1 && *line == 'b');
    cr_assert_eq(skn_lines_next(lines, false, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(!more && bytes == SIZE_MAX); /* the end is known */
    skn_lines_close(&lines);
    temp_folder_remove(file.folder);
}

Test(lines, a_missing_file_is_reported)
{
    skn_error_t error = { 0 };
    cr_expect_null(skn_lines_open("/nowhere/f", &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "/nowhere/f: no such file");
}

Test(lines, several_files_come_one_after_the_other)
{
    file_t one, other;
    skn_error_t error = { 0 };
    char source[2 * TEMP_FOLDER_BYTES + 32];
    const char *line = NULL;
    size_t bytes = 0;
    bool more = false;
    file_make(&one, "a\nb", 3);
    file_make(&other, "c\n", 2);
    (void)snprintf(source, sizeof(source), "%s\n%s", one.path, other.path);
    skn_lines_t *lines = skn_lines_open(source, &error);
    cr_assert(lines, "%s", error.text);
    const char *const wanted[] = { "a", "b", NULL, "c", NULL };
    for (size_t k = 0; k < 5; k++) {
        cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                     SKN_OK);
        bool is_second = k > 2;
        cr_expect_eq(skn_lines_file(lines), is_second);
        cr_expect_str_eq(skn_lines_name(lines),
                         is_second ? other.path : one.path);
        cr_expect_eq(bytes, wanted[k] ? 1 : SIZE_MAX);
        if (wanted[k]) {
            cr_expect_eq(line[0], wanted[k][0]);
            cr_expect_eq(skn_lines_number(lines), is_second ? 1 : k + 1);
            continue;
        }
        cr_assert_eq(skn_lines_next_file(lines, &more, &error), SKN_OK);
        cr_expect_eq(more, !is_second);
    }
    cr_expect_eq(skn_lines_source_bytes(lines), 5u);
    skn_lines_close(&lines);
    temp_folder_remove(one.folder);
    temp_folder_remove(other.folder);
}

/* --- limits -------------------------------------------------------------- */

/* A first line of `bytes` letters, with or without its end, and a second. */
static skn_status_t
read_long(size_t bytes, const char *rest, skn_error_t *error)
{
    file_t file;
    const char *line = NULL;
    size_t got = 0, rest_bytes = strlen(rest);
    bool more = false;
    char *text = malloc(bytes + rest_bytes);
    cr_assert(text);
    memset(text, 'x', bytes);
    memcpy(text + bytes, rest, rest_bytes);
    file_make(&file, text, bytes + rest_bytes);
    skn_lines_t *lines = skn_lines_open(file.path, error);
    cr_assert(lines);
    skn_status_t status =
        skn_lines_next(lines, true, &line, &got, &more, error);
    cr_expect_eq(got, bytes);
    if (bytes <= SKN_LINE_BYTES_MAX)
        cr_expect_eq(memcmp(line, text, bytes), 0);
    else
        cr_expect_null(line);
    if (rest_bytes > 1) { /* the next line is as it was */
        cr_expect_eq(skn_lines_next(lines, true, &line, &got, &more, error),
                     SKN_OK);
        cr_expect_eq(got, 1);
        cr_expect_eq(skn_lines_number(lines), 2);
    }
    skn_lines_close(&lines);
    free(text);
    temp_folder_remove(file.folder);
    return status;
}

Test(lines, the_longest_line_is_taken_and_one_byte_more_is_passed_over)
{
    static const char *const rests[] = { "", "\n", "\ny\n" };
    skn_error_t error = { 0 };
    for (size_t k = 0; k < 3; k++) {
        cr_expect_eq(read_long(SKN_LINE_BYTES_MAX, rests[k], &error), SKN_OK,
                     "%s", error.text);
        cr_expect_eq(read_long(SKN_LINE_BYTES_MAX + 1, rests[k], &error),
                     SKN_OK);
    }
    cr_expect_eq(read_long(2 * (size_t)SKN_LINE_BYTES_MAX + 1, "\nz", &error),
                 SKN_OK);
}

/* Lines of every length around the room that lines.c begins with. */
Test(lines, lines_that_end_where_the_room_ends_stay_whole)
{
    skn_error_t error = { 0 };
    for (size_t bytes = 65533; bytes <= 65538; bytes++) {
        cr_expect_eq(read_long(bytes, "", &error), SKN_OK);
        cr_expect_eq(read_long(bytes, "\n", &error), SKN_OK);
        cr_expect_eq(read_long(bytes, "\nz", &error), SKN_OK);
    }
}

/* Only the last \r of a line belongs to its end; a NUL is a letter. */
Test(lines, carriage_returns_are_letters_elsewhere)
{
    expect_lines("a\rb\n", "[a\rb]");
    expect_lines("a\r\r\n", "[a\r]");
    expect_lines("\r", "[]");
    expect_lines("\r\n\r\n", "[][]");
    expect_lines("\na\r", "[][a]");
}

Test(lines, a_packed_file_is_unpacked)
{
    file_t file;
    skn_error_t error = { 0 };
    const char *line = NULL;
    size_t bytes = 0;
    bool more = false;
    file_make(&file, "", 0);
    gzFile packed = gzopen(file.path, "w");
    cr_assert(packed && gzputs(packed, "one\ntwo") == 7);
    cr_assert_eq(gzclose(packed), Z_OK);
    skn_lines_t *lines = skn_lines_open(file.path, &error);
    cr_assert(lines, "%s", error.text);
    cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(bytes == 3 && memcmp(line, "one", 3) == 0);
    cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(bytes == 3 && memcmp(line, "two", 3) == 0);
    cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect_eq(bytes, SIZE_MAX);
    skn_lines_close(&lines);
    temp_folder_remove(file.folder);
}

/* --- a pipe -------------------------------------------------------------- */

typedef struct talker {
    int descriptor;
    pthread_t listener; /* is interrupted before each piece */
    size_t piece_bytes;
    const char *text;
} talker_t;

static void
on_signal(int number)
{
    (void)number;
}

static void *
talk(void *opaque)
{
    talker_t *talker = opaque;
    size_t left = strlen(talker->text);
    for (const char *at = talker->text; left > 0;) {
        size_t bytes = left < talker->piece_bytes ? left : talker->piece_bytes;
        (void)pthread_kill(talker->listener, SIGUSR1);
        if (write(talker->descriptor, at, bytes) != (ssize_t)bytes)
            break;
        at += bytes;
        left -= bytes;
    }
    (void)close(talker->descriptor);
    return NULL;
}

/* The lines of a text that comes through standard input in pieces, while
 * signals interrupt. */
static void
expect_piped(const char *text, size_t piece_bytes, const char *want)
{
    int ends[2];
    pthread_t thread;
    skn_error_t error = { 0 };
    char got[256] = "";
    const char *line = NULL;
    size_t bytes = 0, used = 0;
    bool more = false;
    struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART */
    cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    talker_t talker = { ends[1], pthread_self(), piece_bytes, text };
    cr_assert_eq(pthread_create(&thread, NULL, talk, &talker), 0);
    skn_lines_t *lines = skn_lines_open("-", &error); /* waits for a byte */
    cr_assert(lines, "%s", error.text);
    cr_expect_str_eq(skn_lines_name(lines), "stdin");
    for (;;) {
        cr_assert_eq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                     SKN_OK, "%s", error.text);
        if (bytes == SIZE_MAX)
            break;
        used += (size_t)snprintf(got + used, sizeof(got) - used, "[%.*s]",
                                 (int)bytes, line);
    }
    cr_expect_str_eq(got, want, "in pieces of %zu: %s", piece_bytes, got);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    skn_lines_close(&lines);
    (void)close(ends[0]);
}

Test(lines, a_pipe_gives_its_lines_in_pieces_of_any_size, .timeout = 30)
{
    static const char text[] = "first\r\n\nthird line\nlast";
    for (size_t piece = 1; piece <= sizeof(text); piece++)
        expect_piped(text, piece, "[first][][third line][last]");
    expect_piped("", 1, "");
    expect_piped("\n", 1, "[]");
}

Test(lines, a_folder_is_no_input)
{
    char folder[TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    const char *line = NULL;
    size_t bytes = 0;
    bool more = false;
    temp_folder_make(folder);
    skn_lines_t *lines = skn_lines_open(folder, &error);
    if (lines)
        cr_expect_neq(skn_lines_next(lines, true, &line, &bytes, &more, &error),
                      SKN_OK);
    cr_expect_neq(error.status, SKN_OK);
    cr_expect(strstr(error.text, folder), "%s", error.text);
    skn_lines_close(&lines);
    temp_folder_remove(folder);
}
