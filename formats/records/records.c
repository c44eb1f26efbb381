/* records.c - opens a file of records, recognises its format, and returns its
 * rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/records/records.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/records/records_internal.h"
#include "formats/source/files.h"
#include "formats/source/stream.h"
#include "formats/text/text.h"
#include "skein/limits.h"

#define TEXT_COLUMN_DEFAULT "text"
#define LABEL_COLUMN_DEFAULT "labels"
/* Bytes of what is not a number. */
#define SHOWN_BYTES 40u

const char *const skn_records_names[SKN_RECORDS_FORMAT_COUNT] = {
    "auto", "fasttext", "json", "points", "csv", "tsv"
};

static const skn_records_reader_t *const readers[SKN_RECORDS_FORMAT_COUNT] = {
    [SKN_RECORDS_FASTTEXT] = &skn_records_fasttext,
    [SKN_RECORDS_CSV] = &skn_records_csv,
    [SKN_RECORDS_TSV] = &skn_records_csv,
    [SKN_RECORDS_JSON] = &skn_records_json,
};

/* --- memory --------------------------------------------------------------- */

skn_status_t
skn_records_no_memory(const skn_records_t *records, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for line %" PRIu64,
                    skn_stream_name_shown(records->name),
                    skn_lines_number(records->lines));
}

bool
skn_span_list_add(skn_span_list_t *list, skn_span_t span)
{
    void *at = list->at;
    if (!skn_grow(&at, &list->room, list->count + 1, sizeof(span)))
        return false;
    list->at = at;
    list->at[list->count++] = span;
    return true;
}

/* --- labels --------------------------------------------------------------- */

bool
skn_records_add_label(skn_records_t *records, skn_span_t label)
{
    label = skn_span_trimmed(label);
    return label.bytes == 0 || skn_span_list_add(&records->labels, label);
}

bool
skn_records_add_labels(skn_records_t *records, skn_span_t column)
{
    const char *separator = records->options.label_separator;
    size_t separator_bytes = separator ? strlen(separator) : 0;
    if (separator_bytes == 0)
        return skn_records_add_label(records, column);
    for (;;) {
        const char *end =
            memmem(column.at, column.bytes, separator, separator_bytes);
        if (!end)
            return skn_records_add_label(records, column);
        size_t bytes = (size_t)(end - column.at);
        if (!skn_records_add_label(records, (skn_span_t){ column.at, bytes }))
            return false;
        column.at = end + separator_bytes;
        column.bytes -= bytes + separator_bytes;
    }
}

/* --- open and close ------------------------------------------------------- */

/* Adds the columns of the list, which is the option `key`. */
static skn_status_t
add_columns(skn_records_t *records, const char *names, const char *key,
            skn_error_t *error)
{
    skn_span_t name;
    while (skn_columns_next(&names, &name)) {
        if (name.bytes == 0)
            return skn_fail(error, SKN_BAD_CONFIG, "%s has an empty name", key);
        if (records->column_count == SKN_RECORDS_COLUMNS_MAX)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "there are more than %u columns to be read",
                            SKN_RECORDS_COLUMNS_MAX);
        for (size_t k = 0; k < records->column_count; k++)
            if (skn_span_equal(records->column[k], name))
                return skn_fail(error, SKN_BAD_CONFIG,
                                "column '%.*s' is named twice, in "
                                "data.text_column, data.category_columns and "
                                "data.number_columns",
                                (int)name.bytes, name.at);
        records->column[records->column_count++] = name;
    }
    return SKN_OK;
}

