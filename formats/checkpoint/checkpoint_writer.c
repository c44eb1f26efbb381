/* checkpoint_writer.c - makes a checkpoint out of shard files, atomically.
 *
 * This file owns: the unfinished folder, and the order of steps that makes a
 * crash at any of them harmless (the shards are checkpoint_shard.c's):
 *
 *     shards (write, sync) -> manifest (write, sync) -> sync the folder ->
 *     rename to batch-... -> sync the run folder
 *
 * `latest` and the removal of older checkpoints follow in a run when all nodes
 * have renamed (settle_here in actors/checkpoints/keeper.c);
 * skn_checkpoint_finish does all of it for one process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/writer_internal.h"

#include "formats/folder/folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
writer_destroy(skn_checkpoint_writer_t **writer)
{
    for (size_t i = 0; i < (*writer)->count; i++)
        skn_checkpoint_shard_destroy((*writer)->shard[i]);
    if ((*writer)->folder >= 0)
        (void)close((*writer)->folder);
    free((*writer)->shard);
    free((*writer)->path);
    free(*writer);
    *writer = NULL;
}

static skn_status_t
make_folder(skn_checkpoint_writer_t *writer, skn_error_t *error)
{
    int run_folder = skn_run_folder_descriptor(writer->run);
    const char *run_path = skn_run_folder_path(writer->run);
    /* Ours to remove: an earlier abandon may have failed to. */
    skn_status_t status =
        skn_folder_remove(run_folder, run_path, writer->name, error);
    if (status != SKN_OK)
        return status;
    if (mkdirat(run_folder, writer->name, 0777) == 0)
        writer->folder =
            openat(run_folder, writer->name,
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (writer->folder < 0) {
        skn_status_t failed =
            skn_fail_errno(error, SKN_CANNOT_CREATE, writer->path, NULL,
                           "cannot create the folder");
        (void)unlinkat(run_folder, writer->name, AT_REMOVEDIR);
        return failed;
    }
    return SKN_OK;
}

skn_checkpoint_writer_t *
skn_checkpoint_begin(skn_run_folder_t *run, uint64_t batch, uint64_t generation,
                     skn_error_t *error)
{
    if (batch > SKN_CHECKPOINT_BATCH_MAX) {
        skn_fail(error, SKN_BAD_DATA,
                 "the batch is %" PRIu64 ", at most %" PRIu64 " allowed", batch,
                 (uint64_t)SKN_CHECKPOINT_BATCH_MAX);
        return NULL;
    }
    skn_checkpoint_writer_t *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        skn_fail(error, SKN_NO_MEMORY, "no memory to write a checkpoint");
        return NULL;
    }
    skn_run_folder_follow(run); /* what is written is also read by its path */
    writer->run = run;
    writer->batch = batch;
    writer->generation = generation;
    writer->folder = -1;
    (void)snprintf(writer->name, sizeof(writer->name), ".tmp-%012" PRIu64,
                   batch);
    if (asprintf(&writer->path, "%s/%s", skn_run_folder_path(run),
                 writer->name) < 0)
        writer->path = NULL;
    skn_status_t status =
        writer->path
            ? make_folder(writer, error)
            : skn_fail(error, SKN_NO_MEMORY, "no memory to write a checkpoint");
    if (status != SKN_OK)
        writer_destroy(&writer);
    return writer;
}

skn_status_t
skn_checkpoint_list(const skn_checkpoint_writer_t *writer, const char *metadata,
                    skn_manifest_t *manifest, skn_error_t *error)
{
    size_t pieces = 0;
    *manifest = (skn_manifest_t){ 0 };
    for (size_t i = 0; i < writer->count; i++)
        pieces += writer->shard[i]->count;
    if (pieces > SKN_SAFETENSORS_COUNT_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %zu tensors, at most %u allowed", writer->path,
                        pieces, SKN_SAFETENSORS_COUNT_MAX);
    memcpy(manifest->run_id, skn_run_folder_id(writer->run),
           sizeof(manifest->run_id));
    manifest->batch = writer->batch;
    manifest->metadata = strdup(metadata);
    manifest->file = calloc(writer->count + 1, sizeof(*manifest->file));
    manifest->piece = calloc(pieces + 1, sizeof(*manifest->piece));
    if (!manifest->metadata || !manifest->file || !manifest->piece) {
        skn_manifest_fini(manifest);
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the manifest",
                        writer->path);
    }
    for (size_t i = 0; i < writer->count; i++)
        skn_checkpoint_shard_list(writer->shard[i], (uint32_t)i, manifest);
    assert(manifest->piece_count == pieces);
    manifest->file_count = writer->count;
    return SKN_OK;
}

skn_status_t
skn_manifest_text(const char *path, const skn_manifest_t *manifest,
                  skn_json_text_t *text, skn_error_t *error)
{
    const char *metadata = manifest->metadata;
    json_t *parsed =
        skn_json_object_parse("metadata", metadata, strlen(metadata), error);
    json_decref(parsed);
    if (!parsed)
        return SKN_BAD_DATA;
    size_t *order = skn_manifest_order(manifest, error);
    if (!order)
        return SKN_NO_MEMORY;
    skn_status_t status =
        skn_manifest_check_cover(path, manifest, order, error);
    free(order);
    if (status != SKN_OK)
        return status;
    skn_manifest_print(manifest, text);
    status = skn_json_text_seal(text, error);
    if (status == SKN_OK && text->count > SKN_MANIFEST_BYTES_MAX)
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s: the manifest has %zu bytes, at most %u allowed",
                          path, text->count, SKN_MANIFEST_BYTES_MAX);
    return status;
}

