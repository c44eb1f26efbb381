/* plan_memory.c - estimates the memory of a plan's actors, in all and on each
 * node.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>

#include "actors/rows/rows.h"
#include "actors/samplers/sampler.h"
#include "actors/output/strips.h"
#include "topology/plan/plan_internal.h"
#include "actors/predict/ranker.h"

/* Tables and activations of the runtime itself. */
#define BASE_BYTES ((uint64_t)96 << 20)

static skn_rows_kind_t
rows_kind(const skn_model_t *model, size_t number)
{
    const skn_model_layer_t *layer = &model->layers[number];
    /* The masters of a bf16 copy are f32. */
    bool half = layer->output && layer->weights == SKN_WEIGHTS_BF16 &&
                model->train.updates == SKN_UPDATES_LOAN;
    switch (model->train.optimizer.kind) {
    case SKN_OPTIMIZER_SGD:
        return half ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD;
    case SKN_OPTIMIZER_ADAGRAD:
        return number == 0 ? SKN_ROWS_ADAGRAD_SLICED
               : half      ? SKN_ROWS_ADAGRAD_BF16
                           : SKN_ROWS_ADAGRAD;
    default:
        return SKN_ROWS_ADAM;
    }
}

static bool
is_offloaded(const skn_model_t *model)
{
    return model->train.optimizer.kind == SKN_OPTIMIZER_ADAM &&
           model->train.optimizer.offload == SKN_OFFLOAD_FILE;
}

/* Memory of the rows of layer `number`: the updaters' rows, with their moments
 * unless these are offloaded, and the shards' copies. */
static uint64_t
rows_bytes(const skn_model_t *model, size_t number, uint64_t rows,
           uint32_t width)
{
    const skn_model_layer_t *layer = &model->layers[number];
    bool half = layer->output && layer->weights == SKN_WEIGHTS_BF16;
    uint64_t bytes =
        is_offloaded(model)
            ? skn_rows_resident_bytes(rows, width)
            : skn_rows_bytes(rows_kind(model, number), rows, width);
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
    uint64_t weights = skn_plan_is_stages(plan, layer)
                           ? skn_plan_decoder_weights(plan, layer) /
                                 (uint64_t)plan->model->decoder.layers
                           : skn_plan_inputs(plan, layer) + 1;
    return weights * count * numbers[plan->model->train.optimizer.kind] *
           sizeof(float);
}

/* --- samplers ------------------------------------------------------------- */

static uint64_t
known(int64_t value)
{
    return value == SKN_AUTO ? 0 : (uint64_t)value;
}

/* Rows that a batch of `batch` points draws by the index of `sampler`, repeats
 * included: hash tables give one list for each point. */
static double
hard_draws(const skn_model_sampler_t *sampler, double rows, double batch)
{
    return skn_plan_has_index(sampler) ? batch * rows : 0.0;
}

static const skn_sampler_kind_t *
sampler_kind(const skn_model_sampler_t *sampler)
{
    assert(sampler->kind != SKN_SAMPLER_AUTO);
    return skn_samplers[sampler->kind - 1];
}

/* Numbers, of 4 bytes each, in the tables of one index over `rows` rows, as
 * they are built and sent (tables.h). */
static double
index_numbers(const skn_model_sampler_t *sampler, double rows, double shards)
{
    double tables = (double)known(sampler->tables);
    int bits = (int)(known(sampler->bits) *
                     sampler_kind(sampler)->index->function_bits);
    return tables * (2.0 * rows + shards * ldexp(1.0, bits));
}

/* Memory that `shards` samplers and their builders keep by row, and three
 * indexes: the one in use, the next one, and the one being built. */
static double
sampler_bytes(const skn_model_sampler_t *sampler, double rows, double shards)
{
    double bytes = sampler_kind(sampler)->row_bytes * rows;
    if (skn_plan_has_index(sampler))
        bytes += 3.0 * 4.0 * index_numbers(sampler, rows, shards);
    return bytes;
}

/* Memory that the output shards on a node keep by row, beside the rows: the
 * position of each row in a list, the sampler, and the builder's copy of the
 * rows with those that are on their way to it. */
