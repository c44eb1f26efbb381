/* lines.h - points, a line each, as they come in.
 *
 * What has arrived is handed out before more is waited for, so that a person
 * at a terminal, or a program at a pipe, gets each answer at once, and a file
 * is still read in large batches. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_LINES_H
#define CLI_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct cli_lines cli_lines_t;

/* Opens a file, packed or not ("-": standard input). NULL on failure. */
cli_lines_t *cli_lines_open(const char *path, skn_error_t *error);
/* Frees, sets *lines to NULL, which it may be. */
void cli_lines_close(cli_lines_t **lines);

/* The next line without its line end, not NUL-terminated; it lives until the
 * next call. *bytes is SIZE_MAX at the end. `wait` false: also where a line is
 * not complete yet, and then *more is true. A line that is longer than
 * SKN_LINE_BYTES_MAX is passed over: *text is NULL, *bytes its length, and the
 * next one can be had. As skn_stream_read. */
skn_status_t cli_lines_next(cli_lines_t *lines, bool wait, const char **text,
                            size_t *bytes, bool *more, skn_error_t *error);
/* The number of the line handed out last, from 1; and the file's name. */
uint64_t cli_lines_number(const cli_lines_t *lines);
const char *cli_lines_name(const cli_lines_t *lines);

#endif
