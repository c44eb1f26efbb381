/* model_text.c - reads a model file, and makes the text of one for a data file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/records/records.h"
#include "formats/source/files.h"
#include "formats/source/spool.h"
#include "formats/source/stream.h"
#include "formats/text/json_write.h"

/* A model file has its key `skein` within so many bytes. */
#define LOOK_BYTES 8192u
#define BLANKS " \t\r\n"

static bool
ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/* Whether the key stands here, with quotation marks or without. */
static bool
is_key(const char *at)
{
    bool is_quoted = *at == '"';
    at += is_quoted;
    if (strncmp(at, "skein", 5) != 0 || (is_quoted && at[5] != '"'))
        return false;
    at += is_quoted ? 6 : 5;
    return at[strspn(at, BLANKS)] == ':';
}

/* Whether a line of the text begins with the key, or an object has it: that of
 * JSON has quotation marks. */
static bool
has_version(const char *text)
{
    bool is_object = text[0] == '{';
    bool is_json = is_object && text[1 + strspn(text + 1, BLANKS)] == '"';
    for (const char *at = text; *at; at++)
        if ((at == text || at[-1] == '\n' ||
             (is_object && (*at == '"' || !is_json))) &&
            is_key(at))
            return true;
    return false;
}

/* Whether a file that begins so is data and no model file, whatever is wrong
 * with it: it is empty, UTF-16, or an array. */
static bool
is_bad_data(const char *text)
{
    return memchr("\0\xff\xfe[", text[0], 4) != NULL;
}

static bool
is_yaml(const char *path)
{
    return ends_with(path, ".yaml") || ends_with(path, ".yml");
}

/* Whether the first file of a source has rows of data, and no version of a
 * model file; *is_bad: it has not, and is no model file either. SKN_BAD_DATA
 * and the statuses of skn_records_recognise: it has not. */
static skn_status_t
look_for_rows(const char *source, bool *is_bad, skn_error_t *error)
{
    skn_records_format_t format;
    skn_files_t files = { 0 };
    char text[LOOK_BYTES + 1] = "";
    skn_status_t status = skn_files_init(&files, source, error);
    if (status == SKN_OK)
        status = skn_files_check_regular(&files, source, error);
    bool may_be = status == SKN_OK && !is_yaml(files.path[0]);
    int file = may_be ? open(files.path[0], O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0 && read(file, text, LOOK_BYTES) < 0)
        text[0] = '\0';
    if (file >= 0)
        (void)close(file);
    *is_bad = may_be && is_bad_data(text);
    if (status == SKN_OK && (!may_be || has_version(text)))
        status =
            skn_fail(error, SKN_BAD_DATA, "%s: is a model file; give it alone",
                     skn_stream_name_shown(files.path[0]));
    else if (status == SKN_OK)
        status = skn_records_recognise(source, NULL, &format, error);
    skn_files_fini(&files);
    return status;
}

bool
skn_model_is_data(const char *source)
{
    bool is_bad;
    skn_error_t error;
    return look_for_rows(source, &is_bad, &error) == SKN_OK;
}

/* --- standard input ------------------------------------------------------- */

/* Appends the rest of standard input, which is a model file, to its beginning.
 */
static char *
read_rest(const char *start, size_t bytes, size_t *text_bytes,
          skn_problems_t *problems)
{
    size_t rest_bytes = 0;
    char *rest = skn_document_read("-", &rest_bytes, problems);
    char *text = rest ? malloc(bytes + rest_bytes + 1) : NULL;
    if (rest && !text)
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "no memory for the model of stdin");
    if (text) {
        memcpy(text, start, bytes);
        memcpy(text + bytes, rest, rest_bytes);
        *text_bytes = bytes + rest_bytes;
    }
    free(rest);
    return text;
}

/* Reads a model file from standard input, or keeps the rows that come from it
 * in a file: *path, for free(). NULL without a problem: there are rows. */
