/* checkpoint.h - writes and reads checkpoints: all state of a run at one batch.
 *
 * Written as a stream, one safetensors file a shard, in a folder `.tmp-...`
 * that is renamed to `batch-000000001234` once the manifest is in it. Read back
 * as global tensors, independent of the shards that wrote them.
 *
 * Tensors whose names end in `.weight` or `.bias` are the model; the rest
 * (moments, index, residuals) is needed in addition to resume.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_CHECKPOINT_H
#define FORMATS_CHECKPOINT_CHECKPOINT_H

#include "formats/checkpoint/run_folder.h"

/* ---- Writing. One thread at a time for a writer and all its shards. ---- */

typedef struct skn_checkpoint_writer skn_checkpoint_writer_t;
typedef struct skn_checkpoint_shard skn_checkpoint_shard_t;

/* Starts the checkpoint of `batch`, in the layout of `generation`. `run`
 * outlives the writer. NULL: failed. */
skn_checkpoint_writer_t *skn_checkpoint_begin(skn_run_folder_t *run,
                                              uint64_t batch,
                                              uint64_t generation,
                                              skn_error_t *error);
/* Creates the file of a shard, reserves its length (so a full disk shows here)
 * and writes its header. Several shards may be open at once. The shard belongs
 * to the writer. SKN_BAD_DATA for a name or piece that is refused; NULL then.
 */
skn_checkpoint_shard_t *skn_checkpoint_shard_open(
    skn_checkpoint_writer_t *writer, const char *name, const skn_piece_t *piece,
    size_t piece_count, skn_error_t *error);
/* Writes the next bytes of piece `piece` (row after row, little-endian):
 * `offset_bytes` is the number of its bytes written before. Pieces may be
 * written alternately. SKN_BAD_MESSAGE for bytes out of order or too many.
 * After a failure of the file only abandon works. */
skn_status_t skn_checkpoint_shard_write(skn_checkpoint_shard_t *shard,
                                        size_t piece, uint64_t offset_bytes,
                                        const void *bytes, size_t byte_count,
                                        skn_error_t *error);
/* Syncs the file. SKN_BAD_MESSAGE when a piece is not complete. Sets *shard to
 * NULL in any case. */
skn_status_t skn_checkpoint_shard_close(skn_checkpoint_shard_t **shard,
                                        skn_error_t *error);
/* Completes the checkpoint: all shards are closed and the pieces cover every
 * global tensor once. `metadata` is a JSON object as text, returned byte for
 * byte on reading. Then points `latest` at it and prunes to `keep`; a failure
 * of that is not a failure of the checkpoint: it is reported in `warning` (may
 * be NULL; empty text: none). On failure everything older is untouched and the
 * unfinished folder is removed. Sets *writer to NULL in any case. */
skn_status_t skn_checkpoint_finish(skn_checkpoint_writer_t **writer,
                                   const char *metadata, uint32_t keep,
                                   skn_error_t *warning, skn_error_t *error);

/* The steps of finish, for a checkpoint whose files are on several nodes. All
 * shards are closed. Lists the files written here: *manifest, which is the
 * caller's to fini, need not cover a tensor. */
skn_status_t skn_checkpoint_list(const skn_checkpoint_writer_t *writer,
                                 const char *metadata, skn_manifest_t *manifest,
                                 skn_error_t *error);
/* Puts the sealed manifest of the whole checkpoint into the unfinished folder
 * (path: skn_checkpoint_writer_path, which can be opened then), and syncs. */
skn_status_t skn_checkpoint_seal(skn_checkpoint_writer_t *writer,
                                 const char *bytes, size_t byte_count,
                                 skn_error_t *error);
/* Makes files that were added after the manifest durable. */
skn_status_t skn_checkpoint_sync(const skn_checkpoint_writer_t *writer,
                                 skn_error_t *error);
const char *skn_checkpoint_writer_path(const skn_checkpoint_writer_t *writer);
/* Renames the folder to its final name. No link is set and nothing older is
 * removed. Sets *writer to NULL in any case. */
skn_status_t skn_checkpoint_commit(skn_checkpoint_writer_t **writer,
                                   skn_error_t *warning, skn_error_t *error);
/* The same under another name, for a folder that is not a checkpoint
 * (salvage.h). */
skn_status_t skn_checkpoint_commit_as(skn_checkpoint_writer_t **writer,
                                      const char *name, skn_error_t *error);
/* SKN_BAD_DATA unless a closed shard equals, byte for byte, the file of that
 * name in the manifest. */
skn_status_t skn_checkpoint_match(const skn_checkpoint_writer_t *writer,
                                  const char *name,
                                  const skn_manifest_t *manifest,
                                  skn_error_t *error);
/* Removes the unfinished folder, frees, sets *writer to NULL, which it may be
 * already. */
void skn_checkpoint_abandon(skn_checkpoint_writer_t **writer);

/* ---- Reading. One thread at a time for a checkpoint. ---- */

typedef struct skn_checkpoint skn_checkpoint_t;

typedef enum skn_verify {
    SKN_VERIFY_ALL,  /* all bytes at open: damage falls back to an older one */
    SKN_VERIFY_LAZY, /* tensors at their first use: damage is SKN_BAD_DATA */
    SKN_VERIFY_HERE  /* the same; missing files, and files with a damaged
                      * header, are left out: their tensors are SKN_NO_INPUT */
} skn_verify_t;

