/* test_ask.c - tests that words become features that skein predict reads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/elastic/ask.h"

static const char *const words[] = { "ant", "bird", "cat", "dog" };
static const skn_names_t names = { 4, words };

static void
expect(const char *question, const char *want)
{
    char line[256];
    cli_ask_features(&names, question, line, sizeof(line));
    cr_expect_str_eq(line, want, "%s: %s", question, line);
}

Test(ask, words_are_looked_up_and_sorted)
{
    expect("dog", "3:1.0000");
    expect("a Dog, a bird; the dog!", "1:0.7071 3:0.7071");
    expect("cat ant bird dog", "0:0.5000 1:0.5000 2:0.5000 3:0.5000");
}

Test(ask, what_is_not_known_is_left_out)
{
    expect("", "");
    expect("  ,;", "");
    expect("zebra", "");
    expect("zebra cat", "2:1.0000");
}

Test(ask, features_pass_as_they_are)
{
    expect("12:.5 40:.1", "12:.5 40:.1");
}

Test(ask, a_line_is_never_longer_than_its_room)
{
    char line[12];
    cli_ask_features(&names, "ant bird cat dog", line, sizeof(line));
    cr_expect_lt(strlen(line), sizeof(line));
}
