/* lines.c - reads files line by line, and skips lines that are too long.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/lines.h"

#include <stdlib.h>
#include <string.h>

#include "formats/source/files.h"
#include "skein/limits.h"

#define ROOM_BYTES 65536u

struct skn_lines {
    skn_stream_t *stream; /* of file `file` */
    skn_files_t files;    /* none: a text, or standard input */
    uint32_t file;
    uint64_t hash_before, bytes_before; /* of the files before it */
    const char *name;
    char *room; /* bytes read and not yet returned: [at, end) */
    size_t room_bytes, at, end;
    size_t passed; /* bytes skipped of a current line that is too long */
    uint64_t number;
    bool ended;
};

static skn_lines_t *
make(const char *name, skn_error_t *error)
{
    skn_lines_t *lines = calloc(1, sizeof(*lines));
    char *room = malloc(ROOM_BYTES);
    if (!lines || !room) {
        free(lines);
        free(room);
        skn_fail(error, SKN_NO_MEMORY, "no memory for lines");
        return NULL;
    }
    lines->room = room;
    lines->room_bytes = ROOM_BYTES;
    lines->name = name;
    return lines;
}

skn_lines_t *
skn_lines_open(const char *path, skn_error_t *error)
{
    if (!path) {
        skn_fail(error, SKN_USAGE, "the path of the text is NULL");
        return NULL;
    }
    bool standard = strcmp(path, "-") == 0;
    skn_lines_t *lines = make("stdin", error);
    if (lines && !standard &&
        skn_files_init(&lines->files, path, error) != SKN_OK)
        skn_lines_close(&lines);
    if (lines && !standard)
        lines->name = lines->files.path[0];
    if (lines && skn_stream_open(standard ? "/dev/stdin" : lines->name,
                                 &lines->stream, error) != SKN_OK)
        skn_lines_close(&lines);
    return lines;
}

skn_lines_t *
skn_lines_open_text(const char *text, size_t bytes, const char *name,
                    bool may_be_packed, skn_error_t *error)
{
    skn_lines_t *lines = make(name, error);
    if (lines && skn_stream_open_memory(name, text, bytes, &lines->stream,
                                        error) != SKN_OK)
        skn_lines_close(&lines);
    /* Two KB of a request unpack to millions of lines. */
    if (lines && !may_be_packed && skn_stream_is_packed(lines->stream)) {
        (void)skn_fail(error, SKN_BAD_DATA,
                       "%s: is packed, and only a file is unpacked",
                       skn_stream_name_shown(name));
        (void)skn_fail_hint(error, SKN_BAD_DATA, "send the text as it is");
        skn_lines_close(&lines);
    }
    return lines;
}

void
skn_lines_close(skn_lines_t **lines)
{
    if (!*lines)
        return;
    skn_stream_close(&(*lines)->stream);
    free((*lines)->room);
    skn_files_fini(&(*lines)->files);
    free(*lines);
    *lines = NULL;
}

/* Moves the bytes at hand to the front and reads more after them. */
static skn_status_t
fill(skn_lines_t *lines, skn_error_t *error)
{
    size_t got = 0;
    memmove(lines->room, lines->room + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    if (lines->end == lines->room_bytes) {
        size_t bytes = lines->room_bytes * 2;
        char *room = realloc(lines->room, bytes);
        if (!room)
            return skn_fail(error, SKN_NO_MEMORY,
                            "no memory for a line of %zu bytes", bytes);
        lines->room = room;
        lines->room_bytes = bytes;
    }
    skn_status_t status =
        skn_stream_read(lines->stream, lines->room + lines->end,
                        lines->room_bytes - lines->end, &got, error);
    lines->end += got;
    lines->ended = status == SKN_OK && got == 0;
    return status;
}

/* Returns the line of `length` bytes at the front, or only its length if it is
 * too long. */
static void
hand_out(skn_lines_t *lines, size_t length, size_t ending, const char **text,
         size_t *bytes)
{
    const char *start = lines->room + lines->at;
    bool has_return = length > 0 && start[length - 1] == '\r';
    *bytes = lines->passed + length - (has_return ? 1 : 0);
    *text = *bytes > SKN_LINE_BYTES_MAX ? NULL : start;
    lines->at += length + ending;
    lines->passed = 0;
    lines->number++;
}

/* Drops the beginning of a line that is already too long. */
static void
pass_over(skn_lines_t *lines)
{
    lines->passed += lines->end - lines->at;
    lines->at = lines->end;
}

skn_status_t
skn_lines_next(skn_lines_t *lines, bool wait, const char **text, size_t *bytes,
               bool *more, skn_error_t *error)
{
    size_t looked = 0; /* bytes of the line that contain no line end */
    *bytes = SIZE_MAX;
    *text = NULL;
    *more = false;
    for (;;) {
        char *start = lines->room + lines->at;
        size_t length = lines->end - lines->at;
        const char *end = memchr(start + looked, '\n', length - looked);
        if (end) {
            hand_out(lines, (size_t)(end - start), 1, text, bytes);
            return SKN_OK;
        }
        if (lines->ended) {
            if (lines->passed + length > 0)
                hand_out(lines, length, 0, text, bytes);
            return SKN_OK;
        }
        if (!wait) {
            *more = true;
            return SKN_OK;
        }
        looked = length;
        /* One more byte may be the CR of a CRLF. */
        if (lines->passed > 0 || length > SKN_LINE_BYTES_MAX + 1u) {
            pass_over(lines);
            looked = 0;
        }
        skn_status_t status = fill(lines, error);
        if (status != SKN_OK)
            return status;
    }
}

/* The hash with that of the open file. */
static uint64_t
hash_with(const skn_lines_t *lines)
{
    return lines->hash_before * UINT64_C(0x9e3779b97f4a7c15) +
           skn_stream_hash(lines->stream);
}

skn_status_t
skn_lines_next_file(skn_lines_t *lines, bool *more, skn_error_t *error)
{
    skn_stream_t *stream = NULL;
    *more = (size_t)lines->file + 1 < lines->files.count;
    if (!*more)
        return SKN_OK;
    const char *name = lines->files.path[lines->file + 1];
    skn_status_t status = skn_stream_open(name, &stream, error);
    if (status != SKN_OK)
        return status;
    lines->hash_before = hash_with(lines);
    lines->bytes_before += skn_stream_source_bytes(lines->stream);
    skn_stream_close(&lines->stream);
    lines->stream = stream;
    lines->name = name;
    lines->file++;
    lines->at = lines->end = 0;
    lines->number = 0;
    lines->ended = false;
    return SKN_OK;
}

uint64_t
skn_lines_number(const skn_lines_t *lines)
{
    return lines->number;
}

const char *
skn_lines_name(const skn_lines_t *lines)
{
    return lines->name;
}

uint32_t
skn_lines_file(const skn_lines_t *lines)
{
    return lines->file;
}

uint64_t
skn_lines_hash(const skn_lines_t *lines)
{
    return hash_with(lines);
}

uint64_t
skn_lines_source_bytes(const skn_lines_t *lines)
{
    return lines->bytes_before + skn_stream_source_bytes(lines->stream);
}
