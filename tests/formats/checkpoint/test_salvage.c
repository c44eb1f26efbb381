/* test_salvage.c - tests the salvages that survivors write when a generation
 * breaks off, and checkpoints composed of them and of an older one
 * (formats/checkpoint/salvage.c and formats/checkpoint/salvage_writer.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/salvage.h"

#include "formats/checkpoint/held.h"
#include "formats/checkpoint/ledger.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef"
#define FILES 3u
#define ROWS 4u    /* of a file */
#define COLUMNS 5u /* beside which memory has two more */
#define BLOCKS 2u  /* of a file */

static char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
static skn_error_t error;

static float memory[ROWS][COLUMNS + 2];
static skn_ledger_entry_t entries[BLOCKS];

static void
setup(void)
{
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
}

static void
teardown(void)
{
    temp_folder_remove(parent);
}

TestSuite(salvage, .init = setup, .fini = teardown);

static const char *
file_name(unsigned shard)
{
    static char name[32];
    (void)snprintf(name, sizeof(name), "output.%u.safetensors", shard);
    return name;
}

/* What shard `shard` has after `batch` batches. */
static void
views_of(unsigned shard, uint64_t batch, skn_tensor_view_t view[2])
{
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned column = 0; column < COLUMNS; column++)
            memory[row][column] =
                (float)(batch * 1000 + (shard * ROWS + row) * 10 + column);
    for (unsigned k = 0; k < BLOCKS; k++)
        entries[k] = skn_ledger_of(batch);
    view[0] = (skn_tensor_view_t){
        .piece = { "output.weight", SKN_DTYPE_F32, 2, ROWS, COLUMNS,
                   FILES * ROWS, COLUMNS, shard * ROWS, 0 },
        .at = (unsigned char *)memory,
        .stride_bytes = sizeof(memory[0]),
        .row_bytes = COLUMNS * sizeof(float),
    };
    view[1] = (skn_tensor_view_t){
        .piece = { "output.ledger", SKN_DTYPE_U64, 2, BLOCKS, 2, FILES * BLOCKS,
                   2, shard * BLOCKS, 0 },
        .at = (unsigned char *)entries,
        .stride_bytes = sizeof(entries[0]),
        .row_bytes = sizeof(entries[0]),
    };
}

