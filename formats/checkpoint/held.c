/* held.c - lists, reads and writes manifests of checkpoints on several nodes.
 *
 * This file owns: the conditions for a checkpoint to be held, and the writing
 * of a manifest into a folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/held.h"

#include "formats/folder/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST "manifest.json"
/* Swept at the next open of the run folder, like every .tmp-... */
#define FRESH_FOLDER ".tmp-adopted"

/* Opens the folder `name` of a run, and makes its path for sentences; both are
 * the caller's. SKN_NO_INPUT when it is missing. */
static skn_status_t
open_checkpoint(int run_folder, const char *run_path, const skn_batch_id_t *id,
                char **path, int *folder, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES];
    skn_batch_name(id->batch, id->generation, name);
    *folder = -1;
    if (asprintf(path, "%s/%s", run_path, name) < 0) {
        *path = NULL;
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its path",
                        name);
    }
    *folder = openat(run_folder, name,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*folder >= 0)
        return SKN_OK;
    return skn_fail_errno(error, errno == ENOENT ? SKN_NO_INPUT : SKN_BAD_DATA,
                          *path, NULL, "cannot open the folder");
}

/* Reads the manifest in an open folder, and checks its seal. */
static skn_status_t
read_sealed(int folder, const char *path, char **bytes, size_t *byte_count,
            skn_error_t *error)
{
    char file[SKN_TEXT_MAX + 64];
    skn_status_t status =
        skn_folder_read_file(folder, path, MANIFEST, SKN_MANIFEST_BYTES_MAX,
                             bytes, byte_count, error);
    if (status != SKN_OK)
        return status;
    (void)snprintf(file, sizeof(file), "%s/" MANIFEST, path);
    status = skn_json_check_seal(file, *bytes, *byte_count, error);
    if (status == SKN_OK)
        return SKN_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}

/* Parses a sealed manifest, which must be sound and of the batch that `path`
 * ends with. */
static skn_status_t
parse(const char *path, const char *bytes, size_t byte_count,
      skn_manifest_t *manifest, skn_error_t *error)
{
    skn_status_t status =
        skn_manifest_parse(path, bytes, byte_count, manifest, error);
    return status == SKN_OK ? skn_batch_check_name(path, manifest->batch, error)
                            : status;
}

/* --- lists --------------------------------------------------------------- */

/* Whether the run ended with it, by its metadata. */
static bool
is_finished(const skn_manifest_t *manifest)
{
    json_t *metadata = skn_json_object_parse("metadata", manifest->metadata,
                                             strlen(manifest->metadata), NULL);
    bool finished = json_is_true(json_object_get(metadata, "finished"));
    json_decref(metadata);
    return finished;
}

static skn_status_t
list_files(int folder, const skn_manifest_t *manifest, skn_held_t *held,
           skn_error_t *error)
{
    held->file = calloc(manifest->file_count + 1, sizeof(*held->file));
    if (!held->file)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for a list of %zu files",
                        manifest->file_count);
    held->file_count = manifest->file_count;
    for (size_t k = 0; k < manifest->file_count; k++) {
        const skn_manifest_file_t *file = &manifest->file[k];
        struct stat facts;
        memcpy(held->file[k].name, file->name, sizeof(file->name));
        held->file[k].here =
            fstatat(folder, file->name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode) && (uint64_t)facts.st_size == file->bytes;
    }
    return SKN_OK;
}

