/* test_held.c - tests the lists of checkpoints that nodes hold, manifests that
 * are forwarded, and the choice of the checkpoint from which to continue.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/held.h"

#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef"
#define OTHER_ID "f123456789abcdef0123456789abcdef"

static char parent[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 8], away[TEMP_FOLDER_BYTES + 8];

static void
setup(void)
{
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    (void)snprintf(away, sizeof(away), "%s/away", parent);
}

static void
teardown(void)
{
    temp_folder_remove(parent);
}

TestSuite(held, .init = setup, .fini = teardown);

/* One checkpoint of four files in `path`. */
static void
write_one(uint64_t batch, uint64_t generation, const char *metadata)
{
    skn_error_t error = { 0 };
    char file[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(file, sizeof(file), "%s/run.json", path);
    skn_run_options_t options = { .resume = access(file, F_OK) == 0,
                                  .run_id = ID,
                                  .config_text = "skein: 1\n" };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_checkpoint_writer_t *writer =
        skn_checkpoint_begin(run, batch, generation, &error);
    cr_assert(writer, "%s", error.text);
    cr_assert_eq(fixture_write_hidden(writer, 2, batch, &error), SKN_OK);
    cr_assert_eq(fixture_write_output(writer, 2, batch, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, metadata, 9, NULL, &error),
                 SKN_OK, "%s", error.text);
    skn_run_folder_close(&run);
}

static void
list(const char *run_path, skn_held_t **held, size_t *count)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_held_list(run_path, held, count, &error), SKN_OK, "%s",
                 error.text);
}

static char *
file_of(const char *run_path, const char *name)
{
    static char file[2 * TEMP_FOLDER_BYTES];
    (void)snprintf(file, sizeof(file), "%s/%s", run_path, name);
    return file;
}

Test(held, a_folder_that_is_not_there_holds_nothing)
{
    skn_held_t *held = NULL;
    size_t count = 9;
    list(path, &held, &count);
    cr_expect_eq(count, 0);
    skn_held_free(&held, count);
    skn_held_free(&held, 0);
}

Test(held, lists_what_has_a_sound_manifest_newest_first)
{
    skn_held_t *held = NULL;
    size_t count = 0;
    write_one(5, 0, "{\"finished\":false}");
    write_one(7, 3, "{\"finished\":true}");
    write_one(7, 0, "{}"); /* an older one, which removes no newer */
    cr_assert_eq(mkdir(file_of(path, "batch-000000000009"), 0700), 0);
    list(path, &held, &count);
    cr_assert_eq(count, 3);
    cr_expect_eq(held[0].batch, 7);
    cr_expect_eq(held[0].generation, 3);
    cr_expect(held[0].finished);
    cr_expect_eq(held[1].batch, 7);
    cr_expect_eq(held[1].generation, 0);
    cr_expect_not(held[1].finished);
    cr_expect_eq(held[2].batch, 5);
    for (size_t k = 0; k < 3; k++) {
        cr_expect_str_eq(held[k].run_id, ID);
        cr_expect(skn_hash_text_good(held[k].seal));
        cr_assert_eq(held[k].file_count, 4);
        for (size_t f = 0; f < 4; f++)
            cr_expect(held[k].file[f].here);
    }
    cr_expect_str_neq(held[0].seal, held[1].seal, "other metadata");
    cr_expect_str_eq(held[0].file[0].name, "hidden.0.safetensors");
    skn_held_free(&held, count);
    cr_expect_null(held);
}

Test(held, a_file_of_another_length_is_not_here)
{
    skn_held_t *held = NULL;
    size_t count = 0;
    write_one(5, 0, "{}");
    struct stat facts;
    char *file = file_of(path, "batch-000000000005/hidden.1.safetensors");
    cr_assert_eq(stat(file, &facts), 0);
    cr_assert_eq(truncate(file, facts.st_size - 1), 0);
    cr_assert_eq(
        unlink(file_of(path, "batch-000000000005/output.0.safetensors")), 0);
    list(path, &held, &count);
    cr_assert_eq(count, 1);
    static const bool want[] = { true, false, false, true };
    for (size_t f = 0; f < 4; f++)
        cr_expect_eq(held[0].file[f].here, want[f], "%s", held[0].file[f].name);
    skn_held_free(&held, count);
}