static skn_status_t
take_columns(skn_records_t *records, skn_error_t *error)
{
    const skn_records_options_t *how = &records->options;
    const char *texts = how->text_columns, *label = how->label_column;
    if (!texts || !*texts)
        texts = TEXT_COLUMN_DEFAULT;
    skn_status_t status =
        add_columns(records, texts, "data.text_column", error);
    records->text_count = records->column_count;
    if (status == SKN_OK)
        status = add_columns(records, how->category_columns,
                             "data.category_columns", error);
    records->number_from = records->column_count;
    if (status == SKN_OK)
        status = add_columns(records, how->number_columns,
                             "data.number_columns", error);
    records->may_lack_text = records->column_count > records->text_count &&
                             strcmp(texts, TEXT_COLUMN_DEFAULT) == 0;
    records->may_lack_any =
        records->column_count > records->text_count && how->labels_optional;
    if (!label || !*label)
        label = LABEL_COLUMN_DEFAULT;
    records->label_column =
        skn_span_trimmed((skn_span_t){ label, strlen(label) });
    return status;
}

/* The next line, without a byte order mark before the first. */
static skn_status_t
next_line(skn_records_t *records, bool wait, skn_span_t *line, bool *more,
          skn_error_t *error)
{
    skn_status_t status = skn_lines_next(records->lines, wait, &line->at,
                                         &line->bytes, more, error);
    if (status == SKN_OK && line->at && skn_lines_number(records->lines) == 1 &&
        line->bytes >= 3 && memcmp(line->at, "\xef\xbb\xbf", 3) == 0) {
        line->at += 3;
        line->bytes -= 3;
    }
    return status;
}

static skn_status_t
refuse_unknown(const skn_records_t *records, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s:1: is not recognised as fastText, CSV, TSV, JSON lines "
                   "or numbered features",
                   skn_stream_name_shown(records->name));
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "name its format with data.format, and the columns "
                         "of a CSV file in its first line");
}

/* Whether the line is a comment, or its first word is made of what numbers,
 * their commas and their colons are made of. */
static bool
looks_like_points(skn_span_t line)
{
    size_t at = 0;
    while (at < line.bytes && skn_is_blank(line.at[at]))
        at++;
    if (at == line.bytes || line.at[at] == '#')
        return true;
    for (; at < line.bytes && !skn_is_blank(line.at[at]); at++)
        if (!memchr("0123456789,:.+-eE", line.at[at], 17))
            return false;
    return true;
}

/* Finds the format that the first line looks like, in the order of the enum; a
 * name of the file before says more than the line does: csv may be tsv. */
static void
recognise(skn_records_t *records, skn_span_t line)
{
    skn_records_format_t *format = &records->options.format;
    bool has_texts = records->options.otherwise != SKN_RECORDS_AUTO;
    for (int k = 0; k < SKN_RECORDS_FORMAT_COUNT; k++)
        if (*format == SKN_RECORDS_AUTO &&
            (k == SKN_RECORDS_POINTS
                 ? !has_texts && looks_like_points(line)
                 : readers[k] && readers[k]->looks(records, line)))
            *format = (skn_records_format_t)k;
    if (*format == SKN_RECORDS_AUTO)
        *format = records->options.otherwise;
    records->reader = readers[*format];
    if (records->reader && records->reader == readers[records->before])
        *format = records->before;
}

static skn_status_t
refuse_first(const skn_records_t *records, bool is_empty, skn_error_t *error)
{
    const char *name = skn_stream_name_shown(records->name);
    if (!is_empty)
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_BAD_DATA,
                     "%s:1:1: the line is longer than %u bytes", name,
                     SKN_LINE_BYTES_MAX),
            "is it a text file?");
    return skn_fail_hint(
        error, skn_fail(error, SKN_BAD_DATA, "%s: the file is empty", name),
        "a row has labels and a text, or labels and feature:value");
}

/* Whether the line begins with the byte order mark of UTF-16. */
static bool
is_utf16(skn_span_t line)
{
    return line.bytes >= 2 && (memcmp(line.at, "\xff\xfe", 2) == 0 ||
                               memcmp(line.at, "\xfe\xff", 2) == 0);
}

static skn_status_t
refuse_utf16(const skn_records_t *records, skn_error_t *error)
{
    return skn_fail_hint(error,
                         skn_fail(error, SKN_BAD_DATA,
                                  "%s:1: the text is UTF-16",
                                  skn_stream_name_shown(records->name)),
                         "save it as UTF-8");
}

