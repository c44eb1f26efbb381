/* batches.c - makes batches from the items of data: order, features, labels.
 *
 * The order of an epoch's items depends only on (seed, epoch). What an item is,
 * and which ones a pass has, is the kind's (batch_items.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/batch_items.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/split.h"
#include "kernels/draws.h"

/* Features and points that are prefetched: both are at random places in tables
 * that no cache holds. */
#define BATCHES_AHEAD 16
#define POINTS_AHEAD 4

static uint64_t
batch_items(const skn_batches_t *batches)
{
    return batches->batch_rows / batches->item_rows;
}

uint64_t
skn_batches_of_pass(const skn_batches_t *batches, skn_purpose_t purpose)
{
    return skn_split_batches(batches->items[purpose].count,
                             batch_items(batches));
}

/* Fisher & Yates, with draws keyed by (seed, epoch). */
static void
shuffle(skn_batches_t *batches, uint64_t epoch)
{
    uint64_t key = skn_draw_key(batches->seed, SKN_DRAW_SHUFFLE, epoch);
    const skn_batch_items_t *items = &batches->items[SKN_PURPOSE_TRAIN];
    uint32_t count = (uint32_t)items->count;
    if (batches->order_epoch == epoch)
        return;
    batches->order_epoch = epoch;
    for (uint32_t k = 0; k < count; k++)
        batches->order[k] = items->list ? items->list[k] : k;
    for (uint32_t k = count; k > 1; k--) {
        uint32_t other = skn_philox_below(key, 0, k, k);
        uint32_t swap = batches->order[k - 1];
        batches->order[k - 1] = batches->order[other];
        batches->order[other] = swap;
    }
}

/* Looks up the points of a batch; returns their number. */
static uint32_t
find_points(skn_batches_t *batches, uint32_t purpose, uint64_t batch)
{
    uint64_t number = batch, size = batch_items(batches);
    skn_batch_items_t items = batches->items[purpose];
    if (purpose == SKN_PURPOSE_TRAIN) {
        shuffle(batches, batch / batches->per_epoch);
        number = batch % batches->per_epoch;
        items.list = batches->order;
    } else if (number >= skn_split_batches(items.count, size)) {
        return 0;
    }
    uint64_t first = number * size;
    uint32_t rows = 0;
    for (uint64_t k = first; k < first + size && k < items.count; k++) {
        batches->kind->look_up(batches, purpose, items.list ? items.list[k] : k,
                               rows);
        rows += batches->item_rows;
    }
    return rows;
}

/* Collects the distinct features of the batch, in order of first occurrence,
 * with the samples and values of each: the transposed matrix. The number of
 * each feature is stored in a row, so that the large table is read at random
 * only once. */
static void
transpose(skn_batches_t *batches, skn_batch_t *batch)
{
    size_t distinct = 0, total = batch->feature.count;
    uint32_t *offset = batch->distinct_offset.at;
    for (size_t k = 0; k < total; k++) {
        if (k + BATCHES_AHEAD < total)
            __builtin_prefetch(
                &batches->place[batch->feature.at[k + BATCHES_AHEAD]]);
        uint32_t *place = &batches->place[batch->feature.at[k]];
        if (*place == 0) {
            batch->distinct.at[distinct++] = batch->feature.at[k];
            *place = (uint32_t)distinct;
            offset[distinct] = 0;
        }
        offset[*place]++;
        batches->met[k] = *place - 1;
    }
    offset[0] = 0;
    for (size_t k = 1; k <= distinct; k++)
        offset[k] += offset[k - 1];
    for (uint32_t i = 0; i < batch->rows; i++) {
        for (uint32_t k = batch->offset.at[i]; k < batch->offset.at[i + 1];
             k++) {
            uint32_t *next = &offset[batches->met[k]];
            batch->sample.at[*next] = i;
            batch->weight.at[(*next)++] = batch->value.at[k];
        }
    }
    /* Filling has moved each offset to the start of the next one. */
    memmove(offset + 1, offset, distinct * sizeof(*offset));
    offset[0] = 0;
    for (size_t k = 0; k < distinct; k++)
        batches->place[batch->distinct.at[k]] = 0;
    assert(offset[distinct] == total);
    batch->distinct.count = distinct;
    batch->distinct_offset.count = distinct + 1;
}

