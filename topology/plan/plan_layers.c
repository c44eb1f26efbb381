/* plan_layers.c - writes the actors of a plan that compute: the shards of each
 * layer, and the updaters and table builders beside them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "actors/protocol/block.h"
#include "topology/plan/plan_internal.h"
#include "topology/config/values.h"
#include "topology/plan/traits.h"

#define LAYER_NAME_BYTES 96

#define WORD_OF(NAME, word) #word,
static const char *const loss_words[] = { SKN_LOSSES(WORD_OF) };
static const char *const weight_words[] = { SKN_WEIGHTS(WORD_OF) };
static const char *const sampler_words[] = { SKN_SAMPLERS(WORD_OF) };
static const char *const order_words[] = { SKN_ORDERS(WORD_OF) };
static const char *const update_words[] = { SKN_UPDATES(WORD_OF) };
static const char *const reduction_words[] = { SKN_REDUCTIONS(WORD_OF) };
static const char *const precision_words[] = { SKN_PRECISIONS(WORD_OF) };
static const char *const optimizer_words[] = { SKN_OPTIMIZERS(WORD_OF) };
static const char *const schedule_words[] = { SKN_SCHEDULES(WORD_OF) };
#undef WORD_OF

/* Leaves of the tree of the parts that a hidden layer receives from above: from
 * the output shards, or from the dense layer above. For the output layer, those
 * of its own tree. */
static uint32_t
leaves_above(const wire_t *wire, uint32_t layer)
{
    return skn_plan_leaves(wire->plan,
                           layer + 1 < wire->layer_count ? layer + 1 : layer);
}

/* SKN_HIDDEN_OPTIONS, SKN_TURNS_OPTIONS, SKN_COPY_OPTIONS. */
static void
set_shared(wire_t *wire, uint32_t layer, double dropout, uint32_t leaves)
{
    const skn_model_train_t *train = &wire->model->train;
    skn_wire_int(wire, "layer", layer);
    skn_wire_int(wire, "batch_rows", (uint64_t)train->batch_rows);
    skn_wire_real(wire, "dropout", dropout);
    skn_wire_int(wire, "leaves", leaves);
    skn_wire_int(wire, "seed", (uint64_t)train->seed);
    skn_wire_int(wire, "window", (uint64_t)train->window);
    if (skn_model_is_decoder(wire->model)) {
        skn_wire_int(wire, "accumulate", wire->plan->accumulate);
        skn_wire_int(wire, "flights", wire->plan->flights);
    }
    skn_wire_text(wire, "order", order_words[train->order]);
    skn_wire_text(wire, "updates", update_words[train->updates]);
    skn_wire_text(wire, "huge_pages",
                  wire->model->resources.huge_pages ? "true" : "false");
    if (layer > 0) /* the first layer has no matrix product */
        skn_wire_text(wire, "precision", precision_words[train->precision]);
}

/* Gradients that leave a node are sent for open units only; all units of a
 * decoder are open. */
static void
set_packed(wire_t *wire, uint32_t layer)
{
    if (!skn_model_is_decoder(wire->model) &&
        skn_plan_crosses(wire->plan, layer - 1))
        skn_wire_text(wire, "packed", "true");
}

/* If some parts are combined, leaves are not numbered like shards. */
static void
set_leaf(wire_t *wire, uint32_t layer, uint32_t shard)
{
    if (wire->model->train.reduction != SKN_REDUCTION_FIXED &&
        skn_plan_senders(wire->plan, layer) <
            shards_of(&wire->model->layers[layer]))
        skn_wire_int(wire, "leaf", skn_plan_leaf(wire->plan, layer, shard));
}

/* The place of an updater's rows in their layer. */
typedef struct layer_place {
    uint32_t layer, shard;
    uint64_t row_first, rows, column_first, width;
    uint64_t global_rows, global_columns;
    bool bias_row;
} layer_place_t;

