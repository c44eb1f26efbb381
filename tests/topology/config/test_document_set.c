/* test_document_set.c - tests overrides: paths, values, names of list items.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/document.h"

static const char model[] = "model:\n"
                            "  layers:\n"
                            "    - { name: hidden, units: 128 }\n"
                            "    - { name: output, sampler: { rows: 3072 } }\n"
                            "    - { name: output.0, units: 5 }\n"
                            "train: { rate: 0.1, nothing: }\n";

static skn_problems_t *problems;
static skn_document_t *document;

static void
setup(void)
{
    problems = skn_problems_new(NULL);
    cr_assert_not_null(problems);
    document = skn_document_parse(model, sizeof(model) - 1, "m.yaml", problems);
    cr_assert_not_null(document);
}

static void
teardown(void)
{
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

TestSuite(document_set, .init = setup, .fini = teardown);

/* The whole tree after an override. */
static void
expect_tree(const char *assignment, const char *want)
{
    cr_assert_eq(skn_document_set(document, assignment, problems), SKN_OK,
                 "%s: %s", assignment, skn_problems_text(problems, 0));
    char *got = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&got, &bytes);
    cr_assert_not_null(file);
    cr_expect_eq(skn_document_write(skn_document_root(document), file,
                                    "writing YAML", NULL),
                 SKN_OK);
    (void)fclose(file);
    cr_expect_str_eq(got, want, "%s", got);
    free(got);
}

static void
expect_refused(const char *assignment, const char *text, const char *hint)
{
    cr_expect_eq(skn_document_set(document, assignment, problems),
                 SKN_BAD_CONFIG, "%s", assignment);
    size_t last = skn_problems_count(problems) - 1;
    cr_expect_str_eq(skn_problems_text(problems, last), text);
    cr_expect_str_eq(skn_problems_hint_text(problems, last), hint);
}

#define TREE(rows, train)                                                      \
    "model:\n  layers:\n    - name: hidden\n      units: 128\n"                \
    "    - name: output\n      sampler:\n        rows: " rows "\n"             \
    "    - name: output.0\n      units: 5\ntrain:\n" train

Test(document_set, replaces_a_scalar_in_a_named_item)
{
    expect_tree("model.layers.output.sampler.rows=4096",
                TREE("4096", "  rate: 0.1\n  nothing: null\n"));
}

Test(document_set, creates_what_is_missing)
{
    expect_tree("train.optimizer.kind=adam",
                TREE("3072", "  rate: 0.1\n  nothing: null\n"
                             "  optimizer:\n    kind: adam\n"));
}

Test(document_set, makes_a_mapping_of_an_empty_value)
{
    expect_tree("train.nothing.is.here=1",
                TREE("3072", "  rate: 0.1\n  nothing:\n    is:\n"
                             "      here: 1\n"));
}

Test(document_set, takes_flow_values_and_empty_ones)
{
    expect_tree("train.rate=[1, {a: b}]",
                TREE("3072", "  rate:\n    - 1\n    - a: b\n"
                             "  nothing: null\n"));
    expect_tree("train.rate=", TREE("3072", "  rate: null\n  nothing: null\n"));
    expect_tree("train.rate='a=b'",
                TREE("3072", "  rate: a=b\n  nothing: null\n"));
}

Test(document_set, lets_the_last_of_two_win)
{
    cr_expect_eq(skn_document_set(document, "train.rate=1", problems), SKN_OK);
    expect_tree("train.rate=2", TREE("3072", "  rate: 2\n  nothing: null\n"));
}

Test(document_set, takes_the_longest_name_that_fits)
{
    cr_assert_eq(
        skn_document_set(document, "model.layers.output.0.units=9", problems),
        SKN_OK);
    const skn_node_t *layers = skn_node_get(
        skn_node_get(skn_document_root(document), "model"), "layers");
    const skn_node_t *units = skn_node_get(layers->last, "units");
    cr_expect_str_eq(units->text, "9");
}

Test(document_set, marks_what_it_sets_with_the_command_line)
{
    cr_assert_eq(skn_document_set(document, "train.new.rate=fast", problems),
                 SKN_OK);
    const skn_node_t *made =
        skn_node_get(skn_node_get(skn_document_root(document), "train"), "new");
    const skn_node_t *rate = skn_node_get(made, "rate");
    cr_expect_str_eq(rate->mark.origin, "-o train.new.rate=fast");
    cr_expect_eq(rate->mark.line, 0u);
    cr_expect_str_eq(rate->key_mark.origin, "-o train.new.rate=fast");
    cr_expect_str_eq(made->mark.origin, "-o train.new.rate=fast");
    (void)skn_problems_add(problems, rate->mark, "too fast");
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "-o train.new.rate=fast: too fast");
}

Test(document_set, refuses_a_missing_item_and_lists_those_there_are)
{
    expect_refused("model.layers.outptu.rows=1",
                   "-o model.layers.outptu.rows=1: the list 'model.layers' "
                   "has no item named 'outptu'",
                   "it has hidden, output, output.0");
    cr_assert_eq(skn_document_set(document, "train.rate=[1, 2]", problems),
                 SKN_OK);
    expect_refused("train.rate.0=3",
                   "-o train.rate.0=3: the list 'train.rate' has no item "
                   "named '0'",
                   "its items have no names");
}