static skn_status_t
post_batch(skn_batches_t *batches, skn_actor_t *actor, const skn_issue_t *issue,
           uint32_t rows, skn_error_t *error)
{
    size_t total = 0;
    bool is_training = issue->purpose == SKN_PURPOSE_TRAIN;
    for (uint32_t i = 0; i < rows; i++)
        total += batches->points[i].feature_count;
    size_t turned = is_training ? total : 0;
    if (turned > batches->met_room) {
        free(batches->met);
        batches->met_room = turned + turned / 4;
        batches->met = malloc(batches->met_room * sizeof(*batches->met));
        if (!batches->met) {
            batches->met_room = 0;
            return skn_fail(error, SKN_NO_MEMORY,
                            "no memory for the %zu features of a batch",
                            turned);
        }
    }
    size_t counts[] = { rows + 1,   total,  total, turned,
                        turned + 1, turned, turned };
    skn_batch_t *batch =
        skn_actor_message(actor, &skn_batch_schema, counts, error);
    if (!batch)
        return error->status;
    batch->batch = issue->batch;
    batch->floor = issue->floor;
    batch->horizon = issue->horizon;
    batch->purpose = issue->purpose;
    batch->rows = rows;
    batch->offset.at[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const skn_dataset_point_t *point = &batches->points[i];
        uint32_t at = batch->offset.at[i];
        if (i + POINTS_AHEAD < rows) {
            __builtin_prefetch(point[POINTS_AHEAD].feature);
            __builtin_prefetch(point[POINTS_AHEAD].value);
        }
        memcpy(batch->feature.at + at, point->feature,
               point->feature_count * sizeof(uint32_t));
        memcpy(batch->value.at + at, point->value,
               point->feature_count * sizeof(float));
        batch->offset.at[i + 1] = at + point->feature_count;
    }
    assert(batch->offset.at[rows] == total);
    if (is_training)
        transpose(batches, batch);
    else
        batch->distinct_offset.at[0] = 0;
    return skn_actor_post(actor, batch, error);
}

/* Collects the distinct labels of the batch, ascending. */
static void
collect_labels(skn_batches_t *batches, skn_labels_t *labels)
{
    uint32_t cursor = 0, count = (uint32_t)labels->label.count;
    for (size_t k = 0; k < count; k++)
        skn_rowset_add(&batches->met_labels, labels->label.at[k]);
    labels->distinct.count = skn_rowset_take(&batches->met_labels, &cursor,
                                             labels->distinct.at, count);
}

static skn_status_t
post_labels(skn_batches_t *batches, skn_actor_t *actor,
            const skn_issue_t *issue, uint32_t rows, skn_error_t *error)
{
    size_t total = 0;
    for (uint32_t i = 0; i < rows; i++)
        total += batches->points[i].label_count;
    size_t counts[] = { rows + 1, total, total };
    skn_labels_t *labels =
        skn_actor_message(actor, &skn_labels_schema, counts, error);
    if (!labels)
        return error->status;
    labels->batch = issue->batch;
    labels->floor = issue->floor;
    labels->horizon = issue->horizon;
    labels->purpose = issue->purpose;
    labels->rows = rows;
    labels->offset.at[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const skn_dataset_point_t *point = &batches->points[i];
        memcpy(labels->label.at + labels->offset.at[i], point->label,
               point->label_count * sizeof(uint32_t));
        labels->offset.at[i + 1] = labels->offset.at[i] + point->label_count;
    }
    assert(labels->offset.at[rows] == total);
    collect_labels(batches, labels);
    return skn_actor_post(actor, labels, error);
}

