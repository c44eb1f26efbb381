/* reader_state.h - an open checkpoint, for the files that read it only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_READER_STATE_H
#define FORMATS_READER_STATE_H

#include "formats/checkpoint.h"

typedef struct checkpoint_file {
    char *path;
    int file; /* descriptor; -1: not open */
    void *map;
    size_t bytes;
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
    char warning[2 * SKN_ERROR_TEXT_BYTES];
};

/* The bytes of piece `index` (in sorted order), proven. */
skn_status_t skn_checkpoint_piece_at(skn_checkpoint_t *checkpoint, size_t index,
                                     const unsigned char **bytes,
                                     skn_error_t *error);

#endif
