/* inspection.h - shows what a run folder or a checkpoint holds, as `skein
 * inspect` does.
 *
 *     skn_inspection_t *inspection = skn_inspection_open("runs/x", &error);
 *     const skn_inspection_info_t *info = skn_inspection_info(inspection);
 *     printf("batch %llu\n", (unsigned long long)info->batch);
 *     skn_inspection_print(inspection, SKN_INSPECTION_TEXT, stdout, &error);
 *     skn_inspection_close(&inspection);
 *
 * An inspection is a picture of the moment when it was opened, and does not
 * change: any number of threads may read it at once. It takes no lock, so that
 * the run may go on meanwhile; checkpoints that the run removes later stay in
 * the picture. Every pointer that it gives lives until it is closed. Structs
 * that begin with struct_bytes, the size that this library has, may get more
 * members at their ends within one SONAME.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_INSPECTION_H
#define SKEIN_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_inspection skn_inspection_t;

/* Inspects a run folder, one checkpoint in it, the folder that holds those of a
 * run's nodes, or an exported model. Reads every byte of every checkpoint and
 * compares all hashes, which takes seconds for each GB; of one checkpoint only
 * its own.
 *
 * Damage is not a failure, but in the info: `is_damaged` and the warnings, and
 * `failure` if no checkpoint could be read at all. NULL and SKN_NO_INPUT (there
 * is no run), SKN_BAD_DATA (its run.json is damaged), SKN_NO_PERMISSION,
 * SKN_STORAGE, SKN_NO_MEMORY, or SKN_USAGE for a NULL. */
SKN_API skn_inspection_t *skn_inspection_open(const char *path,
                                              skn_error_t *error);
/* Frees, and sets *inspection to NULL, which it may be already. */
SKN_API void skn_inspection_close(skn_inspection_t **inspection);

typedef struct skn_inspection_info_s {
    size_t struct_bytes;
    const char *path;    /* as it was given */
    const char *run_id;  /* 32 hex digits */
    const char *created; /* in UTC, ISO 8601 */
    const char *config;  /* the model file with every value, YAML */
    size_t checkpoint_count;
    bool is_damaged; /* a checkpoint is, or the link `best` leads nowhere */
    /* A sentence for each part that is damaged or missing, the newest
     * checkpoint first, with a hint (or "") in status SKN_OK. */
    size_t warning_count;
    const skn_error_t *warnings;
    /* Why no checkpoint can be read although some should be. NULL: one is
     * shown, or none is whole in these folders, or there is none yet. */
    const skn_error_t *failure;
    /* The checkpoint that is shown: that of `path`, or the newest whole one.
     * NULL: none; then all members below are zeros. */
    const char *checkpoint_path;
    uint64_t batch;             /* trained batches */
    uint64_t epoch;             /* trained epochs */
    bool is_finished;           /* the run ended with it */
    const char *weights_sha256; /* 64 hex digits: of the model, however its
                                 * files are divided */
    const char *metadata; /* a JSON object: scores, history, choices of the
                           * run (docs/reference/events.md) */
    uint64_t file_count, bytes; /* its files, in all folders */
    size_t tensor_count;
    /* Updates that rows of the output layer have not had, or have had twice:
     * pairs of a batch and a block of rows. False: there is no ledger. */
    bool has_ledger;
    uint64_t lost, applied_twice;
    /* Hash of the data of an exported model (skn_predictor_export), 32 hex
     * digits; then there are no checkpoints, epoch, metadata, weights_sha256.
     * NULL: it is a run. */
    const char *data_xxh3_128;
} skn_inspection_info_t;

/* NULL for a NULL. */
SKN_API const skn_inspection_info_t *skn_inspection_info(
    const skn_inspection_t *inspection);

typedef enum skn_inspection_state {
    SKN_INSPECTION_UNREAD,   /* `path` was another checkpoint of the run */
    SKN_INSPECTION_WHOLE,    /* all files are here and sound */
    SKN_INSPECTION_GATHERED, /* whole with the run folders beside this one */
    SKN_INSPECTION_PART,     /* its other files are on other nodes */
    SKN_INSPECTION_DAMAGED
} skn_inspection_state_t;

/* How many files of a checkpoint a run folder has. */
typedef struct skn_inspection_folder {
    const char *name; /* the last part of its path */
    size_t file_count;
} skn_inspection_folder_t;

typedef struct skn_inspection_checkpoint_s {
    size_t struct_bytes;
    const char *name;           /* of its folder, such as batch-000000001234 */
    uint64_t batch, generation; /* generation: of an elastic run, else 0 */
    skn_inspection_state_t state;
    bool is_best, is_latest; /* the links of the run folder */
    /* If `path` holds the run folders of nodes: the number of its files, and
     * the folders that have any, by name. 0 and NULL otherwise. */
    size_t file_count, folder_count;
    const skn_inspection_folder_t *folders;
    size_t copy_count; /* of the file that the fewest folders have: so many,
                        * less one, may be lost. 0 as above, or if a file is in
                        * none of them */
} skn_inspection_checkpoint_t;

/* Checkpoint `index` of the run, newest first; NULL past the last, and for a
 * NULL. */
SKN_API const skn_inspection_checkpoint_t *skn_inspection_checkpoint(
    const skn_inspection_t *inspection, size_t index);

/* A rectangle of a tensor that is stored in one place. */
typedef struct skn_inspection_piece {
    uint64_t row_first, column_first, rows, columns;
    const char *xxh3_128; /* of its bytes, 32 hex digits; "": damaged since */
} skn_inspection_piece_t;

typedef struct skn_inspection_tensor_s {
    size_t struct_bytes;
    const char *name;       /* such as output.weight */
    const char *dtype;      /* F32, BF16, U64, ... as in safetensors */
    uint32_t dims;          /* 1 or 2 */
    uint64_t rows, columns; /* 1 column where `dims` is 1 */
    size_t piece_count;
    const skn_inspection_piece_t *pieces; /* by row, then column */
} skn_inspection_tensor_t;

/* Tensor `index` of the checkpoint that is shown, by name in byte order; NULL
 * past the last, and for a NULL. */
SKN_API const skn_inspection_tensor_t *skn_inspection_tensor(
    const skn_inspection_t *inspection, size_t index);

typedef enum skn_inspection_format {
    SKN_INSPECTION_TEXT, /* tables for people */
    SKN_INSPECTION_JSON  /* one line: the event `inspect`, with the config */
} skn_inspection_format_t;

/* Prints all of the above but the warnings, as `skein inspect` does. A failure
 * to write is in ferror(file). SKN_USAGE for a NULL or another format;
 * SKN_NO_MEMORY, and nothing is printed. */
SKN_API skn_status_t skn_inspection_print(const skn_inspection_t *inspection,
                                          skn_inspection_format_t format,
                                          FILE *file, skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
