/* cache_place.c - chooses the path of a source's cache, creates it.
 *
 * This file owns: the names. Folders: XDG Base Directory Specification 0.8,
 * XDG_CACHE_HOME.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "formats/source/stream.h"
#include "formats/text/system_error.h"

/* Bytes of the source's name, in the shared folder: the hash makes it
 * unique. */
#define STEM_BYTES 100
/* A dot and the number of a file, in hexadecimal. */
#define NUMBER_BYTES 17u
/* Linux lists here what a process has open. */
#define OPEN_FILES "/proc/self/fd"

static skn_status_t
no_memory(const char *path, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the cache",
                    skn_stream_name_shown(path));
}

/* The user's folder for caches: "$XDG_CACHE_HOME/skein". NULL if there is none,
 * or no memory: then this place is skipped. */
static char *
user_folder(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    /* The specification requires relative paths to be ignored. */
    bool has_base = base && base[0] == '/';
    if (!has_base && (!home || home[0] != '/'))
        return NULL;
    if (asprintf(&folder, "%s%s/skein", has_base ? base : home,
                 has_base ? "" : "/.cache") < 0)
        return NULL;
    return folder;
}

/* The whole path of a source, for free(); its last part may be the name of
 * several files, which is that of none. NULL: there is none, or no memory. */
static char *
whole_path(const char *source)
{
    char *whole = realpath(source, NULL);
    const char *slash = strrchr(source, '/');
    if (whole)
        return whole;
    char *folder =
        slash ? strndup(source, (size_t)(slash - source) + 1) : strdup(".");
    char *place = folder ? realpath(folder, NULL) : NULL;
    if (place &&
        asprintf(&whole, "%s/%s", place, slash ? slash + 1 : source) < 0)
        whole = NULL;
    free(folder);
    free(place);
    return whole;
}

/* A name in the user's folder that depends on the whole path of the source. */
static char *
user_place(const skn_cache_form_t *form)
{
    char *folder = user_folder(), *whole = whole_path(form->source);
    char *place = NULL;
    if (folder && whole) {
        uint64_t hash = XXH3_64bits(whole, strlen(whole));
        if (asprintf(&place, "%s/%.*s-%016" PRIx64 "%s", folder, STEM_BYTES,
                     strrchr(whole, '/') + 1, hash, form->suffix) < 0)
            place = NULL;
    }
    free(folder);
    free(whole);
    return place;
}

/* `path` without slashes at its end: a cache of a folder is beside it. */
static int
stem_bytes(const char *path)
{
    size_t bytes = strlen(path);
    while (bytes > 1 && path[bytes - 1] == '/')
        bytes--;
    return (int)bytes;
}

skn_status_t
skn_cache_places_init(skn_cache_places_t *places, const skn_cache_form_t *form,
                      skn_error_t *error)
{
    *places = (skn_cache_places_t){ .form = form, .anonymous = true };
    if (form->place == SKN_CACHE_PATH) {
        places->anonymous = false;
        assert(form->path);
        places->path[0] = strdup(form->path);
        if (!places->path[0])
            return no_memory(form->source, error);
        places->count = 1;
    } else if (form->place == SKN_CACHE_AUTO && form->can_be_named) {
        if (asprintf(&places->path[0], "%.*s%s", stem_bytes(form->source),
                     form->source, form->suffix) < 0) {
            places->path[0] = NULL;
            return no_memory(form->source, error);
        }
        places->path[1] = user_place(form);
        places->count = places->path[1] ? 2 : 1;
    }
    return SKN_OK;
}

void
skn_cache_places_fini(skn_cache_places_t *places)
{
    for (size_t k = 0; k < SKN_CACHE_PLACES_MAX; k++) {
        free(places->path[k]);
        places->path[k] = NULL;
    }
    places->count = 0;
}

/* Whether another place may work after errno `why`, for instance if this one is
 * full. */
static bool
is_of_the_place(int why)
{
    return skn_errno_status(why, SKN_OK) != SKN_NO_MEMORY;
}

