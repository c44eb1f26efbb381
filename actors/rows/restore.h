/* restore.h - an owner's state, from the first node at a resume.
 *
 *     owner ──want (a rectangle)──▶ checkpointer     one after the other
 *     owner ◀──────── restored ─── checkpointer      its rows, in parts
 *     owner ──want (no name)──────▶ checkpointer     it has all
 *     owner ◀─── restored, begin ── checkpointer     when all have theirs
 *
 * Nobody begins before: what one of them cannot have ends the run before
 * another has gone on. For owners of nodes without the first one's disk;
 * whoever is on the first node reads for himself (tensors.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_RESTORE_H
#define ACTORS_ROWS_RESTORE_H

#include "actors/protocol/messages.h"
#include "actors/rows/tensors.h"
#include "kernels/kernels.h"
#include "skein/actor.h"

typedef struct skn_restore {
    bool wanted; /* state comes this way */
    /* Rectangles from here on are no loss where their tensor is not there. */
    uint32_t required;
    bool begun; /* there is a checkpoint; else the seed says all */
    bool all;   /* the word to begin is awaited, or came */
    uint32_t owner;
    uint32_t view_count, view; /* rectangles; the one that is coming */
    uint64_t row;              /* of it, the next */
    uint64_t batch;            /* of the checkpoint */
    const skn_kernels_t *kernels;
    skn_tensor_view_t views[SKN_TENSOR_VIEWS_MAX];
} skn_restore_t;

/* clang-format off */
/* The option of owners that skn_restore_open reads. */
#define SKN_RESTORE_OPTIONS                                                    \
    { "owner", SKN_OPTION_INT, "0", 0, SKN_ACTORS_MAX - 1, NULL,               \
      "its number among those that ask for their state (want)" }
/* clang-format on */

/* Whether `actor` has a pipe to ask on. The views are the caller's to fill. */
void skn_restore_open(skn_restore_t *restore, const skn_actor_t *actor);
/* Asks for what is next. From start on. */
skn_status_t skn_restore_ask(const skn_restore_t *restore, skn_actor_t *actor,
                             skn_error_t *error);
/* Takes a part and asks on. *begin: everything is here, and the run may go on
 * behind `restore->batch`, or from the seed. SKN_BAD_MESSAGE for what was not
 * asked for; SKN_BAD_DATA for a checkpoint of another model, and for values
 * that are not finite. */
skn_status_t skn_restore_take(skn_restore_t *restore, skn_actor_t *actor,
                              const skn_restored_t *part, bool *begin,
                              skn_error_t *error);

#endif
