/* records_csv.c - rows of CSV and TSV (RFC 4180), with columns by name.
 *
 * Rows are cut as by Python's csv, which takes what RFC 4180 forbids: a
 * quotation mark that does not begin a field is a character, and behind a
 * closing one the field continues without. Blanks before an opening one are
 * left out. A row ends with LF, CRLF or CR; a line end within quotation marks
 * is an LF. The separator is the one of ',', ';', '|' and tab that the first
 * row has most often outside of quotation marks, a tab for tsv.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "formats/records/records_internal.h"
#include "formats/source/stream.h"
#include "formats/text/text.h"
#include "skein/limits.h"

/* --- the separator -------------------------------------------------------- */

static size_t
count_outside_quotes(skn_span_t line, char separator)
{
    size_t count = 0;
    bool inside = false;
    for (size_t k = 0; k < line.bytes; k++) {
        if (line.at[k] == '"')
            inside = !inside;
        if (!inside && line.at[k] == '\r')
            break;
        count += !inside && line.at[k] == separator;
    }
    return count;
}

static char
separator_of(skn_span_t line)
{
    const char *candidates = ",;|\t";
    char best = ',';
    size_t most = 0;
    for (const char *at = candidates; *at; at++) {
        size_t count = count_outside_quotes(line, *at);
        if (count > most) {
            most = count;
            best = *at;
        }
    }
    return best;
}

/* --- fields --------------------------------------------------------------- */

static skn_span_t
field(const skn_csv_row_t *row, size_t k)
{
    size_t from = k == 0 ? 0 : row->end[k - 1];
    return (skn_span_t){ row->bytes + from, row->end[k] - from };
}

static size_t
field_start(const skn_csv_row_t *row)
{
    return row->field_count == 0 ? 0 : row->end[row->field_count - 1];
}

/* False: no memory. */
static bool
end_field(skn_csv_row_t *row)
{
    void *end = row->end;
    if (!skn_grow(&end, &row->end_room, row->field_count + 1,
                  sizeof(*row->end)))
        return false;
    row->end = end;
    row->end[row->field_count++] = row->byte_count;
    row->state = SKN_CSV_BEGIN;
    return true;
}

/* Takes a byte of a field, which is not its end. */
static void
take_byte(skn_csv_row_t *row, char byte)
{
    const skn_csv_state_t state = row->state;
    bool is_mark = byte == '"';
    if (is_mark && state == SKN_CSV_BEGIN)
        row->byte_count = field_start(row);
    if (is_mark && (state == SKN_CSV_BEGIN || state == SKN_CSV_MARK))
        row->state = SKN_CSV_QUOTED;
    else if (is_mark && state == SKN_CSV_QUOTED)
        row->state = SKN_CSV_MARK;
    else if (state == SKN_CSV_MARK ||
             (state == SKN_CSV_BEGIN && !skn_is_blank(byte)))
        row->state = SKN_CSV_PLAIN;
    if (!is_mark || state == SKN_CSV_MARK || state == SKN_CSV_PLAIN)
        row->bytes[row->byte_count++] = byte;
}

/* Takes what a field has up to the next byte that can end it or mean something
 * in its state; returns how many bytes that are. */
static size_t
take_run(skn_csv_row_t *row, const char *at, size_t bytes)
{
    size_t run = 0;
    if (row->state == SKN_CSV_QUOTED) {
        const char *mark = memchr(at, '"', bytes);
        run = mark ? (size_t)(mark - at) : bytes;
    } else if (row->state == SKN_CSV_PLAIN) {
        while (run < bytes && at[run] != row->separator && at[run] != '\r')
            run++;
    }
    memcpy(row->bytes + row->byte_count, at, run);
    row->byte_count += run;
    return run;
}

/* Takes a line, or as much of it as the row has; *used are its bytes. False: no
 * memory. */
static bool
cut(skn_csv_row_t *row, skn_span_t line, size_t *used)
{
    void *bytes = row->bytes;
    bool good =
        skn_grow(&bytes, &row->byte_room, row->byte_count + line.bytes + 1, 1);
    row->bytes = bytes;
    for (*used = 0; good && *used < line.bytes;) {
        *used += take_run(row, line.at + *used, line.bytes - *used);
        if (*used == line.bytes)
            break;
        char byte = line.at[(*used)++];
        bool ends = byte == row->separator || byte == '\r';
        if (row->state == SKN_CSV_QUOTED || !ends) {
            take_byte(row, byte);
            continue;
        }
        good = end_field(row);
        if (byte != '\r')
            continue;
        row->is_open = false;
        return good;
    }
    row->is_open = row->state == SKN_CSV_QUOTED;
    if (!row->is_open)
        return good && end_field(row);
    row->bytes[row->byte_count++] = '\n';
    return good;
}

