/* lines.h - reads lines of files or a pipe, each as soon as it has arrived.
 *
 * The files of a source (files.h) are read one after the other, each from its
 * first line on.
 * Lines that have arrived are returned before more input is awaited, so that a
 * person at a terminal, or a program at a pipe, gets each answer at once, and a
 * file is still read in large batches. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_SOURCE_LINES_H
#define FORMATS_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source/stream.h"
#include "skein/error.h"

typedef struct skn_lines skn_lines_t;

/* Opens the first file of a source (files.h), compressed or not ("-": standard
 * input). NULL on failure. */
skn_lines_t *skn_lines_open(const char *path, skn_error_t *error);
/* The same for `bytes` bytes of `text`; it and `name` outlive the lines. Those
 * of a peer must not be packed. */
skn_lines_t *skn_lines_open_text(const char *text, size_t bytes,
                                 const char *name, bool may_be_packed,
                                 skn_error_t *error);
/* Frees *lines and sets it to NULL; it may be NULL. */
void skn_lines_close(skn_lines_t **lines);

/* Gets the next line without its line end, not NUL-terminated, valid until the
 * next call. *bytes is SIZE_MAX at the end of the file. With `wait` false,
 * *bytes is that also if no line is complete yet, and then *more is true. A
 * line longer than SKN_LINE_BYTES_MAX is skipped: *text is NULL, *bytes is its
 * length, and the next call continues after it. Errors are those of
 * skn_stream_read. */
skn_status_t skn_lines_next(skn_lines_t *lines, bool wait, const char **text,
                            size_t *bytes, bool *more, skn_error_t *error);
/* Opens the next file of the source; *more is false if there is none. */
skn_status_t skn_lines_next_file(skn_lines_t *lines, bool *more,
                                 skn_error_t *error);
/* The number of the last line returned, from 1, in its file; the name of that
 * file, which lives as long as the lines; and its number, from 0. */
uint64_t skn_lines_number(const skn_lines_t *lines);
const char *skn_lines_name(const skn_lines_t *lines);
uint32_t skn_lines_file(const skn_lines_t *lines);
/* XXH3, 64 bits, of what was read of a file; of several files it is of the
 * hashes of all. */
uint64_t skn_lines_hash(const skn_lines_t *lines);
/* Bytes of the files that were read so far, packed ones if they are. */
uint64_t skn_lines_source_bytes(const skn_lines_t *lines);

#endif