Test(document_set, refuses_paths_that_lead_nowhere)
{
    expect_refused("train", "-o train: an override needs a path and a value",
                   "-o path.to.key=value");
    expect_refused("=1", "-o =1: a part of the path is empty", "");
    expect_refused(".a=1", "-o .a=1: a part of the path is empty", "");
    expect_refused("a.=1", "-o a.=1: a part of the path is empty", "");
    expect_refused("a..b=1", "-o a..b=1: a part of the path is empty", "");
    expect_refused("a b=1",
                   "-o a b=1: a path holds letters, digits, '_', '-' "
                   "and dots only",
                   "");
    expect_refused("train.rate.x=1",
                   "-o train.rate.x=1: 'train.rate' is "
                   "'0.1', so nothing can be set inside it",
                   "");
    expect_refused("model.layers.output=1",
                   "-o model.layers.output=1: the path names a whole item "
                   "of a list",
                   "name one of its keys: model.layers.output.KEY=VALUE");
}

/* What stands under "a" after -o a=VALUE. */
static const skn_node_t *
set(const char *value)
{
    static char assignment[256];
    (void)snprintf(assignment, sizeof(assignment), "a=%s", value);
    cr_assert_eq(skn_document_set(document, assignment, problems), SKN_OK,
                 "%s: %s", assignment, skn_problems_text(problems, 0));
    return skn_node_get(skn_document_root(document), "a");
}

Test(document_set, takes_text_as_it_is_typed)
{
    static const char *const typed[] = {
        "o/run #1", "#x",      "a\nb",      "a: b", "- a",  "a ",  " a",
        "\ta",      "&a",      "*a",        "!a b", "%a",   "@a",  "`a`",
        "|",        "> b",     "? a",       "a\\b", "a\\",  "\"a", "a\"",
        "it's",     "'a' 'b'", "\"a\"b",    "a,b",  "null", "~",   "<<",
        "---",      "... #",   "[a] b",     "[a",   "{a",   "{a}", "[a]",
        "\033[1m",  "a\rb",    "d\xc3\xa4", "=",    "a=b",  "a]",  "}",
    };
    for (size_t k = 0; k < sizeof(typed) / sizeof(typed[0]); k++)
        cr_expect_str_eq(skn_node_words(set(typed[k])), typed[k]);
}

Test(document_set, takes_text_in_quotes_as_yaml)
{
    static const char *const pairs[][2] = {
        { "\"o/run #1\"", "o/run #1" },
        { "'it''s'", "it's" },
        { "\"\"", "" },
        { "''", "" },
        { " 'a ' ", "a " },
        { "\"\\\"\\n\\x41\"", "\"\nA" },
        { "'\"a\"'", "\"a\"" },
    };
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        const skn_node_t *node = set(pairs[k][0]);
        cr_expect_str_eq(skn_node_words(node), pairs[k][1], "%s", pairs[k][0]);
        cr_expect(node->quoted);
    }
    expect_refused("a=\"\\q\"",
                   "-o a=\"\\q\": invalid escape 'q' in double-quoted string",
                   "");
    expect_refused("a='b\nc'",
                   "-o a='b\nc': YAML reads a line break in quotes as a blank; "
                   "between double quotes, write \\n",
                   "");
}

Test(document_set, takes_numbers_and_words_without_the_blanks_around_them)
{
    cr_expect_str_eq(set(" 3 ")->text, "3");
    cr_expect_str_eq(set("3 #4")->text, "3 #4");
    cr_expect_str_eq(set("3\n4")->text, "3\n4");
    cr_expect_str_eq(set("&b 3")->text, "&b 3");
    cr_expect(skn_node_is_null(set("")));
    cr_expect(skn_node_is_null(set(" ")));
    cr_expect_null(skn_node_words(set("")));
}

Test(document_set, keeps_why_a_value_is_no_list_for_callers_that_need_one)
{
    static const char *const pairs[][2] = {
        { "[1", "flow sequence without a closing bracket" },
        { "[1] # 2", "something follows the closing bracket" },
        { "{b: 1, b: 2}", "key 'b' is repeated" },
        { "[*x]", "aliases are not allowed; write the value out" },
    };
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        const skn_node_t *node = set(pairs[k][0]);
        cr_expect_eq(node->type, SKN_NODE_SCALAR);
        cr_expect_str_eq(node->text, pairs[k][0]);
        (void)skn_problems_add(problems, node->mark, "no list");
        skn_node_hint_flaw(node, problems);
        cr_expect_str_eq(
            skn_problems_hint_text(problems, skn_problems_count(problems) - 1),
            pairs[k][1]);
    }
    cr_expect_eq(set("[1, '#', [2]] ")->count, 3u);
    cr_expect_eq(set("[a\n , b]")->count, 2u);
    cr_expect_eq(set("{b: 1}")->type, SKN_NODE_MAPPING);
}

Test(document_set, refuses_what_is_no_text)
{
    expect_refused("a=\xFF", "-o a=\xFF: byte 0xFF is not UTF-8", "");
    expect_refused("a=[\xFF]", "-o a=[\xFF]: byte 0xFF is not UTF-8", "");
}

Test(document_set, limits_the_depth_of_path_and_value_together)
{
    cr_expect_eq(skn_document_set(document, "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o=[1]",
                                  problems),
                 SKN_OK);
    cr_expect_eq(skn_document_set(
                     document, "a.b.c.d.e.f.g.h.i.j.k.l.m.n.p=[[]]", problems),
                 SKN_BAD_CONFIG);
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "-o a.b.c.d.e.f.g.h.i.j.k.l.m.n.p=[[]]: nested more than "
                     "16 levels deep");
}
