/* checkpoint_writer.c - writes a checkpoint as its pieces arrive.
 *
 * This file owns: the unfinished folder, and the order of steps that makes a
 * crash at any of them harmless:
 *
 *     shards (write, sync) -> manifest (write, sync) -> sync the folder ->
 *     rename to batch-... -> sync the run folder -> latest -> prune
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint.h"

#include "formats/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* What is known of a piece while it is written. */
typedef struct progress {
    skn_piece_t piece;
    uint64_t offset_bytes, size_bytes, written_bytes; /* within the file */
    XXH3_state_t *hash;
} progress_t;

struct skn_checkpoint_shard {
    skn_checkpoint_writer_t *writer;
    char name[SKN_NAME_MAX + 1], *path;
    int file; /* -1 once closed */
    uint64_t bytes, header_bytes;
    char header_hash[SKN_HASH_TEXT_BYTES];
    progress_t *progress;
    size_t count;
};

struct skn_checkpoint_writer {
    skn_run_folder_t *run;
    uint64_t batch;
    char name[SKN_NAME_MAX + 1], *path; /* of the unfinished folder */
    int folder;
    bool failed;
    skn_checkpoint_shard_t **shard;
    size_t count;
};

/* PATH/NAME on the heap. */
static char *
join(const char *path, const char *name)
{
    char *whole = NULL;
    return asprintf(&whole, "%s/%s", path, name) < 0 ? NULL : whole;
}

static void
shard_destroy(skn_checkpoint_shard_t *shard)
{
    if (shard->file >= 0)
        (void)close(shard->file);
    for (size_t i = 0; i < shard->count; i++)
        (void)XXH3_freeState(shard->progress[i].hash);
    free(shard->progress);
    free(shard->path);
    free(shard);
}

static void
writer_destroy(skn_checkpoint_writer_t **writer)
{
    for (size_t i = 0; i < (*writer)->count; i++)
        shard_destroy((*writer)->shard[i]);
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
    /* Ours to remove: an abandon before may have failed to. */
    skn_status_t status =
        skn_folder_remove(run_folder, run_path, writer->name, error);
    if (status != SKN_OK)
        return status;
    if (mkdirat(run_folder, writer->name, 0777) == 0)
        writer->folder =
            openat(run_folder, writer->name,
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (writer->folder < 0) {
        int code = errno;
        (void)unlinkat(run_folder, writer->name, AT_REMOVEDIR);
        return skn_fail(error, skn_errno_status(code, SKN_CANNOT_CREATE),
                        "%s: cannot create the folder: %s", writer->path,
                        strerror(code));
    }
    return SKN_OK;
}

skn_checkpoint_writer_t *
skn_checkpoint_begin(skn_run_folder_t *run, uint64_t batch, skn_error_t *error)
{
    if (batch > SKN_CHECKPOINT_BATCH_MAX) {
        skn_fail(error, SKN_BAD_DATA,
                 "batch is %" PRIu64 ", at most %" PRIu64 " allowed", batch,
                 (uint64_t)SKN_CHECKPOINT_BATCH_MAX);
        return NULL;
    }
    skn_checkpoint_writer_t *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        skn_fail(error, SKN_NO_MEMORY, "no room to write a checkpoint");
        return NULL;
    }
    writer->run = run;
    writer->batch = batch;
    writer->folder = -1;
    (void)snprintf(writer->name, sizeof(writer->name), ".tmp-%012" PRIu64,
                   batch);
    writer->path = join(skn_run_folder_path(run), writer->name);
    skn_status_t status =
        writer->path
            ? make_folder(writer, error)
            : skn_fail(error, SKN_NO_MEMORY, "no room to write a checkpoint");
    if (status != SKN_OK)
        writer_destroy(&writer);
    return writer;
}

