/* test_values.c - tests mappings against tables: their values, and the messages
 * on wrong ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "topology/config/values.h"

static const skn_option_t options[] = {
    { "rows", SKN_OPTION_INT, "64", 1, 65536, NULL, "rows of a batch" },
    { "offset", SKN_OPTION_INT, "-1", (double)INT64_MIN, (double)INT64_MAX,
      NULL, "any number" },
    { "memory", SKN_OPTION_INT, "1GiB", 1, (double)INT64_MAX, NULL, "room" },
    { "cache_bytes", SKN_OPTION_INT, "0", 0, 0, NULL, "no limit" },
    { "rate", SKN_OPTION_REAL, "1e-3", 0, 1, NULL, "learning rate" },
    { "scale", SKN_OPTION_REAL, "1", 0, DBL_MAX, NULL, "factor" },
    { "shuffle", SKN_OPTION_BOOL, "true", 0, 0, NULL, "mix the lines" },
    { "title", SKN_OPTION_TEXT, "\"\"", 0, 0, NULL, "a name" },
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL, "the file to read" },
    { "optimizer", SKN_OPTION_CHOICE, "adam", 0, 0, "adam|sgd|adagrad",
      "update rule" },
    { NULL, 0, NULL, 0, 0, NULL, NULL }
};
enum {
    ROWS,
    OFFSET,
    MEMORY,
    CACHE,
    RATE,
    SCALE,
    SHUFFLE,
    TITLE,
    PATH,
    OPTIMIZER,
    COUNT
};

static skn_problems_t *problems;
static skn_document_t *document;
static skn_value_t values[COUNT];

static void
setup(void)
{
    problems = skn_problems_new(NULL);
    cr_assert_not_null(problems);
}

static void
teardown(void)
{
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}

TestSuite(values, .init = setup, .fini = teardown);

static skn_status_t
check(const char *text)
{
    static const char *const others[] = { "layers", NULL };
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    setup();
    document = skn_document_parse(text, strlen(text), "conf/x.yaml", problems);
    cr_assert_not_null(document, "%s: %s", text,
                       skn_problems_text(problems, 0));
    const skn_node_t *root = skn_document_root(document);
    return skn_values_check(document, root, options, others, "train",
                            root->mark, values, problems);
}

static void
expect_refused(const char *text, const char *want, const char *hint)
{
    cr_expect_eq(check(text), SKN_BAD_CONFIG, "%s", text);
    cr_expect_eq(skn_problems_count(problems), 1u, "%s", text);
    cr_expect_str_eq(skn_problems_text(problems, 0), want);
    cr_expect_str_eq(skn_problems_hint_text(problems, 0), hint, "%s: %s", text,
                     skn_problems_hint_text(problems, 0));
}

Test(values, come_from_the_fallbacks_in_the_order_of_the_table)
{
    cr_expect_eq(check("path: a"), SKN_OK);
    for (size_t k = 0; k < COUNT; k++)
        cr_expect_eq(values[k].option, &options[k]);
    cr_expect_eq(values[ROWS].number, 64);
    cr_expect_eq(values[OFFSET].number, -1);
    cr_expect_eq(values[MEMORY].number, (int64_t)1 << 30);
    cr_expect_eq(values[CACHE].number, 0);
    cr_expect_eq(values[RATE].real, 1e-3);
    cr_expect_eq(values[SCALE].real, 1.0);
    cr_expect(values[SHUFFLE].truth);
    cr_expect_str_eq(values[TITLE].text, "");
    cr_expect_str_eq(values[OPTIMIZER].text, "adam");
    cr_expect_str_eq(values[RATE].text, "1e-3");
}

Test(values, are_read_by_their_type)
{
    cr_expect_eq(check("{rows: 65536, offset: -9223372036854775808, "
                       "memory: 8GiB, cache_bytes: 3KiB, rate: 1E-1, "
                       "scale: 1.7976931348623157e308, shuffle: false, "
                       "title: 12, path: p, optimizer: \"sgd\"}"),
                 SKN_OK, "%s", skn_problems_text(problems, 0));
    cr_expect_eq(values[ROWS].number, 65536);
    cr_expect_eq(values[OFFSET].number, INT64_MIN);
    cr_expect_eq(values[MEMORY].number, (int64_t)8 << 30);
    cr_expect_eq(values[CACHE].number, 3072);
    cr_expect_eq(values[RATE].real, 0.1);
    cr_expect_eq(values[SCALE].real, DBL_MAX);
    cr_expect_not(values[SHUFFLE].truth);
    cr_expect_str_eq(values[TITLE].text, "12");
    cr_expect_str_eq(values[PATH].text, "conf/p");
    cr_expect_str_eq(values[OPTIMIZER].text, "sgd");
}

Test(values, are_looked_up_by_name)
{
    cr_expect_eq(check("path: a"), SKN_OK);
    cr_expect_eq(skn_values_get(options, values, "rate"), &values[RATE]);
    cr_expect_null(skn_values_get(options, values, "rat"));
    cr_expect_null(skn_values_get(NULL, values, "rate"));
    cr_expect_eq(skn_values_count(options), (size_t)COUNT);
    cr_expect_eq(skn_values_count(NULL), 0u);
}

Test(values, join_paths_to_the_folder_of_the_file)
{
    cr_expect_eq(check("path: data/a.txt"), SKN_OK);
    cr_expect_str_eq(values[PATH].text, "conf/data/a.txt");
    cr_expect_eq(check("path: /data/a.txt"), SKN_OK);
    cr_expect_str_eq(values[PATH].text, "/data/a.txt");
    cr_expect_eq(skn_document_set(document, "path=b.txt", problems), SKN_OK);
    const skn_node_t *root = skn_document_root(document);
    cr_expect_eq(skn_values_check(document, root, options, NULL, "train",
                                  root->mark, values, problems),
                 SKN_OK);
    cr_expect_str_eq(values[PATH].text, "b.txt");
}

Test(values, of_unknown_names_are_refused_with_the_nearest_name)
{
    expect_refused("path: a\nrow: 1\n",
                   "conf/x.yaml:2:1: unknown option 'row' of train",
                   "did you mean 'rows'?");
    expect_refused("path: a\nlayer: 1\n",
                   "conf/x.yaml:2:1: unknown option 'layer' of train",
                   "did you mean 'layers'?");
    expect_refused("path: a\nfrobnicate: 1\n",
                   "conf/x.yaml:2:1: unknown option 'frobnicate' of train",
                   "it has rows, offset, memory, cache_bytes, rate, scale, "
                   "shuffle, title, path, optimizer, layers");
    cr_expect_eq(check("path: a\nlayers: [1]\n"), SKN_OK);
}

Test(values, that_are_missing_are_named_with_their_help)
{
    expect_refused("rows: 1",
                   "conf/x.yaml:1:1: option 'path' of train is missing",
                   "path: the file to read");
    expect_refused("", "conf/x.yaml:1:1: option 'path' of train is missing",
                   "path: the file to read");
}

Test(values, of_the_wrong_type_are_refused_with_what_was_expected)
{
    static const char *const rows[] = { "abc",  "1.5", "1_000", "4Ki", "8GiB",
                                        "0x10", "010", "+1",    "--",  "1 " };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        char text[64], want[128];
        cr_assert_not_null(rows[k]);
        size_t length = strcspn(rows[k], " ");
        (void)snprintf(text, sizeof(text), "{path: a, rows: %s}", rows[k]);
        (void)snprintf(want, sizeof(want),
                       "conf/x.yaml:1:17: option 'rows' of train must be an "
                       "integer, found '%.*s'",
                       (int)length, rows[k]);
        if (strcmp(rows[k], "1 ") == 0)
            cr_expect_eq(check(text), SKN_OK);
        else
            expect_refused(text, want, "");
    }
    expect_refused("{path: a, rows: '1'}",
                   "conf/x.yaml:1:17: option 'rows' of train must be an "
                   "integer without quotes, found '1'",
                   "");
    expect_refused("{path: a, rows: [1]}",
                   "conf/x.yaml:1:17: option 'rows' of train must be an "
                   "integer, found a list",
                   "");
    expect_refused("{path: a, rows: }",
                   "conf/x.yaml:1:11: option 'rows' of train must be an "
                   "integer, found nothing",
                   "");
}

Test(values, of_sizes_and_reals_are_refused_with_what_was_expected)
{
    expect_refused("{path: a, memory: 8GB}",
                   "conf/x.yaml:1:19: option 'memory' of train must be an "
                   "integer or a size such as 8GiB, found '8GB'",
                   "");
    expect_refused("{path: a, memory: 9999999999GiB}",
                   "conf/x.yaml:1:19: option 'memory' of train must be at "
                   "most 8388607TiB, found '9999999999GiB'",
                   "");
    expect_refused("{path: a, rate: fast}",
                   "conf/x.yaml:1:17: option 'rate' of train must be a "
                   "number, found 'fast'",
                   "");
    expect_refused("{path: a, rate: .nan}",
                   "conf/x.yaml:1:17: option 'rate' of train must be a "
                   "number, found '.nan'",
                   "");
    expect_refused("{path: a, scale: 1e999}",
                   "conf/x.yaml:1:18: option 'scale' of train must be a "
                   "number, found '1e999'",
                   "");
}

Test(values, of_truths_texts_and_choices_are_refused_with_what_was_expected)
{
    expect_refused("{path: a, shuffle: yes}",
                   "conf/x.yaml:1:20: option 'shuffle' of train must be true "
                   "or false, found 'yes'",
                   "");
    expect_refused("{path: a, shuffle: 'true'}",
                   "conf/x.yaml:1:20: option 'shuffle' of train must be true "
                   "or false without quotes, found 'true'",
                   "");
    expect_refused("{path: {a: b}}",
                   "conf/x.yaml:1:8: option 'path' of train must be a path, "
                   "found a mapping",
                   "");
    expect_refused("{path: a, title: ~}",
                   "conf/x.yaml:1:18: option 'title' of train must be text, "
                   "found nothing",
                   "");
    expect_refused("{path: a, optimizer: adm}",
                   "conf/x.yaml:1:22: option 'optimizer' of train must be one "
                   "of adam, sgd, adagrad, found 'adm'",
                   "did you mean 'adam'?");
    expect_refused("{path: a, optimizer: [adam]}",
                   "conf/x.yaml:1:22: option 'optimizer' of train must be a "
                   "word, found a list",
                   "");
}

/* Whole numbers are compared, and told, as such: as a double 2^53 + 1 is 2^53.
 */
