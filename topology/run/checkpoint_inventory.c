/* checkpoint_inventory.c - lists the checkpoints in the folders of a run's
 * nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/checkpoint_inventory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/folder/folder.h"

/* Orders by batch, then generation, the newest first. */
static int
newest_first(const void *left, const void *right)
{
    const skn_batch_id_t *a = left, *b = right;
    if (a->batch != b->batch)
        return a->batch < b->batch ? 1 : -1;
    return (a->generation < b->generation) - (a->generation > b->generation);
}

/* Adds the names of the checkpoints in folder `k`, whether sound or not. */
static skn_status_t
add_names(skn_inventory_t *all, size_t k, skn_error_t *error)
{
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    int folder = -1;
    skn_status_t status = skn_folder_open(all->folder[k], &folder, error);
    if (status == SKN_OK)
        status = skn_run_folder_batches(folder, all->folder[k], &list, &count,
                                        error);
    skn_batch_id_t *more =
        status == SKN_OK
            ? realloc(all->id, (all->count + count + 1) * sizeof(*more))
            : NULL;
    if (more) {
        all->id = more;
        if (count > 0)
            memcpy(all->id + all->count, list, count * sizeof(*list));
        all->count += count;
    } else if (status == SKN_OK) {
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for %zu checkpoints",
                          count);
    }
    free(list);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

static void
sort(skn_inventory_t *all)
{
    size_t kept = 0;
    if (all->count > 1)
        qsort(all->id, all->count, sizeof(*all->id), newest_first);
    for (size_t k = 0; k < all->count; k++)
        if (kept == 0 || newest_first(&all->id[kept - 1], &all->id[k]) != 0)
            all->id[kept++] = all->id[k];
    all->count = kept;
}

skn_status_t
skn_inventory_open_all(skn_inventory_t *all, const skn_trained_place_t *place,
                       skn_error_t *error)
{
    const char *own = skn_run_folder_path(place->run);
    const skn_node_folders_t *nodes = &place->nodes;
    *all = (skn_inventory_t){ 0 };
    all->folder = calloc(nodes->count + 1, sizeof(*all->folder));
    all->held = calloc(nodes->count + 1, sizeof(*all->held));
    all->held_count = calloc(nodes->count + 1, sizeof(*all->held_count));
    all->holder = calloc(nodes->count + 1, sizeof(*all->holder));
    if (!all->folder || !all->held || !all->held_count || !all->holder)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu folders",
                        nodes->count + 1);
    /* The run may have continued in the folder that contains those of its
     * nodes. */
    if (nodes->count == 0 || strcmp(own, place->path) == 0)
        all->folder[all->folder_count++] = own;
    for (size_t k = 0; k < nodes->count; k++)
        all->folder[all->folder_count++] = nodes->path[k];
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < all->folder_count && status == SKN_OK; k++) {
        status = skn_held_list(all->folder[k], &all->held[k],
                               &all->held_count[k], error);
        all->holder[k] =
            (skn_holder_t){ .held = all->held[k], .count = all->held_count[k] };
        if (status == SKN_OK)
            status = add_names(all, k, error);
    }
    sort(all);
    return status;
}

void
skn_inventory_close(skn_inventory_t *all)
{
    for (size_t k = 0; k < all->folder_count; k++)
        skn_held_free(&all->held[k], all->held_count[k]);
    free(all->folder);
    free(all->held);
    free(all->held_count);
    free(all->holder);
    free(all->id);
    *all = (skn_inventory_t){ 0 };
}

bool
skn_inventory_names(const skn_inventory_t *all, const char *link,
                    const skn_batch_id_t *id)
{
    for (size_t k = 0; k < all->folder_count; k++) {
        char path[SKN_TEXT_MAX + 64], target[SKN_NAME_MAX + 1];
        skn_batch_id_t named = { 0 };
        (void)snprintf(path, sizeof(path), "%s/%s", all->folder[k], link);
        ssize_t bytes = readlink(path, target, sizeof(target) - 1);
        target[bytes < 0 ? 0 : bytes] = '\0';
        if (skn_batch_name_parse(target, &named.batch, &named.generation) &&
            newest_first(&named, id) == 0)
            return true;
    }
    return false;
}

/* The path of the checkpoint in folder `k`. */
static void
path_of(const skn_inventory_t *all, size_t k, const skn_batch_id_t *id,
        char path[SKN_TEXT_MAX + 64])
{
    char name[SKN_BATCH_NAME_BYTES];
    skn_batch_name(id->batch, id->generation, name);
    (void)snprintf(path, SKN_TEXT_MAX + 64, "%s/%s", all->folder[k], name);
}

skn_checkpoint_t *
skn_inventory_open(const skn_inventory_t *all, const skn_batch_id_t *id,
                   skn_verify_t verify, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint = NULL;
    for (size_t k = 0; k < all->folder_count && !checkpoint; k++) {
        char path[SKN_TEXT_MAX + 64];
        path_of(all, k, id, path);
        if (access(path, F_OK) == 0)
            checkpoint = skn_checkpoint_open(path, verify, error);
    }
    return checkpoint;
}

bool
skn_inventory_prove(const skn_inventory_t *all, size_t k,
                    const skn_batch_id_t *id, bool *whole, skn_error_t *error)
{
    char path[SKN_TEXT_MAX + 64];
    path_of(all, k, id, path);
    *whole = false;
    if (access(path, F_OK) != 0)
        return true;
    skn_checkpoint_t *here = skn_checkpoint_open(path, SKN_VERIFY_HERE, error);
    if (!here)
        return false;
    bool sound = !skn_checkpoint_warning(here)[0];
    if (!sound)
        (void)skn_fail(error, SKN_BAD_DATA, "%s", skn_checkpoint_warning(here));
    for (size_t p = 0; sound && skn_checkpoint_piece(here, p); p++)
        sound = !skn_checkpoint_has_file(here,
                                         skn_checkpoint_piece_file(here, p)) ||
                skn_checkpoint_piece_bytes(here, p, error);
    *whole = sound && skn_checkpoint_is_whole(here);
    skn_checkpoint_close(&here);
    return sound;
}

/* The checkpoint as folder `k` has it; NULL: it has none of it. */
static const skn_held_t *
find_held(const skn_inventory_t *all, size_t k, const skn_batch_id_t *id)
{
    for (size_t h = 0; h < all->held_count[k]; h++)
        if (all->held[k][h].batch == id->batch &&
            all->held[k][h].generation == id->generation)
            return &all->held[k][h];
    return NULL;
}

size_t
skn_inventory_copies(const skn_inventory_t *all, const skn_batch_id_t *id)
{
    size_t most = 0; /* of those of one name, if they differ */
    for (size_t k = 0; k < all->folder_count; k++) {
        const skn_held_t *held = find_held(all, k, id);
        size_t copies =
            held ? skn_held_copies(all->holder, all->folder_count, held) : 0;
        most = copies > most ? copies : most;
    }
    return most;
}

size_t
skn_inventory_folders(const skn_inventory_t *all, const skn_batch_id_t *id,
                      skn_inspection_folder_t *folder, size_t *file_count)
{
    size_t count = 0;
    *file_count = 0;
    for (size_t k = 0; k < all->folder_count; k++) {
        const skn_held_t *held = find_held(all, k, id);
        if (!held)
            continue;
        *file_count = held->file_count;
        folder[count].file_count = 0;
        for (size_t f = 0; f < held->file_count; f++)
            folder[count].file_count += held->file[f].here;
        const char *slash = strrchr(all->folder[k], '/');
        folder[count++].name = slash ? slash + 1 : all->folder[k];
    }
    return count;
}
