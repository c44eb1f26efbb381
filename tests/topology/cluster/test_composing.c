/* test_composing.c - tests which salvages a run continues from, and over which
 * checkpoint.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/composing.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/temp_folder.h"

#define ID "0123456789abcdef0123456789abcdef"

static char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
static skn_error_t error;
static skn_composing_t composing;
static skn_manifests_t manifests;
static skn_held_t held = { .batch = 5, .generation = 3 };

static float rows[4] = { 1, 2, 3, 4 };

static skn_tensor_view_t
view_of(unsigned shard)
{
    return (skn_tensor_view_t){
        .piece = { "output.weight", SKN_DTYPE_F32, 2, 2, 2, 4, 2, 2 * shard,
                   0 },
        .at = (unsigned char *)rows,
        .stride_bytes = 2 * sizeof(float),
        .row_bytes = 2 * sizeof(float),
    };
}

static const char *
file_of(unsigned shard)
{
    return shard ? "output.1.safetensors" : "output.0.safetensors";
}

/* A checkpoint of batch 5 whose manifest is known, of two members' files. */
static void
setup(void)
{
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    (void)snprintf(held.run_id, sizeof(held.run_id), ID);
    skn_run_options_t options = { .run_id = ID, .config_text = "" };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 5, 3, &error);
    for (unsigned shard = 0; shard < 2; shard++) {
        skn_piece_t piece = view_of(shard).piece;
        skn_checkpoint_shard_t *file = skn_checkpoint_shard_open(
            writer, file_of(shard), &piece, 1, &error);
        cr_assert_eq(
            skn_checkpoint_shard_write(file, 0, 0, rows, sizeof(rows), &error),
            SKN_OK, "%s", error.text);
        cr_assert_eq(skn_checkpoint_shard_close(&file, &error), SKN_OK);
    }
    cr_assert_eq(
        skn_checkpoint_finish(&writer, "{\"batch\":5}", 9, NULL, &error),
        SKN_OK, "%s", error.text);
    skn_run_folder_close(&run);
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_eq(skn_held_manifest(path, 5, 3, &text, &bytes, &error), SKN_OK);
    skn_json_seal_text(text, bytes, held.seal);
    skn_manifests_keep(&manifests, held.seal, text);
    free(text);
}

static void
teardown(void)
{
    skn_composing_fini(&composing);
    skn_manifests_drop(&manifests, NULL, NULL);
    temp_folder_remove(parent);
}

TestSuite(composing, .init = setup, .fini = teardown);

/* Member `member` reports that it has salvaged shard `shard`, at `batch`. */
static void
report_salvage(uint32_t member, unsigned shard, uint64_t batch,
               uint64_t generation)
{
    char *text = NULL;
    size_t bytes = 0;
    const skn_tensor_view_t view = view_of(shard);
    skn_salvage_writer_t *writer = skn_salvage_begin(path, generation, &error);
    cr_assert_eq(
        skn_salvage_add(writer, file_of(shard), batch, &view, 1, &error),
        SKN_OK);
    cr_assert_eq(skn_salvage_finish(&writer, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(skn_salvage_read(path, &text, &bytes, &error), SKN_OK);
    skn_composing_take(&composing, member, text);
    free(text);
}

static bool
choose(uint64_t set, uint64_t generation, skn_point_t *point)
{
    *point = (skn_point_t){ .batch = 5, .layout = 3 };
    return skn_composing_choose(&composing, set, generation, &held, &manifests,
                                point);
}

Test(composing, those_of_the_set_are_laid_over_the_checkpoint)
{
    skn_point_t point;
    cr_expect_not(choose(3, 3, &point));
    report_salvage(0, 0, 9, 3);
    report_salvage(1, 1, 8, 3);
    cr_assert(choose(3, 3, &point));
    cr_expect(point.saved && point.composed);
    cr_expect_eq(point.batch, 9);
    cr_expect_eq(point.layout, 3);
    cr_assert(choose(2, 3, &point), "the first one is dead");
    cr_expect_eq(point.batch, 8);
    cr_expect_eq(composing.sum.base, 5);
    cr_expect_gt(composing.text.count, 0);
    cr_expect_not(choose(4, 3, &point));
    cr_expect(!point.composed && point.batch == 5, "as it was");
}

Test(composing, salvages_of_another_generation_are_no_use)
{
    skn_point_t point;
    report_salvage(0, 0, 9, 2);
    cr_expect_not(choose(3, 3, &point));
    report_salvage(0, 0, 9, 3);
    cr_expect(choose(3, 3, &point));
    cr_expect_not(choose(3, 4, &point));
}

Test(composing, a_member_without_a_salvage_has_none_any_more)
{
    skn_point_t point;
    report_salvage(0, 0, 9, 3);
    skn_composing_take(&composing, 0, "{}");
    cr_expect_not(choose(3, 3, &point), "what it sent last is damaged");
    report_salvage(0, 0, 9, 3);
    skn_composing_take(&composing, 0, "");
    cr_expect_not(choose(3, 3, &point));
}

/* A checkpoint of the same batch and layout, and not the same. */
Test(composing, the_checkpoint_is_known_by_its_seal)
{
    skn_point_t point;
    report_salvage(0, 0, 9, 3);
    held.seal[0] ^= 1;
    cr_expect_not(choose(3, 3, &point));
    held.seal[0] ^= 1;
    cr_expect(choose(3, 3, &point));
}

Test(composing, without_the_manifest_of_the_checkpoint_nothing_is_composed)
{
    skn_point_t point;
    report_salvage(0, 0, 9, 3);
    skn_manifests_drop(&manifests, NULL, NULL);
    cr_expect_not(choose(3, 3, &point));
}
