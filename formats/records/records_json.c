/* records_json.c - rows of JSON lines: an object a line, with texts and labels
 * by key.
 *
 * A text is a string, a number, or an array of them, which are joined by
 * blanks; labels are a string, a number, or an array of them. null is none.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/records/records_internal.h"
#include "formats/source/stream.h"
#include "formats/text/text.h"

#define JSON_NUMBER_BYTES 32u
/* Integers below it are exact as reals: 2^53. */
#define EXACT_MAX 9007199254740992.0

static bool
looks(const skn_records_t *records, skn_span_t line)
{
    (void)records;
    size_t at = 0;
    while (at < line.bytes && (line.at[at] == ' ' || line.at[at] == '\t'))
        at++;
    return at < line.bytes && line.at[at] == '{';
}

/* The name of a value's type, for a sentence. */
static const char *
type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
        [JSON_STRING] = "a string",  [JSON_INTEGER] = "a number",
        [JSON_REAL] = "a number",    [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

static skn_status_t
refuse(const skn_records_t *records, skn_span_t key, const json_t *value,
       const char *wanted, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_DATA,
                    "%s:%" PRIu64 ": \"%.*s\" must be %s, found %s",
                    skn_stream_name_shown(records->name), records->line,
                    (int)key.bytes, key.at, wanted,
                    records->is_rounded && json_is_number(value)
                        ? "a number of too many digits"
                        : type_name(value));
}

/* Keeps a text beyond the value that it came from: in records->joined, from
 * *at on. */
static bool
join(skn_records_t *records, size_t *at, const char *text, size_t bytes)
{
    void *joined = records->joined;
    if (!skn_grow(&joined, &records->joined_room, *at + bytes + 1, 1))
        return false;
    records->joined = joined;
    memcpy(records->joined + *at, text, bytes);
    *at += bytes;
    return true;
}

/* Writes a number in the fewest digits that are read as it. Returns its
 * length. */
static int
write_real(char *text, double number)
{
    int bytes = 0;
    double again = NAN;
    for (int digits = 15; digits <= 17 && !(again <= number && again >= number);
         digits++) {
        bytes = skn_text_write(text, JSON_NUMBER_BYTES, "%.*g", digits, number);
        again = skn_text_real(text, NULL);
    }
    return bytes;
}

/* A string or number as text; `number` has JSON_NUMBER_BYTES. False: it is
 * neither, or a number of which only the first digits are known and `all` are
 * wanted. */
static bool
scalar(const skn_records_t *records, const json_t *value, bool all,
       char *number, skn_span_t *text)
{
    if (json_is_string(value)) {
        *text =
            (skn_span_t){ json_string_value(value), json_string_length(value) };
        return true;
    }
    if (!json_is_number(value) || (all && records->is_rounded &&
                                   fabs(json_real_value(value)) >= EXACT_MAX))
        return false;
    int bytes =
        json_is_integer(value)
            ? snprintf(number, JSON_NUMBER_BYTES, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value))
            : write_real(number, json_real_value(value));
    *text = (skn_span_t){ number, (size_t)bytes };
    return true;
}

/* --- the columns ---------------------------------------------------------- */

/* The types of a value in a column of categories or numbers. */
#define ONE_VALUE "a string or a number"

/* Appends the text of a value to that of column k in records->joined, which
 * begins at `from`. */
static skn_status_t
join_value(skn_records_t *records, size_t k, const json_t *value, size_t from,
           size_t *at, skn_error_t *error)
{
    char number[JSON_NUMBER_BYTES];
    skn_span_t text;
    if (json_is_null(value))
        return SKN_OK;
    if (!scalar(records, value, k < records->number_from, number, &text))
        return refuse(records, records->column[k], value,
                      k < records->text_count
                          ? "a string or an array of strings"
                          : ONE_VALUE,
                      error);
    bool is_first = *at == from;
    return (is_first || join(records, at, " ", 1)) &&
                   join(records, at, text.at, text.bytes)
               ? SKN_OK
               : skn_records_no_memory(records, error);
}

/* Joins the text of column k, which a row must have unless it may lack it; *at
 * is the end of what is joined. */
static skn_status_t
add_text(skn_records_t *records, size_t k, size_t *at, skn_error_t *error)
{
    const skn_span_t column = records->column[k];
    const json_t *value =
        json_object_getn(records->object, column.at, column.bytes);
    if (!value && (records->may_lack_text || records->may_lack_any))
        return SKN_OK;
    if (!value)
        return skn_fail(error, SKN_BAD_DATA, "%s:%" PRIu64 ": has no \"%.*s\"",
                        skn_stream_name_shown(records->name), records->line,
                        (int)column.bytes, column.at);
    size_t n, from = *at;
    const json_t *element;
    skn_status_t status = SKN_OK;
    if (!json_is_array(value))
        return join_value(records, k, value, from, at, error);
    json_array_foreach(value, n, element)
    {
        if (status == SKN_OK)
            status = join_value(records, k, element, from, at, error);
    }
    return status;
}

