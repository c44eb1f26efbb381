/* test_document.c - tests that documents are read, refused and searched. Covers
 * topology/config/document.c and topology/config/document_parse.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/limits.h"
#include "topology/config/document.h"

static skn_problems_t *
new_problems(void)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    cr_assert_not_null(problems);
    return problems;
}

static skn_document_t *
parse(const char *text, skn_problems_t *problems)
{
    return skn_document_parse(text, strlen(text), "x.yaml", problems);
}

/* All problems, one a line, with their hints. */
static void
expect_problems_of(const char *text, const char *want, bool whole)
{
    skn_problems_t *problems = new_problems();
    skn_document_t *document = parse(text, problems);
    char got[4096] = "";
    size_t used = 0;
    for (size_t k = 0; skn_problems_text(problems, k); k++) {
        const char *hint = skn_problems_hint_text(problems, k);
        used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s%s%s",
                                 k ? "\n" : "", skn_problems_text(problems, k),
                                 hint[0] ? "; " : "", hint);
    }
    cr_expect_str_eq(got, want, "%s\ngives\n%s\nnot\n%s", text, got, want);
    cr_expect_eq(document != NULL, whole);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

static void
expect_problems(const char *text, const char *want)
{
    expect_problems_of(text, want, want[0] == '\0');
}

