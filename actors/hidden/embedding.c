/* embedding.c - the actor of a shard of the first hidden layer: a slice of its
 * columns.
 *
 * Batch t: h = ReLU(bias + sum over the sample's features of value * row), each
 * unit summed by one actor in feature order, so that the bits do not depend on
 * how columns are dealt. Then dropout, and the slice goes to the next layer. A
 * layer may be linear (`relu: false`) and without a bias. When the gradient of
 * the slice has come, the gradient of each distinct feature's row is formed
 * once and goes to the updater with the rows. Equations (6) and (27) of
 * docs/concepts/equations.md.
 *
 * This file owns: the sums over features, forwards and backwards. Not here: the
 * batches in flight (layer.c), the update rule (updater.c), the order of
 * batches (turns.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "actors/hidden/layer.h"

typedef struct embedding {
    skn_layer_t layer;      /* first: layer.h */
    uint32_t feature_count; /* the bias is row feature_count */
    bool has_bias;          /* else that row has no gradient */
} embedding_t;

static void
sum_features(skn_layer_t *layer, const skn_layer_flight_t *flight, float *sum)
{
    const embedding_t *embedding = (const embedding_t *)layer;
    const skn_batch_t *batch = flight->input;
    const skn_rows_t *rows = layer->rows;
    size_t stride = rows->stride_bytes / sizeof(float);
    size_t columns = layer->hidden.columns;
    const float *bias = skn_rows_weight(rows, embedding->feature_count);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t first = batch->offset.at[i], end = batch->offset.at[i + 1];
        float *out = sum + i * columns;
        memcpy(out, bias, columns * sizeof(float));
        layer->hidden.kernels->gather_add(
            out, skn_rows_weight(rows, 0), stride, batch->feature.at + first,
            batch->value.at + first, end - first, columns);
    }
}

/* Computes the gradient of each distinct feature's row, and of the bias. */
static void
form_gradient(const embedding_t *embedding, const skn_layer_flight_t *flight,
              skn_gradient_t *message)
{
    const skn_kernels_t *kernels = embedding->layer.hidden.kernels;
    const skn_batch_t *batch = flight->input;
    size_t distinct_count = batch->distinct.count;
    size_t columns = embedding->layer.hidden.columns;
    memset(message->value.at, 0, message->value.count * sizeof(float));
    memcpy(message->unit.at, batch->distinct.at,
           distinct_count * sizeof(uint32_t));
    for (size_t k = 0; k < distinct_count; k++) {
        uint32_t first = batch->distinct_offset.at[k];
        uint32_t end = batch->distinct_offset.at[k + 1];
        kernels->gather_add(message->value.at + k * columns, flight->gradient,
                            columns, batch->sample.at + first,
                            batch->weight.at + first, end - first, columns);
    }
    if (!embedding->has_bias)
        return;
    float *bias = message->value.at + distinct_count * columns;
    message->unit.at[distinct_count] = embedding->feature_count;
    for (uint32_t i = 0; i < batch->rows; i++)
        kernels->add(bias, bias, flight->gradient + i * columns, columns);
}

static skn_gradient_t *
gradient_new(skn_actor_t *actor, skn_layer_t *layer,
             const skn_layer_flight_t *flight, skn_error_t *error)
{
    const embedding_t *embedding = (const embedding_t *)layer;
    const skn_batch_t *batch = flight->input;
    size_t unit_count = batch->distinct.count + embedding->has_bias;
    size_t counts[] = { unit_count, unit_count * layer->hidden.columns };
    skn_gradient_t *message =
        skn_actor_message(actor, &skn_gradient_schema, counts, error);
    if (message)
        form_gradient(embedding, flight, message);
    return message;
}

/* Whether offset[0..item_count] divides `total` items: 0, ascending, total. */
static bool
slicing(const skn_u32s_t *offset, size_t item_count, size_t total)
{
    if (offset->count != item_count + 1 || offset->at[0] != 0 ||
        offset->at[item_count] != total)
        return false;
    for (size_t k = 0; k < item_count; k++)
        if (offset->at[k] > offset->at[k + 1])
            return false;
    return true;
}

static bool
all_below(const skn_u32s_t *run, uint32_t end)
{
    for (size_t k = 0; k < run->count; k++)
        if (run->at[k] >= end)
            return false;
    return true;
}

