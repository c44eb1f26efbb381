/* test_document_write.c - tests that trees are written as stable YAML, which
 * reads as the same tree.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/document.h"

static char *
written(const skn_node_t *node)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
    cr_expect_eq(skn_document_write(node, file, "writing YAML", NULL), SKN_OK);
    (void)fclose(file);
    return text;
}

/* Oracle: two trees are equal, whatever their marks. Quotes may go where the
 * text is the same without them. */
static bool
same(const skn_node_t *a, const skn_node_t *b)
{
    if (a->type != b->type || a->count != b->count ||
        skn_node_is_null(a) != skn_node_is_null(b))
        return false;
    if (!skn_node_is_null(a) && strcmp(a->text, b->text) != 0)
        return false;
    if ((a->key == NULL) != (b->key == NULL) ||
        (a->key && strcmp(a->key, b->key) != 0))
        return false;
    const skn_node_t *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (!same(x, y))
            return false;
    return x == y;
}

static void
expect_round_trip(const char *text, const char *want)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "x", problems);
    cr_assert_not_null(document, "%s", skn_problems_text(problems, 0));
    char *once = written(skn_document_root(document));
    if (want)
        cr_expect_str_eq(once, want, "%s", once);
    skn_document_t *again =
        skn_document_parse(once, strlen(once), "y", problems);
    cr_assert_not_null(again, "%s: %s", once, skn_problems_text(problems, 0));
    cr_expect(same(skn_document_root(document), skn_document_root(again)), "%s",
              once);
    char *twice = written(skn_document_root(again));
    cr_expect_str_eq(twice, once);
    free(twice);
    free(once);
    skn_document_destroy(&again);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

Test(document_write, indents_by_two_and_keeps_lists_of_scalars_on_a_line)
{
    expect_round_trip("a: {b: [1, 2, {c: d, e: f}], g: []}\nh: [x, 'y z', 1]\n"
                      "i: [[1], [2, [3, {j: k}]]]\nl: {}\n",
                      "a:\n"
                      "  b:\n"
                      "    - 1\n"
                      "    - 2\n"
                      "    - c: d\n"
                      "      e: f\n"
                      "  g: []\n"
                      "h: [x, y z, 1]\n"
                      "i:\n"
                      "  - [1]\n"
                      "  - - 2\n"
                      "    - - 3\n"
                      "      - j: k\n"
                      "l: {}\n");
    expect_round_trip("", "{}\n");
}

Test(document_write, quotes_what_needs_it)
{
    expect_round_trip(
        "a: 'true'\nb: true\nc: \"1\"\nd: -1\ne: ''\nf: ~\ng: 'a: b'\n"
        "h: \"x\\ty\\nz\\\\\\\"\"\ni: '- a'\nj: -.5\nk: \"\\x85\\e\"\n"
        "l: tcp://a:1\nm: 'a,b'\nn: 'a #b'\no: a#b\np: '-x'\nq: 'x:'\n"
        "'r s': 'é'\ns: '...'\nt: 'null'\nu: ' x '\n",
        "a: \"true\"\nb: true\nc: \"1\"\nd: -1\ne: \"\"\nf: null\n"
        "g: \"a: b\"\nh: \"x\\ty\\nz\\\\\\\"\"\ni: \"- a\"\nj: -.5\n"
        "k: \"\\x85\\x1b\"\nl: tcp://a:1\nm: \"a,b\"\nn: \"a #b\"\no: a#b\n"
        "p: \"-x\"\nq: \"x:\"\nr s: \"é\"\ns: \"...\"\nt: \"null\"\n"
        "u: \" x \"\n");
}

/* An argument may have what a file may not. */
Test(document_write, escapes_what_the_reader_refuses_and_ends_of_lines)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document = skn_document_new("x", problems);
    cr_assert_eq(
        skn_document_set(document,
                         "a=#\xEF\xBB\xBF\xEF\xBF\xBE\xEF\xBF\xBF"
                         "\xE2\x80\xA8\xE2\x80\xA9\xC2\x85\xE2\x80\xAA",
                         problems),
        SKN_OK);
    char *text = written(skn_document_root(document));
    cr_expect_str_eq(text, "a: \"#\\ufeff\\ufffe\\uffff\\u2028\\u2029\\x85"
                           "\xE2\x80\xAA\"\n");
    skn_document_t *again =
        skn_document_parse(text, strlen(text), "y", problems);
    cr_assert_not_null(again, "%s: %s", text, skn_problems_text(problems, 0));
    cr_expect(same(skn_document_root(document), skn_document_root(again)));
    free(text);
    skn_document_destroy(&again);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

/* A path need not be UTF-8: its last byte may begin a character. */
Test(document_write, ends_where_a_text_ends_in_half_a_character)
{
    static const char text[] = "x\xC2\0y";
    char *override = skn_override_of("k", text, NULL);
    cr_assert_str_eq(override, "k=\"x\xC2\"");
    free(override);
}

Test(document_write, gives_back_every_short_text)
{
    /* All pairs of the characters that mean something in YAML, and triples
     * with a letter between. */
    static const char marks[] = "-?:,[]{}#&*!|>'\"%@`~. \t\n\\a0=<\x01\x7F";
    for (size_t i = 0; i + 1 < sizeof(marks); i++) {
        for (size_t j = 0; j + 1 < sizeof(marks); j++) {
            skn_problems_t *problems = skn_problems_new(NULL);
            skn_document_t *document = skn_document_new("x", problems);
            skn_node_t *root = skn_document_edit(document);
            char pair[3] = { marks[i], marks[j], '\0' };
            char triple[4] = { marks[i], 'b', marks[j], '\0' };
            skn_node_t *list = skn_document_append(
                document, root, SKN_NODE_LIST, triple, NULL, false, problems);
            (void)skn_document_append(document, list, SKN_NODE_SCALAR, NULL,
                                      pair, true, problems);
            (void)skn_document_append(document, list, SKN_NODE_SCALAR, NULL,
                                      triple, true, problems);
            (void)skn_document_append(document, root, SKN_NODE_SCALAR, pair,
                                      pair, true, problems);
            char *text = written(root);
            skn_document_t *again =
                skn_document_parse(text, strlen(text), "y", problems);
            cr_assert_not_null(again, "%s%s", text,
                               skn_problems_text(problems, 0));
            cr_expect(same(root, skn_document_root(again)), "%s", text);
            free(text);
            skn_document_destroy(&again);
            skn_document_destroy(&document);
            skn_problems_destroy(&problems);
        }
    }
}

Test(document_write, says_when_the_disk_is_full)
{
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    (void)setvbuf(full, NULL, _IONBF, 0);
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document = skn_document_parse("a: 1", 4, "x", problems);
    skn_error_t error = { 0 };
    cr_expect_eq(skn_document_write(skn_document_root(document), full,
                                    "writing YAML", &error),
                 SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing YAML: No space left on device");
    (void)fclose(full);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

/* A reader stops at 64 open brackets, which it counts in quotes, too. */
Test(document_write, hides_brackets_that_stay_open)
{
    expect_round_trip("'[x': 'a[1]'\n'{': '[[]'\n",
                      "\"\\x5bx\": \"a[1]\"\n\"\\x7b\": \"\\x5b\\x5b]\"\n");
    char text[128] = "k: '";
    memset(text + 4, '[', 60);
    (void)snprintf(text + 64, sizeof(text) - 64, "'\n");
    expect_round_trip(text, NULL);
    char many[4096] = "";
    for (size_t k = 0; k < 70; k++)
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many),
                       "k%zu: \"\\x5b\"\n", k);
    expect_round_trip(many, many);
}