Test(document, holds_mappings_lists_and_scalars_in_their_order)
{
    skn_problems_t *problems = new_problems();
    skn_document_t *document =
        parse("skein: 1\nlist: [a, {b: 'c'}]\nempty:\n", problems);
    cr_assert_not_null(document);
    const skn_node_t *root = skn_document_root(document);
    cr_expect_eq(root->type, SKN_NODE_MAPPING);
    cr_expect_eq(root->count, 3u);
    const skn_node_t *skein = root->first, *list = skein->next;
    cr_expect_str_eq(skein->key, "skein");
    cr_expect_str_eq(skein->text, "1");
    cr_expect_not(skein->quoted);
    cr_expect_eq(list->type, SKN_NODE_LIST);
    cr_expect_eq(list->count, 2u);
    cr_expect_null(list->first->key);
    const skn_node_t *b = skn_node_get(list->first->next, "b");
    cr_assert_not_null(b);
    cr_expect_str_eq(b->text, "c");
    cr_expect(b->quoted);
    cr_expect(skn_node_is_null(skn_node_get(root, "empty")));
    cr_expect_null(skn_node_get(root, "absent"));
    cr_expect_null(skn_node_get(NULL, "absent"));
    cr_expect_null(skn_node_get(skein, "absent"));
    skn_document_destroy(&document);
    cr_expect_null(document);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

Test(document, knows_the_line_and_column_of_keys_and_values)
{
    skn_problems_t *problems = new_problems();
    skn_document_t *document =
        parse("a: 1\nb:\n  - x\n  - é: y\nc:\n", problems);
    cr_assert_not_null(document);
    const skn_node_t *root = skn_document_root(document);
    const skn_node_t *b = skn_node_get(root, "b");
    cr_expect_eq(b->key_mark.line, 2u);
    cr_expect_eq(b->key_mark.column, 1u);
    cr_expect_eq(b->mark.line, 3u);
    cr_expect_eq(b->mark.column, 3u);
    const skn_node_t *y = b->last->first;
    cr_expect_eq(y->mark.line, 4u);
    cr_expect_eq(y->mark.column, 8u);
    cr_expect_str_eq(y->mark.origin, "x.yaml");
    const skn_node_t *c = skn_node_get(root, "c");
    cr_expect_eq(c->mark.line, 5u);
    cr_expect_eq(c->mark.column, 1u);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

Test(document, takes_empty_texts_as_empty_mappings)
{
    static const char *const texts[] = { "",      "\n", "# a comment\n",
                                         "---\n", "{}", "\xEF\xBB\xBF" };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        skn_problems_t *problems = new_problems();
        skn_document_t *document = parse(texts[k], problems);
        if (k == 3) { /* an empty document is null, which is no mapping */
            cr_expect_null(document);
        } else {
            cr_assert_not_null(document, "text %zu", k);
            cr_expect_eq(skn_document_root(document)->count, 0u);
        }
        skn_document_destroy(&document);
        skn_problems_destroy(&problems);
    }
}

Test(document, reads_a_byte_order_mark_and_carriage_returns)
{
    skn_problems_t *problems = new_problems();
    skn_document_t *document = parse("\xEF\xBB\xBF"
                                     "a: 1\r\nb: 2\r\n",
                                     problems);
    cr_assert_not_null(document);
    const skn_node_t *b = skn_node_get(skn_document_root(document), "b");
    cr_assert_not_null(b);
    cr_expect_str_eq(b->text, "2");
    cr_expect_eq(b->mark.line, 2u);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

Test(document, refuses_anchors_aliases_tags_and_merge_keys_in_one_pass)
{
    expect_problems(
        "a: &x 1\nb: *x\nc: !!int 3\nd: {<<: {e: 1}}\n",
        "x.yaml:1:5: anchors are not allowed; write the value out where it is "
        "used\n"
        "x.yaml:2:5: aliases are not allowed; write the value out\n"
        "x.yaml:3:4: tags are not allowed; leave it out: the type of a value "
        "follows from its key\n"
        "x.yaml:4:5: merge keys are not allowed; write the keys out");
}

Test(document, refuses_a_bomb_of_aliases_without_resolving_it)
{
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof(text), "a0: &a0 [x]\n");
    for (int k = 1; k < 9; k++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", k, k,
            k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1);
    skn_problems_t *problems = new_problems();
    cr_expect_null(parse(text, problems));
    cr_expect_eq(skn_problems_count(problems), 9u + 72u);
    skn_problems_destroy(&problems);
}

/* The rest can still be looked at. */
Test(document, refuses_repeated_keys_and_keeps_the_rest)
{
    expect_problems_of(
        "a: 1\nb: {c: 1, d: 2, c: 3}\na: 2\n'a': 3\n",
        "x.yaml:2:17: key 'c' is repeated; it is already in line 2\n"
        "x.yaml:3:1: key 'a' is repeated; it is already in line 1\n"
        "x.yaml:4:1: key 'a' is repeated; it is already in line 3",
        true);
    expect_problems("a: *x\na: 1\n",
                    "x.yaml:1:5: aliases are not allowed; write the value out\n"
                    "x.yaml:2:1: key 'a' is repeated; it is already in line 1");
}

Test(document, refuses_what_is_no_mapping_at_the_top)
{
    expect_problems("[a]", "x.yaml:1:1: expected a mapping, found a list");
    expect_problems("a", "x.yaml:1:1: expected a mapping, found 'a'");
    expect_problems("~", "x.yaml:1:1: expected a mapping, found nothing");
    expect_problems("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xC3\xA9 b",
                    "x.yaml:1:1: expected a mapping, found "
                    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'");
}

Test(document, reports_syntax_in_its_own_form)
{
    expect_problems("a:\n\tb: 1\n", "x.yaml:2:1: tab character may not be used "
                                    "as indentation");
    expect_problems("a: [1, 2\n", "x.yaml:1:8: flow sequence without a closing "
                                  "bracket");
    expect_problems("a: b: c\n", "x.yaml:1:5: invalid nested block mapping on "
                                 "the same line");
    expect_problems("a: \"x\n", "x.yaml:1:5: double-quoted scalar without "
                                "closing quote");
    expect_problems("a: @x\n", "x.yaml:1:4: plain scalar cannot start with "
                               "'@'");
    expect_problems("a: 1\n--- \nb: 2\n",
                    "x.yaml:2:1: a second document starts here; a file holds "
                    "one configuration");
    expect_problems("[a]: b\n", "x.yaml:1:1: a key must be a word, not a list");
    expect_problems("{a: 1}: b\n",
                    "x.yaml:1:1: a key must be a word, not a mapping");
    expect_problems("{? [a] : b}\n",
                    "x.yaml:1:4: a key must be a word, not a list");
    /* libfyaml 0.7.12 crashes at the first two. */
    expect_problems("? B:\t:",
                    "x.yaml:1:1: a key is written 'key: value', without '?'");
    expect_problems("a:\n  - - ?\n B:\t: x\n",
                    "x.yaml:2:7: a key is written 'key: value', without '?'");
    expect_problems("a: 1\n\t?\tb\n: 2\n",
                    "x.yaml:2:2: a key is written 'key: value', without '?'");
    expect_problems(": x\n", "x.yaml:1:1: a key is missing");
}

Test(document, refuses_bytes_that_are_no_text)
{
    expect_problems("a: \xFF\xFE\n", "x.yaml:1:4: byte 0xFF is not UTF-8");
    expect_problems("a: 1\nb: \xED\xA0\x80\n",
                    "x.yaml:2:4: byte 0xED is not UTF-8");
    expect_problems("a: \xC0\x80", "x.yaml:1:4: byte 0xC0 is not UTF-8");
    expect_problems("a: \xE2\x82", "x.yaml:1:4: byte 0xE2 is not UTF-8");
    expect_problems("a: x\033[2J",
                    "x.yaml:1:5: a configuration must not contain "
                    "control characters (byte 0x1B)");
    expect_problems("a: 1\rb: 2",
                    "x.yaml:1:5: a configuration must not contain "
                    "control characters (byte 0x0D)");
    expect_problems("a: \"\\0\"\n", "x.yaml:1:4: text must not contain a NUL, "
                                    "nor half of a surrogate pair");
    skn_problems_t *problems = new_problems();
    cr_expect_null(skn_document_parse("a: \0b", 5, "x.yaml", problems));
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "x.yaml:1:4: a configuration must not contain control "
                     "characters (byte 0x00)");
    skn_problems_destroy(&problems);
}

/* `depth` lists inside a mapping. */
static size_t
problems_of_depth(uint32_t depth)
{
    char text[128] = "a: ";
    for (uint32_t k = 0; k < depth; k++)
        text[3 + k] = '[';
    for (uint32_t k = 0; k < depth; k++)
        text[3 + depth + k] = ']';
    skn_problems_t *problems = new_problems();
    skn_document_t *document = parse(text, problems);
    size_t count = skn_problems_count(problems);
    if (count)
        cr_expect_str_eq(skn_problems_text(problems, 0),
                         "x.yaml:1:19: nested more than 16 levels deep");
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return count;
}

Test(document, limits_the_depth)
{
    cr_expect_eq(problems_of_depth(SKN_CONFIG_DEPTH_MAX - 2), 0u);
    cr_expect_eq(problems_of_depth(SKN_CONFIG_DEPTH_MAX - 1), 0u);
    cr_expect_eq(problems_of_depth(SKN_CONFIG_DEPTH_MAX), 1u);
    cr_expect_eq(problems_of_depth(50), 1u);
}

Test(document, refuses_a_wall_of_brackets_before_it_costs_memory)
{
    char text[80] = "";
    memset(text, '[', 64);
    expect_problems(text, "x.yaml:1:17: nested more than 16 levels deep");
    text[64] = '{';
    expect_problems(text, "x.yaml:1:65: more than 64 brackets are open here");
    skn_problems_t *problems = new_problems();
    skn_document_t *document = parse("a: ']]]' # }}\nb: []\n", problems);
    cr_expect_not_null(document);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

/* A list of `count` scalars, in a mapping. */
static size_t
problems_of_nodes(uint32_t count)
{
    char *text = malloc(2u * count + 16);
    cr_assert_not_null(text);
    memcpy(text, "a: [", 4);
    for (uint32_t k = 0; k < count; k++)
        memcpy(text + 4 + 2 * k, "b,", 2);
    memcpy(text + 4 + 2 * count, "]", 2);
    skn_problems_t *problems = new_problems();
    skn_document_t *document = parse(text, problems);
    size_t problem_count = skn_problems_count(problems);
    cr_expect_eq(document == NULL, problem_count > 0);
    if (problem_count)
        cr_expect(strstr(skn_problems_text(problems, 0),
                         "more than 200000 values in one configuration"));
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    free(text);
    return problem_count;
}

Test(document, limits_the_number_of_values)
{
    /* Beside them stand the root of the new document, the mapping, the list. */
    cr_expect_eq(problems_of_nodes(SKN_CONFIG_NODES_MAX - 3), 0u);
    cr_expect_eq(problems_of_nodes(SKN_CONFIG_NODES_MAX - 2), 1u);
}

Test(document, limits_the_size)
{
    char *text = malloc(SKN_CONFIG_BYTES_MAX + 1u);
    cr_assert_not_null(text);
    memset(text, '\n', SKN_CONFIG_BYTES_MAX + 1u);
    memcpy(text, "a: 1", 4);
    skn_problems_t *problems = new_problems();
    skn_document_t *document =
        skn_document_parse(text, SKN_CONFIG_BYTES_MAX, "x.yaml", problems);
    cr_expect_not_null(document);
    skn_document_destroy(&document);
    cr_expect_null(skn_document_parse(text, SKN_CONFIG_BYTES_MAX + 1u, "x.yaml",
                                      problems));
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "x.yaml: more than 4194304 bytes");
    skn_problems_destroy(&problems);
    free(text);
}

static const char sample[] =
    "skein: 1\nmodel:\n  layers:\n    - { name: hidden, units: 128 }\n"
    "    - { name: \"out\\tput\", 'a b': |-\n text\n }\n  x: >\n    folded\n"
    "    text\nlist: [a, [b], {c: d}]\n";

Test(document, survives_every_truncation_and_every_changed_byte)
{
    for (size_t k = 0; k < sizeof(sample); k++) {
        skn_problems_t *problems = new_problems();
        skn_document_t *document =
            skn_document_parse(sample, k, "x.yaml", problems);
        cr_expect_eq(document == NULL, skn_problems_count(problems) > 0);
        skn_document_destroy(&document);
        for (int byte = 0; byte < 256; byte += 7) {
            char text[sizeof(sample)];
            memcpy(text, sample, sizeof(sample));
            text[k] = (char)byte;
            document =
                skn_document_parse(text, sizeof(text) - 1, "y.yaml", problems);
            skn_document_destroy(&document);
        }
        skn_problems_destroy(&problems);
    }
}

/* --- files --------------------------------------------------------------- */

static char folder[64];

static void
make_folder(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/skn_document_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void
remove_folder(void)
{
    (void)rmdir(folder);
}

Test(document, loads_a_file_and_knows_its_folder, .init = make_folder,
     .fini = remove_folder)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/a.yaml", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (int k = 0; k < 5000; k++)
        (void)fprintf(file, "k%d: %d\n", k, k);
    (void)fclose(file);
    skn_problems_t *problems = new_problems();
    skn_document_t *document = skn_document_load(path, problems);
    cr_assert_not_null(document);
    cr_expect_eq(skn_document_root(document)->count, 5000u);
    cr_expect_str_eq(skn_document_name(document), path);
    cr_expect_str_eq(skn_document_folder(document), folder);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    (void)unlink(path);
}

Test(document, starts_relative_paths_at_the_folder_of_its_name)
{
    static const char *const pairs[][2] = { { "a.yaml", "." },
                                            { "/a.yaml", "/" },
                                            { "b/a.yaml", "b" },
                                            { "/b/c/a.yaml", "/b/c" },
                                            { "./a.yaml", "." } };
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        skn_problems_t *problems = new_problems();
        skn_document_t *document =
            skn_document_parse("", 0, pairs[k][0], problems);
        cr_assert_not_null(document);
        cr_expect_str_eq(skn_document_folder(document), pairs[k][1]);
        skn_document_destroy(&document);
        skn_problems_destroy(&problems);
    }
}

