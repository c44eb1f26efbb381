/* convert.c - writes the rows of a file in another format. Declared in
 * skein/convert.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/convert.h"

#include <stddef.h>
#include <string.h>

#include "formats/dataset/convert_points.h"
#include "formats/records/records_internal.h"
#include "formats/records/records_write.h"
#include "formats/source/files.h"
#include "formats/source/sink.h"
#include "formats/text/abi.h"

/* The struct of the first version ends here. */
#define CONVERTED_BYTES_MIN offsetof(skn_converted_t, left_out_columns)

/* Between labels, where the file that is read does not say. */
#define SEPARATOR ";"

/* What is written: rows in a format of them, or numbered features. */
typedef struct target {
    const char *name, *ending;
    skn_records_format_t format;
    bool has_header;
} target_t;

static const target_t targets[] = {
    { "csv", ".csv", SKN_RECORDS_CSV, false },
    { "tsv", ".tsv", SKN_RECORDS_TSV, false },
    { "json", ".jsonl", SKN_RECORDS_JSON, false },
    { "json", ".json", SKN_RECORDS_JSON, false },
    { "fasttext", ".ft", SKN_RECORDS_FASTTEXT, false },
    { "fasttext", ".txt", SKN_RECORDS_FASTTEXT, false },
    { "svmlight", ".svm", SKN_RECORDS_POINTS, false },
    { "svmlight", ".svmlight", SKN_RECORDS_POINTS, false },
    { "xmc", ".xmc", SKN_RECORDS_POINTS, true },
};
#define TARGET_COUNT (sizeof(targets) / sizeof(targets[0]))

/* The format of a name, AUTO for NULL and "auto". */
static skn_status_t
find_format(const char *name, skn_records_format_t *format, skn_error_t *error)
{
    *format = SKN_RECORDS_AUTO;
    if (!name || strcmp(name, "auto") == 0)
        return SKN_OK;
    for (int k = 0; k < SKN_RECORDS_FORMAT_COUNT; k++)
        if (k != SKN_RECORDS_AUTO && strcmp(name, skn_records_names[k]) == 0) {
            *format = (skn_records_format_t)k;
            return SKN_OK;
        }
    (void)skn_fail(error, SKN_USAGE, "unknown format of rows '%.100s'", name);
    return skn_fail_hint(error, SKN_USAGE,
                         "there are fasttext, csv, tsv, json and points");
}

/* The target of a name, or else of a path's ending. */
static skn_status_t
find_target(const char *name, const char *path, const target_t **target,
            skn_error_t *error)
{
    bool is_named = name && strcmp(name, "auto") != 0;
    size_t bytes = strlen(path);
    if (bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0)
        bytes -= 3;
    else if (bytes > 4 && strcmp(path + bytes - 4, ".zst") == 0)
        bytes -= 4;
    for (size_t k = 0; k < TARGET_COUNT; k++) {
        size_t ending = strlen(targets[k].ending);
        *target = &targets[k];
        if (is_named ? strcmp(name, targets[k].name) == 0
                     : bytes > ending && memcmp(path + bytes - ending,
                                                targets[k].ending, ending) == 0)
            return SKN_OK;
    }
    if (is_named) {
        (void)skn_fail(error, SKN_USAGE, "unknown format '%.100s'", name);
        return skn_fail_hint(error, SKN_USAGE,
                             "there are fasttext, csv, tsv, json, svmlight "
                             "and xmc");
    }
    (void)skn_fail(error, SKN_USAGE, "%s: its ending names no format",
                   skn_stream_name_shown(path));
    return skn_fail_hint(error, SKN_USAGE,
                         "give --to fasttext, csv, tsv, json, svmlight or xmc, "
                         "or end the path with .ft, .csv, .tsv, .jsonl, .svm "
                         "or .xmc");
}

/* Whether the source can be read a second time. */
static skn_status_t
can_be_reread(const char *in, bool *can_be, skn_error_t *error)
{
    *can_be = false;
    return strcmp(in, "-") == 0 ? SKN_OK
                                : skn_files_can_be_reread(in, can_be, error);
}

