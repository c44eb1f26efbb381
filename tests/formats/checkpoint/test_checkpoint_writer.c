/* test_checkpoint_writer.c - tests what the writer of checkpoints refuses, and
 * which files a failure leaves.
 *
 * Covers formats/checkpoint/checkpoint_shard.c too. Kills and errors at each
 * step of the file system are in tests/fault/checkpoint_crash.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#include "formats/folder/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[TEMP_FOLDER_BYTES];
static skn_run_folder_t *run;

static void
setup(void)
{
    skn_run_options_t options = { .config_text = "" };
    temp_folder_make(folder);
    run = skn_run_folder_open(folder, &options, NULL, NULL);
    cr_assert(run);
}

static void
teardown(void)
{
    skn_run_folder_close(&run);
    temp_folder_remove(folder);
}

TestSuite(checkpoint_writer, .init = setup, .fini = teardown);

static const skn_piece_t four = { "w", SKN_DTYPE_F32, 1, 4, 1, 4, 1, 0, 0 };

static bool
has(const char *name)
{
    struct stat facts;
    return fstatat(skn_run_folder_descriptor(run), name, &facts,
                   AT_SYMLINK_NOFOLLOW) == 0;
}

static uint64_t
newest(void)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    uint64_t batch = skn_checkpoint_batch(checkpoint);
    cr_expect(fixture_good(checkpoint));
    skn_checkpoint_close(&checkpoint);
    return batch;
}

Test(checkpoint_writer, refuses_bytes_out_of_turn_and_too_many)
{
    char bytes[17] = "", want[2 * TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 1, 0, &error);
    cr_assert(writer, "%s", error.text);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "s", &four, 1, &error);
    cr_assert(shard, "%s", error.text);
    cr_expect_eq(skn_checkpoint_shard_write(shard, 1, 0, bytes, 1, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(skn_checkpoint_shard_write(shard, 0, 1, bytes, 1, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(skn_checkpoint_shard_write(shard, 0, 0, bytes, 17, &error),
                 SKN_BAD_MESSAGE);
    (void)snprintf(want, sizeof(want),
                   "%s/.tmp-000000000001/s: tensor w: 17 bytes at 0, but 0 "
                   "of 16 are written",
                   folder);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_checkpoint_shard_write(shard, 0, 0, bytes, 15, &error),
                 SKN_OK);
    cr_expect_eq(skn_checkpoint_shard_write(shard, 0, 0, bytes, 1, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(skn_checkpoint_shard_write(shard, 0, 15, bytes, 0, &error),
                 SKN_OK);
    cr_expect_eq(skn_checkpoint_shard_close(&shard, &error), SKN_BAD_MESSAGE);
    cr_expect_null(shard);
    (void)snprintf(want, sizeof(want),
                   "%s/.tmp-000000000001/s: tensor w: only 15 of 16 bytes "
                   "are written",
                   folder);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_checkpoint_finish(&writer, "{}", 1, NULL, &error),
                 SKN_STORAGE);
    cr_expect_null(writer);
    cr_expect_not(has(".tmp-000000000001"));
    skn_checkpoint_abandon(&writer);
}

Test(checkpoint_writer, refuses_bad_names_and_pieces)
{
    static const char *const bad[] = { "", ".hidden", "../x", "a/b" };
    skn_error_t error = { 0 };
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 1, 0, &error);
    for (size_t i = 0; i < 4; i++)
        cr_expect_null(
            skn_checkpoint_shard_open(writer, bad[i], &four, 1, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    skn_piece_t outside = four;
    outside.row_first = 1;
    cr_expect_null(skn_checkpoint_shard_open(writer, "s", &outside, 1, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect(strstr(error.text, "/s: tensor w: 4 x 1 at (1, 0) is not a "
                                 "piece of 4 x 1"),
              "%s", error.text);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "s", NULL, 0, &error);
    cr_expect(shard, "%s", error.text);
    /* The first keeps its file. */
    cr_expect_null(skn_checkpoint_shard_open(writer, "s", NULL, 0, &error));
    cr_expect_eq(error.status, SKN_CANNOT_CREATE);
    cr_expect_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
    cr_expect_eq(skn_checkpoint_finish(&writer, "{}", 1, NULL, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_null(
        skn_checkpoint_begin(run, SKN_CHECKPOINT_BATCH_MAX + 1, 0, &error));
}

Test(checkpoint_writer, refuses_holes_open_shards_and_bad_metadata)
{
    static const char *const metadata[] = { "", "[]", "{", "{\"a\":\"\xff\"}",
                                            "{\"a\":1,\"a\":2}" };
    skn_error_t error = { 0 };
    char bytes[16] = "";
    skn_piece_t half = four;
    half.rows = 2;
    for (size_t i = 0; i < 7; i++) {
        skn_checkpoint_writer_t *writer =
            skn_checkpoint_begin(run, 1, 0, &error);
        const skn_piece_t *piece = i == 5 ? &half : &four;
        skn_checkpoint_shard_t *shard =
            skn_checkpoint_shard_open(writer, "s", piece, 1, &error);
        cr_assert(shard);
        cr_assert_eq(skn_checkpoint_shard_write(shard, 0, 0, bytes,
                                                4 * piece->rows, &error),
                     SKN_OK);
        if (i < 6)
            cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
        cr_expect_eq(skn_checkpoint_finish(&writer, i < 5 ? metadata[i] : "{}",
                                           1, NULL, &error),
                     i < 6 ? SKN_BAD_DATA : SKN_BAD_MESSAGE, "case %zu", i);
        if (i == 5)
            cr_expect(strstr(error.text, "tensor w: its pieces hold 2 of 4 "
                                         "elements"),
                      "%s", error.text);
        cr_expect_not(has("batch-000000000001"));
        cr_expect_not(has(".tmp-000000000001"));
    }
}

Test(checkpoint_writer, keeps_the_newest_and_the_best)
{
    for (uint64_t batch = 1; batch <= 6; batch++) {
        cr_assert_eq(fixture_write(run, batch, 1, 1, 2, NULL), SKN_OK);
        if (batch == 2)
            cr_assert_eq(skn_run_folder_mark_best(run, 2, 0, NULL), SKN_OK);
    }
    static const bool want[] = { false, false, true, false, false, true, true };
    for (uint64_t batch = 1; batch <= 6; batch++) {
        char name[SKN_BATCH_NAME_BYTES];
        skn_batch_name(batch, 0, name);
        cr_expect_eq(has(name), want[batch], "%s", name);
    }
    char target[32] = "";
    cr_assert_gt(readlinkat(skn_run_folder_descriptor(run), "latest", target,
                            sizeof(target) - 1),
                 0);
    cr_expect_str_eq(target, "batch-000000000006");
}

/* A written checkpoint is read by its path when a node sends its part to
 * another node, and when the weights are hashed. */
Test(checkpoint_writer, has_the_path_of_a_folder_that_was_moved)
{
    char want[2 * TEMP_FOLDER_BYTES], old[sizeof(folder)];
    memcpy(old, folder, sizeof(old));
    folder[strlen(folder) - 1] = '.'; /* mkdtemp draws no point */
    cr_assert_eq(rename(old, folder), 0);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 4, 0, NULL);
    (void)snprintf(want, sizeof(want), "%s/.tmp-000000000004", folder);
    cr_expect_str_eq(skn_checkpoint_writer_path(writer), want);
    skn_checkpoint_abandon(&writer);
}