/* One-vs-all starts from the frequency of labels over all samples. Biases of 0
 * would predict every label for every second sample: the steps that only teach
 * every row not to fire would spoil the hidden vectors first, and nearly all of
 * their units stay open. */
static double
first_bias(const wire_t *wire, const skn_model_layer_t *layer)
{
    const skn_plan_data_t *data = &wire->plan->data;
    double share = data->labels_per_point / data->labels;
    if (!layer->output || layer->loss != SKN_LOSS_ONE_VS_ALL || share <= 0 ||
        share >= 0.5)
        return 0;
    return log(share / (1 - share));
}

/* Weights of rows that are stepped in vain, at most, so that an embedding is
 * that of a dense Adam: a thousandth of a step of the usual size. */
#define EVERY_ROW_MAX SKN_EXACT_LABELS_MAX

/* How the updater of a decoder's layer makes its steps. */
static void
set_steps(wire_t *wire, const layer_place_t *place)
{
    const skn_plan_t *plan = wire->plan;
    const skn_decoder_shape_t shape = skn_model_shape(wire->model);
    bool stages = skn_plan_is_stages(plan, place->layer);
    skn_wire_int(wire, "accumulate", plan->accumulate);
    if (wire->model->train.clip_norm > 0)
        skn_wire_text(wire, "clips", "true");
    if (place->layer == 0 && plan->data.features <= EVERY_ROW_MAX)
        skn_wire_text(wire, "every_row", "true");
    if (wire->model->layers[place->layer].output)
        skn_wire_int(wire, "norm_rows", skn_block_rows(place->global_rows));
    else
        skn_wire_int(wire, "norm_rows",
                     stages ? skn_decoder_layer_rows(&shape) : place->rows);
    if (!stages)
        return;
    skn_wire_int(wire, "decoder_layers", shape.layers);
    skn_wire_int(wire, "stage_layers",
                 place->rows / skn_decoder_layer_rows(&shape));
    skn_wire_int(wire, "inner", shape.inner);
}

/* The optimizer of an updater, and how the rate changes. */
static void
set_optimizer(wire_t *wire, const layer_place_t *place)
{
    const skn_model_train_t *train = &wire->model->train;
    skn_wire_text(wire, "optimizer", optimizer_words[train->optimizer.kind]);
    skn_wire_real(wire, "rate", train->optimizer.rate);
    skn_wire_real(wire, "beta1", train->optimizer.beta1);
    skn_wire_real(wire, "beta2", train->optimizer.beta2);
    skn_wire_real(wire, "epsilon", train->optimizer.epsilon);
    /* The rows of an embedding do not decay in a decoder: most of them are
     * rare, and would vanish. */
    skn_wire_real(wire, "weight_decay",
                  skn_model_is_decoder(wire->model) && place->layer == 0
                      ? 0
                      : train->optimizer.weight_decay);
    skn_wire_text(wire, "schedule", schedule_words[train->schedule.kind]);
    skn_wire_int(wire, "warmup_batches",
                 train->schedule.warmup_batches > 0
                     ? (uint64_t)train->schedule.warmup_batches
                     : 0);
    skn_wire_int(wire, "total_batches",
                 wire->plan->total_batches / wire->plan->accumulate);
    if (skn_model_is_decoder(wire->model))
        set_steps(wire, place);
    skn_wire_real(wire, "floor", train->schedule.floor);
    skn_wire_int(wire, "seed", (uint64_t)train->seed);
}

