/* contract_documents.c - tests that random documents can be written, read and
 * overridden.
 *
 * A generator makes trees with every sort of text that a configuration may
 * hold. For each of them, printing and parsing gives the same tree; printing
 * that gives the same text; an override is found where it was put and leaves
 * the rest alone. Seeds are printed. Covers topology/config/document.c,
 * topology/config/document_parse.c, topology/config/document_set.c and
 * topology/config/document_write.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skein/limits.h"
#include "tests/support/oracle.h"
#include "topology/config/document.h"

#define SEEDS 400
#define DEPTH_MAX 6
#define CHILDREN_MAX 5

TestSuite(contract_documents, .timeout = 60);

/* Pieces of text: what YAML takes for something else, and what needs quotes,
 * among plain words. */
static const char *const pieces[] = {
    "a",
    "units",
    "0",
    "-1",
    "1e9",
    "0x1F",
    "true",
    "false",
    "yes",
    "no",
    "null",
    "~",
    "",
    " ",
    "  two",
    "end ",
    ":",
    ": ",
    " #",
    "#",
    "- ",
    "-",
    "?",
    "? a",
    "!tag",
    "&anchor",
    "*alias",
    "<<",
    "{",
    "}",
    "[",
    "]",
    ",",
    ", ",
    "'",
    "''",
    "\"",
    "\\",
    "\\n",
    "\n",
    "\n\n",
    "\t",
    "%",
    "@",
    "`",
    "|",
    ">",
    "---",
    "...",
    "\xC3\xA9",
    "\xE2\x82\xAC",
    "\xF0\x9F\x92\xA1",
    "=",
    ".5",
    "1.5e-3",
    "64MiB",
    "a: b",
    "x # y",
    "x:y",
    "tcp://h:1",
    "../up",
    "~/home",
    "-o",
    "a.b",
    ".inf",
    ".nan",
};
#define PIECE_COUNT (sizeof(pieces) / sizeof(pieces[0]))

static void
draw_text(oracle_random_t *random, char *text, size_t room)
{
    uint32_t count = oracle_next(random) % 4;
    text[0] = '\0';
    for (uint32_t k = 0; k <= count; k++) {
        const char *piece = pieces[oracle_next(random) % PIECE_COUNT];
        size_t used = strlen(text);
        if (used + strlen(piece) < room)
            (void)snprintf(text + used, room - used, "%s", piece);
    }
}

/* A key that no sister has: text, and a number that counts. */
static void
draw_key(oracle_random_t *random, uint32_t number, char *key, size_t room)
{
    char text[64];
    draw_text(random, text, sizeof(text));
    if (oracle_next(random) % 2)
        (void)snprintf(key, room, "key_%u", number);
    else
        (void)snprintf(key, room, "%s%u", text, number);
}

static skn_document_t *made;
static skn_problems_t *problems;

static skn_node_t *
append(skn_node_t *parent, skn_node_type_t type, const char *key,
       const char *text, bool quoted)
{
    skn_node_t *node =
        skn_document_append(made, parent, type, key, text, quoted, problems);
    cr_assert(node, "%s", skn_problems_text(problems, 0));
    return node;
}

static void
draw_children(oracle_random_t *random, skn_node_t *parent, uint32_t depth)
{
    uint32_t count = oracle_next(random) % (CHILDREN_MAX + 1);
    for (uint32_t k = 0; k < count; k++) {
        char key[128], text[128];
        uint32_t sort = oracle_next(random) % 6;
        draw_key(random, k, key, sizeof(key));
        draw_text(random, text, sizeof(text));
        const char *name = parent->type == SKN_NODE_MAPPING ? key : NULL;
        if (sort == 0 && depth < DEPTH_MAX)
            draw_children(random,
                          append(parent, SKN_NODE_MAPPING, name, "", false),
                          depth + 1);
        else if (sort == 1 && depth < DEPTH_MAX)
            draw_children(random,
                          append(parent, SKN_NODE_LIST, name, "", false),
                          depth + 1);
        else
            (void)append(parent, SKN_NODE_SCALAR, name, text, true);
    }
}

static char *
write_out(const skn_node_t *root)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t error = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    cr_assert_eq(skn_document_write(root, file, "writing YAML", &error), SKN_OK,
                 "%s", error.text);
    cr_assert_eq(fclose(file), 0);
    return text;
}

