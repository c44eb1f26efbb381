/* layer.c - moves the batches of a hidden layer's shard through their phases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/hidden/layer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"
#include "actors/runtime/reporting.h"

skn_status_t
skn_layer_open(skn_layer_t *layer, skn_actor_t *actor,
               const skn_layer_work_t *work, const skn_layer_shape_t *shape,
               skn_error_t *error)
{
    size_t floats =
        (size_t)skn_actor_option_int(actor, "batch_rows") * shape->columns;
    layer->work = work;
    skn_hidden_turns(&layer->turns, actor);
    layer->flight_count = (uint32_t)skn_turns_held(&layer->turns);
    assert(layer->flight_count <= SKN_ISSUED_MAX + 1);
    layer->window_count = (uint32_t)layer->turns.flights;
    layer->gradient_floats = floats;
    skn_status_t status = skn_hidden_open(
        &layer->hidden, actor, shape->column_first, shape->columns, error);
    layer->held_max = layer->hidden.merge.leaf_count < SKN_SHARD_MAX
                          ? layer->hidden.merge.leaf_count
                          : SKN_SHARD_MAX;
    if (status == SKN_OK)
        status = skn_copy_open(&layer->copy, actor, shape->rows, shape->width,
                               error);
    if (status != SKN_OK)
        return status;
    layer->gradients = skn_floats_new(layer->window_count * floats, error);
    if (!layer->gradients)
        return SKN_NO_MEMORY;
    layer->held =
        calloc(2 * layer->flight_count * layer->held_max, sizeof(*layer->held));
    if (!layer->held)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u batches",
                        layer->flight_count);
    for (uint32_t k = 0; k < layer->flight_count; k++) {
        skn_layer_flight_t *flight = &layer->flight[k];
        flight->slot = k;
        flight->partitions.at = layer->held + 2 * k * layer->held_max;
        flight->shares.at = flight->partitions.at + layer->held_max;
    }
    return SKN_OK;
}

static void
drop_held(skn_held_part_t *held)
{
    while (held->count > 0)
        skn_message_drop(held->at[--held->count]);
}

static void
end_flight(skn_layer_flight_t *flight)
{
    skn_message_drop(flight->input);
    skn_message_drop(flight->activation);
    drop_held(&flight->partitions);
    drop_held(&flight->shares);
    flight->input = NULL;
    flight->activation = NULL;
    flight->pieces = 0;
    flight->phase = SKN_FLIGHT_FREE;
}

void
skn_layer_close(skn_layer_t *layer)
{
    for (uint32_t k = 0; k < layer->flight_count; k++)
        end_flight(&layer->flight[k]);
    free(layer->gradients);
    free(layer->held);
    skn_copy_close(&layer->copy);
    skn_hidden_close(&layer->hidden);
}

static skn_layer_flight_t *
flight_of(skn_layer_t *layer, uint64_t batch)
{
    return &layer->flight[batch % layer->flight_count];
}

skn_layer_flight_t *
skn_layer_admit(skn_actor_t *actor, skn_layer_t *layer,
                const skn_issue_t *issue, uint32_t rows, skn_error_t *error)
{
    skn_layer_flight_t *flight = flight_of(layer, issue->batch);
    if (flight->phase != SKN_FLIGHT_FREE || rows > layer->hidden.batch_rows) {
        skn_fail(error, SKN_BAD_MESSAGE, "%s: unexpected batch %llu of %u rows",
                 skn_actor_name(actor), (unsigned long long)issue->batch, rows);
        return NULL;
    }
    if (skn_turns_admit(&layer->turns, issue, skn_actor_name(actor), error) !=
        SKN_OK)
        return NULL;
    flight->batch = issue->batch;
    flight->floor = issue->floor;
    flight->horizon = issue->horizon;
    flight->purpose = issue->purpose;
    flight->rows = rows;
    return flight;
}

static skn_status_t
forward(skn_actor_t *actor, skn_layer_t *layer, skn_layer_flight_t *flight,
        skn_error_t *error)
{
    assert(flight->phase == SKN_FLIGHT_WAITING && layer->rows);
    size_t count = (size_t)flight->rows * layer->hidden.columns;
    skn_activation_t *activation =
        skn_actor_message(actor, &skn_activation_schema, &count, error);
    if (!activation)
        return SKN_NO_MEMORY;
    flight->window_slot = (uint32_t)(flight->batch % layer->window_count);
    flight->gradient =
        layer->gradients + flight->window_slot * layer->gradient_floats;
    activation->batch = flight->batch;
    activation->floor = flight->floor;
    activation->horizon = flight->horizon;
    activation->purpose = flight->purpose;
    activation->shard = skn_actor_index(actor);
    activation->rows = flight->rows;
    activation->column_first = layer->hidden.column_first;
    activation->columns = layer->hidden.columns;
    layer->work->forward(layer, flight, activation->value.at);
    skn_hidden_activate(&layer->hidden, activation);
    if (flight->purpose == SKN_PURPOSE_TRAIN) {
        flight->activation = skn_message_keep(activation);
        flight->phase = SKN_FLIGHT_ABOVE;
        skn_turns_forward_done(&layer->turns);
        skn_actor_set_held(actor, layer->turns.forwards - layer->turns.updates);
    } else {
        skn_turns_rank_done(&layer->turns, flight->horizon);
        end_flight(flight);
    }
    return skn_actor_post(actor, activation, error);
}

static skn_status_t
update(skn_actor_t *actor, skn_layer_t *layer, skn_layer_flight_t *flight,
       skn_error_t *error)
{
    assert(flight->phase == SKN_FLIGHT_LANDED && layer->rows);
    assert(flight->batch == layer->turns.updates);
    skn_gradient_t *gradient =
        layer->work->gradient(actor, layer, flight, error);
    if (!gradient)
        return error->status;
    gradient->batch = flight->batch;
    gradient->changed = flight->rounding.changed;
    gradient->square = flight->rounding.square;
    if (skn_turns_update_sent(&layer->turns)) {
        gradient->rows = skn_copy_lent(&layer->copy, layer->rows);
        layer->rows = NULL;
    }
    end_flight(flight);
    return skn_actor_post(actor, gradient, error);
}

/* Returns the oldest batch that waits, or NULL if there is none. */
static skn_layer_flight_t *
next_waiting(skn_layer_t *layer)
{
    skn_layer_flight_t *oldest = NULL;
    for (uint32_t k = 0; k < layer->flight_count; k++) {
        skn_layer_flight_t *flight = &layer->flight[k];
        if (flight->phase == SKN_FLIGHT_WAITING &&
            (!oldest || flight->batch < oldest->batch))
            oldest = flight;
    }
    return oldest;
}

