/* restorer.c - sends rectangles of a checkpoint to the owners that ask for
 * them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/restorer.h"

#include <assert.h>
#include <stdlib.h>

/* Most parts awaited from other nodes, in all: enough for a slow link. */
#define FLIGHT_MAX 16u

skn_status_t
skn_restorer_open(skn_restorer_t *restorer, uint32_t owners, skn_error_t *error)
{
    *restorer = (skn_restorer_t){ .owners = owners };
    if (owners == 0)
        return SKN_OK;
    restorer->requests = calloc(owners, sizeof(*restorer->requests));
    if (!restorer->requests)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u owners",
                        owners);
    return SKN_OK;
}

skn_status_t
skn_restorer_begin(skn_restorer_t *restorer, skn_checkpoint_t *checkpoint,
                   uint32_t node, uint32_t nodes, skn_error_t *error)
{
    restorer->ready = nodes == 1 || !checkpoint;
    return skn_fetcher_open(&restorer->fetcher, checkpoint, node, nodes, false,
                            error);
}

static void
close_request(skn_request_t *request)
{
    skn_message_drop(request->want);
    for (; request->count > 0; request->count--)
        skn_message_drop(
            request->parts[request->first++ % SKN_RESTORE_PARTS].message);
}

void
skn_restorer_close(skn_restorer_t *restorer)
{
    for (uint32_t k = 0; restorer->requests && k < restorer->owners; k++)
        close_request(&restorer->requests[k]);
    free(restorer->requests);
    skn_fetcher_close(&restorer->fetcher);
    *restorer = (skn_restorer_t){ .owners = 0 };
}

skn_status_t
skn_restorer_take(skn_restorer_t *restorer, const skn_actor_t *actor,
                  const skn_want_t *want, skn_error_t *error)
{
    skn_request_t *request = want->owner < restorer->owners
                                 ? &restorer->requests[want->owner]
                                 : NULL;
    if (!request || request->want || request->count > 0 || request->complete)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: owner %u requests '%s' out of turn",
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

/* Fills in the size of the wanted rectangle. */
static skn_status_t
size(const skn_actor_t *actor, const skn_checkpoint_tensor_t *tensor,
     const skn_want_t *want, skn_restored_t *part, size_t *row_bytes,
     skn_error_t *error)
{
    part->dtype = tensor->dtype;
    part->rows = want->rows;
    part->columns = want->columns;
    *row_bytes = part->columns * skn_dtype_bytes(tensor->dtype);
    if (part->rows > 0 && part->columns > 0 &&
        part->columns <= SKN_CHUNK_BYTES && *row_bytes <= SKN_CHUNK_BYTES)
        return SKN_OK;
    return skn_fail(
        error, SKN_BAD_MESSAGE,
        "%s: owner %u requests %llu x %llu of %s, outside of that tensor",
        skn_actor_name(actor), want->owner, (unsigned long long)part->rows,
        (unsigned long long)part->columns, want->name);
}

/* Fills a message with the next rows of a request; its sizes are set. */
static skn_status_t
fill(skn_restorer_t *restorer, skn_actor_t *actor, skn_request_t *request,
     skn_restore_part_t *part, size_t row_bytes, skn_error_t *error)
{
    const skn_want_t *want = request->want;
    skn_restored_t *message = part->message;
    const skn_piece_t rectangle = {
        .rows = message->bytes.count / row_bytes,
        .columns = message->columns,
        .row_first = want->row_first + message->row,
        .column_first = want->column_first,
    };
    return skn_fetcher_block(&restorer->fetcher, actor, want->name, &rectangle,
                             message->bytes.at, row_bytes, &part->waiting,
                             error);
}

/* Makes the message with the next rows of a request; without rows if there are
 * none. */
static skn_status_t
make_part(skn_restorer_t *restorer, skn_actor_t *actor, skn_request_t *request,
          skn_error_t *error)
{
    const skn_want_t *want = request->want;
    const skn_checkpoint_t *checkpoint = restorer->fetcher.checkpoint;
    const skn_checkpoint_tensor_t *tensor =
        checkpoint ? skn_checkpoint_find(checkpoint, want->name) : NULL;
    skn_restored_t head = { .owner = want->owner,
                            .batch = restorer->fetcher.batch,
                            .begun = checkpoint != NULL };
    size_t row_bytes = 0, count = 0;
    skn_status_t status = SKN_OK;
    if (tensor)
        status = size(actor, tensor, want, &head, &row_bytes, error);
    if (status != SKN_OK)
        return status;
    uint64_t rows = !tensor                      ? 0
                    : row_bytes < SKN_PART_BYTES ? SKN_PART_BYTES / row_bytes
                                                 : 1;
    if (rows > head.rows - request->row)
        rows = head.rows - request->row;
    count = rows * row_bytes;
    skn_restore_part_t *part =
        &request->parts[(request->first + request->count) % SKN_RESTORE_PARTS];
    skn_restored_t *message =
        skn_actor_message(actor, &skn_restored_schema, &count, error);
    if (!message)
        return error->status;
    head.row = request->row;
    head.bytes = message->bytes;
    *message = head;
    *part = (skn_restore_part_t){ .message = message };
    request->count++;
    if (tensor)
        status = fill(restorer, actor, request, part, row_bytes, error);
    request->row += rows;
    if (request->row >= head.rows) {
        skn_message_drop(request->want);
        request->want = NULL;
    }
    return status;
}

static bool
is_due(const skn_request_t *request)
{
    return request->count > 0 &&
           request->parts[request->first % SKN_RESTORE_PARTS].waiting == 0;
}

static skn_status_t
send_part(skn_actor_t *actor, skn_request_t *request, skn_error_t *error)
{
    skn_restored_t *message =
        request->parts[request->first % SKN_RESTORE_PARTS].message;
    request->first++;
    request->count--;
    return skn_actor_post(actor, message, error);
}

skn_status_t
skn_restorer_send(skn_restorer_t *restorer, skn_actor_t *actor, bool *idle,
                  bool *over, skn_error_t *error)
{
    uint32_t owners = restorer->owners;
    *idle = *over = false;
    assert(restorer->released <= restorer->complete &&
           restorer->complete <= owners);
    if (restorer->complete == owners && restorer->released < owners &&
        !restorer->must_wait) {
        skn_restored_t word = { .owner = restorer->released++,
                                .batch = restorer->fetcher.batch,
                                .begun = restorer->fetcher.checkpoint != NULL,
                                .begin = 1 };
        *over = restorer->released == owners;
        return skn_actor_send(actor, &skn_restored_schema, &word, error);
    }
    bool room = restorer->ready && restorer->fetcher.count < FLIGHT_MAX;
    for (uint32_t k = 0; k < owners; k++) {
        uint32_t owner = restorer->next;
        skn_request_t *request = &restorer->requests[owner];
        restorer->next = (owner + 1) % owners;
        if (is_due(request))
            return send_part(actor, request, error);
        if (request->want && room && request->count < SKN_RESTORE_PARTS)
            return make_part(restorer, actor, request, error);
    }
    *idle = true;
    return SKN_OK;
}
