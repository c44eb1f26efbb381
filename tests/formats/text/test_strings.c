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

/* So many that some have a slot's half of the hash in common. */
#define MANY 300000u

Test(strings, keep_their_numbers_when_there_are_many)
{
    skn_strings_t strings = { 0 };
    char text[16];
    for (uint32_t k = 0; k < MANY; k++) {
        (void)snprintf(text, sizeof(text), "s%u", k * 7919u);
        cr_assert_eq(add(&strings, text), k);
    }
    for (uint32_t k = 0; k < MANY; k++) {
        size_t bytes;
        uint32_t number;
        (void)snprintf(text, sizeof(text), "s%u", k * 7919u);
        const skn_span_t span = { text, strlen(text) };
        cr_assert_eq(skn_strings_find(&strings, text, span.bytes), k);
        skn_strings_find_all(&strings, &span, 1, &number);
        cr_assert_eq(number, k);
        const char *at = skn_strings_at(&strings, k, &bytes);
        cr_assert(bytes == span.bytes && memcmp(at, text, bytes) == 0);
    }
    skn_strings_fini(&strings);
}

/* Of each length there is the string of `a`s, and for each of its bytes one
 * that differs there. */
Test(strings, differ_in_any_byte)
{
    skn_strings_t strings = { 0 };
    char text[40];
    uint32_t count = 0;
    for (size_t bytes = 0; bytes <= sizeof(text); bytes++)
        for (size_t at = 0; at <= bytes; at++) {
            memset(text, 'a', sizeof(text));
            if (at < bytes)
                text[at] = 'b';
            cr_assert_eq(skn_strings_find(&strings, text, bytes),
                         SKN_STRINGS_NONE);
            cr_assert_eq(skn_strings_add(&strings, text, bytes), count++);
        }
    skn_strings_fini(&strings);
}

Test(strings, are_found_together_as_one_by_one)
{
    static const size_t counts[] = { 0, 1, 31, 32, 33, 64, 65, 200 };
    static char text[200][8];
    skn_strings_t strings = { 0 };
    skn_span_t span[200];
    uint32_t number[200];
    for (uint32_t k = 0; k < 200; k++) {
        (void)snprintf(text[k], sizeof(text[k]), "s%u", k % 150);
        span[k] = (skn_span_t){ text[k], strlen(text[k]) };
    }
    skn_strings_find_all(&strings, span, 200, number);
    for (uint32_t k = 0; k < 200; k++)
        cr_assert_eq(number[k], SKN_STRINGS_NONE);
    for (uint32_t k = 0; k < 150; k += 2)
        (void)add(&strings, text[k]);
    for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
        memset(number, 0x55, sizeof(number));
        skn_strings_find_all(&strings, span, counts[n], number);
        for (uint32_t k = 0; k < 200; k++)
            cr_assert_eq(number[k], k >= counts[n]
                                        ? 0x55555555u
                                        : skn_strings_find(&strings, text[k],
                                                           span[k].bytes));
    }
    skn_strings_fini(&strings);
}
