/* files.c - lists the files of a source of data; does not read them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/files.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "formats/source/stream.h"
#include "formats/text/paths.h"
#include "formats/text/system_error.h"

#define CACHE_ENDING ".skc"

static skn_status_t
no_memory(const char *path, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY,
                    "%s: no memory for the list of its files",
                    skn_stream_name_shown(path));
}

static skn_status_t
refuse_errno(const char *path, const char *what, skn_error_t *error)
{
    const char *remedy = errno == ENOENT   ? "check the path"
                         : errno == EACCES ? "chmod it, or run as its owner"
                                           : NULL;
    return skn_fail_code(error, SKN_NO_INPUT, errno, remedy, "%s: %s",
                         skn_stream_name_shown(path), what);
}

static bool
is_cache(const char *path)
{
    size_t bytes = strlen(path), ending = strlen(CACHE_ENDING);
    return bytes > ending && strcmp(path + bytes - ending, CACHE_ENDING) == 0;
}

/* --- folders -------------------------------------------------------------- */

/* The files and folders that are still to be looked at. */
typedef struct found {
    char **file, **folder;
    size_t file_count, folder_count;
} found_t;

/* Files `path`, which lies in a folder, as what it is. */
static skn_status_t
entry_file(found_t *found, char *path, skn_error_t *error)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        skn_status_t failure =
            errno == ENOENT ? SKN_OK /* it was removed meanwhile */
                            : refuse_errno(path, "cannot be examined", error);
        free(path);
        return failure;
    }
    bool added = true;
    if (S_ISDIR(status.st_mode))
        added = skn_paths_add(&found->folder, &found->folder_count, path);
    else if (S_ISREG(status.st_mode) && status.st_size > 0 && !is_cache(path))
        added = skn_paths_add(&found->file, &found->file_count, path);
    else
        free(path);
    return added ? SKN_OK : no_memory("a folder", error);
}

static skn_status_t
folder_list(found_t *found, const char *path, skn_error_t *error)
{
    DIR *folder = opendir(path);
    skn_status_t status = SKN_OK;
    if (!folder)
        return refuse_errno(path, "the folder cannot be read", error);
    while (status == SKN_OK) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        char *name = NULL;
        if (!entry && errno != 0)
            status = refuse_errno(path, "the folder cannot be read", error);
        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        if (asprintf(&name, "%s%s%s", path, slash, entry->d_name) < 0)
            status = no_memory(path, error);
        else
            status = entry_file(found, name, error);
    }
    (void)closedir(folder);
    return status;
}

/* Lists the files below the folder. */
static skn_status_t
folder_walk(found_t *found, const char *path, skn_error_t *error)
{
    char *copy = strdup(path);
    if (!copy || !skn_paths_add(&found->folder, &found->folder_count, copy))
        return no_memory(path, error);
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < found->folder_count && status == SKN_OK; k++)
        status = folder_list(found, found->folder[k], error);
    skn_paths_sort(found->file, found->file_count);
    return status;
}

/* --- sources -------------------------------------------------------------- */

/* A listing in progress. */
typedef struct listing {
    skn_files_t *files;
    XXH3_state_t *hash;
} listing_t;

/* Takes a path, and adds its size and time to the fingerprint; `name` is its
 * name below a folder, or NULL. The last part of a path is its name in a list
 * or pattern. */
static skn_status_t
take(listing_t *listing, char *path, const char *name, skn_error_t *error)
{
    skn_files_t *files = listing->files;
    struct stat status;
    if (stat(path, &status) != 0)
        memset(&status, 0, sizeof(status)); /* opening it will say why */
    bool is_regular = S_ISREG(status.st_mode);
    int64_t facts[] = { is_regular ? status.st_size : 0,
                        is_regular ? status.st_mtim.tv_sec : 0,
                        is_regular ? status.st_mtim.tv_nsec : 0 };
    const char *slash = strrchr(path, '/');
    const char *told = name             ? name
                       : files->is_path ? NULL
                       : slash          ? slash + 1
                                        : path;
    if (told)
        (void)XXH3_64bits_update(listing->hash, told, strlen(told) + 1);
    (void)XXH3_64bits_update(listing->hash, facts, sizeof(facts));
    bool *named = realloc(files->is_named, files->count + 1);
    files->is_named = named ? named : files->is_named;
    if (!named) {
        free(path);
        return no_memory("a file", error);
    }
    named[files->count] = !name;
    files->is_regular = files->is_regular && is_regular;
    files->mode &= status.st_mode;
    files->total_bytes += (uint64_t)facts[0];
    return skn_paths_add(&files->path, &files->count, path)
               ? SKN_OK
               : no_memory("a file", error);
}

static skn_status_t
folder_take(listing_t *listing, const char *path, skn_error_t *error)
{
    found_t found = { 0 };
    skn_status_t status = folder_walk(&found, path, error);
    for (size_t k = 0; k < found.file_count && status == SKN_OK; k++) {
        const char *name = found.file[k] + strlen(path);
        char *file = found.file[k];
        found.file[k] = NULL;
        status = take(listing, file, name + strspn(name, "/"), error);
    }
    skn_paths_free(&found.file, &found.file_count);
    skn_paths_free(&found.folder, &found.folder_count);
    return status;
}

static skn_status_t
refuse_missing(const char *path, skn_error_t *error)
{
    return errno == ENOENT || errno == ENOTDIR
               ? skn_fail_hint(error,
                               skn_fail(error, SKN_NO_INPUT, "%s: no such file",
                                        skn_stream_name_shown(path)),
                               "check the path")
               : refuse_errno(path, "cannot be examined", error);
}