/* Fills *held; any failure other than memory means that it is not held. */
static skn_status_t
look_at(int run_folder, const char *run_path, const skn_batch_id_t *id,
        skn_held_t *held, skn_error_t *error)
{
    skn_manifest_t manifest = { 0 };
    char *path = NULL, *bytes = NULL;
    size_t byte_count = 0;
    int folder = -1;
    skn_status_t status =
        open_checkpoint(run_folder, run_path, id, &path, &folder, error);
    if (status == SKN_OK)
        status = read_sealed(folder, path, &bytes, &byte_count, error);
    if (status == SKN_OK)
        status = parse(path, bytes, byte_count, &manifest, error);
    if (status == SKN_OK) {
        held->batch = id->batch;
        held->generation = id->generation;
        skn_json_seal_text(bytes, byte_count, held->seal);
        memcpy(held->run_id, manifest.run_id, sizeof(held->run_id));
        held->finished = is_finished(&manifest);
        status = list_files(folder, &manifest, held, error);
    }
    skn_manifest_fini(&manifest);
    free(bytes);
    free(path);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

skn_status_t
skn_held_list(const char *run_path, skn_held_t **list, size_t *count,
              skn_error_t *error)
{
    skn_batch_id_t *ids = NULL;
    size_t id_count = 0;
    int folder = -1;
    skn_error_t fault = { 0 };
    *list = NULL;
    *count = 0;
    skn_status_t status = skn_folder_open(run_path, &folder, &fault);
    if (status == SKN_NO_INPUT)
        return SKN_OK;
    if (status != SKN_OK)
        return skn_fail(error, status, "%s", fault.text);
    status = skn_run_folder_batches(folder, run_path, &ids, &id_count, error);
    if (status == SKN_OK && !(*list = calloc(id_count + 1, sizeof(**list))))
        status = skn_fail(error, SKN_NO_MEMORY,
                          "no memory for a list of %zu checkpoints", id_count);
    for (size_t k = 0; status == SKN_OK && k < id_count; k++) {
        status = look_at(folder, run_path, &ids[k], &(*list)[*count], &fault);
        if (status == SKN_NO_MEMORY)
            (void)skn_fail(error, status, "%s", fault.text);
        else if (status == SKN_OK)
            ++*count;
        else
            status = SKN_OK;
    }
    free(ids);
    (void)close(folder);
    if (status != SKN_OK)
        skn_held_free(list, *count);
    return status;
}

void
skn_held_free(skn_held_t **list, size_t count)
{
    for (size_t k = 0; *list && k < count; k++)
        free((*list)[k].file);
    free(*list);
    *list = NULL;
}

/* --- manifests ----------------------------------------------------------- */

skn_status_t
skn_held_manifest(const char *run_path, uint64_t batch, uint64_t generation,
                  char **bytes, size_t *byte_count, skn_error_t *error)
{
    const skn_batch_id_t id = { batch, generation };
    char *path = NULL;
    int run_folder = -1, folder = -1;
    *bytes = NULL;
    skn_status_t status = skn_folder_open(run_path, &run_folder, error);
    if (status == SKN_OK)
        status =
            open_checkpoint(run_folder, run_path, &id, &path, &folder, error);
    if (status == SKN_OK)
        status = read_sealed(folder, path, bytes, byte_count, error);
    free(path);
    if (folder >= 0)
        (void)close(folder);
    if (run_folder >= 0)
        (void)close(run_folder);
    return status;
}

/* Opens and locks the run folder of `run_id`, creating it if it is missing. */
static skn_run_folder_t *
open_run(const char *run_path, const char *run_id, skn_error_t *error)
{
    skn_run_options_t options = { .resume = skn_run_folder_begun(run_path),
                                  .run_id = run_id,
                                  .config_text = "",
                                  .wait_ms = SKN_LOCK_WAIT_MS };
    skn_run_folder_t *run =
        skn_run_folder_open(run_path, &options, NULL, error);
    if (run && strcmp(skn_run_folder_id(run), run_id) != 0) {
        skn_fail(error, SKN_CANNOT_CREATE,
                 "%s holds run %.6s and cannot take a part of run %.6s",
                 run_path, skn_run_folder_id(run), run_id);
        (void)skn_fail_hint(error, SKN_CANNOT_CREATE,
                            "choose another folder for this node");
        skn_run_folder_close(&run);
    }
    return run;
}

/* Hard links those files of `manifest` that are in the open folder `from`, as
 * `part` lists them, into `folder`. */
static void
link_files(int folder, const skn_manifest_t *manifest, int from,
           const skn_manifest_t *part)
{
    for (size_t k = 0; k < manifest->file_count; k++) {
        const skn_manifest_file_t *file = &manifest->file[k];
        size_t at = skn_manifest_find(part, file->name);
        struct stat facts;
        if (at == SIZE_MAX || !skn_manifest_same_file(manifest, k, part, at) ||
            fstatat(from, file->name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size != file->bytes)
            continue;
        /* A file that cannot be linked, or is there already, counts as
         * missing. */
        (void)!linkat(from, file->name, folder, file->name, 0);
    }
}

static void
link_from(const skn_run_folder_t *run, const char *name, bool is_part,
          int folder, const skn_manifest_t *manifest)
{
    skn_manifest_t part = { 0 };
    char *bytes = NULL;
    size_t byte_count = 0;
    int from = openat(skn_run_folder_descriptor(run), name,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from >= 0 &&
        read_sealed(from, name, &bytes, &byte_count, NULL) == SKN_OK &&
        (is_part ? skn_manifest_parse_part(name, bytes, byte_count, &part, NULL)
                 : skn_manifest_parse(name, bytes, byte_count, &part, NULL)) ==
            SKN_OK)
        link_files(folder, manifest, from, &part);
    skn_manifest_fini(&part);
    free(bytes);
    if (from >= 0)
        (void)close(from);
}

/* Links the files of a composed checkpoint that are here into its open
 * folder. */
static skn_status_t
link_all(const skn_run_folder_t *run, int folder,
         const skn_manifest_t *manifest, skn_error_t *error)
{
    skn_batch_id_t *ids = NULL;
    size_t count = 0;
    skn_status_t status =
        skn_run_folder_batches(skn_run_folder_descriptor(run),
                               skn_run_folder_path(run), &ids, &count, error);
    if (status == SKN_OK)
        link_from(run, SKN_SALVAGE_NAME, true, folder, manifest);
    for (size_t k = 0; k < count; k++) {
        char name[SKN_BATCH_NAME_BYTES];
        skn_batch_name(ids[k].batch, ids[k].generation, name);
        link_from(run, name, false, folder, manifest);
    }
    free(ids);
    return status;
}

/* Makes a new folder that holds only the manifest, or a composed checkpoint's
 * files that are here; the rename makes it visible at once. */
static skn_status_t
make_checkpoint(const skn_run_folder_t *run, const char *name,
                const char *bytes, size_t byte_count,
                const skn_manifest_t *composed, skn_error_t *error)
{
    int run_folder = skn_run_folder_descriptor(run), folder = -1;
    const char *run_path = skn_run_folder_path(run);
    skn_status_t status =
        skn_folder_remove(run_folder, run_path, FRESH_FOLDER, error);
    if (status == SKN_OK && mkdirat(run_folder, FRESH_FOLDER, 0777) == 0)
        folder = openat(run_folder, FRESH_FOLDER,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (status == SKN_OK && folder >= 0)
        status = skn_folder_replace_file(folder, run_path, MANIFEST, bytes,
                                         byte_count, error);
    if (status == SKN_OK && folder >= 0 && composed)
        status = link_all(run, folder, composed, error);
    if (status == SKN_OK && folder >= 0 && composed)
        status = skn_folder_sync(folder, run_path, error);
    if (status == SKN_OK && composed) /* of one that was not whole */
        status = skn_folder_remove(run_folder, run_path, name, error);
    if (status == SKN_OK && (folder < 0 || renameat(run_folder, FRESH_FOLDER,
                                                    run_folder, name) != 0)) {
        status = skn_fail_errno(error, SKN_CANNOT_CREATE, run_path, name,
                                "cannot create the folder");
    }
    if (folder >= 0)
        (void)close(folder);
    return status == SKN_OK ? skn_folder_sync(run_folder, run_path, error)
                            : status;
}

static skn_status_t
adopt(const skn_run_folder_t *run, const skn_batch_id_t *id, const char *bytes,
      size_t byte_count, const skn_manifest_t *composed, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES];
    char *path = NULL, *old = NULL;
    size_t old_count = 0;
    int folder = -1;
    skn_error_t fault = { 0 };
    skn_batch_name(id->batch, id->generation, name);
    skn_status_t status =
        open_checkpoint(skn_run_folder_descriptor(run),
                        skn_run_folder_path(run), id, &path, &folder, &fault);
    if (status == SKN_NO_INPUT || composed) {
        status = make_checkpoint(run, name, bytes, byte_count, composed, error);
    } else if (status != SKN_OK) {
        (void)skn_fail(error, status, "%s", fault.text);
    } else if (read_sealed(folder, path, &old, &old_count, &fault) != SKN_OK ||
               old_count != byte_count || memcmp(old, bytes, byte_count) != 0) {
        status = skn_folder_replace_file(folder, path, MANIFEST, bytes,
                                         byte_count, error);
    }
    free(old);
    free(path);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

static skn_status_t
take(const char *run_path, const char *run_id, const skn_batch_id_t *id,
     const char *bytes, size_t byte_count, bool composed, skn_error_t *error)
{
    skn_manifest_t manifest = { 0 };
    char name[SKN_BATCH_NAME_BYTES];
    skn_batch_name(id->batch, id->generation, name);
    if (id->generation > SKN_GENERATION_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: generation %" PRIu64 ", at most %u allowed", name,
                        id->generation, SKN_GENERATION_MAX);
    skn_status_t status = skn_json_check_seal(name, bytes, byte_count, error);
    if (status == SKN_OK)
        status = parse(name, bytes, byte_count, &manifest, error);
    if (status == SKN_OK && strcmp(manifest.run_id, run_id) != 0)
        status =
            skn_fail(error, SKN_BAD_DATA, "%s belongs to run %.6s, not to %.6s",
                     name, manifest.run_id, run_id);
    skn_run_folder_t *run =
        status == SKN_OK ? open_run(run_path, run_id, error) : NULL;
    if (run)
        status = adopt(run, id, bytes, byte_count, composed ? &manifest : NULL,
                       error);
    else if (status == SKN_OK)
        status = error->status;
    skn_run_folder_close(&run);
    skn_manifest_fini(&manifest);
    return status;
}

skn_status_t
skn_held_adopt(const char *run_path, const char *run_id, uint64_t batch,
               uint64_t generation, const char *bytes, size_t byte_count,
               skn_error_t *error)
{
    const skn_batch_id_t id = { batch, generation };
    return take(run_path, run_id, &id, bytes, byte_count, false, error);
}

skn_status_t
skn_held_compose(const char *run_path, const char *run_id, uint64_t batch,
                 uint64_t generation, const char *bytes, size_t byte_count,
                 skn_error_t *error)
{
    const skn_batch_id_t id = { batch, generation };
    return take(run_path, run_id, &id, bytes, byte_count, true, error);
}

/* --- the choice ---------------------------------------------------------- */

/* The entry of the same checkpoint in a node's list, or NULL. */
static const skn_held_t *
find_same(const skn_holder_t *holder, const skn_held_t *held)
{
    for (size_t k = 0; k < holder->count; k++) {
        const skn_held_t *other = &holder->held[k];
        if (other->batch == held->batch &&
            other->generation == held->generation &&
            other->file_count == held->file_count &&
            strcmp(other->seal, held->seal) == 0)
            return other;
    }
    return NULL;
}

static bool
is_covered(const skn_holder_t *holders, size_t holder_count,
           const skn_held_t *held)
{
    for (size_t f = 0; f < held->file_count; f++) {
        bool here = false;
        for (size_t h = 0; h < holder_count && !here; h++) {
            const skn_held_t *other = find_same(&holders[h], held);
            here = other && other->file[f].here;
        }
        if (!here)
            return false;
    }
    return true;
}

size_t
skn_held_copies(const skn_holder_t *holders, size_t holder_count,
                const skn_held_t *held)
{
    size_t fewest = holder_count;
    for (size_t f = 0; f < held->file_count; f++) {
        size_t copies = 0;
        for (size_t h = 0; h < holder_count; h++) {
            const skn_held_t *other = find_same(&holders[h], held);
            copies += other && other->file[f].here;
        }
        if (copies < fewest)
            fewest = copies;
    }
    return fewest;
}

static bool
is_newer(const skn_held_t *held, const skn_held_t *than)
{
    if (!than || held->batch != than->batch)
        return !than || held->batch > than->batch;
    return held->generation > than->generation;
}

static bool
is_among(const char *seal, char (*seals)[SKN_HASH_TEXT_BYTES], size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(seals[k], seal) == 0)
            return true;
    return false;
}

const skn_held_t *
skn_held_choose(const skn_holder_t *holders, size_t holder_count,
                const char *run_id, char (*without)[SKN_HASH_TEXT_BYTES],
                size_t without_count)
{
    const skn_held_t *best = NULL;
    for (size_t h = 0; h < holder_count; h++)
        for (size_t k = 0; k < holders[h].count; k++) {
            const skn_held_t *held = &holders[h].held[k];
            if ((!run_id || strcmp(held->run_id, run_id) == 0) &&
                !is_among(held->seal, without, without_count) &&
                is_newer(held, best) && is_covered(holders, holder_count, held))
                best = held;
        }
    return best;
}

void
skn_held_none(const skn_holder_t *holders, size_t count, skn_error_t *error)
{
    const skn_held_t *newest = NULL;
    for (size_t k = 0; k < count; k++)
        for (size_t n = 0; n < holders[k].count; n++)
            if (!newest || holders[k].held[n].batch > newest->batch)
                newest = &holders[k].held[n];
    (void)skn_fail(error, SKN_UNAVAILABLE,
                   "parts of the checkpoint of batch %" PRIu64 " are on none "
                   "of the nodes that are here",
                   newest ? newest->batch : 0);
}
