/* test_folder.c - tests checked names, atomic writes, and that no path leaves
 * the folder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/folder/folder.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[TEMP_FOLDER_BYTES];
static int folder;

static void
setup(void)
{
    temp_folder_make(path);
    cr_assert_eq(skn_folder_open(path, &folder, NULL), SKN_OK);
}

static void
teardown(void)
{
    (void)close(folder);
    temp_folder_remove(path);
}

TestSuite(folder, .init = setup, .fini = teardown);

Test(folder, takes_plain_names_only)
{
    static const char *const bad[] = {
        "",
        ".",
        "..",
        ".tmp-x",
        "a/b",
        "a b",
        "a\n",
        "\xc3\xa4",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_not(skn_file_name_good(bad[i]), "%s", bad[i]);
    cr_expect_eq(strlen(bad[8]), SKN_NAME_MAX + 1);
    cr_expect(skn_file_name_good(bad[8] + 1));
    cr_expect(skn_file_name_good("Az09_.-"));
}

Test(folder, writes_and_reads_a_whole_file)
{
    char *bytes = NULL;
    size_t count = 0;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_folder_write_file(folder, path, "f", "a\0b", 3, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(
        skn_folder_read_file(folder, path, "f", 3, &bytes, &count, &error),
        SKN_OK, "%s", error.text);
    cr_expect_eq(count, 3);
    cr_expect_eq(memcmp(bytes, "a\0b", 4), 0); /* the NUL behind it too */
    free(bytes);
    cr_expect_eq(
        skn_folder_read_file(folder, path, "f", 2, &bytes, &count, &error),
        SKN_BAD_DATA);
    cr_expect(strstr(error.text, "/f: 3 bytes, at most 2 allowed"), "%s",
              error.text);
    cr_expect_eq(skn_folder_write_file(folder, path, "f", "x", 1, &error),
                 SKN_CANNOT_CREATE);
    cr_expect(strstr(error.text, "/f: cannot create: File exists"), "%s",
              error.text);
}

Test(folder, replaces_a_file_and_what_was_left_of_another_try)
{
    char *bytes = NULL;
    size_t count = 0;
    struct stat facts;
    static const char *const texts[] = { "first", "second" };
    cr_assert_eq(skn_folder_write_file(folder, path, ".tmp-f", "x", 1, NULL),
                 SKN_OK);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(skn_folder_replace_file(folder, path, "f", texts[i],
                                             strlen(texts[i]), NULL),
                     SKN_OK);
        cr_assert_eq(
            skn_folder_read_file(folder, path, "f", 9, &bytes, &count, NULL),
            SKN_OK);
        cr_expect_str_eq(bytes, texts[i]);
        free(bytes);
        cr_expect_eq(fstatat(folder, ".tmp-f", &facts, 0), -1);
    }
}

Test(folder, follows_no_link_and_waits_for_no_pipe)
{
    int file;
    uint64_t bytes;
    skn_error_t error = { 0 };
    cr_assert_eq(symlinkat("/etc/passwd", folder, "link"), 0);
    cr_assert_eq(mkfifoat(folder, "pipe", 0600), 0);
    cr_assert_eq(mkdirat(folder, "folder", 0700), 0);
    cr_expect_eq(
        skn_folder_open_file(folder, path, "link", &file, &bytes, &error),
        SKN_BAD_DATA);
    cr_expect_eq(
        skn_folder_open_file(folder, path, "pipe", &file, &bytes, &error),
        SKN_BAD_DATA);
    cr_expect(strstr(error.text, "/pipe: not a regular file"), "%s",
              error.text);
    cr_expect_eq(
        skn_folder_open_file(folder, path, "folder", &file, &bytes, &error),
        SKN_BAD_DATA);
    cr_expect_eq(
        skn_folder_open_file(folder, path, "none", &file, &bytes, &error),
        SKN_NO_INPUT);
}