/* Takes what there is of that name. */
static skn_status_t
path_take(listing_t *listing, const char *path, skn_error_t *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return refuse_missing(path, error);
    if (S_ISDIR(facts.st_mode))
        return folder_take(listing, path, error);
    char *copy = strdup(path);
    return copy ? take(listing, copy, NULL, error) : no_memory(path, error);
}

/* Takes the files and folders that a pattern matches, in the order of their
 * names. */
static skn_status_t
pattern_take(listing_t *listing, const char *pattern, skn_error_t *error)
{
    glob_t matches = { 0 };
    int code = glob(pattern, GLOB_NOSORT, NULL, &matches);
    skn_status_t status = SKN_OK;
    if (code == GLOB_NOSPACE)
        status = no_memory(pattern, error);
    else if (code != 0)
        status = skn_fail_hint(error,
                               skn_fail(error, SKN_NO_INPUT,
                                        "%s: no file has such a name",
                                        skn_stream_name_shown(pattern)),
                               "check the path");
    else
        skn_paths_sort(matches.gl_pathv, matches.gl_pathc);
    for (size_t k = 0; k < matches.gl_pathc && status == SKN_OK; k++)
        if (!is_cache(matches.gl_pathv[k]))
            status = path_take(listing, matches.gl_pathv[k], error);
    globfree(&matches);
    return status;
}

static skn_status_t
line_take(listing_t *listing, const char *path, bool is_only,
          skn_error_t *error)
{
    struct stat facts;
    if (!is_only && is_cache(path))
        return SKN_OK;
    bool is_pattern = strpbrk(path, "*?[") && stat(path, &facts) != 0;
    listing->files->is_path = is_only && !is_pattern;
    return is_pattern ? pattern_take(listing, path, error)
                      : path_take(listing, path, error);
}

static skn_status_t
lines_take(listing_t *listing, const char *source, skn_error_t *error)
{
    bool is_only = !strchr(source, SKN_FILES_SEPARATOR);
    char *copy = strdup(source), *rest = copy, *line;
    const char between[] = { SKN_FILES_SEPARATOR, '\0' };
    skn_status_t status = copy ? SKN_OK : no_memory(source, error);
    while (status == SKN_OK && (line = strsep(&rest, between)))
        if (is_only || line[0])
            status = line_take(listing, line, is_only, error);
    free(copy);
    return status;
}

skn_status_t
skn_files_init(skn_files_t *files, const char *source, skn_error_t *error)
{
    listing_t listing = { files, XXH3_createState() };
    *files = (skn_files_t){ .mode = 0666, .is_regular = true };
    if (!listing.hash)
        return no_memory(source, error);
    (void)XXH3_64bits_reset(listing.hash);
    skn_status_t status = lines_take(&listing, source, error);
    files->fingerprint = XXH3_64bits_digest(listing.hash);
    (void)XXH3_freeState(listing.hash);
    if (status == SKN_OK && files->count == 0)
        status = skn_fail_hint(error,
                               skn_fail(error, SKN_NO_INPUT,
                                        "%s: there is no file in it",
                                        skn_stream_name_shown(source)),
                               "name a file, or a folder of them");
    return status;
}

void
skn_files_fini(skn_files_t *files)
{
    skn_paths_free(&files->path, &files->count);
    free(files->is_named);
    *files = (skn_files_t){ 0 };
}

skn_status_t
skn_files_check_regular(const skn_files_t *files, const char *source,
                        skn_error_t *error)
{
    if (files->is_regular)
        return SKN_OK;
    return skn_fail_hint(error,
                         skn_fail(error, SKN_NO_INPUT,
                                  "%s: is neither a regular file nor a folder, "
                                  "and data is read more than once",
                                  skn_stream_name_shown(source)),
                         "copy it into a file");
}

skn_status_t
skn_files_can_be_reread(const char *source, bool *can_be, skn_error_t *error)
{
    skn_files_t files;
    skn_error_t own = { 0 };
    skn_status_t status = skn_files_init(&files, source, &own);
    *can_be = status != SKN_OK || files.is_regular;
    skn_files_fini(&files);
    return status == SKN_NO_MEMORY
               ? skn_fail(error, SKN_NO_MEMORY, "%s", own.text)
               : SKN_OK;
}

skn_status_t
skn_files_check(const char *source, skn_error_t *error)
{
    skn_files_t files;
    skn_stream_t *stream = NULL;
    skn_status_t status = skn_files_init(&files, source, error);
    if (status == SKN_OK)
        status = skn_files_check_regular(&files, source, error);
    for (size_t k = 0; k < files.count && status == SKN_OK; k++) {
        status = skn_stream_open(files.path[k], &stream, error);
        skn_stream_close(&stream);
    }
    skn_files_fini(&files);
    return status;
}

char *
skn_files_name(const char *source, uint64_t place)
{
    skn_files_t files;
    uint64_t file = place >> SKN_FILES_LINE_BITS;
    skn_status_t status = skn_files_init(&files, source, NULL);
    bool is_there = status == SKN_OK && file < files.count;
    char *name = strdup(is_there ? files.path[file] : source);
    skn_files_fini(&files);
    return name;
}

char *
skn_files_cache_stem(const skn_files_t *files, const char *source)
{
    char *stem = NULL;
    if (files->is_path || files->count == 0)
        return strdup(source);
    if (files->count == 1)
        return strdup(files->path[0]);
    return asprintf(&stem, "%s.and-%zu-more", files->path[0],
                    files->count - 1) < 0
               ? NULL
               : stem;
}
