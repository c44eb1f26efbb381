/* plan_wire.c - the actors and pipes of a plan.
 *
 *   source ─batch─▶ embedding.* ─activation─▶ output.* ◀─partition─▶ output.*
 *     │               ▲ ▲ └─gradient─▶ up_hidden.*  │ └─gradient─▶ up_output.*
 *     │               │ └── lease ◀──────┘          │      lease ◀──┘
 *     │               └──────── output_gradient ────┘
 *     └─labels─▶ output.*, evaluator         applied: all updaters ─▶ source
 *   coordinator ─go─▶ source ─reached─▶ coordinator ─save─▶ up_*, checkpointer
 *
 * Further hidden layers are dense.* between embedding and output.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/block.h"
#include "topology/draft.h"
#include "topology/plan.h"

#define NAME_BYTES 96

typedef struct wire {
    skn_draft_t *draft;
    const skn_plan_t *plan;
    const skn_plan_start_t *start;
    const skn_model_t *model;
    const skn_model_layer_t *output;
    uint32_t credit; /* of a pipe in the training loop */
    uint32_t owners; /* updaters */
    uint32_t leaves;
    char stem[64][32];    /* of each layer's shards */
    char updater[64][32]; /* of each layer's updaters */
    uint32_t layer_count;
} wire_t;

#define WORD_OF(NAME, word) #word,
static const char *const loss_words[] = { SKN_LOSSES(WORD_OF) };
static const char *const weight_words[] = { SKN_WEIGHTS(WORD_OF) };
static const char *const sampler_words[] = { SKN_SAMPLERS(WORD_OF) };
static const char *const order_words[] = { SKN_ORDERS(WORD_OF) };
static const char *const update_words[] = { SKN_UPDATES(WORD_OF) };
static const char *const reduction_words[] = { SKN_REDUCTIONS(WORD_OF) };
static const char *const optimizer_words[] = { SKN_OPTIMIZERS(WORD_OF) };
static const char *const schedule_words[] = { SKN_SCHEDULES(WORD_OF) };
#undef WORD_OF

static void
set_int(wire_t *wire, const char *name, uint64_t value)
{
    skn_draft_option(wire->draft, name, "%" PRIu64, value);
}

/* %.17g comes back as the same double. */
static void
set_real(wire_t *wire, const char *name, double value)
{
    skn_draft_option(wire->draft, name, "%.17g", value);
}

static void
set_text(wire_t *wire, const char *name, const char *value)
{
    skn_draft_option(wire->draft, name, "%s", value);
}

/* The unit of shard `shard`: compute actors go round the units. */
static int
core_of(const wire_t *wire, uint32_t shard)
{
    const skn_model_resources_t *resources = &wire->model->resources;
    uint32_t unit = shard % wire->plan->units;
    return resources->core_count > 0 ? (int)resources->cores[unit] : (int)unit;
}

static uint32_t
shards_of(const skn_model_layer_t *layer)
{
    return (uint32_t)layer->shards;
}

static void
add_source(wire_t *wire)
{
    const skn_model_t *model = wire->model;
    skn_draft_actor(wire->draft, "source", "source", SKN_CORE_FLOAT, 0);
    set_text(wire, "train", model->data.train);
    set_text(wire, "test", model->data.test);
    set_text(wire, "normalize",
             model->data.normalize == SKN_NORMALIZE_NONE ? "none" : "l2");
    set_text(wire, "cache", model->data.cache);
    set_int(wire, "features", wire->plan->data.features);
    set_int(wire, "labels", wire->plan->data.labels);
    set_int(wire, "batch_rows", (uint64_t)model->train.batch_rows);
    set_int(wire, "window", (uint64_t)model->train.window);
    set_int(wire, "owners", wire->owners);
    set_int(wire, "seed", (uint64_t)model->train.seed);
    set_real(wire, "validate", model->train.validate);
    set_int(wire, "test_rows", (uint64_t)model->train.evaluate.rows);
}

static void
add_evaluator(wire_t *wire)
{
    const skn_model_t *model = wire->model;
    skn_draft_actor(wire->draft, "evaluator", "evaluator", SKN_CORE_FLOAT, 0);
    set_text(wire, "train", model->data.train);
    set_text(wire, "normalize",
             model->data.normalize == SKN_NORMALIZE_NONE ? "none" : "l2");
    set_text(wire, "cache", model->data.cache);
    set_int(wire, "features", wire->plan->data.features);
    set_int(wire, "labels", wire->plan->data.labels);
}

