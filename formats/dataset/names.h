/* names.h - reads names, one a line, from memory (skein/points.h reads files).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_NAMES_H
#define FORMATS_DATASET_NAMES_H

#include "skein/points.h"

/* The names in `bytes` bytes, each with a line end. NULL: SKN_NO_MEMORY. Freed
 * by skn_names_close. */
skn_names_t *skn_names_read(const char *text, size_t bytes, skn_error_t *error);
/* The reverse, for free(). NULL: no memory. */
char *skn_names_text(const skn_names_t *names, size_t *bytes);

#endif
