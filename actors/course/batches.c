/* batches.c - makes batches from the points of a data set: order, features,
 * labels.
 *
 * The order of an epoch's points depends only on (seed, epoch). Points without
 * labels are not trained on (they have no loss); they are evaluated. Points
 * without features are trained on, for the biases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/batches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"

/* Features and points that are prefetched: both are at random places in tables
 * that no cache holds. */
#define BATCHES_AHEAD 16
#define POINTS_AHEAD 4

/* The points of a pass, in the order of the list, or of the file (NULL). */
static const uint32_t *
points_of(const skn_batches_t *batches, uint32_t purpose, uint64_t *count)
{
    if (purpose == SKN_PURPOSE_TRAIN) {
        *count = batches->split.train_count;
        return batches->order;
    }
    if (purpose == SKN_PURPOSE_VALIDATE) {
        *count = batches->split.validate_count;
        return batches->split.validate;
    }
    *count = batches->test ? skn_dataset_info(batches->test)->point_count : 0;
    if (batches->test_rows > 0 && *count > batches->test_rows)
        *count = batches->test_rows;
    return NULL;
}

uint64_t
skn_batches_of_pass(const skn_batches_t *batches, skn_purpose_t purpose)
{
    uint64_t count;
    (void)points_of(batches, purpose, &count);
    return skn_split_batches(count, batches->batch_rows);
}

/* Fisher & Yates, with draws keyed by (seed, epoch). */
static void
shuffle(skn_batches_t *batches, uint64_t epoch)
{
    uint64_t key = skn_draw_key(batches->seed, SKN_DRAW_SHUFFLE, epoch);
    uint32_t count = batches->split.train_count;
    if (batches->order_epoch == epoch)
        return;
    batches->order_epoch = epoch;
    memcpy(batches->order, batches->split.train, count * sizeof(uint32_t));
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
    const skn_dataset_t *dataset =
        purpose == SKN_PURPOSE_TEST ? batches->test : batches->train;
    uint64_t count, number = batch;
    const uint32_t *list = points_of(batches, purpose, &count);
    if (purpose == SKN_PURPOSE_TRAIN) {
        shuffle(batches, batch / batches->per_epoch);
        number = batch % batches->per_epoch;
    } else if (number >= skn_split_batches(count, batches->batch_rows)) {
        return 0;
    }
    uint64_t first = number * batches->batch_rows;
    uint32_t rows = 0;
    while (rows < batches->batch_rows && first + rows < count) {
        uint64_t at = list ? list[first + rows] : first + rows;
        batches->points[rows++] = skn_dataset_point(dataset, at);
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

static skn_status_t
open_data(skn_batches_t *batches, const skn_actor_t *actor,
          uint32_t feature_count, skn_error_t *error)
{
    const char *test = skn_actor_option_text(actor, "test");
    skn_data_t data = {
        .normalize = skn_actor_option_text(actor, "normalize"),
        .cache = skn_actor_option_text(actor, "cache"),
        .memory_bytes = (uint64_t)skn_actor_option_int(actor, "memory_bytes"),
        .features = feature_count,
        .labels = batches->label_count,
        .questions = skn_actor_option_bool(actor, "questions"),
    };
    skn_status_t status =
        skn_data_open(&data, skn_actor_option_text(actor, "train"), "train",
                      &batches->train, error);
    if (status == SKN_OK && test[0])
        status = skn_data_open(&data, test, "test", &batches->test, error);
    if (status != SKN_OK)
        return status;
    batches->data_hash = skn_data_hash(0, batches->train);
    if (batches->test)
        batches->data_hash = skn_data_hash(batches->data_hash, batches->test);
    return SKN_OK;
}

static skn_status_t
make_room(skn_batches_t *batches, uint32_t feature_count, skn_error_t *error)
{
    batches->order =
        calloc((size_t)batches->split.train_count + 1, sizeof(*batches->order));
    batches->points = calloc(batches->batch_rows, sizeof(*batches->points));
    batches->place = calloc(feature_count, sizeof(*batches->place));
    if (batches->order && batches->points && batches->place)
        return skn_rowset_init(&batches->met_labels, batches->label_count,
                               error);
    return skn_fail(error, SKN_NO_MEMORY,
                    "no memory for the order of %u points",
                    batches->split.train_count);
}

skn_status_t
skn_batches_open(skn_batches_t *batches, const skn_actor_t *actor,
                 skn_error_t *error)
{
    uint32_t feature_count = (uint32_t)skn_actor_option_int(actor, "features");
    batches->label_count = (uint32_t)skn_actor_option_int(actor, "labels");
    batches->batch_rows = (uint32_t)skn_actor_option_int(actor, "batch_rows");
    batches->seed = (uint64_t)skn_actor_option_int(actor, "seed");
    batches->test_rows = (uint64_t)skn_actor_option_int(actor, "test_rows");
    batches->order_epoch = UINT64_MAX;
    skn_status_t status = open_data(batches, actor, feature_count, error);
    if (status == SKN_OK)
        status = skn_split_init(&batches->split, batches->train,
                                skn_actor_option_real(actor, "validate"),
                                batches->seed, error);
    if (status != SKN_OK)
        return status;
    batches->per_epoch =
        skn_split_batches(batches->split.train_count, batches->batch_rows);
    assert(batches->per_epoch > 0);
    return make_room(batches, feature_count, error);
}

void
skn_batches_close(skn_batches_t *batches)
{
    free(batches->order);
    free(batches->points);
    free(batches->place);
    free(batches->met);
    skn_rowset_fini(&batches->met_labels);
    skn_split_fini(&batches->split);
    skn_dataset_close(&batches->train);
    skn_dataset_close(&batches->test);
}
