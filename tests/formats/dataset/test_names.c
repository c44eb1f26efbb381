/* test_names.c - tests files of names, one a line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/points.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "skein/limits.h"
#include "tests/support/temp_folder.h"

static skn_error_t error;

/* Writes the text to a file, plain or packed, and reads it as names. */
static skn_names_t *
read_names(const char *text, size_t bytes, bool packed)
{
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/names", folder);
    gzFile file = gzopen(path, packed ? "w" : "wT");
    cr_assert(file);
    cr_assert(bytes == 0 || gzwrite(file, text, (unsigned)bytes) == (int)bytes);
    cr_assert_eq(gzclose(file), Z_OK);
    skn_names_t *names = skn_names_open(path, &error);
    temp_folder_remove(folder);
    return names;
}

Test(names, are_in_the_order_of_the_file)
{
    static const char text[] = "\xef\xbb\xbfone\r\ntwo words\n\nlast";
    for (int packed = 0; packed < 2; packed++) {
        skn_names_t *names = read_names(text, sizeof(text) - 1, packed);
        cr_assert(names, "%s", error.text);
        cr_assert_eq(names->count, 4u);
        cr_expect_str_eq(names->name[0], "one");
        cr_expect_str_eq(names->name[1], "two words");
        cr_expect_str_eq(names->name[2], "");
        cr_expect_str_eq(names->name[3], "last");
        skn_names_close(&names);
        cr_expect_null(names);
    }
}

Test(names, of_an_empty_file_are_none)
{
    skn_names_t *names = read_names("", 0, false);
    cr_assert(names, "%s", error.text);
    cr_expect_eq(names->count, 0u);
    skn_names_close(&names);
}

Test(names, are_as_many_as_lines)
{
    char *text = malloc((size_t)8 * 5000 + 1), want[16];
    cr_assert(text);
    for (size_t k = 0; k < 5000; k++)
        (void)snprintf(text + 8 * k, 9, "%07zu\n", k);
    skn_names_t *names = read_names(text, (size_t)8 * 5000, false);
    cr_assert(names && names->count == 5000, "%s", error.text);
    for (size_t k = 0; k < 5000; k++) {
        (void)snprintf(want, sizeof(want), "%07zu", k);
        cr_expect_str_eq(names->name[k], want);
    }
    skn_names_close(&names);
    free(text);
}

Test(names, too_long_ones_and_missing_files_are_refused)
{
    size_t bytes = SKN_LINE_BYTES_MAX + 1u;
    char *text = malloc(bytes);
    cr_assert(text);
    memset(text, 'x', bytes);
    cr_expect_null(read_names(text, bytes, false));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect(strstr(error.text, "names:1:1: the name has 33554433 bytes"),
              "%s", error.text);
    free(text);
    cr_expect_null(skn_names_open("/nowhere", &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
}
