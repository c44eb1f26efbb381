/* restorer.h - gives the owners of other nodes their state at a resume: the
 * first node's end of what restore.h draws.
 *
 * A rectangle at a time for each owner, a few rows a message: what is in
 * memory is what credit allows, never a shard.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RESTORER_H
#define ACTORS_RESTORER_H

#include "actors/messages.h"
#include "formats/checkpoint.h"
#include "skein/actor.h"

typedef struct skn_request {
    const skn_want_t *want; /* kept; NULL: the owner asks for nothing now */
    uint64_t row;           /* of its rectangle, the next */
    bool complete;
} skn_request_t;

typedef struct skn_restorer {
    skn_checkpoint_t *checkpoint; /* NULL: the seed says all */
    uint64_t batch;               /* of it */
    skn_request_t *requests;      /* [owners] */
    uint32_t owners, complete;
    uint32_t next;  /* whose turn it is */
    uint32_t begun; /* owners that were told to begin */
} skn_restorer_t;

/* `path` of a checkpoint, or "". SKN_NO_MEMORY, and what opening gives. Closed
 * by skn_restorer_close, also after a failure. */
skn_status_t skn_restorer_open(skn_restorer_t *restorer, const char *path,
                               uint32_t owners, skn_error_t *error);
void skn_restorer_close(skn_restorer_t *restorer);

/* SKN_BAD_MESSAGE for an owner that is none, or asks before it is answered. */
skn_status_t skn_restorer_take(skn_restorer_t *restorer,
                               const skn_actor_t *actor, const skn_want_t *want,
                               skn_error_t *error);
/* Sends one message if one is due; else *idle. *over: that was the last. */
skn_status_t skn_restorer_send(skn_restorer_t *restorer, skn_actor_t *actor,
                               bool *idle, bool *over, skn_error_t *error);

#endif
