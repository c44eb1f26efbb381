/* records_internal.h - what a format of records has to do.
 *
 * For records*.c only. A format takes the file line by line, and says when a
 * row is complete.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_RECORDS_RECORDS_INTERNAL_H
#define FORMATS_RECORDS_RECORDS_INTERNAL_H

#include <jansson.h>
#include <string.h>

#include "formats/records/records.h"
#include "formats/source/lines.h"
#include "formats/text/grow.h"

typedef struct skn_span_list {
    skn_span_t *at;
    size_t count, room;
} skn_span_list_t;

/* Where in a field of csv the next byte is. */
typedef enum skn_csv_state {
    SKN_CSV_BEGIN, /* with nothing but blanks before it */
    SKN_CSV_PLAIN,
    SKN_CSV_QUOTED,
    SKN_CSV_MARK /* behind a quotation mark, which closes or is doubled */
} skn_csv_state_t;

/* A row of csv, which may be made of several lines. Field k is the bytes from
 * end[k - 1] on, or 0, to end[k]. */
typedef struct skn_csv_row {
    char separator;
    skn_csv_state_t state;
    bool is_open; /* it continues on the next line */
    char *bytes;
    size_t byte_count, byte_room;
    size_t *end;
    size_t field_count, end_room;
} skn_csv_row_t;

struct skn_records {
    skn_lines_t *lines;
    const char *name;   /* of the file */
    bool is_any_format; /* it was recognised */
    skn_records_options_t options;
    skn_records_format_t before; /* of the file before; AUTO: there is none */
    const struct skn_records_reader *reader; /* of the format */
    skn_span_t column[SKN_RECORDS_COLUMNS_MAX], label_column;
    /* Columns of texts; of these, categories and numbers; and of the former
     * two. */
    size_t text_count, column_count, number_from;
    bool may_lack_text; /* the first column need not be there */
    bool may_lack_any;  /* one suffices: of a question to a model of several */
    skn_span_list_t labels, texts; /* of the row */
    uint64_t line;                 /* where the row began; 0: between rows */
    skn_csv_row_t csv;
    size_t field_count; /* csv, as its header has */
    size_t column_at[SKN_RECORDS_COLUMNS_MAX], label_at; /* SIZE_MAX: none */
    json_t *object;                                      /* json: of the row */
    bool is_rounded; /* json: integers of the row may be; they are reals */
    char *joined;    /* json: the elements of arrays of text */
    size_t joined_room;
    bool has_first; /* a line that was read already comes next: */
    skn_span_t first;
    skn_error_t refusal;
};

typedef struct skn_records_reader {
    /* Whether the first line of a file looks like this format. */
    bool (*looks)(const skn_records_t *records, skn_span_t line);
    /* Takes a line of the header, and sets *more where it continues on the
     * next. NULL: the format has none. */
    skn_status_t (*begin)(skn_records_t *records, skn_span_t line, bool *more,
                          skn_error_t *error);
    /* Takes a line, and adds the labels and texts of a row that it completes.
     * A row that cannot be read is SKN_BAD_DATA, and complete. */
    skn_status_t (*line)(skn_records_t *records, skn_span_t line,
                         bool *complete, skn_error_t *error);
} skn_records_reader_t;

#define SKN_FASTTEXT_PREFIX "__label__"
#define SKN_FASTTEXT_PREFIX_BYTES (sizeof(SKN_FASTTEXT_PREFIX) - 1)

/* Blanks as fastText has them within a line. */
static inline bool
skn_is_fasttext_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f' ||
           byte == '\r' || byte == '\0';
}

extern const skn_records_reader_t skn_records_fasttext, skn_records_csv,
    skn_records_json;

/* False: no memory. */
bool skn_span_list_add(skn_span_list_t *list, skn_span_t span);
/* Adds a label without the blanks around it, unless it is empty. False: no
 * memory. */
bool skn_records_add_label(skn_records_t *records, skn_span_t label);
/* Adds the labels of a column, divided by the separator, without blanks around
 * them and without empty ones. False: no memory. */
bool skn_records_add_labels(skn_records_t *records, skn_span_t column);
skn_status_t skn_records_no_memory(const skn_records_t *records,
                                   skn_error_t *error);

#endif
