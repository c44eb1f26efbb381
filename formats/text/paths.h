/* paths.h - a growing list of paths: adds, sorts, frees.
 *
 * The array and its count are two fields of the owner's struct. Any thread;
 * needs no lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_PATHS_H
#define FORMATS_TEXT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes ownership of `path`, from malloc. False, and it is freed: no memory. */
bool skn_paths_add(char ***list, size_t *count, char *path);
void skn_paths_sort(char **list, size_t count);
/* Frees the list and its paths; it is empty afterwards. */
void skn_paths_free(char ***list, size_t *count);

#endif