/* Whether the line begins an array of objects. */
static bool
is_array(const skn_records_t *records, skn_span_t line)
{
    const skn_records_format_t format = records->options.format;
    line = skn_span_trimmed(line);
    if (line.bytes == 0 || line.at[0] != '[' ||
        (format != SKN_RECORDS_AUTO && format != SKN_RECORDS_JSON))
        return false;
    line = skn_span_trimmed((skn_span_t){ line.at + 1, line.bytes - 1 });
    return line.bytes == 0 || line.at[0] == '{';
}

static skn_status_t
refuse_array(const skn_records_t *records, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s:1: begins an array of JSON, and each line has to be one "
                   "object",
                   skn_stream_name_shown(records->name));
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "write its elements as lines, for example with "
                         "jq -c '.[]'");
}

/* Reads the first line, and finds the format. */
static skn_status_t
begin_line(skn_records_t *records, skn_span_t *line, skn_error_t *error)
{
    bool more;
    skn_status_t status = next_line(records, true, line, &more, error);
    if (status != SKN_OK)
        return status;
    if (!line->at)
        return refuse_first(records, line->bytes == SIZE_MAX, error);
    if (is_utf16(*line))
        return refuse_utf16(records, error);
    if (is_array(records, *line))
        return refuse_array(records, error);
    recognise(records, *line);
    return records->options.format == SKN_RECORDS_AUTO
               ? refuse_unknown(records, error)
               : SKN_OK;
}

static skn_status_t
begin(skn_records_t *records, skn_error_t *error)
{
    skn_span_t line;
    bool more;
    skn_status_t status = begin_line(records, &line, error);
    if (status != SKN_OK)
        return status;
    if (!records->reader)
        return skn_fail_hint(
            error,
            skn_fail(
                error, SKN_BAD_DATA,
                "%s:1: has numbered features, and rows of texts are expected",
                skn_stream_name_shown(records->name)),
            "give a file of texts, as the training file is (data.test=0.1 "
            "holds back a tenth of that)");
    records->has_first = !records->reader->begin;
    records->first = line;
    records->csv.is_open = false;
    for (more = !records->has_first; status == SKN_OK && more;) {
        status = records->reader->begin(records, line, &more, error);
        if (status == SKN_OK && more) {
            bool later;
            status = next_line(records, true, &line, &later, error);
            if (status == SKN_OK && !line.at)
                status = skn_fail(error, SKN_BAD_DATA,
                                  "%s:1: the row of column names does not end",
                                  skn_stream_name_shown(records->name));
        }
    }
    return status;
}

/* Begins with the next file; *more is false if there is none. A file that
 * looks like another format than the first one is refused. */
static skn_status_t
next_file(skn_records_t *records, bool *more, skn_error_t *error)
{
    const skn_records_format_t format = records->options.format;
    const skn_records_format_t otherwise = records->options.otherwise;
    skn_status_t status = skn_lines_next_file(records->lines, more, error);
    if (status != SKN_OK || !*more)
        return status;
    records->name = skn_lines_name(records->lines);
    records->before = format;
    if (records->is_any_format) {
        records->options.format = SKN_RECORDS_AUTO;
        records->options.otherwise =
            otherwise == SKN_RECORDS_AUTO ? format : otherwise;
    }
    status = begin(records, error);
    const skn_records_format_t found = records->options.format;
    records->options.format = format;
    records->options.otherwise = otherwise;
    if (status == SKN_OK && found != format)
        status = skn_fail_hint(
            error,
            skn_fail(error, SKN_BAD_DATA,
                     "%s:1: is %s, and the file before it is %s",
                     skn_stream_name_shown(records->name),
                     skn_records_names[found], skn_records_names[format]),
            "give files of one format");
    return status;
}

