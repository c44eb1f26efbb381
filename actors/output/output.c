/* output.c - the actor of an output shard, which computes logits, loss and row
 * gradients for a range of labels.
 *
 * Batch t: gather the hidden slices, wait for the turn, draw the active set,
 * send (m, z) to the other output shards and, with (u, v), to the layer below;
 * when every shard's (m, z) is here, form the row gradients and send them, with
 * the rows, to the updater. With merge early, the hidden gradient is sent
 * before the normaliser is known. With merge late, it is sent afterwards, as
 * one array instead of two. Equations (16) to (28) of
 * docs/concepts/equations.md.
 *
 * This file owns: the batches in flight of its shard. Not here: arithmetic
 * (head.c), messages to other shards (share.c), the order of batches (turns.c),
 * the update rule (updater.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/output/arrivals.h"
#include "actors/protocol/block.h"
#include "actors/protocol/settings.h"
#include "actors/rows/copy.h"
#include "actors/output/diagnose.h"
#include "actors/output/head.h"
#include "actors/hidden/hidden.h"
#include "actors/output/shard_index.h"
#include "actors/protocol/kinds.h"
#include "actors/samplers/options.h"
#include "actors/output/share.h"
#include "actors/hidden/slices.h"
#include "actors/protocol/turns.h"
#include "actors/protocol/workspace.h"

typedef struct output {
    skn_head_t head;
    skn_copy_t copy;
    skn_turns_t turns;
    skn_shard_index_t index;
    skn_diagnose_t diagnose;
    double weight_cap; /* of a sampled row; 0: none */
    uint32_t topk;
    bool clips;           /* a step that is not finite is left out */
    bool has_normalisers; /* evaluations send (m, z), and labels' logits */
    float constant;       /* input of the bias: skn_slices_t */
    skn_share_options_t share;
    uint32_t label_count;
    uint32_t flight_count;
    skn_flight_t flights[SKN_ISSUED_MAX + 1];
    skn_arrivals_t arrivals;
    /* The row gradients of the batches of a step, where these add up what they
     * form in the forward pass, of step s at s % window; NULL: none yet. */
    skn_gradient_t *sum[SKN_WINDOW_MAX];
    skn_tree_node_t *nodes; /* [leaves]: no cover of the tree has more */
    uint64_t marker;        /* the next marker: batches applied there */
} output_t;

static skn_flight_t *
flight_of(output_t *output, uint64_t batch)
{
    return &output->flights[batch % output->flight_count];
}

static skn_diagnosis_t *
diagnosis_of(output_t *output, const skn_flight_t *flight)
{
    return &output->diagnose.of[flight - output->flights];
}

/* --- forward -------------------------------- */

static skn_status_t
rank(skn_actor_t *actor, output_t *output, skn_arrival_t *arrival,
     skn_error_t *error)
{
    const skn_labels_t *labels = arrival->labels;
    size_t count = (size_t)labels->rows * output->topk;
    size_t sums = output->has_normalisers ? labels->rows : 0;
    const size_t counts[] = { count, count, sums, sums, sums };
    skn_ranking_t *ranking =
        skn_actor_message(actor, &skn_ranking_schema, counts, error);
    if (!ranking)
        return error->status;
    ranking->batch = labels->batch;
    ranking->purpose = labels->purpose;
    ranking->shard = skn_actor_index(actor);
    ranking->rows = labels->rows;
    ranking->k = output->topk;
    skn_rank_all_t all = {
        .k = output->topk,
        .label = ranking->label.at,
        .score = ranking->score.at,
        .greatest = sums > 0 ? ranking->greatest.at : NULL,
        .sum = sums > 0 ? ranking->sum.at : NULL,
        .positive = sums > 0 ? ranking->positive.at : NULL,
        .labels = labels,
    };
    skn_status_t status = skn_head_rank_all(&output->head, arrival->hidden,
                                            labels->rows, &all, error);
    skn_turns_rank_done(&output->turns, labels->horizon);
    skn_message_drop(labels);
    skn_arrival_end(arrival);
    if (status == SKN_OK)
        return skn_actor_post(actor, ranking, error);
    skn_message_drop(ranking);
    return status;
}

