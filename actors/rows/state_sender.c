/* state_sender.c - announces an owner's tensors and cuts them into chunks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/state_sender.h"

#include <assert.h>
#include <string.h>

skn_status_t
skn_state_sender_begin(skn_state_sender_t *sender, skn_actor_t *actor,
                       uint64_t batch, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    assert(!sender->sending && sender->view_count > 0);
    sender->sending = true;
    sender->batch = batch;
    sender->view = 0;
    sender->row = 0;
    for (uint32_t k = 0; k < sender->view_count && status == SKN_OK; k++) {
        const skn_piece_t *piece = &sender->views[k].piece;
        skn_tensor_t tensor = {
            .batch = batch,
            .file = sender->file,
            .name = piece->name,
            .dtype = piece->dtype,
            .dims = piece->dims,
            .rows = piece->rows,
            .columns = piece->columns,
            .global_rows = piece->global_rows,
            .global_columns = piece->global_columns,
            .row_first = piece->row_first,
            .column_first = piece->column_first,
        };
        status = skn_actor_send(actor, &skn_tensor_schema, &tensor, error);
    }
    return status;
}

skn_chunk_t *
skn_state_sender_next(skn_state_sender_t *sender, skn_actor_t *actor,
                      skn_error_t *error)
{
    const skn_tensor_view_t *view = &sender->views[sender->view];
    uint64_t left = view->piece.rows - sender->row;
    uint64_t rows = SKN_CHUNK_BYTES / view->row_bytes;
    assert(sender->sending && sender->view < sender->view_count);
    assert(rows > 0);
    if (rows > left)
        rows = left;
    size_t counts[] = { strlen(sender->file), rows * view->row_bytes };
    skn_chunk_t *chunk =
        skn_actor_message(actor, &skn_chunk_schema, counts, error);
    if (!chunk)
        return NULL;
    memcpy((char *)(uintptr_t)chunk->file, sender->file, counts[0] + 1);
    chunk->batch = sender->batch;
    chunk->tensor = sender->view;
    chunk->offset_bytes = sender->row * view->row_bytes;
    for (uint64_t k = 0; k < rows; k++)
        memcpy(chunk->bytes.at + k * view->row_bytes,
               view->at + (sender->row + k) * view->stride_bytes,
               view->row_bytes);
    sender->row += rows;
    if (sender->row == view->piece.rows) {
        sender->row = 0;
        sender->view++;
    }
    sender->sending = sender->view < sender->view_count;
    chunk->last = !sender->sending;
    return chunk;
}
