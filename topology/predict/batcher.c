/* batcher.c - joins calls of many threads to one call of a predictor.
 *
 * A call is a record on the stack of its thread, which sleeps until the record
 * has an answer. The call that completes a batch predicts it, or else the first
 * of its calls; it reads the points of the others, writes their answers where
 * they want them, and wakes all of them at once.
 * docs/decisions/0032-a-batcher-without-a-thread.md has the alternatives and
 * their measurements.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "topology/predict/batcher_internal.h"
#include "topology/predict/predictor_internal.h"
#include "transport/socket/process_mark.h"

_Static_assert(SKN_BATCHER_POINTS_MAX == SKN_NETWORK_POINTS_MAX,
               "a full batch is one pass of the network");

/* Features of a call that is joined, as of a line of a data file: others wait
 * for the answer, and their number times a batch's points fits a size_t. */
#define CALL_FEATURES_MAX SKN_LINE_ITEMS_MAX

typedef enum call_state {
    CALL_WAITS,
    CALL_LEADS,
    CALL_DONE
} call_state_t;

struct skn_predict_call {
    const skn_points_t *points;
    uint32_t k;
    uint32_t *label;
    float *score;
    skn_predictor_t **predictor; /* the caller's; NULL: not wanted */
    skn_error_t *error;
    skn_predict_call_t *next;  /* of its batch */
    skn_predict_batch_t batch; /* of the leader: what it predicts */
    skn_status_t status;
    bool is_answered; /* else the call is repeated by itself */
    uint32_t futex;   /* number of the futex on which it sleeps */
    /* call_state_t. While a call waits, any call of its batch may use this
     * record; afterwards only its own thread may. */
    atomic_int state;
};

skn_batcher_t *
skn_batcher_new(skn_predictor_slot_t *slot, uint32_t points, uint32_t wait_us,
                skn_error_t *error)
{
    skn_batcher_t *batcher = NULL;
    if (!slot)
        (void)skn_fail(error, SKN_USAGE, "skn_batcher_new: the slot is NULL");
    else if (points < 1 || points > SKN_BATCHER_POINTS_MAX)
        (void)skn_fail(error, SKN_USAGE,
                       "batches of %u points were requested, 1 to %u allowed",
                       points, SKN_BATCHER_POINTS_MAX);
    else if (wait_us > SKN_BATCHER_WAIT_US_MAX)
        (void)skn_fail(error, SKN_USAGE,
                       "waits of %u microseconds were requested, at most %u "
                       "allowed",
                       wait_us, SKN_BATCHER_WAIT_US_MAX);
    else if (!(batcher = calloc(1, sizeof(*batcher))))
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a batcher");
    if (!batcher)
        return NULL;
    batcher->slot = slot;
    batcher->points_max = points;
    batcher->wait_ns = (uint64_t)wait_us * 1000;
    batcher->process = skn_process_mark();
    (void)pthread_mutex_init(&batcher->lock, NULL);
    (void)pthread_cond_init(&batcher->left, NULL);
    return batcher;
}

/* --- a batch, by its leader without the lock ------------------------------ */

/* One call by itself, by the predictor of the moment. */
static skn_status_t
predict_call(skn_predictor_slot_t *slot, const skn_predict_call_t *call)
{
    skn_error_t own = { 0 };
    skn_error_t *error = call->error ? call->error : &own;
    skn_predictor_t *predictor = skn_predictor_slot_acquire(slot, error);
    if (!predictor)
        return error->status;
    skn_status_t status = skn_predictor_best(predictor, call->points, call->k,
                                             call->label, call->score, error);
    if (status == SKN_OK && call->predictor)
        *call->predictor = predictor;
    else
        skn_predictor_close(&predictor);
    return status;
}

/* The points of all calls of a batch, and room for their answers, in one block
 * of memory. */
typedef struct joined {
    size_t *offset; /* the block */
    uint32_t *feature, *label;
    float *value, *score;
    uint32_t k; /* the greatest of any call */
} joined_t;

/* False: no memory. */
static bool
gather(joined_t *joined, const skn_predict_batch_t *batch)
{
    size_t points = batch->point_count, features = 0;
    joined->k = 0;
    for (const skn_predict_call_t *call = batch->first; call;
         call = call->next) {
        features += call->points->offset[call->points->count];
        joined->k = call->k > joined->k ? call->k : joined->k;
    }
    size_t answers = points * joined->k;
    joined->offset = malloc((points + 1) * sizeof(size_t) +
                            (features + answers) * 2 * sizeof(uint32_t));
    if (!joined->offset)
        return false;
    joined->feature = (uint32_t *)(joined->offset + points + 1);
    joined->value = (float *)(joined->feature + features);
    joined->label = (uint32_t *)(joined->value + features);
    joined->score = (float *)(joined->label + answers);
    size_t *offset = joined->offset, at = 0;
    *offset = 0;
    for (const skn_predict_call_t *call = batch->first; call;
         call = call->next) {
        const skn_points_t *own = call->points;
        size_t count = own->offset[own->count];
        for (size_t i = 1; i <= own->count; i++)
            *++offset = at + own->offset[i];
        if (count > 0) { /* else there may be no array */
            memcpy(joined->feature + at, own->feature,
                   count * sizeof(uint32_t));
            memcpy(joined->value + at, own->value, count * sizeof(float));
        }
        at += count;
    }
    return true;
}