static skn_gradient_t *
gradient_new(skn_actor_t *actor, const skn_head_t *head, uint32_t unit_count,
             skn_error_t *error)
{
    size_t counts[] = { unit_count, unit_count * ((size_t)head->hidden + 1) };
    return skn_actor_message(actor, &skn_gradient_schema, counts, error);
}

static skn_gradient_t **
sum_of(output_t *output, uint64_t batch)
{
    const skn_turns_t *turns = &output->turns;
    return &output->sum[batch / turns->accumulate % turns->window];
}

/* Computes what the batch sends; and its row gradients, if nothing has to be
 * waited for: in the order of batches, so that a step's sum has the same bits
 * whenever messages come. Batches with the same units share one sum. */
static skn_status_t
form_rows(skn_actor_t *actor, output_t *output, skn_flight_t *flight,
          skn_error_t *error)
{
    skn_head_t *head = &output->head;
    bool shares = output->turns.accumulate > 1 && flight->selection.everything;
    skn_gradient_t **into =
        shares ? sum_of(output, flight->labels->batch) : &flight->gradient;
    if (!skn_head_forms_rows(head, flight))
        return skn_share_send(actor, head, flight, &output->share, error);
    flight->adds = *into != NULL;
    if (!*into)
        *into = gradient_new(actor, head, skn_head_gradient_units(head, flight),
                             error);
    if (!*into)
        return error->status;
    flight->value = (*into)->value.at;
    skn_status_t status =
        skn_share_send(actor, head, flight, &output->share, error);
    return status == SKN_OK ? skn_head_gradient(head, flight, (*into)->unit.at,
                                                flight->value, error)
                            : status;
}

static skn_status_t
forward(skn_actor_t *actor, output_t *output, skn_arrival_t *arrival,
        skn_error_t *error)
{
    skn_flight_t *flight = flight_of(output, arrival->batch);
    float *hidden = flight->hidden;
    assert(!flight->labels && output->head.rows);
    flight->hidden = arrival->hidden; /* swapped instead of copied */
    arrival->hidden = hidden;
    flight->labels = arrival->labels;
    flight->rows = flight->labels->rows;
    skn_arrival_end(arrival);
    skn_status_t status = skn_shard_index_adopt(
        &output->index, flight->labels->batch, output->head.sampler_kind,
        output->head.sampler, error);
    if (status == SKN_OK)
        status = skn_head_forward(&output->head, flight, error);
    if (status != SKN_OK)
        return status;
    skn_diagnose_flight(&output->diagnose, &output->head, flight,
                        diagnosis_of(output, flight));
    skn_turns_forward_done(&output->turns);
    return form_rows(actor, output, flight, error);
}

/* --- update -------------------------------- */

static skn_status_t
send_result(skn_actor_t *actor, output_t *output, const skn_flight_t *flight,
            uint32_t distinct, skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    skn_result_t result = {
        .batch = flight->labels->batch,
        .shard = skn_actor_index(actor),
        .rows = flight->rows,
        .loss = skn_head_loss(&output->head, flight),
        .distinct = distinct,
        .owned = output->head.row_count,
        .mass = diagnosis_of(output, flight)->mass,
        .recall = diagnosis_of(output, flight)->recall,
    };
    if (!selection->everything) {
        result.listed = selection->unit_count;
        result.capped =
            skn_selection_capped(selection, (float)output->weight_cap);
    }
    for (uint32_t g = 0; g < selection->group_count; g++)
        result.active += (uint64_t)selection->group[g].sample_count *
                         selection->group[g].unit_count;
    if (!isfinite(result.loss) && output->clips) {
        /* The clipper leaves the step out, or ends the run. */
        result.loss = 0;
        result.rows = 0;
    }
    if (!isfinite(result.loss)) {
        skn_status_t status =
            skn_fail(error, SKN_DIVERGED,
                     "batch %llu: the loss of %s is not finite; training "
                     "diverged",
                     (unsigned long long)result.batch, skn_actor_name(actor));
        return skn_fail_hint(error, status,
                             "lower train.optimizer.rate, or warm up with "
                             "train.schedule");
    }
    return skn_actor_send(actor, &skn_result_schema, &result, error);
}

