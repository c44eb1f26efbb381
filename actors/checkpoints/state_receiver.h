/* state_receiver.h - receives the state of owners and writes it into the files
 * of a checkpoint.
 *
 * Tensors are announced, then arrive chunk by chunk; each owner has one file.
 * After a failed write the rest of the stream is discarded: the failure is in
 * `failure` when all is complete.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_STATE_RECEIVER_H
#define ACTORS_CHECKPOINTS_STATE_RECEIVER_H

#include "actors/protocol/messages.h"
#include "actors/rows/tensors.h"
#include "formats/checkpoint/checkpoint.h"
#include "kernels/kernels.h"
#include "skein/actor.h"

typedef struct skn_state_receiver_shard {
    char file[SKN_NAME_MAX + 1];
    skn_piece_t piece[SKN_TENSOR_VIEWS_MAX];
    uint32_t piece_count;
    bool complete;
    skn_checkpoint_shard_t *writer;
} skn_state_receiver_shard_t;

typedef struct skn_state_receiver {
    skn_checkpoint_writer_t *writer;
    skn_state_receiver_shard_t *shards; /* [owners] */
    uint32_t owners, shard_count, complete;
    bool open; /* state is expected */
    uint64_t batch;
    const skn_kernels_t *kernels;
    skn_error_t failure; /* failure of the current checkpoint */
} skn_state_receiver_t;

/* `owners` actors send their state here. SKN_NO_MEMORY, SKN_BAD_CONFIG. Closed
 * by skn_state_receiver_close, also after a failure. */
skn_status_t skn_state_receiver_open(skn_state_receiver_t *receiver,
                                     uint32_t owners, skn_error_t *error);
void skn_state_receiver_close(skn_state_receiver_t *receiver);

/* Begins a checkpoint; a failure goes into `failure`. */
void skn_state_receiver_begin(skn_state_receiver_t *receiver,
                              skn_run_folder_t *run, uint64_t batch,
                              uint64_t generation);
/* Abandons the checkpoint, or the rest of it. */
void skn_state_receiver_drop(skn_state_receiver_t *receiver);

/* SKN_BAD_MESSAGE for a tensor that was not asked for. */
skn_status_t skn_state_receiver_tensor(skn_state_receiver_t *receiver,
                                       const skn_actor_t *actor,
                                       const skn_tensor_t *tensor,
                                       skn_error_t *error);
/* *all: the last owner has sent everything. SKN_DIVERGED for values that are
 * not finite. */
skn_status_t skn_state_receiver_chunk(skn_state_receiver_t *receiver,
                                      skn_actor_t *actor,
                                      const skn_chunk_t *chunk, bool *all,
                                      skn_error_t *error);

#endif
