/* paths.h - a list of paths that grows: where it stands and how long it is are
 * two fields of its owner's struct.
 *
 * Any thread; needs no lock.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_PATHS_H
#define FORMATS_TEXT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes `path` over, from malloc. False, and it is freed: there is no room. */
bool skn_paths_add(char ***list, size_t *count, char *path);
void skn_paths_sort(char **list, size_t count);
/* Frees the list and its paths; it is empty afterwards. */
void skn_paths_free(char ***list, size_t *count);

#endif