/* Takes the lines, and begins with `start`. */
static skn_records_t *
made(skn_lines_t *lines, const skn_records_options_t *options,
     skn_status_t (*start)(skn_records_t *records, skn_error_t *error),
     skn_error_t *error)
{
    if (!lines)
        return NULL;
    skn_records_t *records = calloc(1, sizeof(*records));
    if (!records) {
        skn_lines_close(&lines);
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a reader");
        return NULL;
    }
    records->lines = lines;
    records->name = skn_lines_name(lines);
    if (options)
        records->options = *options;
    records->is_any_format = records->options.format == SKN_RECORDS_AUTO;
    if (take_columns(records, error) != SKN_OK ||
        start(records, error) != SKN_OK)
        skn_records_close(&records);
    return records;
}

skn_records_t *
skn_records_open(const char *path, const skn_records_options_t *options,
                 skn_error_t *error)
{
    return made(skn_lines_open(path, error), options, begin, error);
}

static skn_status_t
begin_no_further(skn_records_t *records, skn_error_t *error)
{
    skn_span_t line;
    return begin_line(records, &line, error);
}

skn_status_t
skn_records_recognise(const char *path, const skn_records_options_t *options,
                      skn_records_format_t *format, skn_error_t *error)
{
    skn_records_t *records =
        made(skn_lines_open(path, error), options, begin_no_further, error);
    if (!records)
        return error->status;
    *format = records->options.format;
    skn_records_close(&records);
    return SKN_OK;
}

bool
skn_records_are(const char *start, size_t bytes)
{
    skn_stream_t *stream = NULL;
    skn_error_t error;
    bool is_packed =
        skn_stream_open_memory("", start, bytes, &stream, &error) == SKN_OK &&
        skn_stream_is_packed(stream);
    skn_stream_close(&stream);
    skn_records_t *records =
        is_packed ? NULL
                  : made(skn_lines_open_text(start, bytes, "", false, &error),
                         NULL, begin_no_further, &error);
    bool are = is_packed || records;
    skn_records_close(&records);
    return are;
}

skn_status_t
skn_records_check_files(const char *path, const skn_records_options_t *options,
                        skn_error_t *error)
{
    skn_files_t files;
    skn_status_t status = skn_files_init(&files, path, error);
    bool is_one = files.count == 1 || !files.is_regular;
    skn_files_fini(&files);
    if (status != SKN_OK || is_one)
        return status;
    skn_records_t *records = skn_records_open(path, options, error);
    if (!records)
        return error->status;
    records->is_any_format = true;
    for (bool more = true; status == SKN_OK && more;)
        status = next_file(records, &more, error);
    skn_records_close(&records);
    return status;
}

skn_records_t *
skn_records_open_text(const char *text, size_t bytes, const char *name,
                      const skn_records_options_t *options, skn_error_t *error)
{
    return made(skn_lines_open_text(text, bytes, name, false, error), options,
                begin, error);
}

void
skn_records_close(skn_records_t **records)
{
    skn_records_t *dying = *records;
    *records = NULL;
    if (!dying)
        return;
    skn_lines_close(&dying->lines);
    json_decref(dying->object);
    free(dying->csv.bytes);
    free(dying->csv.end);
    free(dying->labels.at);
    free(dying->texts.at);
    free(dying->joined);
    free(dying);
}

skn_records_format_t
skn_records_format(const skn_records_t *records)
{
    return records->options.format;
}

const skn_lines_t *
skn_records_lines(const skn_records_t *records)
{
    return records->lines;
}

/* --- rows ----------------------------------------------------------------- */

/* Takes one line. A line that is too long is a row that cannot be read. */
static skn_status_t
take_line(skn_records_t *records, skn_span_t line, bool *complete,
          skn_error_t *error)
{
    if (records->line == 0) {
        records->line = skn_lines_number(records->lines);
        records->labels.count = records->texts.count = 0;
    }
    if (line.at)
        return records->reader->line(records, line, complete, error);
    *complete = true;
    records->csv.is_open = false;
    return skn_fail(error, SKN_BAD_DATA,
                    "%s:%" PRIu64 ": the line has %zu bytes, at most %u are "
                    "read",
                    skn_stream_name_shown(records->name),
                    skn_lines_number(records->lines), line.bytes,
                    SKN_LINE_BYTES_MAX);
}

