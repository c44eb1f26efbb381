/* model_text.c - reads a model file, and makes the text of one for a data file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/records/records.h"
#include "formats/text/json_write.h"

/* A model file has its key `skein` within so many bytes. */
#define LOOK_BYTES 8192u

static bool
ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/* Whether a line of the text begins with the key, or an object of JSON has
 * it. */
static bool
has_version(const char *text)
{
    const char *at = text;
    while (at) {
        if (strncmp(at, "skein:", 6) == 0 || strncmp(at, "\"skein\"", 7) == 0)
            return true;
        at = strchr(at, '\n');
        at += at != NULL;
    }
    return text[0] == '{' && strstr(text, "skein");
}

/* Whether the file `path` may have rows of data: its name does not say that it
 * is YAML, and it has no version. */
static bool
may_be_data(const char *path)
{
    struct stat facts;
    char text[LOOK_BYTES + 1];
    if (strcmp(path, "-") == 0 || ends_with(path, ".yaml") ||
        ends_with(path, ".yml") || stat(path, &facts) != 0 ||
        !S_ISREG(facts.st_mode))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, LOOK_BYTES);
    (void)close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 && !has_version(text);
}

char *
skn_model_text(const char *path, size_t *text_bytes, skn_problems_t *problems)
{
    skn_records_format_t format;
    skn_error_t why = { 0 };
    skn_status_t status = may_be_data(path)
                              ? skn_records_recognise(path, NULL, &format, &why)
                              : SKN_BAD_DATA;
    if (status == SKN_NO_MEMORY) {
        (void)skn_problems_fail(problems, status, "%s", why.text);
        return NULL;
    }
    if (status != SKN_OK)
        return skn_document_read(path, text_bytes, problems);
    skn_json_text_t text = { 0 };
    const char *slash = strrchr(path, '/');
    skn_json_text_add(&text, "skein: 1\ndata: { test: 0.1, train: ");
    skn_json_text_add_string(&text, slash ? slash + 1 : path);
    skn_json_text_add(&text, " }\nmodel: { layers: [ { name: hidden }, "
                             "{ name: output } ] }\n");
    if (text.failed) {
        skn_json_text_fini(&text);
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "no memory for the model of %s", path);
        return NULL;
    }
    *text_bytes = text.count;
    return text.bytes;
}

skn_document_t *
skn_model_document_load(const char *path, skn_problems_t *problems)
{
    size_t text_bytes = 0;
    char *text = skn_model_text(path, &text_bytes, problems);
    skn_document_t *document =
        text ? skn_document_parse(text, text_bytes,
                                  skn_document_file_name(path), problems)
             : NULL;
    free(text);
    return document;
}
