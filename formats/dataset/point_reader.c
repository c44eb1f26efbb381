/* point_reader.c - reads points from lines of text, as many at once as have
 * come.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/source/lines.h"
#include "formats/text/abi.h"
#include "formats/dataset/text_reader.h"
#include "formats/dataset/xmc.h"
#include "skein/points.h"

#define READER_OPTIONS_MIN                                                     \
    (offsetof(skn_point_reader_options_t, strict) + sizeof(bool))

/* One growing array of numbers of 4 bytes. */
typedef struct numbers {
    void *at;
    size_t room;
} numbers_t;

/* Rows of texts, which a vocabulary makes points of. */
typedef struct texts {
    skn_records_t *records;
    const skn_vocabulary_t *vocabulary;
    skn_preprocessing_t preprocessing;
    json_t *preprocessing_owner;
    skn_feature_row_t row;
} texts_t;

struct skn_point_reader {
    skn_lines_t *lines; /* of points; or */
    texts_t texts;
    char *name; /* of a text in memory */
    skn_point_reader_options_t options;
    bool begun;         /* a point, or the header, has been read */
    bool label_doubted; /* and the warning was given, once */
    skn_xmc_point_t point;
    skn_read_t read;
    skn_error_t refusal, warning, failure;
    uint64_t lines_before; /* of the files before */
    uint64_t row_count;    /* rows of texts that were read */
    skn_read_kind_t held;  /* to be returned after the points before it */
    uint64_t held_line;
    uint64_t line[SKN_READ_POINTS_MAX];
    size_t offset[SKN_READ_POINTS_MAX + 1];
    size_t label_offset[SKN_READ_POINTS_MAX + 1];
    numbers_t feature, value, label;
};

/* --- open and close ------------------------------------------------------ */

static skn_point_reader_t *
make(const skn_point_reader_options_t *options, skn_error_t *error)
{
    if (options && skn_abi_check_grown(
                       "the reader's options", options->struct_bytes,
                       READER_OPTIONS_MIN, sizeof(*options), error) != SKN_OK)
        return NULL;
    skn_point_reader_t *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a reader");
        return NULL;
    }
    if (options)
        memcpy(&reader->options, options, options->struct_bytes);
    skn_xmc_point_init(&reader->point);
    return reader;
}

skn_point_reader_t *
skn_point_reader_open(const char *path,
                      const skn_point_reader_options_t *options,
                      skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_point_reader_t *reader = make(options, error);
    if (!reader)
        return NULL;
    reader->lines = skn_lines_open(path, error);
    if (!reader->lines)
        skn_point_reader_close(&reader);
    return reader;
}

skn_point_reader_t *
skn_point_reader_open_text(const char *text, size_t text_bytes,
                           const char *name,
                           const skn_point_reader_options_t *options,
                           skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!text && text_bytes > 0) {
        (void)skn_fail(error, SKN_USAGE, "the text of the points is NULL");
        return NULL;
    }
    skn_point_reader_t *reader = make(options, error);
    if (!reader)
        return NULL;
    reader->name = strdup(name ? name : "text");
    if (reader->name)
        reader->lines =
            skn_lines_open_text(text, text_bytes, reader->name, false, error);
    else
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a reader");
    if (!reader->lines)
        skn_point_reader_close(&reader);
    return reader;
}

void
skn_point_reader_close(skn_point_reader_t **reader)
{
    skn_point_reader_t *own = reader ? *reader : NULL;
    if (!own)
        return;
    *reader = NULL;
    skn_lines_close(&own->lines);
    skn_records_close(&own->texts.records);
    json_decref(own->texts.preprocessing_owner);
    skn_feature_row_fini(&own->texts.row);
    skn_xmc_point_fini(&own->point);
    free(own->feature.at);
    free(own->value.at);
    free(own->label.at);
    free(own->name);
    free(own);
}

/* --- open rows of texts -------------------------------------------------- */

