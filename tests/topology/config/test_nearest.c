/* test_nearest.c - tests distances between names, and which are close enough to
 * suggest.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "skein/limits.h"
#include "topology/config/nearest.h"

/* Oracle: the definition, by recursion, without a table. */
static size_t
naive(const char *a, size_t i, const char *b, size_t j)
{
    if (i == 0 || j == 0)
        return i + j;
    size_t best = naive(a, i - 1, b, j - 1) + (a[i - 1] != b[j - 1]);
    size_t gone = naive(a, i - 1, b, j) + 1;
    size_t come = naive(a, i, b, j - 1) + 1;
    best = gone < best ? gone : best;
    best = come < best ? come : best;
    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        size_t swapped = naive(a, i - 2, b, j - 2) + 1;
        best = swapped < best ? swapped : best;
    }
    return best;
}

/* The k-th word over the letters a, b, c: "", a, b, c, aa, ... */
static void
word(unsigned k, char *text)
{
    size_t length = 0;
    for (; k > 0; k = (k - 1) / 3)
        text[length++] = (char)('a' + (k - 1) % 3);
    text[length] = '\0';
}

Test(nearest, distance_matches_the_definition_on_all_short_words)
{
    char a[8], b[8];
    for (unsigned i = 0; i < 121; i++)
        for (unsigned j = 0; j < 121; j++) {
            word(i, a);
            word(j, b);
            size_t want = naive(a, strlen(a), b, strlen(b));
            cr_assert_eq(skn_nearest_distance(a, b), want, "%s %s", a, b);
        }
}

Test(nearest, distance_of_known_pairs)
{
    cr_expect_eq(skn_nearest_distance("", ""), 0u);
    cr_expect_eq(skn_nearest_distance("", "abc"), 3u);
    cr_expect_eq(skn_nearest_distance("batch_row", "batch_rows"), 1u);
    cr_expect_eq(skn_nearest_distance("unist", "units"), 1u);
    cr_expect_eq(skn_nearest_distance("kitten", "sitting"), 3u);
    cr_expect_eq(skn_nearest_distance("Name", "nAME"), 0u);
    cr_expect_eq(skn_nearest_distance("ca", "abc"), 3u);
}

Test(nearest, takes_names_up_to_the_limit)
{
    char longest[SKN_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[SKN_NAME_MAX + 1] = '\0';
    cr_expect_eq(skn_nearest_distance(longest, "a"), SIZE_MAX);
    cr_expect_eq(skn_nearest_distance("a", longest), SIZE_MAX);
    longest[SKN_NAME_MAX] = '\0';
    cr_expect_eq(skn_nearest_distance(longest, "a"), SKN_NAME_MAX - 1u);
    cr_expect_eq(skn_nearest_distance("b", longest), (size_t)SKN_NAME_MAX);
}

static const char *
best_of(const char *wanted, const char *const *names)
{
    skn_nearest_t nearest = { .wanted = wanted };
    for (; *names; names++)
        skn_nearest_offer(&nearest, *names);
    return nearest.best;
}

Test(nearest, offers_the_nearest_and_nothing_far_away)
{
    static const char *const names[] = { "batch_rows", "epochs", "rate",
                                         "x",          "window", NULL };
    cr_expect_str_eq(best_of("batch_row", names), "batch_rows");
    cr_expect_str_eq(best_of("Rate", names), "rate");
    cr_expect_str_eq(best_of("raet", names), "rate");
    cr_expect_str_eq(best_of("epoch", names), "epochs");
    cr_expect_null(best_of("kind", names));
    cr_expect_null(best_of("y", names));
    cr_expect_null(best_of("", names));
    static const char *const two[] = { "rows_a", "rows_b", NULL };
    cr_expect_str_eq(best_of("rows_c", two), "rows_a");
}