Test(values, of_many_digits_are_refused_with_the_limit_in_digits)
{
    static const skn_option_t seed = { "seed", SKN_OPTION_INT,     "1",
                                       0,      9007199254740992.0, NULL,
                                       "" };
    static const struct {
        const char *text, *expected; /* NULL: it is good */
    } cases[] = {
        { "9007199254740992", NULL },
        { "9007199254740993", "in 0..9007199254740992" },
        { "9223372036854775807", "in 0..9007199254740992" },
        { "18446744073709551615", "in 0..9007199254740992" },
        { "-18446744073709551615", "in 0..9007199254740992" },
        { "-1", "in 0..9007199254740992" },
    };
    skn_value_t value;
    char expected[256];
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        bool good = skn_value_parse(&seed, cases[k].text, false, &value,
                                    expected, sizeof(expected));
        cr_expect_eq(good, cases[k].expected == NULL, "%s", cases[k].text);
        if (!good)
            cr_expect_str_eq(expected, cases[k].expected);
    }
    expect_refused("{path: a, rows: 99999999999999999999}",
                   "conf/x.yaml:1:17: option 'rows' of train must be in "
                   "1..65536, found '99999999999999999999'",
                   "");
    expect_refused("{path: a, offset: 9223372036854775808}",
                   "conf/x.yaml:1:19: option 'offset' of train must be at most "
                   "9223372036854775807, found '9223372036854775808'",
                   "");
}

