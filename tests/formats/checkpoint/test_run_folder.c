/* test_run_folder.c - tests that a run has one folder, which is made, resumed,
 * swept and pruned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_folder.h"

#include "formats/folder/folder.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];

static void
setup(void)
{
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/a/run", parent);
}

static void
teardown(void)
{
    temp_folder_remove(parent);
}

TestSuite(run_folder, .init = setup, .fini = teardown);

#define CONFIG "skein: 1\n# \"quoted\"\t\xc3\xa4\n"

static skn_run_folder_t *
enter(bool resume, size_t *count, skn_error_t *error)
{
    skn_run_options_t options = { .resume = resume, .config_text = CONFIG };
    return skn_run_folder_open(path, &options, count, error);
}

/* An empty folder under a checkpoint's name: pruning looks at names alone. */
static void
plant(skn_run_folder_t *run, const char *name)
{
    cr_assert_eq(mkdirat(skn_run_folder_descriptor(run), name, 0700), 0);
}

static bool
has(skn_run_folder_t *run, const char *name)
{
    struct stat facts;
    return fstatat(skn_run_folder_descriptor(run), name, &facts,
                   AT_SYMLINK_NOFOLLOW) == 0;
}

/* The batches that are there, as text. */
static const char *
batches(skn_run_folder_t *run)
{
    static char text[256];
    skn_batch_id_t *list = NULL;
    size_t count, at = 0;
    text[0] = '\0';
    cr_assert_eq(skn_run_folder_batches(skn_run_folder_descriptor(run), path,
                                        &list, &count, NULL),
                 SKN_OK);
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               list[i].generation ? "%s%d-%d" : "%s%d",
                               i ? " " : "", (int)list[i].batch,
                               (int)list[i].generation);
    free(list);
    return text;
}

Test(run_folder, is_made_once_and_resumed_with_the_same_facts)
{
    char id[SKN_RUN_ID_BYTES], want[2 * TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    size_t count = 9;
    skn_run_folder_t *run = enter(false, &count, &error);
    cr_assert(run, "%s", error.text);
    cr_expect_eq(count, 0);
    cr_expect_eq(strlen(skn_run_folder_created(run)), 20);
    cr_expect_str_eq(skn_run_folder_path(run), path);
    memcpy(id, skn_run_folder_id(run), sizeof(id));
    cr_expect(skn_hash_text_good(id));
    plant(run, "batch-000000000001");
    skn_run_folder_close(&run);
    cr_expect_null(enter(false, &count, &error));
    cr_expect_eq(error.status, SKN_CANNOT_CREATE);
    (void)snprintf(want, sizeof(want), "%s already holds a run", path);
    cr_expect_str_eq(error.text, want);
    cr_expect_str_eq(error.hint, "resume it, or choose another folder");
    count = 9;
    run = enter(true, &count, &error);
    cr_assert(run, "%s", error.text);
    cr_expect_eq(count, 1);
    cr_expect_str_eq(skn_run_folder_id(run), id);
    cr_expect_str_eq(skn_run_folder_config(run), CONFIG);
    skn_run_folder_close(&run);
    skn_run_folder_close(&run);
}

Test(run_folder, a_run_that_saved_nothing_gives_way_to_a_new_one)
{
    char id[SKN_RUN_ID_BYTES];
    skn_error_t error = { 0 };
    skn_run_folder_t *run = enter(false, NULL, NULL);
    memcpy(id, skn_run_folder_id(run), sizeof(id));
    plant(run, ".tmp-000000000001");
    skn_run_folder_close(&run);
    skn_run_options_t ask = { .only_ask = true };
    run = skn_run_folder_open(path, &ask, NULL, &error);
    cr_assert(run, "%s", error.text);
    cr_expect(has(run, ".tmp-000000000001"));
    skn_run_folder_close(&run);
    run = enter(true, NULL, &error); /* a question changes nothing */
    cr_assert(run, "%s", error.text);
    cr_expect_str_eq(skn_run_folder_id(run), id);
    cr_expect_str_eq(skn_run_folder_config(run), CONFIG);
    skn_run_folder_close(&run);
    run = enter(false, NULL, &error);
    cr_assert(run, "%s", error.text);
    cr_expect_str_neq(skn_run_folder_id(run), id);
    cr_expect_not(has(run, ".tmp-000000000001"));
    skn_run_folder_close(&run);
}

/* The config of run.json after a resume with `config`. */
static const char *
config_after_resume(const char *config)
{
    static char text[64];
    skn_error_t error = { 0 };
    skn_run_options_t options = { .resume = true, .config_text = config };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_run_folder_close(&run);
    options.config_text = NULL; /* what the file holds */
    run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    (void)snprintf(text, sizeof(text), "%s", skn_run_folder_config(run));
    skn_run_folder_close(&run);
    return text;
}

Test(run_folder, a_resume_before_the_first_checkpoint_keeps_the_new_config)
{
    skn_run_folder_t *run = enter(false, NULL, NULL);
    skn_run_folder_close(&run);
    cr_expect_str_eq(config_after_resume("a: 2\n"), "a: 2\n");
    run = enter(true, NULL, NULL);
    plant(run, "batch-000000000001");
    skn_run_folder_close(&run);
    cr_expect_str_eq(config_after_resume("a: 2\n"), CONFIG);
}

Test(run_folder, a_run_gives_way_only_where_nothing_else_is)
{
    static const char *const kept[] = { "batch-000000000000", "latest", "best",
                                        "notes", "trace.json" };
    for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
        skn_error_t error = { 0 };
        skn_run_options_t ask = { .only_ask = true };
        skn_run_folder_t *run = enter(false, NULL, &error);
        cr_assert(run, "%s", error.text);
        int folder = dup(skn_run_folder_descriptor(run));
        cr_expect_eq(symlinkat("gone", folder, kept[k]), 0);
        skn_run_folder_close(&run);
        cr_expect_null(enter(false, NULL, &error), "%s", kept[k]);
        cr_expect_eq(error.status, SKN_CANNOT_CREATE);
        cr_expect_null(skn_run_folder_open(path, &ask, NULL, NULL));
        cr_expect_eq(unlinkat(folder, kept[k], 0), 0);
        (void)close(folder);
    }
}

