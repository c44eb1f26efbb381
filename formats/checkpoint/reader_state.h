/* reader_state.h - an open checkpoint, for the files that read it only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_READER_STATE_H
#define FORMATS_CHECKPOINT_READER_STATE_H

#include "formats/checkpoint/checkpoint.h"

typedef struct checkpoint_file {
    char *path;
    int file; /* descriptor; -1: not open */
    void *map;
    size_t bytes;
    struct checkpoint_file *damaged; /* the one that it stands for; or NULL */
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
    bool alone;    /* what is not in `path` is nowhere (SKN_VERIFY_HERE) */
    bool looked;   /* `beside` is filled */
    char **beside; /* folders of other nodes with the same checkpoint */
    size_t beside_count;
    char warning[2 * SKN_ERROR_TEXT_BYTES];
};

/* The bytes of piece `index` (in sorted order), proven. */
skn_status_t skn_checkpoint_piece_at(skn_checkpoint_t *checkpoint, size_t index,
                                     const unsigned char **bytes,
                                     skn_error_t *error);

/* May an older checkpoint, or another holder, take the place of what failed so?
 */
bool skn_checkpoint_is_damage(skn_status_t status);
/* The checkpoint in the folder `path`, which the open descriptor `folder`
 * names; it is taken over, and closed on failure. */
skn_status_t skn_checkpoint_load(const char *path, int folder,
                                 skn_verify_t verify,
                                 skn_checkpoint_t **checkpoint,
                                 skn_error_t *error);

/* Fills `beside`, once (checkpoint_beside.c). SKN_NO_MEMORY, which no file
 * descriptors are, too; or SKN_OK, also where a folder cannot be looked into.
 * `error` is not NULL, and means nothing after SKN_OK. */
skn_status_t skn_checkpoint_look_beside(skn_checkpoint_t *checkpoint,
                                        skn_error_t *error);

#endif
