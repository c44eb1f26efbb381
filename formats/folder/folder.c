/* folder.c - creates, reads and replaces files below an open folder.
 *
 * This file owns: whole reads and writes. The state after a crash is as in
 * T. S. Pillai et al. 2014, "All File Systems Are Not Created Equal": sync the
 * file, rename, sync the folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/folder/folder.h"

#include "formats/text/system_error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static skn_status_t
fail_length(size_t length, skn_error_t *error)
{
    skn_status_t status = skn_fail(error, SKN_CANNOT_CREATE,
                                   "a folder's path has %zu bytes, 1 to %d "
                                   "allowed",
                                   length, PATH_MAX - 1);
    return skn_fail_hint(error, status, "choose another folder");
}

skn_status_t
skn_file_finish(FILE *file, const char *what, skn_error_t *error)
{
    int before = errno;
    bool flushed = fflush(file) == 0;
    if (flushed && !ferror(file))
        return SKN_OK;
    /* An earlier call may have failed long ago: its reason may be lost. */
    int code = flushed ? before : errno;
    if (!flushed || skn_errno_remedy(code, NULL))
        return skn_fail_code(error, SKN_STORAGE, code, NULL, "%s", what);
    (void)skn_fail(error, SKN_STORAGE, "%s: not everything could be written",
                   what);
    return skn_fail_hint(error, SKN_STORAGE, "is the disk full?");
}

skn_status_t
skn_fail_errno(skn_error_t *error, skn_status_t otherwise, const char *path,
               const char *name, const char *what)
{
    return skn_fail_code(error, otherwise, errno, NULL, "%s%s%s: %s", path,
                         name ? "/" : "", name ? name : "", what);
}

bool
skn_file_name_good(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t length = strnlen(name, SKN_NAME_MAX + 1);
    return length >= 1 && length <= SKN_NAME_MAX && name[0] != '.' &&
           strspn(name, letters) == length;
}

skn_status_t
skn_folder_open(const char *path, int *folder, skn_error_t *error)
{
    *folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*folder < 0)
        return skn_fail_errno(error, SKN_NO_INPUT, path, NULL,
                              "cannot open the folder");
    return SKN_OK;
}

static const char *
name_of(uid_t user, char *text, size_t text_bytes)
{
    char room[1024];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(user, &entry, room, sizeof(room), &found) == 0 && found)
        (void)snprintf(text, text_bytes, "%s", found->pw_name);
    else
        (void)snprintf(text, text_bytes, "the user %u", (unsigned)user);
    return text;
}

/* The folder exists, and as a rule belongs to another user. */
static skn_status_t
fail_owner(const char *path, uid_t owner, skn_error_t *error)
{
    char theirs[64], ours[64];
    skn_status_t status = skn_fail(
        error, SKN_NO_PERMISSION,
        "%s: the folder exists and belongs to %s; %s may not write to it", path,
        name_of(owner, theirs, sizeof(theirs)),
        name_of(geteuid(), ours, sizeof(ours)));
    return skn_fail_hint(error, status,
                         "choose a folder that you may write to, or run as "
                         "its owner");
}

/* Reports the obstacle at `part`, the longest existing start of `path` (reads
 * errno). */
static skn_status_t
fail_at(const char *path, const char *part, skn_error_t *error)
{
    struct stat facts;
    int code = errno;
    if (stat(part, &facts) == 0 && !S_ISDIR(facts.st_mode)) {
        (void)skn_fail(error, SKN_CANNOT_CREATE,
                       "%s: cannot create the folder: %s is a file", path,
                       part);
        return skn_fail_hint(error, SKN_CANNOT_CREATE,
                             "choose another path, or move that file away");
    }
    bool whole = strcmp(path, part) == 0;
    if (whole && (code == EACCES || code == EPERM) && stat(part, &facts) == 0)
        return fail_owner(path, facts.st_uid, error);
    return skn_fail_code(error, SKN_CANNOT_CREATE, code,
                         skn_errno_status(code, SKN_OK) == SKN_NO_PERMISSION
                             ? "choose a folder that you may write to"
                             : "choose another folder",
                         "%.*s: cannot create the folder%s%.200s",
                         whole ? 400 : 200, path, whole ? "" : ": ",
                         whole ? "" : part);
}

