/* sink.c - writes a plain, gzip or zstd file under a name that lasts until it
 * is whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "formats/source/stream.h"
#include "formats/text/system_error.h"

#define PACKED_BYTES 65536u

struct skn_sink {
    char *path, *fresh; /* its name, and the one until it is whole */
    int fd;
    gzFile gzip;     /* NULL: it is not */
    ZSTD_CCtx *zstd; /* NULL: it is not */
    FILE *file;
};

static bool
ends_with(const char *path, const char *ending)
{
    size_t bytes = strlen(path), ending_bytes = strlen(ending);
    return bytes > ending_bytes &&
           strcmp(path + bytes - ending_bytes, ending) == 0;
}

/* False: errno. */
static bool
write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Packs the bytes; `how` ZSTD_e_end ends the frame. */
static bool
write_zstd(skn_sink_t *sink, const char *bytes, size_t count,
           ZSTD_EndDirective how)
{
    char packed[PACKED_BYTES];
    ZSTD_inBuffer in = { bytes, count, 0 };
    size_t left;
    do {
        ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
        left = ZSTD_compressStream2(sink->zstd, &out, &in, how);
        errno = EIO;
        if (ZSTD_isError(left) || !write_all(sink->fd, packed, out.pos))
            return false;
    } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return true;
}

static ssize_t
sink_write(void *cookie, const char *bytes, size_t count)
{
    skn_sink_t *sink = cookie;
    bool good = sink->gzip
                    ? gzwrite(sink->gzip, bytes, (unsigned)count) == (int)count
                : sink->zstd ? write_zstd(sink, bytes, count, ZSTD_e_continue)
                             : write_all(sink->fd, bytes, count);
    return good ? (ssize_t)count : 0;
}

/* Ends what is packed, and closes the file. */
static int
sink_close(void *cookie)
{
    skn_sink_t *sink = cookie;
    bool good = !sink->zstd || write_zstd(sink, "", 0, ZSTD_e_end);
    if (sink->gzip) { /* which has the descriptor */
        good = gzclose(sink->gzip) == Z_OK;
        sink->fd = -1;
    }
    if (sink->fd >= 0 && close(sink->fd) != 0)
        good = false;
    sink->fd = -1;
    return good ? 0 : EOF;
}

static bool
open_file(skn_sink_t *sink)
{
    static const cookie_io_functions_t calls = { .write = sink_write,
                                                 .close = sink_close };
    sink->fd = open(sink->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (sink->fd < 0)
        return false;
    errno = ENOMEM;
    if (ends_with(sink->path, ".gz") && !(sink->gzip = gzdopen(sink->fd, "wb")))
        return false;
    if (ends_with(sink->path, ".zst") && !(sink->zstd = ZSTD_createCCtx()))
        return false;
    sink->file = fopencookie(sink, "w", calls);
    return sink->file;
}

skn_status_t
skn_sink_check(const char *path, skn_error_t *error)
{
    struct stat there;
    const char *shown = skn_stream_name_shown(path);
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return skn_fail(error, SKN_CANNOT_CREATE, "%s: is not a file", shown);
    if (lstat(path, &there) != 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_CANNOT_CREATE, "%s: cannot be created: %s", shown,
                   strerror(EEXIST));
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "give a name that is not taken");
}

skn_sink_t *
skn_sink_open(const char *path, skn_error_t *error)
{
    const char *shown = skn_stream_name_shown(path);
    if (skn_sink_check(path, error) != SKN_OK)
        return NULL;
    /* A hidden file, which nobody takes for data if it is left. */
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    skn_sink_t *sink = calloc(1, sizeof(*sink));
    if (sink)
        sink->fd = -1;
    if (!sink || !(sink->path = strdup(path)) ||
        asprintf(&sink->fresh, "%.*s.tmp-%s.%ld", (int)(name - path), path,
                 name, (long)getpid()) < 0) {
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory to write it",
                       shown);
        if (sink)
            sink->fresh = NULL;
        skn_sink_drop(&sink);
        return NULL;
    }
    if (open_file(sink))
        return sink;
    (void)skn_fail_code(error, SKN_CANNOT_CREATE, errno, NULL,
                        "%s: cannot be created", shown);
    skn_sink_drop(&sink);
    return NULL;
}

FILE *
skn_sink_file(const skn_sink_t *sink)
{
    return sink->file;
}

/* Gives the file its name, unless that is taken meanwhile. */
static int
give_name(const skn_sink_t *sink)
{
    int code = renameat2(AT_FDCWD, sink->fresh, AT_FDCWD, sink->path,
                         RENAME_NOREPLACE);
    bool is_unknown = code != 0 && (errno == EINVAL || errno == ENOSYS);
    return is_unknown ? rename(sink->fresh, sink->path) : code;
}

skn_status_t
skn_sink_finish(skn_sink_t **sink, skn_error_t *error)
{
    skn_sink_t *done = *sink;
    skn_status_t status = SKN_OK;
    errno = EIO;
    bool good = fflush(done->file) == 0 && !ferror(done->file);
    int why = errno;
    errno = EIO;
    if (fclose(done->file) != 0 && good) {
        good = false;
        why = errno;
    }
    done->file = NULL;
    if (good && give_name(done) != 0) {
        good = false;
        why = errno;
    }
    if (!good)
        status = skn_fail_code(error, SKN_STORAGE, why, NULL,
                               "%s: cannot be written",
                               skn_stream_name_shown(done->path));
    else
        done->fresh[0] = '\0';
    skn_sink_drop(sink);
    return status;
}

void
skn_sink_drop(skn_sink_t **sink)
{
    skn_sink_t *dying = *sink;
    *sink = NULL;
    if (!dying)
        return;
    if (dying->file)
        (void)fclose(dying->file);
    else if (dying->fd >= 0)
        (void)close(dying->fd);
    if (dying->fresh && dying->fresh[0])
        (void)unlink(dying->fresh);
    (void)ZSTD_freeCCtx(dying->zstd);
    free(dying->fresh);
    free(dying->path);
    free(dying);
}
