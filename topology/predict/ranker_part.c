/* ranker_part.c - splits a group's labels into two halves of similar ones.
 *
 * A label is represented by the sum of its points, scaled to length 1. The
 * labels of a group are split by which of two such centroids they are more
 * similar to, so that each centroid gets half of them. No sum is stored: the
 * similarity of a point to a centroid is computed once, and added up over the
 * points of a label.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/predict/ranker_internal.h"

#define MEANS_ROUNDS_MAX 20u
/* Smallest gain in the mean similarity of a label that counts as progress. */
#define PROGRESS_MIN 1e-4

static bool
is_before(const skn_ranker_key_t *a, const skn_ranker_key_t *b)
{
    return a->likeness > b->likeness ||
           (a->likeness == b->likeness && a->label < b->label);
}

static void
exchange(skn_ranker_key_t *key, size_t i, size_t j)
{
    skn_ranker_key_t kept = key[i];
    key[i] = key[j];
    key[j] = kept;
}

/* Moves the `half` first of key[count] to the front, in no order (Hoare,
 * "Algorithm 65: find", 1961). No two keys are equal: their labels differ. */
static void
select_first(skn_ranker_key_t *key, size_t count, size_t half)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t to = low;
        exchange(key, low + (high - low) / 2, high - 1);
        for (size_t k = low; k + 1 < high; k++)
            if (is_before(&key[k], &key[high - 1]))
                exchange(key, k, to++);
        exchange(key, to, high - 1); /* [low, to) are before it */
        if (half == to)
            return;
        if (half < to)
            high = to;
        else
            low = to + 1;
    }
}

static void
add_point(const skn_ranker_worker_t *worker, float *centroid, uint32_t point,
          float share)
{
    skn_dataset_point_t x =
        skn_dataset_point(worker->grove->source->dataset, point);
    for (uint32_t k = 0; k < x.feature_count; k++)
        centroid[x.feature[k]] += share * x.value[k];
}

static void
add_label(const skn_ranker_worker_t *worker, float *centroid, uint32_t label)
{
    const skn_label_points_t *has = worker->grove->source->has;
    for (uint64_t k = has->offset[label]; k < has->offset[label + 1]; k++)
        add_point(worker, centroid, has->point[k], worker->grove->norm[label]);
}

/* All features of the group's points: a centroid can have no others. */
static void
touch_features(skn_ranker_worker_t *worker)
{
    worker->touched_count = 0;
    for (size_t i = 0; i < worker->point_count; i++) {
        skn_dataset_point_t x =
            skn_dataset_point(worker->grove->source->dataset, worker->point[i]);
        for (uint32_t k = 0; k < x.feature_count; k++) {
            uint32_t feature = x.feature[k];
            if (worker->is_touched[feature])
                continue;
            worker->is_touched[feature] = true;
            worker->touched[worker->touched_count++] = feature;
        }
    }
}

static void
clear(skn_ranker_worker_t *worker)
{
    for (size_t t = 0; t < worker->touched_count; t++)
        worker->w[worker->touched[t]] = worker->other[worker->touched[t]] =
            0.0F;
}

static double
length_of(const skn_ranker_worker_t *worker, const float *centroid)
{
    double square = 0.0;
    for (size_t t = 0; t < worker->touched_count; t++) {
        double x = (double)centroid[worker->touched[t]];
        square += x * x;
    }
    return square > 0.0 ? sqrt(square) : 1.0;
}

/* The difference of a label's similarities to the first and the second
 * centroid. */
static void
compare(skn_ranker_worker_t *worker, const uint32_t *label, size_t count)
{
    const skn_ranker_grove_t *grove = worker->grove;
    const skn_label_points_t *has = grove->source->has;
    float first = (float)(1.0 / length_of(worker, worker->w));
    float second = (float)(1.0 / length_of(worker, worker->other));
    for (size_t i = 0; i < worker->point_count; i++) {
        skn_dataset_point_t x =
            skn_dataset_point(grove->source->dataset, worker->point[i]);
        float sum = 0.0F;
        for (uint32_t k = 0; k < x.feature_count; k++)
            sum += x.value[k] * (first * worker->w[x.feature[k]] -
                                 second * worker->other[x.feature[k]]);
        worker->score[worker->point[i]] = sum;
    }
    for (size_t q = 0; q < count; q++) {
        double sum = 0.0;
        for (uint64_t k = has->offset[label[q]]; k < has->offset[label[q] + 1];
             k++)
            sum += (double)worker->score[has->point[k]];
        worker->key[q] = (skn_ranker_key_t){
            .likeness = sum * (double)grove->norm[label[q]],
            .label = label[q],
        };
    }
}

/* The mean similarity of the labels to the centroid of their half. */
static double
gain(const skn_ranker_key_t *key, size_t count)
{
    double sum = 0.0;
    for (size_t q = 0; q < count; q++)
        sum += q < count / 2 ? key[q].likeness : -key[q].likeness;
    return sum / (double)count;
}

static void
start(skn_ranker_worker_t *worker, const uint32_t *label, size_t count)
{
    size_t first = (size_t)skn_ranker_draw(worker, count);
    size_t second = (size_t)skn_ranker_draw(worker, count - 1);
    second += second >= first;
    add_label(worker, worker->w, label[first]);
    add_label(worker, worker->other, label[second]);
}

void
skn_ranker_part(skn_ranker_worker_t *worker, const skn_ranker_group_t *group)
{
    const skn_ranker_grove_t *grove = worker->grove;
    const skn_label_points_t *has = grove->source->has;
    uint32_t *label =
        grove->label + (size_t)group->tree * grove->label_count + group->first;
    size_t count = group->end - group->first;
    double before = -INFINITY;
    touch_features(worker);
    start(worker, label, count);
    for (uint32_t round = 0; round < MEANS_ROUNDS_MAX; round++) {
        compare(worker, label, count);
        select_first(worker->key, count, count / 2);
        for (size_t q = 0; q < count; q++)
            label[q] = worker->key[q].label;
        double now = gain(worker->key, count);
        clear(worker);
        if (now - before < PROGRESS_MIN)
            break;
        before = now;
        for (size_t q = 0; q < count; q++)
            add_label(worker, q < count / 2 ? worker->w : worker->other,
                      label[q]);
    }
    clear(worker);
    for (size_t t = 0; t < worker->touched_count; t++)
        worker->is_touched[worker->touched[t]] = false;
    worker->touched_count = 0;
    for (size_t q = 0; q < count; q++)
        for (uint64_t k = has->offset[label[q]]; k < has->offset[label[q] + 1];
             k++)
            worker->side[has->point[k]] |= q < count / 2 ? 1 : 2;
}
