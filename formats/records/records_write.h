/* records_write.h - writes rows with texts and named labels, in a format that
 * records.h reads.
 *
 * What a format cannot hold is changed and counted: a label of fastText has no
 * blanks, one of a column not what divides labels there, and JSON is UTF-8. Not
 * here: files, which are the caller's. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_RECORDS_RECORDS_WRITE_H
#define FORMATS_RECORDS_RECORDS_WRITE_H

#include <stdio.h>

#include "formats/records/records.h"

typedef struct skn_records_writer {
    FILE *file;                  /* whose errors are its owner's to see */
    skn_records_format_t format; /* fasttext, json, csv or tsv */
    const skn_span_t *column;    /* [text_count] names of the columns of text */
    skn_span_t label_column;
    size_t text_count;
    const char *separator;  /* csv, tsv: between labels; "": a row has one */
    uint64_t changed;       /* labels with a character that was replaced */
    uint64_t changed_texts; /* the same of texts */
} skn_records_writer_t;

/* Writes the row of names, if the format has one. */
void skn_records_write_head(const skn_records_writer_t *writer);
/* Writes a row. Texts beyond the columns are joined to the last one. */
void skn_records_write(skn_records_writer_t *writer,
                       const skn_records_row_t *row);

#endif