static skn_run_folder_t *
open_run(void)
{
    char file[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(file, sizeof(file), "%s/run.json", path);
    skn_run_options_t options = { .resume = access(file, F_OK) == 0,
                                  .run_id = ID,
                                  .config_text = "skein: 1\n" };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    return run;
}

/* A whole checkpoint: what else a test takes from a node, it removes. */
static void
write_checkpoint(uint64_t batch, uint64_t generation, uint32_t keep)
{
    char metadata[64];
    skn_run_folder_t *run = open_run();
    skn_checkpoint_writer_t *writer =
        skn_checkpoint_begin(run, batch, generation, &error);
    for (unsigned shard = 0; shard < FILES; shard++) {
        skn_tensor_view_t view[2];
        views_of(shard, batch, view);
        skn_piece_t piece[2] = { view[0].piece, view[1].piece };
        skn_checkpoint_shard_t *file = skn_checkpoint_shard_open(
            writer, file_name(shard), piece, 2, &error);
        cr_assert(file, "%s", error.text);
        for (unsigned k = 0; k < 2; k++)
            for (uint64_t row = 0; row < piece[k].rows; row++)
                cr_assert_eq(skn_checkpoint_shard_write(
                                 file, k, row * view[k].row_bytes,
                                 view[k].at + row * view[k].stride_bytes,
                                 view[k].row_bytes, &error),
                             SKN_OK);
        cr_assert_eq(skn_checkpoint_shard_close(&file, &error), SKN_OK);
    }
    (void)snprintf(metadata, sizeof(metadata),
                   "{\"batch\":%u,\"loss\":0.1,\"finished\":false}",
                   (unsigned)batch);
    cr_assert_eq(skn_checkpoint_finish(&writer, metadata, keep, NULL, &error),
                 SKN_OK, "%s", error.text);
    skn_run_folder_close(&run);
}

/* A salvage of generation 3, of the shards that have come somewhere (0: not).
 * */
static void
write_cut(const uint64_t far[FILES])
{
    skn_salvage_writer_t *writer = skn_salvage_begin(path, 3, &error);
    cr_assert(writer, "%s", error.text);
    for (unsigned shard = 0; shard < FILES; shard++) {
        skn_tensor_view_t view[2];
        if (far[shard] == 0)
            continue;
        views_of(shard, far[shard], view);
        cr_assert_eq(skn_salvage_add(writer, file_name(shard), far[shard], view,
                                     2, &error),
                     SKN_OK, "%s", error.text);
    }
    cr_assert_eq(skn_salvage_finish(&writer, &error), SKN_OK, "%s", error.text);
    cr_expect_null(writer);
}

static skn_status_t
read_salvage(skn_salvage_t *salvage)
{
    char *bytes = NULL;
    size_t count = 0;
    skn_status_t status = skn_salvage_read(path, &bytes, &count, &error);
    if (status == SKN_OK)
        status = skn_salvage_parse(bytes, count, salvage, &error);
    free(bytes);
    return status;
}

static skn_manifest_t
manifest_of(uint64_t batch, uint64_t generation)
{
    char *bytes = NULL;
    size_t count = 0;
    skn_manifest_t manifest = { 0 };
    cr_assert_eq(
        skn_held_manifest(path, batch, generation, &bytes, &count, &error),
        SKN_OK, "%s", error.text);
    cr_assert_eq(skn_manifest_parse("m", bytes, count, &manifest, &error),
                 SKN_OK);
    free(bytes);
    return manifest;
}

static skn_status_t
compose(uint64_t base_batch, skn_salvage_sum_t *sum, skn_json_text_t *text)
{
    skn_salvage_t salvage = { 0 };
    skn_manifest_t base = manifest_of(base_batch, 3);
    cr_assert_eq(read_salvage(&salvage), SKN_OK, "%s", error.text);
    const skn_salvage_t *list[] = { &salvage };
    skn_status_t status =
        skn_salvage_compose(&base, list, 1, sum, text, &error);
    skn_salvage_fini(&salvage);
    skn_manifest_fini(&base);
    return status;
}

/* Which batch the weights of each shard are of. */
static void
expect_shards(uint64_t batch, const uint64_t far[FILES])
{
    char name[TEMP_FOLDER_BYTES + 64];
    float got[FILES * ROWS][COLUMNS];
    (void)snprintf(name, sizeof(name), "%s/batch-%012u-g000003", path,
                   (unsigned)batch);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(name, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect(skn_checkpoint_is_whole(checkpoint));
    cr_assert_eq(skn_checkpoint_read_block(checkpoint, "output.weight", 0,
                                           FILES * ROWS, 0, COLUMNS, got,
                                           sizeof(got[0]), &error),
                 SKN_OK);
    for (unsigned row = 0; row < FILES * ROWS; row++)
        for (unsigned column = 0; column < COLUMNS; column++)
            cr_expect_float_eq(
                got[row][column],
                (float)(far[row / ROWS] * 1000 + row * 10 + column), 0.0f);
    skn_checkpoint_close(&checkpoint);
}

static void
put_composed(const skn_salvage_sum_t *sum, const skn_json_text_t *text)
{
    cr_assert_eq(skn_held_compose(path, ID, sum->batch, 3, text->bytes,
                                  text->count, &error),
                 SKN_OK, "%s", error.text);
}

Test(salvage, what_was_written_is_read_with_how_far_each_file_is)
{
    skn_salvage_t salvage = { 0 };
    write_checkpoint(5, 3, 9);
    cr_expect_eq(read_salvage(&salvage), SKN_NO_INPUT);
    write_cut((const uint64_t[]){ 8, 0, 7 });
    cr_assert_eq(read_salvage(&salvage), SKN_OK, "%s", error.text);
    cr_expect_eq(salvage.generation, 3);
    cr_expect_eq(salvage.part.batch, 8);
    cr_expect_str_eq(salvage.part.run_id, ID);
    cr_assert_eq(salvage.part.file_count, 2);
    cr_expect_str_eq(salvage.part.file[0].name, "output.0.safetensors");
    cr_expect_eq(salvage.batch[0], 8);
    cr_expect_str_eq(salvage.part.file[1].name, "output.2.safetensors");
    cr_expect_eq(salvage.batch[1], 7);
    skn_salvage_fini(&salvage);
    write_cut((const uint64_t[]){ 0, 9, 0 }); /* in its place */
    cr_assert_eq(read_salvage(&salvage), SKN_OK);
    cr_assert_eq(salvage.part.file_count, 1);
    cr_expect_eq(salvage.batch[0], 9);
    skn_salvage_fini(&salvage);
}

Test(salvage, is_no_checkpoint_and_goes_with_the_next)
{
    skn_held_t *held = NULL;
    size_t count = 0;
    skn_salvage_t salvage = { 0 };
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 8, 8, 8 });
    cr_assert_eq(skn_held_list(path, &held, &count, &error), SKN_OK);
    cr_expect_eq(count, 1);
    skn_held_free(&held, count);
    write_checkpoint(6, 4, 9);
    cr_expect_eq(read_salvage(&salvage), SKN_NO_INPUT);
}

