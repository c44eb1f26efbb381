/* state_receiver.c - writes the tensors and chunks of owners into files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/state_receiver.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/finite.h"
#include "actors/runtime/sender.h"
#include "actors/protocol/workspace.h"

skn_status_t
skn_state_receiver_open(skn_state_receiver_t *receiver, uint32_t owners,
                        skn_error_t *error)
{
    *receiver = (skn_state_receiver_t){ .owners = owners };
    receiver->shards = calloc(owners, sizeof(*receiver->shards));
    if (!receiver->shards)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u shards",
                        owners);
    receiver->kernels = skn_kernels_pick(error);
    return receiver->kernels ? SKN_OK : error->status;
}

void
skn_state_receiver_close(skn_state_receiver_t *receiver)
{
    skn_state_receiver_drop(receiver);
    free(receiver->shards);
    receiver->shards = NULL;
}

void
skn_state_receiver_begin(skn_state_receiver_t *receiver, skn_run_folder_t *run,
                         uint64_t batch, uint64_t generation)
{
    receiver->shard_count = receiver->complete = 0;
    memset(&receiver->failure, 0, sizeof(receiver->failure));
    receiver->open = true;
    receiver->batch = batch;
    receiver->writer =
        skn_checkpoint_begin(run, batch, generation, &receiver->failure);
}

void
skn_state_receiver_drop(skn_state_receiver_t *receiver)
{
    skn_checkpoint_abandon(&receiver->writer);
    for (uint32_t k = 0; k < receiver->shard_count; k++)
        receiver->shards[k].writer = NULL;
}

static skn_state_receiver_shard_t *
shard_of(skn_state_receiver_t *receiver, const char *file)
{
    for (uint32_t k = 0; k < receiver->shard_count; k++)
        if (strcmp(receiver->shards[k].file, file) == 0)
            return &receiver->shards[k];
    if (receiver->shard_count == receiver->owners)
        return NULL;
    skn_state_receiver_shard_t *shard =
        &receiver->shards[receiver->shard_count++];
    memset(shard, 0, sizeof(*shard));
    (void)snprintf(shard->file, sizeof(shard->file), "%s", file);
    return shard;
}

static skn_status_t
unexpected(const skn_actor_t *actor, const char *file, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE, "%s: unexpected state for %s",
                    skn_actor_name(actor), file);
}

skn_status_t
skn_state_receiver_tensor(skn_state_receiver_t *receiver,
                          const skn_actor_t *actor, const skn_tensor_t *tensor,
                          skn_error_t *error)
{
    skn_state_receiver_shard_t *shard = shard_of(receiver, tensor->file);
    if (!shard || !receiver->open || tensor->batch != receiver->batch ||
        shard->writer || shard->complete ||
        shard->piece_count == SKN_TENSOR_VIEWS_MAX ||
        tensor->dtype >= SKN_DTYPE_I8) /* those of exported files follow */
        return unexpected(actor, tensor->file, error);
    skn_piece_t *piece = &shard->piece[shard->piece_count++];
    *piece = (skn_piece_t){
        .dtype = (skn_dtype_t)tensor->dtype,
        .dims = tensor->dims,
        .rows = tensor->rows,
        .columns = tensor->columns,
        .global_rows = tensor->global_rows,
        .global_columns = tensor->global_columns,
        .row_first = tensor->row_first,
        .column_first = tensor->column_first,
    };
    (void)snprintf(piece->name, sizeof(piece->name), "%s", tensor->name);
    return SKN_OK;
}

/* Values that are not finite cannot be trained on: they must not go into a
 * checkpoint, nor may older checkpoints be removed for it. A chunk of an
 * unknown tensor, or with a part of an element, is refused by the file. */
static skn_status_t
look_at_values(skn_actor_t *actor, const skn_state_receiver_t *receiver,
               const skn_state_receiver_shard_t *shard,
               const skn_chunk_t *chunk, skn_error_t *error)
{
    if (chunk->tensor >= shard->piece_count ||
        skn_are_finite(receiver->kernels, shard->piece[chunk->tensor].dtype,
                       chunk->bytes.at, chunk->bytes.count))
        return SKN_OK;
    skn_sender_blame(actor);
    (void)skn_fail(error, SKN_DIVERGED,
                   "%s: %s of batch %llu has values that are not finite, in "
                   "the part from %s",
                   skn_actor_name(actor), shard->piece[chunk->tensor].name,
                   (unsigned long long)chunk->batch, chunk->file);
    return skn_fail_hint(error, SKN_DIVERGED,
                         "training diverged (lower train.optimizer.rate), or "
                         "the sending node computes wrongly: test its "
                         "memory, or leave it out; older checkpoints are "
                         "intact: continue with --resume");
}

static void
write_chunk(skn_state_receiver_t *receiver, skn_state_receiver_shard_t *shard,
            const skn_chunk_t *chunk)
{
    skn_error_t *failure = &receiver->failure;
    skn_status_t status = SKN_OK;
    if (!shard->writer) {
        shard->writer = skn_checkpoint_shard_open(receiver->writer, shard->file,
                                                  shard->piece,
                                                  shard->piece_count, failure);
        if (!shard->writer)
            status = failure->status;
    }
    if (status == SKN_OK)
        status = skn_checkpoint_shard_write(
            shard->writer, chunk->tensor, chunk->offset_bytes, chunk->bytes.at,
            chunk->bytes.count, failure);
    if (status == SKN_OK && chunk->last)
        status = skn_checkpoint_shard_close(&shard->writer, failure);
    if (status != SKN_OK)
        skn_state_receiver_drop(receiver);
}

skn_status_t
skn_state_receiver_chunk(skn_state_receiver_t *receiver, skn_actor_t *actor,
                         const skn_chunk_t *chunk, bool *all,
                         skn_error_t *error)
{
    skn_state_receiver_shard_t *shard = shard_of(receiver, chunk->file);
    *all = false;
    if (!shard || !receiver->open || shard->complete ||
        chunk->batch != receiver->batch)
        return unexpected(actor, chunk->file, error);
    skn_status_t status = look_at_values(actor, receiver, shard, chunk, error);
    if (status != SKN_OK)
        return status;
    if (receiver->failure.status == SKN_OK)
        write_chunk(receiver, shard, chunk);
    assert(receiver->complete < receiver->owners);
    shard->complete = chunk->last;
    *all = chunk->last && ++receiver->complete == receiver->owners;
    receiver->open = !*all;
    return SKN_OK;
}
