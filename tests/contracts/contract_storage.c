/* contract_storage.c - tests formats/ when the system refuses a call.
 *
 * One body over many subjects: each call of open, read, write, sync, rename and
 * so on fails in turn, with each error that the system may return. An operation
 * then fails with a status and a message, or does without the call; it leaks no
 * memory and no descriptor, and files that were whole before are whole after
 * it. Reads and writes that are cut short or interrupted change nothing at all.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/dataset/dataset.h"
#include "formats/folder/folder.h"
#include "formats/folder/folder_lock.h"
#include "formats/dataset/xmc.h"
#include "formats/features/features.h"
#include "formats/tokens/sequences.h"
#include "tests/support/storage_runs.h"
#include "tests/support/settle.h"

/* --- subjects: data files ------------------------------------------------- */

#define SET_TEXT "3 4 5\n0,4 1:0.5 3:1\n2 0:2\n 2:1\n"

static void
prepare_text(place_t *place)
{
    write_text(place->text, SET_TEXT);
}

static skn_status_t
open_set(place_t *place, skn_cache_place_t where, skn_error_t *error)
{
    skn_dataset_options_t options = {
        .cache = where,
        .cache_path = place->cache,
        .memory_bytes = 1, /* the least: several passes over the labels */
    };
    skn_dataset_t *dataset;
    skn_status_t status =
        skn_dataset_open(place->text, &options, &dataset, error);
    if (status != SKN_OK) {
        cr_expect_null(dataset);
        return status;
    }
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    cr_expect_eq(info->point_count, 3u);
    cr_expect_eq(info->feature_total, 4u);
    cr_expect_eq(info->label_frequency[4], 1u);
    cr_expect_eq(skn_dataset_point(dataset, 1).label[0], 2u);
    skn_dataset_close(&dataset);
    return SKN_OK;
}

static skn_status_t
build_cache(place_t *place, skn_error_t *error)
{
    return open_set(place, SKN_CACHE_AUTO, error);
}

static skn_status_t
build_named_cache(place_t *place, skn_error_t *error)
{
    return open_set(place, SKN_CACHE_PATH, error);
}

/* In the folder of the test, which sentences then name. */
static skn_status_t
build_without_name(place_t *place, skn_error_t *error)
{
    char before[256];
    const char *now = getenv("TMPDIR");
    (void)snprintf(before, sizeof(before), "%s", now ? now : "/tmp");
    cr_assert_eq(setenv("TMPDIR", place->folder, 1), 0);
    skn_status_t status = open_set(place, SKN_CACHE_ANONYMOUS, error);
    cr_assert_eq(setenv("TMPDIR", before, 1), 0);
    return status;
}

static void
prepare_cache(place_t *place)
{
    skn_error_t error = { 0 };
    prepare_text(place);
    cr_assert_eq(build_named_cache(place, &error), SKN_OK, "%s", error.text);
}

static void
count_entry(const char *folder, size_t want)
{
    DIR *list = opendir(folder);
    size_t count = 0;
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += entry->d_name[0] != '.';
    cr_assert(list && closedir(list) == 0);
    cr_expect_eq(count, want, "%zu files in the folder, not %zu", count, want);
}

/* No half of a cache stays behind. */
static void
inspect_cache(place_t *place, skn_status_t status)
{
    char beside[sizeof(place->text) + 8];
    (void)snprintf(beside, sizeof(beside), "%s.skc", place->text);
    bool there = access(beside, F_OK) == 0 || access(place->cache, F_OK) == 0;
    count_entry(place->folder, there ? 2 : 1);
    cr_expect(status != SKN_OK || there || errno == ENOENT);
    skn_error_t error = { 0 };
    cr_expect_eq(build_cache(place, &error), SKN_OK, "%s", error.text);
}

static skn_status_t
read_text(place_t *place, skn_error_t *error)
{
    skn_xmc_reader_t *reader;
    skn_xmc_point_t point;
    bool more = true;
    size_t count = 0;
    skn_xmc_point_init(&point);
    skn_status_t status = skn_xmc_open(place->text, NULL, &reader, error);
    while (status == SKN_OK && more) {
        status = skn_xmc_next(reader, &point, &more, error);
        count += status == SKN_OK && more;
    }
    if (status == SKN_OK)
        cr_expect_eq(count, 3u);
    skn_xmc_close(&reader);
    skn_xmc_point_fini(&point);
    return status;
}

