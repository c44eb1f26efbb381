/* ranker_row.c - fits the rows of a group's nodes, one after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/predict/ranker_internal.h"

/* Decision 0027 has the values that were tried. */
#define COST 1.0
#define DESCENT_ROUNDS_MAX 20u
#define VIOLATION_MAX 0.1
#define WEIGHT_MIN 0.1F

/* --- a thread's memory --------------------------------------------------- */

bool
skn_ranker_worker_init(skn_ranker_worker_t *worker, skn_ranker_grove_t *grove)
{
    const skn_ranker_source_t *source = grove->source;
    const skn_label_points_t *taken = source->taken;
    size_t features = (size_t)source->feature_count + 1;
    size_t points = (size_t)skn_dataset_info(source->dataset)->point_count + 1;
    size_t most = 0;
    for (uint32_t l = 0; l < taken->label_count; l++) {
        size_t count = (size_t)(taken->offset[l + 1] - taken->offset[l]);
        if (count > most)
            most = count;
    }
    *worker = (skn_ranker_worker_t){ .grove = grove };
    worker->w = calloc(features, sizeof(*worker->w));
    worker->other = calloc(features, sizeof(*worker->other));
    worker->touched = malloc(features * sizeof(*worker->touched));
    worker->is_touched = calloc(features, sizeof(*worker->is_touched));
    worker->seen = calloc(points, sizeof(*worker->seen));
    worker->score = malloc(points * sizeof(*worker->score));
    worker->side = calloc(points, sizeof(*worker->side));
    worker->point = malloc(points * sizeof(*worker->point));
    worker->key =
        malloc((grove->label_count + (size_t)1) * sizeof(*worker->key));
    worker->example = malloc((points + most) * sizeof(*worker->example));
    worker->alpha = malloc((points + most) * sizeof(*worker->alpha));
    return worker->w && worker->other && worker->touched &&
           worker->is_touched && worker->seen && worker->score &&
           worker->side && worker->point && worker->key && worker->example &&
           worker->alpha;
}

void
skn_ranker_worker_fini(skn_ranker_worker_t *worker)
{
    free(worker->w);
    free(worker->other);
    free(worker->touched);
    free(worker->is_touched);
    free(worker->seen);
    free(worker->score);
    free(worker->side);
    free(worker->point);
    free(worker->key);
    free(worker->example);
    free(worker->alpha);
}

/* xorshift64*; the state is not 0. */
uint64_t
skn_ranker_draw(skn_ranker_worker_t *worker, uint64_t below)
{
    uint64_t x = worker->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    worker->state = x;
    return ((x * UINT64_C(0x2545F4914F6CDD1D)) >> 32) * below >> 32;
}

/* The seed does not depend on the thread: for a row (0 as the second), or for
 * the split of a group (1 + its tree). */
static void
reseed(skn_ranker_worker_t *worker, uint64_t first, uint64_t second)
{
    uint64_t x = worker->grove->source->seed +
                 (first << 32 | second) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    worker->state = (x ^ x >> 31) | 1;
}

/* --- margins ------------------------------------------------------------- */

static skn_dataset_point_t
point_of(const skn_ranker_worker_t *worker, uint32_t point)
{
    return skn_dataset_point(worker->grove->source->dataset, point);
}

static float
margin(const skn_ranker_worker_t *worker, const skn_dataset_point_t *x)
{
    float z = worker->bias;
    for (uint32_t k = 0; k < x->feature_count; k++)
        z += worker->w[x->feature[k]] * x->value[k];
    return z;
}

static void
add_point(skn_ranker_worker_t *worker, const skn_dataset_point_t *x, float step)
{
    worker->bias += step;
    for (uint32_t k = 0; k < x->feature_count; k++) {
        uint32_t feature = x->feature[k];
        if (!worker->is_touched[feature]) {
            worker->is_touched[feature] = true;
            worker->touched[worker->touched_count++] = feature;
        }
        worker->w[feature] += step * x->value[k];
    }
}

bool
skn_ranker_measure(skn_ranker_worker_t *worker)
{
    skn_ranker_grove_t *grove = worker->grove;
    const skn_label_points_t *has = grove->source->has;
    uint64_t points = skn_dataset_info(grove->source->dataset)->point_count;
    grove->norm = malloc((has->label_count + (size_t)1) * sizeof(float));
    grove->square = malloc((points + 1) * sizeof(float));
    if (!grove->norm || !grove->square)
        return false;
    for (uint64_t i = 0; i < points; i++) {
        skn_dataset_point_t x = point_of(worker, (uint32_t)i);
        float square = 1.0F;
        for (uint32_t k = 0; k < x.feature_count; k++)
            square += x.value[k] * x.value[k];
        grove->square[i] = square;
    }
    for (uint32_t l = 0; l < has->label_count; l++) {
        double square = 0.0;
        worker->touched_count = 0;
        for (uint64_t k = has->offset[l]; k < has->offset[l + 1]; k++) {
            skn_dataset_point_t x = point_of(worker, has->point[k]);
            add_point(worker, &x, 1.0F);
        }
        for (size_t t = 0; t < worker->touched_count; t++) {
            float *w = &worker->w[worker->touched[t]];
            square += (double)*w * (double)*w;
            *w = 0.0F;
            worker->is_touched[worker->touched[t]] = false;
        }
        grove->norm[l] = square > 0.0 ? (float)(1.0 / sqrt(square)) : 0.0F;
    }
    return true;
}

