/* lines.c - reads a stream line by line, and skips lines that are too long.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/lines.h"

#include <stdlib.h>
#include <string.h>

#include "skein/limits.h"

#define ROOM_BYTES 65536u

struct skn_lines {
    skn_stream_t *stream;
    const char *name;
    char *own_name; /* a copy of the path; NULL: the name is the caller's */
    char *room;     /* bytes read and not yet returned: [at, end) */
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
    skn_lines_t *lines = make(standard ? "stdin" : path, error);
    if (lines && !standard) {
        lines->own_name = strdup(path);
        lines->name = lines->own_name;
        if (!lines->own_name) {
            (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a path");
            skn_lines_close(&lines);
        }
    }
    if (lines && skn_stream_open(standard ? "/dev/stdin" : path, &lines->stream,
                                 error) != SKN_OK)
        skn_lines_close(&lines);
    return lines;
}

skn_lines_t *
skn_lines_open_text(const char *text, size_t bytes, const char *name,
                    skn_error_t *error)
{
    skn_lines_t *lines = make(name, error);
    if (lines && skn_stream_open_memory(name, text, bytes, &lines->stream,
                                        error) != SKN_OK)
        skn_lines_close(&lines);
    /* Two KB of a request unpack to millions of lines. */
    if (lines && skn_stream_is_packed(lines->stream)) {
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
    free((*lines)->own_name);
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

const skn_stream_t *
skn_lines_stream(const skn_lines_t *lines)
{
    return lines->stream;
}