/* Returns what the batch sends to the updater, NULL and a filled `error` if
 * that fails: of batches that share a sum, the last of the step has it. */
static skn_gradient_t *
take_gradient(skn_actor_t *actor, output_t *output, skn_flight_t *flight,
              uint32_t unit_count, skn_error_t *error)
{
    skn_head_t *head = &output->head;
    uint64_t batch = flight->labels->batch;
    skn_gradient_t **sum = sum_of(output, batch), *gradient = flight->gradient;
    bool is_formed = flight->value != NULL;
    bool ends = skn_turns_ends_step(&output->turns, batch);
    flight->gradient = NULL;
    flight->value = NULL;
    flight->adds = false;
    if (gradient)
        return gradient;
    if (is_formed && ends) {
        gradient = *sum;
        *sum = NULL;
        return gradient;
    }
    gradient = gradient_new(actor, head, is_formed ? 0 : unit_count, error);
    if (!gradient || is_formed)
        return gradient;
    if (skn_head_gradient(head, flight, gradient->unit.at, gradient->value.at,
                          error) != SKN_OK) {
        skn_message_drop(gradient);
        return NULL;
    }
    if (ends && *sum) { /* all other batches of the step: the same units */
        assert((*sum)->value.count == gradient->value.count);
        head->kernels->add(gradient->value.at, gradient->value.at,
                           (*sum)->value.at, gradient->value.count);
        skn_message_drop(*sum);
        *sum = NULL;
    }
    return gradient;
}

static skn_status_t
update(skn_actor_t *actor, output_t *output, skn_flight_t *flight,
       skn_error_t *error)
{
    skn_head_t *head = &output->head;
    assert(flight->labels && head->rows);
    assert(flight->labels->batch == output->turns.updates);
    uint32_t unit_count = skn_head_gradient_units(head, flight);
    skn_status_t status = send_result(actor, output, flight, unit_count, error);
    if (status != SKN_OK)
        return status;
    skn_gradient_t *gradient =
        take_gradient(actor, output, flight, unit_count, error);
    if (!gradient)
        return error->status;
    skn_shard_index_change(&output->index, gradient->unit.at,
                           (uint32_t)gradient->unit.count);
    gradient->batch = flight->labels->batch;
    output->marker = flight->labels->horizon + 1;
    if (skn_turns_update_sent(&output->turns)) {
        gradient->rows = skn_copy_lent(&output->copy, head->rows);
        head->rows = NULL;
    }
    skn_message_drop(flight->labels);
    flight->labels = NULL;
    return skn_actor_post(actor, gradient, error);
}

/* Sends the changed rows to the builder. */
static skn_status_t
show_rows(skn_actor_t *actor, output_t *output, skn_error_t *error)
{
    uint64_t applied = output->turns.returned;
    skn_index_view_t view = {
        .rows = output->head.rows,
        .applied = applied,
        .marker = applied == output->marker,
    };
    return skn_shard_index_send(&output->index, actor, &view, error);
}

/* The first batch after a marker tells of one that was not expected, since a
 * halt has made it. */
static skn_status_t
pass_marker(skn_actor_t *actor, output_t *output, const skn_arrival_t *next,
            skn_error_t *error)
{
    if (next->batch != next->labels->floor ||
        next->batch != output->turns.returned || !output->turns.rows_here)
        return SKN_OK;
    output->marker = next->batch;
    return show_rows(actor, output, error);
}

/* Does every step that is possible now, in the one order that turns.h
 * allows. */
