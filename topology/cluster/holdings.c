/* holdings.c - the checkpoints that members hold, and the choice of the one
 * that a generation begins from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/holdings.h"

#include <string.h>

#include "topology/cluster/held_list.h"

void
skn_holdings_fini(skn_holdings_t *holdings)
{
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        skn_held_free(&holdings->member[k].list, holdings->member[k].count);
    skn_manifests_drop(&holdings->manifests, NULL, NULL);
    skn_composing_fini(&holdings->composing);
}

skn_status_t
skn_holdings_take(skn_holdings_t *holdings, uint32_t member,
                  const skn_control_inventory_t *inventory, skn_error_t *error)
{
    skn_member_holding_t *holding = &holdings->member[member];
    const char *manifest[SKN_HELD_LIST_MAX];
    skn_held_free(&holding->list, holding->count);
    holding->count = 0;
    skn_status_t status = skn_held_list_read(inventory, &holding->list,
                                             &holding->count, manifest, error);
    if (status != SKN_OK)
        return status;
    for (size_t k = 0; k < holding->count; k++)
        skn_manifests_keep(&holdings->manifests, holding->list[k].seal,
                           manifest[k]);
    skn_composing_take(&holdings->composing, member, inventory->salvage);
    return SKN_OK;
}

static bool
is_held(const void *job, const char *seal)
{
    const skn_holdings_t *holdings = job;
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        for (size_t n = 0; n < holdings->member[k].count; n++)
            if (strcmp(holdings->member[k].list[n].seal, seal) == 0)
                return true;
    return false;
}

void
skn_holdings_drop(skn_holdings_t *holdings)
{
    skn_manifests_drop(&holdings->manifests, is_held, holdings);
}

skn_status_t
skn_holdings_choose(skn_holdings_t *holdings, uint64_t set, const char *run_id,
                    const uint64_t *generation, skn_point_t *point,
                    skn_error_t *error)
{
    skn_holder_t holders[SKN_CLUSTER_NODES_MAX];
    size_t count = 0, lists = 0;
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++) {
        const skn_member_holding_t *holding = &holdings->member[k];
        if (!(set & ((uint64_t)1 << k)))
            continue;
        holders[count++] =
            (skn_holder_t){ .held = holding->list, .count = holding->count };
        lists += holding->count;
    }
    if (lists == 0)
        return SKN_NO_INPUT;
    const skn_held_t *held =
        skn_held_choose(holders, count, run_id, holdings->bad_checkpoints.seal,
                        holdings->bad_checkpoints.count);
    if (!held) {
        skn_held_none(holders, count, error);
        return SKN_UNAVAILABLE;
    }
    *point = (skn_point_t){
        .batch = held->batch,
        .layout = held->generation,
        .copies = (uint32_t)skn_held_copies(holders, count, held),
    };
    holdings->batch = held->batch;
    /* Two checkpoints may have the same batch and layout, one of them not
     * whole. */
    memcpy(holdings->seal, held->seal, sizeof(holdings->seal));
    if (generation)
        (void)skn_composing_choose(&holdings->composing, set, *generation, held,
                                   &holdings->manifests, point);
    return SKN_OK;
}
