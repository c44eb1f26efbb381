/* test_manifests.c - manifests are kept once, found, and let go.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/manifests.h"

/* Of batch 8 and batch 9; the third has no text, the fourth is told twice. */
static json_t *
message(void)
{
    return json_pack("{s[{sssisiss}{sssisiss}{sssi}{sssisiss}]}", "checkpoints",
                     "seal", "aa", "batch", 8, "layout", 1, "manifest", "A",
                     "seal", "bb", "batch", 9, "layout", 2, "manifest", "B",
                     "seal", "cc", "batch", 10, "seal", "aa", "batch", 8,
                     "layout", 1, "manifest", "Z");
}

static bool
is_bb(const void *job, const char *seal)
{
    return strcmp(seal, job) == 0;
}

Test(manifests, those_with_a_text_are_kept_once)
{
    cli_manifests_t manifests = { 0 };
    json_t *holds = message();
    cli_manifests_keep(&manifests, holds);
    cli_manifests_keep(&manifests, holds);
    json_t *seals = cli_manifests_seals(&manifests);
    cr_expect_eq(json_array_size(seals), 2);
    cr_expect_str_eq(json_string_value(cli_manifests_text(&manifests, 8, 1)),
                     "A");
    cr_expect_str_eq(json_string_value(cli_manifests_text(&manifests, 9, 2)),
                     "B");
    cr_expect_str_eq(json_string_value(cli_manifests_sealed(&manifests, "bb")),
                     "B");
    cr_expect_null(cli_manifests_sealed(&manifests, "cc"));
    cr_expect_null(cli_manifests_text(&manifests, 9, 1));
    cr_expect_null(cli_manifests_text(&manifests, 10, 0));
    json_decref(seals);
    json_decref(holds);
    cli_manifests_drop(&manifests, NULL, NULL);
    cr_expect_null(manifests.first);
}

/* Two generations that are cut alike write the same manifest, so that holders
 * of the second one leave its text out: it was in none of the orders to begin
 * from it, which nodes with empty folders need. */
Test(manifests, a_seal_that_is_known_is_known_of_every_layout)
{
    cli_manifests_t manifests = { 0 };
    json_t *holds = message();
    cli_manifests_keep(&manifests, holds);
    json_decref(holds);
    holds = json_pack("{s[{sssisi}]}", "checkpoints", "seal", "bb", "batch", 9,
                      "layout", 3);
    cli_manifests_keep(&manifests, holds);
    cli_manifests_keep(&manifests, holds);
    json_decref(holds);
    cr_expect_str_eq(json_string_value(cli_manifests_text(&manifests, 9, 3)),
                     "B");
    cr_expect_str_eq(json_string_value(cli_manifests_text(&manifests, 9, 2)),
                     "B");
    cli_manifests_drop(&manifests, NULL, NULL);
}

Test(manifests, those_that_nobody_holds_go)
{
    cli_manifests_t manifests = { 0 };
    json_t *holds = message();
    cli_manifests_keep(&manifests, holds);
    json_decref(holds);
    cli_manifests_drop(&manifests, is_bb, "bb");
    cr_expect_null(cli_manifests_text(&manifests, 8, 1));
    cr_expect_not_null(cli_manifests_text(&manifests, 9, 2));
    cli_manifests_drop(&manifests, NULL, NULL);
}

Test(manifests, a_message_of_another_kind_is_nothing)
{
    cli_manifests_t manifests = { 0 };
    json_t *other = json_pack("{ss}", "checkpoints", "x");
    cli_manifests_keep(&manifests, other);
    cli_manifests_keep(&manifests, NULL);
    cr_expect_null(manifests.first);
    json_decref(other);
}
