/* texts.c - lists the files of a corpus; does not read them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/texts.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "formats/source/stream.h"
#include "formats/text/paths.h"
#include "formats/text/system_error.h"

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
    else if (S_ISREG(status.st_mode))
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

static skn_status_t
source_list(found_t *found, const char *source, bool *is_folder,
            skn_error_t *error)
{
    struct stat status;
    if (stat(source, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? skn_fail_hint(error,
                                   skn_fail(error, SKN_NO_INPUT,
                                            "%s: no such file or folder",
                                            skn_stream_name_shown(source)),
                                   "check the path")
                   : refuse_errno(source, "cannot be examined", error);
    *is_folder = S_ISDIR(status.st_mode);
    if (!S_ISREG(status.st_mode) && !*is_folder)
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_NO_INPUT,
                     "%s: is neither a regular file nor a folder, and text is "
                     "read more than once",
                     skn_stream_name_shown(source)),
            "copy it into a file");
    char *copy = strdup(source);
    if (!copy ||
        !skn_paths_add(*is_folder ? &found->folder : &found->file,
                       *is_folder ? &found->folder_count : &found->file_count,
                       copy))
        return no_memory(source, error);
    skn_status_t listed = SKN_OK;
    for (size_t k = 0; k < found->folder_count && listed == SKN_OK; k++)
        listed = folder_list(found, found->folder[k], error);
    skn_paths_sort(found->file, found->file_count);
    return listed;
}

/* Adds size and time of each file to the fingerprint. */
static skn_status_t
files_take(skn_texts_t *texts, found_t *found, const char *source,
           bool is_folder, XXH3_state_t *hash, skn_error_t *error)
{
    texts->path = calloc(found->file_count + 1, sizeof(*texts->path));
    texts->is_named = calloc(found->file_count + 1, sizeof(*texts->is_named));
    if (!texts->path || !texts->is_named)
        return no_memory(source, error);
    for (size_t k = 0; k < found->file_count; k++) {
        struct stat status;
        if (stat(found->file[k], &status) != 0)
            return refuse_errno(found->file[k], "cannot be examined", error);
        int64_t facts[] = { status.st_size, status.st_mtim.tv_sec,
                            status.st_mtim.tv_nsec };
        const char *name = found->file[k] + (is_folder ? strlen(source) : 0);
        name += strspn(name, "/");
        if (is_folder)
            (void)XXH3_64bits_update(hash, name, strlen(name) + 1);
        (void)XXH3_64bits_update(hash, facts, sizeof(facts));
        texts->mode &= status.st_mode;
        texts->total_bytes += (uint64_t)status.st_size;
        texts->path[texts->count] = found->file[k];
        texts->is_named[texts->count++] = !is_folder;
        found->file[k] = NULL;
    }
    return SKN_OK;
}

skn_status_t
skn_texts_init(skn_texts_t *texts, const char *source, skn_error_t *error)
{
    found_t found = { 0 };
    bool is_folder = false;
    *texts = (skn_texts_t){ .mode = 0666 };
    XXH3_state_t *hash = XXH3_createState();
    if (!hash)
        return no_memory(source, error);
    (void)XXH3_64bits_reset(hash);
    skn_status_t status = source_list(&found, source, &is_folder, error);
    if (status == SKN_OK)
        status = files_take(texts, &found, source, is_folder, hash, error);
    skn_paths_free(&found.file, &found.file_count);
    skn_paths_free(&found.folder, &found.folder_count);
    texts->fingerprint = XXH3_64bits_digest(hash);
    (void)XXH3_freeState(hash);
    return status;
}

void
skn_texts_fini(skn_texts_t *texts)
{
    skn_paths_free(&texts->path, &texts->count);
    free(texts->is_named);
    *texts = (skn_texts_t){ 0 };
}

skn_status_t
skn_texts_check(const char *source, skn_error_t *error)
{
    skn_texts_t texts;
    skn_stream_t *stream = NULL;
    skn_status_t status = skn_texts_init(&texts, source, error);
    for (size_t k = 0; k < texts.count && status == SKN_OK; k++) {
        status = skn_stream_open(texts.path[k], &stream, error);
        skn_stream_close(&stream);
    }
    skn_texts_fini(&texts);
    return status;
}
