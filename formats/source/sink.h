/* sink.h - writes a file that may be packed, and that is there only when it is
 * whole.
 *
 * A path that ends with .gz or .zst is packed so. The file has another name
 * until it is finished. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_SOURCE_SINK_H
#define FORMATS_SOURCE_SINK_H

#include <stdio.h>

#include "skein/error.h"

typedef struct skn_sink skn_sink_t;

/* Refuses a path that is taken, by whatever: SKN_CANNOT_CREATE. */
skn_status_t skn_sink_check(const char *path, skn_error_t *error);
/* Checks the path, too. NULL: SKN_CANNOT_CREATE, SKN_NO_PERMISSION,
 * SKN_STORAGE, SKN_NO_MEMORY. */
skn_sink_t *skn_sink_open(const char *path, skn_error_t *error);
/* The caller writes the contents to this file. skn_sink_finish reports the
 * errors of these writes. */
FILE *skn_sink_file(const skn_sink_t *sink);
/* Closes the file and gives it its name, or removes it (SKN_STORAGE). Frees,
 * and sets *sink to NULL. */
skn_status_t skn_sink_finish(skn_sink_t **sink, skn_error_t *error);
/* Removes the file, frees, sets *sink to NULL, which it may be already. */
void skn_sink_drop(skn_sink_t **sink);

#endif