/* --- one row ------------------------------------------------------------- */

static void
swap(const skn_ranker_worker_t *worker, size_t i, size_t j)
{
    uint32_t example = worker->example[i];
    double alpha = worker->alpha[i];
    worker->example[i] = worker->example[j];
    worker->alpha[i] = worker->alpha[j];
    worker->example[j] = example;
    worker->alpha[j] = alpha;
}

/* One step along the dual variable of example `i`; returns how far it was from
 * its optimum. */
static double
descend(skn_ranker_worker_t *worker, size_t i)
{
    const double own = 1.0 / (2.0 * COST);
    uint32_t point = worker->example[i] >> 1;
    skn_dataset_point_t x = point_of(worker, point);
    double y = worker->example[i] & 1 ? 1.0 : -1.0, alpha = worker->alpha[i];
    double gradient = y * (double)margin(worker, &x) - 1.0 + own * alpha;
    double projected = alpha == 0.0 ? fmin(gradient, 0.0) : gradient;
    if (projected == 0.0)
        return 0.0;
    double next =
        alpha - gradient / ((double)worker->grove->square[point] + own);
    worker->alpha[i] = fmax(next, 0.0);
    add_point(worker, &x, (float)((worker->alpha[i] - alpha) * y));
    return fabs(projected);
}

static void
fit_row(skn_ranker_worker_t *worker)
{
    size_t count = worker->example_count;
    worker->bias = 0.0F;
    worker->touched_count = 0;
    for (size_t i = 0; i < count; i++)
        worker->alpha[i] = 0.0;
    for (uint32_t round = 0; round < DESCENT_ROUNDS_MAX; round++) {
        double worst = 0.0;
        for (size_t i = 0; i < count; i++) {
            swap(worker, i, i + (size_t)skn_ranker_draw(worker, count - i));
            worst = fmax(worst, descend(worker, i));
        }
        if (worst < VIOLATION_MAX)
            break;
    }
}

/* --- keeping a row ------------------------------------------------------- */

static int
by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int
by_size(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a < b) - (a > b);
}

/* The least weight that is kept if a row keeps at most `most`. */
static float
least_weight(const skn_ranker_worker_t *worker, size_t most, float *size)
{
    size_t count = 0;
    for (size_t t = 0; t < worker->touched_count; t++) {
        float weight = fabsf(worker->w[worker->touched[t]]);
        if (weight >= WEIGHT_MIN)
            size[count++] = weight;
    }
    if (count <= most)
        return WEIGHT_MIN;
    qsort(size, count, sizeof(*size), by_size);
    return nextafterf(size[most], INFINITY);
}

static bool
make_room(skn_ranker_group_t *group, size_t more)
{
    if (group->count + more <= group->room)
        return true;
    size_t room = group->count + more + group->count / 2;
    uint32_t *feature = realloc(group->feature, room * sizeof(*feature));
    if (feature)
        group->feature = feature;
    float *weight = realloc(group->weight, room * sizeof(*weight));
    if (weight)
        group->weight = weight;
    if (!feature || !weight)
        return false;
    group->room = room;
    return true;
}

/* Frees the memory that the rows of a group do not need. */
static void
trim(skn_ranker_group_t *group)
{
    if (group->count == 0 || group->count == group->room)
        return;
    uint32_t *feature =
        realloc(group->feature, group->count * sizeof(*group->feature));
    if (feature)
        group->feature = feature;
    float *weight =
        realloc(group->weight, group->count * sizeof(*group->weight));
    if (weight)
        group->weight = weight;
}

/* Half of all weights are for labels, in proportion to their points; the other
 * half is for the levels above. */
static size_t
weights_for(const skn_ranker_worker_t *worker, bool is_split, uint64_t pairs)
{
    const skn_ranker_source_t *source = worker->grove->source;
    const skn_label_points_t *has = source->has;
    double levels =
        is_split ? fmax(log2((double)worker->grove->label_count), 1.0) : 1.0;
    return SKN_RANKER_ROW_WEIGHTS_MIN +
           (size_t)((double)source->weight_max / 2.0 /
                    (double)source->tree_count / levels * (double)pairs /
                    (double)has->offset[has->label_count]);
}