/* The line without its first `used` bytes is read next, unless it is empty. */
static void
keep_rest(skn_records_t *records, skn_span_t line, size_t used)
{
    records->has_first = used < line.bytes;
    records->first = (skn_span_t){ line.at + used, line.bytes - used };
}

/* A quotation mark that is never closed would take the rest of the file. The
 * row of names has no line of its own yet. */
static skn_status_t
refuse_long(skn_records_t *records, bool *complete, skn_error_t *error)
{
    records->csv.is_open = false;
    *complete = true;
    return skn_fail(error, SKN_BAD_DATA,
                    "%s:%" PRIu64 ": the row has more than %u bytes; is a "
                    "quotation mark not closed?",
                    skn_stream_name_shown(records->name),
                    records->line ? records->line : 1, SKN_LINE_BYTES_MAX);
}

/* Takes a line of a row. What follows a CR is the next line. */
static skn_status_t
feed(skn_records_t *records, skn_span_t line, bool *complete,
     skn_error_t *error)
{
    skn_csv_row_t *row = &records->csv;
    size_t used;
    if (!row->is_open) {
        row->byte_count = row->field_count = 0;
        row->state = SKN_CSV_BEGIN;
    }
    if (!cut(row, line, &used))
        return skn_records_no_memory(records, error);
    *complete = !row->is_open;
    keep_rest(records, line, used);
    return row->is_open && row->byte_count > SKN_LINE_BYTES_MAX
               ? refuse_long(records, complete, error)
               : SKN_OK;
}

/* --- columns -------------------------------------------------------------- */

static size_t
find_column(const skn_records_t *records, skn_span_t name)
{
    for (size_t k = 0; k < records->csv.field_count; k++)
        if (skn_span_equal(skn_span_trimmed(field(&records->csv, k)), name))
            return k;
    return SIZE_MAX;
}

/* Whether two names differ in the case of ASCII letters, if at all; long ones
 * have no room in a sentence. */
static bool
is_same_word(skn_span_t one, skn_span_t other)
{
    size_t k = 0;
    while (k < one.bytes && k < other.bytes &&
           skn_text_lower(one.at[k]) == skn_text_lower(other.at[k]))
        k++;
    return k == one.bytes && k == other.bytes && k <= SKN_NAME_MAX;
}

/* Names the columns that there are, as many as a sentence has room for, and the
 * one that is meant, if only its case differs. */
static skn_status_t
refuse_column(const skn_records_t *records, skn_span_t name, const char *key,
              skn_error_t *error)
{
    char list[200], meant[SKN_NAME_MAX + 20] = "";
    size_t at = 0;
    for (size_t k = 0; k < records->csv.field_count; k++) {
        skn_span_t other = skn_span_trimmed(field(&records->csv, k));
        if (is_same_word(other, name))
            (void)snprintf(meant, sizeof(meant), "did you mean '%.*s'? ",
                           (int)other.bytes, other.at);
    }
    for (size_t k = 0; k < records->csv.field_count && at < sizeof(list); k++)
        at = skn_columns_list(list, sizeof(list), at, k,
                              field(&records->csv, k));
    (void)skn_fail(error, SKN_BAD_DATA, "%s:1: no column is named '%.*s'",
                   skn_stream_name_shown(records->name), (int)name.bytes,
                   name.at);
    return skn_fail_hint(
        error, SKN_BAD_DATA, "%sset %s; there %s %s", meant, key,
        records->csv.field_count == 1 ? "is one column:" : "are", list);
}

static skn_status_t
refuse_twice(const skn_records_t *records, skn_span_t name, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_DATA, "%s:1: two columns are named '%.*s'",
                    skn_stream_name_shown(records->name), (int)name.bytes,
                    name.at);
}

/* Finds a column that is asked for; it is there once. */
static skn_status_t
take_column(const skn_records_t *records, skn_span_t name, const char *key,
            size_t *at, skn_error_t *error)
{
    *at = find_column(records, name);
    if (*at == SIZE_MAX)
        return refuse_column(records, name, key, error);
    for (size_t k = *at + 1; k < records->csv.field_count; k++)
        if (skn_span_equal(skn_span_trimmed(field(&records->csv, k)), name))
            return refuse_twice(records, name, error);
    return SKN_OK;
}

/* Finds all columns but that of labels. */
static skn_status_t
take_columns(skn_records_t *records, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    size_t missing = 0;
    for (size_t k = 0; status == SKN_OK && k < records->column_count; k++) {
        const skn_span_t name = records->column[k];
        const bool may_lack =
            records->may_lack_any || (k == 0 && records->may_lack_text);
        const char *key = k < records->text_count    ? "data.text_column"
                          : k < records->number_from ? "data.category_columns"
                                                     : "data.number_columns";
        records->column_at[k] = SIZE_MAX;
        if (may_lack && find_column(records, name) == SIZE_MAX)
            missing++;
        else
            status =
                take_column(records, name, key, &records->column_at[k], error);
    }
    return status == SKN_OK && missing == records->column_count
               ? refuse_column(records, records->column[0], "data.text_column",
                               error)
               : status;
}

