/* rank.c - finds the points that a network wrongly ranks under a label, and
 * fits a ranker that tells them apart.
 *
 * It uses threads, not actors: for some seconds all read the same network and
 * the same mapped file, and none waits for another's result.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/rank.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "actors/protocol/split.h"
#include "topology/predict/point_rows.h"
#include "topology/predict/predictor_internal.h"
#include "topology/predict/ranker_fit.h"
#include "topology/run/resume.h"
#include "transport/socket/parallel_for.h"

#define SHOWN_EACH SKN_RANK_SHOWN_EACH
#define NEIGHBOURS SKN_RANK_NEIGHBOURS

/* With more labels, an index finds the labels that the network ranks first. */
#define EXACT_LABELS_MAX 8192u

/* Point numbers in an example are below this. */
#define POINTS_MAX (UINT32_MAX / 2)

typedef struct rank {
    skn_predictor_t *predictor;
    skn_dataset_t *dataset;
    skn_split_t split;
    uint32_t shown; /* points that are given to the network */
    uint32_t neighbours;
    uint32_t *label;         /* [shown][neighbours]; UINT32_MAX: none */
    atomic_uint next;        /* next group of points that no thread has taken */
    const atomic_bool *stop; /* as in the options */
    atomic_bool failed;
    skn_error_t error; /* the first failure */
    pthread_mutex_t mutex;
} rank_t;

static skn_status_t
check_stop(const rank_t *rank, skn_error_t *error)
{
    return rank->stop && atomic_load(rank->stop)
               ? skn_fail(error, SKN_UNAVAILABLE,
                          "the ranker was stopped before it was fitted")
               : SKN_OK;
}

/* --- the network's best labels ------------------------------------------- */

/* A group of points that are given to the network. */
typedef struct group {
    skn_point_rows_t rows;
    uint32_t point[SKN_NETWORK_POINTS_MAX];
    float score[SKN_NETWORK_POINTS_MAX * NEIGHBOURS];
} group_t;

static skn_status_t
look(rank_t *rank, group_t *group, size_t first, size_t count,
     skn_error_t *error)
{
    for (size_t i = 0; i < count; i++)
        group->point[i] = rank->split.train[(first + i) * SHOWN_EACH];
    skn_status_t status = skn_point_rows_take(&group->rows, rank->dataset,
                                              group->point, count, error);
    skn_points_t points = skn_point_rows_points(&group->rows, count);
    if (status != SKN_OK)
        return status;
    return skn_network_best(
        &rank->predictor->network, &group->rows.pass, &points, rank->neighbours,
        rank->label + first * rank->neighbours, group->score, error);
}

static void *
look_on(void *argument)
{
    rank_t *rank = argument;
    skn_error_t error = { 0 };
    group_t *group = calloc(1, sizeof(*group));
    skn_status_t status =
        group ? SKN_OK
              : skn_fail(&error, SKN_NO_MEMORY, "no memory for points");
    while (status == SKN_OK && !atomic_load(&rank->failed)) {
        size_t first =
            (size_t)atomic_fetch_add(&rank->next, 1) * SKN_NETWORK_POINTS_MAX;
        size_t count = SKN_NETWORK_POINTS_MAX;
        if (first >= rank->shown)
            break;
        if (rank->shown - first < count)
            count = rank->shown - first;
        status = check_stop(rank, &error);
        if (status == SKN_OK)
            status = look(rank, group, first, count, &error);
    }
    if (status != SKN_OK) {
        (void)pthread_mutex_lock(&rank->mutex);
        if (!atomic_exchange(&rank->failed, true))
            rank->error = error;
        (void)pthread_mutex_unlock(&rank->mutex);
    }
    if (group)
        skn_point_rows_fini(&group->rows);
    free(group);
    return NULL;
}

