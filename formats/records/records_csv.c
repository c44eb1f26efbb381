/* records_csv.c - rows of CSV and TSV (RFC 4180), with columns by name.
 *
 * libcsv cuts rows into fields; here is which of them are texts and labels. The
 * separator is the one of ',', ';', '|' and tab that the first row has most
 * often outside of quotation marks, a tab for tsv.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "formats/records/records_internal.h"
#include "formats/source/stream.h"
#include "skein/limits.h"

/* libcsv's own 128 bytes make a large field slow. */
#define FIELD_BLOCK_BYTES 65536u

/* --- the separator -------------------------------------------------------- */

static size_t
count_outside_quotes(skn_span_t line, char separator)
{
    size_t count = 0;
    bool inside = false;
    for (size_t k = 0; k < line.bytes; k++) {
        if (line.at[k] == '"')
            inside = !inside;
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

static void
take_field(void *field, size_t bytes, void *row_given)
{
    skn_csv_row_t *row = row_given;
    void *all = row->bytes, *end = row->end;
    if (row->no_memory)
        return;
    row->no_memory = !skn_records_grow(&all, &row->byte_room,
                                       row->byte_count + bytes + 1, 1) ||
                     !skn_records_grow(&end, &row->end_room,
                                       row->field_count + 1, sizeof(*row->end));
    row->bytes = all;
    row->end = end;
    if (row->no_memory)
        return;
    if (bytes > 0)
        memcpy(row->bytes + row->byte_count, field, bytes);
    row->byte_count += bytes;
    row->end[row->field_count++] = row->byte_count;
}

static void
take_row(int end, void *row_given)
{
    skn_csv_row_t *row = row_given;
    (void)end;
    row->is_complete = true;
}

static skn_span_t
field(const skn_csv_row_t *row, size_t k)
{
    size_t from = k == 0 ? 0 : row->end[k - 1];
    return (skn_span_t){ row->bytes + from, row->end[k] - from };
}

/* Begins a row, whatever was in progress. */
static skn_status_t
open_row(skn_records_t *records, char separator, skn_error_t *error)
{
    skn_csv_row_t *row = &records->csv;
    if (!row->is_open && csv_init(&row->parser, CSV_STRICT_FINI) != 0)
        return skn_records_no_memory(records, error);
    row->is_open = true;
    csv_set_delim(&row->parser, (unsigned char)separator);
    csv_set_blk_size(&row->parser, FIELD_BLOCK_BYTES);
    return SKN_OK;
}

/* Takes a line of a row. */
static skn_status_t
feed(skn_records_t *records, skn_span_t line, bool *complete,
     skn_error_t *error)
{
    skn_csv_row_t *row = &records->csv;
    if (row->is_complete)
        row->byte_count = row->field_count = 0;
    row->is_complete = row->no_memory = false;
    size_t taken =
        csv_parse(&row->parser, line.at, line.bytes, take_field, take_row, row);
    if (taken == line.bytes)
        taken += csv_parse(&row->parser, "\n", 1, take_field, take_row, row);
    if (taken != line.bytes + 1 || row->no_memory)
        return skn_records_no_memory(records, error);
    /* libcsv skips an empty line. */
    *complete = row->is_complete;
    return SKN_OK;
}

/* --- columns -------------------------------------------------------------- */

static size_t
find_column(const skn_records_t *records, skn_span_t name)
{
    for (size_t k = 0; k < records->csv.field_count; k++)
        if (skn_span_equal(field(&records->csv, k), name))
            return k;
    return SIZE_MAX;
}

/* Names the columns that there are, as many as a sentence has room for. */
static skn_status_t
refuse_column(const skn_records_t *records, skn_span_t name, const char *key,
              skn_error_t *error)
{
    char list[200];
    size_t at = 0;
    for (size_t k = 0; k < records->csv.field_count; k++) {
        skn_span_t other = field(&records->csv, k);
        if (at + other.bytes + 8 > sizeof(list)) {
            (void)snprintf(list + at, sizeof(list) - at, ", ...");
            break;
        }
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%.*s",
                               k ? ", " : "", (int)other.bytes, other.at);
    }
    (void)skn_fail(error, SKN_BAD_DATA, "%s:1: no column is named '%.*s'",
                   skn_stream_name_shown(records->name), (int)name.bytes,
                   name.at);
    return skn_fail_hint(
        error, SKN_BAD_DATA, "set %s; there %s %s", key,
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
        if (skn_span_equal(field(&records->csv, k), name))
            return refuse_twice(records, name, error);
    return SKN_OK;
}

static skn_status_t
begin(skn_records_t *records, skn_span_t line, bool *more, skn_error_t *error)
{
    bool complete;
    skn_status_t status = SKN_OK;
    if (!records->csv.is_open)
        status = open_row(records,
                          records->options.format == SKN_RECORDS_TSV
                              ? '\t'
                              : separator_of(line),
                          error);
    if (status == SKN_OK)
        status = feed(records, line, &complete, error);
    *more = status == SKN_OK && !complete;
    if (status != SKN_OK || !complete)
        return status;
    records->column_count = records->csv.field_count;
    for (size_t k = 0; status == SKN_OK && k < records->text_count; k++)
        status = take_column(records, records->column[k], "data.text_column",
                             &records->text_at[k], error);
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

/* A quotation mark that is never closed would take the rest of the file. */
static skn_status_t
refuse_long(skn_records_t *records, bool *complete, skn_error_t *error)
{
    skn_csv_row_t *row = &records->csv;
    csv_free(&row->parser);
    row->is_open = false;
    row->is_complete = true;
    *complete = true;
    (void)open_row(records, (char)row->parser.delim_char, error);
    return skn_fail(error, SKN_BAD_DATA,
                    "%s:%" PRIu64 ": the row has more than %u bytes; is a "
                    "quotation mark not closed?",
                    skn_stream_name_shown(records->name), records->line,
                    SKN_LINE_BYTES_MAX);
}

static skn_status_t
read_line(skn_records_t *records, skn_span_t line, bool *complete,
          skn_error_t *error)
{
    skn_csv_row_t *row = &records->csv;
    skn_status_t status = feed(records, line, complete, error);
    if (status != SKN_OK)
        return status;
    if (!*complete && row->byte_count + csv_get_buffer_size(&row->parser) >
                          SKN_LINE_BYTES_MAX)
        return refuse_long(records, complete, error);
    if (!*complete) {
        if (row->field_count == 0 && line.bytes == 0 &&
            row->parser.entry_pos == 0 && !row->parser.quoted)
            records->line = 0; /* an empty line between rows */
        return SKN_OK;
    }
    if (row->field_count != records->column_count)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s:%" PRIu64 ": the row has %zu columns, the first "
                        "one %zu",
                        skn_stream_name_shown(records->name), records->line,
                        row->field_count, records->column_count);
    bool good = true;
    for (size_t k = 0; good && k < records->text_count; k++)
        good =
            skn_span_list_add(&records->texts, field(row, records->text_at[k]));
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

/* A row of names. */
static bool
looks(const skn_records_t *records, skn_span_t line)
{
    char separator = separator_of(line);
    if (records->options.otherwise != SKN_RECORDS_AUTO)
        return has_name(line, separator, records->column[0]);
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