static skn_status_t
open_records(skn_point_reader_t *reader, const skn_text_source_t *source,
             skn_error_t *error)
{
    texts_t *texts = &reader->texts;
    skn_status_t status =
        skn_preprocessing_read(source->preprocessing, &texts->preprocessing,
                               &texts->preprocessing_owner, error);
    if (status != SKN_OK)
        return status;
    skn_records_options_t rows = skn_preprocessing_rows(&texts->preprocessing);
    skn_preprocessing_any_format(&rows, true);
    texts->vocabulary = source->vocabulary;
    texts->records = skn_records_open(source->path, &rows, error);
    return texts->records ? SKN_OK : error->status;
}

skn_point_reader_t *
skn_point_reader_open_rows(const skn_text_source_t *source,
                           const skn_point_reader_options_t *options,
                           skn_error_t *error)
{
    skn_point_reader_t *reader = make(options, error);
    if (!reader)
        return NULL;
    reader->name = strdup(source->path);
    skn_status_t status =
        reader->name ? open_records(reader, source, error)
                     : skn_fail(error, SKN_NO_MEMORY, "no memory for a reader");
    if (status != SKN_OK)
        skn_point_reader_close(&reader);
    return reader;
}

/* --- points -------------------------------------------------------------- */

/* Appends `count` numbers after the `used` first ones. */
static bool
append(numbers_t *numbers, size_t used, const void *more, size_t count)
{
    if (used + count > numbers->room) {
        size_t room = 2 * (used + count);
        void *grown = realloc(numbers->at, room * sizeof(uint32_t));
        if (!grown)
            return false;
        numbers->at = grown;
        numbers->room = room;
    }
    if (count > 0)
        memcpy((uint32_t *)numbers->at + used, more, count * sizeof(uint32_t));
    return true;
}

static skn_status_t
keep_point(skn_point_reader_t *reader, const skn_xmc_point_t *point,
           uint64_t line, skn_error_t *error)
{
    size_t i = reader->read.points.count;
    size_t first = reader->offset[i], label_first = reader->label_offset[i];
    if (!append(&reader->feature, first, point->feature,
                point->feature_count) ||
        !append(&reader->value, first, point->value, point->feature_count) ||
        !append(&reader->label, label_first, point->label, point->label_count))
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu features",
                        first + point->feature_count);
    reader->line[i] = line;
    reader->offset[i + 1] = first + point->feature_count;
    reader->label_offset[i + 1] = label_first + point->label_count;
    reader->read.points.count = i + 1;
    return SKN_OK;
}

static void
count_unknown(skn_point_reader_t *reader, const skn_xmc_line_t *line)
{
    const skn_xmc_point_t *point = &reader->point;
    skn_read_t *read = &reader->read;
    if (point->unknown_features == 0)
        return;
    if (read->unknown_points++ == 0) {
        read->unknown_line = line->number;
        read->unknown_column = point->unknown_column;
    }
    read->unknown_features += point->unknown_features;
}

/* --- likely mistakes ----------------------------------------------------- */

/* Warns about a first line of three whole numbers, which gets no answer, if
 * these are not the sizes of the model: it may have been meant as a point, and
 * its sender would wait for an answer. */
static void
doubt_header(skn_point_reader_t *reader, const skn_xmc_line_t *line)
{
    const skn_point_reader_options_t *options = &reader->options;
    char sizes[48];
    size_t bytes = line->bytes;
    while (bytes > 0 &&
           (line->text[bytes - 1] < '0' || line->text[bytes - 1] > '9'))
        bytes--;
    (void)snprintf(sizes, sizeof(sizes), " %u %u", options->feature_count,
                   options->label_count);
    size_t sizes_bytes = strlen(sizes);
    if (options->feature_count == 0 ||
        (bytes > sizes_bytes &&
         memcmp(line->text + bytes - sizes_bytes, sizes, sizes_bytes) == 0))
        return;
    reader->read.warning = &reader->warning;
    (void)skn_fail(&reader->warning, SKN_OK,
                   "%s:%" PRIu64 ":1: three whole numbers count as the header "
                   "of a data file, and get no answer",
                   skn_stream_name_shown(line->file), line->number);
    (void)skn_fail_hint(&reader->warning, SKN_OK,
                        "if they are features, begin the line with a space");
}