Test(values, of_paths_are_refused_where_nothing_makes_no_sense)
{
    static const skn_option_t cache = { "cache", SKN_OPTION_PATH, "auto", 0,
                                        0,       "auto|none",     "" };
    static const skn_option_t test = { "test", SKN_OPTION_PATH, "", 0, 0, NULL,
                                       "" };
    skn_value_t value;
    char expected[256];
    expect_refused("path: ''",
                   "conf/x.yaml:1:7: option 'path' of train must be a path, "
                   "found ''",
                   "");
    cr_expect_not(
        skn_value_parse(&cache, "", true, &value, expected, sizeof(expected)));
    cr_expect(
        skn_value_parse(&test, "", true, &value, expected, sizeof(expected)));
}

/* What -o was given: document_set.c. */
Test(values, of_the_command_line_are_text_as_it_was_typed)
{
    static const char *const paths[] = { "a #b", " - c ", "d: e", "[f]",
                                         "{g}",  "&h",    "~",    "h\ni" };
    for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++) {
        char assignment[32];
        cr_expect_eq(check("path: x"), SKN_OK);
        (void)snprintf(assignment, sizeof(assignment), "path=%s", paths[k]);
        cr_expect_eq(skn_document_set(document, assignment, problems), SKN_OK);
        const skn_node_t *root = skn_document_root(document);
        cr_expect_eq(skn_values_check(document, root, options, NULL, "train",
                                      root->mark, values, problems),
                     SKN_OK);
        cr_expect_str_eq(values[PATH].text, paths[k]);
    }
}