Test(held, a_damaged_manifest_is_left_out_at_every_byte)
{
    write_one(5, 0, "{}");
    char *file = file_of(path, "batch-000000000005/manifest.json");
    int descriptor = open(file, O_RDWR);
    cr_assert_geq(descriptor, 0);
    off_t bytes = lseek(descriptor, 0, SEEK_END);
    for (off_t at = 0; at < bytes; at += 7) {
        skn_held_t *held = NULL;
        size_t count = 9;
        char old, bad;
        cr_assert_eq(pread(descriptor, &old, 1, at), 1);
        bad = (char)(old ^ 1);
        cr_assert_eq(pwrite(descriptor, &bad, 1, at), 1);
        list(path, &held, &count);
        cr_expect_eq(count, 0, "byte %d", (int)at);
        skn_held_free(&held, count);
        cr_assert_eq(pwrite(descriptor, &old, 1, at), 1);
    }
    (void)close(descriptor);
}

Test(held, a_manifest_is_given_and_adopted_elsewhere)
{
    skn_error_t error = { 0 };
    char *bytes = NULL, *again = NULL;
    size_t byte_count = 0, again_count = 0, count = 0;
    skn_held_t *held = NULL, *other = NULL;
    write_one(5, 2, "{}");
    cr_assert_eq(skn_held_manifest(path, 5, 2, &bytes, &byte_count, &error),
                 SKN_OK, "%s", error.text);
    for (int turn = 0; turn < 2; turn++)
        cr_assert_eq(skn_held_adopt(away, ID, 5, 2, bytes, byte_count, &error),
                     SKN_OK, "%s", error.text);
    list(path, &held, &count);
    list(away, &other, &count);
    cr_assert_eq(count, 1);
    cr_expect_eq(other[0].generation, 2);
    cr_expect_str_eq(other[0].seal, held[0].seal);
    cr_expect_str_eq(other[0].run_id, ID);
    for (size_t f = 0; f < 4; f++)
        cr_expect_not(other[0].file[f].here);
    cr_assert_eq(skn_held_manifest(away, 5, 2, &again, &again_count, &error),
                 SKN_OK);
    cr_expect_eq(again_count, byte_count);
    cr_expect_arr_eq(again, bytes, byte_count);
    skn_held_free(&held, 1);
    skn_held_free(&other, 1);
    free(bytes);
    free(again);
}

Test(held, adopting_leaves_files_alone_and_mends_a_manifest)
{
    skn_error_t error = { 0 };
    char *bytes = NULL;
    size_t byte_count = 0, count = 0;
    skn_held_t *held = NULL;
    write_one(5, 0, "{}");
    cr_assert_eq(skn_held_manifest(path, 5, 0, &bytes, &byte_count, &error),
                 SKN_OK);
    cr_assert_eq(
        truncate(file_of(path, "batch-000000000005/manifest.json"), 10), 0);
    cr_assert_eq(skn_held_adopt(path, ID, 5, 0, bytes, byte_count, &error),
                 SKN_OK, "%s", error.text);
    list(path, &held, &count);
    cr_assert_eq(count, 1);
    for (size_t f = 0; f < 4; f++)
        cr_expect(held[0].file[f].here);
    skn_held_free(&held, count);
    free(bytes);
}

/* The config of a folder that began with a manifest is that of its run. */
Test(held, the_config_comes_when_the_run_begins)
{
    skn_error_t error = { 0 };
    char *bytes = NULL;
    size_t byte_count = 0;
    write_one(5, 0, "{}");
    cr_assert_eq(skn_held_manifest(path, 5, 0, &bytes, &byte_count, &error),
                 SKN_OK);
    cr_assert_eq(skn_held_adopt(away, ID, 5, 0, bytes, byte_count, &error),
                 SKN_OK);
    free(bytes);
    static const char *const configs[] = { "skein: 1\n", "skein: 2\n" };
    for (size_t k = 0; k < 2; k++) {
        skn_run_options_t options = { .resume = true,
                                      .config_text = configs[k] };
        skn_run_folder_t *run =
            skn_run_folder_open(away, &options, NULL, &error);
        cr_assert(run, "%s", error.text);
        cr_expect_str_eq(skn_run_folder_config(run), "skein: 1\n");
        skn_run_folder_close(&run);
    }
}

