/* spool.h - keeps a stream that can be read only once, such as standard input,
 * in a file that can be read again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_SOURCE_SPOOL_H
#define FORMATS_SOURCE_SPOOL_H

#include <stddef.h>
#include <stdio.h>

#include "skein/error.h"

/* Writes `bytes` bytes that were read already and the rest of the stream to a
 * file in the user's folder for caches, or in $TMPDIR or /tmp. Its name follows
 * from its contents: the same bytes are kept once. *path is for free().
 * SKN_STORAGE, SKN_CANNOT_CREATE, SKN_NO_PERMISSION, SKN_NO_MEMORY. */
skn_status_t skn_spool(const void *start, size_t bytes, FILE *rest, char **path,
                       skn_error_t *error);

#endif