static skn_status_t
find_neighbours(rank_t *rank, uint32_t thread_count, skn_error_t *error)
{
    uint32_t labels = rank->predictor->info.label_count;
    rank->neighbours = labels < NEIGHBOURS ? labels : NEIGHBOURS;
    rank->shown = (rank->split.train_count + SHOWN_EACH - 1) / SHOWN_EACH;
    rank->label = malloc(((size_t)rank->shown * rank->neighbours + 1) *
                         sizeof(*rank->label));
    if (!rank->label)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the predictions of %u points",
                        rank->shown);
    if (labels > EXACT_LABELS_MAX &&
        skn_predictor_index(rank->predictor, 0, 0, error) != SKN_OK)
        return error->status;
    (void)pthread_mutex_init(&rank->mutex, NULL);
    skn_parallel_for(thread_count, look_on, rank, 0);
    (void)pthread_mutex_destroy(&rank->mutex);
    if (!atomic_load(&rank->failed))
        return SKN_OK;
    *error = rank->error;
    return error->status;
}

/* --- the points of each label -------------------------------------------- */

/* Called for each (label, point), in two equal passes. */
typedef void note_t(skn_label_points_t *points, uint32_t label, uint32_t point);

static void
count_point(skn_label_points_t *points, uint32_t label, uint32_t point)
{
    (void)point;
    points->offset[label + 1]++;
}

/* While points are written, offset[l + 1] is the place of the next one of l. */
static void
write_point(skn_label_points_t *points, uint32_t label, uint32_t point)
{
    points->point[points->offset[label + 1]++] = point;
}

static void
note_has(const rank_t *rank, skn_label_points_t *points, note_t *note)
{
    for (uint32_t i = 0; i < rank->split.train_count; i++) {
        uint32_t at = rank->split.train[i];
        skn_dataset_point_t point = skn_dataset_point(rank->dataset, at);
        for (uint32_t k = 0; k < point.label_count; k++)
            note(points, point.label[k], at);
    }
}

static void
note_taken(const rank_t *rank, skn_label_points_t *points, note_t *note)
{
    for (uint32_t i = 0; i < rank->shown; i++) {
        uint32_t at = rank->split.train[(size_t)i * SHOWN_EACH];
        skn_dataset_point_t point = skn_dataset_point(rank->dataset, at);
        const uint32_t *label = rank->label + (size_t)i * rank->neighbours;
        for (uint32_t r = 0; r < rank->neighbours; r++)
            if (label[r] != UINT32_MAX &&
                !skn_dataset_point_has(&point, label[r]))
                note(points, label[r], at);
    }
}

static skn_status_t
sort_points(const rank_t *rank, skn_label_points_t *points,
            void (*all)(const rank_t *, skn_label_points_t *, note_t *),
            skn_error_t *error)
{
    uint32_t labels = rank->predictor->info.label_count;
    points->label_count = labels;
    points->offset = calloc((size_t)labels + 2, sizeof(*points->offset));
    if (!points->offset)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u labels",
                        labels);
    all(rank, points, count_point);
    for (uint32_t l = 0; l < labels; l++)
        points->offset[l + 1] += points->offset[l];
    uint64_t total = points->offset[labels];
    points->point = malloc((total + 1) * sizeof(*points->point));
    if (!points->point)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for %llu examples of a ranker",
                        (unsigned long long)total);
    memmove(points->offset + 1, points->offset,
            ((size_t)labels + 1) * sizeof(*points->offset));
    all(rank, points, write_point);
    return SKN_OK;
}

/* --- fit ----------------------------------------------------------------- */

static skn_status_t
open_points(rank_t *rank, skn_error_t *error)
{
    const skn_model_t *model = rank->predictor->trained.model;
    skn_data_t data = skn_predictor_data(rank->predictor);
    skn_status_t status = skn_data_open_train(&data, &rank->dataset, error);
    if (status != SKN_OK)
        return status;
    if (skn_dataset_info(rank->dataset)->point_count > POINTS_MAX)
        return skn_fail(error, SKN_USAGE,
                        "a ranker is fitted to at most %u points", POINTS_MAX);
    const skn_resume_t there = { .has_checkpoint = true };
    const char *run = skn_run_folder_path(rank->predictor->trained.place.run);
    status = skn_resume_same_data(
        &there, run, skn_dataset_info(rank->dataset)->content_hash, error);
    if (status == SKN_BAD_CONFIG) {
        (void)skn_fail(error, status,
                       "%.200s does not hold the points that %.200s was "
                       "trained on",
                       model->data.train, run);
        return skn_fail_hint(error, status,
                             "put the file back: a ranker is fitted to the "
                             "points that the network was trained on");
    }
    if (status != SKN_OK)
        return status;
    return skn_split_init(&rank->split, rank->dataset, model->train.validate,
                          (uint64_t)model->train.seed, error);
}