static skn_status_t
check_complete(const skn_checkpoint_writer_t *writer, skn_error_t *error)
{
    if (writer->failed)
        return skn_fail(error, SKN_STORAGE,
                        "%s: a shard failed, so the checkpoint is abandoned",
                        writer->path);
    for (size_t i = 0; i < writer->count; i++)
        if (writer->shard[i]->file >= 0)
            return skn_fail(error, SKN_BAD_MESSAGE, "%s: not closed yet",
                            writer->shard[i]->path);
    return SKN_OK;
}

skn_status_t
skn_checkpoint_seal(skn_checkpoint_writer_t *writer, const char *bytes,
                    size_t byte_count, skn_error_t *error)
{
    skn_status_t status = check_complete(writer, error);
    if (status == SKN_OK)
        status =
            skn_folder_write_file(writer->folder, writer->path, "manifest.json",
                                  bytes, byte_count, error);
    return status == SKN_OK
               ? skn_folder_sync(writer->folder, writer->path, error)
               : status;
}

static skn_status_t
write_manifest(skn_checkpoint_writer_t *writer, const char *metadata,
               skn_error_t *error)
{
    skn_manifest_t manifest = { 0 };
    skn_json_text_t text = { 0 };
    skn_status_t status = check_complete(writer, error);
    if (status == SKN_OK)
        status = skn_checkpoint_list(writer, metadata, &manifest, error);
    if (status == SKN_OK)
        status = skn_manifest_text(writer->path, &manifest, &text, error);
    if (status == SKN_OK)
        status = skn_checkpoint_seal(writer, text.bytes, text.count, error);
    skn_json_text_fini(&text);
    skn_manifest_fini(&manifest);
    return status;
}

/* Renames the folder to its final name. A checkpoint of that batch may exist: a
 * damaged one, or one that a rollback replays. The two are exchanged in one
 * step if the file system supports it. */
static skn_status_t
rename_folder(const skn_checkpoint_writer_t *writer, const char *name,
              skn_error_t *error)
{
    int folder = skn_run_folder_descriptor(writer->run);
    int result = renameat(folder, writer->name, folder, name);
    if (result != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
        result = renameat2(folder, writer->name, folder, name, RENAME_EXCHANGE);
        if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
            char away[SKN_BATCH_NAME_BYTES + 16];
            (void)snprintf(away, sizeof(away), ".tmp-old-%.26s", name);
            result = renameat(folder, name, folder, away);
            if (result == 0)
                result = renameat(folder, writer->name, folder, name);
        }
    }
    if (result != 0) {
        char what[SKN_BATCH_NAME_BYTES + 24];
        int code = errno;
        (void)snprintf(what, sizeof(what), "cannot rename to %s", name);
        errno = code;
        return skn_fail_errno(error, SKN_STORAGE, writer->path, NULL, what);
    }
    return SKN_OK;
}

skn_status_t
skn_checkpoint_sync(const skn_checkpoint_writer_t *writer, skn_error_t *error)
{
    return skn_folder_sync(writer->folder, writer->path, error);
}

const char *
skn_checkpoint_writer_path(const skn_checkpoint_writer_t *writer)
{
    return writer->path;
}

static skn_status_t
commit(skn_checkpoint_writer_t **writer, const char *name, skn_error_t *warning,
       skn_error_t *error)
{
    skn_run_folder_t *run = (*writer)->run;
    int folder = skn_run_folder_descriptor(run);
    const char *path = skn_run_folder_path(run);
    if (warning)
        *warning = (skn_error_t){ 0 };
    skn_status_t status = rename_folder(*writer, name, error);
    if (status != SKN_OK) {
        skn_checkpoint_abandon(writer);
        return status;
    }
    /* If this fails, the checkpoint may not survive a power failure: nothing
     * older is removed. */
    status = skn_folder_sync(folder, path, error);
    if (status == SKN_OK)
        /* After an exchange the old one has the unfinished name. */
        (void)skn_folder_remove(folder, path, (*writer)->name, warning);
    writer_destroy(writer);
    return status;
}

skn_status_t
skn_checkpoint_commit(skn_checkpoint_writer_t **writer, skn_error_t *warning,
                      skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES];
    skn_batch_name((*writer)->batch, (*writer)->generation, name);
    return commit(writer, name, warning, error);
}

skn_status_t
skn_checkpoint_commit_as(skn_checkpoint_writer_t **writer, const char *name,
                         skn_error_t *error)
{
    return commit(writer, name, NULL, error);
}

skn_status_t
skn_checkpoint_finish(skn_checkpoint_writer_t **writer, const char *metadata,
                      uint32_t keep, skn_error_t *warning, skn_error_t *error)
{
    skn_run_folder_t *run = (*writer)->run;
    uint64_t batch = (*writer)->batch, generation = (*writer)->generation;
    skn_error_t own = { 0 };
    if (!warning)
        warning = &own;
    *warning = (skn_error_t){ 0 };
    skn_status_t status = write_manifest(*writer, metadata, error);
    if (status != SKN_OK) {
        skn_checkpoint_abandon(writer);
        return status;
    }
    status = skn_checkpoint_commit(writer, warning, error);
    if (status == SKN_OK && warning->status == SKN_OK &&
        skn_run_folder_mark_latest(run, batch, generation, warning) !=
            SKN_NO_INPUT)
        (void)skn_run_folder_prune(run, batch, generation, keep, warning);
    return status;
}

void
skn_checkpoint_abandon(skn_checkpoint_writer_t **writer)
{
    if (!*writer)
        return;
    int code = errno;
    (void)skn_folder_remove(skn_run_folder_descriptor((*writer)->run),
                            skn_run_folder_path((*writer)->run),
                            (*writer)->name, NULL);
    writer_destroy(writer);
    errno = code;
}
