/* test_tally.c - tests that strings are counted in bounded memory
 * (formats/text/tally.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/tally.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
add(skn_tally_t *tally, const char *text, uint64_t group)
{
    cr_assert(skn_tally_add(tally, text, strlen(text), group));
}

/* Compares the strings that are taken, written as "text:count ". */
static void
expect_taken(const skn_tally_t *tally, uint64_t count_min, size_t most,
             const char *wanted)
{
    char got[512] = "";
    size_t taken, at = 0;
    skn_tally_entry_t *entry = skn_tally_take(tally, count_min, most, &taken);
    cr_assert_not_null(entry);
    for (size_t k = 0; k < taken; k++)
        at += (size_t)snprintf(got + at, sizeof(got) - at, "%.*s:%llu ",
                               (int)entry[k].bytes, entry[k].at,
                               (unsigned long long)entry[k].count);
    free(entry);
    cr_expect_str_eq(got, wanted);
}

Test(tally, takes_the_most_frequent_and_ties_by_bytes)
{
    skn_tally_t *tally = skn_tally_new(100);
    for (const char *text = "cabbaabca"; *text; text++)
        cr_assert(skn_tally_add(tally, text, 1, 0));
    add(tally, "", 0);
    add(tally, "bb", 0);
    add(tally, "bb", 0);
    expect_taken(tally, 1, 100, "a:4 b:3 bb:2 c:2 :1 ");
    expect_taken(tally, 2, 3, "a:4 b:3 bb:2 ");
    expect_taken(tally, 5, 3, "");
    skn_tally_destroy(&tally);
    cr_expect_null(tally);
}

Test(tally, counts_a_string_once_in_a_group)
{
    skn_tally_t *tally = skn_tally_new(100);
    add(tally, "a", 1);
    add(tally, "a", 1);
    add(tally, "b", 1);
    add(tally, "a", 2);
    add(tally, "a", 2);
    expect_taken(tally, 1, 100, "a:2 b:1 ");
    skn_tally_destroy(&tally);
}

/* However many rare strings come between, a frequent one keeps its count, and
 * memory stays bounded. */
Test(tally, forgets_the_rare_and_keeps_the_frequent)
{
    skn_tally_t *tally = skn_tally_new(64);
    char text[16];
    for (int k = 0; k < 20000; k++) {
        (void)snprintf(text, sizeof(text), "r%d", k);
        add(tally, text, 0);
        if (k % 4 == 0)
            add(tally, "often", 0);
    }
    size_t taken;
    skn_tally_entry_t *entry = skn_tally_take(tally, 1, 1000, &taken);
    cr_assert_not_null(entry);
    cr_expect_leq(taken, 64u);
    cr_assert_eq(entry[0].bytes, 5u);
    cr_expect_eq(memcmp(entry[0].at, "often", 5), 0);
    cr_expect_eq(entry[0].count, 5000u);
    free(entry);
    skn_tally_destroy(&tally);
}

/* Also where a string stands twice among those that are new, and where the rare
 * are forgotten in between. */
Test(tally, counts_together_as_one_by_one)
{
    static char text[SKN_TALLY_TOGETHER][8];
    skn_span_t span[SKN_TALLY_TOGETHER];
    skn_tally_t *one = skn_tally_new(100), *other = skn_tally_new(100);
    uint32_t state = 1;
    for (uint64_t row = 1; row <= 200; row++) {
        size_t count = row % (SKN_TALLY_TOGETHER + 1);
        for (size_t k = 0; k < count; k++) {
            state = state * 1664525u + 1013904223u;
            /* The square has small numbers more often. */
            uint32_t word = (state >> 24) * (state >> 16 & 0xff) / 64;
            (void)snprintf(text[k], sizeof(text[k]), "%u", word);
            span[k] = (skn_span_t){ text[k], strlen(text[k]) };
            cr_assert(skn_tally_add(one, text[k], span[k].bytes, row));
        }
        cr_assert(skn_tally_add_all(other, span, count, row));
    }
    size_t taken, taken_other;
    skn_tally_entry_t *left = skn_tally_take(one, 1, 1000, &taken);
    skn_tally_entry_t *right = skn_tally_take(other, 1, 1000, &taken_other);
    cr_assert(left && right && taken == taken_other);
    for (size_t k = 0; k < taken; k++) {
        cr_expect_eq(left[k].count, right[k].count);
        cr_assert_eq(left[k].bytes, right[k].bytes);
        cr_expect_eq(memcmp(left[k].at, right[k].at, left[k].bytes), 0);
    }
    free(left);
    free(right);
    skn_tally_destroy(&one);
    skn_tally_destroy(&other);
}

/* Also where the rare are forgotten while parts are added. */
Test(tally, adds_parts_and_empties_them)
{
    skn_tally_t *whole = skn_tally_new(100), *part = skn_tally_new(SIZE_MAX);
    char text[16];
    add(whole, "b", 0);
    for (const char *at = "abcab"; *at; at++)
        cr_assert(skn_tally_add(part, at, 1, 0));
    cr_assert(skn_tally_merge(whole, part));
    expect_taken(whole, 1, 100, "b:3 a:2 c:1 ");
    expect_taken(part, 1, 100, "");
    for (int turn = 0; turn < 20; turn++) {
        for (int k = 0; k < 70; k++) {
            (void)snprintf(text, sizeof(text), "r%d", 70 * turn + k);
            add(part, text, 1);
            add(part, "b", 1 + (uint64_t)k);
        }
        cr_assert(skn_tally_merge(whole, part));
    }
    expect_taken(whole, 2, 1, "b:1403 ");
    skn_tally_destroy(&whole);
    skn_tally_destroy(&part);
}
