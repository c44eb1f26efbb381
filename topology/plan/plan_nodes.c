/* plan_nodes.c - deals the shards of each layer to the cores of all nodes.
 *
 * Cores are numbered over all nodes, node by node; shard s of S is on core s C
 * / S of C. So there is usually one shard a core, a node gets shards in
 * proportion to its cores, and the shards of a node are neighbours: one range
 * of rows. Rows of the output layer are dealt by the nodes' weights
 * (plan_weights.c); hidden units too, if these weights differ, and evenly
 * otherwise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "actors/protocol/block.h"
#include "actors/protocol/slicing.h"
#include "topology/plan/plan_internal.h"

const skn_model_cores_t *
skn_plan_cores(const skn_model_t *model, size_t node)
{
    return node < model->node_count ? &model->nodes[node].cores
                                    : &model->resources.cores;
}

uint64_t
skn_plan_inputs(const skn_plan_t *plan, size_t layer)
{
    return layer == 0 ? plan->data.features
                      : (uint64_t)plan->model->layers[layer - 1].units;
}

uint64_t
skn_plan_outputs(const skn_plan_t *plan, size_t layer)
{
    const skn_model_layer_t *wanted = &plan->model->layers[layer];
    if (skn_plan_is_stages(plan, layer))
        return (uint64_t)plan->model->decoder.layers;
    return wanted->output ? plan->data.labels : (uint64_t)wanted->units;
}

/* The first block of a shard: each shard gets one block, if there are enough,
 * and the others are dealt by the nodes' weights. */
static uint64_t
first_block(const skn_plan_t *plan, uint64_t units, uint32_t shards,
            uint32_t shard)
{
    uint64_t blocks = skn_block_count(units);
    if (plan->node_count == 0 || blocks < shards)
        return blocks * shard / shards;
    return shard + (blocks - shards) *
                       skn_plan_weight_before(plan, shards, shard) /
                       skn_plan_weight_before(plan, shards, shards);
}

uint64_t
skn_plan_first(const skn_plan_t *plan, size_t layer, uint32_t shard)
{
    const skn_model_layer_t *wanted = &plan->model->layers[layer];
    uint64_t units = skn_plan_outputs(plan, layer);
    uint32_t shards = shards_of(wanted);
    if (skn_plan_is_stages(plan, layer))
        return plan->stage_first[shard];
    if (!wanted->output && !skn_plan_is_weighted(plan))
        return skn_slice_first((uint32_t)units, shards, shard);
    if (!wanted->output)
        return skn_slicing_weighted(
            (uint32_t)units, shards, shard,
            skn_plan_weight_before(plan, shards, shard),
            skn_plan_weight_before(plan, shards, shards));
    uint64_t first =
        first_block(plan, units, shards, shard) * skn_block_rows(units);
    return first < units ? first : units;
}

skn_plan_seat_t
skn_plan_seat(const skn_plan_t *plan, size_t layer, uint32_t shard)
{
    uint32_t shards = shards_of(&plan->model->layers[layer]);
    skn_plan_seat_t seat = { .node = 0 };
    uint32_t core = shard % plan->units; /* one process: round robin */
    if (plan->node_count > 0)
        core = (uint32_t)((uint64_t)shard * plan->units / shards);
    /* A head in one piece is where the last stage is. */
    if (skn_model_is_decoder(plan->model) && layer > SKN_DECODER_LAYER &&
        shards == 1) {
        uint32_t last = shards_of(&plan->model->layers[SKN_DECODER_LAYER]) - 1;
        return skn_plan_seat(plan, SKN_DECODER_LAYER, last);
    }
    while (seat.node + 1 < plan->node_count &&
           core >= plan->nodes[seat.node].units)
        core -= plan->nodes[seat.node++].units;
    const skn_model_cores_t *cores = skn_plan_cores(plan->model, seat.node);
    assert(cores->count == 0 || core < cores->count);
    seat.core = cores->count > 0 ? (int)cores->list[core] : (int)core;
    return seat;
}

uint64_t
skn_plan_share(const skn_plan_t *plan, size_t layer, uint32_t node)
{
    uint64_t share = 0;
    for (uint32_t s = 0; s < shards_of(&plan->model->layers[layer]); s++)
        if (skn_plan_seat(plan, layer, s).node == node)
            share += skn_plan_first(plan, layer, s + 1) -
                     skn_plan_first(plan, layer, s);
    return share;
}

bool
skn_plan_crosses(const skn_plan_t *plan, size_t lower)
{
    uint32_t first = skn_plan_seat(plan, lower, 0).node;
    for (size_t k = lower; k < lower + 2; k++) {
        uint32_t last = shards_of(&plan->model->layers[k]) - 1;
        if (skn_plan_seat(plan, k, 0).node != first ||
            skn_plan_seat(plan, k, last).node != first)
            return true; /* nodes ascend with the shards */
    }
    return false;
}

skn_status_t
skn_plan_check_nodes(const skn_plan_t *plan, skn_error_t *error)
{
    const skn_model_t *model = plan->model;
    bool is_decoder = skn_model_is_decoder(model);
    for (uint32_t n = 0; n < plan->keepers; n++) {
        uint64_t share = 0;
        for (size_t k = 0; k < model->layer_count; k++)
            share += skn_plan_share(plan, k, n);
        if (share > 0)
            continue;
        skn_status_t status =
            skn_fail(error, SKN_BAD_CONFIG,
                     "%s: node '%s' gets no shard: the layers have fewer "
                     "%s than the nodes have cores",
                     model->source, model->nodes[n].name,
                     is_decoder ? "stages" : "shards");
        return skn_fail_hint(
            error, status, "leave out the node, or the '%s' of the %s",
            is_decoder ? "stages" : "shards", is_decoder ? "model" : "layers");
    }
    return SKN_OK;
}
