/* convert.h - writes the rows of a user's file in another format, as `skein
 * convert` does.
 *
 *     skn_convert_options_t options = SKN_ZERO;
 *     skn_converted_t converted = SKN_ZERO;
 *     options.struct_bytes = sizeof(options);
 *     converted.struct_bytes = sizeof(converted);
 *     status = skn_rows_convert("titles.csv", "titles.jsonl.zst", &options,
 *                               &converted, &error);
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_CONVERT_H
#define SKEIN_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros are the defaults. */
typedef struct skn_convert_options {
    uint32_t struct_bytes; /* sizeof(skn_convert_options_t) */
    bool strict;           /* a row that cannot be read is a failure */
    /* "fasttext", "csv", "tsv", "json" or "points", which are numbered
     * features; `to`: "svmlight" or "xmc" for these, without and with a header.
     * NULL: the first line of the
     * file to be read, and the ending of the one to be written, say it: .ft,
     * .txt, .csv, .tsv, .jsonl, .svm or .xmc, also before .gz and .zst, which
     * pack. */
    const char *format, *to;
    const char *text_columns; /* separated by commas; NULL: "text" */
    const char *label_column; /* NULL: "labels" */
    /* Between the labels of a column. NULL: found as by training; "": a column
     * is one label. */
    const char *label_separator;
    /* Is called for each row that cannot be read, which is left out. */
    void (*refused)(void *listener, const skn_error_t *why);
    void *listener;
} skn_convert_options_t;

typedef struct skn_converted {
    uint32_t struct_bytes;   /* set by the caller before the call */
    uint64_t rows, bad_rows; /* written; left out */
    /* That have a character which the format cannot hold, and which was
     * replaced: a blank in a label of fastText, what divides labels. */
    uint64_t changed_labels, changed_texts;
    const char *from, *to; /* names of formats, static */
    /* The columns of a CSV or TSV that are left out: their number, and as many
     * names as there is room for, with commas between. */
    uint64_t left_out_columns;
    char left_out[200];
} skn_converted_t;

/* Reads the rows of `in` ("-": standard input) and writes them to `out`, which
 * is there when it is whole. No file is overwritten: if one has the name, it is
 * SKN_CANNOT_CREATE. A numbered feature of a text is a word, its value
 * how often the row has it; files beside `out`, with .labels and .features
 * behind its name, have the names in the order of the numbers, and bad rows are
 * only counted. SKN_USAGE: a NULL, wrong options, an unknown format, or
 * numbered features that are to become texts. SKN_NO_INPUT,
 * SKN_NO_PERMISSION, SKN_BAD_DATA, SKN_CANNOT_CREATE, SKN_STORAGE,
 * SKN_NO_MEMORY. */
SKN_API skn_status_t skn_rows_convert(const char *in, const char *out,
                                      const skn_convert_options_t *options,
                                      skn_converted_t *converted,
                                      skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
