/* stress_batcher.c - reloads a model a thousand times while eight threads
 * predict, for the thread sanitizer: four through a batcher, four with
 * predictors that they acquire. Two models take turns; each call has all of its
 * answers from one of them, to the bit, and the names of the same. All
 * threads begin a call as a reload begins. Covers topology/predict/batcher.c,
 * topology/predict/predictor_slot.c and the memory that a predictor keeps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/no_criterion.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "skein/batcher.h"
#include "tests/support/trained_fixture.h"

#define THREADS 8u
#define RELOADS 1000u
#define POINTS 12u
#define K 6u

static skn_predictor_slot_t slot;
static skn_batcher_t *batcher;
static pthread_barrier_t round_begins;
static const char *const names[] = { "first", "second" };
static atomic_ulong answered[2]; /* calls, by model */

/* Point i has the features i % 9 and (i + 4) % 9. */
static size_t offset[POINTS + 1];
static uint32_t feature[POINTS * 2], label[2][POINTS * K];
static float value[POINTS * 2], score[2][POINTS * K];

/* The predictor that answered is the caller's. */
static skn_status_t
ask_acquired(const skn_points_t *points, uint32_t *got, float *got_score,
             skn_predictor_t **predictor, skn_error_t *error)
{
    *predictor = skn_predictor_slot_acquire(&slot, error);
    return *predictor ? skn_predictor_best(*predictor, points, K, got,
                                           got_score, error)
                      : error->status;
}

/* The model whose answers these are; 2: of neither. */
static unsigned
model_of(uint32_t first, uint32_t count, const uint32_t *got,
         const float *got_score)
{
    unsigned model = 0;
    while (model < 2 &&
           (memcmp(got, label[model] + first * K, count * K * 4) != 0 ||
            memcmp(got_score, score[model] + first * K, count * K * 4) != 0))
        model++;
    return model;
}

static bool
is_named_by(const skn_predictor_t *predictor, unsigned model, uint32_t got)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%s %u", names[model], got);
    return strcmp(skn_predictor_label(predictor, got), name) == 0;
}

/* Call `turn` of a thread. False: it has a wrong answer, or none. */
static bool
call(uint32_t thread, uint32_t turn)
{
    uint32_t got[3 * K], first = (turn * 5 + thread) % (POINTS - 3);
    uint32_t count = 1 + turn % 3;
    float got_score[3 * K];
    skn_predictor_t *predictor = NULL;
    skn_error_t error = { 0 };
    skn_points_t points = { count, offset, feature + first * 2,
                            value + first * 2 };
    skn_status_t status =
        thread % 2 ? skn_batcher_best(batcher, &points, K, got, got_score,
                                      &predictor, &error)
                   : ask_acquired(&points, got, got_score, &predictor, &error);
    unsigned model =
        status == SKN_OK ? model_of(first, count, got, got_score) : 2;
    if (model < 2 && !is_named_by(predictor, model, *got))
        model = 2;
    skn_predictor_close(&predictor);
    if (model == 2)
        (void)fprintf(stderr, "thread %u: %s\n", thread,
                      status == SKN_OK ? "answers and names of no model"
                                       : error.text);
    else
        (void)atomic_fetch_add(&answered[model], 1);
    return model < 2;
}

static void *
predict(void *argument)
{
    bool is_right = true;
    for (uint32_t turn = 0; turn < RELOADS; turn++) {
        (void)pthread_barrier_wait(&round_begins);
        is_right = call(*(uint32_t *)argument, turn) && is_right;
    }
    return is_right ? NULL : argument;
}

static skn_predictor_t *
open_model(const trained_fixture_t *fixture)
{
    skn_error_t error = { 0 };
    skn_predictor_t *predictor = skn_predictor_open(fixture->path, &error);
    if (!predictor)
        (void)fprintf(stderr, "%s\n", error.text);
    cr_assert(predictor);
    return predictor;
}

/* Records the answers of each model to each point. */
static void
prepare(const trained_fixture_t fixtures[2])
{
    for (uint32_t i = 0; i < POINTS; i++) {
        offset[i + 1] = (size_t)(i + 1) * 2;
        feature[i * 2] = i % TRAINED_FEATURES;
        feature[i * 2 + 1] = (i + 4) % TRAINED_FEATURES;
        value[i * 2] = 1;
        value[i * 2 + 1] = (float)i;
    }
    skn_points_t points = { POINTS, offset, feature, value };
    for (int m = 0; m < 2; m++) {
        skn_predictor_t *predictor = open_model(&fixtures[m]);
        cr_assert_eq(
            skn_predictor_best(predictor, &points, K, label[m], score[m], NULL),
            SKN_OK);
        skn_predictor_close(&predictor);
    }
}

int
main(void)
{
    trained_fixture_t fixtures[2] = { { .seed = 1, .names = names[0] },
                                      { .seed = 2, .names = names[1] } };
    pthread_t threads[THREADS];
    uint32_t number[THREADS], started = 0, failures = 0;
    trained_make(&fixtures[0]);
    trained_make(&fixtures[1]);
    prepare(fixtures);
    skn_predictor_t *first = open_model(&fixtures[0]);
    cr_assert_eq(skn_predictor_slot_store(&slot, &first, NULL), SKN_OK);
    batcher = skn_batcher_new(&slot, 5, 1000, NULL);
    cr_assert(batcher);
    (void)pthread_barrier_init(&round_begins, NULL, THREADS + 1);
    for (; started < THREADS; started++) {
        number[started] = started;
        cr_assert_eq(
            pthread_create(&threads[started], NULL, predict, &number[started]),
            0);
    }
    for (uint32_t k = 1; k <= RELOADS; k++) {
        skn_predictor_t *next = open_model(&fixtures[k % 2]);
        (void)pthread_barrier_wait(&round_begins);
        cr_assert_eq(skn_predictor_slot_store(&slot, &next, NULL), SKN_OK);
    }
    for (uint32_t t = 0; t < started; t++) {
        void *failed = NULL;
        (void)pthread_join(threads[t], &failed);
        failures += failed != NULL;
    }
    skn_batcher_destroy(&batcher);
    (void)skn_predictor_slot_store(&slot, NULL, NULL);
    trained_remove(&fixtures[0]);
    trained_remove(&fixtures[1]);
    (void)printf("%u of %u threads failed; calls answered: %lu by one model, "
                 "%lu by the other\n",
                 failures, THREADS, atomic_load(&answered[0]),
                 atomic_load(&answered[1]));
    return failures > 0;
}
