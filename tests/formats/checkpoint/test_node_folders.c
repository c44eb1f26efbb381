/* test_node_folders.c - tests run folders side by side, and checkpoints with
 * files in several of them.
 *
 * Covers formats/checkpoint/node_folders.c,
 * formats/checkpoint/checkpoint_beside.c and
 * formats/checkpoint/checkpoint_find.c.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/node_folders.h"

#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef"
#define OTHER_ID "f123456789abcdef0123456789abcdef"
#define SHARED "{\"nodes\":2}"

static char top[TEMP_FOLDER_BYTES];

static void
setup(void)
{
    temp_folder_make(top);
}

static void
teardown(void)
{
    temp_folder_remove(top);
}

TestSuite(node_folders, .init = setup, .fini = teardown);

static char *
path_of(const char *name)
{
    static char path[4][2 * TEMP_FOLDER_BYTES];
    static int at;
    at = (at + 1) % 4;
    (void)snprintf(path[at], sizeof(path[at]), "%s/%s", top, name);
    return path[at];
}

/* A checkpoint of four files in the run folder `name`. */
static void
write_one(const char *name, const char *id, uint64_t batch, uint64_t generation,
          const char *metadata)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .resume = skn_run_folder_begun(path_of(name)),
                                  .run_id = id,
                                  .config_text = "skein: 1\n" };
    skn_run_folder_t *run =
        skn_run_folder_open(path_of(name), &options, NULL, &error);
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
drop(const char *file)
{
    cr_assert_eq(unlink(path_of(file)), 0, "%s", file);
}

/* The same checkpoint in n0 and n1, of which each has two files. */
static void
write_halves(const char *metadata)
{
    write_one("n0", ID, 7, 2, metadata);
    write_one("n1", ID, 7, 2, metadata);
    drop("n0/batch-000000000007-g000002/hidden.1.safetensors");
    drop("n0/batch-000000000007-g000002/output.0.safetensors");
    drop("n1/batch-000000000007-g000002/hidden.0.safetensors");
    drop("n1/batch-000000000007-g000002/output.1.safetensors");
}

static void
expect_whole(const char *path, uint64_t batch)
{
    skn_error_t error = { 0 };
    char hex[SKN_SHA256_TEXT_BYTES];
    for (int verify = SKN_VERIFY_ALL; verify <= SKN_VERIFY_LAZY; verify++) {
        skn_checkpoint_t *checkpoint =
            skn_checkpoint_open(path, (skn_verify_t)verify, &error);
        cr_assert(checkpoint, "%s", error.text);
        cr_expect_eq(skn_checkpoint_batch(checkpoint), batch);
        cr_expect(skn_checkpoint_is_whole(checkpoint));
        cr_expect_eq(skn_checkpoint_weights_sha256(checkpoint, hex, &error),
                     SKN_OK, "%s", error.text);
        skn_checkpoint_close(&checkpoint);
    }
}

static size_t
count_in(const char *path)
{
    skn_node_folders_t folders;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_node_folders_in(path, &folders, &error), SKN_OK, "%s",
                 error.text);
    size_t count = folders.count;
    skn_node_folders_fini(&folders);
    return count;
}

Test(node_folders, halves_are_read_as_one)
{
    write_halves(SHARED);
    cr_expect_eq(count_in(top), 2);
    expect_whole(top, 7);
    expect_whole(path_of("n0"), 7);
    expect_whole(path_of("n1/batch-000000000007-g000002"), 7);
    expect_whole(path_of("n1/latest"), 7);
}

Test(node_folders, what_is_beside_is_not_here)
{
    skn_error_t error = { 0 };
    write_halves(SHARED);
    skn_checkpoint_t *here = skn_checkpoint_open(
        path_of("n0/batch-000000000007-g000002"), SKN_VERIFY_HERE, &error);
    cr_assert(here, "%s", error.text);
    cr_expect_not(skn_checkpoint_is_whole(here));
    skn_checkpoint_close(&here);
}

Test(node_folders, a_run_of_one_process_has_nothing_beside_it)
{
    skn_error_t error = { 0 };
    write_halves("{}");
    cr_expect_null(skn_checkpoint_open(path_of("n0"), SKN_VERIFY_ALL, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
}

Test(node_folders, another_checkpoint_of_that_name_is_not_taken)
{
    write_halves(SHARED);
    cr_assert_eq(mkdir(path_of("away"), 0700), 0);
    cr_assert_eq(rename(path_of("n1"), path_of("away/n1")), 0);
    write_one("n1", ID, 7, 2, "{\"nodes\":2,\"epoch\":1}");
    cr_expect_null(skn_checkpoint_open(path_of("n0"), SKN_VERIFY_ALL, NULL));
    cr_assert_eq(rename(path_of("away/n1"), path_of("n2")), 0);
    expect_whole(path_of("n0"), 7);
}

Test(node_folders, the_newest_that_is_whole_counts)
{
    skn_error_t error = { 0 };
    write_halves(SHARED);
    write_one("n1", ID, 9, 3, SHARED);
    expect_whole(top, 9);
    drop("n1/batch-000000000009-g000003/output.1.safetensors");
    expect_whole(top, 7);
    skn_checkpoint_t *used = skn_checkpoint_open(top, SKN_VERIFY_ALL, &error);
    cr_assert(used, "%s", error.text);
    cr_expect(strstr(skn_checkpoint_warning(used), "1 newer refused"));
    skn_checkpoint_close(&used);
    used = skn_checkpoint_open_batch(top, 9, SKN_VERIFY_ALL, &error);
    cr_expect_null(used);
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect_null(skn_checkpoint_open_batch(top, 5, SKN_VERIFY_ALL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
}

Test(node_folders, damage_is_made_good_by_a_copy)
{
    write_one("n0", ID, 7, 2, SHARED);
    write_one("n1", ID, 7, 2, SHARED);
    for (int k = 0; k < 2; k++) {
        const char *file = path_of(
            k == 0 ? "n0/batch-000000000007-g000002/output.0.safetensors"
                   : "n1/batch-000000000007-g000002/hidden.0.safetensors");
        int descriptor = open(file, O_RDWR);
        struct stat facts;
        cr_assert_geq(descriptor, 0);
        cr_assert_eq(fstat(descriptor, &facts), 0);
        cr_assert_eq(pwrite(descriptor, "\xff\xff", 2, facts.st_size - 2), 2);
        (void)close(descriptor);
        expect_whole(path_of("n0"), 7);
    }
}

Test(node_folders, folders_of_several_runs_are_not_one)
{
    skn_node_folders_t folders;
    write_one("n0", ID, 7, 0, SHARED);
    cr_expect_eq(count_in(top), 0, "one folder alone");
    write_one("n1", OTHER_ID, 7, 0, SHARED);
    cr_assert_eq(skn_node_folders_in(top, &folders, NULL), SKN_OK);
    cr_expect_eq(folders.count, 0);
    cr_expect(folders.other[0][0] && folders.other[1][0]);
    skn_node_folders_fini(&folders);
    cr_assert_eq(skn_node_folders_beside(path_of("n0"), &folders, NULL),
                 SKN_OK);
    cr_expect_eq(folders.count, 1);
    skn_node_folders_fini(&folders);
}

Test(node_folders, a_journal_says_that_one_folder_is_a_node)
{
    write_one("n0", ID, 7, 0, SHARED);
    int journal =
        open(path_of("coordinator.journal"), O_WRONLY | O_CREAT, 0600);
    cr_assert_geq(journal, 0);
    (void)close(journal);
    cr_expect_eq(count_in(top), 1);
    expect_whole(top, 7);
}
