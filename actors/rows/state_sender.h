/* state_sender.h - sends an owner's state to its keepers, as tensors that are
 * announced and chunks that follow.
 *
 * The other end is actors/checkpoints/state_receiver.h, which has to get the
 * tensors first, through a pipe of their own. It does: a caller makes chunks in
 * its `produce`, which does not run while a message waits for credit, and what
 * has left an actor stays in order on its way to another one. No batch is in
 * flight while state is sent, so the rows stay as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_STATE_SENDER_H
#define ACTORS_ROWS_STATE_SENDER_H

#include "actors/protocol/messages.h"
#include "actors/rows/tensors.h"
#include "skein/actor.h"

typedef struct skn_state_sender {
    char file[SKN_NAME_MAX]; /* of this owner, in the checkpoint */
    uint32_t view_count;     /* the caller fills the views */
    skn_tensor_view_t views[SKN_TENSOR_VIEWS_MAX];
    bool sending; /* chunks are left */
    /* The next chunk begins at this row of this view. */
    uint64_t batch, row;
    uint32_t view;
} skn_state_sender_t;

/* Announces all views of the checkpoint of `batch`. */
skn_status_t skn_state_sender_begin(skn_state_sender_t *sender,
                                    skn_actor_t *actor, uint64_t batch,
                                    skn_error_t *error);
/* Makes the next chunk: as many rows of the current view as fit. The caller
 * posts it, in its `produce`. `sender->sending` is false after the last one.
 * NULL and a filled `error` when memory is short. */
skn_chunk_t *skn_state_sender_next(skn_state_sender_t *sender,
                                   skn_actor_t *actor, skn_error_t *error);

#endif
