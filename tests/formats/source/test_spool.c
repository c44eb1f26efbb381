/* test_spool.c - tests that a stream is kept in a file, and the same one once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/spool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

/* Keeps `text`, of which `read_bytes` bytes were read already. For free(). */
static char *
keep(char *text, size_t read_bytes)
{
    skn_error_t error = { 0 };
    char *path = NULL;
    FILE *rest = fmemopen(text, strlen(text), "r");
    cr_assert_eq(fseek(rest, (long)read_bytes, SEEK_SET), 0);
    cr_assert_eq(skn_spool(text, read_bytes, rest, &path, &error), SKN_OK, "%s",
                 error.text);
    (void)fclose(rest);
    return path;
}

Test(spool, the_same_bytes_are_kept_once)
{
    char folder[TEMP_FOLDER_BYTES], got[32] = "";
    struct stat first, second;
    temp_folder_make(folder);
    cr_assert_eq(setenv("XDG_CACHE_HOME", folder, 1), 0);
    char text[] = "a,b\n1,2\n", other[] = "a,b\n1,3\n";
    char *path = keep(text, 3), *again = keep(text, 5);
    FILE *file = fopen(path, "r");
    cr_assert(file);
    cr_expect_eq(fread(got, 1, sizeof(got), file), strlen(text));
    (void)fclose(file);
    cr_expect_str_eq(got, text);
    cr_expect_str_eq(path, again);
    cr_assert_eq(stat(path, &first), 0);
    char *different = keep(other, 0);
    cr_expect_str_neq(path, different);
    free(again);
    again = keep(text, 0);
    cr_assert_eq(stat(again, &second), 0);
    cr_expect_eq(first.st_ino, second.st_ino);
    free(path);
    free(again);
    free(different);
    temp_folder_remove(folder);
}

Test(spool, without_a_folder_of_the_user_it_is_in_that_for_temporary_files)
{
    char folder[TEMP_FOLDER_BYTES];
    temp_folder_make(folder);
    cr_assert_eq(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
    cr_assert_eq(setenv("TMPDIR", folder, 1), 0);
    char text[] = "a\n";
    char *path = keep(text, 0);
    cr_expect_eq(strncmp(path, folder, strlen(folder)), 0);
    free(path);
    cr_assert_eq(setenv("TMPDIR", "/dev/null", 1), 0);
    skn_error_t error = { 0 };
    FILE *rest = fmemopen(text, strlen(text), "r");
    cr_expect_neq(skn_spool(text, 0, rest, &path, &error), SKN_OK);
    cr_expect(strstr(error.text, "/dev/null: standard input cannot be kept"));
    cr_expect_null(path);
    (void)fclose(rest);
    temp_folder_remove(folder);
}
