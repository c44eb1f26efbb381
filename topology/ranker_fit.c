/* ranker_fit.c - labels are taken up in runs, by whichever thread is free; each
 * run keeps what it found until all are there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/ranker_fit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Decision 0027 has what was tried. */
#define COST 1.0
#define ROUNDS_MAX 20u
#define VIOLATION_MAX 0.1
#define WEIGHT_MIN 0.1F

/* A label keeps so many weights whatever its share is. */
#define ROW_WEIGHTS_MIN 64u
/* Labels of a run. */
#define RUN_LABELS 512u

/* What one run of labels came to. */
typedef struct run {
    uint32_t *feature;
    float *weight;
    size_t count, room;
} run_t;

typedef struct fit {
    skn_ranker_t *ranker;
    const skn_dataset_t *dataset;
    const skn_ranker_examples_t *examples;
    uint64_t weight_max;
    run_t *run; /* [run_count] */
    uint32_t run_count;
    atomic_uint next;   /* run that nobody has taken up */
    atomic_bool failed; /* for want of memory */
} fit_t;

/* One thread's. */
typedef struct worker {
    fit_t *fit;
    float *w;          /* [features], 0 between labels */
    uint32_t *touched; /* [features] whose w may be other than 0 */
    size_t touched_count;
    bool *is_touched; /* [features] */
    uint32_t *point;  /* [examples_max] in the order of this round */
    double *alpha;    /* [examples_max] */
    double *square;   /* [examples_max] |x|^2 + 1 */
    size_t examples_max;
    float bias;
    uint64_t state; /* of the order */
} worker_t;

void
skn_ranker_examples_fini(skn_ranker_examples_t *examples)
{
    free(examples->offset);
    free(examples->point);
    *examples = (skn_ranker_examples_t){ 0 };
}

/* --- one label ----------------------------------------------------------- */

/* xorshift64*; the state is not 0. */
static uint64_t
draw(worker_t *worker, uint64_t below)
{
    uint64_t x = worker->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    worker->state = x;
    return ((x * UINT64_C(0x2545F4914F6CDD1D)) >> 32) * below >> 32;
}

static skn_dataset_point_t
point_of(const worker_t *worker, size_t i)
{
    return skn_dataset_point(worker->fit->dataset, worker->point[i] >> 1);
}

static void
take_examples(worker_t *worker, const uint32_t *example, size_t count)
{
    memcpy(worker->point, example, count * sizeof(*example));
    for (size_t i = 0; i < count; i++) {
        skn_dataset_point_t point = point_of(worker, i);
        worker->alpha[i] = 0.0;
        worker->square[i] = 1.0;
        for (uint32_t k = 0; k < point.feature_count; k++)
            worker->square[i] +=
                (double)point.value[k] * (double)point.value[k];
    }
    worker->bias = 0.0F;
    worker->touched_count = 0;
}

static double
margin(const worker_t *worker, const skn_dataset_point_t *point)
{
    double z = (double)worker->bias;
    for (uint32_t k = 0; k < point->feature_count; k++)
        z += (double)(worker->w[point->feature[k]] * point->value[k]);
    return z;
}

static void
add_point(worker_t *worker, const skn_dataset_point_t *point, float step)
{
    worker->bias += step;
    for (uint32_t k = 0; k < point->feature_count; k++) {
        uint32_t feature = point->feature[k];
        if (!worker->is_touched[feature]) {
            worker->is_touched[feature] = true;
            worker->touched[worker->touched_count++] = feature;
        }
        worker->w[feature] += step * point->value[k];
    }
}

static void
swap(worker_t *worker, size_t i, size_t j)
{
    uint32_t point = worker->point[i];
    double alpha = worker->alpha[i], square = worker->square[i];
    worker->point[i] = worker->point[j];
    worker->alpha[i] = worker->alpha[j];
    worker->square[i] = worker->square[j];
    worker->point[j] = point;
    worker->alpha[j] = alpha;
    worker->square[j] = square;
}

/* One step along the dual variable of example `i`; returns how far it was from
 * its optimum. */
static double
descend(worker_t *worker, size_t i)
{
    const double own = 1.0 / (2.0 * COST);
    skn_dataset_point_t point = point_of(worker, i);
    double y = worker->point[i] & 1 ? 1.0 : -1.0, alpha = worker->alpha[i];
    double gradient = y * margin(worker, &point) - 1.0 + own * alpha;
    double projected = alpha == 0.0 ? fmin(gradient, 0.0) : gradient;
    if (projected == 0.0)
        return 0.0;
    double next = fmax(alpha - gradient / (worker->square[i] + own), 0.0);
    worker->alpha[i] = next;
    add_point(worker, &point, (float)((next - alpha) * y));
    return fabs(projected);
}

