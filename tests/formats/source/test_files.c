/* test_files.c - tests which files a source of data has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/files.h"

#include <criterion/criterion.h>

#include <fcntl.h>

#include "tests/formats/tokens/token_text.h"

/* Writes a file below the folder, and the folders above it. */
static void
put(const folder_t *folder, const char *name, const char *text)
{
    char path[600];
    int start = snprintf(path, sizeof(path), "%s/", folder->path);
    (void)snprintf(path + start, sizeof(path) - (size_t)start, "%s", name);
    for (char *slash = path + start; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    text_write(path, text);
}

static void
link_make(const folder_t *folder, const char *target, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    cr_assert_eq(symlink(target, path), 0);
}

static skn_files_t
list_good(const char *source)
{
    skn_files_t files;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_files_init(&files, source, &error), SKN_OK, "%s",
                 error.text);
    return files;
}

Test(files, a_folder_is_all_files_below_it_in_order_without_hidden_and_links)
{
    folder_t folder;
    folder_make(&folder);
    put(&folder, "b/2.txt", "2");
    put(&folder, "b/10.txt", "10");
    put(&folder, "a.txt", "a");
    put(&folder, "b/c/d.txt", "d");
    put(&folder, ".hidden", "h");
    put(&folder, "empty", "");
    put(&folder, "a.txt.skc", "a cache");
    put(&folder, "b/.git/x", "x");
    link_make(&folder, "a.txt", "link");
    link_make(&folder, "..", "b/up");
    const char *const wanted[] = { "a.txt", "b/10.txt", "b/2.txt",
                                   "b/c/d.txt" };
    skn_files_t files = list_good(folder.path);
    cr_assert_eq(files.count, 4u);
    for (size_t k = 0; k < 4; k++) {
        cr_expect_str_eq(files.path[k] + strlen(folder.path) + 1, wanted[k]);
        cr_expect(!files.is_named[k]);
    }
    cr_expect_eq(files.total_bytes, 5u);
    skn_files_fini(&files);
    folder_remove(folder.path);
}

Test(files, the_fingerprint_changes_with_a_name_a_size_and_a_time)
{
    folder_t folder;
    char slash[300], other[600];
    folder_make(&folder);
    put(&folder, "a.txt", "a");
    put(&folder, "b.txt", "b");
    skn_files_t files = list_good(folder.path);
    uint64_t first = files.fingerprint;
    skn_files_fini(&files);
    (void)snprintf(slash, sizeof(slash), "%s/", folder.path);
    files = list_good(slash);
    cr_expect_eq(files.fingerprint, first);
    skn_files_fini(&files);
    (void)snprintf(other, sizeof(other), "%s/b.txt", folder.path);
    struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    cr_assert_eq(utimensat(AT_FDCWD, other, times, 0), 0);
    files = list_good(folder.path);
    cr_expect_neq(files.fingerprint, first);
    first = files.fingerprint;
    skn_files_fini(&files);
    (void)snprintf(slash, sizeof(slash), "%s/c.txt", folder.path);
    cr_assert_eq(rename(other, slash), 0);
    files = list_good(folder.path);
    cr_expect_neq(files.fingerprint, first);
    skn_files_fini(&files);
    folder_remove(folder.path);
}

static void
expect_unlisted(const char *source, skn_status_t status, const char *sentence)
{
    skn_files_t files;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_files_init(&files, source, &error), status);
    cr_expect_str_eq(error.text, sentence);
    skn_files_fini(&files);
}

Test(files, sources_that_cannot_be_read_are_named)
{
    folder_t folder;
    char sentence[900];
    folder_make(&folder);
    (void)snprintf(sentence, sizeof(sentence), "%s: no such file",
                   folder.other);
    expect_unlisted(folder.other, SKN_NO_INPUT, sentence);
    (void)snprintf(sentence, sizeof(sentence), "%s: there is no file in it",
                   folder.path);
    expect_unlisted(folder.path, SKN_NO_INPUT, sentence);
    cr_assert_eq(mkdir(folder.other, 0), 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: the folder cannot be read: Permission denied",
                   folder.other);
    expect_unlisted(folder.path, SKN_NO_PERMISSION, sentence);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    folder_remove(folder.path);
}

Test(files, a_pipe_is_a_file_that_is_read_once)
{
    folder_t folder;
    char sentence[900];
    skn_error_t error = { 0 };
    folder_make(&folder);
    cr_assert_eq(mkfifo(folder.file, 0600), 0);
    skn_files_t files = list_good(folder.file);
    cr_expect(!files.is_regular);
    cr_expect_eq(skn_files_check_regular(&files, folder.file, &error),
                 SKN_NO_INPUT);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: is neither a regular file nor a folder, and data is "
                   "read more than once",
                   folder.file);
    cr_expect_str_eq(error.text, sentence);
    skn_files_fini(&files);
    folder_remove(folder.path);
}

/* Lists `source` and expects the names below the folder, with blanks behind
 * them. */
static void
expect_names(const folder_t *folder, const char *source, const char *wanted)
{
    char names[600] = "";
    size_t used = 0;
    skn_files_t files = list_good(source);
    for (size_t k = 0; k < files.count; k++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s ",
                                 files.path[k] + strlen(folder->path) + 1);
    cr_expect_str_eq(names, wanted);
    skn_files_fini(&files);
}