static skn_status_t
take_turns(skn_actor_t *actor, output_t *output, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    while (status == SKN_OK) {
        skn_arrival_t *next = skn_arrivals_next(&output->arrivals);
        skn_flight_t *flight = flight_of(output, output->turns.updates);
        bool is_training = next && next->labels->purpose == SKN_PURPOSE_TRAIN;
        if (is_training &&
            skn_turns_check_batch(&output->turns, next->batch,
                                  skn_actor_name(actor), error) != SKN_OK)
            return SKN_BAD_MESSAGE;
        if (is_training && pass_marker(actor, output, next, error) != SKN_OK)
            return error->status;
        if (is_training && next->batch == output->turns.forwards &&
            skn_turns_forward_allowed(&output->turns, next->labels->floor) &&
            skn_shard_index_ready(&output->index, next->batch))
            status = forward(actor, output, next, error);
        else if (next && !is_training &&
                 skn_turns_may_rank(&output->turns, next->labels->floor))
            status = rank(actor, output, next, error);
        else if (flight->labels && flight->complete &&
                 skn_turns_update_allowed(&output->turns,
                                          flight->labels->horizon))
            status = update(actor, output, flight, error);
        else
            break;
    }
    return status;
}

/* --- handlers -------------------------------- */

/* Checks what the head reads unchecked: offsets that divide the labels, labels
 * within the layer, distinct ones in ascending order and no more of them. */
static bool
are_sound(const output_t *output, const skn_labels_t *labels)
{
    const skn_u32s_t *offset = &labels->offset;
    uint32_t rows = labels->rows;
    if (rows > output->head.batch_rows || offset->count != rows + (size_t)1 ||
        offset->at[0] != 0 || offset->at[rows] != labels->label.count ||
        labels->distinct.count > labels->label.count)
        return false;
    for (uint32_t i = 0; i < rows; i++)
        if (offset->at[i] > offset->at[i + 1])
            return false;
    for (size_t k = 0; k < labels->label.count; k++)
        if (labels->label.at[k] >= output->label_count)
            return false;
    for (size_t k = 1; k < labels->distinct.count; k++)
        if (labels->distinct.at[k - 1] >= labels->distinct.at[k])
            return false;
    return true;
}

static skn_status_t
received_twice(const skn_actor_t *actor, const char *what, uint64_t batch,
               skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: received %s of batch %llu twice",
                    skn_actor_name(actor), what, (unsigned long long)batch);
}

static skn_arrival_t *
arrival_of(const skn_actor_t *actor, output_t *output, const skn_issue_t *issue,
           const char *what, skn_error_t *error)
{
    if (issue->purpose == SKN_PURPOSE_TRAIN &&
        issue->batch < output->turns.forwards) {
        (void)received_twice(actor, what, issue->batch, error);
        return NULL;
    }
    return skn_turns_admit(&output->turns, issue, skn_actor_name(actor),
                           error) == SKN_OK
               ? skn_arrivals_of(&output->arrivals, actor, issue->batch, error)
               : NULL;
}

static skn_status_t
on_labels(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    output_t *output = state;
    const skn_labels_t *labels = message;
    if (!are_sound(output, labels))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the labels of batch %llu do not fit its %u "
                        "samples, or the layer",
                        skn_actor_name(actor),
                        (unsigned long long)labels->batch, labels->rows);
    const skn_issue_t issue = SKN_ISSUE_OF(labels);
    skn_arrival_t *arrival = arrival_of(actor, output, &issue, "labels", error);
    if (!arrival)
        return error->status;
    if (arrival->labels)
        return received_twice(actor, "labels", labels->batch, error);
    arrival->labels = skn_message_keep(labels);
    skn_status_t status = skn_arrival_check(arrival, actor, error);
    return status == SKN_OK ? take_turns(actor, output, error) : status;
}

static skn_status_t
on_activation(skn_actor_t *actor, void *state, const void *message,
              skn_error_t *error)
{
    output_t *output = state;
    const skn_parts_t *parts = message;
    const skn_activation_t *first = parts->at[0];
    const skn_issue_t issue = SKN_ISSUE_OF(first);
    skn_arrival_t *arrival =
        arrival_of(actor, output, &issue, "hidden vectors", error);
    if (!arrival)
        return error->status;
    if (arrival->has_hidden)
        return received_twice(actor, "hidden vectors", first->batch, error);
    skn_slices_t below = { .name = skn_actor_name(actor),
                           .rows_max = output->head.batch_rows,
                           .columns = output->head.hidden,
                           .stride = output->head.hidden_stride,
                           .constant = output->constant };
    skn_status_t status =
        skn_slices_join(&below, parts, arrival->hidden, error);
    if (status != SKN_OK)
        return status;
    arrival->has_hidden = true;
    arrival->hidden_rows = first->rows;
    status = skn_arrival_check(arrival, actor, error);
    return status == SKN_OK ? take_turns(actor, output, error) : status;
}

