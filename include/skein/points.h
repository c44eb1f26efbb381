/* points.h - points, read from text as `skein predict` reads them, and names of
 * labels or features.
 *
 *     skn_point_reader_t *reader = skn_point_reader_open("-", NULL, &error);
 *     const skn_read_t *read;
 *     while ((read = skn_point_reader_next(reader, &error)) &&
 *            read->kind != SKN_READ_END)
 *         skn_predictor_best(predictor, &read->points, 5, label, score, NULL);
 *     skn_point_reader_close(&reader);
 *
 * The text is that of data files: a point is a line `3,9 17:0.5 4:1`, with its
 * labels, which may be missing, and feature:value. A file may be packed by gzip
 * or zstd. A reader is for one thread at a time; names do not change, and any
 * number of threads may read them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_POINTS_H
#define SKEIN_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Points as sparse rows: point i has the features feature[offset[i]] to
 * feature[offset[i + 1] - 1] and the values beside them. Features may be in any
 * order; the values of one that occurs several times in a point are added
 * first, independent of their order. Belongs to whoever fills it, and is only
 * read. */
typedef struct skn_points {
    size_t count;
    const size_t *offset; /* [count + 1], from 0, never decreasing */
    const uint32_t *feature;
    const float *value; /* finite */
} skn_points_t;

typedef struct skn_point_reader skn_point_reader_t;

/* Zeros are the defaults. */
typedef struct skn_point_reader_options {
    uint32_t struct_bytes; /* sizeof(skn_point_reader_options_t) */
    /* Those of the model (skn_predictor_info_t). Features beyond them are left
     * out and counted. 0: every feature is kept. */
    uint32_t feature_count, label_count;
    bool strict; /* refuse lines with features beyond `feature_count` */
} skn_point_reader_options_t;

/* Reads the file `path` ("-": standard input), packed or not. `options` may be
 * NULL. Waits until the first bytes of a pipe have come. NULL and SKN_NO_INPUT,
 * SKN_NO_PERMISSION, SKN_STORAGE, SKN_NO_MEMORY, or SKN_USAGE for a NULL or
 * wrong options. */
SKN_API skn_point_reader_t *skn_point_reader_open(
    const char *path, const skn_point_reader_options_t *options,
    skn_error_t *error);
/* Reads `text_bytes` bytes of `text`, which must outlive the reader, such as a
 * request. `name` is used in messages, is copied, and may be NULL. A packed
 * text is refused (SKN_BAD_DATA): a few bytes can hold millions of points. */
SKN_API skn_point_reader_t *skn_point_reader_open_text(
    const char *text, size_t text_bytes, const char *name,
    const skn_point_reader_options_t *options, skn_error_t *error);
/* Frees, and sets *reader to NULL, which it may be already. */
SKN_API void skn_point_reader_close(skn_point_reader_t **reader);

typedef enum skn_read_kind {
    SKN_READ_END,
    SKN_READ_POINTS,  /* 1 to SKN_READ_POINTS_MAX of them */
    SKN_READ_REFUSED, /* a line that is not a point; the next call goes on */
    SKN_READ_COMMENT, /* a comment after the first point */
    SKN_READ_HEADER   /* a first line of three whole numbers: sizes */
} skn_read_kind_t;

/* The most points that are read at once: enough to rank them at full speed. */
#define SKN_READ_POINTS_MAX 256u

/* A point, or another line, that was read. Members may be added at the end
 * within one SONAME. */
typedef struct skn_read {
    size_t struct_bytes; /* of the members that this library has */
    skn_read_kind_t kind;
    skn_points_t points;  /* none for the other kinds */
    const uint64_t *line; /* [points.count], from 1; or [1], of another kind */
    /* The labels of point i: label[label_offset[i]] and so on, ascending. */
    const size_t *label_offset; /* [points.count + 1] */
    const uint32_t *label;
    const skn_error_t
        *refusal; /* SKN_READ_REFUSED: SKN_BAD_DATA, with the name,
                                 * line and column; otherwise NULL */
    /* A line that may have been meant in another way: one of `points`, or the
     * header. At most one of each. NULL: none. */
    const skn_error_t *warning;
    const char *name; /* of the text in messages: the path, or "stdin" */
    /* From the beginning of the text until now: */
    uint64_t line_count;
    uint64_t unknown_features, unknown_points; /* left out; points with any */
    uint64_t unknown_line, unknown_column;     /* the first of them, from 1 */
} skn_read_t;

/* Reads the points that have come, as many as are complete; waits if there is
 * none, so that whoever sends a line through a pipe gets its point at once.
 * Comments before the first point are skipped. The result lives until the next
 * call or close. NULL and SKN_BAD_DATA (damaged packing), SKN_STORAGE or
 * SKN_NO_MEMORY: the text cannot be read on; all points before that were
 * returned. SKN_USAGE for a NULL. */
SKN_API const skn_read_t *skn_point_reader_next(skn_point_reader_t *reader,
                                                skn_error_t *error);

/* Names of label or feature 0, 1, ... */
typedef struct skn_names {
    size_t count;
    const char *const *name; /* [count], each without its line end */
} skn_names_t;

/* Reads names from the file `path` ("-": standard input), packed or not: line
 * k, from 0, is the name of label or feature k. NULL and the statuses of
 * skn_point_reader_open, or SKN_BAD_DATA: a line of more than
 * SKN_LINE_BYTES_MAX, or damaged packing. */
SKN_API skn_names_t *skn_names_open(const char *path, skn_error_t *error);
/* Frees, and sets *names to NULL, which it may be already. */
SKN_API void skn_names_close(skn_names_t **names);

#ifdef __cplusplus
}
#endif

#endif