/* Whether a cache may replace `place`, which the user named: a typing mistake
 * must not cost the user a file. */
static skn_status_t
replace_check(const char *place, const char *wanted, skn_error_t *error)
{
    char magic[SKN_CACHE_MAGIC_BYTES];
    int fd = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return SKN_OK; /* creating it will report more */
    if (fd < 0)
        return skn_fail_code(error, SKN_NO_PERMISSION, errno, NULL,
                             "%s: cannot be read, so it is not overwritten",
                             skn_stream_name_shown(place));
    ssize_t got = read(fd, magic, sizeof(magic));
    (void)close(fd);
    if (got == 0 || (got == (ssize_t)sizeof(magic) &&
                     memcmp(magic, wanted, sizeof(magic)) == 0))
        return SKN_OK;
    return skn_fail(error, SKN_CANNOT_CREATE,
                    "%s: is not a cache of Skein, so it is not overwritten",
                    skn_stream_name_shown(place));
}

/* Makes the folder, and its parent. */
static void
folder_make(const char *folder)
{
    char *above = strdup(folder);
    if (above) {
        (void)mkdir(dirname(above), 0700);
        (void)mkdir(folder, 0700);
    }
    free(above);
}

char *
skn_cache_user_folder(void)
{
    char *folder = user_folder();
    if (folder)
        folder_make(folder);
    return folder;
}