/* Appends the row to those of the group, and clears it. */
static bool
keep_row(skn_ranker_worker_t *worker, skn_ranker_group_t *group, uint32_t node,
         size_t most)
{
    skn_ranker_t *ranker = worker->grove->ranker;
    size_t before = group->count, count = worker->touched_count;
    /* The room for the row first holds the sizes of its weights. */
    if (!make_room(group, count))
        return false;
    float least = least_weight(worker, most, group->weight + group->count);
    qsort(worker->touched, count, sizeof(*worker->touched), by_number);
    for (size_t t = 0; t < count; t++) {
        uint32_t feature = worker->touched[t];
        float weight = worker->w[feature];
        worker->w[feature] = 0.0F;
        worker->is_touched[feature] = false;
        if (fabsf(weight) < least)
            continue;
        group->feature[group->count] = feature;
        group->weight[group->count++] = weight;
    }
    ranker->bias[node] = worker->bias;
    ranker->offset[node + 1] = group->count - before;
    return true;
}

/* --- a group ------------------------------------------------------------- */

static void
see_points(skn_ranker_worker_t *worker, const uint32_t *label, uint32_t count)
{
    const skn_label_points_t *has = worker->grove->source->has;
    worker->stamp++;
    worker->point_count = 0;
    for (uint32_t q = 0; q < count; q++)
        for (uint64_t k = has->offset[label[q]]; k < has->offset[label[q] + 1];
             k++) {
            uint32_t point = has->point[k];
            if (worker->seen[point] == worker->stamp)
                continue;
            worker->seen[point] = worker->stamp;
            worker->point[worker->point_count++] = point;
        }
}

/* Uses all points of the group; those whose `side` has `bit` belong to the
 * node. */
static void
take_seen(skn_ranker_worker_t *worker, uint8_t bit)
{
    worker->example_count = worker->point_count;
    for (size_t i = 0; i < worker->point_count; i++) {
        uint32_t point = worker->point[i];
        worker->example[i] = 2 * point + ((worker->side[point] & bit) != 0);
    }
}

static void
take_taken(skn_ranker_worker_t *worker, uint32_t label)
{
    const skn_label_points_t *taken = worker->grove->source->taken;
    for (uint64_t k = taken->offset[label]; k < taken->offset[label + 1]; k++)
        if (worker->seen[taken->point[k]] != worker->stamp)
            worker->example[worker->example_count++] = 2 * taken->point[k];
}

static bool
work_halves(skn_ranker_worker_t *worker, skn_ranker_group_t *group)
{
    uint64_t pairs[2] = { 0, 0 };
    bool good = true;
    skn_ranker_part(worker, group);
    for (size_t i = 0; i < worker->point_count; i++)
        for (uint32_t s = 0; s < 2; s++)
            pairs[s] += worker->side[worker->point[i]] >> s & 1;
    skn_ranker_offer(worker->grove, group);
    for (uint32_t s = 0; s < 2 && good; s++) {
        take_seen(worker, (uint8_t)(1 << s));
        reseed(worker, group->node[s], 0);
        fit_row(worker);
        good = keep_row(worker, group, group->node[s],
                        weights_for(worker, true, pairs[s]));
    }
    for (size_t i = 0; i < worker->point_count; i++)
        worker->side[worker->point[i]] = 0;
    return good;
}

static bool
work_leaves(skn_ranker_worker_t *worker, skn_ranker_group_t *group,
            const uint32_t *label)
{
    const skn_label_points_t *has = worker->grove->source->has;
    bool good = true;
    for (uint32_t q = 0; q < group->end - group->first && good; q++) {
        uint64_t first = has->offset[label[q]], end = has->offset[label[q] + 1];
        for (uint64_t k = first; k < end; k++)
            worker->side[has->point[k]] = 1;
        take_seen(worker, 1);
        take_taken(worker, label[q]);
        for (uint64_t k = first; k < end; k++)
            worker->side[has->point[k]] = 0;
        reseed(worker, group->node[0] + q, 0);
        fit_row(worker);
        good = keep_row(worker, group, group->node[0] + q,
                        weights_for(worker, false, end - first));
    }
    return good;
}

bool
skn_ranker_work(skn_ranker_worker_t *worker, skn_ranker_group_t *group)
{
    const skn_ranker_grove_t *grove = worker->grove;
    const uint32_t *label =
        grove->label + (size_t)group->tree * grove->label_count + group->first;
    see_points(worker, label, group->end - group->first);
    reseed(worker, group->first, group->tree + 1);
    bool good = group->is_split ? work_halves(worker, group)
                                : work_leaves(worker, group, label);
    trim(group);
    return good;
}
