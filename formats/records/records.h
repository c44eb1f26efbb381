/* records.h - reads rows with texts and named labels from a user's file.
 *
 *     fasttext    __label__sport __label__tennis Ball over the net
 *     csv, tsv    a first row of column names, then rows (RFC 4180)
 *     json        one object a line: {"text": "...", "labels": ["a", "b"]}
 *
 * The format is recognised by the first line, unless it is given. Files may be
 * packed. A row that cannot be read is returned with the sentence that says
 * what is wrong and where, and the next call goes on behind it: how many such
 * rows are too many is the caller's decision. Not here: what a text means
 * (words, features), and files of numbered features (formats/dataset/xmc.h).
 * One reader is for one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_RECORDS_RECORDS_H
#define FORMATS_RECORDS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source/lines.h"
#include "formats/text/span.h"
#include "skein/error.h"

typedef enum skn_records_format {
    SKN_RECORDS_AUTO,
    SKN_RECORDS_FASTTEXT,
    SKN_RECORDS_JSON,
    SKN_RECORDS_POINTS, /* recognised only: formats/dataset reads it */
    SKN_RECORDS_CSV,
    SKN_RECORDS_TSV,
    SKN_RECORDS_FORMAT_COUNT
} skn_records_format_t;
/* "auto", "fasttext", "json", "points", "csv", "tsv". */
extern const char *const skn_records_names[SKN_RECORDS_FORMAT_COUNT];

/* The most columns of texts, categories and numbers that are read together. */
#define SKN_RECORDS_COLUMNS_MAX 256u

/* { 0 } has the defaults. Texts must outlive the reader. */
typedef struct skn_records_options {
    skn_records_format_t format;
    /* Names of the columns of csv, tsv and json with text, separated by commas
     * (NULL: "text"), and of the one with labels (NULL: "labels"). */
    const char *text_columns, *label_column;
    /* The same for columns of categories and of numbers (NULL or "": none). If
     * there are any, a file need not have the column "text". */
    const char *category_columns, *number_columns;
    /* Divides the labels in their column; NULL or "": the whole is one label.
     * An array of json is divided by its elements, and not otherwise. */
    const char *label_separator;
    /* For prediction: the column of labels may be missing, and where there are
     * columns of categories or numbers, all but one of the columns, too. */
    bool labels_optional;
    /* With format AUTO: that of a file which looks like none, such as lines of
     * text for fasttext; csv then is what has the columns of text. AUTO: such a
     * file is refused. */
    skn_records_format_t otherwise;
} skn_records_options_t;

/* One row. It lives until the next call. */
typedef struct skn_records_row {
    uint64_t line; /* where the row begins, from 1; also of a bad one */
    uint32_t file; /* in which file of the source, from 0 */
    const skn_span_t *label, *text;
    size_t label_count, text_count; /* text_count: the columns asked for, in
                                     * their order: texts, categories, numbers;
                                     * fasttext: what stands between labels */
    bool has_columns;               /* also those of categories and numbers */
} skn_records_row_t;

typedef enum skn_records_kind {
    SKN_RECORDS_END,
    SKN_RECORDS_ROW,
    SKN_RECORDS_BAD,  /* a row that cannot be read: the refusal */
    SKN_RECORDS_LATER /* without `wait`: no further row has come yet */
} skn_records_kind_t;

typedef struct skn_records skn_records_t;

/* The format of the first file of a source, by its first line. The statuses of
 * skn_records_open. */
skn_status_t skn_records_recognise(const char *path,
                                   const skn_records_options_t *options,
                                   skn_records_format_t *format,
                                   skn_error_t *error);

/* Whether a file that begins with these bytes looks like one of the formats, or
 * is packed. */
bool skn_records_are(const char *start, size_t bytes);

/* Refuses a source whose files do not look like one format, or lack a column.
 * The statuses of skn_records_open. */
skn_status_t skn_records_check_files(const char *path,
                                     const skn_records_options_t *options,
                                     skn_error_t *error);

/* Finds the separator of the labels in a cell, by the first rows of the file:
 * ";", "|" or ",", or "" if each cell is one label. The statuses of
 * skn_records_next. */
skn_status_t skn_records_find_separator(const char *path,
                                        const skn_records_options_t *options,
                                        const char **separator,
                                        skn_error_t *error);

/* Opens the files of a source (formats/source/files.h; "-": standard input) and
 * reads the first row of the first. All have one format; each of csv has its
 * own row of names. NULL and
 * SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_STORAGE, SKN_NO_MEMORY, or SKN_BAD_DATA:
 * the format is not recognised, or a column is missing. */
skn_records_t *skn_records_open(const char *path,
                                const skn_records_options_t *options,
                                skn_error_t *error);
/* The same for `bytes` bytes of `text`; it and `name` outlive the reader. */
skn_records_t *skn_records_open_text(const char *text, size_t bytes,
                                     const char *name,
                                     const skn_records_options_t *options,
                                     skn_error_t *error);
/* Frees, sets *records to NULL, which it may be already. */
void skn_records_close(skn_records_t **records);

skn_records_format_t skn_records_format(const skn_records_t *records);
/* The lines of the files: position, hash. They live as long as the reader. */
const skn_lines_t *skn_records_lines(const skn_records_t *records);

/* Reads the next row; `wait` as of skn_lines_next. *refusal belongs to the
 * reader and is set for SKN_RECORDS_BAD alone. SKN_STORAGE, SKN_BAD_DATA
 * (damaged packing) and SKN_NO_MEMORY end the reading. */
skn_status_t skn_records_next(skn_records_t *records, bool wait,
                              skn_records_kind_t *kind,
                              skn_records_row_t *record,
                              const skn_error_t **refusal, skn_error_t *error);

#endif
