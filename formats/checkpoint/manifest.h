/* manifest.h - manifest.json, the list of a checkpoint's files and tensors.
 *
 *     { "format": "skein-checkpoint", "version": 1, "run": "32 hex digits",
 *       "batch": 1234, "metadata": "JSON text of the run, as a string",
 *       "files": [ { "name": "hidden.0.safetensors", "bytes": 4242,
 *                    "header_bytes": 264, "header_xxh3_128": "...",
 *                    "tensors": [ { "name": "hidden.weight", "dtype": "F32",
 *                        "shape": [782, 64], "global_shape": [782, 128],
 *                        "first": [0, 64], "offset": 264,
 *                        "xxh3_128": "..." }, ... ] }, ... ]
 *     ,"seal_xxh3_128": "..." }
 *
 * A tensor here is a piece: a rectangle of a global tensor. The pieces of each
 * global tensor must cover it exactly once, in any of the files, so that a run
 * may resume on another number of shards. Hashes are XXH3-128: they find
 * damage, not malice.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_MANIFEST_H
#define FORMATS_CHECKPOINT_MANIFEST_H

#include "formats/text/json_text.h"
#include "formats/checkpoint/safetensors.h"

/* Batches are 12 digits in names of folders. */
#define SKN_CHECKPOINT_BATCH_MAX 999999999999u
/* 65,536 pieces of 300 bytes are 19 MiB; the rest is for the metadata. */
#define SKN_MANIFEST_BYTES_MAX (64u << 20)
/* Files of one checkpoint: a shard of each kind writes one. */
#define SKN_CHECKPOINT_FILES_MAX (4u * SKN_SHARD_MAX)
#define SKN_RUN_ID_BYTES 33 /* 32 lower case hex digits and the NUL */

/* A rectangle of a global tensor, and its position there. With dims 1 it is
 * `rows` long, and both column counts are 1. A piece is never empty, unless the
 * global tensor is: then it is the only one. */
typedef struct skn_piece {
    char name[SKN_NAME_MAX + 1]; /* of the global tensor: [A-Za-z0-9_.-] */
    skn_dtype_t dtype;
    uint32_t dims; /* 1 or 2 */
    uint64_t rows, columns;
    uint64_t global_rows, global_columns;
    uint64_t row_first, column_first;
} skn_piece_t;

/* A piece in memory. */
typedef struct skn_tensor_view {
    skn_piece_t piece;
    unsigned char *at;
    size_t stride_bytes; /* between rows of the piece */
    size_t row_bytes;    /* of one row of the piece */
} skn_tensor_view_t;

typedef struct skn_manifest_piece {
    skn_piece_t piece;
    uint32_t file;                     /* index into the manifest's files */
    uint64_t offset_bytes, size_bytes; /* within the file */
    char hash[SKN_HASH_TEXT_BYTES];
} skn_manifest_piece_t;

typedef struct skn_manifest_file {
    char name[SKN_NAME_MAX + 1];
    uint64_t bytes, header_bytes;
    char header_hash[SKN_HASH_TEXT_BYTES];
    size_t piece_first, piece_count; /* in the manifest's pieces */
} skn_manifest_file_t;

typedef struct skn_manifest {
    char run_id[SKN_RUN_ID_BYTES];
    uint64_t batch;
    char *metadata; /* these three on the heap */
    skn_manifest_file_t *file;
    skn_manifest_piece_t *piece;
    size_t file_count, piece_count;
} skn_manifest_t;

/* The piece as a tensor of a safetensors file. Its name there is that of the
 * global tensor, and "@ROW,COLUMN" when it is not all of it. */
skn_safetensor_t skn_piece_tensor(const skn_piece_t *piece);
/* SKN_BAD_DATA unless name, dtype, sizes and position are sound by
 * themselves. */
skn_status_t skn_piece_check(const skn_piece_t *piece, skn_error_t *error);
/* Whether both are the same rectangle of the same tensor. */
bool skn_piece_same(const skn_piece_t *piece, const skn_piece_t *other);

/* The indices of the pieces by name, first row, first column: pieces of one
 * global tensor are consecutive. The caller frees; NULL: no memory. */
size_t *skn_manifest_order(const skn_manifest_t *manifest, skn_error_t *error);
/* SKN_BAD_DATA unless the pieces of each global tensor agree on its shape and
 * cover it exactly once. `order` is that of skn_manifest_order. */
skn_status_t skn_manifest_check_cover(const char *path,
                                      const skn_manifest_t *manifest,
                                      const size_t *order, skn_error_t *error);

/* Adds the manifest, not sealed yet, to an empty text. */
void skn_manifest_print(const skn_manifest_t *manifest, skn_json_text_t *text);
/* Checks that the metadata are a JSON object and the pieces cover every tensor
 * once, and makes the sealed text of the manifest. `path` is for error
 * sentences. */
skn_status_t skn_manifest_text(const char *path, const skn_manifest_t *manifest,
                               skn_json_text_t *text, skn_error_t *error);
/* Parses the output of skn_manifest_print (with or without its seal, which the
 * caller checks first). SKN_BAD_DATA with the entry at fault; *manifest is
 * empty then. */
skn_status_t skn_manifest_parse(const char *path, const char *bytes,
                                size_t byte_count, skn_manifest_t *manifest,
                                skn_error_t *error);
/* The same for a manifest that lists a part of a checkpoint: its pieces need
 * not cover a tensor. */
skn_status_t skn_manifest_parse_part(const char *path, const char *bytes,
                                     size_t byte_count,
                                     skn_manifest_t *manifest,
                                     skn_error_t *error);
/* Adds the files of `part` that `whole` lacks; *whole keeps its own run, batch
 * and metadata. SKN_BAD_DATA when both list a file and differ in it. */
skn_status_t skn_manifest_merge(skn_manifest_t *whole,
                                const skn_manifest_t *part, skn_error_t *error);
/* Whether file `at` of one and file `index` of another are the same bytes. */
bool skn_manifest_same_file(const skn_manifest_t *whole, size_t at,
                            const skn_manifest_t *part, size_t index);
/* Sorts the files by name. SKN_NO_MEMORY. */
skn_status_t skn_manifest_sort(skn_manifest_t *manifest, skn_error_t *error);
/* The index of the file `name`; SIZE_MAX: there is none. */
size_t skn_manifest_find(const skn_manifest_t *manifest, const char *name);
/* Frees; `manifest` is empty afterwards. */
void skn_manifest_fini(skn_manifest_t *manifest);

#endif