skn_status_t
skn_folder_check(const char *path, skn_error_t *error)
{
    char part[PATH_MAX];
    struct stat facts;
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(part))
        return fail_length(length, error);
    memcpy(part, path, length + 1);
    while (stat(part, &facts) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return fail_at(path, part, error);
        char *slash = strrchr(part, '/');
        if (!slash)
            (void)snprintf(part, sizeof(part), ".");
        else
            slash[slash == part] = '\0';
    }
    if (!S_ISDIR(facts.st_mode) ||
        faccessat(AT_FDCWD, part, W_OK | X_OK, AT_EACCESS) != 0)
        return fail_at(path, part, error);
    return SKN_OK;
}

/* Reports why a folder cannot be made, by the obstacle if there is one. */
static skn_status_t
fail_create(const char *path, const char *part, skn_error_t *error)
{
    int code = errno;
    skn_status_t status = skn_folder_check(path, error);
    if (status != SKN_OK)
        return status;
    errno = code;
    return fail_at(path, part, error);
}

/* Creates one folder and makes its name durable in its parent; an existing one
 * is not an error. `path` has no slash at its end. */
static int
make_one(const char *path)
{
    char parent[PATH_MAX];
    if (mkdir(path, 0777) != 0)
        return errno == EEXIST ? 0 : -1;
    const char *slash = strrchr(path, '/');
    if (!slash)
        (void)snprintf(parent, sizeof(parent), ".");
    else
        (void)snprintf(parent, sizeof(parent), "%.*s",
                       slash == path ? 1 : (int)(slash - path), path);
    int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 0; /* a parent that may be entered but not listed */
    int result = fsync(folder);
    int code = errno;
    (void)close(folder);
    errno = code;
    return result;
}

skn_status_t
skn_folder_create(const char *path, int *folder, skn_error_t *error)
{
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    *folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*folder >= 0)
        return SKN_OK;
    if (length == 0 || length >= sizeof(prefix))
        return fail_length(length, error);
    memcpy(prefix, path, length + 1);
    while (length > 1 && prefix[length - 1] == '/')
        prefix[--length] = '\0';
    for (char *slash = strchr(prefix + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_one(prefix) != 0)
            return fail_create(path, prefix, error);
        *slash = '/';
    }
    if (make_one(prefix) == 0)
        *folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *folder < 0 ? fail_create(path, prefix, error) : SKN_OK;
}

skn_status_t
skn_folder_sync(int folder, const char *path, skn_error_t *error)
{
    if (fsync(folder) != 0)
        return skn_fail_errno(error, SKN_STORAGE, path, NULL,
                              "cannot sync the folder");
    return SKN_OK;
}