Test(salvage, one_that_was_given_up_leaves_what_was_there)
{
    skn_salvage_t salvage = { 0 };
    skn_tensor_view_t view[2];
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 8, 0, 0 });
    skn_salvage_writer_t *writer = skn_salvage_begin(path, 4, &error);
    views_of(1, 9, view);
    cr_assert_eq(skn_salvage_add(writer, file_name(1), 9, view, 2, &error),
                 SKN_OK);
    skn_salvage_abandon(&writer);
    skn_salvage_abandon(&writer);
    writer = skn_salvage_begin(path, 4, &error);
    cr_expect_eq(skn_salvage_finish(&writer, &error), SKN_NO_INPUT, "no file");
    cr_assert_eq(read_salvage(&salvage), SKN_OK);
    cr_expect_eq(salvage.generation, 3);
    skn_salvage_fini(&salvage);
}

Test(salvage, a_damaged_manifest_is_refused_at_every_byte)
{
    char file[TEMP_FOLDER_BYTES + 64];
    skn_salvage_t salvage = { 0 };
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 8, 0, 7 });
    (void)snprintf(file, sizeof(file), "%s/cut/manifest.json", path);
    int descriptor = open(file, O_RDWR);
    off_t bytes = lseek(descriptor, 0, SEEK_END);
    for (off_t at = 0; at < bytes; at += 5) {
        char was, is;
        cr_assert_eq(pread(descriptor, &was, 1, at), 1);
        is = (char)(was ^ 1);
        cr_assert_eq(pwrite(descriptor, &is, 1, at), 1);
        cr_expect_eq(read_salvage(&salvage), SKN_BAD_DATA, "byte %d", (int)at);
        cr_assert_eq(pwrite(descriptor, &was, 1, at), 1);
    }
    (void)close(descriptor);
    cr_expect_eq(read_salvage(&salvage), SKN_OK);
    skn_salvage_fini(&salvage);
}

Test(salvage, survivors_keep_what_they_have_and_the_dead_are_set_back)
{
    skn_salvage_sum_t sum;
    skn_json_text_t text = { 0 };
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 8, 0, 7 });
    cr_assert_eq(compose(5, &sum, &text), SKN_OK, "%s", error.text);
    cr_expect_eq(sum.batch, 8);
    cr_expect_eq(sum.base, 5);
    cr_expect_eq(sum.kept, 2 * BLOCKS);
    cr_expect_eq(sum.back, BLOCKS);
    cr_expect_eq(sum.lost, BLOCKS * (8 - 5) + BLOCKS * (8 - 7));
    put_composed(&sum, &text);
    expect_shards(8, (const uint64_t[]){ 8, 5, 7 });
    expect_shards(5, (const uint64_t[]){ 5, 5, 5 });
    skn_manifest_t whole = manifest_of(8, 3);
    cr_expect(strstr(whole.metadata, "\"batch\":8"), "%s", whole.metadata);
    skn_manifest_fini(&whole);
    skn_json_text_fini(&text);
}