/* Copies the answers of `predictor` to the calls. One with a point that was
 * refused, whose score is NaN, has none: by itself it gets the sentence with
 * its own number of the point. */
static void
scatter(const joined_t *joined, const skn_predict_batch_t *batch,
        skn_predictor_t *predictor)
{
    const uint32_t *label = joined->label;
    const float *score = joined->score;
    for (skn_predict_call_t *call = batch->first; call; call = call->next) {
        call->is_answered = true;
        for (size_t i = 0; i < call->points->count; i++) {
            memcpy(call->label + i * call->k, label, call->k * sizeof(*label));
            memcpy(call->score + i * call->k, score, call->k * sizeof(*score));
            call->is_answered = call->is_answered && !isnan(*score);
            label += joined->k;
            score += joined->k;
        }
        if (call->is_answered && call->predictor)
            *call->predictor = skn_predictor_share(predictor);
    }
}

static void
predict(skn_predictor_slot_t *slot, skn_predict_call_t *leader)
{
    const skn_predict_batch_t *batch = &leader->batch;
    joined_t joined;
    if (!leader->next && batch->first == leader) {
        leader->status = predict_call(slot, leader);
        leader->is_answered = true;
        return;
    }
    skn_predictor_t *predictor = skn_predictor_slot_acquire(slot, NULL);
    if (predictor && gather(&joined, batch)) {
        skn_points_t points = { batch->point_count, joined.offset,
                                joined.feature, joined.value };
        skn_status_t status = skn_predictor_best(
            predictor, &points, joined.k, joined.label, joined.score, NULL);
        if (status == SKN_OK || status == SKN_BAD_DATA)
            scatter(&joined, batch, predictor);
        free(joined.offset);
    }
    skn_predictor_close(&predictor);
}

/* --- the calls --------------------------------------------------------------
 * Only wait_for_turn(), is_woken() and finish() run without the lock. */

/* Nothing joins the forming batch any more, and `leader`, one of its calls, has
 * to predict it. */
static void
start(skn_batcher_t *batcher, skn_predict_call_t *leader)
{
    leader->batch = batcher->forming;
    atomic_store(&leader->state, CALL_LEADS);
    batcher->forming = (skn_predict_batch_t){ 0 };
}

/* Wakes the calls of a batch, whose states are set. Another batch may share the
 * futex, so a call that is woken looks at its state. */
static void
wake(skn_batcher_t *batcher, uint32_t futex)
{
    atomic_fetch_add(&batcher->futex[futex], 1);
    (void)syscall(SYS_futex, &batcher->futex[futex], FUTEX_WAKE_PRIVATE,
                  INT_MAX, NULL, NULL, 0);
}

static void
start_other(skn_batcher_t *batcher, skn_predict_call_t *leader)
{
    uint32_t futex = leader->futex;
    start(batcher, leader);
    wake(batcher, futex);
}

/* Whether no call can be expected to join the forming batch: it is full, or has
 * all calls that have not returned. Where threads call again at once, those
 * that have just been answered are most of the next batch. */
static bool
is_complete(const skn_batcher_t *batcher)
{
    const skn_predict_batch_t *forming = &batcher->forming;
    return forming->first && (forming->point_count == batcher->points_max ||
                              forming->call_count == batcher->call_count);
}

/* True: the call completes a batch, and leads it. */
static bool
join(skn_batcher_t *batcher, skn_predict_call_t *call)
{
    skn_predict_batch_t *forming = &batcher->forming;
    if (forming->point_count + call->points->count > batcher->points_max)
        start_other(batcher, forming->first);
    if (forming->first) {
        forming->last->next = call;
    } else {
        forming->first = call;
        call->futex = batcher->batch_count++ % SKN_BATCHER_FUTEXES;
    }
    forming->last = call;
    call->futex = forming->first->futex;
    forming->call_count++;
    forming->point_count += call->points->count;
    batcher->call_count++;
    bool leads = is_complete(batcher);
    if (leads)
        start(batcher, call);
    return leads;
}

static void
leave(skn_batcher_t *batcher)
{
    batcher->call_count--;
    if (is_complete(batcher))
        start_other(batcher, batcher->forming.last);
    if (batcher->call_count == 0)
        (void)pthread_cond_signal(&batcher->left);
}