static skn_status_t
begin(skn_records_t *records, skn_span_t line, bool *more, skn_error_t *error)
{
    bool complete;
    if (!records->csv.is_open)
        records->csv.separator = records->options.format == SKN_RECORDS_TSV
                                     ? '\t'
                                     : separator_of(line);
    skn_status_t status = feed(records, line, &complete, error);
    *more = status == SKN_OK && !complete;
    if (status != SKN_OK || !complete)
        return status;
    records->field_count = records->csv.field_count;
    status = take_columns(records, error);
    if (status != SKN_OK)
        return status;
    if (records->options.labels_optional &&
        find_column(records, records->label_column) == SIZE_MAX) {
        records->label_at = SIZE_MAX;
        return SKN_OK;
    }
    return take_column(records, records->label_column, "data.label_column",
                       &records->label_at, error);
}

/* --- rows ----------------------------------------------------------------- */

/* A row of several lines may have taken rows that are good. */
static skn_status_t
refuse_columns(const skn_records_t *records, skn_error_t *error)
{
    uint64_t last = skn_lines_number(records->lines);
    char lines[64] = "";
    if (last > records->line)
        (void)snprintf(lines, sizeof(lines),
                       ", which ends in line %" PRIu64 ",", last);
    return skn_fail(error, SKN_BAD_DATA,
                    "%s:%" PRIu64 ": the row%s has %zu columns, the first one "
                    "%zu",
                    skn_stream_name_shown(records->name), records->line, lines,
                    records->csv.field_count, records->field_count);
}

/* Whether the line is empty, or has an empty one of *used bytes before a CR. A
 * line of tabs is a row of tsv. */
static bool
is_empty(skn_span_t line, size_t *used)
{
    for (*used = 0; *used < line.bytes; (*used)++)
        if (line.at[*used] != ' ')
            return line.at[(*used)++] == '\r';
    return true;
}

static skn_status_t
read_line(skn_records_t *records, skn_span_t line, bool *complete,
          skn_error_t *error)
{
    skn_csv_row_t *row = &records->csv;
    size_t used;
    if (!row->is_open && is_empty(line, &used)) {
        keep_rest(records, line, used);
        records->line = 0;
        return SKN_OK;
    }
    skn_status_t status = feed(records, line, complete, error);
    if (status != SKN_OK || !*complete)
        return status;
    if (row->field_count != records->field_count)
        return refuse_columns(records, error);
    bool good = true;
    for (size_t k = 0; good && k < records->column_count; k++) {
        const size_t at = records->column_at[k];
        const skn_span_t none = { "", 0 };
        good = skn_span_list_add(&records->texts,
                                 at == SIZE_MAX ? none : field(row, at));
    }
    if (good && records->label_at != SIZE_MAX)
        good = skn_records_add_labels(records, field(row, records->label_at));
    return good ? SKN_OK : skn_records_no_memory(records, error);
}

/* Whether the line has the name, with a separator or quotation mark, or the end
 * of the line, on either side. */
static bool
has_name(skn_span_t line, char separator, skn_span_t name)
{
    const char *at = line.at, *end = line.at + line.bytes;
    while ((at = memmem(at, (size_t)(end - at), name.at, name.bytes))) {
        const char *behind = at + name.bytes;
        if ((at == line.at || at[-1] == separator || at[-1] == '"') &&
            (behind == end || *behind == separator || *behind == '"' ||
             *behind == '\r'))
            return true;
        at++;
    }
    return false;
}

/* Whether the line has the first column, or any, where one suffices. */
static bool
has_any_name(const skn_records_t *records, skn_span_t line, char separator)
{
    bool has = has_name(line, separator, records->column[0]);
    if (records->column_count > records->text_count)
        for (size_t k = 1; k < records->column_count && !has; k++)
            has = has_name(line, separator, records->column[k]);
    return has;
}

/* A row of names. */
static bool
looks(const skn_records_t *records, skn_span_t line)
{
    char separator = separator_of(line);
    if (records->options.otherwise != SKN_RECORDS_AUTO)
        return has_any_name(records, line, separator);
    if (count_outside_quotes(line, separator) == 0 &&
        !skn_span_equal(line, records->column[0]))
        return false;
    for (size_t k = 0; k < line.bytes; k++)
        if ((line.at[k] >= 'a' && line.at[k] <= 'z') ||
            (line.at[k] >= 'A' && line.at[k] <= 'Z') ||
            (unsigned char)line.at[k] >= 0x80)
            return true;
    return false;
}

const skn_records_reader_t skn_records_csv = { .looks = looks,
                                               .begin = begin,
                                               .line = read_line };