static void
fit_row(worker_t *worker, size_t count)
{
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        double worst = 0.0;
        for (size_t i = 0; i < count; i++) {
            swap(worker, i, i + (size_t)draw(worker, count - i));
            worst = fmax(worst, descend(worker, i));
        }
        if (worst < VIOLATION_MAX)
            break;
    }
}

/* --- what is kept of it -------------------------------------------------- */

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

/* The least weight of a row that keeps at most `most`. */
static float
least_weight(worker_t *worker, size_t most, float *size)
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
make_room(run_t *run, size_t more)
{
    if (run->count + more <= run->room)
        return true;
    size_t room = 2 * (run->count + more);
    uint32_t *feature = realloc(run->feature, room * sizeof(*feature));
    if (feature)
        run->feature = feature;
    float *weight = realloc(run->weight, room * sizeof(*weight));
    if (weight)
        run->weight = weight;
    if (!feature || !weight)
        return false;
    run->room = room;
    return true;
}

/* Puts the row behind those of the run, and clears it. */
static bool
keep_row(worker_t *worker, run_t *run, uint32_t label, size_t examples)
{
    fit_t *fit = worker->fit;
    const skn_ranker_examples_t *all = fit->examples;
    size_t most =
        ROW_WEIGHTS_MIN + (size_t)((double)fit->weight_max * (double)examples /
                                   (double)all->offset[all->label_count]);
    size_t before = run->count, count = worker->touched_count;
    /* The room that the row may take is that of its sizes, first. */
    if (!make_room(run, count))
        return false;
    float least = least_weight(worker, most, run->weight + run->count);
    qsort(worker->touched, count, sizeof(*worker->touched), by_number);
    for (size_t t = 0; t < count; t++) {
        uint32_t feature = worker->touched[t];
        float weight = worker->w[feature];
        worker->w[feature] = 0.0F;
        worker->is_touched[feature] = false;
        if (fabsf(weight) < least)
            continue;
        run->feature[run->count] = feature;
        run->weight[run->count++] = weight;
    }
    fit->ranker->bias[label] = worker->bias;
    fit->ranker->offset[label + 1] = run->count - before;
    return true;
}

/* What it does not need it gives back, so that all runs take no more than the
 * weights that they hold. */
static void
trim(run_t *run)
{
    if (run->count == 0 || run->count == run->room)
        return;
    uint32_t *feature =
        realloc(run->feature, run->count * sizeof(*run->feature));
    if (feature)
        run->feature = feature;
    float *weight = realloc(run->weight, run->count * sizeof(*run->weight));
    if (weight)
        run->weight = weight;
    run->room = run->count;
}

/* --- all of them --------------------------------------------------------- */

static bool
fit_run(worker_t *worker, uint32_t which)
{
    fit_t *fit = worker->fit;
    const skn_ranker_examples_t *examples = fit->examples;
    uint32_t end = (which + 1) * RUN_LABELS;
    if (end > examples->label_count)
        end = examples->label_count;
    for (uint32_t label = which * RUN_LABELS; label < end; label++) {
        uint64_t first = examples->offset[label];
        size_t count = (size_t)(examples->offset[label + 1] - first);
        worker->state = UINT64_C(0x9E3779B97F4A7C15) ^ label;
        take_examples(worker, examples->point + first, count);
        fit_row(worker, count);
        if (!keep_row(worker, &fit->run[which], label, count))
            return false;
    }
    trim(&fit->run[which]);
    return true;
}

static void *
work(void *argument)
{
    worker_t *worker = argument;
    fit_t *fit = worker->fit;
    while (!atomic_load(&fit->failed)) {
        uint32_t which = atomic_fetch_add(&fit->next, 1);
        if (which >= fit->run_count)
            break;
        if (!fit_run(worker, which))
            atomic_store(&fit->failed, true);
    }
    return NULL;
}

