/* fetcher.h - gets rectangles of a checkpoint of which only some files are on
 * this node.
 *
 *     keeper ──fetch (a rectangle of a piece)──▶ a keeper that has the file
 *     keeper ◀─fetched (its bytes, a hash) ───── or why not: the next is asked
 *
 * It gets parts: the restorer passes them to owners, the gatherer makes whole
 * files of them. Local parts are copied at once. Each part has at most
 * SKN_PART_BYTES, and many may be in flight: a counter tells the caller how
 * many are still to come.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_FETCHER_H
#define ACTORS_CHECKPOINTS_FETCHER_H

#include "actors/protocol/messages.h"
#include "formats/checkpoint/checkpoint.h"
#include "skein/actor.h"

/* This bit of a ticket tells which of a keeper's two fetchers it belongs to:
 * the one of the checkpoint in work. */
#define SKN_TICKET_SEALED 1u

typedef struct skn_pending {
    uint64_t ticket; /* 0: free */
    size_t piece;
    uint64_t row, rows, column, columns; /* within the piece */
    unsigned char *to;
    size_t stride_bytes;
    uint32_t *waiting;
    uint32_t holder;  /* node that is asked now */
    uint64_t refused; /* bits of nodes that could not send it */
} skn_pending_t;

typedef struct skn_fetcher {
    skn_checkpoint_t *checkpoint; /* NULL: there is none */
    uint64_t batch;
    uint32_t node, nodes; /* this node, and the number of nodes */
    bool sealed;          /* true: the checkpoint in work; false: the one that
                           * the run continues from */
    uint64_t *holders;    /* [files] bits of nodes */
    bool *spoilt;         /* [pieces] damaged here */
    uint32_t reported;    /* nodes that have reported what they hold */
    skn_pending_t *pending;
    size_t room, count; /* count: in flight */
    uint64_t next_ticket;
    skn_error_t refusal; /* the last one from another node */
} skn_fetcher_t;

/* Takes ownership of `checkpoint`, which may be NULL, also on failure:
 * SKN_NO_MEMORY. Closed by skn_fetcher_close. */
skn_status_t skn_fetcher_open(skn_fetcher_t *fetcher,
                              skn_checkpoint_t *checkpoint, uint32_t node,
                              uint32_t nodes, bool sealed, skn_error_t *error);
void skn_fetcher_close(skn_fetcher_t *fetcher);

/* Tells the other keepers which files are here. */
skn_status_t skn_fetcher_tell(const skn_fetcher_t *fetcher, skn_actor_t *actor,
                              skn_error_t *error);
/* Notes that node `node` has these files, by their indices in the manifest. */
skn_status_t skn_fetcher_hold(skn_fetcher_t *fetcher, const skn_actor_t *actor,
                              uint32_t node, const uint32_t *file, size_t count,
                              skn_error_t *error);

/* Copies a rectangle of the global tensor `name` to `to`, its rows
 * `stride_bytes` apart. *waiting grows by the parts that are still to come, and
 * falls with each that arrives: `to` and `waiting` must stay valid until then.
 * SKN_NO_INPUT when no node has some part of it. */
skn_status_t skn_fetcher_block(skn_fetcher_t *fetcher, skn_actor_t *actor,
                               const char *name, const skn_piece_t *rectangle,
                               unsigned char *to, size_t stride_bytes,
                               uint32_t *waiting, skn_error_t *error);
/* Takes a part, or a refusal: then the next node is asked. */
skn_status_t skn_fetcher_take(skn_fetcher_t *fetcher, skn_actor_t *actor,
                              const skn_fetched_t *fetched, skn_error_t *error);

/* Answers another keeper from `checkpoint`, or with the reason why not; it may
 * be NULL. `who` (such as "node 'a': ") begins the
 * message. SKN_BAD_MESSAGE for an invalid request. */
skn_status_t skn_fetcher_serve(skn_checkpoint_t *checkpoint, skn_actor_t *actor,
                               const char *who, const skn_fetch_t *want,
                               skn_error_t *error);

#endif