/* Fills the shard's progress and *header from the pieces. */
static skn_status_t
plan_shard(skn_checkpoint_shard_t *shard, const skn_piece_t *piece,
           size_t count, unsigned char **header, skn_error_t *error)
{
    uint64_t data_bytes;
    size_t header_bytes = 0;
    skn_status_t status = SKN_OK;
    skn_safetensor_t *tensor = calloc(count + 1, sizeof(*tensor));
    shard->progress = calloc(count + 1, sizeof(*shard->progress));
    if (!tensor || !shard->progress)
        status = skn_fail(error, SKN_NO_MEMORY, "%s: no room for %zu tensors",
                          shard->path, count);
    for (size_t i = 0; i < count && status == SKN_OK; i++) {
        skn_error_t fault;
        status = skn_piece_check(&piece[i], &fault);
        if (status != SKN_OK)
            skn_fail(error, status, "%s: %s", shard->path, fault.text);
        else
            tensor[i] = skn_piece_tensor(&piece[i]);
    }
    if (status == SKN_OK)
        status = skn_safetensors_place(tensor, count, &data_bytes, error);
    if (status == SKN_OK)
        status =
            skn_safetensors_header(tensor, count, header, &header_bytes, error);
    shard->header_bytes = header_bytes;
    for (size_t i = 0; i < count && status == SKN_OK; i++) {
        progress_t *progress = &shard->progress[i];
        progress->piece = piece[i];
        progress->offset_bytes = header_bytes + tensor[i].offset_bytes;
        progress->size_bytes = tensor[i].size_bytes;
        progress->hash = XXH3_createState();
        shard->count = i + 1;
        if (!progress->hash || XXH3_128bits_reset(progress->hash) != XXH_OK)
            status = skn_fail(error, SKN_NO_MEMORY,
                              "%s: no room for %zu "
                              "hashes",
                              shard->path, count);
    }
    if (status == SKN_OK)
        shard->bytes = header_bytes + data_bytes;
    free(tensor);
    return status;
}

static skn_status_t
fail_shard(const skn_checkpoint_shard_t *shard, skn_status_t otherwise,
           const char *what, skn_error_t *error)
{
    int code = errno;
    return skn_fail(error, skn_errno_status(code, otherwise), "%s: %s: %s",
                    shard->path, what, strerror(code));
}