Test(document, says_why_a_file_cannot_be_opened, .init = make_folder,
     .fini = remove_folder)
{
    skn_error_t error = { 0 };
    char path[128], want[256];
    skn_problems_t *problems = new_problems();
    (void)snprintf(path, sizeof(path), "%s/absent.yaml", folder);
    cr_expect_null(skn_document_load(path, problems));
    cr_expect_eq(skn_problems_error(problems, &error), SKN_NO_INPUT);
    (void)snprintf(want, sizeof(want), "%s: No such file or directory", path);
    cr_expect_str_eq(error.text, want);
    skn_problems_destroy(&problems);

    problems = new_problems();
    cr_expect_null(skn_document_load(folder, problems));
    cr_expect_eq(skn_problems_error(problems, &error), SKN_NO_INPUT);
    (void)snprintf(want, sizeof(want), "%s: Is a directory", folder);
    cr_expect_str_eq(error.text, want);
    skn_problems_destroy(&problems);

    if (geteuid() == 0) /* root may read everything */
        return;
    problems = new_problems();
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fclose(file);
    cr_expect_eq(chmod(path, 0), 0);
    cr_expect_null(skn_document_load(path, problems));
    cr_expect_eq(skn_problems_error(problems, &error), SKN_NO_PERMISSION);
    (void)unlink(path);
    skn_problems_destroy(&problems);
}

