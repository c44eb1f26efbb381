/* vocabulary.c - reads and writes a featurizer with the names of labels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/vocabulary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/source/stream.h"

#define FORM "skein-vocabulary"
#define HEAD_FORMAT FORM " 1 %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n"
#define HEAD_SCAN FORM " 1 %" SCNu64 " %" SCNu64 " %" SCNx64
#define FILE_HEAD_BYTES 96u
#define WHOLE_BYTES 65536u

void
skn_vocabulary_destroy(skn_vocabulary_t **vocabulary)
{
    skn_vocabulary_t *dying = *vocabulary;
    *vocabulary = NULL;
    if (!dying)
        return;
    skn_featurizer_destroy(&dying->featurizer);
    skn_strings_fini(&dying->names);
    free(dying);
}

/* --- labels --------------------------------------------------------------- */

static bool
is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

skn_status_t
skn_names_find(skn_strings_t *names, skn_span_t name, bool add,
               uint32_t *number)
{
    size_t k = 0;
    while (k < name.bytes && !is_control(name.at[k]))
        k++;
    char *line = NULL;
    if (k < name.bytes) {
        line = malloc(name.bytes);
        if (!line)
            return SKN_NO_MEMORY;
        for (k = 0; k < name.bytes; k++)
            line[k] = is_control(name.at[k]) ? ' ' : name.at[k];
        name.at = line;
    }
    *number = add ? skn_strings_add(names, name.at, name.bytes)
                  : skn_strings_find(names, name.at, name.bytes);
    free(line);
    return add && *number == SKN_STRINGS_NONE ? SKN_NO_MEMORY : SKN_OK;
}

/* --- file forms ----------------------------------------------------------- */

char *
skn_names_write(const skn_strings_t *names, uint64_t *bytes)
{
    size_t total = 0, at = 0, one;
    for (uint32_t k = 0; k < names->count; k++) {
        (void)skn_strings_at(names, k, &one);
        total += one + 1;
    }
    char *lines = malloc(total + 1);
    for (uint32_t k = 0; lines && k < names->count; k++) {
        const char *name = skn_strings_at(names, k, &one);
        memcpy(lines + at, name, one);
        at += one;
        lines[at++] = '\n';
    }
    *bytes = total;
    return lines;
}

static skn_status_t
read_names(skn_strings_t *names, const char *path,
           const skn_vocabulary_form_t *form, skn_error_t *error)
{
    const char *at = form->names, *end = at + form->names_bytes;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        uint32_t number = names->count;
        if (!line_end)
            return skn_fail(error, SKN_BAD_DATA,
                            "%s: the last name of a label has no line end",
                            path);
        uint32_t got = skn_strings_add(names, at, (size_t)(line_end - at));
        if (got == SKN_STRINGS_NONE)
            return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for names",
                            path);
        if (got != number)
            return skn_fail(
                error, SKN_BAD_DATA, "%s: labels %u and %u have one name: %.*s",
                path, got, number,
                (int)(line_end - at < 200 ? line_end - at : 200), at);
        at = line_end + 1;
    }
    return SKN_OK;
}

skn_vocabulary_t *
skn_vocabulary_read(const char *path, const skn_vocabulary_form_t *form,
                    skn_error_t *error)
{
    skn_vocabulary_t *vocabulary = calloc(1, sizeof(*vocabulary));
    if (!vocabulary) {
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory for words", path);
        return NULL;
    }
    vocabulary->hash = skn_vocabulary_hash(form);
    vocabulary->featurizer = skn_featurizer_read(
        path, form->features, (size_t)form->features_bytes, error);
    if (!vocabulary->featurizer ||
        read_names(&vocabulary->names, path, form, error) != SKN_OK)
        skn_vocabulary_destroy(&vocabulary);
    return vocabulary;
}

uint64_t
skn_vocabulary_hash(const skn_vocabulary_form_t *form)
{
    uint64_t both[2] = {
        XXH3_64bits(form->features, (size_t)form->features_bytes),
        XXH3_64bits(form->names, (size_t)form->names_bytes),
    };
    return XXH3_64bits(both, sizeof(both));
}

