/* test_json_text.c - tests strict reading and sealing of JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

Test(json_text, seals_against_every_changed_or_missing_byte)
{
    skn_json_text_t text = { 0 };
    skn_error_t error = { 0 };
    skn_json_text_add(&text, "{\"a\":%d", 1);
    cr_assert_eq(skn_json_text_seal(&text, NULL), SKN_OK);
    cr_assert_eq(skn_json_check_seal("x", text.bytes, text.count, &error),
                 SKN_OK, "%s", error.text);
    json_t *root = skn_json_object_parse("x", text.bytes, text.count, &error);
    cr_expect(root, "%s", error.text);
    json_decref(root);
    for (size_t at = 0; at < text.count; at++)
        for (int change = 1; change < 256; change++) {
            text.bytes[at] = (char)(text.bytes[at] ^ change);
            cr_expect_eq(skn_json_check_seal("x", text.bytes, text.count, NULL),
                         SKN_BAD_DATA, "byte %zu ^ %d", at, change);
            text.bytes[at] = (char)(text.bytes[at] ^ change);
        }
    for (size_t count = 0; count < text.count; count++)
        cr_expect_eq(skn_json_check_seal("x", text.bytes, count, NULL),
                     SKN_BAD_DATA, "%zu bytes", count);
    skn_json_text_fini(&text);
}

Test(json_text, reads_only_whole_objects_with_unique_keys)
{
    static const char *const bad[] = {
        "", "[]", "1", "{} {}", "{\"a\":1", "{\"a\":1,\"a\":2}"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_null(skn_json_object_parse("x", bad[i], strlen(bad[i]), NULL),
                       "%s", bad[i]);
}

Test(json_text, says_line_and_column)
{
    skn_error_t error = { 0 };
    cr_expect_null(
        skn_json_object_parse("f.json", "{\n \"a\": ?}", 10, &error));
    cr_expect_eq(strncmp(error.text, "f.json:2:", 9), 0, "%s", error.text);
    cr_expect_eq(error.status, SKN_BAD_DATA);
}

Test(json_text, takes_only_integers_from_zero_up)
{
    static const char json[] =
        "{\"a\":9223372036854775807,\"b\":-1,\"c\":1.0,\"d\":\"1\"}";
    json_t *root = skn_json_object_parse("x", json, strlen(json), NULL);
    uint64_t value = 0;
    cr_assert(root);
    cr_expect(skn_json_u64(root, "a", &value));
    cr_expect_eq(value, (uint64_t)INT64_MAX);
    cr_expect_not(skn_json_u64(root, "b", &value));
    cr_expect_not(skn_json_u64(root, "c", &value));
    cr_expect_not(skn_json_u64(root, "d", &value));
    cr_expect_not(skn_json_u64(root, "e", &value));
    cr_expect_null(skn_json_string(root, "a"));
    cr_expect_str_eq(skn_json_string(root, "d"), "1");
    json_decref(root);
}

Test(json_text, prints_hashes_in_canonical_order)
{
    char text[SKN_HASH_TEXT_BYTES];
    /* XXH3-128 of no bytes, from the reference implementation's own test. */
    skn_hash_text("", 0, text);
    cr_expect_str_eq(text, "99aa06d3014798d86001c324468d497f");
    cr_expect(skn_hash_text_good(text));
    cr_expect_not(skn_hash_text_good(text + 1));
    text[0] = 'A';
    cr_expect_not(skn_hash_text_good(text));
}

/* Fails from its nth call on. */
static size_t allocations_left;

static void *
allocate_some(size_t bytes)
{
    if (allocations_left > 0) {
        allocations_left--;
        return malloc(bytes);
    }
    errno = ENOMEM;
    return NULL;
}

Test(json_text, memory_that_ends_anywhere_is_no_fault_of_the_text)
{
    static const char text[] = "{\"a\":[1,-2.5,\"a string\"],\"b\":"
                               "{\"c\":true,\"long name\":\"\\u00e4\"}}";
    skn_error_t error = { 0 };
    json_t *root = NULL;
    size_t count = 0;
    json_set_alloc_funcs(allocate_some, free);
    for (; !root && count < 1000; count++) {
        allocations_left = count;
        root = skn_json_object_parse("x", text, sizeof(text) - 1, &error);
        cr_expect(root || error.status == SKN_NO_MEMORY, "after %zu: %s", count,
                  error.text);
    }
    cr_assert(root);
    cr_expect_gt(count, 10u);
    json_decref(root);
    json_set_alloc_funcs(malloc, free);
}