static void
add_coordinator(wire_t *wire)
{
    const skn_model_t *model = wire->model;
    const skn_plan_t *plan = wire->plan;
    skn_draft_actor(wire->draft, "coordinator", "coordinator", SKN_CORE_FLOAT,
                    0);
    set_int(wire, "batches_per_epoch", plan->batches_per_epoch);
    set_int(wire, "epochs", (uint64_t)model->train.epochs);
    set_int(wire, "shards", shards_of(wire->output));
    set_int(wire, "max_batches", (uint64_t)model->train.max_batches);
    set_int(wire, "every_batches",
            model->checkpoint.every_batches > 0
                ? (uint64_t)model->checkpoint.every_batches
                : 0);
    set_int(wire, "every_epochs", (uint64_t)model->checkpoint.every_epochs);
    set_int(wire, "evaluate_every",
            (uint64_t)model->train.evaluate.every_epochs);
    set_text(wire, "validates",
             plan->data.validate_points > 0 ? "true" : "false");
    set_text(wire, "tests", plan->data.test_points > 0 ? "true" : "false");
    set_int(wire, "patience", (uint64_t)model->train.patience);
    set_int(wire, "progress_ms", wire->start->progress_ms);
    if (wire->start->checkpoint)
        set_text(wire, "resume", wire->start->checkpoint);
}

/* Whether an index depends on more than rows: centroids, which the builders of
 * all shards have alike. */
static bool
saves_index(const wire_t *wire)
{
    const skn_model_sampler_t *sampler = &wire->output->sampler;
    bool cluster = sampler->kind == SKN_SAMPLER_CLUSTER;
    for (size_t k = 0; k < sampler->of_count; k++)
        cluster = cluster || sampler->of[k].kind == SKN_SAMPLER_CLUSTER;
    return cluster;
}

static void
add_checkpointer(wire_t *wire)
{
    const skn_plan_start_t *start = wire->start;
    if (!start->run_path)
        return;
    skn_draft_actor(wire->draft, "checkpointer", "checkpointer", SKN_CORE_FLOAT,
                    0);
    set_text(wire, "path", start->run_path);
    set_text(wire, "resume", start->resume ? "true" : "false");
    set_int(wire, "newest", start->newest);
    if (start->run_id)
        set_text(wire, "run", start->run_id);
    if (start->config_text)
        set_text(wire, "config", start->config_text);
    set_int(wire, "owners", wire->owners + (saves_index(wire) ? 1 : 0));
    set_int(wire, "keep", (uint64_t)wire->model->checkpoint.keep);
}

/* Leaves of the tree of the parts that come down to a hidden layer: that of the
 * output shards, or of the dense layer above. The output's own is its tree. */
static uint32_t
leaves_above(const wire_t *wire, uint32_t layer)
{
    const skn_model_layer_t *above = &wire->model->layers[layer + 1];
    if (layer + 2 >= wire->layer_count)
        return wire->leaves;
    return wire->model->train.reduction == SKN_REDUCTION_FIXED
               ? skn_slice_blocks((uint64_t)above->units)
               : shards_of(above);
}

/* SKN_HIDDEN_OPTIONS, SKN_TURNS_OPTIONS, SKN_COPY_OPTIONS. */
static void
set_shared(wire_t *wire, uint32_t layer, double dropout)
{
    const skn_model_train_t *train = &wire->model->train;
    set_int(wire, "layer", layer);
    set_int(wire, "batch_rows", (uint64_t)train->batch_rows);
    set_real(wire, "dropout", dropout);
    set_int(wire, "leaves", leaves_above(wire, layer));
    set_int(wire, "seed", (uint64_t)train->seed);
    set_int(wire, "window", (uint64_t)train->window);
    set_text(wire, "order", order_words[train->order]);
    set_int(wire, "first_batch", wire->start->first_batch);
    set_text(wire, "updates", update_words[train->updates]);
    set_text(wire, "huge_pages",
             wire->model->resources.huge_pages ? "true" : "false");
}