/* --- a file of its own ---------------------------------------------------- */

char *
skn_vocabulary_write(const skn_vocabulary_form_t *form, size_t *bytes)
{
    char head[FILE_HEAD_BYTES];
    size_t head_bytes =
        (size_t)snprintf(head, sizeof(head), HEAD_FORMAT, form->features_bytes,
                         form->names_bytes, skn_vocabulary_hash(form));
    *bytes =
        head_bytes + (size_t)form->features_bytes + (size_t)form->names_bytes;
    char *text = malloc(*bytes + 1);
    if (!text)
        return NULL;
    memcpy(text, head, head_bytes);
    memcpy(text + head_bytes, form->features, (size_t)form->features_bytes);
    if (form->names_bytes > 0)
        memcpy(text + head_bytes + form->features_bytes, form->names,
               (size_t)form->names_bytes);
    text[*bytes] = '\0';
    return text;
}

skn_status_t
skn_vocabulary_find(const char *path, const char *text, size_t bytes,
                    skn_vocabulary_form_t *form, skn_error_t *error)
{
    uint64_t hash;
    char head[FILE_HEAD_BYTES] = "", again[FILE_HEAD_BYTES];
    const char *end =
        memchr(text, '\n', bytes < FILE_HEAD_BYTES ? bytes : FILE_HEAD_BYTES);
    size_t head_bytes = end ? (size_t)(end - text) + 1 : 0;
    if (head_bytes > 0 && head_bytes < FILE_HEAD_BYTES)
        memcpy(head, text, head_bytes);
    int got = sscanf(head, HEAD_SCAN, &form->features_bytes, &form->names_bytes,
                     &hash);
    if (got != 3 || strncmp(head, FORM " ", sizeof(FORM)) != 0)
        return skn_fail(error, SKN_BAD_DATA, "%s: is not a vocabulary", path);
    (void)snprintf(again, sizeof(again), HEAD_FORMAT, form->features_bytes,
                   form->names_bytes, hash);
    if (strcmp(head, again) != 0)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: was written by another version of Skein", path);
    size_t left = bytes - head_bytes;
    form->features = text + head_bytes;
    bool fits = form->features_bytes <= left &&
                form->names_bytes == left - form->features_bytes;
    form->names = form->features + (fits ? form->features_bytes : 0);
    if (!fits || skn_vocabulary_hash(form) != hash)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: is damaged: its hash does not fit", path);
    return SKN_OK;
}

/* All bytes of a file, for free(). */
static char *
read_whole(const char *path, size_t *bytes, skn_error_t *error)
{
    skn_stream_t *stream;
    char *text = NULL;
    size_t room = 0, got = 1;
    *bytes = 0;
    skn_status_t status = skn_stream_open(path, &stream, error);
    while (status == SKN_OK && got > 0) {
        if (*bytes == room) {
            room = room ? 2 * room : WHOLE_BYTES;
            char *more = realloc(text, room);
            if (!more) {
                status =
                    skn_fail(error, SKN_NO_MEMORY,
                             "%s: no memory for its %zu bytes", path, room);
                break;
            }
            text = more;
        }
        status =
            skn_stream_read(stream, text + *bytes, room - *bytes, &got, error);
        *bytes += status == SKN_OK ? got : 0;
    }
    skn_stream_close(&stream);
    if (status == SKN_OK)
        return text;
    free(text);
    return NULL;
}

skn_vocabulary_t *
skn_vocabulary_open(const char *path, skn_error_t *error)
{
    size_t bytes;
    skn_vocabulary_form_t form = { 0 };
    skn_vocabulary_t *vocabulary = NULL;
    char *text = read_whole(path, &bytes, error);
    if (text && skn_vocabulary_find(path, text, bytes, &form, error) == SKN_OK)
        vocabulary = skn_vocabulary_read(path, &form, error);
    free(text);
    return vocabulary;
}
