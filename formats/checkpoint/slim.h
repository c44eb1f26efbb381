/* slim.h - writes and maps a model in one file, which `skein export` makes of a
 * run.
 *
 * The file is a safetensors file (safetensors.h) whose metadata come first and
 * begin with
 *
 *     {"__metadata__":{"format":"skein-model","version":"1",
 *     "header_xxh3_128":"32 hex digits","data_xxh3_128":"32 hex digits",
 *
 * without the line ends. The first hash is of the whole header, the length
 * included, with zeros for its own digits; the second of all bytes behind the
 * header. After them come run_id, batch, created, features and config. Tensors
 * begin at multiples of 64 bytes of the file: between them are tensors
 * `pad.N`, of zeros. docs/reference/checkpoint.md has all names.
 *
 * Opening maps the file and checks its header; the data are read when they are
 * used, and their hash is compared only by skn_slim_verify.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_SLIM_H
#define FORMATS_CHECKPOINT_SLIM_H

#include "formats/checkpoint/run_folder.h"
#include "formats/checkpoint/safetensors.h"

/* The metadata of an exported model. */
typedef struct skn_slim_facts {
    const char *run_id, *created, *config;
    uint64_t batch;
    uint32_t feature_count;
} skn_slim_facts_t;

/* A tensor to be written; its bytes belong to the caller. */
typedef struct skn_slim_part {
    char name[SKN_NAME_MAX + 1];
    skn_dtype_t dtype;
    uint64_t rows, columns; /* 0 columns: it has one dimension */
    const void *bytes;
} skn_slim_part_t;

/* Most tensors of a file: three a layer, a ranker, words and names. */
#define SKN_SLIM_PARTS_MAX 256u

/* The bytes of the file. SKN_NO_MEMORY, SKN_BAD_DATA. */
skn_status_t skn_slim_size(const skn_slim_facts_t *facts,
                           const skn_slim_part_t *part, size_t count,
                           uint64_t *bytes, skn_error_t *error);
/* Writes the new file `path`, which appears whole. SKN_CANNOT_CREATE if it is
 * there already; SKN_STORAGE. */
skn_status_t skn_slim_write(const char *path, const skn_slim_facts_t *facts,
                            const skn_slim_part_t *part, size_t count,
                            skn_error_t *error);

typedef struct skn_slim {
    char *path;
    const unsigned char *map; /* read only, shared between processes */
    size_t map_bytes;
    skn_safetensors_t tensors;
    void *root; /* the metadata; holds the texts below */
    skn_slim_facts_t facts;
    const char *data_hash;
} skn_slim_t;

/* Whether `path` is a regular file that begins as such a file, of any version.
 */
bool skn_slim_is(const char *path);
/* Maps the file. NULL: SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_NO_MEMORY, or
 * SKN_BAD_DATA: it is something else, damaged, or of a newer version. */
skn_slim_t *skn_slim_open(const char *path, skn_error_t *error);
/* Unmaps, frees, sets *slim to NULL. *slim may be NULL already. */
void skn_slim_close(skn_slim_t **slim);
/* The tensor LAYER.NAME, or NAME if `layer` is NULL. NULL: there is none. */
const skn_safetensor_t *skn_slim_find(const skn_slim_t *slim, const char *layer,
                                      const char *name);
/* The bytes of a tensor of this file. */
const void *skn_slim_bytes(const skn_slim_t *slim,
                           const skn_safetensor_t *tensor);
/* Reads all data and compares their hash. SKN_BAD_DATA. */
skn_status_t skn_slim_verify(const skn_slim_t *slim, skn_error_t *error);

#endif