Test(folder, replaces_a_link_in_one_step)
{
    char target[64];
    for (int i = 0; i < 3; i++) {
        char want[16];
        (void)snprintf(want, sizeof(want), "batch-%d", i);
        cr_assert_eq(skn_folder_link(folder, path, "latest", want, NULL),
                     SKN_OK);
        ssize_t length = readlinkat(folder, "latest", target, sizeof(target));
        cr_assert_gt(length, 0);
        target[length] = '\0';
        cr_expect_str_eq(target, want);
    }
}

Test(folder, removes_files_and_flat_folders)
{
    struct stat facts;
    cr_assert_eq(mkdirat(folder, "d", 0700), 0);
    int inner = openat(folder, "d", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "f%d", i);
        cr_assert_eq(skn_folder_write_file(inner, "d", name, name, 1, NULL),
                     SKN_OK);
    }
    cr_assert_eq(symlinkat("..", inner, "up"), 0);
    cr_expect_eq(skn_folder_remove(folder, path, "d", NULL), SKN_OK);
    cr_expect_eq(fstatat(folder, "d", &facts, 0), -1);
    cr_expect_eq(skn_folder_remove(folder, path, "d", NULL), SKN_OK);
    cr_assert_eq(mkdirat(folder, "d", 0700), 0);
    (void)close(inner);
    inner = openat(folder, "d", O_RDONLY | O_DIRECTORY);
    cr_assert_eq(mkdirat(inner, "deep", 0700), 0);
    skn_error_t error = { 0 };
    cr_expect_neq(skn_folder_remove(folder, path, "d", &error), SKN_OK);
    cr_expect(strstr(error.text, "/d/deep: cannot remove: "), "%s", error.text);
    (void)close(inner);
}

Test(folder, removes_a_tree_but_nothing_that_it_links_to)
{
    char tree[TEMP_FOLDER_BYTES + 16], name[TEMP_FOLDER_BYTES + 48];
    char kept[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    (void)snprintf(tree, sizeof(tree), "%s/tree", path);
    (void)snprintf(kept, sizeof(kept), "%s/kept", path);
    cr_assert_eq(mkdir(tree, 0700), 0);
    cr_assert_eq(mkdir(kept, 0700), 0);
    (void)snprintf(name, sizeof(name), "%s/in", tree);
    cr_assert_eq(mkdir(name, 0700), 0);
    (void)snprintf(name, sizeof(name), "%s/in/link", tree);
    cr_assert_eq(symlink(kept, name), 0);
    cr_expect_eq(skn_folder_remove_tree(tree, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_neq(access(tree, F_OK), 0);
    cr_expect_eq(access(kept, F_OK), 0);
    cr_expect_eq(skn_folder_remove_tree(tree, &error), SKN_OK);
}

Test(folder, creates_missing_parents)
{
    char deep[TEMP_FOLDER_BYTES + 32];
    int made;
    static const char *const tails[] = { "", "/", "/a", "/a/b/c", "/x//y/" };
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        skn_error_t error = { 0 };
        (void)snprintf(deep, sizeof(deep), "%s%s", path, tails[i]);
        cr_assert_eq(skn_folder_create(deep, &made, &error), SKN_OK, "%s",
                     error.text);
        (void)close(made);
    }
    skn_error_t error = { 0 };
    cr_expect_eq(skn_folder_create("", &made, &error), SKN_CANNOT_CREATE);
}

Test(folder, names_the_path_and_the_reason_when_it_cannot_create)
{
    char deep[TEMP_FOLDER_BYTES + 32], want[2 * TEMP_FOLDER_BYTES + 96];
    int made;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_folder_write_file(folder, path, "f", "x", 1, NULL),
                 SKN_OK);
    (void)snprintf(deep, sizeof(deep), "%s/f/run", path);
    cr_expect_eq(skn_folder_create(deep, &made, &error), SKN_CANNOT_CREATE);
    (void)snprintf(want, sizeof(want),
                   "%s: cannot create the folder: %s/f is a file", deep, path);
    cr_expect_str_eq(error.text, want);
    cr_expect_str_eq(error.hint, "choose another path, or move that file away");
    cr_expect_eq(skn_folder_open(deep, &made, &error), SKN_NO_INPUT);
}

Test(folder, checks_a_path_without_making_anything)
{
    static const char *const good[] = { "",      "/",
                                        "/new",  "/new/deeper/still",
                                        "/new/", "//new" };
    char deep[PATH_MAX + 16];
    skn_error_t error = { 0 };
    struct stat facts;
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        (void)snprintf(deep, sizeof(deep), "%s%s", path, good[k]);
        cr_expect_eq(skn_folder_check(deep, &error), SKN_OK, "%s: %s", deep,
                     error.text);
    }
    (void)snprintf(deep, sizeof(deep), "%s/new", path);
    cr_expect_neq(stat(deep, &facts), 0);
    cr_expect_eq(skn_folder_check("new/deeper", &error), SKN_OK);
    cr_expect_eq(skn_folder_check("", &error), SKN_CANNOT_CREATE);
    memset(deep, 'x', sizeof(deep) - 1);
    deep[PATH_MAX] = '\0';
    cr_expect_eq(skn_folder_check(deep, &error), SKN_CANNOT_CREATE);
    cr_expect_str_eq(error.text,
                     "a folder's path has 4096 bytes, 1 to 4095 allowed");
    deep[300] = '\0';
    cr_expect_eq(skn_folder_check(deep, &error), SKN_CANNOT_CREATE);
    cr_expect_str_eq(error.hint, "choose shorter names");
}

