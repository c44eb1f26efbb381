/* test_dataset.c - tests data files as arrays of points
 * (formats/dataset/dataset.c), the building of caches
 * (formats/dataset/dataset_build.c), and the notes on them
 * (formats/dataset/dataset_note.c). The oracle reads the text again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include "tests/support/data_folder.h"

/* --- contents ----------------------------------------------------------- */

/* A share of the lines may be bad; they are left out and counted, and the first
 * is named. */
Test(dataset, bad_lines_are_left_out_up_to_a_limit)
{
    folder_t folder;
    char text[4096] = "", wanted[1200];
    size_t used = 0;
    skn_error_t error = { 0 };
    skn_dataset_t *dataset = NULL;
    skn_dataset_options_t options = { .bad_rows = 0.01 };
    folder_make(&folder);
    for (int k = 0; k < 200; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n",
                                 k == 7 || k == 9 ? "1 x:1" : "1 2:1");
    text_write(folder.file, text);
    for (int turn = 0; turn < 2; turn++) {
        cr_assert_eq(skn_dataset_open(folder.file, &options, &dataset, &error),
                     SKN_OK, "%s", error.text);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect_eq(info->built, turn == 0);
        cr_expect_eq(info->point_count, 198u);
        cr_expect_eq(info->bad.points, 2u);
        cr_expect(skn_dataset_note_bad(info, folder.file, &error));
        (void)snprintf(wanted, sizeof(wanted),
                       "%s:8:3: expected a feature, found \"x:1\" (first of 2 "
                       "rows that cannot be read and are left out)",
                       folder.file);
        cr_expect_str_eq(error.text, wanted);
        skn_dataset_close(&dataset);
    }
    options.bad_rows = 0.006;
    cr_expect_eq(skn_dataset_open(folder.file, &options, &dataset, &error),
                 SKN_BAD_DATA);
    (void)snprintf(wanted, sizeof(wanted), "%s:8:3: expected a feature",
                   folder.file);
    cr_expect_eq(strncmp(error.text, wanted, strlen(wanted)), 0, "%s",
                 error.text);
    cr_expect_str_eq(error.hint, "2 of 200 lines cannot be read, and "
                                 "data.bad_rows allows 1; correct them, or "
                                 "allow more");
    options.bad_rows = 0;
    cr_expect_eq(skn_dataset_open(folder.file, &options, &dataset, &error),
                 SKN_BAD_DATA);
    cr_expect_eq(strncmp(error.text, wanted, strlen(wanted)), 0);
    folder_remove(folder.path);
}

/* Each file may have a header of its own. */
Test(dataset, several_files_of_points_are_one_set)
{
    folder_t folder;
    char source[1200];
    skn_error_t error = { 0 };
    skn_dataset_t *dataset = NULL;
    folder_make(&folder);
    text_write(folder.file, "2 5 3\n0 1:1\n2 4:1\n");
    text_write(folder.other, "1 9:1\n\n");
    (void)snprintf(source, sizeof(source), "%s\n%s", folder.file, folder.other);
    cr_assert_eq(skn_dataset_open(source, NULL, &dataset, &error), SKN_OK, "%s",
                 error.text);
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    cr_expect_eq(info->point_count, 3u);
    cr_expect_eq(info->feature_count, 10u);
    cr_expect_eq(info->label_count, 3u);
    skn_dataset_close(&dataset);
    text_write(folder.other, "1 9:1\n1 x\n");
    cr_expect_eq(skn_dataset_open(source, NULL, &dataset, &error),
                 SKN_BAD_DATA);
    (void)snprintf(source, sizeof(source),
                   "%s:2:3: expected a feature, found \"x\"", folder.other);
    cr_expect_str_eq(error.text, source);
    folder_remove(folder.path);
}

Test(dataset, points_are_those_of_the_text_and_have_length_one)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    for (int turn = 0; turn < 2; turn++) {
        skn_dataset_t *dataset = open_good(folder.file, NULL);
        cr_expect_eq(skn_dataset_info(dataset)->built, turn == 0);
        expect_same_as_text(dataset, folder.file);
        skn_dataset_close(&dataset);
    }
    folder_remove(folder.path);
}

