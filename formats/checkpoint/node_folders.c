/* node_folders.c - finds the run folders of a run's nodes within one folder.
 *
 * This file owns: the conditions for folders to be of one run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/node_folders.h"

#include "formats/folder/folder.h"
#include "formats/text/paths.h"
#include "formats/text/system_error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct folder_search {
    const char *top;
    skn_node_folders_t *parts;
    bool given; /* parts->run_id is given */
} folder_search_t;

static const char *
name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Skips an entry that is not a sound run folder. */
static skn_status_t
visit(void *visitor, const char *entry, skn_error_t *error)
{
    folder_search_t *search = visitor;
    skn_node_folders_t *parts = search->parts;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", search->top, entry) < 0)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its path",
                        entry);
    skn_error_t fault = { 0 };
    skn_run_folder_t *run = skn_run_folder_begun(path)
                                ? skn_run_folder_open_read_only(path, &fault)
                                : NULL;
    if (!run) {
        free(path);
        return fault.status == SKN_NO_MEMORY
                   ? skn_fail(error, SKN_NO_MEMORY, "%s", fault.text)
                   : SKN_OK;
    }
    bool first = !search->given && parts->count == 0;
    if (first)
        memcpy(parts->run_id, skn_run_folder_id(run), SKN_RUN_ID_BYTES);
    bool same = strcmp(parts->run_id, skn_run_folder_id(run)) == 0;
    skn_run_folder_close(&run);
    if (same)
        return skn_paths_add(&parts->path, &parts->count, path)
                   ? SKN_OK
                   : skn_fail(error, SKN_NO_MEMORY,
                              "%s: no memory for a list of run folders",
                              search->top);
    assert(search->given || parts->count > 0);
    if (!search->given && !parts->other[0][0]) {
        (void)snprintf(parts->other[0], sizeof(parts->other[0]), "%s",
                       name_of(parts->path[0]));
        (void)snprintf(parts->other[1], sizeof(parts->other[1]), "%s", entry);
    }
    free(path);
    return SKN_OK;
}

static skn_status_t
list(const char *path, bool given, skn_node_folders_t *parts,
     skn_error_t *error)
{
    folder_search_t search = { .top = path, .parts = parts, .given = given };
    int folder = -1;
    skn_status_t status = skn_folder_open(path, &folder, error);
    if (status == SKN_OK)
        status = skn_folder_list(folder, path, visit, &search, error);
    if (folder >= 0)
        (void)close(folder);
    if (status != SKN_OK)
        skn_node_folders_fini(parts);
    else
        skn_paths_sort(parts->path, parts->count);
    return status;
}

static skn_status_t
take_id(const char *run_path, skn_node_folders_t *parts, skn_error_t *error)
{
    skn_run_folder_t *run = skn_run_folder_open_read_only(run_path, error);
    if (!run)
        return error->status;
    memcpy(parts->run_id, skn_run_folder_id(run), SKN_RUN_ID_BYTES);
    skn_run_folder_close(&run);
    return SKN_OK;
}

skn_status_t
skn_node_folders_in(const char *path, skn_node_folders_t *parts,
                    skn_error_t *error)
{
    char journal[SKN_TEXT_MAX + 32];
    skn_error_t own = { 0 };
    *parts = (skn_node_folders_t){ 0 };
    bool begun = skn_run_folder_begun(path);
    skn_status_t status =
        begun ? take_id(path, parts, error ? error : &own) : SKN_OK;
    if (status == SKN_OK)
        status = list(path, begun, parts, error);
    (void)snprintf(journal, sizeof(journal), "%s/" SKN_COORDINATOR_JOURNAL,
                   path);
    if (status == SKN_OK && !begun &&
        (parts->other[0][0] ||
         (parts->count == 1 && access(journal, F_OK) != 0)))
        skn_paths_free(&parts->path, &parts->count);
    return status;
}

skn_status_t
skn_node_folders_beside(const char *run_path, skn_node_folders_t *parts,
                        skn_error_t *error)
{
    skn_error_t own = { 0 };
    *parts = (skn_node_folders_t){ 0 };
    skn_status_t status = take_id(run_path, parts, error ? error : &own);
    char *top = status == SKN_OK ? realpath(run_path, NULL) : NULL;
    if (status == SKN_OK && !top)
        return skn_fail_code(error, SKN_NO_INPUT, errno, NULL, "%s", run_path);
    char *slash = top ? strrchr(top, '/') : NULL;
    if (slash)
        slash[slash == top] = '\0';
    if (slash)
        status = list(top, true, parts, error);
    free(top);
    return status;
}

void
skn_node_folders_fini(skn_node_folders_t *parts)
{
    skn_paths_free(&parts->path, &parts->count);
    *parts = (skn_node_folders_t){ 0 };
}