Test(checkpoint_writer, replaces_a_checkpoint_of_the_same_batch)
{
    char path[2 * TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    cr_assert_eq(fixture_write(run, 4, 1, 1, 2, NULL), SKN_OK);
    (void)snprintf(path, sizeof(path),
                   "%s/batch-000000000004/output.0.safetensors", folder);
    cr_assert_eq(truncate(path, 10), 0);
    cr_expect_null(skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error));
    cr_assert_eq(fixture_write(run, 4, 2, 2, 2, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(newest(), 4);
    cr_expect_not(has(".tmp-000000000004"));
}

/* fallocate meets the limit at once, as it meets a full disk. */
Test(checkpoint_writer, leaves_the_old_one_alone_when_the_disk_is_full)
{
    struct rlimit limit = { 300, RLIM_INFINITY };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    skn_error_t error = { 0 };
    cr_assert_eq(fixture_write(run, 1, 1, 1, 1, NULL), SKN_OK);
    cr_assert_eq(sigaction(SIGXFSZ, &ignore, NULL), 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(fixture_write(run, 2, 1, 1, 1, &error), SKN_STORAGE);
    cr_expect(strstr(error.text, ": cannot reserve its length: File too large"),
              "%s", error.text);
    cr_expect_not(has(".tmp-000000000002"));
    limit.rlim_cur = RLIM_INFINITY;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(newest(), 1);
    cr_expect_eq(fixture_write(run, 2, 1, 1, 1, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(newest(), 2);
}

Test(checkpoint_writer, warns_when_pruning_fails_but_keeps_the_new_one)
{
    skn_error_t warning = { 0 }, error = { 0 };
    cr_assert_eq(fixture_write(run, 1, 1, 1, 1, NULL), SKN_OK);
    cr_assert_eq(symlinkat("strange", skn_run_folder_descriptor(run), "best"),
                 0);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 2, 0, &error);
    cr_assert_eq(fixture_write_hidden(writer, 1, 2, &error), SKN_OK);
    cr_assert_eq(fixture_write_output(writer, 1, 2, &error), SKN_OK);
    cr_expect_eq(
        skn_checkpoint_finish(&writer, "{\"epoch\": 1.5}", 1, &warning, &error),
        SKN_OK);
    cr_expect_eq(warning.status, SKN_BAD_DATA);
    cr_expect(strstr(warning.text, "/best does not name a checkpoint"), "%s",
              warning.text);
    cr_expect_eq(newest(), 2);
    cr_expect(has("batch-000000000001"));
}

/* Else a run on a file system without links would fill its disk. */
Test(checkpoint_writer, removes_the_oldest_also_where_latest_cannot_be_set)
{
    cr_assert_eq(mkdirat(skn_run_folder_descriptor(run), "latest", 0700), 0);
    cr_assert_eq(fixture_write(run, 1, 1, 1, 1, NULL), SKN_OK);
    cr_assert_eq(fixture_write(run, 2, 1, 1, 1, NULL), SKN_OK);
    cr_expect_not(has("batch-000000000001"));
    cr_expect_eq(newest(), 2);
}

Test(checkpoint_writer, lets_pieces_and_shards_take_turns)
{
    skn_error_t error = { 0 };
    skn_piece_t piece[] = { four, four };
    unsigned char element[4];
    skn_checkpoint_shard_t *shard[2];
    (void)snprintf(piece[1].name, sizeof(piece[1].name), "v");
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 1, 0, &error);
    for (unsigned s = 0; s < 2; s++) {
        piece[0].rows = piece[1].rows = 2;
        piece[0].row_first = piece[1].row_first = 2 * s;
        shard[s] =
            skn_checkpoint_shard_open(writer, s ? "b" : "a", piece, 2, &error);
        cr_assert(shard[s], "%s", error.text);
    }
    for (unsigned i = 0; i < 8; i++) {
        unsigned s = i % 2, k = i / 2 % 2, row = i / 4;
        fixture_put(piece[k].name, SKN_DTYPE_F32, 1, 2 * s + row, 0, element);
        cr_assert_eq(skn_checkpoint_shard_write(shard[s], k, 4 * row, element,
                                                4, &error),
                     SKN_OK, "%s", error.text);
    }
    for (unsigned s = 0; s < 2; s++)
        cr_assert_eq(skn_checkpoint_shard_close(&shard[s], &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, "{}", 1, NULL, &error), SKN_OK,
                 "%s", error.text);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    for (size_t i = 0; i < 2; i++)
        cr_expect(fixture_rectangle_good(
            checkpoint, skn_checkpoint_tensor(checkpoint, i), 0, 4, 0, 1));
    skn_checkpoint_close(&checkpoint);
}