skn_status_t
skn_folder_list(int folder, const char *path, skn_folder_visit_t *visit,
                void *visitor, skn_error_t *error)
{
    /* A descriptor of its own: listing moves the position of a shared one. */
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    if (!list) {
        skn_status_t status = skn_fail_errno(error, SKN_STORAGE, path, NULL,
                                             "cannot list the folder");
        if (again >= 0)
            (void)close(again);
        return status;
    }
    skn_status_t status = SKN_OK;
    struct dirent *entry;
    while (status == SKN_OK && (errno = 0, entry = readdir(list)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = visit(visitor, entry->d_name, error);
    if (status == SKN_OK && errno != 0)
        status = skn_fail_errno(error, SKN_STORAGE, path, NULL,
                                "cannot list the folder");
    (void)closedir(list);
    return status;
}

typedef struct remover {
    int folder;
    const char *path, *name;
} remover_t;

static skn_status_t
remove_inner(void *visitor, const char *name, skn_error_t *error)
{
    const remover_t *remover = visitor;
    if (unlinkat(remover->folder, name, 0) != 0 && errno != ENOENT)
        return skn_fail_code(error, SKN_STORAGE, errno, NULL,
                             "%s/%s/%s: cannot remove", remover->path,
                             remover->name, name);
    return SKN_OK;
}

skn_status_t
skn_folder_remove(int folder, const char *path, const char *name,
                  skn_error_t *error)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return SKN_OK;
    /* Linux reports EISDIR, POSIX EPERM; opening it shows whether it is a
     * folder. */
    int inner =
        openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return skn_fail_errno(error, SKN_STORAGE, path, name, "cannot remove");
    remover_t remover = { inner, path, name };
    skn_status_t status =
        skn_folder_list(inner, path, remove_inner, &remover, error);
    (void)close(inner);
    if (status == SKN_OK && unlinkat(folder, name, AT_REMOVEDIR) != 0)
        status =
            skn_fail_errno(error, SKN_STORAGE, path, name, "cannot remove");
    return status;
}

static int
remove_one(const char *path, const struct stat *facts, int kind,
           struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

skn_status_t
skn_folder_remove_tree(const char *path, skn_error_t *error)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ||
        errno == ENOENT)
        return SKN_OK;
    return skn_fail_code(error, SKN_STORAGE, errno, NULL,
                         "%s cannot be removed", path);
}

skn_status_t
skn_file_write(int file, const char *path, const void *bytes, size_t byte_count,
               uint64_t offset_bytes, skn_error_t *error)
{
    const char *next = bytes;
    while (byte_count > 0) {
        ssize_t done = pwrite(file, next, byte_count, (off_t)offset_bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            errno = done == 0 ? ENOSPC : errno;
            return skn_fail_errno(error, SKN_STORAGE, path, NULL,
                                  "cannot write");
        }
        next += done;
        byte_count -= (size_t)done;
        offset_bytes += (size_t)done;
    }
    return SKN_OK;
}

skn_status_t
skn_file_read(int file, const char *path, void *bytes, size_t byte_count,
              uint64_t offset_bytes, skn_error_t *error)
{
    char *next = bytes;
    while (byte_count > 0) {
        ssize_t done = pread(file, next, byte_count, (off_t)offset_bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return skn_fail_errno(error, SKN_STORAGE, path, NULL,
                                  "cannot read");
        if (done == 0)
            return skn_fail(error, SKN_BAD_DATA,
                            "%s: the file ends at byte %" PRIu64, path,
                            offset_bytes);
        next += done;
        byte_count -= (size_t)done;
        offset_bytes += (size_t)done;
    }
    return SKN_OK;
}

skn_status_t
skn_folder_write_file(int folder, const char *path, const char *name,
                      const void *bytes, size_t byte_count, skn_error_t *error)
{
    char full[PATH_MAX + SKN_NAME_MAX];
    (void)snprintf(full, sizeof(full), "%s/%s", path, name);
    int file =
        openat(folder, name,
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0)
        return skn_fail_errno(error, SKN_CANNOT_CREATE, path, name,
                              "cannot create");
    skn_status_t status =
        skn_file_write(file, full, bytes, byte_count, 0, error);
    if (status == SKN_OK && fsync(file) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, path, name, "cannot sync");
    /* Some network file systems report a lost write only here. */
    if (close(file) != 0 && status == SKN_OK)
        status = skn_fail_errno(error, SKN_STORAGE, path, name, "cannot close");
    if (status != SKN_OK)
        (void)unlinkat(folder, name, 0);
    return status;
}

/* Puts the file or link `fresh` in the place of `name`. */
static skn_status_t
put_fresh(int folder, const char *path, const char *fresh, const char *name,
          const char *what, skn_error_t *error)
{
    if (renameat(folder, fresh, folder, name) == 0)
        return skn_folder_sync(folder, path, error);
    skn_status_t status = skn_fail_errno(error, SKN_STORAGE, path, name, what);
    (void)unlinkat(folder, fresh, 0);
    return status;
}

skn_status_t
skn_folder_replace_file(int folder, const char *path, const char *name,
                        const void *bytes, size_t byte_count,
                        skn_error_t *error)
{
    char fresh[SKN_NAME_MAX + 8];
    (void)snprintf(fresh, sizeof(fresh), ".tmp-%s", name);
    skn_status_t status = skn_folder_remove(folder, path, fresh, error);
    if (status == SKN_OK)
        status = skn_folder_write_file(folder, path, fresh, bytes, byte_count,
                                       error);
    if (status != SKN_OK)
        return status;
    return put_fresh(folder, path, fresh, name, "cannot rename", error);
}

skn_status_t
skn_folder_open_file(int folder, const char *path, const char *name, int *file,
                     uint64_t *file_bytes, skn_error_t *error)
{
    struct stat facts;
    /* O_NONBLOCK: a named pipe would wait for its other end. */
    *file =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0)
        return skn_fail_errno(error,
                              errno == ELOOP ? SKN_BAD_DATA : SKN_NO_INPUT,
                              path, name, "cannot open");
    skn_status_t status = SKN_OK;
    if (fstat(*file, &facts) != 0)
        status =
            skn_fail_errno(error, SKN_STORAGE, path, name, "cannot examine");
    else if (!S_ISREG(facts.st_mode))
        status = skn_fail(error, SKN_BAD_DATA, "%s/%s: not a regular file",
                          path, name);
    if (status != SKN_OK) {
        (void)close(*file);
        *file = -1;
        return status;
    }
    *file_bytes = (uint64_t)facts.st_size;
    return SKN_OK;
}

