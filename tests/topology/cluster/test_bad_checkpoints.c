/* test_bad_checkpoints.c - tests when failures disqualify a checkpoint. Covers
 * topology/cluster/bad_checkpoints.c; real processes:
 * tests/e2e/bad_checkpoints.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "topology/cluster/bad_checkpoints.h"

Test(bad_checkpoints, two_generations_have_to_fail_by_what_is_kept)
{
    skn_bad_checkpoints_t bad_checkpoints = { .count = 0 };
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "one", 3, SKN_UNAVAILABLE));
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "one", 4, SKN_NO_INPUT));
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "one", 4, SKN_BAD_DATA),
        "of the same generation");
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "two", 5, SKN_BAD_DATA));
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "one", 6, SKN_NO_INPUT),
        "the count starts again");
    cr_expect(
        skn_bad_checkpoints_add(&bad_checkpoints, "one", 7, SKN_NO_INPUT));
    cr_expect_eq(bad_checkpoints.count, 1);
    cr_expect_str_eq(bad_checkpoints.seal[0], "one");
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "", 8, SKN_NO_INPUT),
        "of the seed");
    cr_expect_not(
        skn_bad_checkpoints_add(&bad_checkpoints, "", 9, SKN_NO_INPUT));
}

Test(bad_checkpoints, there_is_an_end_of_them)
{
    skn_bad_checkpoints_t bad_checkpoints = { .count = 0 };
    char seal[16];
    for (uint64_t k = 0; k < 100; k++) {
        (void)snprintf(seal, sizeof(seal), "%lu", (unsigned long)(k / 2));
        (void)skn_bad_checkpoints_add(&bad_checkpoints, seal, k, SKN_BAD_DATA);
    }
    cr_expect_eq(bad_checkpoints.count, SKN_BAD_CHECKPOINTS_MAX);
}