Test(dataset, values_can_stay_as_they_are)
{
    folder_t folder;
    skn_dataset_options_t options = { .normalize = SKN_NORMALIZE_NONE };
    folder_make(&folder);
    text_write(folder.file, sample_text);
    skn_dataset_t *dataset = open_good(folder.file, &options);
    expect_same_as_text(dataset, folder.file);
    cr_expect_eq(skn_dataset_point(dataset, 0).value[2], 3.0f);
    skn_dataset_close(&dataset);
    folder_remove(folder.path);
}

Test(dataset, statistics_are_the_same_from_the_text_and_from_the_cache)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    for (int turn = 0; turn < 2; turn++) {
        skn_dataset_t *dataset = open_good(folder.file, NULL);
        expect_sample_info(skn_dataset_info(dataset));
        cr_expect_str_eq(skn_dataset_info(dataset)->cache_path, folder.cache);
        skn_dataset_close(&dataset);
    }
    cr_expect_eq(folder_count(folder.path), 2u);
    folder_remove(folder.path);
}

Test(dataset, a_packed_source_has_the_same_contents_and_hash)
{
    folder_t folder;
    folder_make(&folder);
    gzFile packed = gzopen(folder.file, "wb");
    cr_assert(packed);
    cr_assert_gt(gzputs(packed, sample_text), 0);
    cr_assert_eq(gzclose(packed), Z_OK);
    skn_dataset_t *dataset = open_good(folder.file, NULL);
    expect_sample_info(skn_dataset_info(dataset));
    skn_dataset_close(&dataset);
    folder_remove(folder.path);
}

Test(dataset, a_set_without_points_is_possible)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, "0 3 4\n");
    for (int turn = 0; turn < 2; turn++) {
        skn_dataset_t *dataset = open_good(folder.file, NULL);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect_eq(info->built, turn == 0);
        cr_expect_eq(info->point_count, 0u);
        cr_expect_eq(info->label_frequency[3], 0u);
        skn_dataset_close(&dataset);
    }
    folder_remove(folder.path);
}

/* Many points, labels beyond one range of counts, buffers that wrap. */
Test(dataset, a_small_budget_gives_the_same_set)
{
    enum {
        POINTS = 20000
    };
    folder_t folder;
    folder_make(&folder);
    FILE *file = fopen(folder.file, "w");
    cr_assert(file);
    for (unsigned k = 0; k < POINTS; k++)
        (void)fprintf(file, "%u,%u %u:%u.25 %u:-1\n", k * 31, k * 31 + 7,
                      k % 97, k % 13 + 1, 97 + k % 89);
    cr_assert_eq(fclose(file), 0);
    skn_dataset_options_t small = { .cache = SKN_CACHE_ANONYMOUS,
                                    .memory_bytes = 1 };
    skn_dataset_options_t large = { .cache = SKN_CACHE_ANONYMOUS };
    skn_dataset_t *one = open_good(folder.file, &small);
    skn_dataset_t *two = open_good(folder.file, &large);
    const skn_dataset_info_t *a = skn_dataset_info(one);
    const skn_dataset_info_t *b = skn_dataset_info(two);
    expect_same_as_text(one, folder.file);
    cr_expect_eq(a->label_count, (POINTS - 1) * 31u + 8);
    cr_expect_eq(a->labels_occurring, 2u * POINTS);
    cr_expect_eq(b->labels_occurring, 2u * POINTS);
    cr_expect_eq(memcmp(a->label_frequency, b->label_frequency,
                        a->label_count * sizeof(uint32_t)),
                 0);
    for (uint32_t label = 0; label < a->label_count; label++)
        cr_expect_eq(a->label_frequency[label],
                     label % 31 == 0 || label % 31 == 7);
    skn_dataset_close(&one);
    skn_dataset_close(&two);
    /* Large enough that the checksum of a later open takes several steps. */
    cr_expect(open_builds(folder.file, NULL));
    cr_expect(!open_builds(folder.file, NULL));
    folder_remove(folder.path);
}

Test(dataset, a_header_that_promises_much_makes_no_large_file)
{
    folder_t folder;
    struct stat status;
    folder_make(&folder);
    text_write(folder.file, "1 2147483647 2147483647\n5 3:1\n");
    skn_dataset_t *dataset = open_good(folder.file, NULL);
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    cr_expect_eq(info->label_count, 2147483647u);
    cr_expect_eq(info->label_frequency[5], 1u);
    cr_expect_eq(info->label_frequency[2147483646], 0u);
    skn_dataset_close(&dataset);
    cr_assert_eq(stat(folder.cache, &status), 0);
    cr_expect_lt(status.st_size, 1024);
    folder_remove(folder.path);
}

