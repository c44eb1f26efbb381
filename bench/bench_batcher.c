/* bench_batcher.c - compares threads that share a batcher with threads that
 * call the predictor in batches of their own.
 *
 * Usage: bench_batcher [--json] RUN    a run folder or a checkpoint
 *
 * Eight threads send points of 12 random features. Through the batcher, each
 * sends 1, 8 or 32 a call, and four calls fill a batch. Beside it, the same
 * threads call skn_predictor_best with as many points as that batch has, and
 * share nothing. Both alternate; the figures are medians. Ratios are of rates
 * by the wall clock, for which nothing else may run, and of points by the
 * processor time of all threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/bench.h"
#include "skein/batcher.h"

#define THREADS 8u
#define FEATURES 12u
#define LABELS 5u
#define CALLS_A_BATCH (THREADS / 2)
#define POINTS 8192u
#define ROUNDS 9
#define WAIT_US 1000u
/* Points of one measurement: a third of a second and more. */
#define POINTS_MEASURED 24576u

static const uint32_t sizes[] = { 1, 8, 32 }; /* points of a call */
static uint32_t feature[POINTS * FEATURES];
static float value[POINTS * FEATURES];
static size_t offset[SKN_BATCHER_POINTS_MAX + 1];
static skn_predictor_slot_t slot;

typedef struct worker {
    pthread_t thread;
    skn_batcher_t *batcher; /* NULL: calls the predictor itself */
    uint32_t points, first; /* of a call; where it begins to take them */
    skn_error_t error;
} worker_t;

static skn_status_t
ask(const worker_t *worker, const skn_points_t *points, skn_error_t *error)
{
    uint32_t label[SKN_BATCHER_POINTS_MAX * LABELS];
    float score[SKN_BATCHER_POINTS_MAX * LABELS];
    return worker->batcher ? skn_batcher_best(worker->batcher, points, LABELS,
                                              label, score, NULL, error)
                           : skn_predictor_best(slot.current, points, LABELS,
                                                label, score, error);
}

static void *
work(void *argument)
{
    worker_t *worker = argument;
    uint32_t first = worker->first, count = worker->points;
    for (uint32_t done = 0; done < POINTS_MEASURED / THREADS; done += count) {
        skn_points_t points = { count, offset, feature + first * FEATURES,
                                value + first * FEATURES };
        if (ask(worker, &points, &worker->error) != SKN_OK)
            break;
        first = (first + count) % (POINTS - SKN_BATCHER_POINTS_MAX);
    }
    return NULL;
}

typedef struct seconds {
    double wall, cpu;
} seconds_t;

static double
seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static seconds_t
now(void)
{
    struct timespec wall;
    struct rusage usage;
    (void)clock_gettime(CLOCK_MONOTONIC, &wall);
    (void)getrusage(RUSAGE_SELF, &usage);
    return (seconds_t){ (double)wall.tv_sec + (double)wall.tv_nsec * 1e-9,
                        seconds_of(usage.ru_utime) +
                            seconds_of(usage.ru_stime) };
}

/* The time of POINTS_MEASURED points on all threads; fills *error if one
 * fails. */
static seconds_t
measure(skn_batcher_t *batcher, uint32_t points, skn_error_t *error)
{
    static worker_t workers[THREADS];
    uint32_t started = 0;
    seconds_t begin = now();
    for (; started < THREADS; started++) {
        worker_t *worker = &workers[started];
        *worker = (worker_t){ .batcher = batcher,
                              .points = points,
                              .first = started * 512 };
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
    }
    for (uint32_t t = 0; t < started; t++) {
        (void)pthread_join(workers[t].thread, NULL);
        if (workers[t].error.status != SKN_OK)
            *error = workers[t].error;
    }
    if (started < THREADS)
        (void)skn_fail(error, SKN_NO_MEMORY, "thread %u could not start",
                       started);
    seconds_t end = now();
    return (seconds_t){ end.wall - begin.wall, end.cpu - begin.cpu };
}

static skn_status_t
compare(uint32_t points, bool is_json, skn_error_t *error)
{
    uint32_t batch_points = points * CALLS_A_BATCH;
    double joined[ROUNDS], own[ROUNDS], ratio[ROUNDS], cpu_ratio[ROUNDS];
    skn_batcher_t *batcher =
        skn_batcher_new(&slot, batch_points, WAIT_US, error);
    for (int round = -1; round < ROUNDS && error->status == SKN_OK; round++) {
        int at = round < 0 ? 0 : round; /* the first warms up */
        seconds_t through = measure(batcher, points, error);
        seconds_t plain = measure(NULL, batch_points, error);
        joined[at] = POINTS_MEASURED / through.wall;
        own[at] = POINTS_MEASURED / plain.wall;
        ratio[at] = plain.wall / through.wall;
        cpu_ratio[at] = plain.cpu / through.cpu;
    }
    skn_batcher_destroy(&batcher);
    if (error->status != SKN_OK)
        return error->status;
    (void)skn_text_print(
        stdout,
        is_json ? "{\"threads\":%u,\"points_per_call\":%u,\"batch_points\":%u,"
                  "\"batcher_points_per_s\":%.0f,\"plain_points_per_s\":%.0f,"
                  "\"ratio\":%.3f,\"cpu_ratio\":%.3f}\n"
                : "%7u %15u %12u %20.0f %18.0f %6.3f %9.3f\n",
        THREADS, points, batch_points, bench_median(joined, ROUNDS),
        bench_median(own, ROUNDS), bench_median(ratio, ROUNDS),
        bench_median(cpu_ratio, ROUNDS));
    (void)fflush(stdout);
    return SKN_OK;
}

int
main(int count, char **word)
{
    bool is_json = count > 1 && strcmp(word[1], "--json") == 0;
    skn_error_t error = { 0 };
    if (count != 2 + is_json) {
        (void)fprintf(stderr, "usage: bench_batcher [--json] RUN\n");
        return 64;
    }
    skn_predictor_t *predictor = skn_predictor_open(word[1 + is_json], &error);
    if (predictor) {
        uint32_t features = skn_predictor_info(predictor)->feature_count;
        uint64_t draw = 1;
        for (size_t k = 0; k < POINTS * FEATURES; k++) {
            draw = draw * 6364136223846793005u + 1442695040888963407u;
            feature[k] = (uint32_t)(draw >> 33) % features;
            value[k] = 1;
        }
        for (size_t i = 0; i <= SKN_BATCHER_POINTS_MAX; i++)
            offset[i] = i * FEATURES;
        (void)skn_predictor_slot_store(&slot, &predictor, &error);
    }
    if (error.status == SKN_OK && !is_json)
        (void)printf("%7s %15s %12s %20s %18s %6s %9s\n", "threads",
                     "points_per_call", "batch_points", "batcher_points_per_s",
                     "plain_points_per_s", "ratio", "cpu_ratio");
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        if (error.status == SKN_OK)
            (void)compare(sizes[k], is_json, &error);
    (void)skn_predictor_slot_store(&slot, NULL, NULL);
    if (error.status != SKN_OK)
        (void)fprintf(stderr, "bench_batcher: %s\n", error.text);
    return skn_status_exit_code(error.status);
}
