/* checkpoint_find.c - chooses and opens the newest whole checkpoint of a run.
 *
 * It searches a run folder and the folders of nodes (node_folders.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/reader_internal.h"

#include "formats/folder/folder.h"
#include "formats/checkpoint/node_folders.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Loads the checkpoint `id` in the run folder `run_path`. */
static skn_status_t
load_batch(const char *run_path, const skn_batch_id_t *id, skn_verify_t verify,
           skn_checkpoint_t **checkpoint, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], *path = NULL;
    skn_batch_name(id->batch, id->generation, name);
    if (asprintf(&path, "%s/%s", run_path, name) < 0)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its path",
                        name);
    int folder =
        openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    skn_status_t status =
        folder < 0
            ? skn_fail_errno(error, SKN_BAD_DATA, path, NULL,
                             "cannot open the folder")
            : skn_checkpoint_load(path, folder, verify, checkpoint, error);
    free(path);
    return status;
}

/* A checkpoint that may be chosen. */
typedef struct find_candidate {
    skn_batch_id_t id;
    const char *run_path;
    size_t place; /* among the folders: the first one is tried first */
} find_candidate_t;

typedef struct candidates {
    find_candidate_t *at;
    size_t count;
} candidates_t;

static int
newest_first(const void *left, const void *right)
{
    const find_candidate_t *a = left, *b = right;
    if (a->id.batch != b->id.batch)
        return a->id.batch < b->id.batch ? 1 : -1;
    if (a->id.generation != b->id.generation)
        return a->id.generation < b->id.generation ? 1 : -1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Adds those of a run folder; only those of batch *only, if it is not NULL. */
static skn_status_t
add_candidates(candidates_t *all, const char *run_path, size_t place,
               const uint64_t *only, skn_error_t *error)
{
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    int folder = -1;
    skn_status_t status = skn_folder_open(run_path, &folder, error);
    if (status == SKN_OK)
        status = skn_run_folder_batches(folder, run_path, &list, &count, error);
    find_candidate_t *more =
        status == SKN_OK
            ? realloc(all->at, (all->count + count + 1) * sizeof(*more))
            : NULL;
    if (more)
        all->at = more;
    else if (status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY,
                          "no memory for a list of %zu checkpoints", count);
    for (size_t k = 0; status == SKN_OK && k < count; k++)
        if (!only || list[k].batch == *only)
            all->at[all->count++] =
                (find_candidate_t){ list[k], run_path, place };
    free(list);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

/* Loads the first of the candidates that is whole. */
static skn_status_t
load_first(const char *path, const candidates_t *all, skn_verify_t verify,
           skn_checkpoint_t **checkpoint, skn_error_t *error)
{
    size_t refused = 0;
    skn_error_t fault = { 0 }, newest = { 0 };
    skn_status_t status = SKN_NO_INPUT;
    for (size_t i = 0; i < all->count && skn_checkpoint_is_damage(status);
         i++) {
        const find_candidate_t *one = &all->at[i];
        bool again = i > 0 && one[-1].id.batch == one->id.batch &&
                     one[-1].id.generation == one->id.generation;
        status =
            load_batch(one->run_path, &one->id, verify, checkpoint, &fault);
        if (skn_checkpoint_is_damage(status) && refused == 0)
            newest = fault;
        refused += skn_checkpoint_is_damage(status) && !again;
        if (status == SKN_OK && again) /* another copy of it was refused */
            refused -= 1;
    }
    if (status == SKN_OK && refused > 0) {
        skn_checkpoint_t *used = *checkpoint;
        (void)snprintf(used->warning, sizeof(used->warning),
                       "using the checkpoint of batch %" PRIu64
                       "; %zu newer refused, the newest because: %s",
                       used->manifest.batch, refused, newest.text);
    } else if (skn_checkpoint_is_damage(status)) {
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s: none of %zu checkpoints can be used; the newest "
                          "is refused: %s",
                          path, refused, newest.text);
    } else if (status != SKN_OK) {
        status = skn_fail(error, status, "%s", fault.text);
    }
    return status;
}

/* Loads the newest whole one of the run folder `path` and of those of nodes in
 * it. */
static skn_status_t
load_newest(const char *path, const uint64_t *only, skn_verify_t verify,
            skn_checkpoint_t **checkpoint, skn_error_t *error)
{
    candidates_t all = { 0 };
    skn_node_folders_t parts = { 0 };
    skn_status_t status = add_candidates(&all, path, 0, only, error);
    if (status == SKN_OK) {
        skn_status_t looked = skn_node_folders_in(path, &parts, error);
        /* With a damaged run.json no run folders are found; its checkpoints may
         * be sound. Other failures count, as nodes that cannot be searched may
         * have newer ones. */
        status = looked == SKN_BAD_DATA ? SKN_OK : looked;
    }
    for (size_t k = 0; k < parts.count && status == SKN_OK; k++)
        status = add_candidates(&all, parts.path[k], k + 1, only, error);
    if (status == SKN_OK && all.count == 0)
        status = skn_fail(error, SKN_NO_INPUT, "%s holds no checkpoint", path);
    if (status == SKN_OK) {
        qsort(all.at, all.count, sizeof(*all.at), newest_first);
        status = load_first(path, &all, verify, checkpoint, error);
    }
    free(all.at);
    skn_node_folders_fini(&parts);
    return status;
}

skn_checkpoint_t *
skn_checkpoint_open(const char *path, skn_verify_t verify, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint = NULL;
    int folder;
    if (skn_folder_open(path, &folder, error) != SKN_OK)
        return NULL;
    if (faccessat(folder, "manifest.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        (void)skn_checkpoint_load(path, folder, verify, &checkpoint, error);
        return checkpoint;
    }
    (void)close(folder);
    (void)load_newest(path, NULL, verify, &checkpoint, error);
    return checkpoint;
}

skn_checkpoint_t *
skn_checkpoint_open_batch(const char *path, uint64_t batch, skn_verify_t verify,
                          skn_error_t *error)
{
    skn_checkpoint_t *checkpoint = NULL;
    (void)load_newest(path, &batch, verify, &checkpoint, error);
    return checkpoint;
}
