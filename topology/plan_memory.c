/* plan_memory.c - what a plan's actors will hold, in all and on each node.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows.h"
#include "topology/plan_parts.h"

/* Tables and activations of the runtime itself. */
#define BASE_BYTES ((uint64_t)96 << 20)

static skn_rows_kind_t
rows_kind(const skn_model_t *model, size_t number)
{
    const skn_model_layer_t *layer = &model->layers[number];
    switch (model->train.optimizer.kind) {
    case SKN_OPTIMIZER_SGD:
        /* The masters of a bf16 copy are f32. */
        return layer->output && layer->weights == SKN_WEIGHTS_BF16 &&
                       model->train.updates == SKN_UPDATES_LOAN
                   ? SKN_ROWS_SGD_BF16
                   : SKN_ROWS_SGD;
    case SKN_OPTIMIZER_ADAGRAD:
        return number == 0 ? SKN_ROWS_ADAGRAD_SLICED : SKN_ROWS_ADAGRAD;
    default:
        return SKN_ROWS_ADAM;
    }
}

/* What the rows of layer `number` take: the updaters' with their moments, and
 * the shards' copies. */
static uint64_t
rows_bytes(const skn_model_t *model, size_t number, uint64_t rows,
           uint32_t width)
{
    const skn_model_layer_t *layer = &model->layers[number];
    bool half = layer->output && layer->weights == SKN_WEIGHTS_BF16;
    uint64_t bytes = skn_rows_bytes(rows_kind(model, number), rows, width);
    if (model->train.updates == SKN_UPDATES_COPY)
        bytes += skn_rows_bytes(half ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD, rows,
                                width);
    return bytes;
}

uint64_t
skn_plan_state_bytes(const skn_plan_t *plan, size_t layer, uint64_t count)
{
    static const uint64_t numbers[] = { [SKN_OPTIMIZER_SGD] = 1,
                                        [SKN_OPTIMIZER_ADAGRAD] = 2,
                                        [SKN_OPTIMIZER_ADAM] = 3 };
    return (skn_plan_inputs(plan, layer) + 1) * count *
           numbers[plan->model->train.optimizer.kind] * sizeof(float);
}

/* What layer `number` takes where `count` of its units are: rows, logits of the
 * batches in flight, gradients, activations, which all nodes have. */
static uint64_t
layer_bytes(const skn_plan_t *plan, size_t number, uint64_t count)
{
    const skn_model_t *model = plan->model;
    const skn_model_layer_t *layer = &model->layers[number];
    uint64_t flights = (uint64_t)model->train.window + 1;
    uint64_t issued = 2 * (uint64_t)model->train.window;
    uint64_t batch = (uint64_t)model->train.batch_rows;
    uint64_t below = skn_plan_inputs(plan, number);
    uint64_t units = skn_plan_outputs(plan, number), active = units;
    uint64_t bytes = 0;
    if (count > 0)
        bytes = number == 0
                    ? rows_bytes(model, number, below + 1, (uint32_t)count)
                    : rows_bytes(model, number, count, (uint32_t)below + 1);
    /* what trails: an activation, a gradient */
    if (model->train.late == SKN_LATE_STALE)
        issued += (uint64_t)model->train.staleness_max + 1;
    if (!layer->output)
        return bytes + (4 * flights + 2 * issued) * batch * units * 4;
    if (layer->sampler.kind != SKN_SAMPLER_EXACT) {
        active = (uint64_t)layer->sampler.rows +
                 (uint64_t)((double)batch * plan->data.labels_per_point);
        if (active > units)
            active = units;
    }
    active = active * count / units;
    /* each shard's v of the whole layer below, whatever its own rows */
    if (model->train.merge == SKN_MERGING_LATE && count > 0)
        bytes += flights * batch * below * 4;
    /* logits; row gradients and copies on their way */
    return bytes + flights * batch * active * 4 +
           (model->train.updates == SKN_UPDATES_COPY ? 4 : 2) * active *
               (below + 1) * 4;
}

