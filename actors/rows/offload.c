/* offload.c - creates, reserves and maps a nameless file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/offload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/text/system_error.h"

#define ZERO_BYTES ((size_t)1 << 20)

/* Finds `folder`, or its nearest parent that exists; `found` has room for
 * `bytes`. */
static skn_status_t
find_folder(const char *folder, char *found, size_t bytes, skn_error_t *error)
{
    struct stat facts;
    int length = snprintf(found, bytes, "%s", folder);
    if (length < 0 || (size_t)length >= bytes)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%.80s...: the path has %d bytes, which is too long",
                        folder, length);
    while (stat(found, &facts) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        char *slash = strrchr(found, '/');
        if (!slash)
            (void)snprintf(found, bytes, ".");
        else
            slash[slash == found] = '\0';
    }
    return SKN_OK;
}

skn_status_t
skn_offload_examine(const char *folder, skn_offload_disk_t *disk,
                    skn_error_t *error)
{
    char found[PATH_MAX];
    struct statfs facts;
    struct rlimit limit;
    skn_status_t status = find_folder(folder, found, sizeof(found), error);
    if (status == SKN_OK)
        status = skn_folder_check(found, error);
    if (status != SKN_OK)
        return status;
    if (statfs(found, &facts) != 0)
        return skn_fail_code(error, SKN_STORAGE, errno, NULL, "%s", found);
    disk->memory = facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
    disk->room_bytes = (uint64_t)facts.f_bavail * (uint64_t)facts.f_bsize;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)limit.rlim_cur < disk->room_bytes)
        disk->room_bytes = (uint64_t)limit.rlim_cur;
    return SKN_OK;
}

/* Opens a file without a name; if the file system has no such files, one that
 * is unlinked at once. */
static int
open_nameless(const char *folder)
{
    char path[PATH_MAX];
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 ||
        (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    int bytes = snprintf(path, sizeof(path), "%s/.offload.XXXXXX", folder);
    if (bytes < 0 || (size_t)bytes >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path);
    return file;
}

/* Writes zeros, on file systems that cannot reserve blocks. */
static skn_status_t
write_zeros(int file, const char *folder, size_t bytes, skn_error_t *error)
{
    size_t step = bytes < ZERO_BYTES ? bytes : ZERO_BYTES;
    unsigned char *zeros = calloc(1, step);
    skn_status_t status =
        zeros ? SKN_OK
              : skn_fail(error, SKN_NO_MEMORY, "%s: no memory to clear a file",
                         folder);
    for (size_t at = 0; at < bytes && status == SKN_OK; at += step)
        status =
            skn_file_write(file, folder, zeros,
                           bytes - at < step ? bytes - at : step, at, error);
    free(zeros);
    return status;
}

static skn_status_t
reserve(int file, const char *folder, size_t bytes, skn_error_t *error)
{
    while (fallocate(file, 0, 0, (off_t)bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            return write_zeros(file, folder, bytes, error);
        if (errno != EINTR)
            return skn_fail_code(error, SKN_STORAGE, errno, NULL,
                                 "%s: cannot reserve %zu MiB for the optimizer",
                                 folder, bytes >> 20);
    }
    return SKN_OK;
}

skn_status_t
skn_offload_open(skn_offload_t *offload, const char *folder, size_t bytes,
                 skn_error_t *error)
{
    char found[PATH_MAX];
    memset(offload, 0, sizeof(*offload));
    skn_status_t status = find_folder(folder, found, sizeof(found), error);
    if (status != SKN_OK)
        return status;
    int file = open_nameless(found);
    if (file < 0)
        return skn_fail_code(error, SKN_CANNOT_CREATE, errno, NULL,
                             "%s: cannot create a file for the optimizer",
                             found);
    status = reserve(file, found, bytes, error);
    if (status == SKN_OK) {
        void *map =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) {
            status =
                skn_fail(error, SKN_NO_MEMORY, "%s: cannot map %zu MiB: %s",
                         found, bytes >> 20, strerror(errno));
        } else {
            offload->at = map;
            offload->bytes = bytes;
            offload->file = file; /* kept open for skn_offload_check */
            skn_offload_walk(offload, false);
        }
    }
    if (status != SKN_OK)
        (void)close(file);
    return status;
}

void
skn_offload_close(skn_offload_t *offload)
{
    if (offload->at) {
        (void)munmap(offload->at, offload->bytes);
        (void)close(offload->file);
    }
    memset(offload, 0, sizeof(*offload));
}

/* Waits for writes that have begun, and starts none. */
skn_status_t
skn_offload_check(const skn_offload_t *offload, skn_error_t *error)
{
    while (offload->at && sync_file_range(offload->file, 0, 0,
                                          SYNC_FILE_RANGE_WAIT_BEFORE) != 0) {
        if (errno == EINTR)
            continue;
        if (errno == ENOSYS || errno == ESPIPE)
            return SKN_OK; /* a file system without this call */
        skn_status_t status = skn_fail(
            error, SKN_STORAGE, "the optimizer's file has lost moments: %s",
            strerror(errno));
        return skn_fail_hint(error, status,
                             "check the disk of "
                             "train.optimizer.offload_path, then resume from "
                             "the last checkpoint");
    }
    return SKN_OK;
}

void
skn_offload_expect(const unsigned char *from, size_t bytes)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)from & ~(page_bytes - 1);
    uintptr_t end = (uintptr_t)from + bytes;
    (void)madvise((void *)first, end - first, MADV_WILLNEED);
}

void
skn_offload_walk(const skn_offload_t *offload, bool in_order)
{
    if (offload->at)
        (void)madvise(offload->at, offload->bytes,
                      in_order ? MADV_SEQUENTIAL : MADV_RANDOM);
}
