/* records_write.c - writes rows as fastText, CSV, TSV and JSON lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/records/records_write.h"

#include <string.h>

#include "formats/records/records_internal.h"
#include "formats/text/text.h"

/* The texts of a column: the last one has those beyond the columns, too. */
static size_t
texts_end(const skn_records_writer_t *writer, const skn_records_row_t *row,
          size_t column)
{
    bool is_last = column + 1 == writer->text_count;
    size_t end = is_last ? row->text_count : column + 1;
    return end < row->text_count ? end : row->text_count;
}

/* --- fastText ------------------------------------------------------------- */

static void
write_fasttext_label(skn_records_writer_t *writer, skn_span_t label)
{
    bool is_changed = false;
    (void)fputs(SKN_FASTTEXT_PREFIX, writer->file);
    for (size_t k = 0; k < label.bytes; k++) {
        bool is_blank =
            skn_is_fasttext_blank(label.at[k]) || label.at[k] == '\n';
        (void)fputc(is_blank ? '_' : label.at[k], writer->file);
        is_changed = is_changed || is_blank;
    }
    (void)fputc(' ', writer->file);
    writer->changed += is_changed;
}

/* A text is one line, and a word of it is no label. */
static void
write_fasttext_text(skn_records_writer_t *writer, skn_span_t text)
{
    bool is_changed = false, is_start = true;
    for (size_t k = 0; k < text.bytes; k++) {
        bool is_line = text.at[k] == '\n';
        bool is_label = is_start &&
                        text.bytes - k >= SKN_FASTTEXT_PREFIX_BYTES &&
                        memcmp(text.at + k, SKN_FASTTEXT_PREFIX,
                               SKN_FASTTEXT_PREFIX_BYTES) == 0;
        if (!is_label)
            (void)fputc(is_line ? ' ' : text.at[k], writer->file);
        is_changed = is_changed || is_line || is_label;
        is_start = skn_is_fasttext_blank(text.at[k]) || is_line;
    }
    writer->changed_texts += is_changed;
}

static void
write_fasttext(skn_records_writer_t *writer, const skn_records_row_t *row)
{
    for (size_t k = 0; k < row->label_count; k++)
        write_fasttext_label(writer, row->label[k]);
    for (size_t k = 0; k < row->text_count; k++) {
        (void)fputs(k ? " " : "", writer->file);
        write_fasttext_text(writer, row->text[k]);
    }
    (void)fputc('\n', writer->file);
}

/* --- CSV and TSV ---------------------------------------------------------- */

static char
column_separator(const skn_records_writer_t *writer)
{
    return writer->format == SKN_RECORDS_TSV ? '\t' : ',';
}

/* The bytes of a field within its quotation marks. */
static void
write_quoted(FILE *file, skn_span_t text)
{
    for (size_t k = 0; k < text.bytes; k++) {
        if (text.at[k] == '"')
            (void)fputc('"', file);
        (void)fputc(text.at[k], file);
    }
}

static bool
needs_quotes(const skn_records_writer_t *writer, skn_span_t text)
{
    if (text.bytes == 0)
        return false;
    for (size_t k = 0; k < text.bytes; k++)
        if (text.at[k] == column_separator(writer) || text.at[k] == '"' ||
            text.at[k] == '\n' || text.at[k] == '\r')
            return true;
    return skn_span_trimmed(text).bytes < text.bytes;
}

/* Writes the label without what divides labels. */
static void
write_part(skn_records_writer_t *writer, skn_span_t label)
{
    size_t bytes = strlen(writer->separator);
    const char *end = label.at + label.bytes;
    bool is_changed = false;
    while (bytes > 0 && label.bytes > 0) {
        const char *at =
            memmem(label.at, label.bytes, writer->separator, bytes);
        if (!at)
            break;
        write_quoted(writer->file,
                     (skn_span_t){ label.at, (size_t)(at - label.at) });
        (void)fputc('_', writer->file);
        label.at = at + bytes;
        label.bytes = (size_t)(end - label.at);
        is_changed = true;
    }
    write_quoted(writer->file, label);
    writer->changed += is_changed;
}

