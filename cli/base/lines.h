/* lines.h - reads lines of a file or pipe, each as soon as it has arrived.
 *
 * Lines that have arrived are returned before more input is awaited, so that a
 * person at a terminal, or a program at a pipe, gets each answer at once, and a
 * file is still read in large batches. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_LINES_H
#define CLI_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct cli_lines cli_lines_t;

/* Opens a file, compressed or not ("-": standard input). NULL on failure. */
cli_lines_t *cli_lines_open(const char *path, skn_error_t *error);
/* Frees *lines and sets it to NULL; it may be NULL. */
void cli_lines_close(cli_lines_t **lines);

/* Gets the next line without its line end, not NUL-terminated, valid until the
 * next call. *bytes is SIZE_MAX at the end. With `wait` false, *bytes is that
 * also if no line is complete yet, and then *more is true. A line longer than
 * SKN_LINE_BYTES_MAX is skipped: *text is NULL, *bytes is its length, and the
 * next call continues after it. Errors are those of skn_stream_read. */
skn_status_t cli_lines_next(cli_lines_t *lines, bool wait, const char **text,
                            size_t *bytes, bool *more, skn_error_t *error);
/* The number of the last line returned, from 1; and the file's name. */
uint64_t cli_lines_number(const cli_lines_t *lines);
const char *cli_lines_name(const cli_lines_t *lines);

#endif