static bool
may_forward(const skn_layer_t *layer, const skn_layer_flight_t *next)
{
    if (!next)
        return false;
    if (next->purpose != SKN_PURPOSE_TRAIN)
        return skn_turns_may_rank(&layer->turns, next->floor);
    return next->batch == layer->turns.forwards &&
           skn_turns_forward_allowed(&layer->turns, next->floor);
}

/* Returns the batch whose update may be sent now, or NULL. */
static skn_layer_flight_t *
next_update(skn_layer_t *layer)
{
    skn_layer_flight_t *last = flight_of(layer, layer->turns.updates);
    return last->phase == SKN_FLIGHT_LANDED &&
                   skn_turns_update_allowed(&layer->turns, last->horizon)
               ? last
               : NULL;
}

/* Computes the next piece of a batch's row gradients, or sends them after the
 * last one. */
static skn_status_t
advance(skn_actor_t *actor, skn_layer_t *layer, skn_layer_flight_t *flight,
        skn_error_t *error)
{
    if (flight->pieces == layer->pieces)
        return update(actor, layer, flight, error);
    return layer->work->piece(actor, layer, flight, flight->pieces++, error);
}

skn_status_t
skn_layer_take_turns(skn_actor_t *actor, skn_layer_t *layer, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    while (status == SKN_OK) {
        skn_layer_flight_t *next = next_waiting(layer);
        if (next && next->purpose == SKN_PURPOSE_TRAIN &&
            skn_turns_check_batch(&layer->turns, next->batch,
                                  skn_actor_name(actor), error) != SKN_OK)
            return SKN_BAD_MESSAGE;
        skn_layer_flight_t *last = next_update(layer);
        if (may_forward(layer, next))
            status = forward(actor, layer, next, error);
        else if (last && (layer->pieces == 0 ||
                          (next && skn_turns_are_full(&layer->turns))))
            status = advance(actor, layer, last, error);
        else
            break;
    }
    return status;
}

