/* test_view.c - tests that the view of a run fits its terminal, and that keys
 * edit a question.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/elastic/view.h"

static cli_view_t *
view_of(const char *events)
{
    cli_view_t *view = calloc(1, sizeof(*view));
    json_t *list = json_loads(events, 0, NULL);
    size_t k;
    json_t *event;
    cr_assert_not_null(list);
    json_array_foreach(list, k, event) cli_view_event(view, event);
    json_decref(list);
    return view;
}

static const char sample[] =
    "[{\"event\":\"nodes\",\"nodes\":["
    "{\"name\":\"a\",\"state\":\"trains\",\"generation\":3,\"batch\":12,"
    "\"batches_per_s\":12.25,\"bytes_per_s\":8250000.0,\"cores\":0.9,"
    "\"share\":0.5},"
    "{\"name\":\"b\",\"state\":\"away\",\"generation\":0}]},"
    "{\"event\":\"membership\",\"generation\":3,\"text\":\"b is gone\"},"
    "{\"event\":\"progress\",\"batch\":40,\"batches\":80,\"epoch\":2,"
    "\"epochs\":4,\"loss\":3.5},{\"event\":\"nonsense\"}]";

static cli_view_line_t lines[CLI_VIEW_LINES_MAX];

Test(view, a_run_is_seen_at_a_glance)
{
    cli_view_t *view = view_of(sample);
    cli_view_draw(view, 90, 14, lines);
    cr_expect_str_eq(lines[0],
                     " generation 3  batch 40 of 80 [######......]  epoch 2 of "
                     "4  loss 3.500  P@1 0.000");
    cr_expect_str_eq(lines[2],
                     " a      trains  g3    50%  12.2/s   8.25 MB/s|");
    cr_expect(strncmp(lines[3], " b      away    ", 16) == 0, "%s", lines[3]);
    cr_expect_not_null(strstr(lines[1], "- nodes -"));
    cr_expect_not_null(strstr(lines[9], "| > _"));
    cr_expect_str_eq(lines[11], " b is gone");
    free(view);
}

Test(view, no_line_is_longer_than_the_terminal)
{
    cli_view_t *view = view_of(sample);
    char wide[400];
    memset(wide, 'x', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    cli_view_say(&view->happened, wide);
    cli_view_say(&view->answers, wide);
    for (int k = 0; k < 300; k++)
        cli_view_key(view, 'q');
    for (size_t columns = 0; columns < 260; columns++)
        for (size_t rows = 1; rows < 80; rows += 3) {
            cli_view_draw(view, columns, rows, lines);
            for (size_t k = 0; k < CLI_VIEW_LINES_MAX; k++) {
                cr_assert_leq(strlen(lines[k]), columns);
                cr_assert(k < rows || lines[k][0] == '\0',
                          "row %zu of %zu, %zu columns", k, rows, columns);
            }
        }
    free(view);
}

Test(view, what_could_move_the_cursor_is_not_shown)
{
    cli_view_t *view = view_of("[]");
    cli_view_say(&view->happened, "a\033[2Jb\r\xc3\xa4");
    cr_expect_str_eq(view->happened.line[0], "a?[2Jb???");
    free(view);
}

Test(view, keys_make_a_question)
{
    cli_view_t *view = view_of("[]");
    const char *keys = "\rbux\x7fg\x15\x7f"
                       "a bird\n";
    for (; *keys; keys++)
        cli_view_key(view, *keys);
    cr_expect(view->asked);
    cr_expect_str_eq(view->question, "a bird");
    cli_view_key(view, 'x');
    cr_expect_str_eq(view->question, "a bird", "it waits for its answer");
    free(view);
}

Test(view, a_node_that_gives_way_says_so)
{
    cli_view_t *view = view_of(sample);
    json_t *event = json_loads("{\"action\":\"threads\",\"threads\":1,"
                               "\"cores\":2,\"reason\":\"others\"}",
                               0, NULL);
    cli_view_note(view, "a", event);
    cli_view_draw(view, 90, 14, lines);
    cr_expect(strncmp(lines[2], " a      yields ", 15) == 0, "%s", lines[2]);
    (void)json_object_set_new(event, "threads", json_integer(2));
    cli_view_note(view, "a", event);
    cli_view_draw(view, 90, 14, lines);
    cr_expect(strncmp(lines[2], " a      trains ", 15) == 0, "%s", lines[2]);
    json_decref(event);
    free(view);
}

Test(view, the_last_lines_are_those_that_are_seen)
{
    cli_view_t *view = view_of("[]");
    char text[16];
    for (int k = 0; k < 200; k++) {
        (void)snprintf(text, sizeof(text), "line %d", k);
        cli_view_say(&view->happened, text);
    }
    cli_view_draw(view, 80, 14, lines);
    cr_expect_str_eq(lines[11], " line 197");
    cr_expect_str_eq(lines[13], " line 199");
    free(view);
}
