/* restore.c - requests the rectangles of a checkpoint one by one and copies
 * them into an owner's rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/restore.h"

#include <assert.h>
#include <string.h>

#include "actors/protocol/finite.h"
#include "actors/runtime/sender.h"
#include "actors/protocol/workspace.h"

void
skn_restore_open(skn_restore_t *restore, const skn_actor_t *actor)
{
    restore->wanted = skn_actor_receivers(actor, &skn_want_schema) > 0;
    restore->owner = (uint32_t)skn_actor_option_int(actor, "owner");
    /* Not NULL in use: an owner without kernels fails to open. */
    restore->kernels = skn_kernels_pick(NULL);
}

skn_status_t
skn_restore_ask(const skn_restore_t *restore, skn_actor_t *actor,
                skn_error_t *error)
{
    skn_want_t want = { .owner = restore->owner, .name = "" };
    assert(restore->all || restore->view < restore->view_count);
    if (!restore->all) {
        const skn_piece_t *piece = &restore->views[restore->view].piece;
        want.name = piece->name;
        want.rows = piece->rows;
        want.columns = piece->columns;
        want.row_first = piece->row_first;
        want.column_first = piece->column_first;
    }
    return skn_actor_send(actor, &skn_want_schema, &want, error);
}

/* Requests the next rectangle, or the permission to begin. */
static skn_status_t
ask_next(skn_restore_t *restore, skn_actor_t *actor, skn_error_t *error)
{
    restore->row = 0;
    restore->view++;
    restore->all = !restore->begun || restore->view == restore->view_count;
    return skn_restore_ask(restore, actor, error);
}

/* Handles the answer that the checkpoint has no such tensor. */
static skn_status_t
take_nothing(skn_restore_t *restore, skn_actor_t *actor, skn_error_t *error)
{
    const char *name = restore->views[restore->view].piece.name;
    if (restore->row > 0)
        return skn_fail(
            error, SKN_BAD_MESSAGE, "%s: %s ended early, at row %llu",
            skn_actor_name(actor), name, (unsigned long long)restore->row);
    if (restore->begun && restore->view < restore->required)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: the checkpoint of batch %llu has no tensor %s",
                        skn_actor_name(actor),
                        (unsigned long long)restore->batch, name);
    return ask_next(restore, actor, error);
}

static skn_status_t
refuse_values(skn_actor_t *actor, const skn_restore_t *restore,
              skn_error_t *error)
{
    skn_sender_blame(actor);
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%s: %s of the checkpoint of batch %llu has values that are "
                   "not finite",
                   skn_actor_name(actor),
                   restore->views[restore->view].piece.name,
                   (unsigned long long)restore->batch);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "test the memory of the node that holds the "
                         "checkpoint; if its files have these values, remove "
                         "that checkpoint and resume an older one");
}

static skn_status_t
take_rows(skn_restore_t *restore, skn_actor_t *actor,
          const skn_restored_t *part, skn_error_t *error)
{
    const skn_tensor_view_t *view = &restore->views[restore->view];
    const skn_piece_t *piece = &view->piece;
    size_t rows = view->row_bytes ? part->bytes.count / view->row_bytes : 0;
    if (part->dtype != (uint32_t)piece->dtype || part->rows != piece->rows ||
        part->columns != piece->columns || part->row != restore->row ||
        rows == 0 || part->bytes.count != rows * view->row_bytes ||
        rows > piece->rows - restore->row)
        return skn_fail(
            error, SKN_BAD_DATA,
            "%s: %s: received %zu bytes at row %llu of %llu x %llu, expected "
            "%llu x %llu %s from row %llu",
            skn_actor_name(actor), piece->name, part->bytes.count,
            (unsigned long long)part->row, (unsigned long long)part->rows,
            (unsigned long long)part->columns, (unsigned long long)piece->rows,
            (unsigned long long)piece->columns, skn_dtype_name(piece->dtype),
            (unsigned long long)restore->row);
    if (!skn_are_finite(restore->kernels, piece->dtype, part->bytes.at,
                        part->bytes.count))
        return refuse_values(actor, restore, error);
    for (size_t k = 0; k < rows; k++)
        memcpy(view->at + (restore->row + k) * view->stride_bytes,
               part->bytes.at + k * view->row_bytes, view->row_bytes);
    restore->row += rows;
    return restore->row == piece->rows ? ask_next(restore, actor, error)
                                       : SKN_OK;
}

skn_status_t
skn_restore_take(skn_restore_t *restore, skn_actor_t *actor,
                 const skn_restored_t *part, bool *begin, skn_error_t *error)
{
    *begin = restore->wanted && restore->all && part->begin;
    if (!restore->wanted || part->owner != restore->owner ||
        restore->all != (part->begin == 1))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: unexpected state of owner %u",
                        skn_actor_name(actor), part->owner);
    if (*begin) {
        restore->wanted = false;
        return SKN_OK;
    }
    restore->begun = part->begun;
    restore->batch = part->batch;
    return part->rows == 0 ? take_nothing(restore, actor, error)
                           : take_rows(restore, actor, part, error);
}