Test(run_folder, resumes_nothing_where_there_is_nothing)
{
    skn_error_t error = { 0 };
    cr_expect_null(enter(true, NULL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    (void)snprintf(path, sizeof(path), "%s", parent);
    cr_expect_null(enter(true, NULL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    cr_expect(strstr(error.text, " does not hold a run to resume"), "%s",
              error.text);
}

Test(run_folder, takes_the_id_it_is_given)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .run_id = "0123" };
    cr_expect_null(skn_run_folder_open(path, &options, NULL, &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    options.run_id = "0123456789abcdef0123456789abcdef";
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    cr_expect_str_eq(skn_run_folder_id(run), options.run_id);
    cr_expect_str_eq(skn_run_folder_config(run), "");
    skn_run_folder_close(&run);
}

Test(run_folder, refuses_a_config_that_is_not_utf8)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .config_text = "\xff" };
    cr_expect_null(skn_run_folder_open(path, &options, NULL, &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
}

Test(run_folder, is_busy_while_it_is_open)
{
    skn_error_t error = { 0 };
    char want[2 * TEMP_FOLDER_BYTES];
    skn_run_folder_t *run = enter(false, NULL, NULL);
    cr_expect_null(enter(true, NULL, &error));
    cr_expect_eq(error.status, SKN_BUSY);
    (void)snprintf(want, sizeof(want), "%s is held by process %d", path,
                   (int)getpid());
    cr_expect_str_eq(error.text, want);
    skn_run_folder_close(&run);
}

Test(run_folder, refuses_a_run_file_with_any_byte_changed)
{
    char *bytes = NULL, file[2 * TEMP_FOLDER_BYTES];
    size_t count;
    skn_run_folder_t *run = enter(false, NULL, NULL);
    cr_assert(run);
    cr_assert_eq(skn_folder_read_file(skn_run_folder_descriptor(run), path,
                                      "run.json", 4096, &bytes, &count, NULL),
                 SKN_OK);
    skn_run_folder_close(&run);
    (void)snprintf(file, sizeof(file), "%s/run.json", path);
    int out = open(file, O_WRONLY);
    for (size_t at = 0; at < count; at++) {
        skn_error_t error = { 0 };
        char changed = (char)(bytes[at] ^ 0x20);
        cr_assert_eq(pwrite(out, &changed, 1, (off_t)at), 1);
        cr_expect_null(enter(true, NULL, &error), "byte %zu", at);
        cr_expect_eq(error.status, SKN_BAD_DATA);
        cr_assert_eq(pwrite(out, &bytes[at], 1, (off_t)at), 1);
    }
    (void)close(out);
    free(bytes);
    run = enter(true, NULL, NULL);
    cr_expect(run);
    skn_run_folder_close(&run);
}

Test(run_folder, sweeps_what_dead_processes_left_and_nothing_else)
{
    skn_run_folder_t *run = enter(false, NULL, NULL);
    plant(run, ".tmp-000000000001");
    plant(run, "notes");
    plant(run, "batch-000000000003");
    plant(run, "batch-3");
    skn_run_folder_close(&run);
    /* Refused, so nothing is touched. */
    cr_expect_null(enter(false, NULL, NULL));
    size_t count = 0;
    run = enter(true, &count, NULL);
    cr_expect_eq(count, 1);
    cr_expect_not(has(run, ".tmp-000000000001"));
    cr_expect(has(run, "notes"));
    cr_expect(has(run, "batch-3"));
    cr_expect(has(run, "batch-000000000003"));
    skn_run_folder_close(&run);
}

Test(run_folder, prunes_all_but_the_newest_and_the_best)
{
    skn_run_folder_t *run = enter(false, NULL, NULL);
    for (int i = 1; i <= 6; i++) {
        char name[SKN_BATCH_NAME_BYTES];
        skn_batch_name((uint64_t)i, 0, name);
        plant(run, name);
    }
    cr_assert_eq(skn_run_folder_mark_best(run, 2, 0, NULL), SKN_OK);
    cr_assert_eq(skn_run_folder_prune(run, 6, 0, 3, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "6 5 4 2");
    /* What lies after the batch is not counted, and left alone. */
    cr_assert_eq(skn_run_folder_prune(run, 5, 0, 1, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "6 5 2");
    cr_assert_eq(skn_run_folder_prune(run, 6, 0, 0, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "6 2");
    cr_assert_eq(skn_run_folder_forget_after(run, 2, 0, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "2");
    skn_run_folder_close(&run);
}

Test(run_folder, of_two_generations_of_a_batch_the_later_is_newer)
{
    skn_run_folder_t *run = enter(false, NULL, NULL);
    plant(run, "batch-000000000001");
    plant(run, "batch-000000000002");
    plant(run, "batch-000000000002-g000003");
    plant(run, "batch-000000000002-g000001");
    plant(run, "batch-000000000003");
    cr_expect_str_eq(batches(run), "3 2-3 2-1 2 1");
    cr_assert_eq(skn_run_folder_mark_best(run, 2, 1, NULL), SKN_OK);
    cr_assert_eq(skn_run_folder_mark_latest(run, 2, 3, NULL), SKN_OK);
    /* Batches are counted, and of a batch the latest generation stays. */
    cr_assert_eq(skn_run_folder_prune(run, 2, 3, 2, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "3 2-3 2-1 1");
    cr_assert_eq(skn_run_folder_forget_after(run, 2, 1, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "2-1 1");
    skn_run_folder_close(&run);
}

Test(run_folder, has_its_file_again_with_the_next_checkpoint)
{
    char file[TEMP_FOLDER_BYTES + 32];
    skn_run_folder_t *run = enter(false, NULL, NULL);
    (void)snprintf(file, sizeof(file), "%s/run.json", skn_run_folder_path(run));
    plant(run, "batch-000000000001");
    cr_assert_eq(unlink(file), 0);
    cr_assert_eq(skn_run_folder_mark_latest(run, 1, 0, NULL), SKN_OK);
    cr_expect_eq(access(file, F_OK), 0);
    skn_run_folder_close(&run);
}

Test(run_folder, removes_nothing_when_best_is_unclear)
{
    skn_error_t error = { 0 };
    skn_run_folder_t *run = enter(false, NULL, NULL);
    plant(run, "batch-000000000001");
    plant(run, "batch-000000000002");
    cr_assert_eq(symlinkat("elsewhere", skn_run_folder_descriptor(run), "best"),
                 0);
    cr_expect_eq(skn_run_folder_prune(run, 2, 0, 1, &error), SKN_BAD_DATA);
    cr_expect_str_eq(batches(run), "2 1");
    cr_expect_eq(skn_run_folder_mark_best(run, 7, 0, &error), SKN_NO_INPUT);
    cr_expect_eq(skn_run_folder_mark_latest(run, 7, 0, &error), SKN_NO_INPUT);
    skn_run_folder_close(&run);
}

Test(run_folder, keeps_a_best_that_could_not_be_marked_until_it_is)
{
    char target[32] = "";
    skn_run_folder_t *run = enter(false, NULL, NULL);
    int folder = skn_run_folder_descriptor(run);
    plant(run, "batch-000000000001");
    plant(run, "batch-000000000002");
    plant(run, "batch-000000000003");
    cr_assert_eq(skn_run_folder_mark_best(run, 1, 0, NULL), SKN_OK);
    plant(run, ".tmp-best");
    plant(run, ".tmp-best/in");
    cr_expect_neq(skn_run_folder_mark_best(run, 2, 0, NULL), SKN_OK);
    cr_expect_eq(skn_run_folder_prune(run, 3, 0, 1, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "3 2 1");
    cr_assert_eq(unlinkat(folder, ".tmp-best/in", AT_REMOVEDIR), 0);
    cr_expect_eq(skn_run_folder_prune(run, 3, 0, 1, NULL), SKN_OK);
    cr_expect_str_eq(batches(run), "3 2");
    cr_expect_gt(readlinkat(folder, "best", target, sizeof(target) - 1), 0);
    cr_expect_str_eq(target, "batch-000000000002");
    skn_run_folder_close(&run);
}

Test(run_folder, names_batches_with_twelve_digits)
{
    char name[SKN_BATCH_NAME_BYTES];
    uint64_t batch = 0, generation = 9;
    skn_batch_name(SKN_CHECKPOINT_BATCH_MAX, 0, name);
    cr_expect_str_eq(name, "batch-999999999999");
    cr_expect(skn_batch_name_parse(name, &batch, &generation));
    cr_expect_eq(batch, SKN_CHECKPOINT_BATCH_MAX);
    cr_expect_eq(generation, 0);
    skn_batch_name(1234, 7, name);
    cr_expect_str_eq(name, "batch-000000001234-g000007");
    cr_expect(skn_batch_name_parse(name, &batch, &generation));
    cr_expect_eq(batch, 1234);
    cr_expect_eq(generation, 7);
    skn_batch_name(SKN_CHECKPOINT_BATCH_MAX, SKN_GENERATION_MAX, name);
    cr_expect_str_eq(name, "batch-999999999999-g999999");
    cr_expect(skn_batch_name_parse(name, &batch, &generation));
    cr_expect_eq(generation, SKN_GENERATION_MAX);
    static const char *const bad[] = { "",
                                       "batch-",
                                       "batch-00000000000",
                                       "batch-0000000000000",
                                       "batch-00000000000x",
                                       "Batch-000000000000",
                                       "batch--00000000001",
                                       "batch-000000000001-",
                                       "batch-000000000001-g",
                                       "batch-000000000001-g00001",
                                       "batch-000000000001-g0000001",
                                       "batch-000000000001-g000000",
                                       "batch-000000000001-h000001",
                                       "batch-000000000001g0000001" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_not(skn_batch_name_parse(bad[i], &batch, &generation), "%s",
                      bad[i]);
}

Test(run_folder, one_that_is_moved_has_its_new_path_from_the_next_checkpoint_on)
{
    char moved[TEMP_FOLDER_BYTES + 8];
    skn_error_t error = { 0 };
    skn_run_folder_t *run = enter(false, NULL, &error);
    cr_assert(run, "%s", error.text);
    plant(run, "batch-000000000002");
    (void)snprintf(moved, sizeof(moved), "%s/moved", parent);
    cr_assert_eq(rename(path, moved), 0);
    cr_expect_str_eq(skn_run_folder_path(run), path);
    cr_expect_eq(skn_run_folder_mark_latest(run, 2, 0, &error), SKN_OK);
    cr_expect_str_eq(skn_run_folder_path(run), moved);
    cr_assert_eq(mkdir(path, 0700), 0); /* another one */
    cr_expect_eq(skn_run_folder_mark_latest(run, 2, 0, &error), SKN_OK);
    cr_expect_str_eq(skn_run_folder_path(run), moved);
    cr_assert_eq(rename(moved, path), 0);
    cr_expect_eq(skn_run_folder_mark_latest(run, 2, 0, &error), SKN_OK);
    cr_expect_str_eq(skn_run_folder_path(run), path);
    skn_run_folder_close(&run);
}
