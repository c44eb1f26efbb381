/* embedding.c - hidden units of the first layer: a slice of its columns.
 *
 * Batch t: h = ReLU(bias + sum over the sample's features of value * row),
 * each unit summed by one actor in feature order, so the bits do not depend on
 * how columns are dealt. Then dropout, and the slice goes to the next layer.
 * When the gradient of the slice has come, the gradient of each distinct
 * feature's row is formed once and goes to the updater with the rows.
 * DESIGN section 5, steps 2 and 5.
 *
 * This file owns: the batches in flight of its slice. Not here: the update
 * rule (updater.c), who may go first (turns.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/hidden.h"
#include "actors/kinds.h"
#include "actors/messages.h"
#include "actors/rows.h"
#include "actors/turns.h"
#include "actors/workspace.h"

typedef struct flight { /* one batch between forward and update */
    const skn_batch_t *batch;
    const skn_activation_t *activation;
    bool has_gradient;
    float *gradient; /* [rows][columns], after the mask; room for all rows */
} flight_t;

typedef struct embedding {
    const skn_kernels_t *kernels;
    uint32_t columns, column_first;
    uint32_t feature_count; /* the bias is row feature_count */
    uint32_t batch_rows_max;
    skn_hidden_t hidden; /* dropout, merge */
    skn_turns_t turns;
    float *gradients; /* behind the flights */
    const skn_rows_t *rows; /* lent; valid while turns.rows_here */
    uint32_t flight_count;
    flight_t flights[SKN_WINDOW_MAX + 1];
    /* Batches that wait for their turn, oldest first. */
    const skn_batch_t *waiting[2 * SKN_WINDOW_MAX];
    uint32_t waiting_count;
} embedding_t;

static flight_t *
flight_of(embedding_t *embedding, uint64_t batch)
{
    return &embedding->flights[batch % embedding->flight_count];
}

static skn_activation_t *
activation_new(skn_actor_t *actor, const embedding_t *embedding,
               const skn_batch_t *batch, skn_error_t *error)
{
    size_t count = (size_t)batch->rows * embedding->columns;
    skn_activation_t *activation =
        skn_actor_message(actor, &skn_activation_schema, &count, error);
    if (!activation)
        return NULL;
    activation->batch = batch->batch;
    activation->floor = batch->floor;
    activation->horizon = batch->horizon;
    activation->purpose = batch->purpose;
    activation->shard = skn_actor_index(actor);
    activation->rows = batch->rows;
    activation->column_first = embedding->column_first;
    activation->columns = embedding->columns;
    return activation;
}

static void
sum_features(const embedding_t *embedding, const skn_batch_t *batch, float *sum)
{
    const skn_rows_t *rows = embedding->rows;
    size_t stride = rows->stride_bytes / sizeof(float);
    const float *bias = skn_rows_weight(rows, embedding->feature_count);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t first = batch->offset.at[i], end = batch->offset.at[i + 1];
        float *out = sum + (size_t)i * embedding->columns;
        memcpy(out, bias, embedding->columns * sizeof(float));
        embedding->kernels->gather_add(out, skn_rows_weight(rows, 0), stride,
                                       batch->feature.at + first,
                                       batch->value.at + first, end - first,
                                       embedding->columns);
    }
}

static skn_status_t
forward(skn_actor_t *actor, embedding_t *embedding, const skn_batch_t *batch,
        skn_error_t *error)
{
    skn_activation_t *activation =
        activation_new(actor, embedding, batch, error);
    if (!activation)
        return error->status;
    sum_features(embedding, batch, activation->value.at);
    skn_hidden_activate(&embedding->hidden, activation);
    if (batch->purpose == SKN_PURPOSE_TRAIN) {
        flight_t *flight = flight_of(embedding, batch->batch);
        flight->batch = batch;
        flight->activation = skn_message_keep(activation);
        skn_turns_forward_done(&embedding->turns);
    } else {
        skn_message_drop(batch);
    }
    return skn_actor_post(actor, activation, error);
}

