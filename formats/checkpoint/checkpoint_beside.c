/* checkpoint_beside.c - finds a checkpoint's files in other run folders.
 *
 * Several nodes keep a checkpoint together: each has the manifest of the whole
 * and some of the files. Their run folders may be side by side, as those of an
 * elastic run are, or those that a user has copied into one place:
 *
 *     TOP/n0/batch-000000000116-g000002/{manifest.json, hidden.0.safetensors}
 *     TOP/n1/batch-000000000116-g000002/{manifest.json, hidden.1.safetensors}
 *
 * Folders with the same seal of the manifest, which covers the hash of every
 * tensor, belong together. Nothing is copied, and a run of one process is not
 * searched for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/reader_internal.h"

#include "formats/folder/folder.h"
#include "formats/text/paths.h"
#include "formats/text/system_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place that cannot be read has no files for us; but a lack of resources of
 * this process is an error. */
static skn_status_t
pass_over(skn_status_t status)
{
    return status == SKN_NO_MEMORY ? status : SKN_OK;
}

/* Whether several nodes wrote it: then other nodes may have files missing
 * here. */
static skn_status_t
find_shared(const skn_checkpoint_t *checkpoint, bool *shared,
            skn_error_t *error)
{
    const char *text = checkpoint->manifest.metadata;
    json_t *metadata =
        skn_json_object_parse("metadata", text, strlen(text), error);
    *shared = metadata && skn_json_number(metadata, "nodes") > 1;
    skn_status_t status = metadata ? SKN_OK : pass_over(error->status);
    json_decref(metadata);
    return status;
}

typedef struct beside_search {
    skn_checkpoint_t *checkpoint;
    const char *top;        /* the folder that holds the run folders */
    const char *run, *name; /* our run folder; the checkpoint's name in each */
} beside_search_t;

/* Whether the manifest in the folder `path` is ours, byte for byte. */
static skn_status_t
find_manifest(const char *path, const char *seal, bool *same,
              skn_error_t *error)
{
    char *bytes = NULL, found[SKN_HASH_TEXT_BYTES] = "";
    size_t byte_count = 0;
    int folder = -1;
    skn_status_t status = skn_folder_open(path, &folder, error);
    if (status == SKN_OK)
        status = skn_folder_read_file(folder, path, "manifest.json",
                                      SKN_MANIFEST_BYTES_MAX, &bytes,
                                      &byte_count, error);
    if (status == SKN_OK)
        status = skn_json_check_seal(path, bytes, byte_count, error);
    if (status == SKN_OK)
        skn_json_seal_text(bytes, byte_count, found);
    *same = strcmp(found, seal) == 0;
    free(bytes);
    if (folder >= 0)
        (void)close(folder);
    return pass_over(status);
}

static skn_status_t
no_room(const beside_search_t *search, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY,
                    "%s: no memory for a list of the folders beside it",
                    search->checkpoint->path);
}

static skn_status_t
visit(void *visitor, const char *entry, skn_error_t *error)
{
    beside_search_t *search = visitor;
    skn_checkpoint_t *checkpoint = search->checkpoint;
    char *path = NULL;
    bool same = false;
    skn_status_t status = SKN_OK;
    if (strcmp(entry, search->run) == 0)
        return SKN_OK;
    if (asprintf(&path, "%s/%s/%s", search->top, entry, search->name) < 0)
        return no_room(search, error);
    if (access(path, F_OK) == 0)
        status = find_manifest(path, checkpoint->seal, &same, error);
    if (!same) {
        free(path);
        return status;
    }
    return skn_paths_add(&checkpoint->beside, &checkpoint->beside_count, path)
               ? SKN_OK
               : no_room(search, error);
}

/* Cuts the last part off `path` and returns it. */
static char *
cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    return slash + 1;
}

skn_status_t
skn_checkpoint_look_beside(skn_checkpoint_t *checkpoint, skn_error_t *error)
{
    skn_batch_id_t id;
    int folder = -1;
    bool shared = false;
    if (checkpoint->looked || checkpoint->alone)
        return SKN_OK;
    skn_status_t status = find_shared(checkpoint, &shared, error);
    char *top = shared ? realpath(checkpoint->path, NULL) : NULL;
    if (shared && !top)
        status = pass_over(
            skn_fail_code(error, SKN_OK, errno, NULL, "%s", checkpoint->path));
    const char *name = top ? cut_last(top) : NULL;
    const char *run = name ? cut_last(top) : NULL;
    if (run && skn_batch_name_parse(name, &id.batch, &id.generation)) {
        beside_search_t search = { checkpoint, top, run, name };
        status = skn_folder_open(top[0] ? top : "/", &folder, error);
        if (status == SKN_OK)
            status = skn_folder_list(folder, top, visit, &search, error);
        if (folder >= 0)
            (void)close(folder);
        status = pass_over(status);
    }
    free(top);
    if (status != SKN_OK) /* a partial list would be taken for a complete one */
        skn_paths_free(&checkpoint->beside, &checkpoint->beside_count);
    checkpoint->looked = status == SKN_OK;
    /* Sorted, so that the choice is the same each time. */
    skn_paths_sort(checkpoint->beside, checkpoint->beside_count);
    return status;
}