static void
add_updater(wire_t *wire, const layer_place_t *place)
{
    const skn_model_train_t *train = &wire->model->train;
    const skn_model_layer_t *layer = &wire->model->layers[place->layer];
    char name[LAYER_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->updater[place->layer],
                   place->shard);
    skn_wire_actor(wire, name, "updater",
                   skn_plan_seat(wire->plan, place->layer, place->shard), 0);
    skn_wire_int(wire, "layer", place->layer);
    skn_wire_text(wire, "layer_name", layer->name);
    skn_wire_int(wire, "row_first", place->row_first);
    skn_wire_int(wire, "rows", place->rows);
    skn_wire_int(wire, "column_first", place->column_first);
    skn_wire_int(wire, "width", place->width);
    skn_wire_int(wire, "global_rows", place->global_rows);
    skn_wire_int(wire, "global_columns", place->global_columns);
    skn_wire_text(wire, "bias",
                  skn_plan_is_stages(wire->plan, place->layer) ? "none"
                  : place->bias_row                            ? "row"
                                                               : "column");
    skn_wire_text(wire, "weights",
                  layer->output ? weight_words[layer->weights] : "f32");
    skn_wire_text(wire, "updates", update_words[train->updates]);
    set_optimizer(wire, place);
    skn_wire_real(wire, "init", layer->init_std);
    skn_wire_real(wire, "init_bias", first_bias(wire, layer));
    skn_wire_text(wire, "huge_pages",
                  wire->model->resources.huge_pages ? "true" : "false");
    if (train->optimizer.kind == SKN_OPTIMIZER_ADAM &&
        train->optimizer.offload == SKN_OFFLOAD_FILE)
        skn_wire_text(
            wire, "offload",
            skn_plan_offload_path(wire->model, wire->start->run_path));
    /* The block at which shards are cut depends on the layer's size alone. */
    const skn_decoder_shape_t shape = skn_model_shape(wire->model);
    skn_wire_int(wire, "ledger",
                 skn_plan_is_stages(wire->plan, place->layer)
                     ? skn_decoder_layer_rows(&shape)
                 : layer->output ? skn_block_rows(place->global_rows)
                                 : SKN_SLICE_COLUMNS);
    if (wire->model->coordinator.recovery == SKN_RECOVERY_PARTIAL)
        skn_wire_text(wire, "missed", "true");
    skn_wire_int(wire, "first_batch", wire->start->first_batch);
    skn_wire_resume(wire, name,
                    skn_plan_seat(wire->plan, place->layer, place->shard).node);
}

static void
add_embedding(wire_t *wire, uint32_t shard)
{
    const skn_model_layer_t *layer = &wire->model->layers[0];
    uint64_t units = (uint64_t)layer->units;
    uint64_t first = skn_plan_first(wire->plan, 0, shard);
    uint64_t count = skn_plan_first(wire->plan, 0, shard + 1) - first;
    char name[LAYER_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->stem[0], shard);
    skn_wire_actor(wire, name, "embedding", skn_plan_seat(wire->plan, 0, shard),
                   0);
    skn_wire_int(wire, "features", wire->plan->data.features);
    skn_wire_int(wire, "column_first", first);
    skn_wire_int(wire, "column_count", count);
    if (skn_model_is_decoder(wire->model)) {
        skn_wire_text(wire, "relu", "false");
        skn_wire_text(wire, "bias", "false");
    }
    set_shared(wire, 0, layer->dropout, leaves_above(wire, 0));
    layer_place_t place = {
        .layer = 0,
        .shard = shard,
        .rows = (uint64_t)wire->plan->data.features + 1,
        .column_first = first,
        .width = count,
        .global_rows = wire->plan->data.features,
        .global_columns = units,
        .bias_row = true,
    };
    add_updater(wire, &place);
}