static uint64_t
listed_bytes(const skn_plan_t *plan, uint64_t rows, uint32_t shards)
{
    const skn_model_t *model = plan->model;
    const skn_model_layer_t *output = &model->layers[model->layer_count - 1];
    uint64_t width = skn_plan_inputs(plan, model->layer_count - 1) + 1;
    double count = (double)rows;
    double bytes = 4.0 * count + sampler_bytes(&output->sampler, count, shards);
    if (!skn_plan_has_index(&output->sampler) || rows == 0)
        return (uint64_t)bytes;
    bytes += (double)skn_rows_bytes(SKN_ROWS_SGD, rows, (uint32_t)width);
    return (uint64_t)(bytes + 4.25 * count +
                      2.0 * 4.0 * (double)(width + 1) * count /
                          fmax((double)known(output->sampler.refresh_batches),
                               1.0));
}

/* --- data ----------------------------------------------------------------- */

static uint32_t
shards_on(const skn_plan_t *plan, size_t layer, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < shards_of(&plan->model->layers[layer]); s++)
        count +=
            plan->node_count == 0 || skn_plan_seat(plan, layer, s).node == node;
    return count;
}

/* Memory for the data on a node that reads: the mapped copies of the files; the
 * numbers of points, twice for training; a number for each feature, also with
 * each first-layer shard; the labels' marks; and the propensities, if it
 * evaluates. */
static uint64_t
data_bytes(const skn_plan_t *plan, uint32_t node)
{
    const skn_plan_data_t *data = &plan->data;
    uint64_t features = data->features, labels = data->labels;
    return data->mapped_bytes + 8 * data->train_points +
           4 * data->validate_points +
           4 * features * (1 + (uint64_t)shards_on(plan, 0, node)) +
           labels / 8 + (node == 0 ? 4 * labels : 0);
}

/* --- layers --------------------------------------------------------------- */

/* The rows of the output layer that a batch computes for one point, and the
 * distinct rows that it touches in all: the expected number of different rows
 * among random draws. */
static void
count_active(const skn_plan_t *plan, const skn_model_layer_t *layer,
             double units, double *active, double *touched)
{
    const skn_model_sampler_t *sampler = &layer->sampler;
    double batch = (double)plan->model->train.batch_rows;
    double shared = (double)known(sampler->uniform_rows) +
                    batch * plan->data.labels_per_point;
    *active = *touched = units;
    if (sampler->kind == SKN_SAMPLER_EXACT)
        return;
    double rows = (double)known(sampler->rows);
    double hard = hard_draws(sampler, rows, batch);
    *active = fmin(rows + shared, units);
    *touched = fmin(rows + shared + units * -expm1(-hard / units), units);
}

/* Memory of the weights of `count` layers of a decoder: rows, and their
 * gradients, of a step and where they are added up. */
static uint64_t
stages_bytes(const skn_plan_t *plan, uint64_t count)
{
    const skn_model_t *model = plan->model;
    const skn_decoder_shape_t shape = skn_model_shape(model);
    uint64_t rows = count * skn_decoder_layer_rows(&shape) + 1;
    return rows_bytes(model, SKN_DECODER_LAYER, rows, shape.width) +
           2 * rows * shape.width * sizeof(float);
}

/* Memory of layer `number` for `count` of its units: rows, logits of the
 * batches in flight, gradients, and activations, which all nodes have; of a
 * decoder, each of the `stages` on the node. */
