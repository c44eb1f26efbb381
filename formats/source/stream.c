/* stream.c - reads a plain, gzip or zstd file from its start to its end.
 *
 * This file owns: the open file, the packed bytes read ahead, the unpackers.
 * Not here: lines and numbers (xmc.c).
 * Formats: RFC 1952 (gzip), RFC 8878 (zstd); their magic numbers are from
 * sections 2.3.1 and 3.1.1.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/stream.h"

#include "formats/text/system_error.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

/* Packed bytes read at once: large enough that the call's cost is negligible,
 * small enough for a second-level cache. */
#define INPUT_BYTES (1u << 18)
#define STREAM_MAGIC_BYTES 4u
/* The longest part of a path in a sentence of 512 bytes. */
#define NAME_SHOWN_BYTES 240u

typedef enum packing {
    PLAIN,
    GZIP,
    ZSTD
} packing_t;

struct skn_stream {
    char *name;
    int fd;                /* -1: the source is memory */
    uint8_t *input_buffer; /* NULL: the source is memory */
    const uint8_t *input;  /* bytes [input_at, input_end) are unread */
    size_t input_at, input_end;
    uint64_t source_bytes;
    bool source_ended;
    packing_t packing;
    bool inside; /* a member or frame has begun and has not ended */
    bool gzip_ready;
    z_stream gzip;
    ZSTD_DStream *zstd;
    XXH3_state_t *hash;
};

const char *
skn_stream_name_shown(const char *path)
{
    size_t bytes = strlen(path);
    if (bytes == 0)
        return "\"\"";
    return bytes > NAME_SHOWN_BYTES ? path + bytes - NAME_SHOWN_BYTES : path;
}

static skn_status_t
no_memory(const skn_stream_t *stream, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it",
                    skn_stream_name_shown(stream->name));
}

/* The first bytes of packed files. The middle one opens a frame that zstd
 * skips; its lowest four bits are free. */
static const struct {
    packing_t packing;
    uint8_t bytes[STREAM_MAGIC_BYTES], mask[STREAM_MAGIC_BYTES];
} magics[] = {
    { GZIP, { 0x1f, 0x8b }, { 0xff, 0xff } },
    { ZSTD, { 0x50, 0x2a, 0x4d, 0x18 }, { 0xf0, 0xff, 0xff, 0xff } },
    { ZSTD, { 0x28, 0xb5, 0x2f, 0xfd }, { 0xff, 0xff, 0xff, 0xff } },
};

/* The packing of a file that starts with these bytes. *open: more bytes may yet
 * show that it is packed. */
static packing_t
packing_of(const uint8_t *start, size_t bytes, bool *open)
{
    *open = false;
    for (size_t m = 0; m < sizeof(magics) / sizeof(magics[0]); m++) {
        size_t k = 0;
        while (k < bytes && k < STREAM_MAGIC_BYTES &&
               (start[k] & magics[m].mask[k]) == magics[m].bytes[k])
            k++;
        while (k < STREAM_MAGIC_BYTES && magics[m].mask[k] == 0)
            k++;
        if (k == STREAM_MAGIC_BYTES)
            return magics[m].packing;
        *open = *open || k == bytes;
    }
    return PLAIN;
}

/* Fills the empty input from the file. */
static skn_status_t
input_fill(skn_stream_t *stream, skn_error_t *error)
{
    bool open = true;
    assert(stream->input_at == stream->input_end);
    if (stream->source_ended)
        return SKN_OK;
    stream->input_at = stream->input_end = 0;
    while (open && !stream->source_ended) {
        ssize_t got = read(stream->fd, stream->input_buffer + stream->input_end,
                           INPUT_BYTES - stream->input_end);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return skn_fail_code(error, SKN_STORAGE, errno, NULL,
                                 "%s: cannot be read",
                                 skn_stream_name_shown(stream->name));
        stream->source_ended = got == 0;
        /* A pipe may deliver one byte at a time, and the magic number has four.
         * But a sender of a single empty line waits for its answer. */
        if (stream->source_bytes == stream->input_end)
            (void)packing_of(stream->input_buffer,
                             stream->input_end + (size_t)got, &open);
        else
            open = false;
        stream->source_bytes += (uint64_t)got;
        stream->input_end += (size_t)got;
    }
    return SKN_OK;
}

/* Chooses the unpacker once the first bytes are there. */
static skn_status_t
unpacker_open(skn_stream_t *stream, skn_error_t *error)
{
    bool open;
    stream->packing = packing_of(stream->input + stream->input_at,
                                 stream->input_end - stream->input_at, &open);
    if (stream->packing == GZIP) {
        /* 15: the largest window; + 16: gzip, not zlib (zlib.h). */
        if (inflateInit2(&stream->gzip, 15 + 16) != Z_OK)
            return no_memory(stream, error);
        stream->gzip_ready = true;
    }
    if (stream->packing == ZSTD) {
        stream->zstd = ZSTD_createDStream();
        if (!stream->zstd || ZSTD_isError(ZSTD_initDStream(stream->zstd)))
            return no_memory(stream, error);
    }
    return SKN_OK;
}

