/* xmc.c - reads points from files in the Extreme Classification format.
 *
 * This file owns: the headers, the count of points. Incremental: the caller can
 * do other work between two points. Not here: the contents of a line
 * (xmc_line.c), lines and unpacking (formats/source). Format: The
 * Extreme Classification Repository (Bhatia et al. 2016).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/xmc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/xmc_odd.h"
#include "formats/source/files.h"

struct skn_xmc_reader {
    skn_lines_t *lines;
    char *name; /* of a text in memory */
    skn_xmc_bounds_t bounds;
    uint64_t header_points;    /* of the file that is read, as: */
    uint64_t file_points;      /* its points so far */
    uint64_t point_count;      /* those of all files */
    skn_xmc_bounds_t greatest; /* the greatest sizes of a header */
    uint64_t empty_count; /* empty lines that may still turn out to be points */
    bool line_held;       /* `line` follows them and was not parsed yet */
    skn_xmc_watch_t watch; /* its peaks are the sizes */
    skn_xmc_unknown_t unknown;
    skn_xmc_unread_t unread;
    skn_xmc_unread_t bad;  /* lines that were left out */
    skn_error_t first_bad; /* its sentence */
    skn_xmc_line_t line;
};

/* Points reader->line to the next line of the file; *more is false at its end.
 * The text stays in place until the next call. */
static skn_status_t
line_next(skn_xmc_reader_t *reader, bool *more, skn_error_t *error)
{
    bool later;
    skn_xmc_line_t *line = &reader->line;
    skn_status_t status = skn_lines_next(reader->lines, true, &line->text,
                                         &line->bytes, &later, error);
    *more = status == SKN_OK && line->bytes != SIZE_MAX;
    line->file = skn_lines_name(reader->lines);
    line->number = skn_lines_number(reader->lines);
    return status;
}

static skn_status_t
refuse_long(const skn_xmc_reader_t *reader, skn_error_t *error)
{
    return skn_fail_hint(error,
                         skn_fail(error, SKN_BAD_DATA,
                                  "%s:%" PRIu64
                                  ":1: the line is longer than %u bytes",
                                  skn_stream_name_shown(reader->line.file),
                                  reader->line.number, SKN_LINE_BYTES_MAX),
                         "is it a text file?");
}

/* --- the header --------------------------------------------------------- */

/* Whether the line is exactly three whole numbers, and maybe a comment. A
 * number that does not fit becomes UINT64_MAX. */
static bool
header_read(const skn_xmc_line_t *line, uint64_t number[3], size_t column[3])
{
    const char *at = line->text, *end = at + line->bytes;
    for (int k = 0; k < 3; k++) {
        while (k > 0 && at < end && (*at == ' ' || *at == '\t'))
            at++;
        const char *start = at;
        uint64_t read = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            read = read > UINT64_MAX / 100 ? UINT64_MAX
                                           : read * 10 + (uint64_t)(*at - '0');
        bool at_end = at == end || *at == ' ' || *at == '\t';
        if (at == start || !at_end)
            return false;
        number[k] = read;
        column[k] = (size_t)(start - line->text) + 1;
    }
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at == end || *at == '#';
}

bool
skn_xmc_line_is_header(const skn_xmc_line_t *line)
{
    uint64_t number[3];
    size_t column[3];
    return header_read(line, number, column);
}

bool
skn_xmc_line_is_comment(const skn_xmc_line_t *line)
{
    const char *at = line->text, *end = at + line->bytes;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at < end && *at == '#';
}