Test(folder, checks_what_stands_in_the_way)
{
    static const char *const bad[] = { "/f", "/f/", "/f/run", "/f/run/deep" };
    char deep[TEMP_FOLDER_BYTES + 32], want[2 * TEMP_FOLDER_BYTES + 96];
    skn_error_t error;
    cr_assert_eq(skn_folder_write_file(folder, path, "f", "x", 1, NULL),
                 SKN_OK);
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        error = (skn_error_t){ 0 };
        (void)snprintf(deep, sizeof(deep), "%s%s", path, bad[k]);
        (void)snprintf(want, sizeof(want),
                       "%s: cannot create the folder: %s/f is a file", deep,
                       path);
        cr_expect_eq(skn_folder_check(deep, &error), SKN_CANNOT_CREATE);
        cr_expect_str_eq(error.text, want);
        cr_expect_neq(error.hint[0], '\0');
    }
    cr_expect_eq(skn_folder_check(deep, NULL), SKN_CANNOT_CREATE);
}

/* Root may do everything, so a child becomes nobody. */
Test(folder, reports_a_missing_permission)
{
    cr_assert_eq(chmod(path, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        skn_error_t error = { 0 };
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(3);
        skn_status_t status = skn_folder_check(path, &error);
        if (status != SKN_NO_PERMISSION || !error.hint[0])
            _exit(2);
        status = skn_folder_write_file(folder, path, "f", "x", 1, &error);
        _exit(status == SKN_NO_PERMISSION &&
                      strstr(error.text, "/f: cannot create: Permission denied")
                  ? 0
                  : 1);
    }
    int result = -1;
    cr_assert_eq(waitpid(child, &result, 0), child);
    if (geteuid() == 0)
        cr_expect_eq(result, 0);
}

/* The kernel writes a part and then refuses, as on a full disk. */
Test(folder, removes_a_file_that_did_not_fit)
{
    struct rlimit limit = { 1000, 1000 };
    static char bytes[4096];
    struct stat facts;
    skn_error_t error = { 0 };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    cr_assert_eq(sigaction(SIGXFSZ, &ignore, NULL), 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(skn_folder_write_file(folder, path, "f", bytes, 4096, &error),
                 SKN_STORAGE);
    cr_expect(strstr(error.text, "/f: cannot write: File too large"), "%s",
              error.text);
    cr_expect_eq(fstatat(folder, "f", &facts, 0), -1);
}

Test(folder, reports_where_a_file_ends_too_early)
{
    char bytes[8];
    int file;
    uint64_t count;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_folder_write_file(folder, path, "f", "abc", 3, NULL),
                 SKN_OK);
    cr_assert_eq(skn_folder_open_file(folder, path, "f", &file, &count, NULL),
                 SKN_OK);
    cr_expect_eq(skn_file_read(file, "f", bytes, 4, 1, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "f: the file ends at byte 3");
    (void)close(file);
}
