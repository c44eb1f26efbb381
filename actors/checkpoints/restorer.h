/* restorer.h - sends owners their state at a resume: the other end of
 * restore.h, in a keeper.
 *
 * Each owner gets one rectangle at a time, a few rows per message: memory holds
 * only what credit allows, and a few parts that other nodes have yet to send
 * (fetcher.h), never a shard.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_RESTORER_H
#define ACTORS_CHECKPOINTS_RESTORER_H

#include "actors/protocol/messages.h"
#include "actors/checkpoints/fetcher.h"
#include "skein/actor.h"

/* Parts of an owner's rectangle that are assembled at once: one is being sent
 * to the owner while the next ones arrive. */
#define SKN_RESTORE_PARTS 4u

typedef struct skn_restore_part {
    skn_restored_t *message;
    uint32_t waiting; /* pieces of it that are still to come */
} skn_restore_part_t;

typedef struct skn_request {
    const skn_want_t *want; /* kept; NULL: the owner asks for nothing now */
    uint64_t row;           /* the next row of its rectangle */
    bool complete;
    skn_restore_part_t parts[SKN_RESTORE_PARTS]; /* in the order of rows */
    uint32_t first, count;
} skn_request_t;

typedef struct skn_restorer {
    skn_fetcher_t fetcher;   /* without a checkpoint the seed gives all state */
    bool ready;              /* it is known which node has which file */
    bool must_wait;          /* others lack their state: begin later */
    skn_request_t *requests; /* [owners] */
    uint32_t owners, complete;
    uint32_t next;     /* the owner whose turn it is */
    uint32_t released; /* owners that were told to begin */
} skn_restorer_t;

/* SKN_NO_MEMORY. Closed by skn_restorer_close, also after a failure. */
skn_status_t skn_restorer_open(skn_restorer_t *restorer, uint32_t owners,
                               skn_error_t *error);
/* Sets the checkpoint that the state comes from, and takes ownership of it;
 * NULL: the seed. This is node `node` of `nodes`; with several nodes it is
 * ready when all have reported what they hold. */
skn_status_t skn_restorer_begin(skn_restorer_t *restorer,
                                skn_checkpoint_t *checkpoint, uint32_t node,
                                uint32_t nodes, skn_error_t *error);
void skn_restorer_close(skn_restorer_t *restorer);

/* SKN_BAD_MESSAGE for an unknown owner, or one that asks before it is
 * answered. */
skn_status_t skn_restorer_take(skn_restorer_t *restorer,
                               const skn_actor_t *actor, const skn_want_t *want,
                               skn_error_t *error);
/* Sends one message if one is due; else sets *idle. *over: that was the
 * last. */
skn_status_t skn_restorer_send(skn_restorer_t *restorer, skn_actor_t *actor,
                               bool *idle, bool *over, skn_error_t *error);

#endif