size_t
skn_xmc_mark_bytes(const char *text, size_t bytes)
{
    return bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Takes the held first line as the header if it is one. */
static skn_status_t
header_take(skn_xmc_reader_t *reader, skn_error_t *error)
{
    static const char *const nouns[] = { "points", "features", "labels" };
    static const uint64_t most[] = { SKN_POINTS_MAX, SKN_UNIT_MAX,
                                     SKN_UNIT_MAX };
    uint64_t number[3];
    size_t column[3];
    if (!header_read(&reader->line, number, column))
        return SKN_OK;
    for (int k = 0; k < 3; k++)
        if (number[k] > most[k])
            return skn_fail(error, SKN_BAD_DATA,
                            "%s:%" PRIu64
                            ":%zu: the header says more than %" PRIu64
                            " %s, which is the maximum",
                            skn_stream_name_shown(reader->line.file),
                            reader->line.number, column[k], most[k], nouns[k]);
    reader->bounds.has_header = true;
    reader->header_points = number[0];
    reader->bounds.header_features = (uint32_t)number[1];
    reader->bounds.header_labels = (uint32_t)number[2];
    skn_xmc_bounds_t *greatest = &reader->greatest;
    greatest->has_header = true;
    if (greatest->header_features < number[1])
        greatest->header_features = (uint32_t)number[1];
    if (greatest->header_labels < number[2])
        greatest->header_labels = (uint32_t)number[2];
    reader->line_held = false;
    return SKN_OK;
}

/* Reads the first line that is not a comment, and decides whether it is a
 * header. */
static skn_status_t
first_line_read(skn_xmc_reader_t *reader, skn_error_t *error)
{
    bool more;
    skn_xmc_line_t *line = &reader->line;
    reader->bounds.has_header = false;
    reader->file_points = 0;
    do {
        skn_status_t status = line_next(reader, &more, error);
        if (status == SKN_OK && more && !line->text)
            status = refuse_long(reader, error);
        if (status != SKN_OK)
            return status;
        size_t mark = more && reader->line.number == 1
                          ? skn_xmc_mark_bytes(line->text, line->bytes)
                          : 0;
        line->text += mark;
        line->bytes -= mark;
    } while (more && skn_xmc_line_is_comment(line));
    if (!more)
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_BAD_DATA,
                     reader->line.number > 0 ? "%s: the file has no points"
                                             : "%s: the file is empty",
                     skn_stream_name_shown(reader->line.file)),
            "a line is label,label feature:value feature:value");
    reader->line_held = line->bytes > 0;
    reader->empty_count = line->bytes == 0;
    return header_take(reader, error);
}

/* --- open and close ----------------------------------------------------- */

/* Takes the lines. */
static skn_status_t
reader_open(skn_lines_t *lines, char *name, const skn_xmc_bounds_t *bounds,
            skn_xmc_reader_t **reader_out, skn_error_t *error)
{
    skn_xmc_reader_t *reader = lines ? calloc(1, sizeof(*reader)) : NULL;
    skn_status_t status = reader ? SKN_OK : SKN_NO_MEMORY;
    *reader_out = NULL;
    if (lines && !reader)
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it",
                       skn_stream_name_shown(skn_lines_name(lines)));
    if (!reader) {
        skn_lines_close(&lines);
        free(name);
        return status;
    }
    reader->lines = lines;
    reader->name = name;
    if (bounds)
        reader->bounds = *bounds;
    status = first_line_read(reader, error);
    if (status != SKN_OK)
        skn_xmc_close(&reader);
    *reader_out = reader;
    return status;
}

skn_status_t
skn_xmc_open(const char *path, const skn_xmc_bounds_t *bounds,
             skn_xmc_reader_t **reader, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_lines_t *lines = skn_lines_open(path, error);
    skn_status_t status = reader_open(lines, NULL, bounds, reader, error);
    return lines ? status : error->status;
}

skn_status_t
skn_xmc_open_memory(const char *name, const void *start, size_t bytes,
                    const skn_xmc_bounds_t *bounds, skn_xmc_reader_t **reader,
                    skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    char *copy = strdup(name);
    skn_lines_t *lines =
        copy ? skn_lines_open_text(start, bytes, copy, true, error) : NULL;
    if (!copy)
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it",
                       skn_stream_name_shown(name));
    skn_status_t status = reader_open(lines, copy, bounds, reader, error);
    return lines ? status : error->status;
}

void
skn_xmc_close(skn_xmc_reader_t **reader)
{
    skn_xmc_reader_t *closing = *reader;
    *reader = NULL;
    if (!closing)
        return;
    skn_lines_close(&closing->lines);
    free(closing->name);
    free(closing);
}

/* --- points ------------------------------------------------------------- */

static skn_status_t
refuse_points(const skn_xmc_reader_t *reader, skn_error_t *error)
{
    if (!reader->bounds.has_header)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s:%" PRIu64 ":1: more than %u points",
                        skn_stream_name_shown(reader->line.file),
                        reader->line.number, SKN_POINTS_MAX);
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s:%" PRIu64 ":1: the header says %" PRIu64 " point%s, but "
                   "here is one more",
                   skn_stream_name_shown(reader->line.file),
                   reader->line.number, reader->header_points,
                   reader->header_points == 1 ? "" : "s");
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "correct the header, or leave it out");
}

