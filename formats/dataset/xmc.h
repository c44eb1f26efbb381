/* xmc.h - reads the Extreme Classification text format: one point a line.
 *
 *     2 10 5                  optional: points, features, labels
 *     0,3 1:0.5 7:1.25        labels, then feature:value
 *      2:1 4                  a leading space: no labels; `4` means `4:1`
 *     1                       labels only
 *
 * Our decisions where the format leaves it open:
 * - A first line of exactly three whole numbers is the header, although it
 *   could also be a label and two features.
 * - Blanks are spaces and tabs; one CR before the line end is dropped, and so
 *   is a byte order mark before the first line.
 * - A line whose first word begins with '#' is a comment, and is skipped
 *   anywhere; the header may follow comments. '#' after a blank
 *   begins a comment that ends with its line. `qid:N` before the features is
 *   skipped. All of these are svmlight's.
 * - A line of blanks is a point without labels and features. So is an empty
 *   line, but empty lines at the end of the file are points only as far as the
 *   header counts them.
 * - Labels and features are sorted on reading. The values of a feature that
 *   occurs several times in a line are added up, in double and in an order that
 *   does not depend on the line's. A repeated label is refused.
 * - Values are finite decimal numbers that fit into a float, and so are their
 *   sums.
 * Errors start with file:line:column, counted from 1, columns in bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_XMC_H
#define FORMATS_DATASET_XMC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source/lines.h"
#include "formats/dataset/xmc_point.h"
#include "skein/error.h"
#include "skein/limits.h"

/* The limits for a line. { 0 }: any index below SKN_UNIT_MAX. */
typedef struct skn_xmc_bounds {
    bool has_header; /* from the file's own first line: */
    uint32_t header_features, header_labels;
    /* Sizes that another file set; 0: none. `expected_by` names that file and
     * must outlive its user; NULL: "the model". */
    uint32_t expected_features, expected_labels;
    const char *expected_by;
    bool labels_optional; /* a line may begin with a feature:value: no labels */
    /* An index beyond the expected sizes, though not beyond the file's own, is
     * left out and counted in the point, not refused. */
    bool unknown_ignored;
    double bad_rows; /* greatest share of lines that cannot be read: they are
                      * left out and counted; 0: the first is refused */
    /* The file is for prediction, not for training. Its points have no labels,
     * except for lines that cannot be read: each of these is a point with label
     * 0 only. Used by readers only. */
    bool questions;
} skn_xmc_bounds_t;

/* Initializes an empty point. Nothing is allocated yet. */
void skn_xmc_point_init(skn_xmc_point_t *point);
void skn_xmc_point_fini(skn_xmc_point_t *point);

/* Reads one line into `point`. A pure function of its arguments: it keeps
 * nothing, and any number of threads may call it, each with its own point.
 * `bounds` may be NULL. SKN_BAD_DATA; SKN_NO_MEMORY. After a failure the
 * point's counts are 0. */
skn_status_t skn_xmc_line_parse(const skn_xmc_line_t *line,
                                const skn_xmc_bounds_t *bounds,
                                skn_xmc_point_t *point, skn_error_t *error);

/* Bytes of the byte order mark that the text of a file starts with: 0 or 3. */
size_t skn_xmc_mark_bytes(const char *text, size_t bytes);
/* Whether a line is a comment; whether the first line that is not one is the
 * header. */
bool skn_xmc_line_is_comment(const skn_xmc_line_t *line);
bool skn_xmc_line_is_header(const skn_xmc_line_t *line);

/* Reads the longest decimal number at the start of `text`: sign, digits with
 * one '.', exponent. Returns its length in bytes, 0 if there is none. *value
 * is at most 1 ulp from the exact value; infinite if it does not fit. */
size_t skn_xmc_number_parse(const char *text, size_t bytes, float *value);

typedef struct skn_xmc_reader skn_xmc_reader_t;

/* Opens the files of a source (formats/source/files.h), each of which may have
 * a header, and reads that of the first. Only the expected sizes of `bounds`
 * (may be NULL) count. SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_BAD_DATA,
 * SKN_STORAGE, SKN_NO_MEMORY leave *reader NULL. One reader is for one thread
 * at a time. */
skn_status_t skn_xmc_open(const char *path, const skn_xmc_bounds_t *bounds,
                          skn_xmc_reader_t **reader, skn_error_t *error);
/* The same over `bytes` bytes at `start`, which must outlive the reader. */
skn_status_t skn_xmc_open_memory(const char *name, const void *start,
                                 size_t bytes, const skn_xmc_bounds_t *bounds,
                                 skn_xmc_reader_t **reader, skn_error_t *error);
/* Frees, sets *reader to NULL. *reader may be NULL already. */
void skn_xmc_close(skn_xmc_reader_t **reader);

/* Reads the next point; *more is false at the end. The number of points of a
 * file is compared with its header. After a failure only close is allowed. */
skn_status_t skn_xmc_next(skn_xmc_reader_t *reader, skn_xmc_point_t *point,
                          bool *more, skn_error_t *error);

/* Indices left out, if `unknown_ignored`. */
typedef struct skn_xmc_unknown {
    uint64_t labels, features; /* occurrences */
    uint64_t points;           /* that had any */
    uint64_t bare_points;      /* whose labels were all left out */
    uint64_t line, column;     /* of the first: skn_files_place; from 1 */
} skn_xmc_unknown_t;

/* Rows, or questions, that cannot be read. */
typedef struct skn_xmc_unread {
    uint64_t points, line; /* how many, and the first: skn_files_place */
} skn_xmc_unread_t;

/* The sizes so far: the greatest of a header, or one more than the greatest
 * index seen, if that is more. */
typedef struct skn_xmc_sizes {
    bool has_header;
    uint64_t point_count; /* points read so far */
    uint32_t feature_count, label_count;
    uint32_t feature_seen, label_seen; /* greatest index seen + 1 */
    skn_xmc_unknown_t unknown;
    skn_xmc_unread_t unread;
    skn_xmc_unread_t bad; /* rows that were left out */
    const char *bad_why;  /* the sentence of the first; NULL: there is none */
} skn_xmc_sizes_t;
skn_xmc_sizes_t skn_xmc_sizes(const skn_xmc_reader_t *reader);

/* The most likely mistake in a file that was read to its end. */
skn_xmc_odd_t skn_xmc_odd(const skn_xmc_reader_t *reader);

/* The lines of the reader: position, hash. They live as long as it does. */
const skn_lines_t *skn_xmc_lines(const skn_xmc_reader_t *reader);

#endif
