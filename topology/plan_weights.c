/* plan_weights.c - how many rows of the output layer each node gets.
 *
 * By its cores and their speed, and never more than it could hand over: a
 * machine that is taken away with notice spends half of that on its way to the
 * next marker, and in the other half its state must pass its link. What one
 * node cannot take the others get, by their speed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/block.h"
#include "topology/plan_parts.h"

/* Speeds as whole numbers, so that all machines reckon alike. */
#define UNIT 1000000.0
/* The part of a notice that is left for bytes. */
#define HAND_OVER_SHARE 0.5

static size_t
last_layer(const skn_plan_t *plan)
{
    return plan->model->layer_count - 1;
}

uint64_t
skn_plan_hand_over_bytes(const skn_plan_t *plan, uint32_t node)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < plan->model->layer_count; k++)
        bytes += skn_plan_state_bytes(plan, k, skn_plan_share(plan, k, node));
    return bytes;
}

/* Bytes that it may own; UINT64_MAX: no bound. */
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

/* Shards below core `core` of all nodes'. */
static uint64_t
shards_before(const skn_plan_t *plan, uint32_t shards, uint64_t core)
{
    return (core * shards + plan->units - 1) / plan->units;
}

uint64_t
skn_plan_weight_before(const skn_plan_t *plan, uint32_t shards, uint32_t shard)
{
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

/* --- what each may take --------------------------------------------------- */

/* Rows of the output layer by weight: what node `n` would own of `rows`, and
 * the rows that its notice allows. */
typedef struct dealt {
    double weight[SKN_CLUSTER_NODES_MAX]; /* of all cores of a node */
    double most[SKN_CLUSTER_NODES_MAX];   /* rows */
    bool full[SKN_CLUSTER_NODES_MAX];
} dealt_t;

static void
find_bounds(const skn_plan_t *plan, dealt_t *dealt)
{
    size_t last = last_layer(plan);
    double row_bytes = (double)skn_plan_state_bytes(plan, last, 1);
    uint64_t block = skn_block_rows(skn_plan_outputs(plan, last));
    for (uint32_t n = 0; n < plan->node_count; n++) {
        uint64_t bound = bound_of(plan, n), below = 0;
        for (size_t k = 0; k < last; k++)
            below += skn_plan_state_bytes(plan, k, skn_plan_share(plan, k, n));
        dealt->full[n] = false;
        dealt->most[n] = bound == UINT64_MAX ? 1e18
                         : bound <= below    ? 0
                                          : (double)(bound - below) / row_bytes;
        /* Rows come in blocks, and the cut may be up to one off. */
        dealt->most[n] -= dealt->most[n] < 1e18 ? (double)block : 0;
        if (dealt->most[n] < (double)block)
            dealt->most[n] = (double)block;
    }
}

/* Rows for each unit of weight, where those who are full have theirs. All are
 * full: 0. */
static double
rows_by_weight(const skn_plan_t *plan, const dealt_t *dealt, double rows)
{
    double weight = 0;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        if (dealt->full[n])
            rows -= dealt->most[n];
        else
            weight += dealt->weight[n];
    }
    return weight > 0 ? rows / weight : 0;
}

/* Whether somebody gets more than it may: it is `full` then. */
static bool
fill_up(const skn_plan_t *plan, dealt_t *dealt, double rows)
{
    double each = rows_by_weight(plan, dealt, rows);
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
    double rows = (double)skn_plan_outputs(plan, last_layer(plan));
    for (uint32_t n = 0; n < plan->node_count; n++)
        dealt.weight[n] = plan->model->nodes[n].speed * plan->nodes[n].units;
    find_bounds(plan, &dealt);
    while (fill_up(plan, &dealt, rows))
        ;
    double each = rows_by_weight(plan, &dealt, rows);
    for (uint32_t n = 0; n < plan->node_count; n++) {
        skn_plan_node_t *node = &plan->nodes[n];
        /* All are full: they share what nobody should have to. */
        double share = dealt.full[n] ? dealt.most[n] : each * dealt.weight[n];
        node->weight = (uint64_t)(share / rows * UNIT / node->units) + 1;
    }
}