/* The gradient of each distinct feature's row, and of the bias. */
static void
form_gradient(const embedding_t *embedding, const flight_t *flight,
              skn_gradient_t *message)
{
    const skn_batch_t *batch = flight->batch;
    size_t distinct_count = batch->distinct.count;
    uint32_t columns = embedding->columns;
    memset(message->value.at, 0, message->value.count * sizeof(float));
    memcpy(message->unit.at, batch->distinct.at,
           distinct_count * sizeof(uint32_t));
    for (size_t k = 0; k < distinct_count; k++) {
        uint32_t first = batch->distinct_offset.at[k];
        uint32_t end = batch->distinct_offset.at[k + 1];
        embedding->kernels->gather_add(message->value.at + k * columns,
                                       flight->gradient, columns,
                                       batch->sample.at + first,
                                       batch->weight.at + first, end - first,
                                       columns);
    }
    float *bias = message->value.at + distinct_count * columns;
    message->unit.at[distinct_count] = embedding->feature_count;
    for (uint32_t i = 0; i < batch->rows; i++)
        embedding->kernels->add(bias, bias,
                                flight->gradient + (size_t)i * columns,
                                columns);
}

static skn_status_t
update(skn_actor_t *actor, embedding_t *embedding, flight_t *flight,
       skn_error_t *error)
{
    size_t unit_count = flight->batch->distinct.count + 1;
    size_t counts[] = { unit_count, unit_count * embedding->columns };
    skn_gradient_t *message =
        skn_actor_message(actor, &skn_gradient_schema, counts, error);
    if (!message)
        return error->status;
    message->batch = flight->batch->batch;
    message->rows = (void *)(uintptr_t)embedding->rows;
    form_gradient(embedding, flight, message);
    skn_message_drop(flight->batch);
    skn_message_drop(flight->activation);
    flight->batch = NULL;
    flight->activation = NULL;
    flight->has_gradient = false;
    embedding->rows = NULL;
    skn_turns_update_sent(&embedding->turns);
    return skn_actor_post(actor, message, error);
}

static bool
may_forward(const embedding_t *embedding)
{
    const skn_batch_t *next = embedding->waiting[0];
    if (embedding->waiting_count == 0)
        return false;
    if (next->purpose == SKN_PURPOSE_TRAIN)
        return skn_turns_forward_allowed(&embedding->turns, next->floor);
    return skn_turns_look_allowed(&embedding->turns, next->floor);
}

/* Does whatever can be done now, in the one order that turns.h allows. */
static skn_status_t
take_turns(skn_actor_t *actor, embedding_t *embedding, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (;;) {
        flight_t *flight = flight_of(embedding, embedding->turns.updates);
        if (may_forward(embedding)) {
            const skn_batch_t *batch = embedding->waiting[0];
            embedding->waiting_count--;
            memmove(embedding->waiting, embedding->waiting + 1,
                    embedding->waiting_count * sizeof(batch));
            status = forward(actor, embedding, batch, error);
        } else if (flight->has_gradient &&
                   skn_turns_update_allowed(&embedding->turns,
                                            flight->batch->horizon)) {
            status = update(actor, embedding, flight, error);
        } else {
            return SKN_OK;
        }
        if (status != SKN_OK)
            return status;
    }
}

static skn_status_t
on_batch(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    embedding_t *embedding = state;
    const skn_batch_t *batch = message;
    if (embedding->waiting_count == 2 * SKN_WINDOW_MAX ||
        batch->rows > embedding->batch_rows_max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu of %u rows was not asked for",
                        skn_actor_name(actor),
                        (unsigned long long)batch->batch, batch->rows);
    for (size_t k = 0; k < batch->feature.count; k++)
        if (batch->feature.at[k] >= embedding->feature_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: batch %llu has feature %u, the layer has %u",
                            skn_actor_name(actor),
                            (unsigned long long)batch->batch,
                            batch->feature.at[k], embedding->feature_count);
    embedding->waiting[embedding->waiting_count++] = skn_message_keep(batch);
    return take_turns(actor, embedding, error);
}

static flight_t *
flight_in_the_air(skn_actor_t *actor, embedding_t *embedding, uint64_t batch,
                  skn_error_t *error)
{
    flight_t *flight = flight_of(embedding, batch);
    if (flight->batch && flight->batch->batch == batch && !flight->has_gradient)
        return flight;
    skn_fail(error, SKN_BAD_MESSAGE, "%s: a gradient for batch %llu, which is "
             "not in flight", skn_actor_name(actor), (unsigned long long)batch);
    return NULL;
}