/* Checks the features of the samples, and the samples of the features: the sums
 * over them read these unchecked. */
static skn_status_t
check_batch(const skn_actor_t *actor, uint32_t feature_count,
            const skn_batch_t *batch, skn_error_t *error)
{
    for (size_t k = 0; k < batch->feature.count; k++)
        if (batch->feature.at[k] >= feature_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: batch %llu has feature %u, but the layer has "
                            "%u features",
                            skn_actor_name(actor),
                            (unsigned long long)batch->batch,
                            batch->feature.at[k], feature_count);
    if (!slicing(&batch->offset, batch->rows, batch->feature.count) ||
        batch->value.count != batch->feature.count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the features of batch %llu do not fit its %u "
                        "samples",
                        skn_actor_name(actor), (unsigned long long)batch->batch,
                        batch->rows);
    if (!slicing(&batch->distinct_offset, batch->distinct.count,
                 batch->sample.count) ||
        batch->weight.count != batch->sample.count ||
        !all_below(&batch->distinct, feature_count) ||
        !all_below(&batch->sample, batch->rows))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the distinct features of batch %llu do not match "
                        "its features",
                        skn_actor_name(actor),
                        (unsigned long long)batch->batch);
    return SKN_OK;
}

static skn_status_t
on_batch(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    embedding_t *embedding = state;
    const skn_batch_t *batch = message;
    skn_status_t status =
        check_batch(actor, embedding->feature_count, batch, error);
    if (status != SKN_OK)
        return status;
    const skn_issue_t issue = SKN_ISSUE_OF(batch);
    skn_layer_flight_t *flight =
        skn_layer_admit(actor, &embedding->layer, &issue, batch->rows, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    flight->input = skn_message_keep(batch);
    flight->phase = SKN_FLIGHT_WAITING;
    return skn_layer_take_turns(actor, &embedding->layer, error);
}

static const skn_layer_work_t work = {
    .forward = sum_features,
    .gradient = gradient_new,
};

static skn_status_t
embedding_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    embedding_t *embedding = state;
    embedding->feature_count =
        (uint32_t)skn_actor_option_int(actor, "features");
    embedding->has_bias = skn_actor_option_bool(actor, "bias");
    skn_layer_shape_t shape = {
        .column_first = (uint32_t)skn_actor_option_int(actor, "column_first"),
        .columns = (uint32_t)skn_actor_option_int(actor, "column_count"),
        .rows = embedding->feature_count + 1,
    };
    shape.width = shape.columns;
    skn_status_t status =
        skn_layer_open(&embedding->layer, actor, &work, &shape, error);
    embedding->layer.hidden.is_linear = !skn_actor_option_bool(actor, "relu");
    return status;
}

static void
embedding_close(skn_actor_t *actor, void *state)
{
    (void)actor;
    skn_layer_close(&((embedding_t *)state)->layer);
}

static const skn_option_t options[] = {
    { "features", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "number of input features; the bias is one more row" },
    { "column_first", SKN_OPTION_INT, "0", 0, SKN_HIDDEN_MAX, NULL,
      "first hidden unit of the shard, a multiple of 8" },
    { "column_count", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "number of hidden units of the shard" },
    { "relu", SKN_OPTION_BOOL, "true", 0, 0, NULL,
      "clamp hidden values at 0; false: a linear layer, for which the layer "
      "above must not pack gradients" },
    SKN_BIAS_OPTION,
    SKN_HIDDEN_OPTIONS,
    SKN_TURNS_OPTIONS,
    SKN_COPY_OPTIONS,
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_batch_schema, on_batch, NULL },
    SKN_LAYER_HANDLERS,
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_activation_schema,
    &skn_gradient_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = {
    &skn_partition_schema,
    &skn_output_gradient_schema,
    &skn_hidden_gradient_schema,
    NULL,
};

static const skn_schema_t *const needs[] = {
    &skn_batch_schema,
    &skn_lease_schema,
    NULL,
};

const skn_kind_t skn_embedding = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "embedding",
    .help = "computes hidden units from the sparse input: a slice of their "
            "columns",
    .state_bytes = sizeof(embedding_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = embedding_open,
    .close = embedding_close,
    .is_compute_bound = true,
};