static skn_status_t
refuse_partition(const skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: the partitions of batch %llu do not fit its samples",
                    skn_actor_name(actor), (unsigned long long)batch);
}

/* Computes the normaliser when all parts are in output->nodes, and continues
 * the work that waits for it. */
static skn_status_t
complete(skn_actor_t *actor, output_t *output, skn_flight_t *flight,
         size_t node_count, skn_error_t *error)
{
    uint64_t batch = flight->labels->batch;
    if (!skn_head_complete(&output->head, flight, output->nodes, node_count))
        return refuse_partition(actor, batch, error);
    /* The shard with a sample's label always draws its row, so one shard sent a
     * wrong normaliser; using it would produce NaNs. */
    if (!skn_head_has_rows(&output->head, flight))
        return skn_fail(
            error, SKN_BAD_MESSAGE,
            "%s: the partitions of batch %llu have no rows for a sample that "
            "has labels",
            skn_actor_name(actor), (unsigned long long)batch);
    return skn_share_finish(actor, &output->head, flight, &output->share,
                            error);
}

static skn_status_t
on_partition(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *error)
{
    output_t *output = state;
    const skn_parts_t *parts = message;
    size_t node_count = 0;
    uint64_t batch = ((const skn_partition_t *)parts->at[0])->batch;
    skn_flight_t *flight = flight_of(output, batch);
    bool is_of_batch = flight->labels && flight->labels->batch == batch;
    for (size_t p = 0; p < parts->count && is_of_batch; p++) {
        const skn_partition_t *part = parts->at[p];
        size_t rows = part->rows, samples = part->node.count * rows;
        bool in_logs = output->head.late;
        is_of_batch =
            rows == flight->rows && part->greatest.count == samples &&
            part->sum.count == (in_logs ? 0 : samples) &&
            node_count + part->node.count <= output->head.merge.leaf_count;
        if (!is_of_batch)
            skn_parts_refuse(parts, p);
        for (size_t k = 0; k < part->node.count && is_of_batch; k++)
            output->nodes[node_count++] = (skn_tree_node_t){
                .place = part->node.at[k],
                .partial = { .greatest = part->greatest.at + k * rows,
                             .sum = in_logs ? NULL : part->sum.at + k * rows },
            };
    }
    skn_status_t status =
        is_of_batch ? complete(actor, output, flight, node_count, error)
                    : refuse_partition(actor, batch, error);
    return status == SKN_OK ? take_turns(actor, output, error) : status;
}

static skn_status_t
on_lease(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    output_t *output = state;
    const skn_lease_t *lease = message;
    skn_status_t status =
        skn_copy_take(&output->copy, lease, &output->head.rows, error);
    if (status != SKN_OK || !output->head.rows)
        return status;
    if (!output->turns.begun)
        output->marker = lease->batch; /* a run begins at a marker */
    status = skn_turns_rows_back(&output->turns, lease->batch,
                                 skn_actor_name(actor), error);
    if (status == SKN_OK)
        status = show_rows(actor, output, error);
    return status == SKN_OK ? take_turns(actor, output, error) : status;
}

static skn_status_t
on_index(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    output_t *output = state;
    skn_status_t status = skn_shard_index_take(&output->index, message, error);
    return status == SKN_OK ? take_turns(actor, output, error) : status;
}

static skn_status_t
on_halt(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    output_t *output = state;
    output->turns.last_batch = ((const skn_halt_t *)message)->batch;
    return take_turns(actor, output, error);
}

/* --- open and close -------------------------------- */