/* --- expected sizes ----------------------------------------------------- */

Test(dataset, a_test_file_takes_the_sizes_of_the_training_file)
{
    folder_t folder;
    skn_dataset_options_t options = { .feature_count = 100,
                                      .label_count = 50,
                                      .expected_by = "train.txt" };
    folder_make(&folder);
    text_write(folder.file, sample_text);
    for (int turn = 0; turn < 2; turn++) {
        skn_dataset_t *dataset = open_good(folder.file, &options);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect_eq(info->feature_count, 100u);
        cr_expect_eq(info->label_count, 50u);
        cr_expect_eq(info->label_frequency[3], 3u);
        cr_expect_eq(info->label_frequency[49], 0u);
        skn_dataset_close(&dataset);
    }
    /* The sizes belong to the reader: the same cache serves others. */
    cr_expect(!open_builds(folder.file, NULL));
    options.feature_count = 12;
    options.label_count = 6; /* below the header, above what occurs */
    cr_expect(!open_builds(folder.file, &options));
    folder_remove(folder.path);
}

Test(dataset, larger_indices_than_expected_are_refused_also_from_a_cache)
{
    folder_t folder;
    char sentence[512];
    skn_dataset_options_t options = { .feature_count = 11,
                                      .label_count = 7,
                                      .expected_by = "train.txt" };
    folder_make(&folder);
    text_write(folder.file, sample_text);
    for (int turn = 0; turn < 2; turn++) {
        (void)snprintf(sentence, sizeof(sentence),
                       "%s:2:19: feature 11 is "
                       "out of range: train.txt has 11 features (0 to 10), "
                       "this file's header says 12",
                       folder.file);
        expect_refused(folder.file, &options, SKN_BAD_DATA, sentence);
        cr_expect_eq(folder_count(folder.path), 1u + (turn == 1));
        (void)open_builds(folder.file, NULL);
    }
    folder_remove(folder.path);
}

/* Opens f.txt for a model of 3 features and 2 labels. */
static void
expect_left_out(const folder_t *folder, bool built)
{
    skn_dataset_options_t options = { .feature_count = 3,
                                      .label_count = 2,
                                      .unknown_ignored = true };
    skn_error_t note = { 0 };
    skn_dataset_t *dataset = open_good(folder->file, &options);
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    cr_expect_eq(info->built, built);
    cr_expect_eq(info->feature_count, 3u);
    cr_expect_eq(info->label_count, 2u);
    cr_expect_eq(info->unknown.labels, 2u);
    cr_expect_eq(info->unknown.features, 1u);
    cr_expect_eq(info->unlabelled_count, 2u);
    skn_dataset_point_t point = skn_dataset_point(dataset, 1);
    cr_expect_eq(point.label_count, 1u);
    cr_expect_eq(point.label[0], 0u);
    cr_expect_eq(point.feature_count, 1u);
    cr_expect_eq(point.value[0], 1.0F, "left out before it is scaled");
    cr_expect(skn_dataset_note_unknown(info, "f.txt", &note));
    cr_expect_str_eq(note.text,
                     "f.txt:2:1: first of 2 labels and 1 feature, "
                     "in 2 points, that the model does not have; they are left "
                     "out; 1 point has no label left and counts as wrong");
    skn_dataset_close(&dataset);
}

Test(dataset, what_a_model_lacks_is_left_out_and_the_cache_remembers_for_whom)
{
    folder_t folder;
    skn_dataset_options_t wider = { .feature_count = 8,
                                    .label_count = 8,
                                    .unknown_ignored = true };
    folder_make(&folder);
    text_write(folder.file, "1 0:1\n7,0 1:2 5:9\n2 2:1\n 1:1\n");
    expect_left_out(&folder, true);
    expect_left_out(&folder, false);
    /* For a wider model, or for none, it has too little; and for a narrower
     * one, which needs a cache of its own, too much. */
    cr_expect(open_builds(folder.file, &wider));
    cr_expect(!open_builds(folder.file, NULL));
    expect_left_out(&folder, true);
    cr_expect(open_builds(folder.file, NULL));
    wider.unknown_ignored = false;
    wider.label_count = 2;
    expect_refused(folder.file, &wider, SKN_BAD_DATA, NULL);
    folder_remove(folder.path);
}

