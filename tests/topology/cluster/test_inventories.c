/* test_inventories.c - tests which checkpoint a generation begins from.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/inventories.h"

#include <criterion/criterion.h>
#include <string.h>

#define RUN "0123456789abcdef0123456789abcdef"
#define OLD "00000000000000000000000000000001"
#define NEW "00000000000000000000000000000002"
#define BOTH 3u

/* A checkpoint of two files, with `a` and `b`: whether they are here. */
#define ITEM(batch, seal, a, b)                                                \
    "{\"batch\":" batch ",\"layout\":2,\"seal\":\"" seal "\",\"run\":\"" RUN   \
    "\",\"finished\":false,\"files\":[[\"a.safetensors\"," a                   \
    "],[\"b.safetensors\"," b "]]}"
#define WHOLE_OLD "[" ITEM("20", OLD, "true", "true") "]"

static skn_inventories_t inventories;
static skn_error_t error;
static skn_point_t point;

static void
tear_down(void)
{
    skn_inventories_fini(&inventories);
}

TestSuite(inventories, .fini = tear_down);

static skn_status_t
take(uint32_t member, const char *checkpoints)
{
    char text[4096];
    skn_control_message_t message;
    (void)snprintf(text, sizeof(text),
                   "{\"type\":\"inventory\",\"checkpoints\":%s}", checkpoints);
    const skn_frame_t frame = { text, strlen(text) };
    cr_assert_eq(skn_control_message_read(frame, &message, &error), SKN_OK);
    skn_status_t status =
        skn_inventories_take(&inventories, member, &message.inventory, &error);
    skn_control_message_fini(&message);
    return status;
}

static skn_status_t
choose(uint64_t set)
{
    return skn_inventories_choose(&inventories, set, RUN, NULL, &point, &error);
}

/* Both hold the old checkpoint, and each half of the new one. */
static void
take_halves(void)
{
    cr_assert_eq(take(0, "[" ITEM("40", NEW, "true", "false") "," ITEM(
                             "20", OLD, "true", "true") "]"),
                 SKN_OK);
    cr_assert_eq(take(1, "[" ITEM("40", NEW, "false", "true") "," ITEM(
                             "20", OLD, "true", "true") "]"),
                 SKN_OK);
}

Test(inventories, nothing_is_chosen_where_nothing_is_held)
{
    cr_expect_eq(choose(BOTH), SKN_NO_INPUT);
    cr_assert_eq(take(0, "[]"), SKN_OK);
    cr_expect_eq(choose(BOTH), SKN_NO_INPUT);
}

Test(inventories, the_newest_that_is_whole_among_the_members_is_chosen)
{
    take_halves();
    cr_assert_eq(choose(BOTH), SKN_OK, "%s", error.text);
    cr_expect_eq(point.batch, 40);
    cr_expect_eq(point.layout, 2);
    cr_expect_eq(point.copies, 1);
    cr_expect_eq(inventories.batch, 40);
    cr_expect_str_eq(inventories.seal, NEW);
    cr_assert_eq(choose(1), SKN_OK);
    cr_expect_eq(point.batch, 20);
    cr_expect_str_eq(inventories.seal, OLD);
}

Test(inventories, a_checkpoint_that_is_nowhere_whole_is_not_chosen)
{
    cr_assert_eq(take(0, "[" ITEM("40", NEW, "true", "false") "]"), SKN_OK);
    cr_expect_eq(choose(BOTH), SKN_UNAVAILABLE);
    cr_expect_neq(error.text[0], '\0');
}

Test(inventories, one_that_cannot_be_read_is_not_chosen)
{
    take_halves();
    cr_assert_eq(choose(BOTH), SKN_OK);
    for (uint64_t generation = 5; generation <= 6; generation++)
        (void)skn_bad_checkpoints_add(&inventories.bad_checkpoints,
                                      inventories.seal, generation,
                                      SKN_BAD_DATA);
    cr_assert_eq(choose(BOTH), SKN_OK);
    cr_expect_eq(point.batch, 20);
    cr_expect_eq(point.copies, 2);
}

Test(inventories, a_later_report_replaces_the_earlier_one)
{
    take_halves();
    cr_assert_eq(take(1, WHOLE_OLD), SKN_OK);
    cr_assert_eq(choose(BOTH), SKN_OK);
    cr_expect_eq(point.batch, 20);
    cr_expect_eq(take(1, "[" ITEM("40", "short", "true", "true") "]"),
                 SKN_BAD_MESSAGE);
    cr_assert_eq(choose(BOTH), SKN_OK);
    cr_expect_eq(point.copies, 1);
}

Test(inventories, manifests_are_kept_while_somebody_holds_their_checkpoint)
{
    skn_json_text_t text = { 0 };
    char seal[SKN_HASH_TEXT_BYTES];
    skn_json_text_add(&text, "{\"batch\":40");
    cr_assert_eq(skn_json_text_seal(&text, &error), SKN_OK);
    skn_json_seal_text(text.bytes, text.count, seal);
    skn_manifests_keep(&inventories.manifests, seal, text.bytes);
    skn_json_text_fini(&text);
    cr_expect_not_null(skn_manifests_sealed(&inventories.manifests, seal));
    char list[512];
    (void)snprintf(list, sizeof(list),
                   "[{\"batch\":40,\"layout\":2,\"seal\":\"%s\",\"run\":\"" RUN
                   "\",\"finished\":false,\"files\":[]}]",
                   seal);
    cr_assert_eq(take(1, list), SKN_OK);
    skn_inventories_drop(&inventories);
    cr_expect_not_null(skn_manifests_sealed(&inventories.manifests, seal));
    cr_assert_eq(take(1, "[]"), SKN_OK);
    skn_inventories_drop(&inventories);
    cr_expect_null(skn_manifests_sealed(&inventories.manifests, seal));
}
