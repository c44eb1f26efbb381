/* folder_lock.c - lets only one process at a time write in a folder.
 *
 * This file owns: the file `lock`, and the only wait in formats/. It polls,
 * because flock() has no time limit and an alarm signal belongs to the caller.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/folder/folder_lock.h"

#include "formats/folder/folder.h"
#include "formats/text/system_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_NAME "lock"
/* Between two attempts: 20 ms are not noticeable at the start of a run. */
#define POLL_MS 20u

/* The pid that the file holds; 0 when it holds none. */
static long
read_owner(int file)
{
    char text[24];
    ssize_t count = pread(file, text, sizeof(text) - 1, 0);
    if (count <= 0)
        return 0;
    text[count] = '\0';
    return strtol(text, NULL, 10);
}

/* Whether `file` is still the file that the folder's `lock` names: it may have
 * been removed between our open and our lock. */
static bool
still_named(int folder, int file)
{
    struct stat held, named;
    return fstat(file, &held) == 0 &&
           fstatat(folder, LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static skn_status_t
fail_lock(const char *path, const char *what, skn_error_t *error)
{
    return skn_fail_errno(error, SKN_CANNOT_CREATE, path, LOCK_NAME, what);
}

/* One attempt. SKN_OK with *lock -1: process *owner holds it. */
static skn_status_t
try_lock(int folder, const char *path, int *lock, long *owner,
         skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    *lock =
        openat(folder, LOCK_NAME,
               O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*lock < 0)
        return fail_lock(path, "cannot open", error);
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0) {
        if (still_named(folder, *lock))
            return SKN_OK;
    } else if (errno == EWOULDBLOCK) {
        *owner = read_owner(*lock);
    } else if (errno != EINTR) {
        status = fail_lock(path, "cannot lock", error);
    }
    (void)close(*lock);
    *lock = -1;
    return status;
}

static skn_status_t
write_owner(int lock, const char *path, skn_error_t *error)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    char full[PATH_MAX + sizeof("/" LOCK_NAME)];
    if (ftruncate(lock, 0) != 0)
        return fail_lock(path, "cannot write", error);
    (void)snprintf(full, sizeof(full), "%s/%s", path, LOCK_NAME);
    return skn_file_write(lock, full, text, (size_t)length, 0, error);
}

static skn_status_t
fail_busy(const char *path, long owner, skn_error_t *error)
{
    (void)(owner > 0 ? skn_fail(error, SKN_BUSY, "%s is held by process %ld",
                                path, owner)
                     : skn_fail(error, SKN_BUSY,
                                "%s is held by another process", path));
    return skn_fail_hint(error, SKN_BUSY,
                         "wait for it, or choose another folder");
}

static void
pause_once(void)
{
    const struct timespec pause = { 0, POLL_MS * 1000000L };
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* Uses a shared lock, which a descriptor opened for reading can have. */
skn_status_t
skn_folder_lock_ask(const char *path, uint32_t wait_ms, skn_error_t *error)
{
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return SKN_OK;
    if (file < 0)
        return skn_fail_code(error, SKN_STORAGE, errno, NULL, "%s", path);
    bool held = true;
    for (uint32_t waited_ms = 0; held; waited_ms += POLL_MS) {
        held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (waited_ms >= wait_ms)
            break;
        if (held)
            pause_once();
    }
    skn_status_t status = held ? fail_busy(path, 0, error) : SKN_OK;
    (void)close(file);
    return status;
}

skn_status_t
skn_folder_lock_open(int folder, const char *path, uint32_t wait_ms, int *lock,
                     skn_error_t *error)
{
    long owner = 0;
    for (uint32_t waited_ms = 0;; waited_ms += POLL_MS) {
        skn_status_t status = try_lock(folder, path, lock, &owner, error);
        if (status != SKN_OK)
            return status;
        if (*lock >= 0)
            break;
        if (waited_ms >= wait_ms)
            return fail_busy(path, owner, error);
        pause_once();
    }
    skn_status_t status = write_owner(*lock, path, error);
    if (status != SKN_OK)
        skn_folder_lock_close(lock);
    return status;
}

void
skn_folder_lock_close(int *lock)
{
    if (*lock >= 0)
        (void)close(*lock);
    *lock = -1;
}
