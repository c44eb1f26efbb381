/* temp_folder.h - makes an empty folder for one test, and removes it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TEMP_FOLDER_H
#define TESTS_SUPPORT_TEMP_FOLDER_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define TEMP_FOLDER_BYTES 512

static inline void
temp_folder_make(char folder[TEMP_FOLDER_BYTES])
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, TEMP_FOLDER_BYTES, "%s/skein-test-XXXXXX",
                   parent && *parent ? parent : "/tmp");
    cr_assert(mkdtemp(folder), "%s", folder);
}

static inline int
temp_folder_remove_one(const char *path, const struct stat *facts, int kind,
                       struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static inline void
temp_folder_remove(const char *folder)
{
    (void)nftw(folder, temp_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