static bool
worker_init(worker_t *worker, fit_t *fit)
{
    size_t features = fit->ranker->feature_count;
    const skn_ranker_examples_t *examples = fit->examples;
    size_t most = 0;
    for (uint32_t l = 0; l < examples->label_count; l++) {
        size_t count = (size_t)(examples->offset[l + 1] - examples->offset[l]);
        if (count > most)
            most = count;
    }
    *worker = (worker_t){ .fit = fit, .examples_max = most };
    worker->w = calloc(features + 1, sizeof(*worker->w));
    worker->touched = malloc((features + 1) * sizeof(*worker->touched));
    worker->is_touched = calloc(features + 1, sizeof(*worker->is_touched));
    worker->point = malloc((most + 1) * sizeof(*worker->point));
    worker->alpha = malloc((most + 1) * sizeof(*worker->alpha));
    worker->square = malloc((most + 1) * sizeof(*worker->square));
    return worker->w && worker->touched && worker->is_touched &&
           worker->point && worker->alpha && worker->square;
}

static void
worker_fini(worker_t *worker)
{
    free(worker->w);
    free(worker->touched);
    free(worker->is_touched);
    free(worker->point);
    free(worker->alpha);
    free(worker->square);
}

/* The caller is one of the threads; those that cannot be had are missed by
 * nobody. */
static void
work_all(worker_t *worker, uint32_t count)
{
    pthread_t thread[SKN_RANKER_THREADS_MAX];
    uint32_t started = 0;
    while (started + 1 < count && pthread_create(&thread[started], NULL, work,
                                                 &worker[started + 1]) == 0)
        started++;
    (void)work(&worker[0]);
    for (uint32_t t = 0; t < started; t++)
        (void)pthread_join(thread[t], NULL);
}

/* The runs, one behind the other. */
static bool
gather(fit_t *fit)
{
    skn_ranker_t *ranker = fit->ranker;
    uint64_t done = 0;
    for (uint32_t l = 0; l < ranker->label_count; l++)
        ranker->offset[l + 1] += ranker->offset[l];
    ranker->weight_count = ranker->offset[ranker->label_count];
    ranker->feature =
        malloc((ranker->weight_count + 1) * sizeof(*ranker->feature));
    ranker->weight =
        malloc((ranker->weight_count + 1) * sizeof(*ranker->weight));
    if (!ranker->feature || !ranker->weight)
        return false;
    for (uint32_t r = 0; r < fit->run_count; r++) {
        run_t *run = &fit->run[r];
        if (run->count > 0) {
            memcpy(ranker->feature + done, run->feature,
                   run->count * sizeof(*run->feature));
            memcpy(ranker->weight + done, run->weight,
                   run->count * sizeof(*run->weight));
        }
        done += run->count;
        free(run->feature);
        free(run->weight);
        *run = (run_t){ 0 };
    }
    return true;
}

skn_status_t
skn_ranker_fit(skn_ranker_t *ranker, const skn_dataset_t *dataset,
               const skn_ranker_examples_t *examples, uint32_t feature_count,
               uint64_t weight_max, uint32_t thread_count, skn_error_t *error)
{
    worker_t worker[SKN_RANKER_THREADS_MAX];
    fit_t fit = {
        .ranker = ranker,
        .dataset = dataset,
        .examples = examples,
        .weight_max = weight_max,
        .run_count = (examples->label_count + RUN_LABELS - 1) / RUN_LABELS,
    };
    uint32_t ready = 0;
    if (thread_count > SKN_RANKER_THREADS_MAX)
        thread_count = SKN_RANKER_THREADS_MAX;
    *ranker = (skn_ranker_t){ .label_count = examples->label_count,
                              .feature_count = feature_count };
    ranker->offset =
        calloc(examples->label_count + (size_t)1, sizeof(*ranker->offset));
    ranker->bias =
        calloc(examples->label_count + (size_t)1, sizeof(*ranker->bias));
    fit.run = calloc(fit.run_count + (size_t)1, sizeof(*fit.run));
    bool good = ranker->offset && ranker->bias && fit.run;
    while (good && ready < (thread_count ? thread_count : 1))
        good = worker_init(&worker[ready++], &fit);
    if (good)
        work_all(worker, ready);
    good = good && !atomic_load(&fit.failed) && gather(&fit);
    while (ready > 0)
        worker_fini(&worker[--ready]);
    for (uint32_t r = 0; fit.run && r < fit.run_count; r++) {
        free(fit.run[r].feature);
        free(fit.run[r].weight);
    }
    free(fit.run);
    if (!good || ranker->weight_count == 0)
        skn_ranker_fini(ranker);
    return good ? SKN_OK
                : skn_fail(error, SKN_NO_MEMORY,
                           "no room for a ranker of %u labels",
                           examples->label_count);
}