void
skn_plan_estimate(skn_plan_t *plan)
{
    const skn_model_t *model = plan->model;
    plan->parameters = 0;
    plan->memory_bytes = 0;
    for (size_t k = 0; k < model->layer_count; k++)
        plan->parameters +=
            (skn_plan_inputs(plan, k) + 1) * skn_plan_outputs(plan, k);
    for (uint32_t n = 0; n < plan->node_count; n++) {
        skn_plan_node_t *node = &plan->nodes[n];
        node->memory_bytes = BASE_BYTES;
        for (size_t k = 0; k < model->layer_count; k++)
            node->memory_bytes +=
                layer_bytes(plan, k, skn_plan_share(plan, k, n));
        plan->memory_bytes += node->memory_bytes;
    }
    if (plan->node_count > 0)
        return;
    plan->memory_bytes = BASE_BYTES;
    for (size_t k = 0; k < model->layer_count; k++)
        plan->memory_bytes += layer_bytes(plan, k, skn_plan_outputs(plan, k));
}

static skn_status_t
check_node(const skn_plan_t *plan, uint32_t node, skn_error_t *error)
{
    const skn_model_node_t *asked = &plan->model->nodes[node];
    uint64_t bytes = plan->nodes[node].memory_bytes;
    if (asked->memory_bytes == SKN_AUTO ||
        bytes <= (uint64_t)asked->memory_bytes)
        return SKN_OK;
    skn_status_t status = skn_fail(
        error, SKN_NO_MEMORY,
        "node '%s' needs about %llu MiB of memory for its share, nodes.%s."
        "memory allows %lld MiB",
        asked->name, (unsigned long long)(bytes >> 20), asked->name,
        (long long)(asked->memory_bytes >> 20));
    return skn_fail_hint(error, status,
                         "allow more, give it fewer of the cores, add a node, "
                         "or take fewer model.layers.hidden.units");
}

/* Nodes that share one machine. */
static skn_status_t
check_sum(const skn_plan_t *plan, skn_error_t *error)
{
    int64_t allowed = plan->model->resources.memory_bytes;
    if (allowed == SKN_AUTO || plan->memory_bytes <= (uint64_t)allowed)
        return SKN_OK;
    skn_status_t status = skn_fail(
        error, SKN_NO_MEMORY,
        "the %u nodes of this machine need about %llu MiB of memory, "
        "resources.memory allows %lld MiB",
        plan->node_count, (unsigned long long)(plan->memory_bytes >> 20),
        (long long)(allowed >> 20));
    return skn_fail_hint(error, status,
                         "allow more, take fewer nodes, or fewer "
                         "model.layers.hidden.units");
}

skn_status_t
skn_plan_check_memory(const skn_plan_t *plan, skn_error_t *error)
{
    const skn_model_t *model = plan->model;
    int64_t allowed = model->resources.memory_bytes;
    skn_status_t status = SKN_OK;
    for (uint32_t n = 0; n < plan->node_count && status == SKN_OK; n++)
        status = check_node(plan, n, error);
    if (plan->node_count > 0)
        return status == SKN_OK ? check_sum(plan, error) : status;
    const char *key = "resources";
    if (model->node_count > 0) {
        allowed = model->nodes[0].memory_bytes;
        key = model->nodes[0].name;
    }
    if (allowed == SKN_AUTO || plan->memory_bytes <= (uint64_t)allowed)
        return SKN_OK;
    status = skn_fail(error, SKN_NO_MEMORY,
                      "the run needs about %llu MiB of memory, %s%s.memory "
                      "allows %lld MiB",
                      (unsigned long long)(plan->memory_bytes >> 20),
                      model->node_count > 0 ? "nodes." : "", key,
                      (long long)(allowed >> 20));
    return skn_fail_hint(error, status,
                         "allow more, or take fewer "
                         "model.layers.hidden.units");
}
