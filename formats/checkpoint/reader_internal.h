/* reader_internal.h - the state of an open checkpoint; for its sources only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_READER_INTERNAL_H
#define FORMATS_CHECKPOINT_READER_INTERNAL_H

#include "formats/checkpoint/checkpoint.h"

typedef struct checkpoint_file {
    char *path;
    int file; /* descriptor; -1: not open */
    void *map;
    size_t bytes;
    struct checkpoint_file *damaged; /* the damaged file it replaces; or NULL */
} checkpoint_file_t;

struct skn_checkpoint {
    char *path;
    int folder;
    skn_manifest_t manifest;
    checkpoint_file_t *file; /* as in the manifest */
    skn_checkpoint_tensor_t *tensor;
    size_t tensor_count;
    size_t *order;  /* indices of the manifest's pieces, sorted */
    bool *verified; /* by index of the manifest's pieces */
    char seal[SKN_HASH_TEXT_BYTES];
    bool alone;    /* no files but those in `path` (SKN_VERIFY_HERE) */
    bool looked;   /* `beside` is filled */
    char **beside; /* folders of other nodes with the same checkpoint */
    size_t beside_count;
    char warning[2 * SKN_ERROR_TEXT_BYTES];
};

/* The bytes of piece `index` (in sorted order), verified. */
skn_status_t skn_checkpoint_piece_at(skn_checkpoint_t *checkpoint, size_t index,
                                     const unsigned char **bytes,
                                     skn_error_t *error);

/* Whether an older checkpoint, or another holder, may replace one that failed
 * with `status`. */
bool skn_checkpoint_is_damage(skn_status_t status);
/* Loads the checkpoint in the folder `path`, whose open descriptor `folder` it
 * takes, and closes on failure. */
skn_status_t skn_checkpoint_load(const char *path, int folder,
                                 skn_verify_t verify,
                                 skn_checkpoint_t **checkpoint,
                                 skn_error_t *error);

/* Fills `beside`, once (checkpoint_beside.c). SKN_NO_MEMORY, also for a lack of
 * file descriptors; or SKN_OK, also if a folder cannot be read. `error` is not
 * NULL, and has no meaning after SKN_OK. */
skn_status_t skn_checkpoint_look_beside(skn_checkpoint_t *checkpoint,
                                        skn_error_t *error);

#endif