static skn_document_t *
read_back(const char *text)
{
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "x.yaml", problems);
    cr_assert(document, "%s\nis refused: %s", text,
              skn_problems_text(problems, 0));
    return document;
}

static bool
same_tree(const skn_node_t *a, const skn_node_t *b)
{
    if (a->type != b->type || a->count != b->count)
        return false;
    if ((a->key == NULL) != (b->key == NULL) ||
        (a->key && strcmp(a->key, b->key) != 0))
        return false;
    if (a->type == SKN_NODE_SCALAR)
        return strcmp(a->text, b->text) == 0 && a->quoted == b->quoted;
    const skn_node_t *left = a->first, *right = b->first;
    for (; left && right; left = left->next, right = right->next)
        if (!same_tree(left, right))
            return false;
    return !left && !right;
}

/* As same_tree, but text that needs no quotes may have lost them. */
static bool
same_text(const skn_node_t *a, const skn_node_t *b)
{
    if (a->type != b->type || a->count != b->count ||
        (a->key && strcmp(a->key, b->key) != 0))
        return false;
    if (a->type == SKN_NODE_SCALAR)
        return strcmp(a->text, b->text) == 0 &&
               skn_node_is_null(a) == skn_node_is_null(b);
    const skn_node_t *left = a->first, *right = b->first;
    for (; left && right; left = left->next, right = right->next)
        if (!same_text(left, right))
            return false;
    return !left && !right;
}

static void
draw_document(uint64_t seed)
{
    oracle_random_t random = { seed };
    problems = skn_problems_new(NULL);
    made = skn_document_new("made", problems);
    cr_assert(problems && made);
    draw_children(&random, skn_document_edit(made), 1);
}

static void
drop_document(void)
{
    skn_document_destroy(&made);
    skn_problems_destroy(&problems);
}

Test(contract_documents, what_is_written_is_read_as_the_same_tree)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_document(seed);
        char *text = write_out(skn_document_root(made));
        skn_document_t *back = read_back(text);
        cr_assert(same_text(skn_document_root(made), skn_document_root(back)),
                  "seed %u:\n%s", (unsigned)seed, text);
        skn_document_destroy(&back);
        free(text);
        drop_document();
    }
}

Test(contract_documents, writing_what_was_read_gives_the_same_text)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_document(seed);
        char *first = write_out(skn_document_root(made));
        skn_document_t *once = read_back(first);
        char *second = write_out(skn_document_root(once));
        cr_assert_str_eq(first, second, "seed %u", (unsigned)seed);
        skn_document_t *twice = read_back(second);
        cr_assert(same_tree(skn_document_root(once), skn_document_root(twice)),
                  "seed %u", (unsigned)seed);
        skn_document_destroy(&once);
        skn_document_destroy(&twice);
        free(first);
        free(second);
        drop_document();
    }
}

/* Top keys stand in column 1, each in a line after the one before. */
Test(contract_documents, marks_lead_to_what_they_mark)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_document(seed);
        char *text = write_out(skn_document_root(made));
        skn_document_t *back = read_back(text);
        uint32_t lines = 1, line = 1;
        for (const char *at = text; *at; at++)
            lines += *at == '\n';
        for (const skn_node_t *node = skn_document_root(back)->first; node;
             node = node->next) {
            cr_assert(node->key_mark.line >= line &&
                          node->key_mark.line <= lines,
                      "seed %u: line %u", (unsigned)seed, node->key_mark.line);
            cr_assert_eq(node->key_mark.column, 1u);
            cr_assert_geq(node->mark.line, node->key_mark.line);
            line = node->key_mark.line + 1;
        }
        skn_document_destroy(&back);
        free(text);
        drop_document();
    }
}

/* --- overrides ------------------------------------------------------------ */

static const skn_node_t *
find(const skn_document_t *document, const char *const *path, size_t depth)
{
    const skn_node_t *node = skn_document_root(document);
    for (size_t k = 0; k < depth && node; k++)
        node = skn_node_get(node, path[k]);
    return node;
}

