/* batch_points.c - the points of a data set as the items of batches.
 *
 * Points without labels are not trained on (they have no loss); they are
 * evaluated. Points without features are trained on, for the biases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/batch_items.h"

#include <stdlib.h>

#include "actors/protocol/data.h"
#include "actors/protocol/split.h"

typedef struct batch_points {
    skn_dataset_t *train, *test; /* test: NULL if there is none */
    skn_split_t split;
} batch_points_t;

static skn_status_t
open_files(skn_batches_t *batches, batch_points_t *points,
           const skn_actor_t *actor, skn_error_t *error)
{
    skn_data_t data = skn_data_of(actor);
    data.test = skn_actor_option_text(actor, "test");
    data.memory_bytes = (uint64_t)skn_actor_option_int(actor, "memory_bytes");
    data.features = batches->feature_count;
    data.labels = batches->label_count;
    data.questions = skn_actor_option_bool(actor, "questions");
    skn_status_t status = skn_data_open_train(&data, &points->train, error);
    if (status == SKN_OK && skn_data_has_test(&data))
        status = skn_data_open_test(&data, points->train, &points->test, error);
    if (status != SKN_OK)
        return status;
    batches->data_hash = skn_data_hash(0, points->train);
    if (points->test)
        batches->data_hash = skn_data_hash(batches->data_hash, points->test);
    return SKN_OK;
}

static skn_status_t
points_open(skn_batches_t *batches, const skn_actor_t *actor,
            skn_error_t *error)
{
    batch_points_t *points = calloc(1, sizeof(*points));
    batches->data = points;
    if (!points)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for the data sets");
    skn_status_t status = open_files(batches, points, actor, error);
    if (status == SKN_OK)
        status = skn_split_init(&points->split, points->train,
                                skn_actor_option_real(actor, "validate"),
                                batches->seed, error);
    if (status != SKN_OK)
        return status;
    const skn_split_t *split = &points->split;
    uint64_t tests =
        points->test ? skn_dataset_info(points->test)->point_count : 0;
    if (batches->test_rows > 0 && tests > batches->test_rows)
        tests = batches->test_rows;
    batches->item_rows = 1;
    batches->items[SKN_PURPOSE_TRAIN] =
        (skn_batch_items_t){ split->train, split->train_count };
    batches->items[SKN_PURPOSE_VALIDATE] =
        (skn_batch_items_t){ split->validate, split->validate_count };
    batches->items[SKN_PURPOSE_TEST] = (skn_batch_items_t){ NULL, tests };
    batches->has_test = points->test != NULL;
    return SKN_OK;
}

static void
points_look_up(skn_batches_t *batches, uint32_t purpose, uint64_t item,
               uint32_t row)
{
    const batch_points_t *points = batches->data;
    batches->points[row] = skn_dataset_point(
        purpose == SKN_PURPOSE_TEST ? points->test : points->train, item);
}

static void
points_close(skn_batches_t *batches)
{
    batch_points_t *points = batches->data;
    if (!points)
        return;
    skn_split_fini(&points->split);
    skn_dataset_close(&points->train);
    skn_dataset_close(&points->test);
    free(points);
}

const skn_batch_kind_t skn_batch_points = {
    .open = points_open,
    .look_up = points_look_up,
    .close = points_close,
};
