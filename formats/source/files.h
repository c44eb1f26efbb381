/* files.h - lists the files of a source of data, in a fixed order; does not
 * read them.
 *
 * A source is one path or several, one a line. A path is a file, a folder, or a
 * pattern of a shell (*, ?, [...]) if no file has that name. A folder has all
 * regular files below it, in the order of their names, without those that are
 * hidden or in hidden folders, without symbolic links, and without empty ones.
 * Caches of Skein are left out of folders, patterns and lists. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_SOURCE_FILES_H
#define FORMATS_SOURCE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"

/* Between the paths of a source. */
#define SKN_FILES_SEPARATOR '\n'

typedef struct skn_files {
    char **path; /* [count] */
    size_t count;
    bool *is_named;       /* [count] it was named, and not found in a folder */
    bool is_regular;      /* each can be read more than once */
    uint64_t total_bytes; /* of the files, packed as they are */
    bool is_path; /* the source is the path of a file or folder, no list */
    /* XXH3, 64 bits, of the names below folders and in lists, the sizes and the
     * times of change, in order. */
    uint64_t fingerprint;
    mode_t mode; /* permissions that all files have in common */
} skn_files_t;

/* Lists the files of the source. Freed by skn_files_fini, also after a failure.
 * SKN_NO_INPUT (also if there is none), SKN_NO_PERMISSION (also of a folder
 * below), SKN_STORAGE, SKN_NO_MEMORY. */
skn_status_t skn_files_init(skn_files_t *files, const char *source,
                            skn_error_t *error);
void skn_files_fini(skn_files_t *files);

/* Refuses a source that can be read only once, such as a pipe: SKN_NO_INPUT. */
skn_status_t skn_files_check_regular(const skn_files_t *files,
                                     const char *source, skn_error_t *error);
/* Sets *can_be to whether a look at the source takes nothing from a later
 * reader, as it does from a pipe; true of one that is not there. SKN_NO_MEMORY
 * alone. */
skn_status_t skn_files_can_be_reread(const char *source, bool *can_be,
                                     skn_error_t *error);
/* Whether all files of the source can be opened, and read more than once. As
 * skn_files_init and skn_stream_open. */
skn_status_t skn_files_check(const char *source, skn_error_t *error);

/* A line of a file of a source, as one number that grows along the source. */
#define SKN_FILES_LINE_BITS 40
static inline uint64_t
skn_files_place(uint32_t file, uint64_t line)
{
    return (uint64_t)file << SKN_FILES_LINE_BITS | line;
}
static inline uint64_t
skn_files_line(uint64_t place)
{
    return place & ((UINT64_C(1) << SKN_FILES_LINE_BITS) - 1);
}

/* The path of the file of a place, for free(); that of the source, if it has
 * become another. NULL: no memory. */
char *skn_files_name(const char *source, uint64_t place);

/* The name beside which the cache of the source is kept, for free(): the path
 * of the only one, or the first file, and how many there are besides. NULL: no
 * memory. */
char *skn_files_cache_stem(const skn_files_t *files, const char *source);

#endif