/* A global tensor; `columns` is 1 where `dims` is 1. */
typedef struct skn_checkpoint_tensor {
    const char *name;
    skn_dtype_t dtype;
    uint32_t dims;
    uint64_t rows, columns;
    size_t piece_first, piece_count; /* in skn_checkpoint_piece order */
} skn_checkpoint_tensor_t;

/* Opens one checkpoint (`path` holds a manifest.json; `RUN/best` is such a
 * path), or the newest complete one of the run folder `path`. If several nodes
 * have a part each, their folders are read together, in place: files of a
 * checkpoint that are missing or damaged are read from the run folders beside
 * its own, and `path` may be the folder that holds the run folders of nodes
 * (node_folders.h). NULL and: SKN_NO_INPUT when there is none; SKN_BAD_DATA
 * with the newest and its reason when all are refused. Needs no lock; a
 * checkpoint that is pruned while it is open stays readable. */
skn_checkpoint_t *skn_checkpoint_open(const char *path, skn_verify_t verify,
                                      skn_error_t *error);
/* The same for the checkpoint of `batch` in the run folder `path` or in the run
 * folders that it holds. */
skn_checkpoint_t *skn_checkpoint_open_batch(const char *path, uint64_t batch,
                                            skn_verify_t verify,
                                            skn_error_t *error);
/* The checkpoint with the sealed manifest `bytes`, and those of its files that
 * are in the folder `path`, which need not exist: as SKN_VERIFY_HERE. */
skn_checkpoint_t *skn_checkpoint_open_here(const char *path, const char *bytes,
                                           size_t byte_count,
                                           skn_error_t *error);
/* Unmaps, frees, sets *checkpoint to NULL, which it may be already. */
void skn_checkpoint_close(skn_checkpoint_t **checkpoint);

/* These results live as long as `checkpoint`. The warning names the newer
 * checkpoints that were refused and why; "" when there was none. */
const char *skn_checkpoint_path(const skn_checkpoint_t *checkpoint);
uint64_t skn_checkpoint_batch(const skn_checkpoint_t *checkpoint);
const char *skn_checkpoint_run_id(const skn_checkpoint_t *checkpoint);
const char *skn_checkpoint_metadata(const skn_checkpoint_t *checkpoint);
const char *skn_checkpoint_warning(const skn_checkpoint_t *checkpoint);
/* The manifest of all its files; whether file `file` of the manifest is here;
 * whether all are. */
const skn_manifest_t *skn_checkpoint_manifest(
    const skn_checkpoint_t *checkpoint);
bool skn_checkpoint_has_file(const skn_checkpoint_t *checkpoint, size_t file);
bool skn_checkpoint_is_whole(const skn_checkpoint_t *checkpoint);
/* Whether some of its files are read from folders beside its own. */
bool skn_checkpoint_is_gathered(const skn_checkpoint_t *checkpoint);
/* The global tensors, by name in byte order. NULL past the last. */
size_t skn_checkpoint_tensor_count(const skn_checkpoint_t *checkpoint);
const skn_checkpoint_tensor_t *skn_checkpoint_tensor(
    const skn_checkpoint_t *checkpoint, size_t index);
/* NULL: no tensor of that name. */
const skn_checkpoint_tensor_t *skn_checkpoint_find(
    const skn_checkpoint_t *checkpoint, const char *name);
/* The pieces, by tensor, row, column. NULL past the last. */
const skn_piece_t *skn_checkpoint_piece(const skn_checkpoint_t *checkpoint,
                                        size_t index);
/* The index in the manifest of the file that a piece is in. */
size_t skn_checkpoint_piece_file(const skn_checkpoint_t *checkpoint,
                                 size_t index);
/* The bytes of a piece, row after row, aligned to its element, read-only. NULL
 * when they are damaged, or `index` is past the last. */
const void *skn_checkpoint_piece_bytes(skn_checkpoint_t *checkpoint,
                                       size_t index, skn_error_t *error);

/* Copies rows [row_first, row_first + row_count) x columns [column_first,
 * column_first + column_count) of the global tensor `name` out of all files
 * that hold part of it. Row r is written at destination + r * stride_bytes,
 * which is at least column_count elements (else SKN_INTERNAL). SKN_NO_INPUT: no
 * such tensor; SKN_BAD_DATA: outside of it, or damaged. */
skn_status_t skn_checkpoint_read_block(skn_checkpoint_t *checkpoint,
                                       const char *name, uint64_t row_first,
                                       uint64_t row_count,
                                       uint64_t column_first,
                                       uint64_t column_count, void *destination,
                                       size_t stride_bytes, skn_error_t *error);

#define SKN_SHA256_TEXT_BYTES 65
/* SHA-256 over the elements of all tensors named *.weight or *.bias, by name
 * in byte order, rows in global order, little-endian: the same for every
 * number of shards and files. */
skn_status_t skn_checkpoint_weights_sha256(skn_checkpoint_t *checkpoint,
                                           char hex[SKN_SHA256_TEXT_BYTES],
                                           skn_error_t *error);

#endif
