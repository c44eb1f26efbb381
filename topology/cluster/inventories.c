/* inventories.c - the checkpoints that members report, and the choice of one
 * that a generation begins from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/inventories.h"

#include <string.h>

#include "topology/cluster/held_list.h"

void
skn_inventories_fini(skn_inventories_t *inventories)
{
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        skn_held_free(&inventories->member[k].list,
                      inventories->member[k].count);
    skn_manifests_drop(&inventories->manifests, NULL, NULL);
    skn_composing_fini(&inventories->composing);
}

skn_status_t
skn_inventories_take(skn_inventories_t *inventories, uint32_t member,
                     const skn_control_inventory_t *report, skn_error_t *error)
{
    skn_member_inventory_t *inventory = &inventories->member[member];
    const char *manifest[SKN_HELD_LIST_MAX];
    skn_held_free(&inventory->list, inventory->count);
    inventory->count = 0;
    skn_status_t status = skn_held_list_read(
        report, &inventory->list, &inventory->count, manifest, error);
    if (status != SKN_OK)
        return status;
    for (size_t k = 0; k < inventory->count; k++)
        skn_manifests_keep(&inventories->manifests, inventory->list[k].seal,
                           manifest[k]);
    skn_composing_take(&inventories->composing, member, report->salvage);
    return SKN_OK;
}

static bool
is_held(const void *job, const char *seal)
{
    const skn_inventories_t *inventories = job;
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        for (size_t n = 0; n < inventories->member[k].count; n++)
            if (strcmp(inventories->member[k].list[n].seal, seal) == 0)
                return true;
    return false;
}

void
skn_inventories_drop(skn_inventories_t *inventories)
{
    skn_manifests_drop(&inventories->manifests, is_held, inventories);
}

skn_status_t
skn_inventories_choose(skn_inventories_t *inventories, uint64_t set,
                       const char *run_id, const uint64_t *generation,
                       skn_point_t *point, skn_error_t *error)
{
    skn_holder_t holders[SKN_CLUSTER_NODES_MAX];
    size_t count = 0, lists = 0;
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++) {
        const skn_member_inventory_t *inventory = &inventories->member[k];
        if (!(set & ((uint64_t)1 << k)))
            continue;
        holders[count++] = (skn_holder_t){ .held = inventory->list,
                                           .count = inventory->count };
        lists += inventory->count;
    }
    if (lists == 0)
        return SKN_NO_INPUT;
    const skn_held_t *held = skn_held_choose(
        holders, count, run_id, inventories->bad_checkpoints.seal,
        inventories->bad_checkpoints.count);
    if (!held) {
        skn_held_none(holders, count, error);
        return SKN_UNAVAILABLE;
    }
    *point = (skn_point_t){
        .batch = held->batch,
        .layout = held->generation,
        .copies = (uint32_t)skn_held_copies(holders, count, held),
    };
    inventories->batch = held->batch;
    /* Two checkpoints may have the same batch and layout, one of them not
     * whole. */
    memcpy(inventories->seal, held->seal, sizeof(inventories->seal));
    if (generation)
        (void)skn_composing_choose(&inventories->composing, set, *generation,
                                   held, &inventories->manifests, point);
    return SKN_OK;
}
