/* run_form.c - keeps file forms in a run folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_form.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "formats/folder/folder.h"

/* The run folder removes what a process that was killed has left. */
#define FRESH_PREFIX ".tmp-"
#define FRESH_BYTES 64u

skn_status_t
skn_run_form_keep(const skn_run_folder_t *run, const char *name,
                  const char *form, size_t form_bytes, skn_error_t *error)
{
    return skn_folder_replace_file(skn_run_folder_descriptor(run),
                                   skn_run_folder_path(run), name, form,
                                   form_bytes, error);
}

bool
skn_run_form_find(const char *run_path, const char *name,
                  char path[SKN_RUN_FORM_PATH_BYTES])
{
    (void)snprintf(path, SKN_RUN_FORM_PATH_BYTES, "%s/%s", run_path, name);
    return access(path, F_OK) == 0;
}

/* --- copies of files ------------------------------------------------------ */

static skn_status_t
copy(int from, const char *source, int to, const char *path, const char *fresh,
     skn_error_t *error)
{
    char bytes[65536];
    uint64_t done = 0;
    for (;;) {
        ssize_t got = read(from, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return skn_fail_errno(error, SKN_STORAGE, source, NULL,
                                  "cannot read");
        if (got == 0)
            break;
        skn_status_t status =
            skn_file_write(to, path, bytes, (size_t)got, done, error);
        if (status != SKN_OK)
            return status;
        done += (uint64_t)got;
    }
    return fsync(to) == 0 ? SKN_OK
                          : skn_fail_errno(error, SKN_STORAGE, path, fresh,
                                           "cannot write");
}

/* Copies the source to the fresh name in the folder. */
static skn_status_t
write_fresh(int folder, const char *path, const char *fresh, const char *source,
            skn_error_t *error)
{
    int from = open(source, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return skn_fail_errno(error, SKN_NO_INPUT, source, NULL, "cannot open");
    int to =
        openat(folder, fresh,
               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    skn_status_t status = to < 0 ? skn_fail_errno(error, SKN_STORAGE, path,
                                                  fresh, "cannot create")
                                 : copy(from, source, to, path, fresh, error);
    (void)close(from);
    if (to >= 0 && close(to) != 0 && status == SKN_OK)
        status =
            skn_fail_errno(error, SKN_STORAGE, path, fresh, "cannot write");
    return status;
}

skn_status_t
skn_run_form_copy(const skn_run_folder_t *run, const char *name,
                  const char *source, skn_error_t *error)
{
    char fresh[FRESH_BYTES];
    (void)snprintf(fresh, sizeof(fresh), FRESH_PREFIX "%s", name);
    int folder = skn_run_folder_descriptor(run);
    const char *path = skn_run_folder_path(run);
    if (!source[0])
        return skn_folder_remove(folder, path, name, error);
    skn_status_t status = write_fresh(folder, path, fresh, source, error);
    if (status == SKN_OK && renameat(folder, fresh, folder, name) != 0)
        status =
            skn_fail_errno(error, SKN_STORAGE, path, name, "cannot rename");
    if (status == SKN_OK)
        return skn_folder_sync(folder, path, error);
    (void)unlinkat(folder, fresh, 0);
    return status;
}