static skn_status_t
on_output_gradient(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    embedding_t *embedding = state;
    const skn_parts_t *parts = message;
    const skn_output_gradient_t *first = parts->at[0];
    flight_t *flight =
        flight_in_the_air(actor, embedding, first->batch, error);
    if (!flight)
        return error->status;
    skn_status_t status = skn_hidden_merge(
        &embedding->hidden, parts, flight->activation, flight->gradient, error);
    if (status != SKN_OK)
        return status;
    flight->has_gradient = true;
    return take_turns(actor, embedding, error);
}

static skn_status_t
on_hidden_gradient(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    embedding_t *embedding = state;
    const skn_parts_t *parts = message;
    const skn_hidden_gradient_t *first = parts->at[0];
    flight_t *flight =
        flight_in_the_air(actor, embedding, first->batch, error);
    if (!flight)
        return error->status;
    skn_status_t status = skn_hidden_sum(
        &embedding->hidden, parts, flight->activation, flight->gradient, error);
    if (status != SKN_OK)
        return status;
    flight->has_gradient = true;
    return take_turns(actor, embedding, error);
}

static skn_status_t
on_lease(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    embedding_t *embedding = state;
    const skn_lease_t *lease = message;
    embedding->rows = lease->rows;
    skn_turns_rows_back(&embedding->turns, lease->batch);
    return take_turns(actor, embedding, error);
}

static skn_status_t
on_halt(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    embedding_t *embedding = state;
    embedding->turns.cut = ((const skn_halt_t *)message)->batch;
    return take_turns(actor, embedding, error);
}

static skn_status_t
embedding_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    embedding_t *embedding = state;
    embedding->columns = (uint32_t)skn_actor_option_int(actor, "column_count");
    embedding->column_first =
        (uint32_t)skn_actor_option_int(actor, "column_first");
    embedding->feature_count =
        (uint32_t)skn_actor_option_int(actor, "features");
    embedding->batch_rows_max =
        (uint32_t)skn_actor_option_int(actor, "batch_rows");
    uint64_t window = (uint64_t)skn_actor_option_int(actor, "window");
    skn_turns_init(&embedding->turns, window,
                   strcmp(skn_actor_option_text(actor, "order"), "free") == 0,
                   (uint64_t)skn_actor_option_int(actor, "first_batch"));
    embedding->flight_count = (uint32_t)window + 1;
    if (skn_hidden_open(&embedding->hidden, actor, embedding->column_first,
                        embedding->columns, error) != SKN_OK)
        return error->status;
    embedding->kernels = embedding->hidden.kernels;
    size_t gradient_floats =
        (size_t)embedding->batch_rows_max * embedding->columns;
    embedding->gradients =
        skn_floats_new(embedding->flight_count * gradient_floats, error);
    if (!embedding->gradients)
        return error->status;
    for (uint32_t k = 0; k < embedding->flight_count; k++)
        embedding->flights[k].gradient =
            embedding->gradients + k * gradient_floats;
    return SKN_OK;
}

static void
embedding_close(skn_actor_t *actor, void *state)
{
    embedding_t *embedding = state;
    (void)actor;
    for (uint32_t k = 0; k < embedding->flight_count; k++) {
        skn_message_drop(embedding->flights[k].batch);
        skn_message_drop(embedding->flights[k].activation);
    }
    for (uint32_t k = 0; k < embedding->waiting_count; k++)
        skn_message_drop(embedding->waiting[k]);
    free(embedding->gradients);
    skn_hidden_close(&embedding->hidden);
}

static const skn_option_t options[] = {
    { "features", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "input features; the bias is one row more" },
    { "column_first", SKN_OPTION_INT, "0", 0, SKN_HIDDEN_MAX, NULL,
      "first hidden unit of the shard, a multiple of 8" },
    { "column_count", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "hidden units of the shard" },
    SKN_HIDDEN_OPTIONS,
    SKN_TURNS_OPTIONS,
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_batch_schema, on_batch, NULL },
    { &skn_output_gradient_schema, on_output_gradient, NULL },
    { &skn_hidden_gradient_schema, on_hidden_gradient, NULL },
    { &skn_lease_schema, on_lease, NULL },
    { &skn_halt_schema, on_halt, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_activation_schema,
    &skn_gradient_schema,
    NULL,
};

const skn_kind_t skn_embedding = {
    .name = "embedding",
    .help = "hidden units over the sparse input: a slice of their columns",
    .state_bytes = sizeof(embedding_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .open = embedding_open,
    .close = embedding_close,
    .computes = true,
};