static uint64_t
layer_bytes(const skn_plan_t *plan, size_t number, uint64_t count,
            uint32_t stages)
{
    const skn_model_t *model = plan->model;
    const skn_model_layer_t *layer = &model->layers[number];
    bool is_decoder = skn_model_is_decoder(model);
    uint64_t window =
        is_decoder ? plan->flights : (uint64_t)model->train.window;
    uint64_t flights = 1 + window, issued = 2 * window;
    uint64_t batch = (uint64_t)model->train.batch_rows;
    uint64_t below = skn_plan_inputs(plan, number);
    uint64_t units = skn_plan_outputs(plan, number), bytes = 0;
    double active, touched;
    if (skn_plan_is_stages(plan, number)) {
        units = (uint64_t)layer->units * (stages > 0 ? stages : 1);
        bytes = count > 0 ? stages_bytes(plan, count) : 0;
    } else if (count > 0) {
        bytes = number == 0
                    ? rows_bytes(model, number, below + 1, (uint32_t)count)
                    : rows_bytes(model, number, count, (uint32_t)below + 1);
        if (is_decoder) /* gradients are added up */
            bytes += (number == 0 ? below * count : count * below) * 4;
    }
    if (!layer->output)
        return bytes + (4 * flights + 2 * issued) * batch * units * 4;
    count_active(plan, layer, (double)units, &active, &touched);
    active *= (double)count / (double)units;
    touched *= (double)count / (double)units;
    /* each shard's v of the whole layer below, regardless of its own rows */
    if (model->train.merge == SKN_MERGING_LATE && count > 0)
        bytes += flights * batch * below * 4;
    /* logits, and lists if each point has its own; row gradients and copies on
     * their way */
    bool lists = skn_plan_has_index(&layer->sampler);
    uint64_t stride = skn_strips_stride(batch);
    return bytes +
           (uint64_t)((double)(flights * stride) * active *
                      (lists ? 12.0 : 4.0)) +
           (uint64_t)((model->train.updates == SKN_UPDATES_COPY ? 4.0 : 2.0) *
                      touched * (double)(below + 1) * 4.0);
}

/* Moments of `node` that are in files: one set for each row in its memory. */
static uint64_t
offload_bytes(const skn_plan_t *plan, uint32_t node)
{
    uint64_t bytes = 0;
    for (size_t k = 0;
         k < plan->model->layer_count && is_offloaded(plan->model); k++) {
        uint64_t count = plan->node_count > 0 ? skn_plan_share(plan, k, node)
                                              : skn_plan_outputs(plan, k);
        uint64_t below = skn_plan_inputs(plan, k);
        if (count > 0 && skn_plan_is_stages(plan, k))
            bytes += skn_rows_offload_bytes(
                count * skn_plan_decoder_weights(plan, k) /
                    ((uint64_t)plan->model->decoder.layers * below),
                (uint32_t)below);
        else if (count > 0)
            bytes += k == 0
                         ? skn_rows_offload_bytes(below + 1, (uint32_t)count)
                         : skn_rows_offload_bytes(count, (uint32_t)below + 1);
    }
    return bytes;
}

static uint64_t
node_bytes(const skn_plan_t *plan, uint32_t node)
{
    size_t layers = plan->model->layer_count;
    if (plan->node_count > 0 && node >= plan->keepers)
        return BASE_BYTES; /* it reads no data */
    uint64_t bytes = BASE_BYTES + data_bytes(plan, node), rows = 0;
    for (size_t k = 0; k < layers; k++) {
        rows = plan->node_count > 0 ? skn_plan_share(plan, k, node)
                                    : skn_plan_outputs(plan, k);
        bytes += layer_bytes(plan, k, rows, shards_on(plan, k, node));
    }
    if (skn_model_is_decoder(plan->model))
        bytes += skn_plan_stages_bytes(plan, node);
    return bytes + listed_bytes(plan, rows, shards_on(plan, layers - 1, node));
}

/* --- after training ------------------------------------------------------- */

/* Memory of the rows of all networks in a predictor. */
static uint64_t
predictor_bytes(const skn_plan_t *plan)
{
    const skn_model_t *model = plan->model;
    uint64_t bytes = 0;
    for (size_t k = 0; k < model->layer_count; k++) {
        uint64_t below = skn_plan_inputs(plan, k);
        uint64_t units = skn_plan_outputs(plan, k);
        bytes += (below + 1) * units *
                 (model->layers[k].weights == SKN_WEIGHTS_BF16 ? 2 : 4);
    }
    return bytes;
}

/* The most memory of the trees: half of the network's parameters as weights,
 * and the few weights that each row keeps in any case; somewhat more nodes than
 * labels. */
static uint64_t
ranker_bytes(const skn_plan_t *plan)
{
    uint64_t trees = (uint64_t)plan->model->train.ranker_trees;
    uint64_t nodes =
        trees * (plan->data.labels + plan->data.labels / 16 + UINT64_C(2));
    const skn_ranker_t most = {
        .label_count = plan->data.labels,
        .tree_count = (uint32_t)trees,
        .node_count = nodes < UINT32_MAX ? (uint32_t)nodes : UINT32_MAX,
        .weight_count = plan->parameters / SKN_RANK_PARAMETERS_A_WEIGHT +
                        SKN_RANKER_ROW_WEIGHTS_MIN * nodes,
    };
    return skn_ranker_bytes(&most);
}

