/* inventories.h - the checkpoints that members report, and the choice of one
 * that a generation begins from.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_INVENTORIES_H
#define TOPOLOGY_CLUSTER_INVENTORIES_H

#include "topology/cluster/bad_checkpoints.h"
#include "topology/cluster/composing.h"
#include "topology/cluster/control_messages.h"

/* The checkpoints that one member holds. */
typedef struct skn_member_inventory {
    skn_held_t *list;
    size_t count;
} skn_member_inventory_t;

/* The inventories of all members, and what was made of them. { 0 } is empty. */
typedef struct skn_inventories {
    skn_member_inventory_t member[SKN_CLUSTER_NODES_MAX];
    skn_manifests_t manifests;
    skn_composing_t composing;
    skn_bad_checkpoints_t bad_checkpoints;
    char seal[SKN_HASH_TEXT_BYTES]; /* seal of the checkpoint chosen last */
    uint64_t batch;                 /* batch of that checkpoint */
} skn_inventories_t;

void skn_inventories_fini(skn_inventories_t *inventories);
/* Replaces the inventory of `member` by its report. SKN_BAD_MESSAGE: the
 * inventory is empty then. */
skn_status_t skn_inventories_take(skn_inventories_t *inventories,
                                  uint32_t member,
                                  const skn_control_inventory_t *report,
                                  skn_error_t *error);
/* Drops the manifests of checkpoints that no member holds any more. */
void skn_inventories_drop(skn_inventories_t *inventories);
/* Chooses the newest checkpoint of the run that the members of `set` hold
 * together; returns what `choose` of skn_membership_options_t does. If
 * `generation` is not NULL, the state that members salvaged from it is composed
 * over the checkpoint. */
skn_status_t skn_inventories_choose(skn_inventories_t *inventories,
                                    uint64_t set, const char *run_id,
                                    const uint64_t *generation,
                                    skn_point_t *point, skn_error_t *error);

#endif