static skn_stream_t *
stream_new(const char *name, skn_error_t *error)
{
    skn_stream_t *stream = calloc(1, sizeof(*stream));
    if (stream) {
        stream->fd = -1;
        stream->name = strdup(name);
        stream->hash = XXH3_createState();
    }
    if (!stream || !stream->name || !stream->hash) {
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it",
                       skn_stream_name_shown(name));
        skn_stream_close(&stream);
        return NULL;
    }
    (void)XXH3_64bits_reset(stream->hash);
    return stream;
}

static skn_status_t
file_open(skn_stream_t *stream, const char *path, skn_error_t *error)
{
    const char *shown = skn_stream_name_shown(path);
    stream->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (stream->fd < 0 && errno == ENOENT)
        return skn_fail_hint(
            error, skn_fail(error, SKN_NO_INPUT, "%s: no such file", shown),
            "check the path");
    if (stream->fd < 0 && (errno == EACCES || errno == EPERM))
        return skn_fail_hint(error,
                             skn_fail(error, SKN_NO_PERMISSION,
                                      "%s: no permission to read it", shown),
                             "chmod it, or run as its owner");
    if (stream->fd < 0)
        return skn_fail_code(error, SKN_NO_INPUT, errno, NULL,
                             "%s: cannot be opened", shown);
    struct stat source;
    skn_status_t status = skn_stream_stat(stream, &source, error);
    if (status == SKN_OK && S_ISDIR(source.st_mode))
        status = skn_fail_hint(
            error,
            skn_fail(error, SKN_NO_INPUT, "%s: is a folder, not a file", shown),
            "name a file in it");
    return status;
}

skn_status_t
skn_stream_open(const char *path, skn_stream_t **stream_out, skn_error_t *error)
{
    *stream_out = NULL;
    skn_stream_t *stream = stream_new(path, error);
    if (!stream)
        return SKN_NO_MEMORY;
    skn_status_t status = file_open(stream, path, error);
    if (status != SKN_OK)
        goto done;
    stream->input_buffer = malloc(INPUT_BYTES);
    stream->input = stream->input_buffer;
    if (!stream->input_buffer) {
        status = no_memory(stream, error);
        goto done;
    }
    (void)posix_fadvise(stream->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    status = input_fill(stream, error);
    if (status == SKN_OK)
        status = unpacker_open(stream, error);
done:
    if (status != SKN_OK)
        skn_stream_close(&stream);
    *stream_out = stream;
    return status;
}

skn_status_t
skn_stream_open_memory(const char *name, const void *start, size_t bytes,
                       skn_stream_t **stream_out, skn_error_t *error)
{
    *stream_out = NULL;
    skn_stream_t *stream = stream_new(name, error);
    if (!stream)
        return SKN_NO_MEMORY;
    stream->input = bytes ? start : (const uint8_t *)"";
    stream->input_end = bytes;
    stream->source_bytes = bytes;
    stream->source_ended = true;
    skn_status_t status = unpacker_open(stream, error);
    if (status != SKN_OK)
        skn_stream_close(&stream);
    *stream_out = stream;
    return status;
}

void
skn_stream_close(skn_stream_t **stream)
{
    skn_stream_t *closing = *stream;
    *stream = NULL;
    if (!closing)
        return;
    if (closing->gzip_ready)
        (void)inflateEnd(&closing->gzip);
    (void)ZSTD_freeDStream(closing->zstd);
    (void)XXH3_freeState(closing->hash);
    if (closing->fd >= 0)
        (void)close(closing->fd);
    free(closing->input_buffer);
    free(closing->name);
    free(closing);
}

static skn_status_t
damaged(const skn_stream_t *stream, const char *format, const char *why,
        skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA, "%s: the %s data is damaged: %s",
                   skn_stream_name_shown(stream->name), format, why);
    return skn_fail_hint(error, SKN_BAD_DATA, "copy or download it again");
}