/* Creates the file, reserves its length and writes the header. */
static skn_status_t
start_file(skn_checkpoint_shard_t *shard, const unsigned char *header,
           skn_error_t *error)
{
    shard->file =
        openat(shard->writer->folder, shard->name,
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (shard->file < 0)
        return fail_shard(shard, SKN_CANNOT_CREATE, "cannot create", error);
    /* File systems that cannot reserve say so; then the writes will tell. */
    while (fallocate(shard->file, 0, 0, (off_t)shard->bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            break;
        if (errno != EINTR)
            return fail_shard(shard, SKN_STORAGE, "cannot reserve its length",
                              error);
    }
    skn_hash_text(header, (size_t)shard->header_bytes, shard->header_hash);
    return skn_file_write(shard->file, shard->path, header,
                          (size_t)shard->header_bytes, 0, error);
}

/* A shard in the writer's list, not open yet; NULL when it may not join. */
static skn_checkpoint_shard_t *
shard_new(skn_checkpoint_writer_t *writer, const char *name, skn_error_t *error)
{
    if (!skn_file_name_good(name)) {
        skn_fail(error, SKN_BAD_DATA,
                 "%s: a file's name is not 1 to %u of [A-Za-z0-9_.-] without a "
                 "dot in front",
                 writer->path, SKN_NAME_MAX);
        return NULL;
    }
    if (writer->count == SKN_CHECKPOINT_FILES_MAX) {
        skn_fail(error, SKN_BAD_DATA, "%s: more than %u files", writer->path,
                 SKN_CHECKPOINT_FILES_MAX);
        return NULL;
    }
    skn_checkpoint_shard_t **more =
        realloc(writer->shard, (writer->count + 1) * sizeof(*writer->shard));
    if (more)
        writer->shard = more;
    skn_checkpoint_shard_t *shard = more ? calloc(1, sizeof(*shard)) : NULL;
    if (!shard || !(shard->path = join(writer->path, name))) {
        free(shard);
        skn_fail(error, SKN_NO_MEMORY, "%s: no room for a shard", writer->path);
        return NULL;
    }
    shard->writer = writer;
    shard->file = -1;
    memcpy(shard->name, name, strlen(name) + 1);
    return shard;
}

skn_checkpoint_shard_t *
skn_checkpoint_shard_open(skn_checkpoint_writer_t *writer, const char *name,
                          const skn_piece_t *piece, size_t piece_count,
                          skn_error_t *error)
{
    unsigned char *header = NULL;
    skn_checkpoint_shard_t *shard = shard_new(writer, name, error);
    if (!shard)
        return NULL;
    skn_status_t status = plan_shard(shard, piece, piece_count, &header, error);
    if (status == SKN_OK)
        status = start_file(shard, header, error);
    free(header);
    if (status != SKN_OK) {
        /* A file that exists already is another shard's: it stays. */
        if (shard->file >= 0)
            (void)unlinkat(writer->folder, shard->name, 0);
        shard_destroy(shard);
        return NULL;
    }
    writer->shard[writer->count++] = shard;
    return shard;
}

skn_status_t
skn_checkpoint_shard_write(skn_checkpoint_shard_t *shard, size_t piece,
                           uint64_t offset_bytes, const void *bytes,
                           size_t byte_count, skn_error_t *error)
{
    if (piece >= shard->count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: tensor %zu is written, there are %zu", shard->path,
                        piece, shard->count);
    progress_t *progress = &shard->progress[piece];
    if (offset_bytes != progress->written_bytes ||
        byte_count > progress->size_bytes - offset_bytes)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: tensor %s: %zu bytes at %" PRIu64 ", %" PRIu64
                        " of %" PRIu64 " are written",
                        shard->path, progress->piece.name, byte_count,
                        offset_bytes, progress->written_bytes,
                        progress->size_bytes);
    if (byte_count == 0)
        return SKN_OK;
    skn_status_t status =
        skn_file_write(shard->file, shard->path, bytes, byte_count,
                       progress->offset_bytes + offset_bytes, error);
    if (status != SKN_OK) {
        shard->writer->failed = true;
        return status;
    }
    (void)XXH3_128bits_update(progress->hash, bytes, byte_count);
    progress->written_bytes += byte_count;
    return SKN_OK;
}

skn_status_t
skn_checkpoint_shard_close(skn_checkpoint_shard_t **handle, skn_error_t *error)
{
    skn_checkpoint_shard_t *shard = *handle;
    skn_status_t status = SKN_OK;
    *handle = NULL;
    for (size_t i = 0; i < shard->count && status == SKN_OK; i++) {
        const progress_t *progress = &shard->progress[i];
        if (progress->written_bytes != progress->size_bytes)
            status = skn_fail(error, SKN_BAD_MESSAGE,
                              "%s: tensor %s: %" PRIu64 " of %" PRIu64
                              " bytes are written",
                              shard->path, progress->piece.name,
                              progress->written_bytes, progress->size_bytes);
    }
    /* After a failed sync the kernel may have dropped the pages: a second try
     * that succeeds would prove nothing, so the checkpoint is lost. */
    if (status == SKN_OK && fsync(shard->file) != 0)
        status = fail_shard(shard, SKN_STORAGE, "cannot sync", error);
    if (close(shard->file) != 0 && status == SKN_OK)
        status = fail_shard(shard, SKN_STORAGE, "cannot close", error);
    shard->file = -1;
    if (status != SKN_OK)
        shard->writer->failed = true;
    return status;
}

static void
list_shard(const skn_checkpoint_shard_t *shard, uint32_t index,
           skn_manifest_t *manifest)
{
    skn_manifest_file_t *file = &manifest->file[index];
    memcpy(file->name, shard->name, sizeof(file->name));
    memcpy(file->header_hash, shard->header_hash, sizeof(file->header_hash));
    file->bytes = shard->bytes;
    file->header_bytes = shard->header_bytes;
    file->piece_first = manifest->piece_count;
    file->piece_count = shard->count;
    for (size_t k = 0; k < shard->count; k++) {
        const progress_t *progress = &shard->progress[k];
        skn_manifest_piece_t *entry = &manifest->piece[manifest->piece_count++];
        entry->piece = progress->piece;
        entry->file = index;
        entry->offset_bytes = progress->offset_bytes;
        entry->size_bytes = progress->size_bytes;
        XXH128_hash_t hash = XXH3_128bits_digest(progress->hash);
        (void)snprintf(entry->hash, sizeof(entry->hash), "%016llx%016llx",
                       (unsigned long long)hash.high64,
                       (unsigned long long)hash.low64);
    }
}

/* The manifest of all shards; the caller calls fini. */
static skn_status_t
list_all(const skn_checkpoint_writer_t *writer, const char *metadata,
         skn_manifest_t *manifest, skn_error_t *error)
{
    size_t pieces = 0;
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
    if (!manifest->metadata || !manifest->file || !manifest->piece)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no room for the manifest",
                        writer->path);
    for (size_t i = 0; i < writer->count; i++)
        list_shard(writer->shard[i], (uint32_t)i, manifest);
    manifest->file_count = writer->count;
    size_t *order = skn_manifest_order(manifest, error);
    if (!order)
        return SKN_NO_MEMORY;
    skn_status_t status =
        skn_manifest_check_cover(writer->path, manifest, order, error);
    free(order);
    return status;
}