Test(document, loads_standard_input, .init = make_folder, .fini = remove_folder)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/in", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs("a: *b\n", file);
    (void)fclose(file);
    cr_assert_not_null(freopen(path, "r", stdin));
    skn_problems_t *problems = new_problems();
    cr_expect_null(skn_document_load("-", problems));
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "stdin:1:5: aliases are not allowed");
    skn_problems_destroy(&problems);
    (void)unlink(path);
}

/* --- changed in code ----------------------------------------------------- */

static void
expect_dropped(const char *key, const char *left)
{
    static const char text[] = "a: 1\nb: { x: 1, y: 2, z: 3 }\nc: [x]\n";
    skn_problems_t *problems = new_problems();
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "x", problems);
    cr_assert_not_null(document);
    char path[8];
    (void)snprintf(path, sizeof(path), "b.%s", key);
    skn_document_drop(document, path);
    const skn_node_t *b = skn_node_get(skn_document_root(document), "b");
    const skn_node_t *item = b->first;
    for (const char *at = left; *at && item; at++) {
        cr_expect_eq(item->key[0], *at);
        cr_expect(at[1] || b->last == item);
        item = item->next;
    }
    cr_expect_null(item);
    cr_expect_eq(b->count, strlen(left));
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

Test(document, a_key_can_be_dropped_wherever_it_stands)
{
    expect_dropped("x", "yz");
    expect_dropped("y", "xz");
    expect_dropped("z", "xy");
    expect_dropped("w", "xyz");
}