/* Unpacks from the input to `room` until one of them is used up. */
static skn_status_t
gzip_read(skn_stream_t *stream, void *room, size_t room_bytes,
          size_t *got_bytes, skn_error_t *error)
{
    size_t waiting = stream->input_end - stream->input_at;
    uInt taken = (uInt)(waiting < UINT_MAX ? waiting : UINT_MAX);
    uInt space = (uInt)(room_bytes < UINT_MAX ? room_bytes : UINT_MAX);
    /* zlib promises not to write there; z_const needs ZLIB_CONST. */
    stream->gzip.next_in =
        (Bytef *)(uintptr_t)(stream->input + stream->input_at);
    stream->gzip.avail_in = taken;
    stream->gzip.next_out = room;
    stream->gzip.avail_out = space;
    stream->inside = true;
    int code = inflate(&stream->gzip, Z_NO_FLUSH);
    stream->input_at += taken - stream->gzip.avail_in;
    *got_bytes = space - stream->gzip.avail_out;
    if (code == Z_STREAM_END) {
        stream->inside = false;
        (void)inflateReset(&stream->gzip);
        return SKN_OK;
    }
    if (code == Z_MEM_ERROR)
        return no_memory(stream, error);
    if (code != Z_OK && code != Z_BUF_ERROR)
        return damaged(stream, "gzip",
                       stream->gzip.msg ? stream->gzip.msg : zError(code),
                       error);
    return SKN_OK;
}

static skn_status_t
zstd_read(skn_stream_t *stream, void *room, size_t room_bytes,
          size_t *got_bytes, skn_error_t *error)
{
    ZSTD_inBuffer in = { stream->input + stream->input_at,
                         stream->input_end - stream->input_at, 0 };
    ZSTD_outBuffer out = { room, room_bytes, 0 };
    size_t hint = ZSTD_decompressStream(stream->zstd, &out, &in);
    stream->input_at += in.pos;
    *got_bytes = out.pos;
    if (ZSTD_isError(hint))
        return damaged(stream, "zstd", ZSTD_getErrorName(hint), error);
    stream->inside = hint != 0;
    return SKN_OK;
}

/* One step, which may return nothing although more will follow. */
static skn_status_t
step(skn_stream_t *stream, void *room, size_t room_bytes, size_t *got_bytes,
     skn_error_t *error)
{
    if (stream->packing == GZIP)
        return gzip_read(stream, room, room_bytes, got_bytes, error);
    if (stream->packing == ZSTD)
        return zstd_read(stream, room, room_bytes, got_bytes, error);
    size_t waiting = stream->input_end - stream->input_at;
    *got_bytes = waiting < room_bytes ? waiting : room_bytes;
    memcpy(room, stream->input + stream->input_at, *got_bytes);
    stream->input_at += *got_bytes;
    return SKN_OK;
}

/* Zeros after a member or frame are padding, such as of tapes and disk blocks;
 * another member may follow. */
static void
padding_skip(skn_stream_t *stream)
{
    while (stream->input_at < stream->input_end &&
           stream->input[stream->input_at] == 0)
        stream->input_at++;
}

skn_status_t
skn_stream_read(skn_stream_t *stream, void *room, size_t room_bytes,
                size_t *got_bytes, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    *got_bytes = 0;
    while (*got_bytes == 0) {
        if (stream->input_at == stream->input_end)
            status = input_fill(stream, error);
        if (status != SKN_OK)
            return status;
        if (stream->packing != PLAIN && !stream->inside)
            padding_skip(stream);
        bool dry = stream->input_at == stream->input_end;
        if (dry && !stream->source_ended)
            continue; /* it was all padding */
        if (dry && !stream->inside)
            return SKN_OK;
        /* An unpacker may hold bytes back after it has taken all input. */
        status = step(stream, room, room_bytes, got_bytes, error);
        if (status != SKN_OK)
            return status;
        if (dry && *got_bytes == 0 && stream->inside)
            return skn_fail_hint(
                error,
                skn_fail(error, SKN_BAD_DATA, "%s: the %s data is truncated",
                         skn_stream_name_shown(stream->name),
                         stream->packing == GZIP ? "gzip" : "zstd"),
                "copy or download it again");
    }
    (void)XXH3_64bits_update(stream->hash, room, *got_bytes);
    return SKN_OK;
}

uint64_t
skn_stream_hash(const skn_stream_t *stream)
{
    return XXH3_64bits_digest(stream->hash);
}

bool
skn_stream_is_packed(const skn_stream_t *stream)
{
    return stream->packing != PLAIN;
}

uint64_t
skn_stream_source_bytes(const skn_stream_t *stream)
{
    return stream->source_bytes;
}

skn_status_t
skn_stream_stat(const skn_stream_t *stream, struct stat *source,
                skn_error_t *error)
{
    memset(source, 0, sizeof(*source));
    if (stream->fd >= 0 && fstat(stream->fd, source) != 0)
        return skn_fail_code(error, SKN_STORAGE, errno, NULL,
                             "%s: cannot be examined",
                             skn_stream_name_shown(stream->name));
    return SKN_OK;
}
