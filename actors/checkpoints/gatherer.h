/* gatherer.h - copies the files of a checkpoint in work that other nodes wrote
 * to this node, so that it is whole here.
 *
 * The manifest lists the content of each file. The bytes come in parts
 * (fetcher.h) and go through the writer of shards, so that a file has the same
 * bytes here as on the node that wrote it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_GATHERER_H
#define ACTORS_CHECKPOINTS_GATHERER_H

#include "actors/checkpoints/fetcher.h"

#define SKN_GATHER_PARTS 8u

typedef struct skn_gather_part {
    unsigned char *bytes;
    size_t count;
    size_t piece; /* index in the file */
    uint64_t offset_bytes;
    uint32_t waiting;
} skn_gather_part_t;

typedef struct skn_gatherer {
    bool active;
    skn_fetcher_t fetcher;
    skn_checkpoint_writer_t *writer; /* not owned */
    skn_checkpoint_shard_t *shard;   /* for the current file; NULL: none */
    size_t file;                     /* index in the manifest */
    size_t piece;                    /* index in the file, for the next part */
    uint64_t row;
    skn_gather_part_t parts[SKN_GATHER_PARTS];
    uint32_t first, count;
} skn_gatherer_t;

/* `fetcher` must be open and know the holders; the gatherer takes ownership of
 * it. `writer` has been sealed. Closed by skn_gatherer_close. */
void skn_gatherer_begin(skn_gatherer_t *gatherer, const skn_fetcher_t *fetcher,
                        skn_checkpoint_writer_t *writer);
void skn_gatherer_close(skn_gatherer_t *gatherer);
/* Does a step. *idle: nothing to do before the next part arrives. *over: all
 * files are here. */
skn_status_t skn_gatherer_step(skn_gatherer_t *gatherer, skn_actor_t *actor,
                               bool *idle, bool *over, skn_error_t *error);

#endif