Test(salvage, no_block_that_is_further_is_nothing_to_compose)
{
    skn_salvage_sum_t sum;
    skn_json_text_t text = { 0 };
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 5, 5, 4 });
    cr_expect_eq(compose(5, &sum, &text), SKN_NO_INPUT);
    skn_json_text_fini(&text);
}

/* A file of another layout is another file. */
Test(salvage, what_does_not_fit_the_checkpoint_is_left_out)
{
    skn_salvage_sum_t sum;
    skn_json_text_t text = { 0 };
    skn_tensor_view_t view[2];
    write_checkpoint(5, 3, 9);
    skn_salvage_writer_t *writer = skn_salvage_begin(path, 3, &error);
    views_of(0, 9, view);
    view[0].piece.row_first++;
    cr_assert_eq(skn_salvage_add(writer, file_name(0), 9, view, 2, &error),
                 SKN_OK);
    views_of(1, 9, view);
    cr_assert_eq(skn_salvage_add(writer, file_name(1), 9, view, 1, &error),
                 SKN_OK);
    views_of(2, 7, view);
    cr_assert_eq(skn_salvage_add(writer, file_name(2), 7, view, 2, &error),
                 SKN_OK);
    cr_assert_eq(skn_salvage_finish(&writer, &error), SKN_OK);
    cr_assert_eq(compose(5, &sum, &text), SKN_OK, "%s", error.text);
    cr_expect_eq(sum.batch, 7);
    cr_expect_eq(sum.kept, BLOCKS);
    put_composed(&sum, &text);
    expect_shards(7, (const uint64_t[]){ 5, 5, 7 });
    skn_json_text_fini(&text);
}

/* The same name and the same lengths, and not the same bytes. */
Test(salvage, another_composed_one_takes_the_place_of_the_first)
{
    skn_salvage_sum_t sum;
    skn_json_text_t text = { 0 };
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 8, 8, 8 });
    cr_assert_eq(compose(5, &sum, &text), SKN_OK);
    put_composed(&sum, &text);
    skn_json_text_fini(&text);
    write_cut((const uint64_t[]){ 8, 0, 6 });
    cr_assert_eq(compose(5, &sum, &text), SKN_OK);
    put_composed(&sum, &text);
    put_composed(&sum, &text);
    expect_shards(8, (const uint64_t[]){ 8, 5, 6 });
    skn_json_text_fini(&text);
}

/* As on a node that holds one file of the checkpoint, and salvage another. */
Test(salvage, a_node_gets_the_files_that_it_holds)
{
    char file[TEMP_FOLDER_BYTES + 64];
    skn_salvage_sum_t sum;
    skn_json_text_t text = { 0 };
    skn_held_t *held = NULL;
    size_t count = 0;
    write_checkpoint(5, 3, 9);
    write_cut((const uint64_t[]){ 8, 0, 0 });
    cr_assert_eq(compose(5, &sum, &text), SKN_OK);
    (void)snprintf(file, sizeof(file),
                   "%s/batch-000000000005-g000003/output.2.safetensors", path);
    cr_assert_eq(unlink(file), 0);
    put_composed(&sum, &text);
    cr_assert_eq(skn_held_list(path, &held, &count, &error), SKN_OK);
    cr_assert_eq(count, 2);
    cr_expect_eq(held[0].batch, 8);
    cr_assert_eq(held[0].file_count, FILES);
    cr_expect(held[0].file[0].here && held[0].file[1].here);
    cr_expect_not(held[0].file[2].here);
    skn_held_free(&held, count);
    skn_json_text_fini(&text);
}