skn_status_t
skn_batches_post(skn_batches_t *batches, skn_actor_t *actor,
                 const skn_issue_t *issue, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    uint32_t rows = find_points(batches, issue->purpose, issue->batch);
    if (rows == 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu for purpose %u does not exist",
                        skn_actor_name(actor), (unsigned long long)issue->batch,
                        issue->purpose);
    if (skn_actor_receivers(actor, &skn_labels_schema) > 0)
        status = post_labels(batches, actor, issue, rows, error);
    if (status == SKN_OK && skn_actor_receivers(actor, &skn_batch_schema) > 0)
        status = post_batch(batches, actor, issue, rows, error);
    return status;
}

/* --- open and close ----------------------------------------------------- */

/* How many batches an epoch has: whole steps of `accumulate` batches. */
static skn_status_t
count_epoch(skn_batches_t *batches, uint32_t accumulate, skn_error_t *error)
{
    uint64_t count = batches->items[SKN_PURPOSE_TRAIN].count;
    uint64_t size = batch_items(batches);
    assert(count > 0 && count <= UINT32_MAX);
    bool only_whole = batches->kind->only_whole_batches;
    uint64_t made = skn_split_epoch(count, size, only_whole, 1);
    batches->per_epoch = skn_split_epoch(count, size, only_whole, accumulate);
    if (batches->per_epoch > 0)
        return SKN_OK;
    if (made == 0)
        (void)skn_fail(error, SKN_BAD_DATA,
                       "an epoch has no whole batch: its sequences have %llu "
                       "tokens, a batch has %u",
                       (unsigned long long)count * batches->item_rows,
                       batches->batch_rows);
    else
        (void)skn_fail(error, SKN_BAD_DATA,
                       "an epoch has %llu batch%s, fewer than the %u of a step",
                       (unsigned long long)made, made == 1 ? "" : "es",
                       accumulate);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "give more data, or make batches or steps smaller");
}

static skn_status_t
make_room(skn_batches_t *batches, skn_error_t *error)
{
    uint64_t count = batches->items[SKN_PURPOSE_TRAIN].count;
    batches->order = calloc(count + 1, sizeof(*batches->order));
    batches->points = calloc(batches->batch_rows, sizeof(*batches->points));
    batches->place = calloc(batches->feature_count, sizeof(*batches->place));
    if (batches->order && batches->points && batches->place)
        return skn_rowset_init(&batches->met_labels, batches->label_count,
                               error);
    return skn_fail(error, SKN_NO_MEMORY, "no memory for the order of %u %s",
                    (uint32_t)count,
                    batches->item_rows == 1 ? "points" : "sequences");
}

skn_status_t
skn_batches_open(skn_batches_t *batches, const skn_actor_t *actor,
                 skn_error_t *error)
{
    batches->feature_count = (uint32_t)skn_actor_option_int(actor, "features");
    batches->label_count = (uint32_t)skn_actor_option_int(actor, "labels");
    batches->batch_rows = (uint32_t)skn_actor_option_int(actor, "batch_rows");
    batches->seed = (uint64_t)skn_actor_option_int(actor, "seed");
    batches->test_rows = (uint64_t)skn_actor_option_int(actor, "test_rows");
    batches->order_epoch = UINT64_MAX;
    batches->kind = skn_actor_option_bool(actor, "tokens") ? &skn_batch_text
                                                           : &skn_batch_points;
    skn_status_t status = batches->kind->open(batches, actor, error);
    if (status == SKN_OK)
        status = count_epoch(
            batches, (uint32_t)skn_actor_option_int(actor, "accumulate"),
            error);
    return status == SKN_OK ? make_room(batches, error) : status;
}

void
skn_batches_close(skn_batches_t *batches)
{
    free(batches->order);
    free(batches->points);
    free(batches->place);
    free(batches->met);
    skn_rowset_fini(&batches->met_labels);
    if (batches->kind)
        batches->kind->close(batches);
}
