/* folder.h - creates, reads and replaces files below an open folder.
 *
 * Every file is reached by its name from the folder's descriptor and never
 * through a symbolic link, so that nothing in a checkpoint leads elsewhere.
 * `path` is the folder's path, used in error sentences only. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FOLDER_FOLDER_H
#define FORMATS_FOLDER_FOLDER_H

#include "skein/error.h"
#include "skein/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fails as skn_fail_code does with errno, and the sentence "PATH: WHAT", or
 * "PATH/NAME: WHAT" if there is a `name`. */
skn_status_t skn_fail_errno(skn_error_t *error, skn_status_t otherwise,
                            const char *path, const char *name,
                            const char *what);
/* Flushes `file` and checks that all output to it was written. A failure is
 * "WHAT: why", with the remedy. */
skn_status_t skn_file_finish(FILE *file, const char *what, skn_error_t *error);

/* 1 to SKN_NAME_MAX characters of [A-Za-z0-9_.-], the first not a dot. */
bool skn_file_name_good(const char *name);

/* Creates the folder `path` and its missing parents, and opens it; *folder is
 * the caller's to close. SKN_CANNOT_CREATE or SKN_NO_PERMISSION. */
skn_status_t skn_folder_create(const char *path, int *folder,
                               skn_error_t *error);
/* Whether skn_folder_create can make `path`, or, if it exists, files can be
 * created in it; creates nothing. The same statuses, with a remedy. */
skn_status_t skn_folder_check(const char *path, skn_error_t *error);
/* Opens the existing folder `path`. SKN_NO_INPUT or SKN_NO_PERMISSION. */
skn_status_t skn_folder_open(const char *path, int *folder, skn_error_t *error);
/* Makes names that were added to or removed from `folder` durable. */
skn_status_t skn_folder_sync(int folder, const char *path, skn_error_t *error);

/* Calls `visit` for each name except "." and "..", in any order, until it
 * fails. */
typedef skn_status_t skn_folder_visit_t(void *visitor, const char *name,
                                        skn_error_t *error);
skn_status_t skn_folder_list(int folder, const char *path,
                             skn_folder_visit_t *visit, void *visitor,
                             skn_error_t *error);

/* Removes a file, or a folder that holds only files; a missing one is not an
 * error. */
skn_status_t skn_folder_remove(int folder, const char *path, const char *name,
                               skn_error_t *error);

/* Removes the folder `path` with everything in it; a missing one is not an
 * error. Follows no links. SKN_STORAGE. */
skn_status_t skn_folder_remove_tree(const char *path, skn_error_t *error);

/* Writes the new file `name` (refused if it exists) and syncs it. A file whose
 * writing failed is removed. */
skn_status_t skn_folder_write_file(int folder, const char *path,
                                   const char *name, const void *bytes,
                                   size_t byte_count, skn_error_t *error);
/* The same in the place of a file that may be there: readers see the old file
 * or the new one. What a process that was killed left of `.tmp-NAME` is
 * removed. The folder is synced. */
skn_status_t skn_folder_replace_file(int folder, const char *path,
                                     const char *name, const void *bytes,
                                     size_t byte_count, skn_error_t *error);
/* Reads a whole regular file of at most `bytes_max`; *bytes is the caller's to
 * free and ends with a NUL that *byte_count leaves out. */
skn_status_t skn_folder_read_file(int folder, const char *path,
                                  const char *name, size_t bytes_max,
                                  char **bytes, size_t *byte_count,
                                  skn_error_t *error);
/* Opens a regular file for reading; SKN_BAD_DATA if it is not one. */
skn_status_t skn_folder_open_file(int folder, const char *path,
                                  const char *name, int *file,
                                  uint64_t *file_bytes, skn_error_t *error);
/* Gives the file `fresh` the name `name`, unless there is one of that name,
 * which sets *taken. It may keep the name `fresh`, too. File systems without
 * links (exFAT) can rename a file so; where a rename has no such flag either,
 * the name is looked for before. SKN_STORAGE. */
skn_status_t skn_folder_name_file(int folder, const char *path,
                                  const char *fresh, const char *name,
                                  bool *taken, skn_error_t *error);
/* Points the symbolic link `name` at `target`: readers see the old target or
 * the new one. The folder is synced. */
skn_status_t skn_folder_link(int folder, const char *path, const char *name,
                             const char *target, skn_error_t *error);

/* Writes all of `bytes` at `offset_bytes`; a short write is continued. */
skn_status_t skn_file_write(int file, const char *path, const void *bytes,
                            size_t byte_count, uint64_t offset_bytes,
                            skn_error_t *error);
/* Reads exactly `byte_count` bytes; SKN_BAD_DATA if the file ends before. */
skn_status_t skn_file_read(int file, const char *path, void *bytes,
                           size_t byte_count, uint64_t offset_bytes,
                           skn_error_t *error);

#endif
