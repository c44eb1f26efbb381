/* spool.c - copies a stream into a file whose name follows from its contents.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "formats/source/cache.h"
#include "formats/source/stream.h"
#include "formats/text/system_error.h"

#define COPY_BYTES ((size_t)1 << 18)

typedef struct spool {
    char *folder, *temp; /* of the file while it is written */
    int fd;
    XXH3_state_t *hash;
    uint8_t *room;
} spool_t;

static skn_status_t
refuse(const spool_t *spool, const char *what, skn_error_t *error)
{
    return skn_fail_code(error, SKN_STORAGE, errno,
                         "set XDG_CACHE_HOME to a folder that you may write to "
                         "and that has room",
                         "%s: standard input cannot be %s",
                         skn_stream_name_shown(spool->folder), what);
}

static skn_status_t
no_memory(skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "no memory to keep standard input");
}

/* Creates the file in a folder; takes the folder's name. */
static bool
create_in(spool_t *spool, char *folder)
{
    free(spool->folder);
    spool->folder = folder;
    if (!folder || asprintf(&spool->temp, "%s/stdin.XXXXXX", folder) < 0) {
        spool->temp = NULL;
        return false;
    }
    spool->fd = mkostemp(spool->temp, O_CLOEXEC);
    if (spool->fd >= 0)
        return true;
    int why = errno;
    free(spool->temp);
    spool->temp = NULL;
    errno = why;
    return false;
}

static skn_status_t
put(spool_t *spool, const void *bytes, size_t count, skn_error_t *error)
{
    const uint8_t *at = bytes;
    (void)XXH3_64bits_update(spool->hash, at, count);
    while (count > 0) {
        ssize_t written = write(spool->fd, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return refuse(spool, "kept", error);
        at += written;
        count -= (size_t)written;
    }
    return SKN_OK;
}

static skn_status_t
copy(spool_t *spool, FILE *rest, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    size_t got = 1;
    while (status == SKN_OK && got > 0) {
        got = fread(spool->room, 1, COPY_BYTES, rest);
        status = put(spool, spool->room, got, error);
    }
    return status == SKN_OK && ferror(rest) ? refuse(spool, "read", error)
                                            : status;
}

/* Gives the file its name, unless a file of the same bytes has it. */
static skn_status_t
name_make(spool_t *spool, char **path, skn_error_t *error)
{
    struct stat own, other;
    if (asprintf(path, "%s/stdin-%016" PRIx64, spool->folder,
                 XXH3_64bits_digest(spool->hash)) < 0) {
        *path = NULL;
        return no_memory(error);
    }
    if (fstat(spool->fd, &own) == 0 && stat(*path, &other) == 0 &&
        own.st_size == other.st_size)
        return SKN_OK;
    if (rename(spool->temp, *path) != 0)
        return refuse(spool, "kept", error);
    free(spool->temp);
    spool->temp = NULL;
    return SKN_OK;
}

skn_status_t
skn_spool(const void *start, size_t bytes, FILE *rest, char **path,
          skn_error_t *error)
{
    spool_t spool = { .fd = -1,
                      .hash = XXH3_createState(),
                      .room = malloc(COPY_BYTES) };
    skn_status_t status = spool.hash && spool.room ? SKN_OK : no_memory(error);
    *path = NULL;
    if (status == SKN_OK && !create_in(&spool, skn_cache_user_folder()) &&
        !create_in(&spool, strdup(skn_cache_temp_folder())))
        status =
            spool.folder ? refuse(&spool, "kept", error) : no_memory(error);
    if (status == SKN_OK) {
        (void)XXH3_64bits_reset(spool.hash);
        status = put(&spool, start, bytes, error);
    }
    if (status == SKN_OK)
        status = copy(&spool, rest, error);
    if (status == SKN_OK)
        status = name_make(&spool, path, error);
    if (spool.temp)
        (void)unlink(spool.temp);
    if (spool.fd >= 0)
        (void)close(spool.fd);
    if (status != SKN_OK) {
        free(*path);
        *path = NULL;
    }
    (void)XXH3_freeState(spool.hash);
    free(spool.room);
    free(spool.temp);
    free(spool.folder);
    return status;
}
