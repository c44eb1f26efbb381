/* instance_lock.c - takes the lock that allows one process of a kind per run
 * folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/instance_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/text/system_error.h"
#include "skein/limits.h"

/* The time to wait for the lock, and between two attempts: a process that was
 * killed may still be exiting. */
#define WAIT_MS 2000
#define RETRY_MS 20

/* Creates all folders of `path` that are missing. */
static bool
make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0777);
        *slash = '/';
        if (made != 0 && errno != EEXIST)
            return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The number of the process that wrote itself into the file; 0: none. */
static long
owner_of(int file)
{
    char text[24];
    ssize_t count = pread(file, text, sizeof(text) - 1, 0);
    text[count > 0 ? count : 0] = '\0';
    return strtol(text, NULL, 10);
}

static bool
take(int file)
{
    for (int waited_ms = 0;; waited_ms += RETRY_MS) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (waited_ms >= WAIT_MS)
            return false;
        (void)poll(NULL, 0, RETRY_MS);
    }
}

skn_status_t
cli_instance_lock(const char *folder, const char *name, const char *hint,
                  int *lock, skn_error_t *error)
{
    char path[SKN_TEXT_MAX + SKN_NAME_MAX + 16];
    int bytes = snprintf(path, sizeof(path), "%s/%s", folder, name);
    int file = -1;
    if (make_folders(path)) {
        (void)snprintf(path + bytes, sizeof(path) - (size_t)bytes, "/lock");
        file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        path[bytes] = '\0';
    }
    if (file < 0)
        return skn_fail_code(error, SKN_CANNOT_CREATE, errno, NULL,
                             "cannot lock %s", path);
    if (take(file)) {
        bool written = ftruncate(file, 0) == 0 &&
                       dprintf(file, "%ld\n", (long)getpid()) > 0;
        (void)written; /* the number is for messages only */
        *lock = file;
        return SKN_OK;
    }
    long owner = owner_of(file);
    (void)close(file);
    (void)(owner > 0 ? skn_fail(error, SKN_BUSY, "%s is held by process %ld",
                                path, owner)
                     : skn_fail(error, SKN_BUSY,
                                "%s is held by another process", path));
    return skn_fail_hint(error, SKN_BUSY, "%s", hint);
}