/* The next line; at the end *complete is true. */
static skn_status_t
get_line(skn_records_t *records, bool wait, skn_span_t *line, bool *later,
         skn_error_t *error)
{
    *later = false;
    if (!records->has_first)
        return next_line(records, wait, line, later, error);
    records->has_first = false;
    *line = records->first;
    return SKN_OK;
}

/* Whether a row has columns beside its texts. */
static bool
has_columns(const skn_records_t *records)
{
    return records->column_count > records->text_count &&
           records->reader != &skn_records_fasttext;
}

static skn_status_t
give(skn_records_t *records, skn_status_t status, skn_records_kind_t *kind,
     skn_records_row_t *record, const skn_error_t **refusal, skn_error_t *error)
{
    uint64_t line = records->line;
    records->line = 0;
    record->line = line;
    record->file = skn_lines_file(records->lines);
    if (status == SKN_BAD_DATA) {
        *kind = SKN_RECORDS_BAD;
        *refusal = &records->refusal;
        return SKN_OK;
    }
    if (status != SKN_OK)
        return skn_records_no_memory(records, error);
    *kind = SKN_RECORDS_ROW;
    *record = (skn_records_row_t){ .line = line,
                                   .file = record->file,
                                   .label = records->labels.at,
                                   .text = records->texts.at,
                                   .label_count = records->labels.count,
                                   .text_count = records->texts.count,
                                   .has_columns = has_columns(records) };
    return SKN_OK;
}

/* Refuses a row whose columns of numbers have something else. */
static skn_status_t
check_numbers(const skn_records_t *records, skn_error_t *error)
{
    for (size_t k = records->number_from;
         has_columns(records) && k < records->texts.count; k++) {
        const skn_span_t text = records->texts.at[k];
        double number;
        if (!skn_text_number(text.at, text.bytes, &number))
            return skn_fail(
                error, SKN_BAD_DATA,
                "%s:%" PRIu64 ": column '%.*s' has '%.*s', which "
                "is not a number",
                skn_stream_name_shown(records->name), records->line,
                (int)records->column[k].bytes, records->column[k].at,
                (int)(text.bytes < SHOWN_BYTES ? text.bytes : SHOWN_BYTES),
                text.at);
    }
    return SKN_OK;
}

skn_status_t
skn_records_next(skn_records_t *records, bool wait, skn_records_kind_t *kind,
                 skn_records_row_t *record, const skn_error_t **refusal,
                 skn_error_t *error)
{
    bool complete = false, later;
    *refusal = NULL;
    *record = (skn_records_row_t){ 0 };
    while (!complete) {
        skn_span_t line;
        skn_status_t status = get_line(records, wait, &line, &later, error);
        if (status != SKN_OK)
            return status;
        if (later) {
            *kind = SKN_RECORDS_LATER;
            return SKN_OK;
        }
        if (line.bytes == SIZE_MAX && records->line == 0) {
            bool more;
            status = next_file(records, &more, error);
            if (status == SKN_OK && more)
                continue;
            *kind = SKN_RECORDS_END;
            return status;
        }
        if (line.bytes == SIZE_MAX) {
            (void)skn_fail(&records->refusal, SKN_BAD_DATA,
                           "%s:%" PRIu64 ": the row has a quotation mark that "
                           "is not closed before the end of the file",
                           skn_stream_name_shown(records->name), records->line);
            return give(records, SKN_BAD_DATA, kind, record, refusal, error);
        }
        records->refusal = (skn_error_t){ 0 };
        status = take_line(records, line, &complete, &records->refusal);
        if (status == SKN_OK && complete)
            status = check_numbers(records, &records->refusal);
        if (complete || status != SKN_OK)
            return give(records, status, kind, record, refusal, error);
    }
    return SKN_OK;
}