static skn_status_t
write_manifest(const skn_checkpoint_writer_t *writer, const char *metadata,
               skn_error_t *error)
{
    skn_manifest_t manifest = { 0 };
    skn_json_text_t text = { 0 };
    json_t *parsed =
        skn_json_object_parse("metadata", metadata, strlen(metadata), error);
    json_decref(parsed);
    skn_status_t status =
        parsed ? list_all(writer, metadata, &manifest, error) : SKN_BAD_DATA;
    if (status == SKN_OK) {
        skn_manifest_print(&manifest, &text);
        status = skn_json_text_seal(&text, error);
    }
    if (status == SKN_OK && text.count > SKN_MANIFEST_BYTES_MAX)
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s: the manifest has %zu bytes, at most %u allowed",
                          writer->path, text.count, SKN_MANIFEST_BYTES_MAX);
    if (status == SKN_OK)
        status =
            skn_folder_write_file(writer->folder, writer->path, "manifest.json",
                                  text.bytes, text.count, error);
    if (status == SKN_OK)
        status = skn_folder_sync(writer->folder, writer->path, error);
    skn_json_text_fini(&text);
    skn_manifest_fini(&manifest);
    return status;
}

/* Gives the folder its final name. A checkpoint of that batch may be there: a
 * damaged one, or one that a rollback replays. The two change places in one
 * step where the file system can do that. */
static skn_status_t
rename_folder(const skn_checkpoint_writer_t *writer, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES];
    int folder = skn_run_folder_descriptor(writer->run);
    skn_batch_name(writer->batch, name);
    int result = renameat(folder, writer->name, folder, name);
    if (result != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
        result = renameat2(folder, writer->name, folder, name, RENAME_EXCHANGE);
        if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
            char away[SKN_BATCH_NAME_BYTES + 16];
            (void)snprintf(away, sizeof(away), ".tmp-old-%s", name);
            result = renameat(folder, name, folder, away);
            if (result == 0)
                result = renameat(folder, writer->name, folder, name);
        }
    }
    if (result != 0) {
        int code = errno;
        return skn_fail(error, skn_errno_status(code, SKN_STORAGE),
                        "%s: cannot rename to %s: %s", writer->path, name,
                        strerror(code));
    }
    return SKN_OK;
}

static skn_status_t
check_complete(const skn_checkpoint_writer_t *writer, skn_error_t *error)
{
    if (writer->failed)
        return skn_fail(error, SKN_STORAGE,
                        "%s: a shard failed, so the checkpoint is given up",
                        writer->path);
    for (size_t i = 0; i < writer->count; i++)
        if (writer->shard[i]->file >= 0)
            return skn_fail(error, SKN_BAD_MESSAGE, "%s: not closed yet",
                            writer->shard[i]->path);
    return SKN_OK;
}

skn_status_t
skn_checkpoint_finish(skn_checkpoint_writer_t **writer, const char *metadata,
                      uint32_t keep, skn_error_t *warning, skn_error_t *error)
{
    skn_run_folder_t *run = (*writer)->run;
    uint64_t batch = (*writer)->batch;
    int folder = skn_run_folder_descriptor(run);
    const char *path = skn_run_folder_path(run);
    if (warning)
        *warning = (skn_error_t){ 0 };
    skn_status_t status = check_complete(*writer, error);
    if (status == SKN_OK)
        status = write_manifest(*writer, metadata, error);
    if (status == SKN_OK)
        status = rename_folder(*writer, error);
    if (status != SKN_OK) {
        skn_checkpoint_abandon(writer);
        return status;
    }
    /* If this fails the checkpoint is there but may not survive a power cut:
     * nothing older is removed. */
    status = skn_folder_sync(folder, path, error);
    if (status == SKN_OK) {
        /* After an exchange the old one lies under the unfinished name. */
        skn_status_t tidy =
            skn_folder_remove(folder, path, (*writer)->name, warning);
        if (tidy == SKN_OK)
            tidy = skn_run_folder_mark_latest(run, batch, warning);
        if (tidy == SKN_OK)
            (void)skn_run_folder_prune(run, batch, keep, warning);
    }
    writer_destroy(writer);
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
