/* test_doubts.c - tests when failures disqualify a checkpoint. Covers
 * cli/elastic/doubts.c; real processes: tests/e2e/doubts.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/elastic/doubts.h"

Test(doubts, two_generations_have_to_fail_by_what_is_kept)
{
    cli_doubts_t doubts = { .count = 0 };
    cr_expect_not(cli_doubts_add(&doubts, "one", 3, SKN_UNAVAILABLE));
    cr_expect_not(cli_doubts_add(&doubts, "one", 4, SKN_NO_INPUT));
    cr_expect_not(cli_doubts_add(&doubts, "one", 4, SKN_BAD_DATA),
                  "of the same generation");
    cr_expect_not(cli_doubts_add(&doubts, "two", 5, SKN_BAD_DATA));
    cr_expect_not(cli_doubts_add(&doubts, "one", 6, SKN_NO_INPUT), "anew");
    cr_expect(cli_doubts_add(&doubts, "one", 7, SKN_NO_INPUT));
    cr_expect_eq(doubts.count, 1);
    cr_expect_str_eq(doubts.seal[0], "one");
    cr_expect_not(cli_doubts_add(&doubts, "", 8, SKN_NO_INPUT), "of the seed");
    cr_expect_not(cli_doubts_add(&doubts, "", 9, SKN_NO_INPUT));
}

Test(doubts, there_is_an_end_of_them)
{
    cli_doubts_t doubts = { .count = 0 };
    char seal[16];
    for (uint64_t k = 0; k < 100; k++) {
        (void)snprintf(seal, sizeof(seal), "%lu", (unsigned long)(k / 2));
        (void)cli_doubts_add(&doubts, seal, k, SKN_BAD_DATA);
    }
    cr_expect_eq(doubts.count, CLI_DOUBTS_MAX);
}
