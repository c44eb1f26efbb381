/* test_escape.c - tests that a text stays one line, and one string of JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "skein/text.h"

/* Until the next call. */
static const char *
escaped(skn_text_form_t form, const char *text)
{
    static char *last;
    size_t bytes = 0;
    free(last);
    FILE *file = open_memstream(&last, &bytes);
    cr_assert(file);
    skn_text_escape(form, text, file);
    cr_assert_eq(fclose(file), 0);
    return last;
}

Test(escape, a_line_stays_one)
{
    cr_expect_str_eq(escaped(SKN_TEXT_LINE, "a\nb\x1b[31m\td\xc3\xa4"),
                     "a\\nb\\x1b[31m\\x09d\xc3\xa4");
    cr_expect_str_eq(escaped(SKN_TEXT_LINE, ""), "");
}

Test(escape, a_string_is_json)
{
    cr_expect_str_eq(escaped(SKN_TEXT_JSON, "a\"\\\n\x01\xff\xc3\xa4"),
                     "\"a\\\"\\\\\\n\\u0001\\ufffd\xc3\xa4\"");
    cr_expect_str_eq(escaped(SKN_TEXT_JSON, ""), "\"\"");
}

Test(escape, what_it_does_not_know_is_nothing)
{
    cr_expect_str_eq(escaped((skn_text_form_t)9, "a"), "");
    cr_expect_str_eq(escaped(SKN_TEXT_JSON, NULL), "");
    skn_text_escape(SKN_TEXT_LINE, "a", NULL);
}