static double
clock_s(clockid_t which)
{
    struct timespec now;
    (void)clock_gettime(which, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Runs after the network was freed, since its memory is needed. */
static skn_status_t
fit(rank_t *rank, skn_ranker_t *ranker, const skn_rank_options_t *options,
    const skn_label_points_t *has, const skn_label_points_t *taken,
    skn_error_t *error)
{
    const skn_predictor_info_t *info = &rank->predictor->info;
    skn_ranker_source_t source = {
        .dataset = rank->dataset,
        .has = has,
        .taken = taken,
        .feature_count = info->feature_count,
        .tree_count = options->trees,
        .thread_count = options->threads,
        .weight_max = info->parameter_count / SKN_RANK_PARAMETERS_A_WEIGHT,
        .seed = (uint64_t)rank->predictor->trained.model->train.seed,
        .stop = rank->stop,
    };
    skn_predictor_close(&rank->predictor);
    skn_status_t status = skn_ranker_fit(ranker, &source, error);
    return status == SKN_OK                    ? SKN_OK
           : check_stop(rank, error) != SKN_OK ? SKN_UNAVAILABLE
                                               : status;
}

skn_status_t
skn_rank(skn_ranker_t *ranker, const char *path,
         const skn_rank_options_t *options, skn_ranked_t *ranked,
         skn_error_t *error)
{
    rank_t rank = { .stop = options->stop };
    skn_label_points_t has = { 0 }, taken = { 0 };
    double wall = clock_s(CLOCK_MONOTONIC),
           cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    *ranker = (skn_ranker_t){ 0 };
    *ranked = (skn_ranked_t){ 0 };
    if (options->trees < 1 || options->trees > SKN_RANKER_TREES_MAX)
        return skn_fail(error, SKN_USAGE, "%u trees, 1 to %u allowed",
                        options->trees, SKN_RANKER_TREES_MAX);
    rank.predictor = skn_predictor_open(path, error);
    skn_status_t status = rank.predictor ? SKN_OK : error->status;
    if (rank.predictor) /* use only the network's own mistakes */
        skn_ranker_fini(&rank.predictor->network.ranker);
    if (status == SKN_OK)
        status = open_points(&rank, error);
    if (status == SKN_OK)
        status = find_neighbours(&rank, options->threads, error);
    if (status == SKN_OK)
        status = sort_points(&rank, &has, note_has, error);
    if (status == SKN_OK)
        status = sort_points(&rank, &taken, note_taken, error);
    free(rank.label);
    if (status == SKN_OK)
        status = fit(&rank, ranker, options, &has, &taken, error);
    ranked->weights = ranker->weight_count;
    ranked->nodes = ranker->node_count;
    ranked->bytes = skn_ranker_bytes(ranker);
    skn_label_points_fini(&has);
    skn_label_points_fini(&taken);
    skn_split_fini(&rank.split);
    skn_dataset_close(&rank.dataset);
    skn_predictor_close(&rank.predictor);
    ranked->seconds = clock_s(CLOCK_MONOTONIC) - wall;
    ranked->cpu_seconds = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return status;
}

void
skn_ranked_write_event(const skn_ranked_t *ranked, uint32_t trees,
                       skn_json_text_t *event)
{
    skn_json_text_add(event,
                      "{\"event\":\"ranker\",\"trees\":%u,\"nodes\":%" PRIu64
                      ",\"weights\":%" PRIu64 ",\"bytes\":%" PRIu64
                      ",\"seconds\":%.3f,\"cpu_seconds\":%.3f}",
                      trees, ranked->nodes, ranked->weights, ranked->bytes,
                      ranked->seconds, ranked->cpu_seconds);
}
