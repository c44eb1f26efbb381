/* writer_internal.h - the state of a checkpoint being written.
 *
 * Private to checkpoint_writer.c and checkpoint_shard.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_WRITER_INTERNAL_H
#define FORMATS_CHECKPOINT_WRITER_INTERNAL_H

#include "formats/checkpoint/checkpoint.h"

#include <xxhash.h>

/* The state of a piece while it is written. */
typedef struct progress {
    skn_piece_t piece;
    uint64_t offset_bytes, size_bytes, written_bytes; /* within the file */
    XXH3_state_t *hash;
} progress_t;

struct skn_checkpoint_shard {
    skn_checkpoint_writer_t *writer;
    char name[SKN_NAME_MAX + 1], *path;
    int file; /* -1 once closed */
    uint64_t bytes, header_bytes;
    char header_hash[SKN_HASH_TEXT_BYTES];
    progress_t *progress;
    size_t count;
};

struct skn_checkpoint_writer {
    skn_run_folder_t *run;
    uint64_t batch, generation;
    char name[SKN_NAME_MAX + 1], *path; /* of the unfinished folder */
    int folder;
    bool failed;
    skn_checkpoint_shard_t **shard;
    size_t count;
};

/* Closes and frees; the file stays. */
void skn_checkpoint_shard_destroy(skn_checkpoint_shard_t *shard);
/* Adds a complete shard to the manifest as file `index`; there is room. */
void skn_checkpoint_shard_list(const skn_checkpoint_shard_t *shard,
                               uint32_t index, skn_manifest_t *manifest);

#endif
