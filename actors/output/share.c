/* share.c - computes, cuts, packs and sends a shard's (m, z) and (u, v).
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/share.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "actors/combine/packing.h"

/* (u, v) of all hidden units, and (m, z); NULL with one-vs-all. */
typedef struct share {
    skn_output_gradient_t *gradient;
    skn_partition_t *partition;
} share_t;

static void
drop(share_t *share)
{
    skn_message_drop(share->gradient);
    skn_message_drop(share->partition);
}

static skn_status_t
share_new(skn_actor_t *actor, const skn_head_t *head,
          const skn_flight_t *flight, share_t *share, skn_error_t *error)
{
    bool softmax = head->loss == SKN_LOSS_IS_SOFTMAX;
    size_t nodes = head->node_count, samples = nodes * flight->rows;
    size_t cells = samples * head->hidden;
    bool normalised = softmax && !head->late;
    size_t counts[] = { 0, 0, nodes, cells, normalised ? cells : 0, 0 };
    size_t pair_counts[] = { nodes, samples, head->late ? 0 : samples };
    skn_output_gradient_t *gradient = share->gradient =
        skn_actor_message(actor, &skn_output_gradient_schema, counts, error);
    if (!gradient)
        return error->status;
    gradient->batch = flight->labels->batch;
    gradient->shard = skn_actor_index(actor);
    gradient->rows = flight->rows;
    gradient->columns = head->hidden;
    gradient->normalised = normalised;
    memcpy(gradient->node.at, head->node, nodes * sizeof(*head->node));
    if (!softmax)
        return SKN_OK;
    skn_partition_t *partition = share->partition =
        skn_actor_message(actor, &skn_partition_schema, pair_counts, error);
    if (!partition)
        return error->status;
    partition->batch = gradient->batch;
    partition->shard = gradient->shard;
    partition->rows = flight->rows;
    memcpy(partition->node.at, head->node, nodes * sizeof(*head->node));
    return SKN_OK;
}

static skn_status_t
compute(skn_head_t *head, skn_flight_t *flight, const share_t *share,
        skn_error_t *error)
{
    size_t rows = flight->rows, cells = rows * head->hidden;
    assert(!head->late || head->node_count == 1);
    for (uint32_t k = 0; k < head->node_count; k++) {
        skn_partial_t partial = { .pull =
                                      share->gradient->pull.at + k * cells };
        if (head->late) {
            partial.greatest = flight->greatest;
            partial.sum = flight->sum;
            partial.push = flight->push;
        } else if (share->partition) {
            partial.greatest = share->partition->greatest.at + k * rows;
            partial.sum = share->partition->sum.at + k * rows;
            partial.push = share->gradient->push.at + k * cells;
        }
        skn_head_node(head, flight, k, &partial);
    }
    for (uint32_t i = 0; head->late && i < flight->rows; i++)
        share->partition->greatest.at[i] =
            flight->greatest[i] + logf(flight->sum[i]);
    return head->starved ? skn_fail(error, SKN_NO_MEMORY,
                                    "no memory for the products of batch %llu",
                                    (unsigned long long)flight->labels->batch)
                         : SKN_OK;
}

/* --- columns of one receiver --------------------------------------------- */

typedef struct share_slice {
    const skn_head_t *head;
    const skn_flight_t *flight;
    const skn_output_gradient_t *whole;
    uint32_t first, columns;
} share_slice_t;

/* Makes a message for the slice, complete except for its values. */
static skn_output_gradient_t *
slice_new(skn_actor_t *actor, const share_slice_t *slice, const size_t *counts,
          skn_error_t *error)
{
    const skn_output_gradient_t *whole = slice->whole;
    skn_output_gradient_t *message =
        skn_actor_message(actor, &skn_output_gradient_schema, counts, error);
    if (!message)
        return NULL;
    message->batch = whole->batch;
    message->shard = whole->shard;
    message->rows = whole->rows;
    message->column_first = slice->first;
    message->columns = slice->columns;
    message->normalised = whole->normalised;
    memcpy(message->node.at, whole->node.at,
           whole->node.count * sizeof(*whole->node.at));
    return message;
}

static skn_status_t
send_slice(skn_actor_t *actor, const share_slice_t *slice, skn_error_t *error)
{
    const skn_output_gradient_t *whole = slice->whole;
    size_t columns = slice->columns, stride = whole->columns;
    size_t lines = whole->node.count * whole->rows;
    assert(slice->first + columns <= stride);
    bool has_push = whole->push.count > 0;
    size_t counts[] = { 0,
                        0,
                        whole->node.count,
                        lines * columns,
                        has_push ? lines * columns : 0,
                        0 };
    skn_output_gradient_t *message = slice_new(actor, slice, counts, error);
    if (!message)
        return error->status;
    for (size_t k = 0; k < lines; k++) {
        memcpy(message->pull.at + k * columns,
               whole->pull.at + k * stride + slice->first,
               columns * sizeof(float));
        if (has_push)
            memcpy(message->push.at + k * columns,
                   whole->push.at + k * stride + slice->first,
                   columns * sizeof(float));
    }
    return skn_actor_post(actor, message, error);
}