static void
add_dense(wire_t *wire, uint32_t number, uint32_t shard)
{
    const skn_model_layer_t *layer = &wire->model->layers[number];
    const skn_model_layer_t *below = &wire->model->layers[number - 1];
    uint64_t units = (uint64_t)layer->units;
    uint64_t first = skn_plan_first(wire->plan, number, shard);
    uint64_t count = skn_plan_first(wire->plan, number, shard + 1) - first;
    char name[LAYER_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->stem[number], shard);
    skn_wire_actor(wire, name, "dense",
                   skn_plan_seat(wire->plan, number, shard), 0);
    skn_wire_int(wire, "inputs", (uint64_t)below->units);
    skn_wire_cuts(wire, number);
    skn_wire_int(wire, "units", units);
    skn_wire_text(wire, "reduction",
                  reduction_words[wire->model->train.reduction]);
    skn_wire_int(wire, "row_first", first);
    skn_wire_int(wire, "row_count", count);
    set_shared(wire, number, layer->dropout, leaves_above(wire, number));
    set_packed(wire, number);
    set_leaf(wire, number, shard);
    layer_place_t place = {
        .layer = number,
        .shard = shard,
        .row_first = first,
        .rows = count,
        .width = (uint64_t)below->units + 1,
        .global_rows = units,
        .global_columns = (uint64_t)below->units,
    };
    add_updater(wire, &place);
}

/* A value that is still `auto` has no meaning for the sampler, and is left
 * out. */
static void
set_known(wire_t *wire, const char *name, int64_t value)
{
    if (value >= 0)
        skn_wire_int(wire, name, (uint64_t)value);
}

#define SET_KNOWN(name) set_known(wire, #name, sampler->name)

/* SKN_SAMPLER_OPTIONS: the same for the output shard and its builder. */
static void
set_sampler(wire_t *wire, const skn_model_sampler_t *sampler)
{
    skn_wire_text(wire, "sampler", sampler_words[sampler->kind]);
    SET_KNOWN(rows);
    SET_KNOWN(uniform_rows);
    SET_KNOWN(tables);
    SET_KNOWN(bits);
    skn_wire_real(wire, "weight_cap", sampler->weight_cap);
    skn_wire_training_file(wire);
}

static void
add_builder(wire_t *wire, uint32_t shard, uint64_t first, uint64_t end)
{
    uint32_t number = wire->layer_count - 1;
    const skn_model_layer_t *below = &wire->model->layers[number - 1];
    char name[LAYER_NAME_BYTES];
    if (!skn_plan_has_index(&wire->output->sampler))
        return;
    (void)snprintf(name, sizeof(name), "table_builder.%u", shard);
    /* It shares the shard's unit and gives way to it. */
    skn_wire_actor(wire, name, "table_builder",
                   skn_plan_seat(wire->plan, number, shard), 10);
    skn_wire_int(wire, "labels", wire->plan->data.labels);
    skn_wire_int(wire, "row_first", first);
    skn_wire_int(wire, "row_count", end - first);
    skn_wire_int(wire, "hidden", (uint64_t)below->units);
    skn_wire_int(wire, "layer", number);
    skn_wire_int(wire, "batch_rows", (uint64_t)wire->model->train.batch_rows);
    skn_wire_int(wire, "seed", (uint64_t)wire->model->train.seed);
    set_sampler(wire, &wire->output->sampler);
}

