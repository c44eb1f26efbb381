/* intake.c - writes the tensors and chunks of owners into files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/intake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/finite.h"
#include "actors/runtime/sender.h"
#include "actors/protocol/workspace.h"

skn_status_t
skn_intake_open(skn_intake_t *intake, uint32_t owners, skn_error_t *error)
{
    *intake = (skn_intake_t){ .owners = owners };
    intake->shards = calloc(owners, sizeof(*intake->shards));
    if (!intake->shards)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %u shards", owners);
    intake->kernels = skn_kernels_pick(error);
    return intake->kernels ? SKN_OK : error->status;
}

void
skn_intake_close(skn_intake_t *intake)
{
    skn_intake_drop(intake);
    free(intake->shards);
    intake->shards = NULL;
}

void
skn_intake_begin(skn_intake_t *intake, skn_run_folder_t *run, uint64_t batch,
                 uint64_t generation)
{
    intake->shard_count = intake->complete = 0;
    memset(&intake->failure, 0, sizeof(intake->failure));
    intake->open = true;
    intake->batch = batch;
    intake->writer =
        skn_checkpoint_begin(run, batch, generation, &intake->failure);
}

void
skn_intake_drop(skn_intake_t *intake)
{
    skn_checkpoint_abandon(&intake->writer);
    for (uint32_t k = 0; k < intake->shard_count; k++)
        intake->shards[k].writer = NULL;
}

static skn_intake_shard_t *
shard_of(skn_intake_t *intake, const char *file)
{
    for (uint32_t k = 0; k < intake->shard_count; k++)
        if (strcmp(intake->shards[k].file, file) == 0)
            return &intake->shards[k];
    if (intake->shard_count == intake->owners)
        return NULL;
    skn_intake_shard_t *shard = &intake->shards[intake->shard_count++];
    memset(shard, 0, sizeof(*shard));
    (void)snprintf(shard->file, sizeof(shard->file), "%s", file);
    return shard;
}

static skn_status_t
unexpected(const skn_actor_t *actor, const char *file, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: state for %s, which was not asked for",
                    skn_actor_name(actor), file);
}

skn_status_t
skn_intake_tensor(skn_intake_t *intake, const skn_actor_t *actor,
                  const skn_tensor_t *tensor, skn_error_t *error)
{
    skn_intake_shard_t *shard = shard_of(intake, tensor->file);
    if (!shard || !intake->open || tensor->batch != intake->batch ||
        shard->writer || shard->complete ||
        shard->piece_count == SKN_TENSOR_VIEWS_MAX ||
        tensor->dtype >= SKN_DTYPE_COUNT)
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
look_at_values(skn_actor_t *actor, const skn_intake_t *intake,
               const skn_intake_shard_t *shard, const skn_chunk_t *chunk,
               skn_error_t *error)
{
    if (chunk->tensor >= shard->piece_count ||
        skn_are_finite(intake->kernels, shard->piece[chunk->tensor].dtype,
                       chunk->bytes.at, chunk->bytes.count))
        return SKN_OK;
    skn_sender_blame(actor);
    (void)skn_fail(error, SKN_DIVERGED,
                   "%s: %s of batch %llu has values that are not finite, in "
                   "the part of %s",
                   skn_actor_name(actor), shard->piece[chunk->tensor].name,
                   (unsigned long long)chunk->batch, chunk->file);
    return skn_fail_hint(error, SKN_DIVERGED,
                         "training diverged (lower train.optimizer.rate), or "
                         "the node that sends it computes wrongly: look at its "
                         "memory, or leave it out; the older checkpoints are "
                         "intact: go on with --resume");
}

static void
write_chunk(skn_intake_t *intake, skn_intake_shard_t *shard,
            const skn_chunk_t *chunk)
{
    skn_error_t *failure = &intake->failure;
    skn_status_t status = SKN_OK;
    if (!shard->writer) {
        shard->writer =
            skn_checkpoint_shard_open(intake->writer, shard->file, shard->piece,
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
        skn_intake_drop(intake);
}

skn_status_t
skn_intake_chunk(skn_intake_t *intake, skn_actor_t *actor,
                 const skn_chunk_t *chunk, bool *all, skn_error_t *error)
{
    skn_intake_shard_t *shard = shard_of(intake, chunk->file);
    *all = false;
    if (!shard || !intake->open || shard->complete ||
        chunk->batch != intake->batch)
        return unexpected(actor, chunk->file, error);
    skn_status_t status = look_at_values(actor, intake, shard, chunk, error);
    if (status != SKN_OK)
        return status;
    if (intake->failure.status == SKN_OK)
        write_chunk(intake, shard, chunk);
    assert(intake->complete < intake->owners);
    shard->complete = chunk->last;
    *all = chunk->last && ++intake->complete == intake->owners;
    intake->open = !*all;
    return SKN_OK;
}
