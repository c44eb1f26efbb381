/* restorer.h - gives the owners of other nodes their state at a resume: the
 * first node's end of what restore.h draws.
 *
 * A rectangle at a time for each owner, a few rows a message: what is in
 * memory is what credit allows, and a few parts that other nodes have yet to
 * give (fetcher.h), never a shard.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_RESTORER_H
#define ACTORS_CHECKPOINTS_RESTORER_H

#include "actors/protocol/messages.h"
#include "actors/checkpoints/fetcher.h"
#include "skein/actor.h"

/* Parts of an owner's rectangle that are put together at once: one is on its
 * way to the owner while the next come. */
#define SKN_RESTORE_PARTS 4u

typedef struct skn_restore_part {
    skn_restored_t *message;
    uint32_t waiting; /* bits of it that are still to come */
} skn_restore_part_t;

typedef struct skn_request {
    const skn_want_t *want; /* kept; NULL: the owner asks for nothing now */
    uint64_t row;           /* of its rectangle, the next */
    bool complete;
    skn_restore_part_t parts[SKN_RESTORE_PARTS]; /* in the order of rows */
    uint32_t first, count;
} skn_request_t;

typedef struct skn_restorer {
    skn_fetcher_t fetcher;   /* no checkpoint: the seed says all */
    bool ready;              /* it is known who has what */
    bool waits;              /* others do not have theirs yet: begin later */
    skn_request_t *requests; /* [owners] */
    uint32_t owners, complete;
    uint32_t next;  /* whose turn it is */
    uint32_t begun; /* owners that were told to begin */
} skn_restorer_t;

/* SKN_NO_MEMORY. Closed by skn_restorer_close, also after a failure. */
skn_status_t skn_restorer_open(skn_restorer_t *restorer, uint32_t owners,
                               skn_error_t *error);
/* What they get their state of, NULL: the seed; taken over. This is node `node`
 * of `nodes`; of several it is ready when all have said what they hold. */
skn_status_t skn_restorer_begin(skn_restorer_t *restorer,
                                skn_checkpoint_t *checkpoint, uint32_t node,
                                uint32_t nodes, skn_error_t *error);
void skn_restorer_close(skn_restorer_t *restorer);

/* SKN_BAD_MESSAGE for an owner that is none, or asks before it is answered. */
skn_status_t skn_restorer_take(skn_restorer_t *restorer,
                               const skn_actor_t *actor, const skn_want_t *want,
                               skn_error_t *error);
/* Sends one message if one is due; else *idle. *over: that was the last. */
skn_status_t skn_restorer_send(skn_restorer_t *restorer, skn_actor_t *actor,
                               bool *idle, bool *over, skn_error_t *error);

#endif
