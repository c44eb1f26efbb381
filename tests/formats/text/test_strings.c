/* test_strings.c - tests that strings get numbers (formats/text/strings.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/strings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static uint32_t
add(skn_strings_t *strings, const char *text)
{
    return skn_strings_add(strings, text, strlen(text));
}

Test(strings, are_numbered_in_their_order_and_once_each)
{
    skn_strings_t strings = { 0 };
    size_t bytes;
    cr_expect_eq(skn_strings_find(&strings, "a", 1), SKN_STRINGS_NONE);
    cr_expect_eq(add(&strings, "b"), 0u);
    cr_expect_eq(add(&strings, ""), 1u);
    cr_expect_eq(add(&strings, "ba"), 2u);
    cr_expect_eq(add(&strings, "b"), 0u);
    cr_expect_eq(strings.count, 3u);
    cr_expect_eq(skn_strings_find(&strings, "", 0), 1u);
    cr_expect_eq(skn_strings_find(&strings, "a", 1), SKN_STRINGS_NONE);
    cr_expect_eq(memcmp(skn_strings_at(&strings, 2, &bytes), "ba", 2), 0);
    cr_expect_eq(bytes, 2u);
    (void)skn_strings_at(&strings, 1, &bytes);
    cr_expect_eq(bytes, 0u);
    skn_strings_fini(&strings);
    cr_expect_eq(strings.count, 0u);
}

Test(strings, have_any_bytes)
{
    skn_strings_t strings = { 0 };
    cr_expect_eq(skn_strings_add(&strings, "a\0b", 3), 0u);
    cr_expect_eq(skn_strings_add(&strings, "a\0c", 3), 1u);
    cr_expect_eq(skn_strings_add(&strings, "a", 1), 2u);
    cr_expect_eq(skn_strings_find(&strings, "a\0c", 3), 1u);
    skn_strings_fini(&strings);
}

Test(strings, an_empty_one_alone_is_somewhere)
{
    skn_strings_t strings = { 0 };
    size_t bytes = 1;
    cr_assert_eq(skn_strings_add(&strings, "", 0), 0u);
    cr_expect_not_null(skn_strings_at(&strings, 0, &bytes));
    cr_expect_eq(bytes, 0u);
    cr_expect_eq(skn_strings_find(&strings, "", 0), 0u);
    skn_strings_fini(&strings);
}

Test(strings, keep_their_numbers_when_there_are_many)
{
    skn_strings_t strings = { 0 };
    char text[16];
    for (uint32_t k = 0; k < 20000; k++) {
        (void)snprintf(text, sizeof(text), "s%u", k * 7919u);
        cr_assert_eq(add(&strings, text), k);
    }
    for (uint32_t k = 0; k < 20000; k++) {
        size_t bytes;
        (void)snprintf(text, sizeof(text), "s%u", k * 7919u);
        cr_assert_eq(skn_strings_find(&strings, text, strlen(text)), k);
        const char *at = skn_strings_at(&strings, k, &bytes);
        cr_assert(bytes == strlen(text) && memcmp(at, text, bytes) == 0);
    }
    skn_strings_fini(&strings);
}