/* Peak memory while a ranker is fitted (rank.c, ranker_fit.c): first the
 * network with its index predicts; then rows are fitted and gathered, which
 * takes them twice; while the whole is scored, the ranker is there with the
 * units of all networks. */
static uint64_t
after_bytes(const skn_plan_t *plan)
{
    const skn_plan_data_t *data = &plan->data;
    const skn_model_train_t *train = &plan->model->train;
    uint64_t one = predictor_bytes(plan), ranker = ranker_bytes(plan);
    uint64_t labels = data->labels, points = data->train_points;
    uint64_t all = BASE_BYTES + data->mapped_bytes;
    uint64_t whole = (uint64_t)train->ensemble * one + ranker;
    if (train->ranker_trees == 0)
        return train->ensemble > 1 ? all + whole : 0;
    uint64_t neighbours = points / SKN_RANK_SHOWN_EACH * SKN_RANK_NEIGHBOURS;
    uint64_t pairs = (uint64_t)((double)points * data->labels_per_point);
    uint64_t width = skn_plan_inputs(plan, plan->model->layer_count - 1) + 2;
    uint64_t index =
        (uint64_t)(4.0 * sqrt((double)labels)) * width * 4 + labels * 8;
    uint64_t asking = one + index + 4 * neighbours;
    uint64_t threads = plan->units ? plan->units : 1;
    uint64_t fitting =
        4 * (neighbours + pairs) + 28 * labels + 2 * ranker + 4 * points +
        threads * (13 * (uint64_t)data->features + 37 * points + 16 * labels);
    if (whole < asking)
        whole = asking;
    if (whole < fitting)
        whole = fitting;
    return all + 4 * points + whole;
}

/* The first of several nodes joins the networks. Which node of an elastic run
 * will do so is not known, and it looks then whether it has the memory. */
static void
plan_first_after(skn_plan_t *plan)
{
    skn_plan_node_t *first = &plan->nodes[0];
    if (plan->model->coordinator.address[0] ||
        first->memory_bytes >= plan->after_bytes)
        return;
    plan->memory_bytes += plan->after_bytes - first->memory_bytes;
    first->memory_bytes = plan->after_bytes;
}

void
skn_plan_estimate(skn_plan_t *plan)
{
    const skn_model_t *model = plan->model;
    plan->parameters = 0;
    plan->memory_bytes = plan->offload_bytes = 0;
    for (size_t k = 0; k < model->layer_count; k++)
        plan->parameters +=
            skn_model_is_decoder(model)
                ? skn_plan_decoder_weights(plan, k)
                : (skn_plan_inputs(plan, k) + 1) * skn_plan_outputs(plan, k);
    for (uint32_t n = 0; n < plan->node_count; n++) {
        plan->nodes[n].memory_bytes = node_bytes(plan, n);
        plan->memory_bytes += plan->nodes[n].memory_bytes;
        plan->nodes[n].offload_bytes = offload_bytes(plan, n);
        plan->offload_bytes += plan->nodes[n].offload_bytes;
    }
    plan->after_bytes = after_bytes(plan);
    if (plan->node_count > 0) {
        plan_first_after(plan);
        return;
    }
    plan->memory_bytes = node_bytes(plan, 0);
    plan->offload_bytes = offload_bytes(plan, 0);
    if (plan->memory_bytes < plan->after_bytes)
        plan->memory_bytes = plan->after_bytes;
}

const char *
skn_plan_smaller(const skn_plan_t *plan)
{
    return skn_model_is_decoder(plan->model)
               ? plan->model->train.recompute == SKN_RECOMPUTE_LAYER
                     ? "use fewer model.layers or a smaller train.micro_tokens"
                     : "set train.recompute: layer, or use fewer model.layers "
                       "or a smaller train.micro_tokens"
               : "use fewer model.layers.hidden.units";
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
                         "or %s",
                         skn_plan_smaller(plan));
}

/* Checks the sum for nodes that share one machine. */
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
    return skn_fail_hint(error, status, "allow more, use fewer nodes, or %s",
                         skn_plan_smaller(plan));
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
    return skn_fail_hint(error, status, "allow more, or %s",
                         skn_plan_smaller(plan));
}