/* Sleeps until the call no longer waits, or until `due` (NULL: for ever).
 * Returns false if it still waits. */
static bool
is_woken(skn_batcher_t *batcher, const skn_predict_call_t *call,
         const struct timespec *due)
{
    atomic_uint *futex = &batcher->futex[call->futex];
    for (bool is_late = false; !is_late;) {
        uint32_t seen = atomic_load(futex);
        if (atomic_load(&call->state) != CALL_WAITS)
            return true;
        is_late = syscall(SYS_futex, futex, FUTEX_WAIT_BITSET_PRIVATE, seen,
                          due, NULL, FUTEX_BITSET_MATCH_ANY) != 0 &&
                  errno == ETIMEDOUT;
    }
    return false;
}

/* Returns when the call is answered, or has to lead. The first call of a batch
 * keeps its time. */
static void
wait_for_turn(skn_batcher_t *batcher, skn_predict_call_t *call, bool is_first)
{
    struct timespec due;
    if (is_first) {
        (void)clock_gettime(CLOCK_MONOTONIC, &due);
        uint64_t ns = (uint64_t)due.tv_nsec + batcher->wait_ns;
        due.tv_sec += (time_t)(ns / 1000000000);
        due.tv_nsec = (long)(ns % 1000000000);
        if (is_woken(batcher, call, &due))
            return;
        (void)pthread_mutex_lock(&batcher->lock);
        bool is_late = batcher->forming.first == call;
        if (is_late)
            start(batcher, call);
        (void)pthread_mutex_unlock(&batcher->lock);
        if (is_late)
            return;
    }
    (void)is_woken(batcher, call, NULL);
}

/* Wakes the other calls of the batch that `leader` has predicted. */
static void
finish(skn_batcher_t *batcher, const skn_predict_call_t *leader)
{
    skn_predict_call_t *next;
    bool has_others = leader->batch.call_count > 1;
    for (skn_predict_call_t *call = leader->batch.first; call; call = next) {
        next = call->next;
        if (call != leader)
            atomic_store(&call->state, CALL_DONE);
    }
    if (has_others)
        wake(batcher, leader->futex);
}

/* Whether the call is joined to others. The predictor states what is wrong with
 * one that is not. */
static bool
can_join(const skn_batcher_t *batcher, const skn_points_t *points, uint32_t k,
         const uint32_t *label, const float *score)
{
    return points && label && score && k >= 1 &&
           k <= SKN_PREDICTOR_LABELS_MAX && points->count > 0 &&
           points->count < batcher->points_max &&
           skn_points_check(points, NULL) == SKN_OK &&
           points->offset[points->count] <= CALL_FEATURES_MAX;
}

skn_status_t
skn_batcher_best(skn_batcher_t *batcher, const skn_points_t *points, uint32_t k,
                 uint32_t *label, float *score, skn_predictor_t **predictor,
                 skn_error_t *error)
{
    if (predictor)
        *predictor = NULL;
    if (!batcher)
        return skn_fail(error, SKN_USAGE,
                        "skn_batcher_best: the batcher is NULL");
    if (skn_process_check(batcher->process, "skn_batcher_best", "the batcher",
                          error) != SKN_OK)
        return SKN_USAGE;
    skn_predictor_slot_t *slot = batcher->slot;
    skn_predict_call_t call = { .points = points,
                                .k = k,
                                .label = label,
                                .score = score,
                                .predictor = predictor,
                                .error = error };
    if (can_join(batcher, points, k, label, score)) {
        (void)pthread_mutex_lock(&batcher->lock);
        bool leads = join(batcher, &call);
        bool is_first = batcher->forming.first == &call;
        (void)pthread_mutex_unlock(&batcher->lock);
        if (!leads)
            wait_for_turn(batcher, &call, is_first);
        if (atomic_load(&call.state) == CALL_LEADS) {
            predict(slot, &call);
            finish(batcher, &call);
        }
        (void)pthread_mutex_lock(&batcher->lock);
        leave(batcher);
        (void)pthread_mutex_unlock(&batcher->lock);
    }
    return call.is_answered ? call.status : predict_call(slot, &call);
}

void
skn_batcher_destroy(skn_batcher_t **batcher)
{
    skn_batcher_t *own = batcher ? *batcher : NULL;
    if (!own)
        return;
    *batcher = NULL;
    if (!skn_process_is_other(own->process)) {
        (void)pthread_mutex_lock(&own->lock);
        if (own->forming.first)
            start_other(own, own->forming.first);
        while (own->call_count > 0)
            (void)pthread_cond_wait(&own->left, &own->lock);
        (void)pthread_mutex_unlock(&own->lock);
        (void)pthread_mutex_destroy(&own->lock);
        (void)pthread_cond_destroy(&own->left);
    }
    free(own);
}
