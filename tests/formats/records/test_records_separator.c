/* test_records_separator.c - tests that the separator of labels is found, and
 * that names with commas stay whole (formats/records/records_separator.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/records/records.h"

/* The separator of a file with a row for each of `cells`. */
static const char *
separator_of(const char *const *cells, size_t count)
{
    char path[] = "/tmp/skein-separator-XXXXXX";
    const skn_records_options_t options = { 0 };
    const char *separator = NULL;
    skn_error_t error = { 0 };
    int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    FILE *file = fdopen(descriptor, "w");
    (void)fputs("text,labels\n", file);
    for (size_t k = 0; k < count; k++)
        (void)fprintf(file, "t,\"%s\"\n", cells[k]);
    (void)fclose(file);
    cr_assert_eq(skn_records_find_separator(path, &options, &separator, &error),
                 SKN_OK, "%s", error.text);
    (void)unlink(path);
    return separator;
}
#define SEPARATOR(...)                                                         \
    separator_of((const char *const[]){ __VA_ARGS__ },                         \
                 sizeof((const char *const[]){ __VA_ARGS__ }) /                \
                     sizeof(const char *))

Test(records_separator, divides_what_is_met_again)
{
    cr_expect_str_eq(SEPARATOR("a;b", "b; c", "c;a", "a;b;c", "b;a;c"), ";");
    cr_expect_str_eq(SEPARATOR("a|b", "b", "a", "c"), "|");
    cr_expect_str_eq(SEPARATOR("a,b", "b", "a", "c"), ",");
}

Test(records_separator, names_stay_whole)
{
    cr_expect_str_eq(SEPARATOR("Paris, France", "Rome, Italy", "Lyon, France"),
                     "");
    cr_expect_str_eq(SEPARATOR("Smith, John", "Miller, John", "Smith, Ann"),
                     "");
    cr_expect_str_eq(SEPARATOR("one", "two words"), "");
    cr_expect_str_eq(SEPARATOR(""), "");
}