/* Finds what divides labels, if a second look at the file is possible. */
static skn_status_t
find_separator(const char *in, const skn_convert_options_t *options,
               skn_records_options_t *how, skn_error_t *error)
{
    how->label_separator = options->label_separator;
    if (how->label_separator)
        return SKN_OK;
    how->label_separator = "";
    bool again;
    skn_status_t status = can_be_reread(in, &again, error);
    if (status != SKN_OK || !again)
        return status;
    status = how->format == SKN_RECORDS_AUTO
                 ? skn_records_recognise(in, how, &how->format, error)
                 : SKN_OK;
    if (status != SKN_OK || how->format == SKN_RECORDS_POINTS)
        return status;
    return skn_records_find_separator(in, how, &how->label_separator, error);
}

/* Notes which columns are left out, by the first file's row of names. */
static void
note_left_out(const skn_records_t *records, skn_converted_t *converted)
{
    const size_t room = sizeof(converted->left_out);
    const skn_csv_row_t *names = &records->csv;
    size_t used = 0, from = 0;
    for (size_t k = 0; k < names->field_count; from = names->end[k++]) {
        bool is_taken = k == records->label_at;
        for (size_t c = 0; c < records->column_count; c++)
            is_taken = is_taken || k == records->column_at[c];
        if (is_taken)
            continue;
        const skn_span_t name = skn_span_trimmed(
            (skn_span_t){ names->bytes + from, names->end[k] - from });
        const char *comma = converted->left_out_columns++ ? ", " : "";
        if (used + name.bytes + sizeof(", , ...") <= room)
            used += (size_t)snprintf(converted->left_out + used, room - used,
                                     "%s%.*s", comma, (int)name.bytes, name.at);
        else if (used < room)
            used += (size_t)snprintf(converted->left_out + used, room - used,
                                     "%s...", comma) +
                    room;
    }
}

/* Takes a row, or what is wrong with it. */
static skn_status_t
take(skn_records_writer_t *writer, const skn_convert_options_t *options,
     const skn_records_row_t *row, const skn_error_t *refusal,
     skn_converted_t *converted, skn_error_t *error)
{
    if (!refusal) {
        converted->rows++;
        skn_records_write(writer, row);
        return SKN_OK;
    }
    converted->bad_rows++;
    if (options->refused)
        options->refused(options->listener, refusal);
    if (options->strict && error)
        *error = *refusal;
    return options->strict ? SKN_BAD_DATA : SKN_OK;
}

static skn_status_t
copy_rows(skn_records_t *records, skn_records_writer_t *writer,
          const skn_convert_options_t *options, skn_converted_t *converted,
          skn_error_t *error)
{
    skn_records_kind_t kind = SKN_RECORDS_ROW;
    skn_records_row_t row;
    const skn_error_t *refusal;
    skn_status_t status = SKN_OK;
    skn_records_write_head(writer);
    while (status == SKN_OK) {
        status = skn_records_next(records, true, &kind, &row, &refusal, error);
        if (status != SKN_OK || kind == SKN_RECORDS_END)
            break;
        status = take(writer, options, &row, refusal, converted, error);
    }
    converted->changed_labels = writer->changed;
    converted->changed_texts = writer->changed_texts;
    return status;
}

/* Writes the rows to the file. */
static skn_status_t
write_rows(skn_records_t *records, const char *out,
           skn_records_writer_t *writer, const skn_convert_options_t *options,
           skn_converted_t *converted, skn_error_t *error)
{
    skn_sink_t *sink = skn_sink_open(out, error);
    if (!sink)
        return error->status;
    writer->file = skn_sink_file(sink);
    skn_status_t status = copy_rows(records, writer, options, converted, error);
    if (status == SKN_OK)
        return skn_sink_finish(&sink, error);
    skn_sink_drop(&sink);
    return status;
}