static skn_status_t
open_sampler(skn_actor_t *actor, output_t *output, skn_error_t *error)
{
    skn_head_t *head = &output->head;
    skn_sampler_options_t options;
    skn_status_t status =
        skn_sampler_options(actor, head->kernels, head->block_rows,
                            &head->sampler_kind, &options, error);
    if (status != SKN_OK)
        return status;
    output->weight_cap = options.weight_cap;
    head->sampler =
        skn_sampler_open(actor, head->sampler_kind, &options, error);
    if (!head->sampler)
        return error->status;
    status = skn_shard_index_open(&output->index, actor, head->sampler_kind,
                                  &options, output->turns.window, error);
    if (status != SKN_OK)
        return status;
    return skn_diagnose_init(
        &output->diagnose, head,
        (uint64_t)skn_actor_option_int(actor, "diagnose_batches"), error);
}

static skn_status_t
open_flights(output_t *output, skn_error_t *error)
{
    const skn_head_t *head = &output->head;
    size_t floats = head->batch_rows * head->hidden_stride;
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < output->flight_count && status == SKN_OK; k++)
        status = skn_flight_init(&output->flights[k], head, error);
    return status == SKN_OK
               ? skn_arrivals_open(&output->arrivals, output->arrivals.count,
                                   floats, error)
               : status;
}

/* Reads the plain options; those of the sampler are read with it. */
static void
read_options(const skn_actor_t *actor, output_t *output)
{
    skn_head_t *head = &output->head;
    head->loss = strcmp(skn_actor_option_text(actor, "loss"), "softmax") == 0
                     ? SKN_LOSS_IS_SOFTMAX
                     : SKN_LOSS_IS_ONE_VS_ALL;
    head->fixed =
        strcmp(skn_actor_option_text(actor, "reduction"), "fixed") == 0;
    head->smoothing = (float)skn_actor_option_real(actor, "label_smoothing");
    head->smooth_row =
        head->smoothing / (float)skn_actor_option_int(actor, "labels");
    head->whole_every =
        (uint64_t)skn_actor_option_int(actor, "diagnose_batches");
    head->half = strcmp(skn_actor_option_text(actor, "precision"), "bf16") == 0;
    head->late = head->loss == SKN_LOSS_IS_SOFTMAX &&
                 strcmp(skn_actor_option_text(actor, "merge"), "late") == 0;
    head->hidden = skn_option_u32(actor, "hidden");
    head->row_first = skn_option_u32(actor, "row_first");
    head->row_count = skn_option_u32(actor, "row_count");
    head->block_rows =
        skn_block_rows((uint64_t)skn_actor_option_int(actor, "labels"));
    head->batch_rows = skn_option_u32(actor, "batch_rows");
    head->merge.leaf_count = skn_option_u32(actor, "leaves");
    output->topk = skn_option_u32(actor, "topk");
    output->clips = skn_actor_option_bool(actor, "clips");
    output->has_normalisers = skn_actor_option_bool(actor, "normalises") &&
                              head->loss == SKN_LOSS_IS_SOFTMAX;
    output->constant = skn_actor_option_bool(actor, "bias") ? 1.0f : 0.0f;
    output->label_count = skn_option_u32(actor, "labels");
    output->share.packed = skn_actor_option_bool(actor, "packed");
    skn_hidden_turns(&output->turns, actor);
    output->flight_count = (uint32_t)output->turns.flights + 1;
    output->arrivals.count = (uint32_t)skn_turns_held(&output->turns);
    assert(output->flight_count <= SKN_ISSUED_MAX + 1);
    head->rows_change = output->turns.window > 1;
}

static skn_status_t
output_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    output_t *output = state;
    skn_head_t *head = &output->head;
    head->kernels = skn_kernels_pick(error);
    if (!head->kernels)
        return error->status;
    head->merge.kernels = head->kernels;
    read_options(actor, output);
    if (head->late && head->fixed)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: merge: late needs reduction: fast",
                        skn_actor_name(actor));
    if (head->row_first % head->block_rows != 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: row_first %u is not a multiple of the block of "
                        "%u rows",
                        skn_actor_name(actor), head->row_first,
                        head->block_rows);
    skn_status_t status = skn_slicing_make(
        &output->share.slicing, head->hidden, skn_option_u32(actor, "slices"),
        skn_actor_option_text(actor, "slice_weights"), skn_actor_name(actor),
        error);
    if (status != SKN_OK)
        return status;
    output->nodes = malloc(head->merge.leaf_count * sizeof(*output->nodes));
    if (!output->nodes)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for a tree of %u leaves",
                        head->merge.leaf_count);
    int64_t leaf = skn_actor_option_int(actor, "leaf");
    status = skn_head_init(
        head, leaf < 0 ? skn_actor_index(actor) : (uint32_t)leaf, error);
    if (status == SKN_OK)
        status = skn_copy_open(&output->copy, actor, head->row_count,
                               head->hidden + 1, error);
    if (status == SKN_OK)
        status = open_sampler(actor, output, error);
    return status == SKN_OK ? open_flights(output, error) : status;
}

