/* keeper_internal.h - the state of a keeper, and what its two sides call of
 * each other.
 *
 * Private to keeper.c, the side that every keeper has, and keeper_lead.c, that
 * of the one on the first node.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_KEEPER_INTERNAL_H
#define ACTORS_CHECKPOINTS_KEEPER_INTERNAL_H

#include "actors/checkpoints/gatherer.h"
#include "actors/checkpoints/restorer.h"
#include "actors/checkpoints/state_receiver.h"
#include "actors/checkpoints/step_reports.h"

#define SKN_KEPT_PATH_BYTES (SKN_TEXT_MAX + SKN_BATCH_NAME_BYTES + 8)

typedef struct skn_keeper {
    uint32_t node, nodes; /* one node: the keeper is alone, and has all files */
    uint32_t keepers;     /* the first nodes, which keep; others only send */
    char who[SKN_NAME_MAX + 20]; /* "node 'a': ", which begins messages that
                                  * other nodes show; empty if it is alone */
    skn_run_folder_t *run;       /* NULL: it only looks */
    uint64_t generation;
    uint32_t checkpoints_max;
    skn_state_receiver_t receiver;
    skn_checkpoint_t *sealed; /* local part of the checkpoint in work */
    skn_restorer_t restorer;
    bool must_restore,
        has_restored; /* owners ask for state; all of ours have it */
    bool started;
    const skn_holding_t *early[SKN_CLUSTER_NODES_MAX]; /* before start */
    uint32_t early_count;
    /* for the first node: */
    skn_step_reports_t reports;
    const skn_save_t *save; /* kept while a checkpoint is made */
    skn_gatherer_t gatherer;
    uint32_t failures; /* failed checkpoints in a row */
} skn_keeper_t;

static inline bool
skn_keeper_leads(const skn_keeper_t *keeper)
{
    return keeper->node == 0;
}

static inline bool
skn_keeper_is_alone(const skn_keeper_t *keeper)
{
    return keeper->nodes == 1;
}

/* Takes a step in the folder of this node, and reports it. */
skn_status_t skn_keeper_step(skn_actor_t *actor, skn_keeper_t *keeper,
                             const skn_keep_t *keep, skn_error_t *error);

/* --- keeper_lead.c ------------------------------------------------------- */

/* Sends all keepers the id of the run and the checkpoint that it continues
 * from. */
skn_status_t skn_keeper_lead_start(skn_actor_t *actor, skn_keeper_t *keeper,
                                   skn_error_t *error);
/* Handlers: begins a checkpoint; takes a report, of which the last one of a
 * step leads to the next. */
skn_status_t skn_keeper_on_save(skn_actor_t *actor, void *state,
                                const void *message, skn_error_t *error);
skn_status_t skn_keeper_on_kept(skn_actor_t *actor, void *state,
                                const void *message, skn_error_t *error);
/* Copies the next part of a checkpoint that must be whole here. *idle: none is
 * here yet. */
skn_status_t skn_keeper_lead_gather(skn_actor_t *actor, skn_keeper_t *keeper,
                                    bool *idle, skn_error_t *error);

#endif