/* Warns, once, about a line of whole numbers, the first of which is a label in
 * this format: it may have been meant as a feature, as the others are. */
static void
doubt_label(skn_point_reader_t *reader, const skn_xmc_line_t *line)
{
    const skn_xmc_point_t *point = &reader->point;
    if (reader->label_doubted || point->label_count != 1 ||
        (point->feature_count == 0 && point->unknown_features == 0) ||
        memchr(line->text, ':', line->bytes) ||
        memchr(line->text, ',', line->bytes))
        return;
    reader->label_doubted = true;
    reader->read.warning = &reader->warning;
    (void)skn_fail(&reader->warning, SKN_OK,
                   "%s:%" PRIu64 ":1: the first number of a line is a label, "
                   "which is ignored; only the others are features",
                   skn_stream_name_shown(line->file), line->number);
    (void)skn_fail_hint(&reader->warning, SKN_OK,
                        "if it is a feature, too, begin the line with a space");
}

/* --- lines --------------------------------------------------------------- */

static skn_status_t
read_point(skn_point_reader_t *reader, const skn_xmc_line_t *line,
           skn_error_t *error)
{
    skn_xmc_bounds_t bounds = {
        .expected_features = reader->options.feature_count,
        .expected_by = "the model",
        .labels_optional = true,
        .unknown_ignored = !reader->options.strict,
    };
    if (!line->text)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s:%" PRIu64
                        ":1: the line has %zu bytes, at most %u allowed",
                        skn_stream_name_shown(line->file), line->number,
                        line->bytes, SKN_LINE_BYTES_MAX);
    return skn_xmc_line_parse(line, &bounds, &reader->point, error);
}

/* Adds the point of the line, or holds what else it is. */
static skn_status_t
take_line(skn_point_reader_t *reader, skn_xmc_line_t *line, skn_error_t *error)
{
    if (line->number == 1 && line->text) {
        size_t mark = skn_xmc_mark_bytes(line->text, line->bytes);
        line->text += mark;
        line->bytes -= mark;
    }
    bool comment = line->text && skn_xmc_line_is_comment(line);
    bool first = !reader->begun;
    if (comment && first)
        return SKN_OK;
    reader->begun = true;
    reader->held_line = line->number;
    if (first && line->text && skn_xmc_line_is_header(line)) {
        doubt_header(reader, line);
        reader->held = SKN_READ_HEADER;
        return SKN_OK;
    }
    if (comment) {
        reader->held = SKN_READ_COMMENT;
        return SKN_OK;
    }
    skn_status_t status = read_point(reader, line, &reader->refusal);
    if (status == SKN_BAD_DATA) {
        reader->held = SKN_READ_REFUSED;
        return SKN_OK;
    }
    if (status != SKN_OK) {
        *error = reader->refusal;
        return status;
    }
    doubt_label(reader, line);
    count_unknown(reader, line);
    return keep_point(reader, &reader->point, line->number, error);
}

/* Reads lines until there are enough points, or no more for now, or a line that
 * is something else, or the end. */