Test(files, a_list_and_a_pattern_are_files_in_their_order)
{
    folder_t folder;
    char source[1200];
    const char *at = folder.path;
    folder_make(&folder);
    put(&folder, "b.csv", "b");
    put(&folder, "a.csv", "a");
    put(&folder, "c.csv.skc", "a cache");
    put(&folder, "d/e.csv", "e");
    put(&folder, "[x].csv", "x");
    (void)snprintf(source, sizeof(source), "%s/[ab].csv", at);
    expect_names(&folder, source, "a.csv b.csv ");
    (void)snprintf(source, sizeof(source), "%s/[x].csv", at);
    expect_names(&folder, source, "[x].csv ");
    (void)snprintf(source, sizeof(source), "%s/*c*", at);
    expect_names(&folder, source, "[x].csv a.csv b.csv ");
    (void)snprintf(source, sizeof(source),
                   "%s/b.csv\n%s/d\n%s/a.csv\n%s/c.csv.skc", at, at, at, at);
    expect_names(&folder, source, "b.csv d/e.csv a.csv ");
    skn_files_t files = list_good(source);
    char *stem = skn_files_cache_stem(&files, source);
    char *name = skn_files_name(source, skn_files_place(1, 7));
    (void)snprintf(source, sizeof(source), "%s/b.csv.and-2-more", at);
    cr_expect_str_eq(stem, source);
    (void)snprintf(source, sizeof(source), "%s/d/e.csv", at);
    cr_expect_str_eq(name, source);
    cr_expect_eq(skn_files_line(skn_files_place(1, 7)), 7u);
    free(stem);
    free(name);
    skn_files_fini(&files);
    (void)snprintf(source, sizeof(source), "%s/z*", at);
    char sentence[1300];
    (void)snprintf(sentence, sizeof(sentence), "%s: no file has such a name",
                   source);
    expect_unlisted(source, SKN_NO_INPUT, sentence);
    folder_remove(folder.path);
}

static void
expect_stem(const char *source, const char *folder, const char *wanted)
{
    char path[700];
    skn_files_t files = list_good(source);
    char *stem = skn_files_cache_stem(&files, source);
    (void)snprintf(path, sizeof(path), "%s%s", folder, wanted);
    cr_expect_str_eq(stem, path);
    free(stem);
    skn_files_fini(&files);
}

Test(files, a_cache_is_named_for_the_first_file_of_a_pattern)
{
    folder_t folder;
    char source[600];
    folder_make(&folder);
    put(&folder, "d/a.csv", "a");
    put(&folder, "d/b.csv", "b");
    put(&folder, "[x].csv", "x");
    (void)snprintf(source, sizeof(source), "%s/d/*", folder.path);
    expect_stem(source, folder.path, "/d/a.csv.and-1-more");
    (void)snprintf(source, sizeof(source), "%s/d/a*", folder.path);
    expect_stem(source, folder.path, "/d/a.csv");
    (void)snprintf(source, sizeof(source), "%s/d*", folder.path);
    expect_stem(source, folder.path, "/d/a.csv.and-1-more");
    (void)snprintf(source, sizeof(source), "%s/d", folder.path);
    expect_stem(source, folder.path, "/d");
    (void)snprintf(source, sizeof(source), "%s/[x].csv", folder.path);
    expect_stem(source, folder.path, "/[x].csv");
    folder_remove(folder.path);
}

/* Their sizes and times may be equal. */
Test(files, the_fingerprint_of_a_list_has_its_names)
{
    folder_t folder;
    char source[1200];
    uint64_t fingerprint[2];
    folder_make(&folder);
    const char *at = folder.path, *const names[] = { "a", "b", "c" };
    for (int k = 0; k < 3; k++) {
        struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        put(&folder, names[k], "x");
        (void)snprintf(source, sizeof(source), "%s/%s", at, names[k]);
        cr_assert_eq(utimensat(AT_FDCWD, source, times, 0), 0);
    }
    for (int k = 0; k < 2; k++) {
        (void)snprintf(source, sizeof(source), "%s/a\n%s/%s", at, at,
                       names[k + 1]);
        skn_files_t files = list_good(source);
        fingerprint[k] = files.fingerprint;
        skn_files_fini(&files);
    }
    cr_expect_neq(fingerprint[0], fingerprint[1]);
    folder_remove(folder.path);
}

/* Whatever is in them: it may be a token file of words. */
Test(files, files_are_checked_without_being_read)
{
    folder_t folder;
    skn_error_t error = { 0 };
    folder_make(&folder);
    cr_expect_eq(skn_files_check(folder.file, &error), SKN_NO_INPUT);
    file_write(folder.file, "\0\xff", 2);
    cr_expect_eq(skn_files_check(folder.file, &error), SKN_OK);
    cr_expect_eq(skn_files_check(folder.path, &error), SKN_OK);
    cr_assert_eq(chmod(folder.file, 0), 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    cr_expect_eq(skn_files_check(folder.path, &error), SKN_NO_PERMISSION);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    folder_remove(folder.path);
}