Test(dataset, questions_that_cannot_be_read_are_marked_by_a_label)
{
    folder_t folder;
    skn_dataset_options_t options = { .feature_count = 3,
                                      .label_count = 2,
                                      .unknown_ignored = true,
                                      .questions = true };
    static const uint32_t labels[] = { 0, 1, 0, 1, 0 };
    static const uint32_t features[] = { 1, 0, 2, 0, 0 };
    folder_make(&folder);
    text_write(folder.file, "1 0:1\n9 1:x\n0:1 1:2 5:1\n1,1 1:1\n\n7\n");
    for (int turn = 0; turn < 2; turn++) {
        skn_error_t note = { 0 };
        skn_dataset_t *dataset = open_good(folder.file, &options);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect_eq(info->built, turn == 0);
        cr_assert_eq(info->point_count, 6u);
        for (uint64_t k = 0; k < 5; k++) {
            skn_dataset_point_t point = skn_dataset_point(dataset, k);
            cr_expect_eq(point.label_count, labels[k], "point %lu", k);
            cr_expect_eq(point.feature_count, features[k], "point %lu", k);
        }
        cr_expect(skn_dataset_note_unread(info, "f.txt", &note));
        cr_expect_str_eq(note.text,
                         "f.txt:2:1: first of 2 lines that cannot be read; "
                         "the answer is empty");
        skn_dataset_close(&dataset);
    }
    /* It is no file to learn from, and its cache is not either. */
    options.questions = false;
    expect_refused(folder.file, &options, SKN_BAD_DATA, NULL);
    folder_remove(folder.path);
}

Test(dataset, what_is_odd_is_known_from_the_text_and_from_the_cache)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, "0 1:1\n1 2:1\n1,4567 1:2\n");
    for (int turn = 0; turn < 2; turn++) {
        skn_error_t note = { 0 };
        skn_dataset_t *dataset = open_good(folder.file, NULL);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect_eq(info->built, turn == 0);
        cr_expect(!skn_dataset_note_unknown(info, "f.txt", &note));
        cr_expect(skn_dataset_note_odd(info, "f.txt", &note));
        cr_expect_str_eq(note.text,
                         "f.txt:3:1: label 4567 is far beyond those of all "
                         "other lines, which end at 1, and makes the model "
                         "have 4568 labels");
        skn_dataset_close(&dataset);
    }
    folder_remove(folder.path);
}

/* --- when a cache fits -------------------------------------------------- */

Test(dataset, a_changed_source_is_read_again)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, "1 2:3\n");
    cr_expect(open_builds(folder.file, NULL));
    cr_expect(!open_builds(folder.file, NULL));
    text_write(folder.file, "1 2:3\n4\n");
    cr_expect(open_builds(folder.file, NULL));
    struct timespec times[2] = { { 1000, 0 }, { 1000, 1 } };
    cr_assert_eq(utimensat(AT_FDCWD, folder.file, times, 0), 0);
    cr_expect(open_builds(folder.file, NULL));
    times[1].tv_nsec = 2; /* the same second */
    cr_assert_eq(utimensat(AT_FDCWD, folder.file, times, 0), 0);
    cr_expect(open_builds(folder.file, NULL));
    cr_expect(!open_builds(folder.file, NULL));
    folder_remove(folder.path);
}

Test(dataset, a_cache_of_other_options_is_replaced)
{
    folder_t folder;
    skn_dataset_options_t options = { .normalize = SKN_NORMALIZE_NONE };
    folder_make(&folder);
    text_write(folder.file, sample_text);
    cr_expect(open_builds(folder.file, NULL));
    cr_expect(open_builds(folder.file, &options));
    cr_expect(!open_builds(folder.file, &options));
    cr_expect(open_builds(folder.file, NULL));
    folder_remove(folder.path);
}

Test(dataset, a_cache_that_is_something_else_is_replaced)
{
    static const char *const others[] = { "", "x", "not a cache\n" };
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    for (size_t k = 0; k < 3; k++) {
        text_write(folder.cache, others[k]);
        cr_expect(open_builds(folder.file, NULL));
        cr_expect(!open_builds(folder.file, NULL));
    }
    cr_expect_eq(folder_count(folder.path), 2u);
    folder_remove(folder.path);
}