static void
output_close(skn_actor_t *actor, void *state)
{
    output_t *output = state;
    (void)actor;
    for (uint32_t k = 0; k < output->flight_count; k++) {
        skn_message_drop(output->flights[k].labels);
        skn_message_drop(output->flights[k].part);
        skn_message_drop(output->flights[k].gradient);
        skn_flight_fini(&output->flights[k]);
    }
    for (uint32_t k = 0; k < SKN_WINDOW_MAX; k++)
        skn_message_drop(output->sum[k]);
    skn_arrivals_close(&output->arrivals);
    free(output->nodes);
    skn_slicing_fini(&output->share.slicing);
    skn_shard_index_close(&output->index);
    skn_diagnose_fini(&output->diagnose);
    skn_copy_close(&output->copy);
    skn_head_fini(&output->head);
}

static const skn_option_t options[] = {
    SKN_SHARD_OPTIONS,
    SKN_SLICING_OPTIONS,
    { "packed", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "send gradients of open hidden units only: fewer bytes, more computing" },
    SKN_OPTION_OF("loss", "softmax", SKN_SETTING_LOSS),
    SKN_OPTION_OF("label_smoothing", "0", SKN_SETTING_LABEL_SMOOTHING),
    SKN_OPTION_OF("precision", "f32", SKN_SETTING_PRECISION),
    SKN_OPTION_OF("reduction", "fast", SKN_SETTING_REDUCTION),
    SKN_OPTION_OF("merge", "early", SKN_SETTING_MERGE),
    { "leaf", SKN_OPTION_INT, "-1", -1, SKN_SHARD_MAX - 1, NULL,
      "fast: this shard's leaf of the merge tree; -1: the shard's number" },
    SKN_OPTION_OF("diagnose_batches", "0", SKN_SETTING_SAMPLER_BATCHES),
    SKN_OPTION_OF("topk", "5", SKN_SETTING_TOPK),
    { "clips", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "a clipper leaves out steps that are not finite: a loss that is not "
      "does not end the run" },
    { "normalises", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "send the shard's normaliser in evaluations, and the logits of the "
      "labels, for probabilities and the loss" },
    SKN_BIAS_OPTION,
    SKN_SAMPLER_OPTIONS,
    SKN_INDEX_KEEPER_OPTIONS,
    SKN_HIDDEN_OPTIONS,
    SKN_TURNS_OPTIONS,
    SKN_COPY_OPTIONS,
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_labels_schema, on_labels, NULL },
    { &skn_activation_schema, on_activation, NULL },
    { &skn_partition_schema, on_partition, NULL },
    { &skn_lease_schema, on_lease, NULL },
    { &skn_halt_schema, on_halt, NULL },
    { &skn_index_schema, on_index, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_partition_schema,
    &skn_output_gradient_schema,
    &skn_gradient_schema,
    &skn_result_schema,
    &skn_ranking_schema,
    &skn_dirty_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = {
    &skn_activation_schema,
    &skn_partition_schema,
    NULL,
};

static const skn_schema_t *const needs[] = {
    &skn_labels_schema,
    &skn_activation_schema,
    &skn_lease_schema,
    NULL,
};

const skn_kind_t skn_output = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "output",
    .help = "computes rows of the output layer: active sets, logits, loss, "
            "gradients",
    .state_bytes = sizeof(output_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = output_open,
    .close = output_close,
    .is_compute_bound = true,
};
