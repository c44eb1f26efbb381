/* test_problems.c - tests lists of problems: order, hints, excerpts, one
 * message.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/problems.h"

static skn_mark_t
at(uint32_t line, uint32_t column)
{
    return (skn_mark_t){ "x.yaml", line, column };
}

static char *
printed(const skn_problems_t *problems)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
    skn_problems_print(problems, file);
    (void)fclose(file);
    return text;
}

static skn_problems_t *problems;

static void
setup(void)
{
    problems = skn_problems_new(NULL);
    cr_assert_not_null(problems);
}

static void
teardown(void)
{
    skn_problems_destroy(&problems);
    skn_problems_destroy(&problems);
}

TestSuite(problems, .init = setup, .fini = teardown);

Test(problems, are_none_at_first)
{
    skn_error_t error = { SKN_USAGE, "untouched", "" };
    cr_expect_eq(skn_problems_count(problems), 0u);
    cr_expect_eq(skn_problems_error(problems, &error), SKN_OK);
    cr_expect_str_eq(error.text, "untouched");
    cr_expect_null(skn_problems_text(problems, 0));
    cr_expect_null(skn_problems_hint_text(problems, 0));
    char *text = printed(problems);
    cr_expect_str_eq(text, "");
    free(text);
}

Test(problems, stand_in_the_order_of_the_file)
{
    skn_mark_t command = { "-o a=1", 0, 0 };
    (void)skn_problems_add(problems, command, "from the command line");
    (void)skn_problems_add(problems, at(7, 3), "seven, three");
    (void)skn_problems_add(problems, at(2, 9), "two, nine");
    (void)skn_problems_hint(problems, "try %s", "eight");
    (void)skn_problems_add(problems, at(7, 1), "seven, one");
    (void)skn_problems_add(problems, at(7, 1), "seven, one again");
    cr_expect_eq(skn_problems_fail(problems, SKN_NO_INPUT, "y: %d", 5),
                 SKN_NO_INPUT);
    static const char *const want[] = { "y: 5",
                                        "x.yaml:2:9: two, nine",
                                        "x.yaml:7:1: seven, one",
                                        "x.yaml:7:1: seven, one again",
                                        "x.yaml:7:3: seven, three",
                                        "-o a=1: from the command line" };
    for (size_t k = 0; k < 6; k++)
        cr_expect_str_eq(skn_problems_text(problems, k), want[k]);
    cr_expect_str_eq(skn_problems_hint_text(problems, 0), "");
    cr_expect_str_eq(skn_problems_hint_text(problems, 1), "try eight");
    cr_expect_null(skn_problems_text(problems, 6));
}

Test(problems, become_one_error_that_counts_the_others)
{
    skn_error_t error = { 0 };
    (void)skn_problems_add(problems, at(3, 5), "wrong");
    (void)skn_problems_hint(problems, "repair it");
    cr_expect_eq(skn_problems_error(problems, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "x.yaml:3:5: wrong");
    cr_expect_str_eq(error.hint, "repair it");
    (void)skn_problems_add(problems, at(4, 1), "also wrong");
    (void)skn_problems_add(problems, at(5, 1), "this too");
    cr_expect_eq(skn_problems_error(problems, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "x.yaml:3:5: wrong (and 2 more)");
    cr_expect_eq(skn_problems_error(problems, NULL), SKN_BAD_CONFIG);
}

Test(problems, become_one_error_each)
{
    skn_error_t error = { 0 };
    (void)skn_problems_add(problems, at(4, 1), "wrong");
    (void)skn_problems_hint(problems, "repair it");
    (void)skn_problems_fail(problems, SKN_NO_INPUT, "no file");
    cr_expect_eq(skn_problems_get(problems, 0, &error), SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "no file");
    cr_expect_eq(skn_problems_get(problems, 1, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "x.yaml:4:1: wrong");
    cr_expect_str_eq(error.hint, "repair it");
    cr_expect_eq(skn_problems_get(problems, 2, &error), SKN_OK);
    cr_expect_str_eq(error.hint, "repair it");
}

Test(problems, cut_a_long_sentence_and_still_count_the_others)
{
    char longer[1000];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    (void)skn_problems_add(problems, at(1, 1), "%s", longer);
    (void)skn_problems_hint(problems, "%s", longer);
    skn_mark_t mark = { longer, 1, 1 };
    (void)skn_problems_add(problems, mark, "never seen");
    skn_error_t error = { 0 };
    (void)skn_problems_error(problems, &error);
    cr_expect_eq(strlen(error.text), sizeof(error.text) - 1);
    cr_expect_str_eq(error.text + strlen(error.text) - 13, " (and 1 more)");
}

Test(problems, are_only_counted_beyond_the_first_hundred)
{
    for (uint32_t k = 0; k < SKN_PROBLEMS_KEPT + 3; k++) {
        (void)skn_problems_add(problems, at(k + 1, 1), "number %u", k);
        (void)skn_problems_hint(problems, "hint %u", k);
    }
    cr_expect_eq(skn_problems_count(problems), SKN_PROBLEMS_KEPT + 3u);
    cr_expect_null(skn_problems_text(problems, SKN_PROBLEMS_KEPT));
    cr_expect_str_eq(skn_problems_hint_text(problems, SKN_PROBLEMS_KEPT - 1),
                     "hint 99");
    char *text = printed(problems);
    cr_expect(
        strstr(text, "x.yaml:100:1: number 99; hint 99\n3 more problems\n"));
    free(text);
}

Test(problems, print_the_line_and_a_caret_under_the_column)
{
    static const char source[] = "a: 1\r\n\té: b\n\nlast";
    skn_problems_source(problems, "other", "z", 1);
    skn_problems_source(problems, "x.yaml", source, sizeof(source) - 1);
    (void)skn_problems_add(problems, at(1, 4), "one");
    (void)skn_problems_hint(problems, "two");
    (void)skn_problems_add(problems, at(2, 5), "b");
    (void)skn_problems_add(problems, at(3, 1), "empty");
    (void)skn_problems_add(problems, at(4, 5), "at the end");
    (void)skn_problems_add(problems, at(5, 1), "beyond the end");
    skn_mark_t other = { "y.yaml", 6, 1 };
    (void)skn_problems_add(problems, other, "another \033 file\n");
    char *text = printed(problems);
    cr_expect_str_eq(text,
                     "x.yaml:1:4: one; two\n"
                     "     1 | a: 1\n"
                     "       |    ^\n"
                     "x.yaml:2:5: b\n"
                     "     2 | \té: b\n"
                     "       | \t   ^\n"
                     "x.yaml:3:1: empty\n"
                     "     3 | \n"
                     "       | ^\n"
                     "x.yaml:4:5: at the end\n"
                     "     4 | last\n"
                     "       |     ^\n"
                     "x.yaml:5:1: beyond the end\n"
                     "y.yaml:6:1: another \\x1b file\\n\n",
                     "%s", text);
    free(text);
}

Test(problems, know_the_file_and_the_place)
{
    skn_mark_t command = { "-o a=1", 0, 0 };
    size_t bytes = 0;
    uint32_t line = 0, column = 0;
    (void)skn_problems_add(problems, command, "from the command line");
    (void)skn_problems_add(problems, at(7, 3), "wrong");
    (void)skn_problems_fail(problems, SKN_NO_INPUT, "no file");
    cr_expect_not(skn_problems_place(problems, 0, &bytes, &line, &column));
    cr_expect(skn_problems_place(problems, 1, &bytes, &line, &column));
    cr_expect_eq(bytes, strlen("x.yaml"));
    cr_expect_eq(line, 7u);
    cr_expect_eq(column, 3u);
    cr_expect_not(skn_problems_place(problems, 2, &bytes, &line, &column));
    cr_expect_not(skn_problems_place(problems, 3, &bytes, &line, &column));
}

Test(problems, leave_out_what_lies_far_to_the_right)
{
    char source[400];
    memset(source, 'a', sizeof(source));
    skn_problems_source(problems, "x.yaml", source, sizeof(source));
    (void)skn_problems_add(problems, at(1, 162), "far");
    (void)skn_problems_add(problems, at(1, 161), "near");
    char *text = printed(problems);
    size_t lines = 0;
    for (const char *k = text; *k; k++)
        lines += *k == '\n' ? 1 : 0;
    cr_expect_eq(lines, 4u);
    free(text);
}

static void
expect_event(size_t k, const char *want)
{
    skn_json_text_t event = { 0 };
    cr_assert(skn_problems_write_event(problems, k, &event));
    cr_expect_str_eq(event.bytes, want);
    skn_json_text_fini(&event);
}

Test(problems, are_events_with_their_place_and_an_excerpt)
{
    skn_json_text_t none = { 0 };
    skn_problems_source(problems, "x.yaml", "a: 1\nbcd: 2\n", 12);
    (void)skn_problems_add(problems, at(2, 3), "wrong");
    (void)skn_problems_hint(problems, "right");
    skn_mark_t option = { "-o a=1", 0, 0 };
    (void)skn_problems_add(problems, option, "wrong, too");
    expect_event(0, "{\"event\":\"error\",\"code\":78,\"file\":\"x.yaml\","
                    "\"line\":2,\"column\":3,\"message\":\"x.yaml:2:3: "
                    "wrong\",\"hint\":\"right\",\"excerpt\":\"     2 | bcd: "
                    "2\\n       |   ^\"}");
    expect_event(1, "{\"event\":\"error\",\"code\":78,\"message\":\"-o a=1: "
                    "wrong, too\",\"hint\":\"\",\"excerpt\":\"\"}");
    cr_expect_not(skn_problems_write_event(problems, 2, &none));
    for (uint32_t k = 2; k < SKN_PROBLEMS_KEPT + 3; k++)
        (void)skn_problems_add(problems, at(k + 1, 1), "number %u", k);
    expect_event(SKN_PROBLEMS_KEPT,
                 "{\"event\":\"error\",\"code\":78,\"message\":\"3 more "
                 "problems\",\"hint\":\"\",\"excerpt\":\"\"}");
    cr_expect_not(
        skn_problems_write_event(problems, SKN_PROBLEMS_KEPT + 1, &none));
}