/* Writes numbered features. */
static skn_status_t
convert_to_points(const char *in, const char *out, const target_t *target,
                  bool is_strict, skn_records_options_t *how,
                  skn_converted_t *converted, skn_error_t *error)
{
    bool again;
    if (can_be_reread(in, &again, error) != SKN_OK)
        return error->status;
    if (!again)
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "%s: is read twice to number words, so it must be a file",
                     skn_stream_name_shown(in)),
            "write it to a file first");
    if (how->format == SKN_RECORDS_AUTO &&
        skn_records_recognise(in, how, &how->format, error) != SKN_OK)
        return error->status;
    converted->from = skn_records_names[how->format];
    converted->to = target->name;
    if (how->format != SKN_RECORDS_POINTS) {
        skn_records_t *records = skn_records_open(in, how, error);
        if (!records)
            return error->status;
        note_left_out(records, converted);
        skn_records_close(&records);
    }
    return skn_convert_to_points(in, out, how, target->has_header, is_strict,
                                 converted, error);
}

/* Writes rows in another format of them. */
static skn_status_t
convert_to_rows(const char *in, const char *out, const target_t *target,
                const skn_convert_options_t *options,
                skn_records_options_t *how, skn_converted_t *converted,
                skn_error_t *error)
{
    skn_records_writer_t writer = { .format = target->format };
    if (how->format == SKN_RECORDS_POINTS)
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "%s: has numbered features, which are no texts",
                     skn_stream_name_shown(in)),
            "write .svm or .xmc");
    skn_records_t *records = skn_records_open(in, how, error);
    if (!records)
        return error->status;
    skn_records_format_t from = skn_records_format(records);
    bool is_column = from == SKN_RECORDS_CSV || from == SKN_RECORDS_TSV;
    note_left_out(records, converted);
    writer.column = records->column;
    writer.label_column = records->label_column;
    writer.text_count = from == SKN_RECORDS_FASTTEXT ? 1 : records->text_count;
    writer.separator =
        how->label_separator[0] || is_column ? how->label_separator : SEPARATOR;
    converted->from = skn_records_names[from];
    converted->to = target->name;
    skn_status_t status =
        write_rows(records, out, &writer, options, converted, error);
    skn_records_close(&records);
    return status;
}

static skn_status_t
convert(const char *in, const char *out, const skn_convert_options_t *options,
        skn_records_options_t *how, skn_converted_t *converted,
        skn_error_t *error)
{
    const target_t *target;
    skn_status_t status = find_target(options->to, out, &target, error);
    if (status == SKN_OK)
        status = find_separator(in, options, how, error);
    if (status != SKN_OK)
        return status;
    return target->format == SKN_RECORDS_POINTS
               ? convert_to_points(in, out, target, options->strict, how,
                                   converted, error)
               : convert_to_rows(in, out, target, options, how, converted,
                                 error);
}

skn_status_t
skn_rows_convert(const char *in, const char *out,
                 const skn_convert_options_t *options,
                 skn_converted_t *converted, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!in || !out || !options || !converted)
        return skn_fail(error, SKN_USAGE,
                        "a path, the options or the counts of a conversion "
                        "are NULL");
    const uint32_t bytes = converted->struct_bytes;
    skn_status_t status =
        skn_abi_check("skn_convert_options_t", options->struct_bytes,
                      sizeof(*options), "SKN_ZERO", error);
    if (status == SKN_OK)
        status =
            skn_abi_check_grown("the counts of a conversion", bytes,
                                CONVERTED_BYTES_MIN, sizeof(*converted), error);
    if (status != SKN_OK)
        return status;
    skn_converted_t whole = { .struct_bytes = bytes, .from = "", .to = "" };
    skn_records_options_t how = { .text_columns = options->text_columns,
                                  .label_column = options->label_column };
    status = find_format(options->format, &how.format, error);
    if (status == SKN_OK)
        status = convert(in, out, options, &how, &whole, error);
    memcpy(converted, &whole, bytes);
    return status;
}