skn_status_t
skn_layer_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_layer_t *layer = state;
    skn_layer_flight_t *last = next_update(layer);
    if (!last) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    skn_status_t status = advance(actor, layer, last, error);
    return status == SKN_OK ? skn_layer_take_turns(actor, layer, error)
                            : status;
}

skn_status_t
skn_layer_take_slices(skn_actor_t *actor, skn_layer_t *layer,
                      const skn_slices_t *below, float *inputs,
                      const skn_parts_t *parts, skn_error_t *error)
{
    const skn_activation_t *first = parts->at[0];
    const skn_issue_t issue = SKN_ISSUE_OF(first);
    skn_layer_flight_t *flight =
        skn_layer_admit(actor, layer, &issue, first->rows, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    skn_status_t status = skn_slices_join(
        below, parts, skn_layer_input(below, inputs, flight), error);
    if (status != SKN_OK)
        return status;
    flight->phase = SKN_FLIGHT_WAITING;
    return skn_layer_take_turns(actor, layer, error);
}

/* --- handlers ------------------------------------------------------------ */

static skn_layer_flight_t *
flight_above(skn_actor_t *actor, skn_layer_t *layer, uint64_t batch,
             skn_error_t *error)
{
    skn_layer_flight_t *flight = flight_of(layer, batch);
    if (flight->phase == SKN_FLIGHT_ABOVE && flight->batch == batch)
        return flight;
    skn_fail(error, SKN_BAD_MESSAGE,
             "%s: a gradient or partition of batch %llu, which is not in "
             "flight",
             skn_actor_name(actor), (unsigned long long)batch);
    return NULL;
}

static skn_status_t
land(skn_actor_t *actor, skn_layer_t *layer, skn_layer_flight_t *flight,
     skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    assert(flight->phase == SKN_FLIGHT_ABOVE);
    flight->phase = SKN_FLIGHT_LANDED;
    /* This is the first batch after the start or a resume. */
    if (layer->landed < layer->turns.updates)
        layer->landed = layer->turns.updates;
    while (status == SKN_OK &&
           (flight = flight_of(layer, layer->landed))->batch == layer->landed &&
           flight->phase == SKN_FLIGHT_LANDED) {
        layer->landed++;
        if (layer->work->landed)
            status = layer->work->landed(actor, layer, flight, error);
    }
    return status == SKN_OK ? skn_layer_take_turns(actor, layer, error)
                            : status;
}

static skn_status_t
hold(skn_actor_t *actor, const skn_layer_t *layer, skn_held_part_t *held,
     const skn_parts_t *parts, uint64_t batch, skn_error_t *error)
{
    if (held->count > 0 || parts->count > layer->held_max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: received gradients or partitions of batch %llu "
                        "twice",
                        skn_actor_name(actor), (unsigned long long)batch);
    for (size_t p = 0; p < parts->count; p++)
        held->at[p] = skn_message_keep(parts->at[p]);
    held->count = parts->count;
    return SKN_OK;
}

static skn_status_t
merge(skn_actor_t *actor, skn_layer_t *layer, skn_layer_flight_t *flight,
      const skn_parts_t *shares, const skn_parts_t *partitions,
      skn_error_t *error)
{
    skn_status_t status =
        skn_hidden_merge(&layer->hidden, shares, partitions, flight->activation,
                         flight->gradient, error);
    flight->rounding = layer->hidden.rounding;
    drop_held(&flight->partitions);
    drop_held(&flight->shares);
    return status == SKN_OK ? land(actor, layer, flight, error) : status;
}

skn_status_t
skn_layer_on_output_gradient(skn_actor_t *actor, void *state,
                             const void *message, skn_error_t *error)
{
    skn_layer_t *layer = state;
    const skn_parts_t *shares = message;
    const skn_output_gradient_t *first = shares->at[0];
    skn_layer_flight_t *flight =
        flight_above(actor, layer, first->batch, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    if (!first->normalised)
        return merge(actor, layer, flight, shares, NULL, error);
    skn_parts_t partitions = { .at = flight->partitions.at,
                               .count = flight->partitions.count };
    if (partitions.count > 0)
        return merge(actor, layer, flight, shares, &partitions, error);
    return hold(actor, layer, &flight->shares, shares, first->batch, error);
}

skn_status_t
skn_layer_on_partition(skn_actor_t *actor, void *state, const void *message,
                       skn_error_t *error)
{
    skn_layer_t *layer = state;
    const skn_parts_t *partitions = message;
    const skn_partition_t *first = partitions->at[0];
    skn_layer_flight_t *flight =
        flight_above(actor, layer, first->batch, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    skn_parts_t shares = { .at = flight->shares.at,
                           .count = flight->shares.count };
    if (shares.count > 0)
        return merge(actor, layer, flight, &shares, partitions, error);
    return hold(actor, layer, &flight->partitions, partitions, first->batch,
                error);
}

skn_status_t
skn_layer_on_hidden_gradient(skn_actor_t *actor, void *state,
                             const void *message, skn_error_t *error)
{
    skn_layer_t *layer = state;
    const skn_parts_t *parts = message;
    const skn_hidden_gradient_t *first = parts->at[0];
    skn_layer_flight_t *flight =
        flight_above(actor, layer, first->batch, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    skn_status_t status = skn_hidden_sum(
        &layer->hidden, parts, flight->activation, flight->gradient, error);
    flight->rounding = layer->hidden.rounding;
    return status == SKN_OK ? land(actor, layer, flight, error) : status;
}

skn_status_t
skn_layer_on_lease(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    skn_layer_t *layer = state;
    const skn_lease_t *lease = message;
    skn_status_t status =
        skn_copy_take(&layer->copy, lease, &layer->rows, error);
    if (status != SKN_OK || !layer->rows)
        return status;
    status = skn_turns_rows_back(&layer->turns, lease->batch,
                                 skn_actor_name(actor), error);
    return status == SKN_OK ? skn_layer_take_turns(actor, layer, error)
                            : status;
}

skn_status_t
skn_layer_on_halt(skn_actor_t *actor, void *state, const void *message,
                  skn_error_t *error)
{
    skn_layer_t *layer = state;
    layer->turns.last_batch = ((const skn_halt_t *)message)->batch;
    return skn_layer_take_turns(actor, layer, error);
}

const skn_schema_t *const skn_layer_sends[] = {
    &skn_activation_schema,
    &skn_hidden_gradient_schema,
    &skn_gradient_schema,
    NULL,
};

const skn_schema_t *const skn_layer_gathers[] = {
    &skn_activation_schema,
    &skn_partition_schema,
    &skn_output_gradient_schema,
    &skn_hidden_gradient_schema,
    NULL,
};

const skn_schema_t *const skn_layer_needs[] = {
    &skn_activation_schema,
    &skn_lease_schema,
    NULL,
};
