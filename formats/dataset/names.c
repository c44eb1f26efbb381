/* names.c - reads names, one a line, from a file or from memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/source/lines.h"
#include "formats/text/grow.h"
#include "formats/dataset/xmc.h"
#include "skein/limits.h"

/* The names, of which a host sees the first member. */
typedef struct name_file {
    skn_names_t names;
    size_t *start; /* of each name in `text`, which moves as it grows */
    char *text, **name;
    size_t room, text_bytes, text_room;
} name_file_t;

static skn_status_t
add(name_file_t *file, const char *text, size_t bytes, skn_error_t *error)
{
    void *start = file->start, *all = file->text;
    bool good = skn_grow(&start, &file->room, file->names.count + 1,
                         sizeof(*file->start));
    file->start = start;
    good = good &&
           skn_grow(&all, &file->text_room, file->text_bytes + bytes + 1, 1);
    file->text = all;
    if (!good)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu names",
                        file->names.count + 1);
    file->start[file->names.count++] = file->text_bytes;
    memcpy(file->text + file->text_bytes, text, bytes);
    file->text_bytes += bytes;
    file->text[file->text_bytes++] = '\0';
    return SKN_OK;
}

static skn_status_t
read_all(name_file_t *file, skn_lines_t *lines, skn_error_t *error)
{
    for (;;) {
        const char *text = NULL;
        size_t bytes = 0;
        bool more = false;
        skn_status_t status =
            skn_lines_next(lines, true, &text, &bytes, &more, error);
        if (status != SKN_OK || bytes == SIZE_MAX)
            return status;
        if (!text)
            return skn_fail(error, SKN_BAD_DATA,
                            "%s:%" PRIu64
                            ":1: the name has %zu bytes, at most %u allowed",
                            skn_stream_name_shown(skn_lines_name(lines)),
                            skn_lines_number(lines), bytes, SKN_LINE_BYTES_MAX);
        size_t mark =
            file->names.count == 0 ? skn_xmc_mark_bytes(text, bytes) : 0;
        status = add(file, text + mark, bytes - mark, error);
        if (status != SKN_OK)
            return status;
    }
}

/* Sets the pointers once all names are there; frees them after a failure. */
static skn_names_t *
finish(name_file_t *file, skn_status_t status, skn_error_t *error)
{
    skn_names_t *names = &file->names;
    if (status == SKN_OK) {
        file->name = calloc(names->count + 1, sizeof(*file->name));
        if (!file->name)
            status = skn_fail(error, SKN_NO_MEMORY, "no memory for %zu names",
                              names->count);
    }
    if (status != SKN_OK) {
        skn_names_close(&names);
        return NULL;
    }
    for (size_t k = 0; k < names->count; k++)
        file->name[k] = file->text + file->start[k];
    names->name = (const char *const *)file->name;
    free(file->start);
    file->start = NULL;
    return names;
}

static name_file_t *
begin(skn_error_t *error)
{
    name_file_t *file = calloc(1, sizeof(*file));
    if (!file)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for names");
    return file;
}

skn_names_t *
skn_names_open(const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_lines_t *lines = skn_lines_open(path, error);
    if (!lines)
        return NULL;
    name_file_t *file = begin(error);
    skn_status_t status = file ? read_all(file, lines, error) : SKN_OK;
    skn_lines_close(&lines);
    return file ? finish(file, status, error) : NULL;
}

skn_names_t *
skn_names_read(const char *text, size_t bytes, skn_error_t *error)
{
    const char *end = text + bytes;
    name_file_t *file = begin(error);
    skn_status_t status = SKN_OK;
    while (file && text < end && status == SKN_OK) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (!line_end)
            line_end = end;
        status = add(file, text, (size_t)(line_end - text), error);
        text = line_end + 1;
    }
    return file ? finish(file, status, error) : NULL;
}

char *
skn_names_text(const skn_names_t *names, size_t *bytes)
{
    size_t at = 0;
    *bytes = 0;
    for (size_t k = 0; k < names->count; k++)
        *bytes += strlen(names->name[k]) + 1;
    char *text = malloc(*bytes + 1);
    for (size_t k = 0; text && k < names->count; k++) {
        size_t one = strlen(names->name[k]);
        memcpy(text + at, names->name[k], one);
        text[at + one] = '\n';
        at += one + 1;
    }
    return text;
}

void
skn_names_close(skn_names_t **names)
{
    name_file_t *file = names ? (name_file_t *)*names : NULL;
    if (!file)
        return;
    *names = NULL;
    free(file->start);
    free(file->text);
    free(file->name);
    free(file);
}
