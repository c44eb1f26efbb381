/* test_lines.c - lines come out whole, at once, and none is lost.
 *
 * Covers cli/names.c too.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/lines.h"

#include <string.h>

#include "cli/names.h"
#include "tests/temp_folder.h"

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
    cli_lines_t *lines = cli_lines_open(file.path, &error);
    cr_assert(lines, "%s", error.text);
    cr_expect_str_eq(cli_lines_name(lines), file.path);
    for (uint64_t number = 1;; number++) {
        cr_assert_eq(cli_lines_next(lines, true, &line, &bytes, &more, &error),
                     SKN_OK);
        if (bytes == SIZE_MAX)
            break;
        cr_expect_eq(cli_lines_number(lines), number);
        used += (size_t)snprintf(got + used, sizeof(got) - used, "[%.*s]",
                                 (int)bytes, line);
    }
    cr_expect_str_eq(got, want, "of '%s': %s", text, got);
    cli_lines_close(&lines);
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
    cli_lines_t *lines = cli_lines_open(file.path, &error);
    cr_assert_eq(cli_lines_next(lines, true, &line, &got, &more, &error),
                 SKN_OK);
    cr_expect_eq(got, bytes);
    cr_expect_eq(memcmp(line, text, bytes), 0);
    cr_assert_eq(cli_lines_next(lines, true, &line, &got, &more, &error),
                 SKN_OK);
    cr_expect_eq(got, 1);
    cli_lines_close(&lines);
    cli_lines_close(&lines);
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
    cli_lines_t *lines = cli_lines_open(file.path, &error);
    cr_assert_eq(cli_lines_next(lines, false, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(more && bytes == SIZE_MAX); /* nothing was read yet */
    cr_assert_eq(cli_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(!more && bytes == 1 && *line == 'a');
    cr_assert_eq(cli_lines_next(lines, false, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(more); /* b has no line end yet */
    cr_assert_eq(cli_lines_next(lines, true, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(!more && bytes == 1 && *line == 'b');
    cr_assert_eq(cli_lines_next(lines, false, &line, &bytes, &more, &error),
                 SKN_OK);
    cr_expect(!more && bytes == SIZE_MAX); /* the end is known */
    cli_lines_close(&lines);
    temp_folder_remove(file.folder);
}

Test(lines, a_missing_file_is_told)
{
    skn_error_t error = { 0 };
    cr_expect_null(cli_lines_open("/nowhere/f", &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "/nowhere/f: there is no such file");
}

Test(lines, names_are_read_in_their_order)
{
    file_t file;
    skn_error_t error = { 0 };
    cli_names_t names = { 0 };
    file_make(&file, "one\ntwo words\n\nlast", 19);
    cr_assert_eq(cli_names_read(&names, file.path, &error), SKN_OK);
    cr_assert_eq(names.count, 4);
    cr_expect_str_eq(names.name[0], "one");
    cr_expect_str_eq(names.name[1], "two words");
    cr_expect_str_eq(names.name[2], "");
    cr_expect_str_eq(names.name[3], "last");
    cli_names_fini(&names);
    cr_expect_eq(names.count, 0);
    cr_expect_eq(cli_names_read(&names, "/nowhere", NULL), SKN_NO_INPUT);
    temp_folder_remove(file.folder);
}