static void
add_output(wire_t *wire, uint32_t shard)
{
    uint32_t number = wire->layer_count - 1;
    const skn_model_layer_t *layer = wire->output;
    const skn_model_layer_t *below = &wire->model->layers[number - 1];
    uint64_t labels = wire->plan->data.labels;
    uint64_t first = skn_plan_first(wire->plan, number, shard);
    uint64_t end = skn_plan_first(wire->plan, number, shard + 1);
    char name[LAYER_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->stem[number], shard);
    skn_wire_actor(wire, name, "output",
                   skn_plan_seat(wire->plan, number, shard), 0);
    skn_wire_int(wire, "labels", labels);
    skn_wire_int(wire, "row_first", first);
    skn_wire_int(wire, "row_count", end - first);
    skn_wire_int(wire, "hidden", (uint64_t)below->units);
    skn_wire_cuts(wire, number);
    if (skn_model_is_decoder(wire->model))
        skn_wire_text(wire, "bias", "false");
    skn_wire_text(wire, "loss", loss_words[layer->loss]);
    skn_wire_text(wire, "weights", weight_words[layer->weights]);
    skn_wire_text(wire, "reduction",
                  reduction_words[wire->model->train.reduction]);
    if (layer->loss == SKN_LOSS_SOFTMAX)
        skn_wire_real(wire, "label_smoothing", layer->label_smoothing);
    if (wire->model->train.merge == SKN_MERGING_LATE)
        skn_wire_text(wire, "merge", "late");
    skn_wire_int(wire, "topk", (uint64_t)wire->model->train.evaluate.topk);
    if (wire->model->train.clip_norm > 0)
        skn_wire_text(wire, "clips", "true");
    if (wire->start->predict || skn_model_is_decoder(wire->model))
        skn_wire_text(wire, "normalises", "true");
    skn_wire_int(wire, "diagnose_batches",
                 (uint64_t)wire->model->train.evaluate.sampler_batches);
    set_sampler(wire, &layer->sampler);
    if (skn_plan_has_index(&layer->sampler)) {
        const skn_model_sampler_t *sampler = &layer->sampler;
        SET_KNOWN(refresh_batches);
        set_known(wire, "index_lag", layer->index_lag);
    }
    set_shared(wire, number, 0, leaves_above(wire, number));
    set_packed(wire, number);
    set_leaf(wire, number, shard);
    layer_place_t place = {
        .layer = number,
        .shard = shard,
        .row_first = first,
        .rows = end - first,
        .width = (uint64_t)below->units + 1,
        .global_rows = labels,
        .global_columns = (uint64_t)below->units,
    };
    add_updater(wire, &place);
    add_builder(wire, shard, first, end);
}

static void
add_stage(wire_t *wire, uint32_t stage)
{
    const skn_plan_t *plan = wire->plan;
    const skn_decoder_shape_t shape = skn_model_shape(wire->model);
    uint64_t first = skn_plan_first(plan, SKN_DECODER_LAYER, stage);
    uint64_t end = skn_plan_first(plan, SKN_DECODER_LAYER, stage + 1);
    uint64_t layer_rows = skn_decoder_layer_rows(&shape);
    bool is_last = end == shape.layers;
    char name[LAYER_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "stage.%u", stage);
    skn_wire_actor(wire, name, "stage",
                   skn_plan_seat(plan, SKN_DECODER_LAYER, stage), 0);
    skn_wire_int(wire, "decoder_layers", shape.layers);
    skn_wire_int(wire, "stage_layers", end - first);
    if (wire->model->train.recompute == SKN_RECOMPUTE_LAYER)
        skn_wire_text(wire, "recompute", "true");
    skn_wire_text(wire, "last", is_last ? "true" : "false");
    skn_wire_int(wire, "width", shape.width);
    skn_wire_int(wire, "heads", shape.heads);
    skn_wire_int(wire, "inner", shape.inner);
    skn_wire_int(wire, "context", shape.context);
    set_shared(wire, SKN_DECODER_LAYER, 0,
               is_last ? leaves_above(wire, SKN_DECODER_LAYER) : 1);
    layer_place_t place = {
        .layer = SKN_DECODER_LAYER,
        .shard = stage,
        .row_first = first * layer_rows,
        .rows =
            skn_decoder_stage_rows(&shape, (uint32_t)(end - first), is_last),
        .width = shape.width,
        .global_rows = skn_decoder_stage_rows(&shape, shape.layers, true),
        .global_columns = shape.width,
    };
    add_updater(wire, &place);
}

void
skn_wire_layers(wire_t *wire)
{
    for (uint32_t k = 0; k < wire->layer_count; k++)
        for (uint32_t s = 0; s < shards_of(&wire->model->layers[k]); s++)
            (k == 0                              ? add_embedding(wire, s)
             : skn_plan_is_stages(wire->plan, k) ? add_stage(wire, s)
             : k + 1 == wire->layer_count        ? add_output(wire, s)
                                                 : add_dense(wire, k, s));
}