skn_status_t
skn_folder_read_file(int folder, const char *path, const char *name,
                     size_t bytes_max, char **bytes, size_t *byte_count,
                     skn_error_t *error)
{
    char full[PATH_MAX + SKN_NAME_MAX];
    uint64_t file_bytes = 0;
    int file = -1;
    skn_status_t status =
        skn_folder_open_file(folder, path, name, &file, &file_bytes, error);
    if (status != SKN_OK)
        return status;
    (void)snprintf(full, sizeof(full), "%s/%s", path, name);
    char *text = NULL;
    if (file_bytes > bytes_max)
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s: %" PRIu64 " bytes, at most %zu allowed", full,
                          file_bytes, bytes_max);
    else if (!(text = malloc((size_t)file_bytes + 1)))
        status =
            skn_fail(error, SKN_NO_MEMORY,
                     "%s: no memory for %" PRIu64 " bytes", full, file_bytes);
    else
        status = skn_file_read(file, full, text, (size_t)file_bytes, 0, error);
    (void)close(file);
    if (status != SKN_OK) {
        free(text);
        return status;
    }
    text[file_bytes] = '\0';
    *bytes = text;
    *byte_count = (size_t)file_bytes;
    return SKN_OK;
}

skn_status_t
skn_folder_link(int folder, const char *path, const char *name,
                const char *target, skn_error_t *error)
{
    char fresh[SKN_NAME_MAX + 8];
    (void)snprintf(fresh, sizeof(fresh), ".tmp-%s", name);
    skn_status_t status = skn_folder_remove(folder, path, fresh, error);
    if (status != SKN_OK)
        return status;
    if (symlinkat(target, folder, fresh) != 0)
        return skn_fail_errno(error, SKN_CANNOT_CREATE, path, name,
                              "cannot link");
    return put_fresh(folder, path, fresh, name, "cannot replace", error);
}

skn_status_t
skn_folder_name_file(int folder, const char *path, const char *fresh,
                     const char *name, bool *taken, skn_error_t *error)
{
    if (linkat(folder, fresh, folder, name, 0) == 0)
        return SKN_OK;
    bool has_links = errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS;
    if (!has_links &&
        renameat2(folder, fresh, folder, name, RENAME_NOREPLACE) == 0)
        return SKN_OK;
    bool has_flags = has_links || errno != EINVAL;
    int why = errno;
    *taken = why == EEXIST;
    if (!has_flags) {
        *taken = faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (!*taken && renameat(folder, fresh, folder, name) == 0)
            return SKN_OK;
        why = errno;
    }
    errno = why;
    return skn_fail_errno(error, SKN_STORAGE, path, name, "cannot create");
}