Test(held, what_must_not_be_adopted_is_refused)
{
    skn_error_t error = { 0 };
    char *bytes = NULL, want[TEMP_FOLDER_BYTES + 80];
    size_t byte_count = 0;
    write_one(5, 0, "{}");
    cr_assert_eq(skn_held_manifest(path, 5, 0, &bytes, &byte_count, &error),
                 SKN_OK);
    cr_expect_eq(skn_held_adopt(away, ID, 6, 0, bytes, byte_count, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "batch-000000000006: the manifest belongs "
                                 "to batch 5");
    cr_expect_eq(
        skn_held_adopt(away, OTHER_ID, 5, 0, bytes, byte_count, &error),
        SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "batch-000000000005 belongs to run "
                                 "012345, not to f12345");
    cr_expect_eq(skn_held_adopt(away, ID, 5, SKN_GENERATION_MAX + 1, bytes,
                                byte_count, &error),
                 SKN_BAD_DATA);
    bytes[3] ^= 1;
    cr_expect_eq(skn_held_adopt(away, ID, 5, 0, bytes, byte_count, &error),
                 SKN_BAD_DATA);
    bytes[3] ^= 1;
    cr_expect_neq(access(away, F_OK), 0, "nothing was made");
    skn_run_options_t options = { .run_id = OTHER_ID, .config_text = "" };
    skn_run_folder_t *run = skn_run_folder_open(away, &options, NULL, &error);
    cr_assert(run);
    skn_run_folder_close(&run);
    cr_expect_eq(skn_held_adopt(away, ID, 5, 0, bytes, byte_count, &error),
                 SKN_CANNOT_CREATE);
    (void)snprintf(want, sizeof(want),
                   "%s holds run f12345 and cannot take a part of run 012345",
                   away);
    cr_expect_str_eq(error.text, want);
    free(bytes);
    cr_expect_eq(skn_held_manifest(path, 6, 0, &bytes, &byte_count, &error),
                 SKN_NO_INPUT);
    cr_expect_null(bytes);
}

/* --- the choice ---------------------------------------------------------- */

static skn_held_file_t files[8][2];

/* Entry `k` of the lists below: which of its two files are here. */
static skn_held_t
entry(size_t k, uint64_t batch, uint64_t generation, char seal, bool first,
      bool second)
{
    skn_held_t held = { .batch = batch,
                        .generation = generation,
                        .run_id = ID,
                        .file = files[k],
                        .file_count = 2 };
    held.seal[0] = seal;
    files[k][0].here = first;
    files[k][1].here = second;
    return held;
}

Test(held, the_file_that_fewest_have_says_how_many_may_go)
{
    skn_held_t a[] = { entry(0, 9, 1, 'x', true, true) };
    skn_held_t b[] = { entry(1, 9, 1, 'x', true, false) };
    skn_held_t c[] = { entry(2, 9, 1, 'x', false, true),
                       entry(3, 7, 1, 'y', true, true) };
    skn_holder_t all[] = { { a, 1 }, { b, 1 }, { c, 2 } };
    cr_expect_eq(skn_held_copies(all, 3, &a[0]), 2);
    cr_expect_eq(skn_held_copies(all, 2, &a[0]), 1);
    cr_expect_eq(skn_held_copies(all + 1, 1, &a[0]), 0);
    cr_expect_eq(skn_held_copies(all, 3, &c[1]), 1);
    cr_expect_eq(skn_held_copies(all, 0, &a[0]), 0);
}

Test(held, the_newest_that_is_whole_between_all_is_chosen)
{
    skn_held_t a[] = { entry(0, 9, 1, 'x', true, false),
                       entry(1, 7, 2, 'y', true, false),
                       entry(2, 5, 0, 'z', true, true) };
    skn_held_t b[] = { entry(3, 9, 1, 'x', true, false),
                       entry(4, 7, 2, 'y', false, true),
                       entry(5, 7, 1, 'w', true, true) };
    skn_holder_t both[] = { { a, 3 }, { b, 3 } };
    const skn_held_t *held = skn_held_choose(both, 2, ID, NULL, 0);
    cr_assert(held);
    cr_expect_eq(held->batch, 7, "nobody has the second file of 9");
    cr_expect_eq(held->generation, 2);
    held = skn_held_choose(both, 1, ID, NULL, 0);
    cr_assert(held);
    cr_expect_eq(held->batch, 5, "alone, a has only that whole");
    held = skn_held_choose(both + 1, 1, NULL, NULL, 0);
    cr_assert(held);
    cr_expect_eq(held->generation, 1);
    cr_expect_null(skn_held_choose(both, 2, OTHER_ID, NULL, 0));
    cr_expect_null(skn_held_choose(both, 0, ID, NULL, 0));
}

Test(held, files_of_two_seals_are_not_put_together)
{
    skn_held_t a[] = { entry(0, 9, 1, 'x', true, false) };
    skn_held_t b[] = { entry(1, 9, 1, 'y', false, true) };
    skn_holder_t both[] = { { a, 1 }, { b, 1 } };
    cr_expect_null(skn_held_choose(both, 2, ID, NULL, 0));
}
