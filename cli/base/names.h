/* names.h - reads a file of label names, one per line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_NAMES_H
#define CLI_BASE_NAMES_H

#include <stddef.h>

#include "skein/error.h"

/* { 0 } is empty. */
typedef struct cli_names {
    char **name; /* names of label 0, 1, ... */
    size_t count, room;
} cli_names_t;

/* Reads the file, compressed or not: line k, from 0, is the name of label k. */
skn_status_t cli_names_read(cli_names_t *names, const char *path,
                            skn_error_t *error);
void cli_names_fini(cli_names_t *names);

#endif