Test(document, a_key_is_dropped_in_each_item_of_a_list)
{
    static const char text[] =
        "a: [{ b: { x: 1, y: 2 } }, 3, { b: { x: 4 } }, { c: 5 }]\n";
    skn_problems_t *problems = new_problems();
    skn_document_t *document =
        skn_document_parse(text, sizeof(text) - 1, "t", problems);
    cr_assert(document);
    skn_document_drop(document, "a.b.x");
    const skn_node_t *a = skn_node_get(skn_document_root(document), "a");
    cr_expect_eq(a->count, 4u);
    cr_expect_eq(skn_node_get(a->first, "b")->count, 1u);
    cr_expect_eq(skn_node_get(a->first->next->next, "b")->count, 0u);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

Test(document, what_is_not_there_is_not_dropped)
{
    static const char text[] = "a: 1\nc: [x]\n";
    skn_problems_t *problems = new_problems();
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "x", problems);
    cr_assert_not_null(document);
    skn_document_drop(document, "a.x");
    skn_document_drop(document, "b.x");
    skn_document_drop(document, "c.x");
    const skn_node_t *root = skn_document_root(document);
    cr_expect_eq(root->count, 2u);
    cr_expect_eq(skn_node_get(root, "c")->count, 1u);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

/* --- made in code -------------------------------------------------------- */

Test(document, can_be_made_in_code)
{
    skn_problems_t *problems = new_problems();
    skn_document_t *document = skn_document_new("a/plan", problems);
    cr_assert_not_null(document);
    cr_expect_str_eq(skn_document_folder(document), ".");
    skn_node_t *root = skn_document_edit(document);
    skn_node_t *list = skn_document_append(document, root, SKN_NODE_LIST,
                                           "list", NULL, false, problems);
    cr_assert_not_null(list);
    cr_expect_not_null(skn_document_append(document, list, SKN_NODE_SCALAR,
                                           NULL, "x", true, problems));
    const skn_node_t *got = skn_node_get(skn_document_root(document), "list");
    cr_expect_eq(got->count, 1u);
    cr_expect_str_eq(got->first->text, "x");
    cr_expect(got->first->quoted);
    cr_expect_str_eq(got->mark.origin, "a/plan");
    cr_expect_eq(got->mark.line, 0u);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}
