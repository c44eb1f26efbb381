/* dataset_place.c - where the cache of a data file lies, and how it gets there.
 *
 * This file owns: the names. A cache is written under a name of its own and
 * renamed when it is whole, so that two builders both succeed and a reader
 * never sees a half; one that was killed leaves <cache>.XXXXXX behind.
 * Folders: XDG Base Directory Specification 0.8, XDG_CACHE_HOME.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "formats/stream.h"

/* Of the source's name, in the shared folder: the hash makes it unique. */
#define STEM_BYTES 100

static skn_status_t
no_memory(const char *path, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the cache",
                    skn_stream_name_shown(path));
}

/* The user's folder for caches: "$XDG_CACHE_HOME/skein". NULL if there is no
 * such thing, or no memory: then this place is passed over. */
static char *
user_folder(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    /* The specification: relative paths there are to be ignored. */
    bool has_base = base && base[0] == '/';
    if (!has_base && (!home || home[0] != '/'))
        return NULL;
    if (asprintf(&folder, "%s%s/skein", has_base ? base : home,
                 has_base ? "" : "/.cache") < 0)
        return NULL;
    return folder;
}

/* A name in the user's folder that depends on the whole path of the source. */
static char *
user_place(const char *path)
{
    char *folder = user_folder(), *whole = realpath(path, NULL), *place = NULL;
    if (folder && whole) {
        uint64_t hash = XXH3_64bits(whole, strlen(whole));
        if (asprintf(&place, "%s/%.*s-%016" PRIx64 ".skc", folder, STEM_BYTES,
                     strrchr(whole, '/') + 1, hash) < 0)
            place = NULL;
    }
    free(folder);
    free(whole);
    return place;
}

skn_status_t
skn_dataset_places_init(skn_dataset_places_t *places, const char *path,
                        bool regular, const skn_dataset_options_t *options,
                        skn_error_t *error)
{
    *places = (skn_dataset_places_t){ .anonymous = true };
    if (options->cache == SKN_CACHE_PATH) {
        places->anonymous = false;
        assert(options->cache_path);
        places->path[0] = strdup(options->cache_path);
        if (!places->path[0])
            return no_memory(path, error);
        places->count = 1;
    } else if (options->cache == SKN_CACHE_AUTO && regular) {
        if (asprintf(&places->path[0], "%s.skc", path) < 0) {
            places->path[0] = NULL;
            return no_memory(path, error);
        }
        places->path[1] = user_place(path);
        places->count = places->path[1] ? 2 : 1;
    }
    return SKN_OK;
}

void
skn_dataset_places_fini(skn_dataset_places_t *places)
{
    for (size_t k = 0; k < SKN_DATASET_PLACES_MAX; k++) {
        free(places->path[k]);
        places->path[k] = NULL;
    }
    places->count = 0;
}

/* Whether another place may have more luck; a full disk is told instead. */
static bool
is_refusal(int why)
{
    return why == EACCES || why == EPERM || why == EROFS || why == ENOENT ||
           why == ENOTDIR || why == ENAMETOOLONG;
}

/* Whether a cache may replace `place`, which the user named: a slip of the pen
 * must not cost the user a file. */
static skn_status_t
replace_check(const char *place, skn_error_t *error)
{
    char magic[sizeof(SKN_DATASET_MAGIC) - 1];
    int fd = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return SKN_OK; /* creating it says more */
    if (fd < 0)
        return skn_fail(error, SKN_NO_PERMISSION,
                        "%s: cannot be read, and is not overwritten: %s",
                        skn_stream_name_shown(place), strerror(errno));
    ssize_t got = read(fd, magic, sizeof(magic));
    (void)close(fd);
    if (got == 0 || (got == (ssize_t)sizeof(magic) &&
                     memcmp(magic, SKN_DATASET_MAGIC, sizeof(magic)) == 0))
        return SKN_OK;
    return skn_fail(error, SKN_CANNOT_CREATE,
                    "%s: is not a cache of Skein, and is not overwritten",
                    skn_stream_name_shown(place));
}

/* Makes the user's folder, and the one above it. */
static void
user_folder_make(const char *place)
{
    char *folder = strdup(place), *above = strdup(place);
    if (folder && above) {
        (void)mkdir(dirname(dirname(above)), 0700);
        (void)mkdir(dirname(folder), 0700);
    }
    free(folder);
    free(above);
}

/* A file without a name; where the system cannot, one that loses it. */
static int
anonymous_open(void)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    if (!folder || !*folder)
        folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    int bytes = snprintf(path, sizeof(path), "%s/skein.XXXXXX", folder);
    if (bytes < 0 || (size_t)bytes >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

skn_status_t
skn_dataset_temp_open(const skn_dataset_places_t *places,
                      skn_dataset_temp_t *temp, skn_error_t *error)
{
    *temp = (skn_dataset_temp_t){ .fd = -1 };
    for (size_t k = 0; k < places->count; k++) {
        const char *place = places->path[k];
        if (k == 1)
            user_folder_make(place);
        skn_status_t status =
            places->anonymous ? SKN_OK : replace_check(place, error);
        if (status != SKN_OK)
            return status;
        if (asprintf(&temp->path, "%s.XXXXXX", place) < 0) {
            temp->path = NULL;
            return no_memory(place, error);
        }
        temp->final = place;
        temp->fd = mkostemp(temp->path, O_CLOEXEC);
        if (temp->fd >= 0)
            return SKN_OK;
        int why = errno;
        free(temp->path);
        temp->path = NULL;
        if (!places->anonymous || !is_refusal(why))
            return skn_fail_hint(
                error,
                skn_fail(error,
                         why == EACCES || why == EPERM ? SKN_NO_PERMISSION
                                                       : SKN_CANNOT_CREATE,
                         "%s: the cache cannot be created: %s",
                         skn_stream_name_shown(place), strerror(why)),
                "set data.cache to a path in a folder that you may write to");
    }
    temp->final = "temporary file";
    temp->fd = anonymous_open();
    if (temp->fd >= 0)
        return SKN_OK;
    return skn_fail(error, SKN_CANNOT_CREATE,
                    "no temporary file can be created: %s", strerror(errno));
}

skn_status_t
skn_dataset_temp_keep(skn_dataset_temp_t *temp, skn_error_t *error)
{
    if (!temp->path)
        return SKN_OK;
    if (fsync(temp->fd) != 0 || rename(temp->path, temp->final) != 0)
        return skn_fail(error, SKN_STORAGE,
                        "%s: the cache cannot be written: %s",
                        skn_stream_name_shown(temp->final), strerror(errno));
    /* The name is lost in a crash without this, which costs a rebuild only:
     * so its failure is no failure. */
    int folder = open(dirname(temp->path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
    free(temp->path);
    temp->path = NULL;
    return SKN_OK;
}

void
skn_dataset_temp_close(skn_dataset_temp_t *temp)
{
    if (temp->path)
        (void)unlink(temp->path);
    free(temp->path);
    temp->path = NULL;
    if (temp->fd >= 0)
        (void)close(temp->fd);
    temp->fd = -1;
}
