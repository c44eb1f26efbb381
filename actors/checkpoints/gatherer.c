/* gatherer.c - copies the files of a checkpoint one after the other, part by
 * part, in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/gatherer.h"

#include <assert.h>
#include <stdlib.h>

void
skn_gatherer_begin(skn_gatherer_t *gatherer, const skn_fetcher_t *fetcher,
                   skn_checkpoint_writer_t *writer)
{
    *gatherer = (skn_gatherer_t){ .active = true,
                                  .fetcher = *fetcher,
                                  .writer = writer };
}

void
skn_gatherer_close(skn_gatherer_t *gatherer)
{
    for (; gatherer->count > 0; gatherer->count--)
        free(gatherer->parts[gatherer->first++ % SKN_GATHER_PARTS].bytes);
    skn_fetcher_close(&gatherer->fetcher);
    gatherer->active = false;
    gatherer->shard = NULL; /* owned by the writer */
}

static const skn_manifest_t *
manifest_of(const skn_gatherer_t *gatherer)
{
    return skn_checkpoint_manifest(gatherer->fetcher.checkpoint);
}

/* Piece `k` of the current file. */
static const skn_piece_t *
piece_of(const skn_gatherer_t *gatherer, size_t k)
{
    const skn_manifest_t *manifest = manifest_of(gatherer);
    return &manifest->piece[manifest->file[gatherer->file].piece_first + k]
                .piece;
}

/* Finds the next file that is not here; false: there is none. */
static bool
find_file(skn_gatherer_t *gatherer)
{
    const skn_manifest_t *manifest = manifest_of(gatherer);
    while (
        gatherer->file < manifest->file_count &&
        skn_checkpoint_has_file(gatherer->fetcher.checkpoint, gatherer->file))
        gatherer->file++;
    return gatherer->file < manifest->file_count;
}

static skn_status_t
open_file(skn_gatherer_t *gatherer, skn_error_t *error)
{
    const skn_manifest_file_t *file =
        &manifest_of(gatherer)->file[gatherer->file];
    skn_piece_t *piece = calloc(file->piece_count + 1, sizeof(*piece));
    if (!piece)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu tensors",
                        file->name, file->piece_count);
    for (size_t k = 0; k < file->piece_count; k++)
        piece[k] = *piece_of(gatherer, k);
    gatherer->shard = skn_checkpoint_shard_open(
        gatherer->writer, file->name, piece, file->piece_count, error);
    gatherer->piece = 0;
    gatherer->row = 0;
    free(piece);
    return gatherer->shard ? SKN_OK : error->status;
}

/* Asks for the next rows of the file. */
static skn_status_t
ask_part(skn_gatherer_t *gatherer, skn_actor_t *actor, skn_error_t *error)
{
    skn_piece_t want = *piece_of(gatherer, gatherer->piece);
    assert(gatherer->count < SKN_GATHER_PARTS && gatherer->row <= want.rows);
    size_t row_bytes = want.columns * skn_dtype_bytes(want.dtype);
    uint64_t rows = row_bytes > 0 && row_bytes < SKN_PART_BYTES
                        ? SKN_PART_BYTES / row_bytes
                        : 1;
    if (rows > want.rows - gatherer->row)
        rows = want.rows - gatherer->row;
    skn_gather_part_t *part =
        &gatherer
             ->parts[(gatherer->first + gatherer->count) % SKN_GATHER_PARTS];
    *part = (skn_gather_part_t){
        .bytes = malloc(rows * row_bytes + 1),
        .count = rows * row_bytes,
        .piece = gatherer->piece,
        .offset_bytes = gatherer->row * row_bytes,
    };
    if (!part->bytes)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a part of %s",
                        want.name);
    gatherer->count++;
    want.row_first += gatherer->row;
    gatherer->row += rows;
    if (gatherer->row >= want.rows) {
        gatherer->row = 0;
        gatherer->piece++;
    }
    want.rows = rows;
    return rows == 0 || row_bytes == 0
               ? SKN_OK
               : skn_fetcher_block(&gatherer->fetcher, actor, want.name, &want,
                                   part->bytes, row_bytes, &part->waiting,
                                   error);
}

static skn_status_t
write_part(skn_gatherer_t *gatherer, skn_error_t *error)
{
    skn_gather_part_t *part =
        &gatherer->parts[gatherer->first % SKN_GATHER_PARTS];
    skn_status_t status = skn_checkpoint_shard_write(
        gatherer->shard, part->piece, part->offset_bytes, part->bytes,
        part->count, error);
    free(part->bytes);
    gatherer->first++;
    gatherer->count--;
    return status;
}

static skn_status_t
close_file(skn_gatherer_t *gatherer, skn_error_t *error)
{
    const skn_manifest_t *manifest = manifest_of(gatherer);
    skn_status_t status = skn_checkpoint_shard_close(&gatherer->shard, error);
    if (status == SKN_OK)
        status = skn_checkpoint_match(gatherer->writer,
                                      manifest->file[gatherer->file].name,
                                      manifest, error);
    gatherer->file++;
    return status;
}

skn_status_t
skn_gatherer_step(skn_gatherer_t *gatherer, skn_actor_t *actor, bool *idle,
                  bool *over, skn_error_t *error)
{
    *idle = *over = false;
    if (!gatherer->shard) {
        if (find_file(gatherer))
            return open_file(gatherer, error);
        *over = true;
        return skn_checkpoint_sync(gatherer->writer, error);
    }
    const skn_gather_part_t *head =
        &gatherer->parts[gatherer->first % SKN_GATHER_PARTS];
    if (gatherer->count > 0 && head->waiting == 0)
        return write_part(gatherer, error);
    size_t pieces = manifest_of(gatherer)->file[gatherer->file].piece_count;
    if (gatherer->piece < pieces && gatherer->count < SKN_GATHER_PARTS)
        return ask_part(gatherer, actor, error);
    if (gatherer->count == 0)
        return close_file(gatherer, error);
    *idle = true;
    return SKN_OK;
}