static skn_status_t
refuse_end(const skn_xmc_reader_t *reader, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s:1:1: the header says %" PRIu64 " points, but the file "
                   "ends after %" PRIu64,
                   skn_stream_name_shown(reader->line.file),
                   reader->header_points, reader->file_points);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "is the file truncated? if not, correct the header");
}

/* Checks at the end of the text that there are as many points as in the header,
 * or at least one. */
static skn_status_t
end_check(const skn_xmc_reader_t *reader, skn_error_t *error)
{
    if (reader->bounds.has_header &&
        reader->file_points < reader->header_points)
        return refuse_end(reader, error);
    if (!reader->bounds.has_header && reader->file_points == 0)
        return skn_fail(error, SKN_BAD_DATA, "%s: the file has no points",
                        skn_stream_name_shown(reader->line.file));
    return SKN_OK;
}

static void
unknown_add(skn_xmc_unknown_t *unknown, uint64_t place,
            const skn_xmc_point_t *point)
{
    if (unknown->points++ == 0) {
        unknown->line = place;
        unknown->column = point->unknown_column;
    }
    unknown->labels += point->unknown_labels;
    unknown->features += point->unknown_features;
    unknown->bare_points +=
        point->unknown_labels > 0 && point->label_count == 0;
}

/* The place of the line (skn_files_place). */
static uint64_t
place_of(const skn_xmc_reader_t *reader)
{
    return skn_files_place(skn_lines_file(reader->lines), reader->line.number);
}

/* Reads the held line as a question; label 0 means that it cannot be read. */
static skn_status_t
question_parse(skn_xmc_reader_t *reader, skn_xmc_point_t *point,
               skn_error_t *error)
{
    skn_error_t why = { 0 };
    skn_status_t status =
        skn_xmc_line_parse(&reader->line, &reader->bounds, point, &why);
    point->label_count = 0;
    if (status == SKN_BAD_DATA) {
        if (reader->unread.points++ == 0)
            reader->unread.line = place_of(reader);
        point->label[point->label_count++] = 0;
        return SKN_OK;
    }
    if (status != SKN_OK && error)
        *error = why;
    return status;
}

/* Goes on with the next file; *more is false if the last one has ended. */
static skn_status_t
file_next(skn_xmc_reader_t *reader, bool *more, skn_error_t *error)
{
    skn_status_t status = end_check(reader, error);
    if (status == SKN_OK)
        status = skn_lines_next_file(reader->lines, more, error);
    return status == SKN_OK && *more ? first_line_read(reader, error) : status;
}

/* Reads lines until one is held, is an empty one that the header counts, or
 * the text has ended (*more is false). */
static skn_status_t
line_hold(skn_xmc_reader_t *reader, bool *more, skn_error_t *error)
{
    *more = true;
    while (!reader->line_held) {
        skn_status_t status = line_next(reader, more, error);
        if (status == SKN_OK && !*more) {
            status = file_next(reader, more, error);
            if (status == SKN_OK && *more)
                continue;
        }
        if (status != SKN_OK || !*more)
            return status;
        if (reader->line.text && skn_xmc_line_is_comment(&reader->line))
            continue;
        reader->line_held = reader->line.bytes > 0;
        if (reader->line_held)
            break;
        reader->empty_count++;
        if (reader->bounds.has_header &&
            reader->file_points < reader->header_points)
            break;
    }
    return SKN_OK;
}

/* Whether one more point is more than there may be. */
static bool
is_beyond(const skn_xmc_reader_t *reader)
{
    return reader->point_count == SKN_POINTS_MAX ||
           (reader->bounds.has_header &&
            reader->file_points == reader->header_points);
}

/* Counts a line that cannot be read, and keeps the sentence of the first; or
 * refuses it. */
static skn_status_t
take_bad(skn_xmc_reader_t *reader, const skn_error_t *why, skn_error_t *error)
{
    if (!(reader->bounds.bad_rows > 0)) {
        if (error)
            *error = *why;
        return SKN_BAD_DATA;
    }
    if (reader->bad.points++ == 0) {
        reader->bad.line = place_of(reader);
        reader->first_bad = *why;
    }
    return SKN_OK;
}