Test(dataset, a_refused_source_keeps_the_older_cache)
{
    folder_t folder;
    char sentence[512];
    folder_make(&folder);
    text_write(folder.file, sample_text);
    (void)open_builds(folder.file, NULL);
    size_t before_bytes, after_bytes;
    uint8_t *before = file_read(folder.cache, &before_bytes);
    text_write(folder.file, "1 2:3\n1 x\n");
    (void)snprintf(sentence, sizeof(sentence),
                   "%s:2:3: expected a feature, "
                   "found \"x\"",
                   folder.file);
    expect_refused(folder.file, NULL, SKN_BAD_DATA, sentence);
    uint8_t *after = file_read(folder.cache, &after_bytes);
    cr_expect_eq(before_bytes, after_bytes);
    cr_expect_eq(memcmp(before, after, before_bytes), 0);
    cr_expect_eq(folder_count(folder.path), 2u);
    free(before);
    free(after);
    folder_remove(folder.path);
}

/* --- trouble ------------------------------------------------------------ */

Test(dataset, a_source_that_is_missing_or_empty_is_refused)
{
    folder_t folder;
    char sentence[512];
    folder_make(&folder);
    (void)snprintf(sentence, sizeof(sentence), "%s: no such file", folder.file);
    expect_refused(folder.file, NULL, SKN_NO_INPUT, sentence);
    (void)snprintf(sentence, sizeof(sentence), "%s: there is no file in it",
                   folder.path);
    expect_refused(folder.path, NULL, SKN_NO_INPUT, sentence);
    text_write(folder.file, "");
    (void)snprintf(sentence, sizeof(sentence), "%s: the file is empty",
                   folder.file);
    expect_refused(folder.file, NULL, SKN_BAD_DATA, sentence);
    cr_expect_eq(folder_count(folder.path), 1u);
    folder_remove(folder.path);
}

/* A limit on the size of files stands for a full disk: write fails alike. */
Test(dataset, a_full_disk_is_reported_and_leaves_nothing)
{
    folder_t folder;
    char sentence[1024];
    size_t bytes;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    (void)open_builds(folder.file, NULL);
    free(file_read(folder.cache, &bytes));
    cr_assert_eq(unlink(folder.cache), 0);
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    cr_assert_eq(sigaction(SIGXFSZ, &ignore, NULL), 0);
    cr_assert_eq(setenv("TMPDIR", folder.path, 1), 0);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: the cache cannot be "
                   "written: File too large; nor elsewhere: a temporary file "
                   "in %s (TMPDIR): the cache cannot be written: File too "
                   "large",
                   folder.cache, folder.path);
    for (size_t room = 0; room < bytes; room += 16) {
        struct rlimit limit = { room, RLIM_INFINITY };
        skn_error_t error = { 0 };
        skn_dataset_t *dataset;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        skn_status_t status =
            skn_dataset_open(folder.file, NULL, &dataset, &error);
        limit.rlim_cur = RLIM_INFINITY;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        cr_expect_eq(status, SKN_STORAGE, "%zu bytes", room);
        cr_expect_str_eq(error.text, sentence);
        cr_expect_str_eq(error.hint,
                         "free some space, or set data.cache to a path in a "
                         "folder that has room; or set TMPDIR to a folder that "
                         "you may write to and that has room");
        cr_expect_eq(folder_count(folder.path), 1u);
    }
    folder_remove(folder.path);
}

typedef struct heard {
    uint64_t calls, done_bytes, total_bytes, stop_at;
} heard_t;

static bool
on_progress(void *listener, uint64_t done_bytes, uint64_t total_bytes)
{
    heard_t *heard = listener;
    heard->calls++;
    heard->done_bytes = done_bytes;
    heard->total_bytes = total_bytes;
    return heard->calls != heard->stop_at;
}

Test(dataset, progress_is_reported_and_can_stop_the_building)
{
    enum {
        LINES = 400000
    };
    folder_t folder;
    char sentence[512];
    heard_t heard = { 0 };
    skn_dataset_options_t options = { .progress = on_progress,
                                      .listener = &heard };
    folder_make(&folder);
    FILE *file = fopen(folder.file, "w");
    cr_assert(file);
    for (unsigned k = 0; k < LINES; k++)
        (void)fprintf(file, "%u %u\n", k % 10, k % 100);
    cr_assert_eq(fclose(file), 0);
    cr_expect(open_builds(folder.file, &options));
    cr_expect_geq(heard.calls, 1u);
    cr_expect_leq(heard.done_bytes, heard.total_bytes);
    cr_assert_eq(unlink(folder.cache), 0);
    heard = (heard_t){ .stop_at = 1 };
    (void)snprintf(sentence, sizeof(sentence), "%s: reading was stopped",
                   folder.file);
    expect_refused(folder.file, &options, SKN_BUSY, sentence);
    cr_expect_eq(folder_count(folder.path), 1u);
    folder_remove(folder.path);
}

