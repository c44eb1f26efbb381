/* holdings.h - the checkpoints that members hold, and the choice of the one
 * that a generation begins from.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_HOLDINGS_H
#define TOPOLOGY_CLUSTER_HOLDINGS_H

#include "topology/cluster/bad_checkpoints.h"
#include "topology/cluster/composing.h"
#include "topology/cluster/control_messages.h"

typedef struct skn_member_holding {
    skn_held_t *list;
    size_t count;
} skn_member_holding_t;

/* { 0 } is empty. */
typedef struct skn_holdings {
    skn_member_holding_t member[SKN_CLUSTER_NODES_MAX];
    skn_manifests_t manifests;
    skn_composing_t composing;
    skn_bad_checkpoints_t bad_checkpoints;
    char seal[SKN_HASH_TEXT_BYTES]; /* seal of the checkpoint chosen last */
    uint64_t batch;                 /* its batch */
} skn_holdings_t;

void skn_holdings_fini(skn_holdings_t *holdings);
/* Takes what a member reports, in place of its earlier report.
 * SKN_BAD_MESSAGE: it holds nothing then. */
skn_status_t skn_holdings_take(skn_holdings_t *holdings, uint32_t member,
                               const skn_control_inventory_t *inventory,
                               skn_error_t *error);
/* Drops the manifests of checkpoints that nobody holds any more. */
void skn_holdings_drop(skn_holdings_t *holdings);
/* Chooses the newest checkpoint of the run that the members of `set` hold
 * together, as the `choose` of skn_membership_options_t. With `generation`, the
 * salvages that they have made of it are composed over the checkpoint. */
skn_status_t skn_holdings_choose(skn_holdings_t *holdings, uint64_t set,
                                 const char *run_id, const uint64_t *generation,
                                 skn_point_t *point, skn_error_t *error);

#endif