static char *
read_standard(char **path, size_t *text_bytes, skn_problems_t *problems)
{
    char start[LOOK_BYTES + 1];
    skn_error_t why = { 0 };
    size_t bytes = fread(start, 1, LOOK_BYTES, stdin);
    start[bytes] = '\0';
    bool is_rows =
        bytes > 0 && !has_version(start) && skn_records_are(start, bytes);
    if (!is_rows)
        return read_rest(start, bytes, text_bytes, problems);
    if (skn_spool(start, bytes, stdin, path, &why) != SKN_OK) {
        (void)skn_problems_fail(problems, why.status, "%s", why.text);
        (void)skn_problems_hint(problems, "%s", why.hint);
    }
    return NULL;
}

/* --- the model of data ---------------------------------------------------- */

/* Writes the value of data.train: a name that starts at the folder of the
 * document, or the list of all paths. */
static void
add_train(skn_json_text_t *text, const char *source, const char *name)
{
    const char *slash = strrchr(name, '/');
    bool is_several = strchr(source, SKN_FILES_SEPARATOR) != NULL;
    if (!is_several) {
        skn_json_text_add_string(text, slash ? slash + 1 : name);
        return;
    }
    skn_json_text_add(text, "[ ");
    while (source) {
        size_t bytes = strcspn(source, "\n");
        char *path = strndup(source, bytes);
        text->failed = text->failed || !path;
        skn_json_text_add_string(text, path ? path : "");
        free(path);
        source = source[bytes] ? source + bytes + 1 : NULL;
        skn_json_text_add(text, source ? ", " : " ]");
    }
}

/* What a document of the source is called: the paths of several begin at the
 * folder of the process, so its name has none. For free(). */
static char *
name_of(const char *source)
{
    size_t bytes = strcspn(source, "\n");
    bool is_several = source[bytes] != '\0';
    while (bytes > 1 && source[bytes - 1] == '/')
        bytes--;
    char *name = strndup(source, bytes);
    char *slash = name && is_several ? strrchr(name, '/') : NULL;
    if (slash && slash[1])
        memmove(name, slash + 1, strlen(slash));
    return name;
}

static char *
write_model(const char *source, const char *name, size_t *text_bytes,
            skn_problems_t *problems)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "skein: 1\ndata: { test: 0.1, train: ");
    add_train(&text, source, name);
    skn_json_text_add(&text, " }\nmodel: { layers: [ { name: hidden }, "
                             "{ name: output } ] }\n");
    if (text.failed) {
        skn_json_text_fini(&text);
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "no memory for the model of %s", source);
        return NULL;
    }
    *text_bytes = text.count;
    return text.bytes;
}

char *
skn_model_text(const char *path, char **name, size_t *text_bytes,
               skn_problems_t *problems)
{
    skn_error_t why = { 0 };
    char *spooled = NULL, *text = NULL;
    skn_status_t status = SKN_BAD_DATA;
    bool is_standard = strcmp(path, "-") == 0, is_bad = false;
    if (is_standard)
        text = read_standard(&spooled, text_bytes, problems);
    const char *source = spooled ? spooled : path;
    if (!is_standard)
        status = look_for_rows(source, &is_bad, &why);
    bool is_several = strchr(path, SKN_FILES_SEPARATOR) != NULL;
    bool is_data = spooled || status == SKN_OK;
    *name = is_data ? name_of(source) : strdup(skn_document_file_name(path));
    if (status == SKN_NO_MEMORY || ((is_several || is_bad) && !is_data)) {
        (void)skn_problems_fail(problems, status, "%s", why.text);
        if (why.hint[0])
            (void)skn_problems_hint(problems, "%s", why.hint);
    } else if (!*name)
        (void)skn_problems_fail(problems, SKN_NO_MEMORY, "no memory for %s",
                                path);
    else if (is_data)
        text = write_model(source, *name, text_bytes, problems);
    else if (!is_standard)
        text = skn_document_read(path, text_bytes, problems);
    free(spooled);
    return text;
}

skn_document_t *
skn_model_document_load(const char *path, skn_problems_t *problems)
{
    size_t text_bytes = 0;
    char *name = NULL;
    char *text = skn_model_text(path, &name, &text_bytes, problems);
    skn_document_t *document =
        text ? skn_document_parse(text, text_bytes, name, problems) : NULL;
    free(text);
    free(name);
    return document;
}