Test(values, out_of_range_are_refused_with_the_range)
{
    expect_refused("{path: a, rows: 0}",
                   "conf/x.yaml:1:17: option 'rows' of train must be in "
                   "1..65536, found '0'",
                   "");
    expect_refused("{path: a, rows: 65537}",
                   "conf/x.yaml:1:17: option 'rows' of train must be in "
                   "1..65536, found '65537'",
                   "");
    expect_refused("{path: a, memory: 0}",
                   "conf/x.yaml:1:19: option 'memory' of train must be at "
                   "least 1, found '0'",
                   "");
    expect_refused("{path: a, rate: 1.0001}",
                   "conf/x.yaml:1:17: option 'rate' of train must be in 0..1, "
                   "found '1.0001'",
                   "");
    expect_refused("{path: a, scale: -1}",
                   "conf/x.yaml:1:18: option 'scale' of train must be at "
                   "least 0, found '-1'",
                   "");
}

Test(values, of_too_much_text_are_refused)
{
    char text[SKN_TEXT_MAX + 32] = "path: ";
    memset(text + 6, 'a', SKN_TEXT_MAX - 1);
    cr_expect_eq(check(text), SKN_OK);
    text[6 + SKN_TEXT_MAX - 1] = 'a';
    expect_refused(text,
                   "conf/x.yaml:1:7: option 'path' of train must be shorter "
                   "than 4096 bytes, found "
                   "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'",
                   "");
}

Test(values, are_all_judged_in_one_pass)
{
    cr_expect_eq(check("{row: 1, rate: x, shuffle: 3}"), SKN_BAD_CONFIG);
    cr_expect_eq(skn_problems_count(problems), 4u);
    skn_error_t error = { 0 };
    cr_expect_eq(skn_problems_error(problems, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "conf/x.yaml:1:1: option 'path' of train is "
                                 "missing (and 3 more)");
}

Test(values, need_a_mapping_or_nothing)
{
    static const skn_option_t none[] = { { NULL, 0, NULL, 0, 0, NULL, NULL } };
    cr_expect_eq(check("{path: a, layers: [x], title: b}"), SKN_OK);
    const skn_node_t *root = skn_document_root(document);
    const skn_node_t *layers = skn_node_get(root, "layers");
    cr_expect_eq(skn_values_check(document, layers, none, NULL, "layers",
                                  root->mark, NULL, problems),
                 SKN_BAD_CONFIG);
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "conf/x.yaml:1:19: layers must be a mapping, found a "
                     "list");
    cr_expect_eq(skn_values_check(document, NULL, none, NULL, "layers",
                                  root->mark, NULL, problems),
                 SKN_OK);
    cr_expect_eq(skn_values_check(document, root, NULL, NULL, "nobody",
                                  root->mark, NULL, problems),
                 SKN_BAD_CONFIG);
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "conf/x.yaml:1:2: unknown option 'path' of nobody");
    cr_expect_str_eq(skn_problems_hint_text(problems, 0), "it has no options");
}

Test(values, of_a_wrong_table_are_the_fault_of_the_table)
{
    static const skn_option_t wrong[] = {
        { "rows", SKN_OPTION_INT, "many", 1, 9, NULL, NULL },
        { "need", SKN_OPTION_INT, NULL, 1, 9, NULL, NULL },
        { NULL, 0, NULL, 0, 0, NULL, NULL }
    };
    skn_mark_t place = { "x", 0, 0 };
    cr_expect_eq(check("path: a"), SKN_OK);
    cr_expect_eq(skn_values_check(document, NULL, wrong, NULL, "kind 'k'",
                                  place, values, problems),
                 SKN_BAD_CONFIG);
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "x: the fallback 'many' of option 'rows' of kind 'k' "
                     "must be an integer: its table is wrong");
    cr_expect_str_eq(skn_problems_text(problems, 1),
                     "x: option 'need' of kind 'k' is missing");
    cr_expect_str_eq(skn_problems_hint_text(problems, 1), "need: an integer");
}

Test(values, unsigned_numbers_are_plain_digits)
{
    uint64_t number = 0;
    cr_expect(skn_value_unsigned("18446744073709551615", &number));
    cr_expect_eq(number, UINT64_MAX);
    cr_expect(skn_value_unsigned("0", &number));
    cr_expect_eq(number, 0u);
    static const char *const bad[] = {
        "", "-1", "+1", "01", "1e3", " 1", "1x", "18446744073709551616"
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        cr_expect_not(skn_value_unsigned(bad[k], &number), "%s", bad[k]);
}
