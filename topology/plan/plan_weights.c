/* plan_weights.c - computes how much of each layer each node gets.
 *
 * A node gets rows in proportion to its cores and their speed, but never more
 * than it could hand over: a machine that is taken away with notice spends half
 * of the notice until the next marker, and in the other half its state must
 * pass its link. The rows that one node cannot take go to the others, by their
 * speed. A decoder's layers are dealt by the same weights (plan_decoder.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "actors/protocol/block.h"
#include "topology/plan/plan_internal.h"

/* Speeds become whole numbers, so that all machines compute the same plan. */
#define UNIT 1000000.0
/* The part of a notice that is left for the transfer. */
#define HAND_OVER_SHARE 0.5

uint64_t
skn_plan_hand_over_bytes(const skn_plan_t *plan, uint32_t node)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < plan->model->layer_count; k++)
        bytes += skn_plan_state_bytes(plan, k, skn_plan_share(plan, k, node));
    return bytes;
}

/* Bytes that a node may own; UINT64_MAX: no bound. */
static uint64_t
bound_of(const skn_plan_t *plan, uint32_t node)
{
    double notice_s = plan->model->nodes[node].notice_s;
    return notice_s > 0 ? (uint64_t)(notice_s * HAND_OVER_SHARE *
                                     plan->model->links.rate / 8)
                        : UINT64_MAX;
}

bool
skn_plan_hands_over(const skn_plan_t *plan, uint32_t node)
{
    return skn_plan_hand_over_bytes(plan, node) <= bound_of(plan, node);
}

/* The number of shards below core `core` of all nodes' cores. */
static uint64_t
shards_before(const skn_plan_t *plan, uint32_t shards, uint64_t core)
{
    return (core * shards + plan->units - 1) / plan->units;
}

uint64_t
skn_plan_weight_before(const skn_plan_t *plan, uint32_t shards, uint32_t shard)
{
    assert(shard <= shards && plan->units > 0);
    uint64_t sum = 0, core = 0;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        uint64_t first = shards_before(plan, shards, core);
        core += plan->nodes[n].units;
        uint64_t end = shards_before(plan, shards, core);
        if (end > shard)
            end = shard;
        if (end > first)
            sum += (end - first) * plan->nodes[n].weight;
    }
    return sum;
}

bool
skn_plan_is_weighted(const skn_plan_t *plan)
{
    bool even = true;
    for (uint32_t n = 1; n < plan->node_count; n++)
        even = even && plan->nodes[n].weight == plan->nodes[0].weight;
    return !even;
}

void
skn_plan_write_weights(const skn_plan_t *plan, uint32_t shards, char *text,
                       size_t text_bytes)
{
    uint64_t core = 0;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t n = 0; n < plan->node_count && used < text_bytes; n++) {
        uint64_t first = shards_before(plan, shards, core);
        core += plan->nodes[n].units;
        uint64_t end = shards_before(plan, shards, core);
        if (end > first)
            used += (size_t)snprintf(text + used, text_bytes - used,
                                     "%s%" PRIu64 "x%" PRIu64, used ? "," : "",
                                     end - first, plan->nodes[n].weight);
    }
}

/* --- what each may take --------------------------------------------------- */

/* The state of all nodes by weight: what node `n` would own, and the bytes that
 * its notice allows. Every layer is cut in the same proportions. */
typedef struct dealt {
    double weight[SKN_CLUSTER_NODES_MAX]; /* of all cores of a node */
    double most[SKN_CLUSTER_NODES_MAX];
    bool full[SKN_CLUSTER_NODES_MAX];
} dealt_t;

static double
all_bytes(const skn_plan_t *plan)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < plan->model->layer_count; k++)
        bytes += skn_plan_state_bytes(plan, k, skn_plan_outputs(plan, k));
    return (double)bytes;
}

/* Bytes of one block of each layer: cuts may be off by one block, and each
 * shard has at least one. */
static double
block_bytes(const skn_plan_t *plan)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < plan->model->layer_count; k++)
        bytes +=
            skn_plan_state_bytes(plan, k,
                                 skn_plan_is_stages(plan, k) ? 1
                                 : plan->model->layers[k].output
                                     ? skn_block_rows(skn_plan_outputs(plan, k))
                                     : SKN_SLICE_COLUMNS);
    return (double)bytes;
}

static void
find_bounds(const skn_plan_t *plan, dealt_t *dealt)
{
    double least = block_bytes(plan);
    for (uint32_t n = 0; n < plan->node_count; n++) {
        uint64_t bound = bound_of(plan, n);
        dealt->full[n] = false;
        dealt->most[n] = 1e18;
        if (bound != UINT64_MAX)
            dealt->most[n] =
                (double)bound > 2 * least ? (double)bound - least : least;
    }
}

/* Bytes for each unit of weight, after the full nodes got theirs; 0 if all are
 * full. */
static double
bytes_by_weight(const skn_plan_t *plan, const dealt_t *dealt, double bytes)
{
    double weight = 0;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        if (dealt->full[n])
            bytes -= dealt->most[n];
        else
            weight += dealt->weight[n];
    }
    return weight > 0 ? bytes / weight : 0;
}

/* Marks each node that would get more than it may as full; returns whether
 * there was one. */
static bool
fill_up(const skn_plan_t *plan, dealt_t *dealt, double bytes)
{
    double each = bytes_by_weight(plan, dealt, bytes);
    bool found = false;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        if (dealt->full[n] || each * dealt->weight[n] <= dealt->most[n])
            continue;
        dealt->full[n] = found = true;
    }
    return found;
}

void
skn_plan_deal_weights(skn_plan_t *plan)
{
    dealt_t dealt;
    double bytes = all_bytes(plan);
    for (uint32_t n = 0; n < plan->node_count; n++)
        dealt.weight[n] = plan->model->nodes[n].speed * plan->nodes[n].units;
    find_bounds(plan, &dealt);
    while (fill_up(plan, &dealt, bytes))
        ;
    double each = bytes_by_weight(plan, &dealt, bytes);
    for (uint32_t n = 0; n < plan->node_count; n++) {
        skn_plan_node_t *node = &plan->nodes[n];
        if (node->units == 0) { /* it has no shard to weigh */
            node->weight = plan->nodes[0].weight;
            continue;
        }
        /* If all are full, they share the bytes that exceed every bound. */
        double share = dealt.full[n] ? dealt.most[n] : each * dealt.weight[n];
        node->weight = (uint64_t)(share / bytes * UNIT / node->units) + 1;
    }
}