/* Where an updater's rows lie in their layer. */
typedef struct place {
    uint32_t layer, shard;
    uint64_t row_first, rows, column_first, width;
    uint64_t global_rows, global_columns;
    bool bias_row;
} place_t;

static void
add_updater(wire_t *wire, const place_t *place)
{
    const skn_model_train_t *train = &wire->model->train;
    const skn_model_layer_t *layer = &wire->model->layers[place->layer];
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->updater[place->layer],
                   place->shard);
    skn_draft_actor(wire->draft, name, "updater", core_of(wire, place->shard),
                    0);
    set_int(wire, "layer", place->layer);
    set_text(wire, "layer_name", layer->name);
    set_int(wire, "row_first", place->row_first);
    set_int(wire, "rows", place->rows);
    set_int(wire, "column_first", place->column_first);
    set_int(wire, "width", place->width);
    set_int(wire, "global_rows", place->global_rows);
    set_int(wire, "global_columns", place->global_columns);
    set_text(wire, "bias", place->bias_row ? "row" : "column");
    set_text(wire, "weights",
             layer->output ? weight_words[layer->weights] : "f32");
    set_text(wire, "updates", update_words[train->updates]);
    set_text(wire, "optimizer", optimizer_words[train->optimizer.kind]);
    set_real(wire, "rate", train->optimizer.rate);
    set_real(wire, "beta1", train->optimizer.beta1);
    set_real(wire, "beta2", train->optimizer.beta2);
    set_real(wire, "epsilon", train->optimizer.epsilon);
    set_real(wire, "weight_decay", train->optimizer.weight_decay);
    set_text(wire, "schedule", schedule_words[train->schedule.kind]);
    set_int(wire, "warmup_batches",
            train->schedule.warmup_batches > 0
                ? (uint64_t)train->schedule.warmup_batches
                : 0);
    set_int(wire, "total_batches", wire->plan->total_batches);
    set_real(wire, "floor", train->schedule.floor);
    set_int(wire, "seed", (uint64_t)train->seed);
    set_real(wire, "init", layer->init_std);
    set_text(wire, "huge_pages",
             wire->model->resources.huge_pages ? "true" : "false");
    set_int(wire, "first_batch", wire->start->first_batch);
    if (wire->start->checkpoint)
        set_text(wire, "resume", wire->start->checkpoint);
}