const char *
skn_cache_temp_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* Opens a file without a name. */
static int
nameless_open(const char *folder)
{
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Whether the file system or the kernel has no such files. */
static bool
lacks_nameless(int why)
{
    return why == EOPNOTSUPP || why == EISDIR || why == EINVAL;
}

/* The same; if it cannot, a named file that is unlinked. */
static int
anonymous_open(const char *folder)
{
    char path[PATH_MAX];
    int fd = nameless_open(folder);
    if (fd >= 0 || !lacks_nameless(errno))
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

/* Adds the remedy for a place that has failed. */
static skn_status_t
say_remedy(const skn_cache_temp_t *temp, int why, skn_error_t *error)
{
    bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
    if (temp->shown[0])
        return skn_fail_hint(error, error ? error->status : SKN_OK,
                             "set TMPDIR to a folder that you may write to%s",
                             full ? " and that has room" : "");
    return skn_fail_hint(error, error ? error->status : SKN_OK,
                         "%sset data.cache to a path in a folder that %s",
                         full ? "free some space, or " : "",
                         full ? "has room" : "you may write to");
}

/* Reports why the file at temp->final cannot be created or written. */
skn_status_t
skn_cache_temp_refuse(skn_cache_temp_t *temp, skn_status_t status,
                      const char *verb, int why, skn_error_t *error)
{
    temp->unwritable = is_of_the_place(why);
    status =
        skn_fail_code(error, status, why, NULL, "%s: the cache cannot be %s",
                      skn_stream_name_shown(temp->final), verb);
    if (temp->unwritable)
        (void)say_remedy(temp, why, error);
    return status;
}

static skn_status_t
temp_open_anonymous(skn_cache_temp_t *temp, skn_error_t *error)
{
    temp->is_anonymous = true;
    const char *folder = skn_cache_temp_folder();
    (void)snprintf(temp->shown, sizeof(temp->shown),
                   "a temporary file in %.240s (TMPDIR)",
                   skn_stream_name_shown(folder));
    temp->final = temp->shown;
    temp->fd = anonymous_open(folder);
    if (temp->fd >= 0)
        return SKN_OK;
    return skn_cache_temp_refuse(temp, SKN_CANNOT_CREATE, "created", errno,
                                 error);
}

/* Opens a file that has no name before it is whole, so that a process that is
 * killed leaves nothing. */
static int
nameless_for(const char *final)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(final, '/');
    const char *name = slash ? slash + 1 : final;
    int bytes =
        snprintf(folder, sizeof(folder), "%.*s",
                 slash ? (int)(slash - final + 1) : 2, slash ? final : "./");
    bool fits = bytes > 0 && (size_t)bytes < sizeof(folder) &&
                strlen(name) + NUMBER_BYTES <= NAME_MAX;
    if (fits && access(OPEN_FILES, X_OK) == 0)
        return nameless_open(folder);
    errno = EOPNOTSUPP;
    return -1;
}

/* Creates a file of a name that no other file has. */
static int
named_open(skn_cache_temp_t *temp)
{
    if (asprintf(&temp->path, "%s.XXXXXX", temp->final) < 0) {
        temp->path = NULL;
        errno = ENOMEM;
        return -1;
    }
    int fd = mkostemp(temp->path, O_CLOEXEC);
    if (fd >= 0)
        return fd;
    int why = errno;
    free(temp->path);
    temp->path = NULL;
    errno = why;
    return -1;
}

/* Goes on with a copy that has a name. */
static int
name_copy(skn_cache_temp_t *temp, const struct stat *facts)
{
    off_t at = 0;
    int fd = named_open(temp);
    if (fd < 0)
        return -1;
    int nameless = temp->fd;
    temp->fd = fd;
    ssize_t copied = 1;
    while (at < facts->st_size && copied > 0)
        copied = sendfile(fd, nameless, &at, (size_t)(facts->st_size - at));
    int failed =
        copied <= 0 || fchmod(fd, facts->st_mode & 0777) != 0 || fsync(fd) != 0;
    if (copied == 0)
        errno = EIO; /* it has become shorter */
    int why = errno;
    (void)close(nameless);
    errno = why;
    return failed ? -1 : 0;
}

/* Gives it a name that no other file has: its number in the file system. Some
 * file systems and sandboxes refuse that. */
static int
name_make(skn_cache_temp_t *temp)
{
    char own[sizeof(OPEN_FILES) + 16];
    struct stat facts;
    if (fstat(temp->fd, &facts) != 0)
        return -1;
    if (asprintf(&temp->path, "%s.%jx", temp->final, (uintmax_t)facts.st_ino) <
        0) {
        temp->path = NULL;
        errno = ENOMEM;
        return -1;
    }
    (void)snprintf(own, sizeof(own), OPEN_FILES "/%d", temp->fd);
    if (linkat(AT_FDCWD, own, AT_FDCWD, temp->path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    free(temp->path);
    temp->path = NULL;
    return name_copy(temp, &facts);
}

skn_status_t
skn_cache_temp_open(const skn_cache_places_t *places, size_t place,
                    skn_cache_temp_t *temp, skn_error_t *error)
{
    *temp = (skn_cache_temp_t){ .fd = -1 };
    if (place == places->count)
        return temp_open_anonymous(temp, error);
    temp->final = places->path[place];
    if (place == 1)
        free(skn_cache_user_folder());
    skn_status_t status =
        places->anonymous
            ? SKN_OK
            : replace_check(temp->final, places->form->magic, error);
    if (status != SKN_OK)
        return status;
    temp->fd = nameless_for(temp->final);
    if (temp->fd < 0 && lacks_nameless(errno))
        temp->fd = named_open(temp);
    return temp->fd >= 0 ? SKN_OK
                         : skn_cache_temp_refuse(temp, SKN_CANNOT_CREATE,
                                                 "created", errno, error);
}

skn_status_t
skn_cache_temp_keep(skn_cache_temp_t *temp, skn_error_t *error)
{
    if (temp->is_anonymous)
        return SKN_OK;
    if (fsync(temp->fd) != 0 || (!temp->path && name_make(temp) != 0) ||
        rename(temp->path, temp->final) != 0)
        return skn_cache_temp_refuse(temp, SKN_STORAGE, "written", errno,
                                     error);
    /* Without this a crash loses the name, which only costs a rebuild: so its
     * failure is ignored. */
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
skn_cache_temp_close(skn_cache_temp_t *temp)
{
    if (temp->path)
        (void)unlink(temp->path);
    free(temp->path);
    temp->path = NULL;
    if (temp->fd >= 0)
        (void)close(temp->fd);
    temp->fd = -1;
}
