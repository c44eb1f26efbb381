/* test_manifests.c - tests that manifests are stored once, found, and dropped.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "topology/cluster/manifests.h"
#include "formats/text/json_text.h"

static skn_json_text_t text[3];
static char seal[3][SKN_HASH_TEXT_BYTES];
static skn_manifests_t manifests;

static void
setup(void)
{
    skn_error_t error = { 0 };
    for (int k = 0; k < 3; k++) {
        skn_json_text_add(&text[k], "{\"batch\":%d", k);
        cr_assert_eq(skn_json_text_seal(&text[k], &error), SKN_OK);
        skn_json_seal_text(text[k].bytes, text[k].count, seal[k]);
    }
}

static void
teardown(void)
{
    skn_manifests_drop(&manifests, NULL, NULL);
    cr_expect_null(manifests.first);
    cr_expect_eq(manifests.bytes, 0);
    for (int k = 0; k < 3; k++)
        skn_json_text_fini(&text[k]);
}

TestSuite(manifests, .init = setup, .fini = teardown);

static void
keep(const char *of_seal, const char *manifest)
{
    skn_manifests_keep(&manifests, of_seal, manifest);
}

static const char *
found(const char *of_seal)
{
    const char *one = skn_manifests_sealed(&manifests, of_seal);
    return one ? one : "";
}

static bool
is_second(const void *job, const char *of_seal)
{
    (void)job;
    return strcmp(of_seal, seal[1]) == 0;
}

Test(manifests, those_with_a_text_are_kept_once)
{
    keep(seal[0], text[0].bytes);
    keep(seal[1], text[1].bytes);
    keep(seal[0], text[0].bytes);
    keep(seal[2], "");
    json_t *seals = skn_manifests_seals(&manifests);
    cr_expect_eq(json_array_size(seals), 2);
    cr_expect_str_eq(found(seal[0]), text[0].bytes);
    cr_expect_str_eq(found(seal[1]), text[1].bytes);
    cr_expect_str_eq(found(seal[2]), "");
    cr_expect_eq(manifests.bytes, text[0].count + text[1].count);
    json_decref(seals);
}

/* Whoever holds another checkpoint with that seal leaves its manifest out once
 * it is known: it has to be that one. */
Test(manifests, one_that_has_another_seal_is_not_believed)
{
    keep(seal[0], text[1].bytes);
    keep(seal[0], "{}");
    keep(seal[0], "");
    keep("", text[0].bytes);
    cr_expect_null(manifests.first);
    keep(seal[0], text[0].bytes);
    cr_expect_str_eq(found(seal[0]), text[0].bytes);
}

Test(manifests, there_is_a_bound_for_all_of_them)
{
    keep(seal[0], text[0].bytes);
    manifests.bytes = SKN_MANIFESTS_BYTES_MAX - text[1].count + 1;
    keep(seal[1], text[1].bytes);
    cr_expect_str_eq(found(seal[1]), "");
    manifests.bytes--;
    keep(seal[1], text[1].bytes);
    cr_expect_str_eq(found(seal[1]), text[1].bytes);
    manifests.bytes = text[0].count + text[1].count;
}

Test(manifests, manifests_that_no_member_holds_are_removed)
{
    keep(seal[0], text[0].bytes);
    keep(seal[1], text[1].bytes);
    skn_manifests_drop(&manifests, is_second, NULL);
    cr_expect_str_eq(found(seal[0]), "");
    cr_expect_str_eq(found(seal[1]), text[1].bytes);
    cr_expect_eq(manifests.bytes, text[1].count);
}
