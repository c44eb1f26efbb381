/* checkpoint_shard.c - writes one file of a checkpoint as its pieces arrive.
 *
 * This file owns: the file until it is synced, and the hash of each piece.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/writer_internal.h"

#include "formats/folder/folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
skn_checkpoint_shard_destroy(skn_checkpoint_shard_t *shard)
{
    if (shard->file >= 0)
        (void)close(shard->file);
    for (size_t i = 0; i < shard->count; i++)
        (void)XXH3_freeState(shard->progress[i].hash);
    free(shard->progress);
    free(shard->path);
    free(shard);
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
        status = skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu tensors",
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
        status = skn_safetensors_header(tensor, count, SKN_SAFETENSORS_SKEIN, 8,
                                        header, &header_bytes, error);
    shard->header_bytes = header_bytes;
    for (size_t i = 0; i < count && status == SKN_OK; i++) {
        progress_t *progress = &shard->progress[i];
        progress->piece = piece[i];
        progress->offset_bytes = header_bytes + tensor[i].offset_bytes;
        progress->size_bytes = tensor[i].size_bytes;
        progress->hash = XXH3_createState();
        shard->count = i + 1;
        if (!progress->hash || XXH3_128bits_reset(progress->hash) != XXH_OK)
            status =
                skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu hashes",
                         shard->path, count);
    }
    if (status == SKN_OK)
        shard->bytes = header_bytes + data_bytes;
    free(tensor);
    return status;
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
        return skn_fail_errno(error, SKN_CANNOT_CREATE, shard->path, NULL,
                              "cannot create");
    /* Not all file systems can reserve; then a write will fail instead. */
    while (fallocate(shard->file, 0, 0, (off_t)shard->bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            break;
        if (errno != EINTR)
            return skn_fail_errno(error, SKN_STORAGE, shard->path, NULL,
                                  "cannot reserve its length");
    }
    skn_hash_text(header, (size_t)shard->header_bytes, shard->header_hash);
    return skn_file_write(shard->file, shard->path, header,
                          (size_t)shard->header_bytes, 0, error);
}

/* Allocates a shard of the writer, not open yet; NULL when it is refused. */
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
    if (!shard || asprintf(&shard->path, "%s/%s", writer->path, name) < 0) {
        free(shard);
        skn_fail(error, SKN_NO_MEMORY, "%s: no memory for a shard",
                 writer->path);
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
        /* A file that exists already belongs to another shard: it is kept. */
        if (shard->file >= 0)
            (void)unlinkat(writer->folder, shard->name, 0);
        skn_checkpoint_shard_destroy(shard);
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
                        "%s: tensor %zu was written, but there are only %zu",
                        shard->path, piece, shard->count);
    progress_t *progress = &shard->progress[piece];
    if (offset_bytes != progress->written_bytes ||
        byte_count > progress->size_bytes - offset_bytes)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: tensor %s: %zu bytes at %" PRIu64 ", but %" PRIu64
                        " of %" PRIu64 " are written",
                        shard->path, progress->piece.name, byte_count,
                        offset_bytes, progress->written_bytes,
                        progress->size_bytes);
    if (byte_count == 0)
        return SKN_OK;
    assert(shard->file >= 0);
    skn_status_t status =
        skn_file_write(shard->file, shard->path, bytes, byte_count,
                       progress->offset_bytes + offset_bytes, error);
    if (status != SKN_OK) {
        shard->writer->failed = true;
        return status;
    }
    (void)XXH3_128bits_update(progress->hash, bytes, byte_count);
    progress->written_bytes += byte_count;
    assert(progress->written_bytes <= progress->size_bytes);
    return SKN_OK;
}

skn_status_t
skn_checkpoint_shard_close(skn_checkpoint_shard_t **handle, skn_error_t *error)
{
    skn_checkpoint_shard_t *shard = *handle;
    skn_status_t status = SKN_OK;
    assert(shard->file >= 0);
    *handle = NULL;
    for (size_t i = 0; i < shard->count && status == SKN_OK; i++) {
        const progress_t *progress = &shard->progress[i];
        if (progress->written_bytes != progress->size_bytes)
            status = skn_fail(error, SKN_BAD_MESSAGE,
                              "%s: tensor %s: only %" PRIu64 " of %" PRIu64 " "
                              "bytes are written",
                              shard->path, progress->piece.name,
                              progress->written_bytes, progress->size_bytes);
    }
    /* After a failed sync the kernel may have dropped the pages: a second
     * attempt that succeeds would prove nothing, so the checkpoint is lost. */
    if (status == SKN_OK && fsync(shard->file) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, shard->path, NULL,
                                "cannot sync");
    if (close(shard->file) != 0 && status == SKN_OK)
        status = skn_fail_errno(error, SKN_STORAGE, shard->path, NULL,
                                "cannot close");
    shard->file = -1;
    if (status != SKN_OK)
        shard->writer->failed = true;
    return status;
}

skn_status_t
skn_checkpoint_match(const skn_checkpoint_writer_t *writer, const char *name,
                     const skn_manifest_t *manifest, skn_error_t *error)
{
    skn_manifest_t mine = { 0 };
    skn_status_t status =
        skn_checkpoint_list(writer, manifest->metadata, &mine, error);
    if (status != SKN_OK)
        return status;
    size_t at = skn_manifest_find(&mine, name);
    size_t want = skn_manifest_find(manifest, name);
    if (at == SIZE_MAX || want == SIZE_MAX ||
        !skn_manifest_same_file(&mine, at, manifest, want))
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s/%s is not the file that the manifest lists",
                          writer->path, name);
    skn_manifest_fini(&mine);
    return status;
}

void
skn_checkpoint_shard_list(const skn_checkpoint_shard_t *shard, uint32_t index,
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