/* Refuses the file if too many of its lines cannot be read. */
static skn_status_t
check_bad(const skn_xmc_reader_t *reader, skn_error_t *error)
{
    uint64_t bad = reader->bad.points, lines = reader->point_count + bad;
    double most = reader->bounds.bad_rows * (double)lines;
    if ((double)bad <= most)
        return SKN_OK;
    if (error)
        *error = reader->first_bad;
    return most < 1 ? SKN_BAD_DATA
                    : skn_fail_hint(error, SKN_BAD_DATA,
                                    "%" PRIu64 " of %" PRIu64
                                    " lines cannot be read, and data.bad_rows "
                                    "allows %.0f; correct them, or allow more",
                                    bad, lines, most);
}

/* Reads the held line; *is_bad: it is left out. */
static skn_status_t
line_parse(skn_xmc_reader_t *reader, skn_xmc_point_t *point, bool *is_bad,
           skn_error_t *error)
{
    skn_error_t why = { 0 };
    skn_status_t status =
        !reader->line.text ? refuse_long(reader, &why)
        : reader->bounds.questions
            ? question_parse(reader, point, &why)
            : skn_xmc_line_parse(&reader->line, &reader->bounds, point, &why);
    *is_bad = status == SKN_BAD_DATA;
    if (*is_bad)
        return take_bad(reader, &why, error);
    if (status != SKN_OK && error)
        *error = why;
    return status;
}

/* Takes the facts of a point that was read. */
static void
point_count(skn_xmc_reader_t *reader, const skn_xmc_point_t *point)
{
    skn_xmc_line_t line = reader->line;
    line.number = place_of(reader);
    skn_xmc_watch_point(&reader->watch, &line, point);
    if (point->unknown_labels > 0 || point->unknown_features > 0)
        unknown_add(&reader->unknown, line.number, point);
}

skn_status_t
skn_xmc_next(skn_xmc_reader_t *reader, skn_xmc_point_t *point, bool *more,
             skn_error_t *error)
{
    for (bool is_bad = true; is_bad;) {
        point->label_count = point->feature_count = 0;
        point->unknown_labels = point->unknown_features = 0;
        skn_status_t status = line_hold(reader, more, error);
        if (status == SKN_OK && !*more)
            return check_bad(reader, error);
        if (status == SKN_OK && is_beyond(reader))
            status = refuse_points(reader, error);
        if (status != SKN_OK)
            return status;
        reader->file_points++;
        if (reader->empty_count) {
            reader->empty_count--;
            break;
        }
        reader->line_held = false;
        status = line_parse(reader, point, &is_bad, error);
        if (status != SKN_OK)
            return status;
        if (!is_bad)
            point_count(reader, point);
    }
    reader->point_count++;
    return SKN_OK;
}

skn_xmc_sizes_t
skn_xmc_sizes(const skn_xmc_reader_t *reader)
{
    const skn_xmc_bounds_t *bounds = &reader->greatest;
    uint32_t features = reader->watch.feature.greatest;
    uint32_t labels = reader->watch.label.greatest;
    skn_xmc_sizes_t sizes = {
        .has_header = bounds->has_header,
        .point_count = reader->point_count,
        .feature_count = features,
        .label_count = labels,
        .feature_seen = features,
        .label_seen = labels,
        .unknown = reader->unknown,
        .unread = reader->unread,
        .bad = reader->bad,
        .bad_why = reader->first_bad.text,
    };
    if (bounds->header_features > features)
        sizes.feature_count = bounds->header_features;
    if (bounds->header_labels > labels)
        sizes.label_count = bounds->header_labels;
    return sizes;
}

skn_xmc_odd_t
skn_xmc_odd(const skn_xmc_reader_t *reader)
{
    if (reader->greatest.has_header || reader->bounds.questions)
        return (skn_xmc_odd_t){ .what = SKN_XMC_NOTHING_ODD };
    return skn_xmc_watch_end(&reader->watch, reader->point_count);
}

const skn_lines_t *
skn_xmc_lines(const skn_xmc_reader_t *reader)
{
    return reader->lines;
}
