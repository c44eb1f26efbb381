/* plan_combiners.c - decides which nodes combine the parts of their shards of a
 * layer, and writes their combiners.
 *
 *     node a   output.0 ─┐
 *              output.1 ─┴─▶ combiner.0 ─┬─▶ embedding.*, output.*
 *     node b   output.2 ─────────────────┘
 *
 * A node that has several shards of a layer sends one part for all of them, if
 * parts of that layer cross links at all; a shard that is alone on its node
 * sends its own. With reduction `fast` each of these senders is a leaf of the
 * tree in which the parts are merged; with `fixed`, leaves are blocks of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>

#include "actors/protocol/block.h"
#include "actors/protocol/cover.h"
#include "topology/plan/plan_internal.h"

#define COMBINER_NAME_BYTES 48

static bool
is_fixed(const skn_plan_t *plan)
{
    return plan->model->train.reduction == SKN_REDUCTION_FIXED;
}

/* The first shard of a layer on `node` or on a later one: nodes ascend with the
 * shards. */
static uint32_t
shard_from(const skn_plan_t *plan, size_t layer, uint32_t node)
{
    uint32_t low = 0, high = shards_of(&plan->model->layers[layer]);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (skn_plan_seat(plan, layer, middle).node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The shards of a layer on a node: [*first, *first + the count returned). */
static uint32_t
shards_on(const skn_plan_t *plan, size_t layer, uint32_t node, uint32_t *first)
{
    *first = shard_from(plan, layer, node);
    return shard_from(plan, layer, node + 1) - *first;
}

bool
skn_plan_combines(const skn_plan_t *plan, size_t layer, uint32_t node)
{
    uint32_t first;
    return layer > 0 && plan->node_count > 1 &&
           !skn_plan_is_stages(plan, layer) &&
           skn_plan_crosses(plan, layer - 1) &&
           shards_on(plan, layer, node, &first) > 1;
}

/* The number of senders for the shards below `end`, which begins a sender. */
static uint32_t
senders_before(const skn_plan_t *plan, size_t layer, uint32_t end)
{
    uint32_t count = 0, shard = 0;
    while (shard < end) {
        uint32_t node = skn_plan_seat(plan, layer, shard).node;
        if (skn_plan_combines(plan, layer, node))
            shard = shard_from(plan, layer, node + 1);
        else
            shard++;
        count++;
    }
    return count;
}

uint32_t
skn_plan_senders(const skn_plan_t *plan, size_t layer)
{
    return senders_before(plan, layer, shards_of(&plan->model->layers[layer]));
}

uint32_t
skn_plan_leaf(const skn_plan_t *plan, size_t layer, uint32_t shard)
{
    uint32_t first, node = skn_plan_seat(plan, layer, shard).node;
    (void)shards_on(plan, layer, node, &first);
    return skn_plan_combines(plan, layer, node)
               ? shard - first
               : senders_before(plan, layer, shard);
}

uint32_t
skn_plan_leaves(const skn_plan_t *plan, size_t layer)
{
    uint64_t units = skn_plan_outputs(plan, layer);
    if (skn_plan_is_stages(plan, layer))
        return 1; /* the stage above sends the whole gradient */
    if (!is_fixed(plan))
        return skn_plan_senders(plan, layer);
    return plan->model->layers[layer].output ? (uint32_t)skn_block_count(units)
                                             : skn_slice_blocks(units);
}

/* The first leaf at or after the first row of a shard, with reduction
 * `fixed`. */
static uint32_t
leaf_at(const skn_plan_t *plan, size_t layer, uint32_t shard)
{
    uint64_t row = skn_plan_first(plan, layer, shard);
    uint64_t rows = plan->model->layers[layer].output
                        ? skn_block_rows(skn_plan_outputs(plan, layer))
                        : SKN_SLICE_COLUMNS;
    return (uint32_t)((row + rows - 1) / rows);
}

uint32_t
skn_plan_parts(const skn_plan_t *plan, size_t layer, uint32_t node)
{
    uint32_t first, place[SKN_TREE_NODES_MAX];
    uint32_t count = shards_on(plan, layer, node, &first);
    if (count == 0 || !is_fixed(plan))
        return count > 0;
    return skn_merge_cover(skn_plan_leaves(plan, layer),
                           leaf_at(plan, layer, first),
                           leaf_at(plan, layer, first + count), place);
}

/* --- actors -------------------------------------------------------------- */

/* Combiners of a layer are numbered from 0, node by node. */
static void
name_combiner(const wire_t *wire, uint32_t layer, uint32_t node, char *name)
{
    uint32_t number = 0;
    for (uint32_t n = 0; n < node; n++)
        number += skn_plan_combines(wire->plan, layer, n);
    if (layer + 1 == wire->layer_count)
        (void)snprintf(name, COMBINER_NAME_BYTES, "combiner.%u", number);
    else
        (void)snprintf(name, COMBINER_NAME_BYTES, "combiner_%u.%u", layer,
                       number);
}

static void
add_combiner(wire_t *wire, uint32_t layer, uint32_t node)
{
    const skn_plan_t *plan = wire->plan;
    const skn_model_layer_t *below = &wire->model->layers[layer - 1];
    char name[COMBINER_NAME_BYTES];
    skn_plan_seat_t seat = { .node = node, .core = SKN_CORE_FLOAT };
    uint32_t first, count = shards_on(plan, layer, node, &first);
    uint32_t leaf_first = leaf_at(plan, layer, first);
    name_combiner(wire, layer, node, name);
    skn_wire_actor(wire, name, "combiner", seat, 0);
    skn_wire_int(wire, "shard_first", first);
    skn_wire_int(wire, "shards", count);
    if (is_fixed(plan)) {
        skn_wire_int(wire, "leaves", skn_plan_leaves(plan, layer));
        skn_wire_int(wire, "leaf_first", leaf_first);
        skn_wire_int(wire, "leaf_count",
                     leaf_at(plan, layer, first + count) - leaf_first);
    } else {
        skn_wire_int(wire, "leaves", count);
        skn_wire_int(wire, "leaf_count", count);
        skn_wire_int(wire, "as_leaf", senders_before(plan, layer, first));
    }
    skn_wire_int(wire, "columns", (uint64_t)below->units);
    skn_wire_cuts(wire, layer);
    skn_wire_int(wire, "batch_rows", (uint64_t)wire->model->train.batch_rows);
    /* It has two windows of places: one for each batch issued. */
    skn_wire_int(wire, "window", (wire->issued + 1) / 2);
}

void
skn_wire_combiners(wire_t *wire)
{
    for (uint32_t k = 1; k < wire->layer_count; k++)
        for (uint32_t n = 0; n < wire->plan->node_count; n++)
            if (skn_plan_combines(wire->plan, k, n))
                add_combiner(wire, k, n);
}

/* --- pipes --------------------------------------------------------------- */

const char *const *
skn_wire_senders(wire_t *wire, uint32_t layer)
{
    const skn_plan_t *plan = wire->plan;
    skn_plan_names_t *names = wire->names;
    uint32_t shards = shards_of(&wire->model->layers[layer]), count = 0;
    assert(shards <= SKN_SHARD_MAX);
    names->at[0] = wire->stem[layer];
    names->at[1] = NULL;
    if (skn_plan_senders(plan, layer) == shards)
        return names->at; /* every shard sends for itself */
    for (uint32_t s = 0; s < shards; s++) {
        uint32_t first, node = skn_plan_seat(plan, layer, s).node;
        char *name = names->text[count];
        (void)shards_on(plan, layer, node, &first);
        if (!skn_plan_combines(plan, layer, node))
            (void)snprintf(name, sizeof(names->text[0]), "%s.%u",
                           wire->stem[layer], s);
        else if (s == first)
            name_combiner(wire, layer, node, name);
        else
            continue;
        names->at[count++] = name;
    }
    names->at[count] = NULL;
    return names->at;
}

/* Adds a pipe from the shards of a node to their combiner, with `credit`
 * messages. */
static void
pipe_to_combiner(wire_t *wire, uint32_t layer, uint32_t node,
                 const char *message, uint32_t credit)
{
    skn_plan_names_t *names = wire->names;
    char combiner[COMBINER_NAME_BYTES];
    const char *const to[] = { combiner, NULL };
    uint32_t first, count = shards_on(wire->plan, layer, node, &first);
    name_combiner(wire, layer, node, combiner);
    for (uint32_t k = 0; k < count; k++) {
        (void)snprintf(names->text[k], sizeof(names->text[k]), "%s.%u",
                       wire->stem[layer], first + k);
        names->at[k] = names->text[k];
    }
    names->at[count] = NULL;
    skn_draft_pipe_t pipe = {
        .from = names->at,
        .to = to,
        .message = message,
        .pattern = "one",
        .credit = credit < SKN_CREDIT_MAX ? credit : SKN_CREDIT_MAX,
        .peer = true,
    };
    skn_draft_pipe(wire->draft, &pipe);
}

void
skn_wire_combiner_pipes(wire_t *wire, uint32_t layer, const char *message,
                        uint32_t messages)
{
    for (uint32_t n = 0; n < wire->plan->node_count; n++)
        if (skn_plan_combines(wire->plan, layer, n))
            pipe_to_combiner(wire, layer, n, message, messages * wire->credit);
}