static skn_status_t
read_lines(skn_point_reader_t *reader, skn_error_t *error)
{
    const size_t *count = &reader->read.points.count;
    while (!reader->held && *count < SKN_READ_POINTS_MAX) {
        const char *text = NULL;
        size_t bytes = 0;
        bool more = false;
        skn_status_t status = skn_lines_next(reader->lines, *count == 0, &text,
                                             &bytes, &more, error);
        if (status == SKN_OK && bytes == SIZE_MAX && *count == 0 && !more) {
            uint64_t number = skn_lines_number(reader->lines);
            status = skn_lines_next_file(reader->lines, &more, error);
            reader->lines_before += more ? number : 0;
            reader->begun = reader->begun && !more;
            if (status == SKN_OK && more)
                continue;
        }
        if (status != SKN_OK || bytes == SIZE_MAX)
            return status;
        skn_xmc_line_t line = { text, bytes, skn_lines_name(reader->lines),
                                skn_lines_number(reader->lines) };
        status = take_line(reader, &line, error);
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}

/* --- rows of texts -------------------------------------------------------- */

/* Adds the point of a row. Labels are not looked at. */
static skn_status_t
take_row(skn_point_reader_t *reader, const skn_records_row_t *record,
         skn_error_t *error)
{
    texts_t *texts = &reader->texts;
    const skn_feature_fields_t fields = skn_record_fields(record);
    skn_status_t status = skn_featurizer_apply(texts->vocabulary->featurizer,
                                               &fields, &texts->row, error);
    const skn_xmc_point_t point = { .feature = texts->row.feature,
                                    .value = texts->row.value,
                                    .feature_count = texts->row.count };
    return status == SKN_OK ? keep_point(reader, &point, record->line, error)
                            : status;
}

static skn_status_t
read_rows(skn_point_reader_t *reader, skn_error_t *error)
{
    const size_t *count = &reader->read.points.count;
    while (!reader->held && *count < SKN_READ_POINTS_MAX) {
        skn_records_kind_t kind;
        skn_records_row_t record;
        const skn_error_t *refusal;
        skn_status_t status =
            skn_records_next(reader->texts.records, *count == 0, &kind, &record,
                             &refusal, error);
        if (status != SKN_OK || kind == SKN_RECORDS_END ||
            kind == SKN_RECORDS_LATER)
            return status;
        reader->row_count++;
        if (kind == SKN_RECORDS_BAD) {
            reader->refusal = *refusal;
            reader->held = SKN_READ_REFUSED;
            reader->held_line = record.line;
        } else {
            status = take_row(reader, &record, error);
        }
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}

/* Describes the points that were read, or else the line that is held. */
static const skn_read_t *
describe(skn_point_reader_t *reader)
{
    skn_read_t *read = &reader->read;
    read->struct_bytes = sizeof(*read);
    read->kind = SKN_READ_POINTS;
    read->name = skn_stream_name_shown(skn_lines_name(
        reader->lines ? reader->lines
                      : skn_records_lines(reader->texts.records)));
    read->line_count =
        reader->lines ? reader->lines_before + skn_lines_number(reader->lines)
                      : reader->row_count;
    read->line = reader->line;
    read->points.offset = reader->offset;
    read->points.feature = reader->feature.at;
    read->points.value = reader->value.at;
    read->label_offset = reader->label_offset;
    read->label = reader->label.at;
    if (read->points.count > 0)
        return read;
    read->kind = reader->held; /* or the end */
    read->line = &reader->held_line;
    read->refusal = read->kind == SKN_READ_REFUSED ? &reader->refusal : NULL;
    reader->held = SKN_READ_END;
    return read;
}

const skn_read_t *
skn_point_reader_next(skn_point_reader_t *reader, skn_error_t *error)
{
    if (!reader) {
        (void)skn_fail(error, SKN_USAGE, "the reader of points is NULL");
        return NULL;
    }
    reader->read.points.count = 0;
    reader->read.warning = NULL;
    reader->read.refusal = NULL;
    if (!reader->held && reader->failure.status == SKN_OK)
        (void)(reader->lines ? read_lines(reader, &reader->failure)
                             : read_rows(reader, &reader->failure));
    if (reader->failure.status == SKN_OK || reader->held ||
        reader->read.points.count > 0)
        return describe(reader);
    if (error)
        *error = reader->failure;
    return NULL;
}
