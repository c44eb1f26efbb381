/* salvage_writer.c - writes the files of a salvage, and then its manifest.
 *
 * Declared in salvage.h. The order of steps is that of a checkpoint, whose
 * writer does the work: files are synced before the manifest, the manifest
 * before the rename.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/salvage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/folder/folder.h"

struct skn_salvage_writer {
    skn_run_folder_t *run;
    skn_checkpoint_writer_t *files;
    uint64_t generation, batch; /* `batch`: the greatest of a file */
    skn_json_text_t far;        /* "output.0.safetensors":347,... */
};

static void
destroy(skn_salvage_writer_t **writer)
{
    skn_checkpoint_abandon(&(*writer)->files);
    skn_run_folder_close(&(*writer)->run);
    skn_json_text_fini(&(*writer)->far);
    free(*writer);
    *writer = NULL;
}

skn_salvage_writer_t *
skn_salvage_begin(const char *run_path, uint64_t generation, skn_error_t *error)
{
    const skn_run_options_t options = { .resume = true,
                                        .wait_ms = SKN_LOCK_WAIT_MS };
    skn_salvage_writer_t *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to write a salvage");
        return NULL;
    }
    writer->generation = generation;
    writer->run = skn_run_folder_open(run_path, &options, NULL, error);
    if (writer->run)
        writer->files = skn_checkpoint_begin(writer->run, 0, generation, error);
    if (!writer->files)
        destroy(&writer);
    return writer;
}

/* Row by row: rows in memory are farther apart than those in a file. */
static skn_status_t
write_view(skn_checkpoint_shard_t *shard, size_t index,
           const skn_tensor_view_t *view, skn_error_t *error)
{
    unsigned char step[65536];
    uint64_t at_once = sizeof(step) / (view->row_bytes ? view->row_bytes : 1);
    skn_status_t status = SKN_OK;
    for (uint64_t row = 0; row < view->piece.rows && status == SKN_OK;) {
        uint64_t count = view->piece.rows - row;
        const unsigned char *from = view->at + row * view->stride_bytes;
        if (at_once == 0 || count == 1) { /* one row, or longer rows */
            status =
                skn_checkpoint_shard_write(shard, index, row * view->row_bytes,
                                           from, view->row_bytes, error);
            row++;
            continue;
        }
        if (count > at_once)
            count = at_once;
        for (uint64_t k = 0; k < count; k++)
            memcpy(step + k * view->row_bytes, from + k * view->stride_bytes,
                   view->row_bytes);
        status =
            skn_checkpoint_shard_write(shard, index, row * view->row_bytes,
                                       step, count * view->row_bytes, error);
        row += count;
    }
    return status;
}

skn_status_t
skn_salvage_add(skn_salvage_writer_t *writer, const char *file, uint64_t batch,
                const skn_tensor_view_t *view, size_t count, skn_error_t *error)
{
    skn_error_t own = { 0 };
    error = error ? error : &own;
    skn_piece_t *piece = calloc(count + 1, sizeof(*piece));
    if (!piece)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu tensors",
                        count);
    for (size_t k = 0; k < count; k++)
        piece[k] = view[k].piece;
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer->files, file, piece, count, error);
    free(piece);
    if (!shard)
        return error->status;
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < count && status == SKN_OK; k++)
        status = write_view(shard, k, &view[k], error);
    if (status != SKN_OK)
        return status; /* the shard is the writer's */
    status = skn_checkpoint_shard_close(&shard, error);
    skn_json_text_add(&writer->far, "%s\"%s\":%" PRIu64,
                      writer->far.count ? "," : "", file, batch);
    if (batch > writer->batch)
        writer->batch = batch;
    return status;
}

/* Writes the sealed list of its files, which cover no tensor. */
static skn_status_t
write_manifest(skn_salvage_writer_t *writer, skn_error_t *error)
{
    skn_manifest_t part = { 0 };
    skn_json_text_t text = { 0 }, metadata = { 0 };
    skn_json_text_add(&metadata, "{\"generation\":%" PRIu64 ",\"files\":{%s}}",
                      writer->generation,
                      writer->far.bytes ? writer->far.bytes : "");
    skn_status_t status =
        metadata.failed || writer->far.failed
            ? skn_fail(error, SKN_NO_MEMORY, "no memory for a salvage's list")
            : skn_checkpoint_list(writer->files, metadata.bytes, &part, error);
    if (status == SKN_OK && part.file_count == 0)
        status = skn_fail(error, SKN_NO_INPUT, "a salvage without a file");
    if (status == SKN_OK) {
        part.batch = writer->batch;
        skn_manifest_print(&part, &text);
        status = skn_json_text_seal(&text, error);
    }
    if (status == SKN_OK)
        status =
            skn_checkpoint_seal(writer->files, text.bytes, text.count, error);
    skn_manifest_fini(&part);
    skn_json_text_fini(&metadata);
    skn_json_text_fini(&text);
    return status;
}

skn_status_t
skn_salvage_finish(skn_salvage_writer_t **writer, skn_error_t *error)
{
    skn_status_t status = write_manifest(*writer, error);
    if (status == SKN_OK)
        status = skn_checkpoint_commit_as(&(*writer)->files, SKN_SALVAGE_NAME,
                                          error);
    destroy(writer);
    return status;
}

void
skn_salvage_abandon(skn_salvage_writer_t **writer)
{
    if (!*writer)
        return;
    int code = errno;
    destroy(writer);
    errno = code;
}
