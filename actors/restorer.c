/* restorer.c - rectangles of a checkpoint, sent to who asks for them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/restorer.h"

#include <stdlib.h>

/* Of a part, unless a row is longer: some fragments of a link, and so little
 * that a window's credit of them is little beside an owner's rows. */
#define PART_BYTES (256u << 10)

skn_status_t
skn_restorer_open(skn_restorer_t *restorer, const char *path, uint32_t owners,
                  skn_error_t *error)
{
    *restorer = (skn_restorer_t){ .owners = owners };
    if (owners == 0)
        return SKN_OK;
    restorer->requests = calloc(owners, sizeof(*restorer->requests));
    if (!restorer->requests)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %u owners", owners);
    if (!path[0])
        return SKN_OK;
    restorer->checkpoint = skn_checkpoint_open(path, SKN_VERIFY_LAZY, error);
    if (!restorer->checkpoint)
        return error->status;
    restorer->batch = skn_checkpoint_batch(restorer->checkpoint);
    return SKN_OK;
}

void
skn_restorer_close(skn_restorer_t *restorer)
{
    for (uint32_t k = 0; restorer->requests && k < restorer->owners; k++)
        skn_message_drop(restorer->requests[k].want);
    free(restorer->requests);
    skn_checkpoint_close(&restorer->checkpoint);
    *restorer = (skn_restorer_t){ .owners = 0 };
}

skn_status_t
skn_restorer_take(skn_restorer_t *restorer, const skn_actor_t *actor,
                  const skn_want_t *want, skn_error_t *error)
{
    skn_request_t *request = want->owner < restorer->owners
                                 ? &restorer->requests[want->owner]
                                 : NULL;
    if (!request || request->want || request->complete)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: owner %u asks for '%s' out of turn",
                        skn_actor_name(actor), want->owner, want->name);
    if (!want->name[0]) {
        request->complete = true;
        restorer->complete++;
        return SKN_OK;
    }
    request->want = skn_message_keep(want);
    request->row = 0;
    return SKN_OK;
}

/* The rectangle that is wanted, with the sizes of the whole for rows 0. */
static skn_status_t
size(const skn_actor_t *actor, const skn_checkpoint_tensor_t *tensor,
     const skn_want_t *want, skn_restored_t *part, size_t *row_bytes,
     skn_error_t *error)
{
    bool whole = want->rows == 0;
    part->dtype = tensor->dtype;
    part->rows = whole ? tensor->rows : want->rows;
    part->columns = whole ? tensor->columns : want->columns;
    *row_bytes = part->columns * skn_dtype_bytes(tensor->dtype);
    if (part->rows > 0 && part->columns > 0 &&
        part->columns <= SKN_CHUNK_BYTES && *row_bytes <= SKN_CHUNK_BYTES)
        return SKN_OK;
    return skn_fail(
        error, SKN_BAD_MESSAGE, "%s: owner %u asks for %llu x %llu of %s",
        skn_actor_name(actor), want->owner, (unsigned long long)part->rows,
        (unsigned long long)part->columns, want->name);
}

/* The next rows of a request; an answer without rows where there are none. */
static skn_status_t
send_rows(skn_restorer_t *restorer, skn_actor_t *actor, skn_request_t *request,
          skn_error_t *error)
{
    const skn_want_t *want = request->want;
    const skn_checkpoint_tensor_t *tensor =
        restorer->checkpoint
            ? skn_checkpoint_find(restorer->checkpoint, want->name)
            : NULL;
    skn_restored_t head = { .owner = want->owner,
                            .batch = restorer->batch,
                            .begun = restorer->checkpoint != NULL };
    size_t row_bytes = 0, count = 0;
    skn_status_t status = SKN_OK;
    if (tensor)
        status = size(actor, tensor, want, &head, &row_bytes, error);
    if (status != SKN_OK)
        return status;
    uint64_t rows = !tensor                  ? 0
                    : row_bytes < PART_BYTES ? PART_BYTES / row_bytes
                                             : 1;
    if (rows > head.rows - request->row)
        rows = head.rows - request->row;
    count = rows * row_bytes;
    skn_restored_t *part =
        skn_actor_message(actor, &skn_restored_schema, &count, error);
    if (!part)
        return error->status;
    head.row = request->row;
    head.bytes = part->bytes;
    *part = head;
    if (tensor)
        status = skn_checkpoint_read_block(restorer->checkpoint, want->name,
                                           want->row_first + request->row, rows,
                                           want->column_first, part->columns,
                                           part->bytes.at, row_bytes, error);
    if (status != SKN_OK) {
        skn_message_drop(part);
        return status;
    }
    request->row += rows;
    if (request->row >= part->rows) {
        skn_message_drop(request->want);
        request->want = NULL;
    }
    return skn_actor_post(actor, part, error);
}

skn_status_t
skn_restorer_send(skn_restorer_t *restorer, skn_actor_t *actor, bool *idle,
                  bool *over, skn_error_t *error)
{
    uint32_t owners = restorer->owners;
    *idle = *over = false;
    if (restorer->complete == owners && restorer->begun < owners) {
        skn_restored_t word = { .owner = restorer->begun++,
                                .batch = restorer->batch,
                                .begun = restorer->checkpoint != NULL,
                                .begin = 1 };
        *over = restorer->begun == owners;
        return skn_actor_send(actor, &skn_restored_schema, &word, error);
    }
    for (uint32_t k = 0; k < owners; k++) {
        uint32_t owner = restorer->next;
        restorer->next = (owner + 1) % owners;
        if (restorer->requests[owner].want)
            return send_rows(restorer, actor, &restorer->requests[owner],
                             error);
    }
    *idle = true;
    return SKN_OK;
}