static void
add_embedding(wire_t *wire, uint32_t shard)
{
    const skn_model_layer_t *layer = &wire->model->layers[0];
    uint32_t units = (uint32_t)layer->units, shards = shards_of(layer);
    uint32_t first = skn_slice_first(units, shards, shard);
    uint32_t count = skn_slice_first(units, shards, shard + 1) - first;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->stem[0], shard);
    skn_draft_actor(wire->draft, name, "embedding", core_of(wire, shard), 0);
    set_int(wire, "features", wire->plan->data.features);
    set_int(wire, "column_first", first);
    set_int(wire, "column_count", count);
    set_shared(wire, 0, layer->dropout);
    place_t place = {
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
    uint32_t units = (uint32_t)layer->units, shards = shards_of(layer);
    uint32_t first = skn_slice_first(units, shards, shard);
    uint32_t count = skn_slice_first(units, shards, shard + 1) - first;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s.%u", wire->stem[number], shard);
    skn_draft_actor(wire->draft, name, "dense", core_of(wire, shard), 0);
    set_int(wire, "inputs", (uint64_t)below->units);
    set_int(wire, "slices", shards_of(below));
    set_int(wire, "units", units);
    set_text(wire, "reduction", reduction_words[wire->model->train.reduction]);
    set_int(wire, "row_first", first);
    set_int(wire, "row_count", count);
    set_shared(wire, number, layer->dropout);
    place_t place = {
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

/* What is left at auto means nothing for the sampler. */
static void
set_known(wire_t *wire, const char *name, int64_t value)
{
    if (value >= 0)
        set_int(wire, name, (uint64_t)value);
}

/* "uniform:0.5,simhash:0.5" */
static void
set_parts(wire_t *wire, const skn_model_sampler_t *sampler)
{
    char text[512] = "";
    size_t used = 0;
    for (size_t k = 0; k < sampler->of_count && used < sizeof(text); k++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "%s%s:%.17g", k ? "," : "",
            sampler_words[sampler->of[k].kind], sampler->of[k].share);
    if (sampler->of_count > 0)
        set_text(wire, "parts", text);
}

/* The first value that a sampler or a part of a mixture has of an option. */
static int64_t
first_known(const skn_model_sampler_t *sampler, size_t offset)
{
    int64_t value = *(const int64_t *)((const char *)sampler + offset);
    for (size_t k = 0; k < sampler->of_count && value < 0; k++)
        value = *(const int64_t *)((const char *)&sampler->of[k] + offset);
    return value;
}

#define SET_KNOWN(name)                                                        \
    set_known(wire, #name,                                                     \
              first_known(sampler, offsetof(skn_model_sampler_t, name)))

/* SKN_SAMPLER_OPTIONS: the output shard and its builder have them alike. */
static void
set_sampler(wire_t *wire, const skn_model_sampler_t *sampler)
{
    const skn_model_data_t *data = &wire->model->data;
    set_text(wire, "sampler", sampler_words[sampler->kind]);
    SET_KNOWN(rows);
    SET_KNOWN(uniform_rows);
    SET_KNOWN(tables);
    SET_KNOWN(bits);
    SET_KNOWN(lists);
    SET_KNOWN(list_rows);
    set_real(wire, "weight_cap", sampler->weight_cap);
    set_parts(wire, sampler);
    set_text(wire, "train", data->train);
    set_text(wire, "normalize",
             data->normalize == SKN_NORMALIZE_NONE ? "none" : "l2");
    set_text(wire, "cache", data->cache);
    set_int(wire, "features", wire->plan->data.features);
}

static void
add_builder(wire_t *wire, uint32_t shard, uint64_t first, uint64_t end)
{
    uint32_t number = wire->layer_count - 1;
    const skn_model_layer_t *below = &wire->model->layers[number - 1];
    char name[NAME_BYTES];
    if (!skn_plan_has_index(&wire->output->sampler))
        return;
    (void)snprintf(name, sizeof(name), "table_builder.%u", shard);
    /* It shares the shard's unit and gives way to it. */
    skn_draft_actor(wire->draft, name, "table_builder", core_of(wire, shard),
                    10);
    set_int(wire, "labels", wire->plan->data.labels);
    set_int(wire, "row_first", first);
    set_int(wire, "row_count", end - first);
    set_int(wire, "hidden", (uint64_t)below->units);
    set_int(wire, "layer", number);
    set_int(wire, "batch_rows", (uint64_t)wire->model->train.batch_rows);
    set_int(wire, "seed", (uint64_t)wire->model->train.seed);
    set_text(wire, "layer_name", wire->output->name);
    if (wire->start->checkpoint)
        set_text(wire, "resume", wire->start->checkpoint);
    set_sampler(wire, &wire->output->sampler);
}

static void
add_output(wire_t *wire, uint32_t shard)
{
    uint32_t number = wire->layer_count - 1;
    const skn_model_layer_t *layer = wire->output;
    const skn_model_layer_t *below = &wire->model->layers[number - 1];
    uint64_t labels = wire->plan->data.labels;
    uint64_t blocks = skn_block_count(labels), shards = shards_of(layer);
    uint64_t first = blocks * shard / shards * skn_block_rows(labels);
    uint64_t end = blocks * (shard + 1) / shards * skn_block_rows(labels);
    char name[NAME_BYTES];
    if (end > labels)
        end = labels;
    (void)snprintf(name, sizeof(name), "%s.%u", wire->stem[number], shard);
    skn_draft_actor(wire->draft, name, "output", core_of(wire, shard), 0);
    set_int(wire, "labels", labels);
    set_int(wire, "row_first", first);
    set_int(wire, "row_count", end - first);
    set_int(wire, "hidden", (uint64_t)below->units);
    set_int(wire, "slices", shards_of(below));
    set_text(wire, "loss", loss_words[layer->loss]);
    set_text(wire, "weights", weight_words[layer->weights]);
    set_text(wire, "reduction", reduction_words[wire->model->train.reduction]);
    set_int(wire, "topk", (uint64_t)wire->model->train.evaluate.topk);
    set_int(wire, "diagnose_batches",
            (uint64_t)wire->model->train.evaluate.sampler_batches);
    set_sampler(wire, &layer->sampler);
    if (skn_plan_has_index(&layer->sampler)) {
        const skn_model_sampler_t *sampler = &layer->sampler;
        SET_KNOWN(refresh_batches);
        set_known(wire, "index_lag", layer->index_lag);
    }
    set_shared(wire, number, 0);
    place_t place = {
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

/* --- pipes -------------------------------------------------------------- */

/* A list of stems for a pipe's end. */
typedef struct ends {
    const char *name[70];
    uint32_t count;
} ends_t;

static void
end_add(ends_t *ends, const char *name)
{
    ends->name[ends->count++] = name;
}

static void
pipe_add(wire_t *wire, const ends_t *from, const ends_t *to,
         const char *message, const char *pattern, uint32_t credit, bool peer)
{
    skn_draft_pipe_t pipe = {
        .from = from->name,
        .to = to->name,
        .message = message,
        .pattern = pattern,
        .credit = credit,
        .peer = peer,
    };
    skn_draft_pipe(wire->draft, &pipe);
}

static void
pipe_one(wire_t *wire, const char *from, const char *to, const char *message,
         const char *pattern, bool peer)
{
    ends_t sender = { 0 }, receiver = { 0 };
    end_add(&sender, from);
    end_add(&receiver, to);
    pipe_add(wire, &sender, &receiver, message, pattern, wire->credit, peer);
}

/* Gradients go down cut by the columns of the layer below. */
static void
pipe_down(wire_t *wire, uint32_t upper, const char *message)
{
    const skn_model_layer_t *below = &wire->model->layers[upper - 1];
    uint32_t shards = shards_of(below);
    uint64_t bounds[SKN_SHARD_MAX + 1];
    ends_t from = { 0 }, to = { 0 };
    end_add(&from, wire->stem[upper]);
    end_add(&to, wire->stem[upper - 1]);
    for (uint32_t k = 0; k <= shards; k++)
        bounds[k] = skn_slice_first((uint32_t)below->units, shards, k);
    skn_draft_pipe_t pipe = {
        .from = from.name,
        .to = to.name,
        .message = message,
        .pattern = "scatter",
        .collect = "gather",
        .key = "column_first",
        .bounds = bounds,
        .bound_count = shards + 1,
        .credit = wire->credit,
        .peer = true,
    };
    skn_draft_pipe(wire->draft, &pipe);
}

/* (m, z) of a softmax, to the shards beside and to the layer below. */
static void
pipe_partition(wire_t *wire)
{
    uint32_t last = wire->layer_count - 1;
    ends_t from = { 0 }, to = { 0 };
    if (wire->output->loss != SKN_LOSS_SOFTMAX)
        return;
    end_add(&from, wire->stem[last]);
    end_add(&to, wire->stem[last]);
    end_add(&to, wire->stem[last - 1]);
    pipe_add(wire, &from, &to, "partition", "gather", wire->credit, true);
}

static void
pipe_layers(wire_t *wire)
{
    uint32_t last = wire->layer_count - 1;
    for (uint32_t k = 0; k <= last; k++) {
        pipe_one(wire, wire->stem[k], wire->updater[k], "gradient", "one",
                 false);
        pipe_one(wire, wire->updater[k], wire->stem[k], "lease", "one", true);
        if (k == last)
            break;
        pipe_one(wire, wire->stem[k], wire->stem[k + 1], "activation", "gather",
                 false);
        pipe_down(wire, k + 1,
                  k + 1 == last ? "output_gradient" : "hidden_gradient");
    }
    pipe_partition(wire);
    if (!skn_plan_has_index(&wire->output->sampler))
        return;
    pipe_one(wire, wire->stem[last], "table_builder", "dirty", "one", false);
    pipe_one(wire, "table_builder", wire->stem[last], "index", "one", true);
}

static void
pipe_course(wire_t *wire)
{
    uint32_t last = wire->layer_count - 1;
    ends_t source = { 0 }, layers = { 0 }, labels = { 0 }, coordinator = { 0 };
    ends_t updaters = { 0 }, appliers = { 0 }, savers = { 0 }, keeper = { 0 };
    end_add(&source, "source");
    end_add(&coordinator, "coordinator");
    end_add(&keeper, "checkpointer");
    end_add(&labels, wire->stem[last]);
    end_add(&labels, "evaluator");
    end_add(&appliers, "evaluator");
    for (uint32_t k = 0; k <= last; k++) {
        end_add(&layers, wire->stem[k]);
        end_add(&updaters, wire->updater[k]);
        end_add(&appliers, wire->updater[k]);
        end_add(&savers, wire->updater[k]);
    }
    pipe_one(wire, "source", wire->stem[0], "batch", "broadcast", false);
    pipe_add(wire, &source, &labels, "labels", "broadcast", wire->credit,
             false);
    pipe_add(wire, &source, &layers, "halt", "broadcast", wire->credit, false);
    pipe_add(wire, &appliers, &source, "applied", "one", wire->credit, false);
    pipe_one(wire, wire->stem[last], "coordinator", "result", "one", false);
    pipe_one(wire, wire->stem[last], "evaluator", "ranking", "gather", false);
    pipe_one(wire, "evaluator", "coordinator", "metrics", "one", false);
    pipe_one(wire, "coordinator", "source", "go", "one", false);
    pipe_one(wire, "coordinator", "source", "halt", "one", false);
    pipe_one(wire, "source", "coordinator", "reached", "one", false);
    if (!wire->start->run_path)
        return;
    if (saves_index(wire)) {
        end_add(&savers, "table_builder.0");
        end_add(&updaters, "table_builder.0");
    }
    pipe_add(wire, &coordinator, &keeper, "save", "one", wire->credit, false);
    pipe_add(wire, &keeper, &savers, "save", "broadcast", wire->credit, true);
    pipe_add(wire, &updaters, &keeper, "tensor", "one", wire->credit, false);
    pipe_add(wire, &updaters, &keeper, "chunk", "one", wire->credit, false);
    pipe_add(wire, &keeper, &coordinator, "saved", "one", wire->credit, false);
}

static void
name_layers(wire_t *wire)
{
    for (uint32_t k = 0; k < wire->layer_count; k++) {
        const skn_model_layer_t *layer = &wire->model->layers[k];
        bool last = k + 1 == wire->layer_count;
        (void)snprintf(wire->stem[k], sizeof(wire->stem[k]), "%s",
                       k == 0 ? "embedding"
                       : last ? "output"
                              : "dense");
        if (k > 0 && !last)
            (void)snprintf(wire->stem[k], sizeof(wire->stem[k]), "dense_%u", k);
        (void)snprintf(wire->updater[k], sizeof(wire->updater[k]), "up_%.24s",
                       layer->name);
        wire->owners += shards_of(layer);
    }
}

skn_spec_t *
skn_plan_wire(const skn_plan_t *plan, const skn_plan_start_t *start,
              const skn_kind_t *const *kinds, skn_problems_t *problems)
{
    const skn_model_t *model = plan->model;
    wire_t *wire = calloc(1, sizeof(*wire));
    if (!wire) {
        (void)skn_problems_fail(problems, SKN_NO_MEMORY, "no room for a plan");
        return NULL;
    }
    wire->plan = plan;
    wire->start = start;
    wire->model = model;
    wire->layer_count = (uint32_t)model->layer_count;
    wire->output = &model->layers[model->layer_count - 1];
    wire->credit = (uint32_t)model->train.window + 2;
    wire->leaves = model->train.reduction == SKN_REDUCTION_FIXED
                       ? (uint32_t)skn_block_count(plan->data.labels)
                       : shards_of(wire->output);
    name_layers(wire);
    wire->draft = skn_draft_new(model->source, model->name, problems);
    skn_spec_t *spec = NULL;
    if (wire->draft) {
        for (size_t k = 0; k < model->plugin_count; k++)
            skn_draft_plugin(wire->draft, model->plugins[k]);
        add_source(wire);
        for (uint32_t k = 0; k < wire->layer_count; k++)
            for (uint32_t s = 0; s < shards_of(&model->layers[k]); s++)
                (k == 0                       ? add_embedding(wire, s)
                 : k + 1 == wire->layer_count ? add_output(wire, s)
                                              : add_dense(wire, k, s));
        add_evaluator(wire);
        add_coordinator(wire);
        add_checkpointer(wire);
        pipe_layers(wire);
        pipe_course(wire);
        spec = skn_draft_finish(&wire->draft, kinds, problems);
    }
    free(wire);
    return spec;
}