/* Joins the value of a column of categories or numbers. A row may lack it. */
static skn_status_t
add_scalar(skn_records_t *records, size_t k, size_t *at, skn_error_t *error)
{
    const skn_span_t column = records->column[k];
    const json_t *value =
        json_object_getn(records->object, column.at, column.bytes);
    if (!value)
        return SKN_OK;
    if (json_is_boolean(value))
        return join(records, at, json_is_true(value) ? "true" : "false",
                    json_is_true(value) ? 4 : 5)
                   ? SKN_OK
                   : skn_records_no_memory(records, error);
    if (json_is_array(value))
        return refuse(records, column, value, ONE_VALUE, error);
    return join_value(records, k, value, *at, at, error);
}

/* A number becomes text behind the texts, whose memory does not move any
 * more: labels are added last, and numbers are collected first. */
static skn_status_t
add_label(skn_records_t *records, const json_t *value, bool whole, size_t *at,
          skn_error_t *error)
{
    char number[JSON_NUMBER_BYTES];
    skn_span_t text;
    if (json_is_null(value))
        return SKN_OK;
    if (!scalar(records, value, true, number, &text))
        return refuse(records, records->label_column, value,
                      "a string or an array of strings", error);
    if (!json_is_string(value)) {
        memcpy(records->joined + *at, text.at, text.bytes);
        text.at = records->joined + *at;
        *at += text.bytes;
    }
    return (whole ? skn_records_add_label(records, text)
                  : skn_records_add_labels(records, text))
               ? SKN_OK
               : skn_records_no_memory(records, error);
}

static skn_status_t
add_labels(skn_records_t *records, size_t *at, skn_error_t *error)
{
    const skn_span_t column = records->label_column;
    const json_t *value =
        json_object_getn(records->object, column.at, column.bytes);
    if (!value && records->options.labels_optional)
        return SKN_OK;
    if (!value)
        return skn_fail(error, SKN_BAD_DATA, "%s:%" PRIu64 ": has no \"%.*s\"",
                        skn_stream_name_shown(records->name), records->line,
                        (int)column.bytes, column.at);
    size_t k;
    const json_t *element;
    skn_status_t status = SKN_OK;
    if (!json_is_array(value))
        return add_label(records, value, false, at, error);
    json_array_foreach(value, k, element)
    {
        if (status == SKN_OK)
            status = add_label(records, element, true, at, error);
    }
    return status;
}

static skn_status_t
parse(skn_records_t *records, skn_span_t line, skn_error_t *error)
{
    json_error_t fault;
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_decref(records->object);
    records->object = json_loadb(line.at, line.bytes, flags, &fault);
    records->is_rounded = !records->object && json_error_code(&fault) ==
                                                  json_error_numeric_overflow;
    if (records->is_rounded)
        records->object = json_loadb(line.at, line.bytes,
                                     flags | JSON_DECODE_INT_AS_REAL, &fault);
    if (records->object && json_is_object(records->object))
        return SKN_OK;
    if (!records->object && json_error_code(&fault) == json_error_out_of_memory)
        return skn_records_no_memory(records, error);
    return skn_fail(error, SKN_BAD_DATA, "%s:%" PRIu64 ":%d: %s",
                    skn_stream_name_shown(records->name), records->line,
                    records->object ? 1 : fault.column,
                    records->object ? "the line is not an object" : fault.text);
}

/* Room for what add_label puts behind the texts. */
static bool
reserve(skn_records_t *records, size_t at)
{
    const json_t *value = json_object_getn(
        records->object, records->label_column.at, records->label_column.bytes);
    size_t labels = json_is_array(value) ? json_array_size(value) : 1;
    void *joined = records->joined;
    bool good = skn_grow(&joined, &records->joined_room,
                         at + labels * JSON_NUMBER_BYTES, 1);
    records->joined = joined;
    return good;
}

static skn_status_t
read_line(skn_records_t *records, skn_span_t line, bool *complete,
          skn_error_t *error)
{
    size_t end[SKN_RECORDS_COLUMNS_MAX], at = 0;
    *complete = true;
    skn_status_t status = parse(records, line, error);
    for (size_t k = 0; status == SKN_OK && k < records->column_count; k++) {
        status = k < records->text_count ? add_text(records, k, &at, error)
                                         : add_scalar(records, k, &at, error);
        end[k] = at;
    }
    if (status == SKN_OK && !reserve(records, at))
        status = skn_records_no_memory(records, error);
    for (size_t k = 0, from = 0; status == SKN_OK && k < records->column_count;
         from = end[k++]) {
        const skn_span_t text = { records->joined + from, end[k] - from };
        if (!skn_span_list_add(&records->texts, text))
            status = skn_records_no_memory(records, error);
    }
    return status == SKN_OK ? add_labels(records, &at, error) : status;
}

const skn_records_reader_t skn_records_json = { .looks = looks,
                                                .line = read_line };
