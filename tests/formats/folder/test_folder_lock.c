/* test_folder_lock.c - tests that one process at a time has a folder, and that
 * the refusal names it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/folder/folder_lock.h"

#include "formats/folder/folder.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
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

TestSuite(folder_lock, .init = setup, .fini = teardown);

/* A child that holds the lock until `go` is closed, and says so on `ready`. */
static pid_t
hold(int *go)
{
    int ready[2], wait[2];
    char byte = 0;
    cr_assert_eq(pipe(ready), 0);
    cr_assert_eq(pipe(wait), 0);
    pid_t child = fork();
    if (child == 0) {
        int lock;
        (void)close(wait[1]);
        if (skn_folder_lock_open(folder, path, 0, &lock, NULL) != SKN_OK ||
            write(ready[1], &byte, 1) != 1)
            _exit(1);
        (void)!read(wait[0], &byte, 1);
        _exit(0);
    }
    (void)close(wait[0]);
    (void)close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    *go = wait[1];
    return child;
}

Test(folder_lock, is_refused_to_a_second_process_with_the_pid_of_the_first)
{
    char want[TEMP_FOLDER_BYTES + 64];
    int go, lock;
    skn_error_t error = { 0 };
    pid_t child = hold(&go);
    cr_expect_eq(skn_folder_lock_open(folder, path, 0, &lock, &error),
                 SKN_BUSY);
    (void)snprintf(want, sizeof(want), "%s is held by process %d", path,
                   (int)child);
    cr_expect_str_eq(error.text, want);
    cr_expect_str_eq(error.hint, "wait for it, or choose another folder");
    cr_expect_eq(lock, -1);
    (void)close(go);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_expect_eq(skn_folder_lock_open(folder, path, 0, &lock, &error), SKN_OK);
    skn_folder_lock_close(&lock);
    skn_folder_lock_close(&lock); /* twice is fine */
}

Test(folder_lock, dies_with_its_process)
{
    int go, lock;
    skn_error_t error = { 0 };
    pid_t child = hold(&go);
    cr_assert_eq(kill(child, SIGKILL), 0);
    /* The wait covers the time until the kernel has taken the child apart. */
    cr_expect_eq(skn_folder_lock_open(folder, path, 5000, &lock, &error),
                 SKN_OK, "%s", error.text);
    skn_folder_lock_close(&lock);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    (void)close(go);
}

Test(folder_lock, waits_for_a_holder_that_lets_go)
{
    int go, lock;
    pid_t child = hold(&go);
    cr_expect_eq(skn_folder_lock_open(folder, path, 40, &lock, NULL), SKN_BUSY);
    (void)close(go);
    cr_expect_eq(skn_folder_lock_open(folder, path, 5000, &lock, NULL), SKN_OK);
    skn_folder_lock_close(&lock);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(folder_lock, is_asked_for_without_being_taken)
{
    char file[TEMP_FOLDER_BYTES + 8];
    int go, lock;
    skn_error_t error = { 0 };
    (void)snprintf(file, sizeof(file), "%s/lock", path);
    cr_expect_eq(skn_folder_lock_ask(file, 0, &error), SKN_OK);
    cr_expect_eq(access(file, F_OK), -1);
    pid_t child = hold(&go);
    cr_expect_eq(skn_folder_lock_ask(file, 0, &error), SKN_BUSY);
    cr_expect_eq(skn_folder_lock_ask(file, 40, &error), SKN_BUSY);
    cr_expect(strstr(error.text, "/lock is held by another process"), "%s",
              error.text);
    (void)close(go);
    cr_expect_eq(skn_folder_lock_ask(file, 5000, &error), SKN_OK);
    cr_expect_eq(skn_folder_lock_open(folder, path, 0, &lock, NULL), SKN_OK);
    skn_folder_lock_close(&lock);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(folder_lock, that_cannot_be_looked_at_is_not_taken_for_free)
{
    char file[TEMP_FOLDER_BYTES + 8];
    skn_error_t error = { 0 };
    (void)snprintf(file, sizeof(file), "%s/lock", path);
    cr_assert_eq(symlink("lock", file), 0);
    cr_expect_neq(skn_folder_lock_ask(file, 0, &error), SKN_OK);
    cr_expect(strstr(error.text, "/lock: "), "%s", error.text);
}

Test(folder_lock, holds_its_own_pid_and_outlives_a_removed_file)
{
    char *text = NULL, want[32];
    size_t count;
    int lock, other;
    cr_assert_eq(skn_folder_lock_open(folder, path, 0, &lock, NULL), SKN_OK);
    cr_assert_eq(
        skn_folder_read_file(folder, path, "lock", 64, &text, &count, NULL),
        SKN_OK);
    (void)snprintf(want, sizeof(want), "%d\n", (int)getpid());
    cr_expect_str_eq(text, want);
    free(text);
    /* Somebody removes the file: the next one makes a new file, and is let in;
     * it is what `lock` names that counts. */
    cr_assert_eq(unlinkat(folder, "lock", 0), 0);
    cr_expect_eq(skn_folder_lock_open(folder, path, 0, &other, NULL), SKN_OK);
    skn_folder_lock_close(&lock);
    skn_folder_lock_close(&other);
}

Test(folder_lock, is_no_link)
{
    int lock;
    skn_error_t error = { 0 };
    cr_assert_eq(symlinkat("elsewhere", folder, "lock"), 0);
    cr_expect_eq(skn_folder_lock_open(folder, path, 0, &lock, &error),
                 SKN_CANNOT_CREATE);
    cr_expect(strstr(error.text, "/lock: cannot open: "), "%s", error.text);
    cr_expect_eq(lock, -1);
}
