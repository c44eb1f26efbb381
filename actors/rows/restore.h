/* restore.h - fetches an owner's state at a resume from a keeper, on the first
 * node or on its own: the side that asks (actors/checkpoints/restorer.h is the
 * side that answers).
 *
 *     owner ──want (a rectangle)──▶ keeper     one after the other
 *     owner ◀──────── restored ─── keeper      its rows, in parts
 *     owner ──want (no name)──────▶ keeper     it has all
 *     owner ◀─── restored, begin ── keeper     when all have theirs
 *
 * No owner begins before all have their state: if one cannot get it, the run
 * ends before another has continued. Used by owners on all nodes but the first,
 * and by all owners if each node keeps its share of checkpoints; other owners
 * read the files themselves (tensors.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_RESTORE_H
#define ACTORS_ROWS_RESTORE_H

#include "actors/protocol/messages.h"
#include "actors/rows/tensors.h"
#include "kernels/kernels.h"
#include "skein/actor.h"

typedef struct skn_restore {
    bool wanted; /* state is fetched by messages */
    /* Rectangles from this number on may be missing from the checkpoint. */
    uint32_t required;
    bool begun; /* there is a checkpoint; else all state comes from the seed */
    bool all;   /* all rectangles are here: the permission to begin is awaited,
                 * or came */
    uint32_t owner;
    uint32_t view_count, view; /* rectangles; the one being received */
    uint64_t row;              /* the next row of that one */
    uint64_t batch;            /* of the checkpoint */
    const skn_kernels_t *kernels;
    skn_tensor_view_t views[SKN_TENSOR_VIEWS_MAX];
} skn_restore_t;

/* clang-format off */
/* The option of owners that skn_restore_open reads. */
#define SKN_RESTORE_OPTIONS                                                    \
    { "owner", SKN_OPTION_INT, "0", 0, SKN_ACTORS_MAX - 1, NULL,               \
      "this owner's index among those that request their state (want)" }
/* clang-format on */

/* Sets `wanted` if `actor` has a pipe for requests. The caller fills the
 * views. */
void skn_restore_open(skn_restore_t *restore, const skn_actor_t *actor);
/* Requests the next rectangle, or the permission to begin. Allowed from start
 * on. */
skn_status_t skn_restore_ask(const skn_restore_t *restore, skn_actor_t *actor,
                             skn_error_t *error);
/* Takes a part and requests the next one. *begin: everything is here, and the
 * run may continue behind `restore->batch`, or from the seed. SKN_BAD_MESSAGE
 * for a part that was not requested; SKN_BAD_DATA for a checkpoint of another
 * model, and for values that are not finite. */
skn_status_t skn_restore_take(skn_restore_t *restore, skn_actor_t *actor,
                              const skn_restored_t *part, bool *begin,
                              skn_error_t *error);

#endif
