/* test_json_record.c - tests that a declared record is written, read back, and
 * checked field by field.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/json_record.h"
#include "formats/text/json_text.h"

/* clang-format off */
#define LEAF_FIELDS(F, L, R)                                                   \
    F(R, TEXT, name, ALWAYS, "of the leaf")                                    \
    F(R, U64, size, MAYBE, "in bytes")
#define TREE_FIELDS(F, L, R)                                                   \
    F(R, U64, count, ALWAYS, "a count")                                        \
    F(R, REAL, ratio, ALWAYS, "a ratio")                                       \
    F(R, FLAG, whole, ALWAYS, "a flag")                                        \
    F(R, TEXT, title, ALWAYS, "a text")                                        \
    F(R, TEXTS, words, ALWAYS, "texts")                                        \
    F(R, ANY, extra, MAYBE, "any value")                                       \
    F(R, U64, spare, MAYBE, "a count")                                         \
    F(R, REAL, weight, MAYBE, "a ratio")                                       \
    F(R, FLAG, shaky, MAYBE, "a flag")                                         \
    F(R, TEXT, note, MAYBE, "a text")                                          \
    L(R, leaf, leaves, ALWAYS, "leaves")
SKN_JSON_STRUCT(leaf, LEAF_FIELDS)
SKN_JSON_STRUCT(tree, TREE_FIELDS)
static SKN_JSON_RECORD(leaf, "leaf", LEAF_FIELDS)
static SKN_JSON_RECORD(tree, "tree", TREE_FIELDS)
    /* clang-format on */

    static const char usual[] =
        "{\"count\":7,\"ratio\":0.5,\"whole\":true,\"title\":\"t\","
        "\"words\":[\"a\",\"b\"],\"leaves\":[{\"name\":\"x\",\"size\":3},"
        "{\"name\":\"y\"}]}";

Test(json_record, what_is_read_is_written_again)
{
    tree_t tree;
    skn_error_t error = { 0 };
    json_t *object = skn_json_read(usual);
    cr_assert_eq(skn_json_record_read(&tree_record, object, &tree, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_eq(tree.count, 7);
    cr_expect_float_eq(tree.ratio, 0.5, 0);
    cr_expect(tree.whole);
    cr_expect_str_eq(tree.title, "t");
    cr_expect_str_eq(tree.note, "", "a text is never NULL");
    cr_expect_null(tree.extra);
    cr_expect_eq(json_array_size(tree.leaves), 2);
    json_t *again = skn_json_record_write(&tree_record, &tree);
    cr_expect(json_equal(object, again));
    json_decref(again);
    tree.note = "n";
    tree.spare = 1;
    tree.weight = -1;
    tree.shaky = true;
    tree.extra = tree.words;
    again = skn_json_record_write(&tree_record, &tree);
    cr_expect_eq(json_object_size(again), 11, "optional ones that are set");
    json_decref(again);
    json_decref(object);
}

/* Each field missing; each of every wrong type. */
Test(json_record, a_field_that_is_missing_or_of_another_type_is_named)
{
    static const char *const values[] = { "-1",   "1.5", "\"s\"", "true",
                                          "null", "{}",  "[1]",   "[{}]" };
    for (size_t k = 0; k < tree_record.field_count; k++) {
        const skn_json_field_t *field = &tree_record.fields[k];
        tree_t tree;
        skn_error_t error = { 0 };
        json_t *object = skn_json_read(usual);
        (void)json_object_del(object, field->name);
        skn_status_t status =
            skn_json_record_read(&tree_record, object, &tree, &error);
        cr_expect_eq(status, field->optional ? SKN_OK : SKN_BAD_MESSAGE, "%s",
                     field->name);
        if (!field->optional)
            cr_expect(strstr(error.text, field->name), "%s", error.text);
        size_t refused = 0;
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            (void)json_object_set_new(
                object, field->name,
                json_loads(values[v], JSON_DECODE_ANY, NULL));
            if (skn_json_record_read(&tree_record, object, &tree, &error) !=
                SKN_OK)
                refused++;
        }
        cr_expect(field->type == SKN_JSON_TYPE_ANY ? refused == 0
                                                   : refused >= 6,
                  "%s: %zu", field->name, refused);
        json_decref(object);
    }
}

Test(json_record, a_list_is_checked_to_its_last_item)
{
    static const struct {
        const char *leaves, *text;
    } cases[] = {
        { "[{\"name\":\"x\"},{}]", "leaf: the field 'name' is missing" },
        { "[{\"name\":\"x\"},5]", "leaf: not a JSON object" },
        { "[{\"name\":\"x\",\"size\":-1}]",
          "leaf: the field 'size' is not an integer from 0 up" },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        tree_t tree;
        skn_error_t error = { 0 };
        json_t *object = skn_json_read(usual);
        (void)json_object_set_new(object, "leaves",
                                  skn_json_read(cases[k].leaves));
        cr_expect_eq(skn_json_record_read(&tree_record, object, &tree, &error),
                     SKN_BAD_MESSAGE);
        cr_expect_str_eq(error.text, cases[k].text);
        json_decref(object);
    }
}

Test(json_record, unknown_fields_are_ignored_and_other_values_refused)
{
    tree_t tree;
    skn_error_t error = { 0 };
    json_t *object = skn_json_read(usual);
    (void)json_object_set_new(object, "newer", json_true());
    cr_expect_eq(skn_json_record_read(&tree_record, object, &tree, &error),
                 SKN_OK);
    cr_expect_eq(skn_json_record_read(&tree_record, NULL, &tree, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(skn_json_record_read(&tree_record, tree.words, &tree, &error),
                 SKN_BAD_MESSAGE);
    json_decref(object);
}

Test(json_record, what_is_not_utf8_is_not_written)
{
    const leaf_t leaf = { .name = "\xff" };
    cr_expect_null(skn_json_record_write(&leaf_record, &leaf));
}