/* A new mapping of random depth is made on the way, and found again. */
Test(contract_documents, an_override_is_found_where_it_was_put)
{
    static const char *const words[] = { "alpha", "beta", "gamma", "delta",
                                         "epsilon" };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        oracle_random_t random = { seed * 77 };
        const char *path[4];
        char word[256] = "", number[32];
        size_t depth = 1 + oracle_next(&random) % 4;
        draw_document(seed);
        uint32_t before = skn_document_root(made)->count;
        for (size_t k = 0; k < depth; k++) {
            path[k] = words[oracle_next(&random) % 5];
            (void)snprintf(word + strlen(word), sizeof(word) - strlen(word),
                           "%s%s", k ? "." : "", path[k]);
        }
        (void)snprintf(number, sizeof(number), "%u", oracle_next(&random));
        (void)snprintf(word + strlen(word), sizeof(word) - strlen(word), "=%s",
                       number);
        cr_assert_eq(skn_document_set(made, word, problems), SKN_OK, "%s: %s",
                     word, skn_problems_text(problems, 0));
        const skn_node_t *node = find(made, path, depth);
        cr_assert(node, "seed %u: %s", (unsigned)seed, word);
        cr_expect_str_eq(node->text, number);
        cr_expect_eq(node->mark.line, 0u);
        cr_expect_eq(skn_document_root(made)->count, before + 1);
        drop_document();
    }
}

/* The value of an override is YAML: what prints as a value can be set. */
Test(contract_documents, every_text_can_be_set_as_a_value)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        oracle_random_t random = { seed * 131 };
        char text[128], *value = NULL, *word = NULL;
        size_t bytes = 0;
        draw_text(&random, text, sizeof(text));
        FILE *file = open_memstream(&value, &bytes);
        skn_document_write_text(text, true, file);
        cr_assert_eq(fclose(file), 0);
        draw_document(0);
        cr_assert(asprintf(&word, "some.place=%s", value) >= 0);
        cr_assert_eq(skn_document_set(made, word, problems), SKN_OK,
                     "seed %u: %s: %s", (unsigned)seed, word,
                     skn_problems_text(problems, 0));
        static const char *const path[] = { "some", "place" };
        cr_expect_str_eq(find(made, path, 2)->text, text, "seed %u: %s",
                         (unsigned)seed, word);
        drop_document();
        free(word);
        free(value);
    }
}

/* Setting twice is setting the last one; order of others does not matter. */
Test(contract_documents, independent_overrides_commute)
{
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        char *text[2];
        for (int k = 0; k < 2; k++) {
            static const char *const words[2][3] = {
                { "one.a=1", "two.b=2", "one.c={ d: [3] }" },
                { "two.b=7", "one.a=1", "two.b=2" },
            };
            draw_document(seed);
            for (int w = 0; w < 3; w++)
                cr_assert_eq(skn_document_set(made, words[k][w], problems),
                             SKN_OK);
            if (k == 1)
                cr_assert_eq(
                    skn_document_set(made, "one.c={ d: [3] }", problems),
                    SKN_OK);
            static const char *const a[] = { "one", "a" };
            static const char *const b[] = { "two", "b" };
            static const char *const d[] = { "one", "c", "d" };
            cr_expect_str_eq(find(made, a, 2)->text, "1");
            cr_expect_str_eq(find(made, b, 2)->text, "2");
            cr_expect_str_eq(find(made, d, 3)->first->text, "3");
            text[k] = write_out(find(made, a, 1));
            drop_document();
        }
        cr_expect_str_eq(text[0], text[1], "seed %u", (unsigned)seed);
        free(text[0]);
        free(text[1]);
    }
}

/* --- descriptions --------------------------------------------------------- */

/* What stands in a sentence is short, and never torn in a character. */
Test(contract_documents, a_description_is_short_text)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_document(seed);
        for (const skn_node_t *node = skn_document_root(made)->first; node;
             node = node->next) {
            char text[64];
            cr_assert_eq(skn_node_describe(node, text, sizeof(text)), text);
            size_t length = strlen(text);
            cr_expect_gt(length, 0u);
            cr_expect_lt(length, 48u);
            /* A continuation byte never stands behind the closing quote. */
            if (node->type == SKN_NODE_MAPPING)
                cr_expect_str_eq(text, "a mapping");
            else if (node->type == SKN_NODE_LIST)
                cr_expect_str_eq(text, "a list");
            else if (!skn_node_is_null(node))
                cr_expect(text[0] == '\'' && text[length - 1] == '\'', "%s",
                          text);
        }
        drop_document();
    }
}