/* Counts the values of v that are sent: the open positions of samples that have
 * a positive here. */
static size_t
count_pushed(const share_slice_t *slice, const uint32_t *open, uint32_t *pushed)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < slice->flight->rows; i++) {
        pushed[i] =
            skn_head_pushes(slice->head, slice->flight, i) ? open[i] : 0;
        sum += pushed[i];
    }
    return sum;
}

static skn_status_t
send_packed(skn_actor_t *actor, const share_slice_t *slice, skn_error_t *error)
{
    const skn_output_gradient_t *whole = slice->whole;
    skn_head_t const *head = slice->head;
    uint32_t *open = head->open, *pushed = head->open + head->batch_rows;
    size_t rows = whole->rows, nodes = whole->node.count;
    bool has_push = whole->push.count > 0;
    skn_packing_t packing = { .mask = slice->flight->hidden + slice->first,
                              .stride = head->hidden_stride,
                              .rows = whole->rows,
                              .columns = slice->columns,
                              .kernels = head->kernels };
    size_t pulls = skn_packing_count(&packing, open);
    size_t pushed_sum = count_pushed(slice, open, pushed);
    size_t counts[] = { rows,
                        has_push ? rows : 0,
                        nodes,
                        nodes * pulls,
                        has_push ? nodes * pushed_sum : 0,
                        0 };
    skn_output_gradient_t *message = slice_new(actor, slice, counts, error);
    if (!message)
        return error->status;
    memcpy(message->open.at, open, rows * sizeof(*open));
    if (has_push)
        memcpy(message->pushed.at, pushed, rows * sizeof(*pushed));
    for (size_t k = 0; k < nodes; k++) {
        size_t at = k * rows * whole->columns + slice->first;
        skn_packing_pack(&packing, open, whole->pull.at + at, whole->columns,
                         message->pull.at + k * pulls);
        if (has_push)
            skn_packing_pack(&packing, pushed, whole->push.at + at,
                             whole->columns, message->push.at + k * pushed_sum);
    }
    return skn_actor_post(actor, message, error);
}

/* Posts (u, v), whole, or cut and packed; the message is no longer the
 * caller's. */
static skn_status_t
post_gradient(skn_actor_t *actor, share_slice_t *slice,
              const skn_share_options_t *options, skn_error_t *error)
{
    const skn_slicing_t *slicing = &options->slicing;
    skn_status_t status = SKN_OK;
    if (slicing->slices == 1 && !options->packed)
        return skn_actor_post(actor, slice->whole, error);
    for (uint32_t k = 0; k < slicing->slices && status == SKN_OK; k++) {
        slice->first = slicing->first[k];
        slice->columns = skn_slicing_width(slicing, k);
        status = options->packed ? send_packed(actor, slice, error)
                                 : send_slice(actor, slice, error);
    }
    skn_message_drop(slice->whole);
    return status;
}

static skn_status_t
give_away(skn_actor_t *actor, const skn_head_t *head,
          const skn_flight_t *flight, skn_output_gradient_t *whole,
          const skn_share_options_t *options, skn_error_t *error)
{
    share_slice_t slice = { .head = head, .flight = flight, .whole = whole };
    return post_gradient(actor, &slice, options, error);
}

skn_status_t
skn_share_send(skn_actor_t *actor, skn_head_t *head, skn_flight_t *flight,
               const skn_share_options_t *options, skn_error_t *error)
{
    share_t share = { 0 };
    skn_status_t status = share_new(actor, head, flight, &share, error);
    if (status == SKN_OK)
        status = compute(head, flight, &share, error);
    if (status != SKN_OK) {
        drop(&share);
        return status;
    }
    /* The layer below can merge as soon as (u, v), sent second, arrives. */
    if (share.partition)
        status = skn_actor_post(actor, share.partition, error);
    share.partition = NULL;
    if (status != SKN_OK) {
        drop(&share);
        return status;
    }
    if (!head->late)
        return give_away(actor, head, flight, share.gradient, options, error);
    flight->part = share.gradient;
    return SKN_OK;
}

skn_status_t
skn_share_finish(skn_actor_t *actor, skn_head_t *head, skn_flight_t *flight,
                 const skn_share_options_t *options, skn_error_t *error)
{
    skn_output_gradient_t *part = flight->part;
    if (!part)
        return SKN_OK;
    flight->part = NULL;
    skn_head_normalise(head, flight, part->pull.at, flight->push);
    return give_away(actor, head, flight, part, options, error);
}