static void
prepare_gzip(place_t *place)
{
    char command[4 * sizeof(place->text)];
    prepare_text(place);
    (void)snprintf(command, sizeof(command), "gzip -n '%s' && mv '%s.gz' '%s'",
                   place->text, place->text, place->text);
    cr_assert_eq(system(command), 0);
}

/* --- subjects: text as tokens --------------------------------------------- */

static void
prepare_folder(place_t *place)
{
    char path[sizeof(place->text) + 8];
    cr_assert_eq(mkdir(place->text, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/one", place->text);
    write_text(path, "the cat and the dog");
    (void)snprintf(path, sizeof(path), "%s/two", place->text);
    write_text(path, "and the bird");
}

static skn_status_t
open_tokens(place_t *place, skn_error_t *error)
{
    skn_tokens_options_t options = { .cache = SKN_CACHE_PATH,
                                     .cache_path = place->cache,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 300 };
    const char *source = place->text;
    skn_sequences_split_t split;
    skn_tokens_t *tokens;
    skn_status_t status = skn_tokens_open(source, &options, &tokens, error);
    if (status != SKN_OK) {
        cr_expect_null(tokens);
        return status;
    }
    cr_expect_eq(skn_tokens_info(tokens)->document_count, 2u);
    cr_expect_eq(skn_tokens_info(tokens)->ids, SKN_TOKEN_WORDS + 1);
    status = skn_sequences_split(tokens, "text", 2, 0.1, 1, &split, error);
    if (status == SKN_OK)
        cr_expect_gt(split.train.count, 0u);
    skn_sequences_split_fini(&split);
    skn_tokens_close(&tokens);
    return status;
}

/* No half of a token file stays behind. */
static void
inspect_tokens(place_t *place, skn_status_t status)
{
    skn_error_t error = { 0 };
    (void)status;
    count_entry(place->folder, access(place->cache, F_OK) == 0 ? 2 : 1);
    cr_expect_eq(open_tokens(place, &error), SKN_OK, "%s", error.text);
}

static void
prepare_tokens(place_t *place)
{
    skn_error_t error = { 0 };
    prepare_folder(place);
    cr_assert_eq(open_tokens(place, &error), SKN_OK, "%s", error.text);
}

static void
prepare_tokenizer(place_t *place)
{
    static const uint32_t offset[] = { 0, 4, 8 };
    size_t bytes;
    skn_tokenizer_t *tokenizer = skn_tokenizer_new("words", SKN_TOKENIZER_WORDS,
                                                   " the and", offset, 2, NULL);
    cr_assert(tokenizer);
    char *text = skn_tokenizer_write(tokenizer, &bytes);
    cr_assert(text);
    write_text(place->text, text);
    free(text);
    skn_tokenizer_destroy(&tokenizer);
}

static skn_status_t
read_tokenizer(place_t *place, skn_error_t *error)
{
    skn_tokenizer_t *tokenizer = skn_tokenizer_open(place->text, error);
    if (!tokenizer)
        return error->status;
    cr_expect_eq(skn_tokenizer_ids(tokenizer), SKN_TOKEN_WORDS + 2);
    skn_tokenizer_destroy(&tokenizer);
    return SKN_OK;
}

/* --- subjects: the features of texts -------------------------------------- */

static char *features;
static size_t features_bytes;

static void
prepare_features(place_t *place)
{
    const skn_feature_options_t how = { .words_max = 1,
                                        .rows_min = 1,
                                        .features_max = 100 };
    const skn_span_t text = { "the cat", 7 };
    const skn_feature_fields_t fields = { &text, 1, false };
    skn_error_t error = { 0 };
    (void)place;
    skn_feature_counts_t *counts = skn_feature_counts_new(&how, 100);
    cr_assert_eq(skn_feature_counts_add(counts, &fields, &error), SKN_OK);
    skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
    free(features);
    features = skn_featurizer_write(featurizer, &features_bytes);
    cr_assert_not_null(features);
    skn_featurizer_destroy(&featurizer);
    skn_feature_counts_destroy(&counts);
}

static skn_status_t
read_features(place_t *place, skn_error_t *error)
{
    (void)place;
    skn_featurizer_t *featurizer =
        skn_featurizer_read("f", features, features_bytes, error);
    if (!featurizer)
        return error->status;
    cr_expect_eq(skn_featurizer_count(featurizer), 2u);
    skn_featurizer_destroy(&featurizer);
    return SKN_OK;
}

/* --- subjects: one file, one lock ----------------------------------------- */

static skn_status_t
write_file(place_t *place, skn_error_t *error)
{
    int folder;
    skn_status_t status = skn_folder_create(place->run, &folder, error);
    if (status != SKN_OK)
        return status;
    status =
        skn_folder_write_file(folder, place->run, "f", "0123456789", 10, error);
    if (status == SKN_OK)
        status = skn_folder_sync(folder, place->run, error);
    if (status == SKN_OK)
        status = skn_folder_link(folder, place->run, "l", "f", error);
    int code = errno;
    (void)close(folder);
    errno = code;
    return status;
}

/* The file is whole or not there. */
static void
inspect_file(place_t *place, skn_status_t status)
{
    char *bytes = NULL;
    size_t count = 0;
    skn_error_t error = { 0 };
    int folder = open(place->run, O_RDONLY | O_DIRECTORY);
    if (folder < 0) {
        cr_expect_neq(status, SKN_OK);
        return;
    }
    skn_status_t found = skn_folder_read_file(folder, place->run, "f", 100,
                                              &bytes, &count, &error);
    if (found == SKN_OK)
        cr_expect(count == 10 && memcmp(bytes, "0123456789", 10) == 0);
    else
        cr_expect(found == SKN_NO_INPUT && status != SKN_OK, "%s", error.text);
    free(bytes);
    (void)close(folder);
}

static void
prepare_file(place_t *place)
{
    skn_error_t error = { 0 };
    cr_assert_eq(write_file(place, &error), SKN_OK, "%s", error.text);
}

static skn_status_t
read_file(place_t *place, skn_error_t *error)
{
    char *bytes = NULL;
    size_t count = 0;
    int folder;
    skn_status_t status = skn_folder_open(place->run, &folder, error);
    if (status != SKN_OK)
        return status;
    status = skn_folder_read_file(folder, place->run, "f", 100, &bytes, &count,
                                  error);
    if (status == SKN_OK)
        cr_expect(count == 10 && strcmp(bytes, "0123456789") == 0);
    free(bytes);
    (void)close(folder);
    return status;
}

static skn_status_t
take_lock(place_t *place, skn_error_t *error)
{
    int lock = -1;
    int folder = -1;
    skn_status_t status = skn_folder_open(place->folder, &folder, error);
    if (status != SKN_OK)
        return status;
    status = skn_folder_lock_open(folder, place->folder, 100, &lock, error);
    cr_expect_eq(status == SKN_OK, lock >= 0);
    skn_folder_lock_close(&lock);
    cr_expect_eq(lock, -1);
    (void)close(folder);
    return status;
}

static void
inspect_lock(place_t *place, skn_status_t status)
{
    skn_error_t error = { 0 };
    (void)status;
    cr_expect_eq(take_lock(place, &error), SKN_OK, "%s", error.text);
}

/* What may fail in silence, and why that is right: a close after reading; a
 * look at the lock, which is taken again; the first try to remove a folder,
 * which takes it for a file; the links and the pruning after a checkpoint,
 * which are warnings; an older cache or checkpoint that takes the place of one
 * that cannot be read, here or in another node's folder; another place for a
 * cache that was given none by name, whatever failed at the first. */
static const subject_t subjects[] = {
    { "make a run", NULL, make_run, inspect_new_run,
      "open openat close fstat fstatat" },
    { "resume a run", prepare_checkpoints, resume_run, NULL,
      "close fstat fstatat" },
    { "look at a run", prepare_run, look_at_run, NULL, "close" },
    { "write a checkpoint", prepare_checkpoints, write_checkpoint,
      inspect_new_checkpoint,
      "close unlinkat openat fdopendir renameat symlinkat fsync fstat "
      "fstatat realloc" },
    { "write it again", prepare_checkpoints, write_again,
      inspect_same_checkpoint,
      "close unlinkat openat fdopendir renameat symlinkat fsync fstat "
      "fstatat realloc" },
    { "mark and prune", prepare_checkpoints, mark_and_prune, inspect_kept,
      "close fstat fstatat unlinkat" },
    { "forget the newer", prepare_checkpoints, forget_the_newer,
      inspect_forgotten, "close fstat fstatat unlinkat" },
    { "read a checkpoint", prepare_checkpoints, read_checkpoint, NULL,
      "close openat fstat pread mmap" },
    { "read lazily", prepare_checkpoints, read_lazily, NULL,
      "close openat fstat pread mmap" },
    { "read in parts", prepare_parts, read_checkpoint, NULL,
      "close open openat fdopendir fstat pread mmap" },
    { "build a cache", prepare_text, build_cache, inspect_cache,
      "open openat close fsync fstat mmap mkostemp write pwrite linkat "
      "rename" },
    { "build a named cache", prepare_text, build_named_cache, inspect_cache,
      "open openat close fsync fstat mmap mkostemp linkat" },
    { "build without a name", prepare_text, build_without_name, inspect_cache,
      "close fstat" },
    { "open from the cache", prepare_cache, build_named_cache, inspect_cache,
      "open close fstat mmap read strdup" },
    { "build a token file", prepare_folder, open_tokens, inspect_tokens,
      "open openat close fsync fstat linkat" },
    { "open a token file", prepare_tokens, open_tokens, inspect_tokens,
      "open close fstat mmap read strdup" },
    { "read a tokenizer", prepare_tokenizer, read_tokenizer, NULL, "close" },
    { "read a text", prepare_text, read_text, NULL, "close" },
    { "read a gzip", prepare_gzip, read_text, NULL, "close" },
    { "read features", prepare_features, read_features, NULL, "" },
    { "write a file", NULL, write_file, inspect_file, "open close unlinkat" },
    { "read a file", prepare_file, read_file, NULL, "close" },
    { "take a lock", NULL, take_lock, inspect_lock, "close fstat fstatat" },
};
#define SUBJECT_COUNT (sizeof(subjects) / sizeof(subjects[0]))

/* --- the body ------------------------------------------------------------- */

static void
place_make(place_t *place)
{
    fixture_step_bytes = 64;
    fixture_metadata = FIXTURE_METADATA;
    /* Thousands of small folders: in memory, where there is such a place. */
    if (access("/dev/shm", W_OK) == 0)
        cr_assert_eq(setenv("TMPDIR", "/dev/shm", 0), 0);
    temp_folder_make(place->folder);
    (void)snprintf(place->run, sizeof(place->run), "%s/run", place->folder);
    (void)snprintf(place->text, sizeof(place->text), "%s/set", place->folder);
    (void)snprintf(place->cache, sizeof(place->cache), "%s/cache",
                   place->folder);
    /* Caches that do not fit beside their source must not go home. */
    cr_assert_eq(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    cr_assert_eq(setenv("HOME", "relative", 1), 0);
}

static bool
is_forgiven(const subject_t *subject, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = subject->forgiven; (at = strstr(at, name)); at++)
        if ((at == subject->forgiven || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Runs `subject` with the n-th call of `kind` failing. False: there was no
 * such call, so that every one has had its turn. */
static bool
try_one(const subject_t *subject, fault_kind_t kind, uint64_t n, int code,
        bool forever)
{
    place_t place;
    skn_error_t error = { 0 };
    place_make(&place);
    if (subject->prepare)
        subject->prepare(&place);
    size_t descriptors = settle_entries(SETTLE_DESCRIPTORS);
    faults_arm(kind, n, code, forever);
    skn_status_t status = subject->act(&place, &error);
    (void)faults_disarm();
    bool hit = faults_hit() > 0;
    const char *name = faults_hit_name();
    cr_expect_eq(settle_entries(SETTLE_DESCRIPTORS), descriptors,
                 "%s: a descriptor stays open after %s %u", subject->name, name,
                 (unsigned)n);
    cr_expect_eq(faults_blocks_live(), 0u, "%s: memory is kept after %s %u",
                 subject->name, name, (unsigned)n);
    bool sends_events = kind == FAULT_SYSTEM || kind == FAULT_MEMORY;
    if (status == SKN_OK)
        cr_expect(!hit || !sends_events || is_forgiven(subject, name),
                  "%s: %s %u failed with %s and nobody says so", subject->name,
                  name, (unsigned)n, strerror(code));
    else
        cr_expect(
            hit && sends_events && error.text[0] && error.status == status,
            "%s: %s %u: %s", subject->name, name, (unsigned)n, error.text);
    bool is_short = kind == FAULT_MEMORY ||
                    (code == EMFILE && strncmp(name, "open", 4) == 0);
    if (is_short && status != SKN_OK)
        cr_expect_eq(status, SKN_NO_MEMORY, "%s: %s %u: %s", subject->name,
                     name, (unsigned)n, error.text);
    if (subject->inspect)
        subject->inspect(&place, status);
    temp_folder_remove(place.folder);
    return hit;
}

/* Every call once, and the `count` errors in turn; another subject starts with
 * another of them. */
static void
try_all(fault_kind_t kind, const int *codes, size_t count)
{
    for (size_t k = 0; k < SUBJECT_COUNT; k++) {
        uint64_t n = 1;
        while (n < 5000 &&
               try_one(&subjects[k], kind, n, codes[(n + k) % count], false))
            n++;
        cr_expect(n < 5000, "%s does not come to an end", subjects[k].name);
    }
}

Test(contract_storage, every_subject_succeeds_when_nothing_fails)
{
    for (size_t k = 0; k < SUBJECT_COUNT; k++)
        cr_expect_not(try_one(&subjects[k], FAULT_SYSTEM, 0, EIO, false));
}

/* A broken device, a full disk, no permission, no descriptors left. */
Test(contract_storage, a_call_that_fails_is_reported_and_nothing_whole_is_lost)
{
    static const int codes[] = { EIO, ENOSPC, EACCES, EMFILE };
    try_all(FAULT_SYSTEM, codes, 4);
}

Test(contract_storage, memory_that_runs_short_is_reported_and_nothing_is_lost)
{
    try_all(FAULT_MEMORY, (const int[]){ ENOMEM }, 1);
}

/* That says nothing of what lies on the disk: an older checkpoint that took the
 * place of a sound one would be work that is lost. */
Test(contract_storage, a_lack_of_descriptors_is_no_damage)
{
    for (size_t k = 0; k < SUBJECT_COUNT; k++) {
        const subject_t *subject = &subjects[k];
        bool hit = strncmp(subject->name, "read ", 5) == 0 &&
                   subject->prepare != prepare_text;
        for (uint64_t n = 1; hit; n++) {
            batch_read = 20;
            hit = try_one(subject, FAULT_SYSTEM, n, EMFILE, false);
            cr_expect_eq(batch_read, 20u, "%s: call %u", subject->name,
                         (unsigned)n);
        }
    }
}

Test(contract_storage, reads_and_writes_that_are_cut_short_change_nothing)
{
    for (size_t k = 0; k < SUBJECT_COUNT; k++)
        (void)try_one(&subjects[k], FAULT_SHORT, 1, 0, true);
    try_all(FAULT_SHORT, (const int[]){ 0 }, 1);
}

Test(contract_storage, interrupted_reads_and_writes_change_nothing)
{
    try_all(FAULT_SIGNAL, (const int[]){ EINTR }, 1);
}

/* --- what is said --------------------------------------------------------- */

#define SAID_MAX 64
#define SAID_BYTES 1024

static char said[SAID_MAX][SAID_BYTES];
static size_t said_count;

/* Adds a sentence, with "$" for the folder of the test, once. */
static void
note_sentence(const place_t *place, const char *text)
{
    char line[SAID_BYTES];
    size_t length = strlen(place->folder);
    const char *at = strstr(text, place->folder);
    if (at)
        (void)snprintf(line, sizeof(line), "%.*s$%s", (int)(at - text), text,
                       at + length);
    else
        (void)snprintf(line, sizeof(line), "%s", text);
    for (size_t k = 0; k < said_count; k++)
        if (strcmp(said[k], line) == 0)
            return;
    cr_assert_lt(said_count, SAID_MAX);
    memcpy(said[said_count++], line, sizeof(line));
}

static void
collect_sentences(const subject_t *subject)
{
    bool hit = true;
    said_count = 0;
    for (uint64_t n = 1; hit && n < 5000; n++) {
        place_t place;
        skn_error_t error = { 0 };
        place_make(&place);
        if (subject->prepare)
            subject->prepare(&place);
        faults_arm(FAULT_SYSTEM, n, EIO, false);
        skn_status_t status = subject->act(&place, &error);
        (void)faults_disarm();
        hit = faults_hit() > 0;
        if (status != SKN_OK)
            note_sentence(&place, error.text);
        temp_folder_remove(place.folder);
    }
}

/* Each failing call is named by what was to be done and to which file. */
static const struct {
    const char *subject, *sentence;
} sentences[] = {
    { "make a run", "$/run: cannot create the folder" },
    { "make a run", "$/run/lock: cannot open" },
    { "make a run", "$/run/lock: cannot lock" },
    { "make a run", "$/run/lock: cannot write" },
    { "make a run", "$/run: cannot list the folder" },
    { "make a run", "$/run/.tmp-run.json: cannot create" },
    { "make a run", "$/run/.tmp-run.json: cannot write" },
    { "make a run", "$/run/.tmp-run.json: cannot sync" },
    { "make a run", "$/run/.tmp-run.json: cannot close" },
    { "make a run", "$/run/run.json: cannot rename" },
    { "make a run", "$/run: cannot sync the folder" },
    { "look at a run", "$/run: cannot open the folder" },
    { "look at a run", "$/run/run.json: cannot examine" },
    { "look at a run", "$/run/run.json: cannot read" },
    { "mark and prune", "$/run/best: cannot link" },
    { "mark and prune", "$/run/best: cannot replace" },
    { "mark and prune", "$/run/batch-000000000010: cannot rename" },
    { "write a checkpoint", "$/run/.tmp-000000000030: cannot create the "
                            "folder" },
    { "write a checkpoint", "$/run/.tmp-000000000030/hidden.0.safetensors: "
                            "cannot create" },
    { "write a checkpoint", "$/run/.tmp-000000000030/hidden.0.safetensors: "
                            "cannot reserve its length" },
    { "write a checkpoint", "$/run/.tmp-000000000030/hidden.0.safetensors: "
                            "cannot write" },
    { "write a checkpoint", "$/run/.tmp-000000000030/output.1.safetensors: "
                            "cannot sync" },
    { "write a checkpoint", "$/run/.tmp-000000000030/output.1.safetensors: "
                            "cannot close" },
    { "write a checkpoint", "$/run/.tmp-000000000030/manifest.json: cannot "
                            "sync" },
    { "write a checkpoint", "$/run/.tmp-000000000030: cannot rename to "
                            "batch-000000000030" },
    { "build a named cache", "$/cache: the cache cannot be created" },
    { "build a named cache", "$/cache: the cache cannot be written" },
    { "build a named cache", "$/cache: cannot be mapped" },
    { "build without a name", "a temporary file in $ (TMPDIR): the cache "
                              "cannot be created" },
    { "read a text", "$/set: cannot be examined" },
};

Test(contract_storage, each_refusal_names_what_was_to_be_done)
{
    const char *current = "";
    for (size_t k = 0; k < sizeof(sentences) / sizeof(sentences[0]); k++) {
        char want[SAID_BYTES];
        for (size_t s = 0; strcmp(current, sentences[k].subject) != 0; s++) {
            cr_assert_lt(s, SUBJECT_COUNT, "%s", sentences[k].subject);
            if (strcmp(subjects[s].name, sentences[k].subject) == 0) {
                current = subjects[s].name;
                collect_sentences(&subjects[s]);
            }
        }
        (void)snprintf(want, sizeof(want), "%s: %s", sentences[k].sentence,
                       strerror(EIO));
        bool found = false;
        for (size_t s = 0; s < said_count; s++)
            found = found || strcmp(said[s], want) == 0;
        cr_expect(found, "%s never says: %s", current, want);
    }
}

/* Which status a refusal gives is part of what scripts look at. */
Test(contract_storage, the_status_follows_from_the_error)
{
    static const struct {
        int code;
        skn_status_t status;
    } cases[] = {
        { EACCES, SKN_NO_PERMISSION }, { EPERM, SKN_NO_PERMISSION },
        { EROFS, SKN_NO_PERMISSION },  { ENOMEM, SKN_NO_MEMORY },
        { EMFILE, SKN_NO_MEMORY },     { ENFILE, SKN_NO_MEMORY },
        { EIO, SKN_STORAGE },          { ENOSPC, SKN_STORAGE },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        place_t place;
        char want[sizeof(place.run) + 200];
        skn_error_t error = { 0 };
        place_make(&place);
        prepare_file(&place);
        int folder = open(place.run, O_RDONLY | O_DIRECTORY);
        faults_arm(FAULT_SYSTEM, 1, cases[k].code, false);
        skn_status_t status = skn_folder_sync(folder, place.run, &error);
        (void)faults_disarm();
        cr_expect_eq(status, cases[k].status, "%s", strerror(cases[k].code));
        (void)snprintf(want, sizeof(want), "%s: cannot sync the folder: %s",
                       place.run, strerror(cases[k].code));
        cr_expect_str_eq(error.text, want);
        (void)close(folder);
        temp_folder_remove(place.folder);
    }
}