static bool
on_progress_touch(void *listener, uint64_t done_bytes, uint64_t total_bytes)
{
    (void)done_bytes;
    (void)total_bytes;
    return utimensat(AT_FDCWD, listener, NULL, 0) == 0;
}

Test(dataset, a_source_that_changes_while_it_is_read_is_refused)
{
    folder_t folder;
    char sentence[512];
    folder_make(&folder);
    skn_dataset_options_t options = { .progress = on_progress_touch,
                                      .listener = folder.file };
    size_t bytes = 3u << 20;
    char *text = malloc(bytes);
    memset(text, '\n', bytes);
    text[bytes - 2] = '1';
    file_write(folder.file, text, bytes);
    free(text);
    struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
    cr_assert_eq(utimensat(AT_FDCWD, folder.file, times, 0), 0);
    (void)snprintf(sentence, sizeof(sentence), "%s: changed while it was read",
                   folder.file);
    expect_refused(folder.file, &options, SKN_BUSY, sentence);
    cr_expect_eq(folder_count(folder.path), 1u);
    folder_remove(folder.path);
}

Test(dataset, several_processes_build_at_once_and_all_succeed)
{
    enum {
        PROCESSES = 6
    };
    folder_t folder;
    pid_t child[PROCESSES];
    int gate[2];
    folder_make(&folder);
    text_write(folder.file, sample_text);
    cr_assert_eq(pipe(gate), 0);
    for (int k = 0; k < PROCESSES; k++) {
        child[k] = fork();
        if (child[k] != 0)
            continue;
        char unused;
        (void)close(gate[1]);
        ssize_t got = read(gate[0], &unused, 1); /* until the gate closes */
        skn_dataset_t *dataset;
        skn_error_t error;
        bool good =
            got == 0 &&
            skn_dataset_open(folder.file, NULL, &dataset, &error) == SKN_OK &&
            skn_dataset_info(dataset)->point_count == 6 &&
            skn_dataset_point(dataset, 3).label[2] == 3;
        _exit(good ? 0 : 1);
    }
    (void)close(gate[1]);
    for (int k = 0; k < PROCESSES; k++) {
        int code;
        cr_assert_eq(waitpid(child[k], &code, 0), child[k]);
        cr_expect_eq(code, 0);
    }
    (void)close(gate[0]);
    cr_expect_eq(folder_count(folder.path), 2u);
    cr_expect(!open_builds(folder.file, NULL));
    folder_remove(folder.path);
}

static void *
reader_run(void *dataset)
{
    uint64_t sum = 0;
    for (int turn = 0; turn < 1000; turn++)
        for (uint64_t at = 0; at < 6; at++) {
            skn_dataset_point_t point = skn_dataset_point(dataset, at);
            for (uint32_t k = 0; k < point.label_count; k++)
                sum += point.label[k];
        }
    return (void *)(uintptr_t)sum;
}

Test(dataset, threads_read_the_same_points)
{
    enum {
        THREADS = 4
    };
    folder_t folder;
    pthread_t thread[THREADS];
    folder_make(&folder);
    text_write(folder.file, sample_text);
    skn_dataset_t *dataset = open_good(folder.file, NULL);
    for (int k = 0; k < THREADS; k++)
        cr_assert_eq(pthread_create(thread + k, NULL, reader_run, dataset), 0);
    for (int k = 0; k < THREADS; k++) {
        void *sum;
        cr_assert_eq(pthread_join(thread[k], &sum), 0);
        cr_expect_eq((uintptr_t)sum, 15000u);
    }
    skn_dataset_close(&dataset);
    folder_remove(folder.path);
}

Test(dataset, errors_may_be_asked_for_nothing)
{
    skn_dataset_t *dataset;
    cr_expect_eq(skn_dataset_open("/nonexistent/f", NULL, &dataset, NULL),
                 SKN_NO_INPUT);
    skn_dataset_close(&dataset);
}