static void
write_labels(skn_records_writer_t *writer, const skn_records_row_t *row)
{
    if (row->label_count == 0)
        return;
    (void)fputc('"', writer->file);
    for (size_t k = 0; k < row->label_count; k++) {
        const char *between = writer->separator[0] ? writer->separator : ";";
        (void)fputs(k ? between : "", writer->file);
        write_part(writer, row->label[k]);
    }
    (void)fputc('"', writer->file);
}

static void
write_texts(skn_records_writer_t *writer, const skn_records_row_t *row,
            size_t column)
{
    size_t end = texts_end(writer, row, column);
    bool is_quoted = end > column + 1;
    if (!is_quoted && end > column)
        is_quoted = needs_quotes(writer, row->text[column]);
    (void)fputs(is_quoted ? "\"" : "", writer->file);
    for (size_t k = column; k < end; k++) {
        (void)fputs(k > column ? " " : "", writer->file);
        write_quoted(writer->file, row->text[k]);
    }
    (void)fputs(is_quoted ? "\"" : "", writer->file);
}

static void
write_csv(skn_records_writer_t *writer, const skn_records_row_t *row)
{
    write_labels(writer, row);
    for (size_t k = 0; k < writer->text_count; k++) {
        (void)fputc(column_separator(writer), writer->file);
        write_texts(writer, row, k);
    }
    (void)fputc('\n', writer->file);
}

/* --- JSON lines ----------------------------------------------------------- */

/* Returns whether all of it was UTF-8; what is not becomes U+FFFD. */
static bool
write_json_bytes(FILE *file, skn_span_t text)
{
    const char *at = text.at, *end = at + text.bytes;
    bool is_utf8 = true;
    while (at < end) {
        size_t bytes = skn_text_character_bytes(at, end);
        if (bytes == 0) {
            (void)fputs("\\ufffd", file);
            is_utf8 = false;
            bytes = 1;
        } else if ((unsigned char)*at < 0x20)
            (void)fprintf(file, "\\u%04x", (unsigned char)*at);
        else if (*at == '"' || *at == '\\')
            (void)fprintf(file, "\\%c", *at);
        else
            (void)fwrite(at, 1, bytes, file);
        at += bytes;
    }
    return is_utf8;
}

static void
write_json(skn_records_writer_t *writer, const skn_records_row_t *row)
{
    FILE *file = writer->file;
    (void)fputc('{', file);
    for (size_t column = 0; column < writer->text_count; column++) {
        bool is_utf8 = true;
        (void)fputs(column ? ", \"" : "\"", file);
        (void)write_json_bytes(file, writer->column[column]);
        (void)fputs("\": \"", file);
        for (size_t k = column; k < texts_end(writer, row, column); k++) {
            (void)fputs(k > column ? " " : "", file);
            is_utf8 = write_json_bytes(file, row->text[k]) && is_utf8;
        }
        (void)fputc('"', file);
        writer->changed_texts += !is_utf8;
    }
    (void)fputs(", \"", file);
    (void)write_json_bytes(file, writer->label_column);
    (void)fputs("\": [", file);
    for (size_t k = 0; k < row->label_count; k++) {
        (void)fputs(k ? ", \"" : "\"", file);
        writer->changed += !write_json_bytes(file, row->label[k]);
        (void)fputc('"', file);
    }
    (void)fputs("]}\n", file);
}

/* --- all ------------------------------------------------------------------ */

void
skn_records_write_head(const skn_records_writer_t *writer)
{
    if (writer->format != SKN_RECORDS_CSV && writer->format != SKN_RECORDS_TSV)
        return;
    (void)fputc('"', writer->file);
    write_quoted(writer->file, writer->label_column);
    for (size_t k = 0; k < writer->text_count; k++) {
        (void)fprintf(writer->file, "\"%c\"", column_separator(writer));
        write_quoted(writer->file, writer->column[k]);
    }
    (void)fputs("\"\n", writer->file);
}

void
skn_records_write(skn_records_writer_t *writer, const skn_records_row_t *row)
{
    if (writer->format == SKN_RECORDS_FASTTEXT)
        write_fasttext(writer, row);
    else if (writer->format == SKN_RECORDS_JSON)
        write_json(writer, row);
    else
        write_csv(writer, row);
}
