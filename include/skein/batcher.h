/* batcher.h - joins the points of many threads to one call of a predictor.
 *
 *     skn_predictor_slot_t slot = SKN_ZERO;
 *     skn_predictor_slot_store(&slot, &predictor, &error);
 *     skn_batcher_t *batcher = skn_batcher_new(&slot, 64, 500, &error);
 *     any thread: skn_batcher_best(batcher, &points, 5, label, score, NULL,
 *                                  &error);
 *     skn_batcher_destroy(&batcher);
 *
 * For services whose threads have a point or a few each: a predictor needs much
 * less time for each of many points than for one. One of the calling threads
 * predicts for all; the others sleep until their answers are there. The batcher
 * has no thread of its own, and nothing queues in it but calls that wait. It
 * uses the predictor that is in the slot when a batch begins: what labels mean
 * is known from the predictor that a call returns. Where a reload may change
 * what features mean, acquire a predictor, and call it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_BATCHER_H
#define SKEIN_BATCHER_H

#include "skein/predictor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_batcher skn_batcher_t;

/* Points of one batch: more are no faster. Longest wait, in microseconds. */
#define SKN_BATCHER_POINTS_MAX 256u
#define SKN_BATCHER_WAIT_US_MAX 1000000u

/* A batch has at most `points` points (1 to SKN_BATCHER_POINTS_MAX). Its
 * prediction begins when it has that many, when its first call has waited
 * `wait_us` microseconds (0 to SKN_BATCHER_WAIT_US_MAX), or when it has all
 * calls that have not returned. So a call alone never waits, and under load
 * calls wait for those that are answered meanwhile, whose threads may call
 * again. Each batch is for the predictor that `slot` has when its prediction
 * begins. The slot belongs to the caller, and has to outlive the batcher. NULL
 * and SKN_USAGE, SKN_NO_MEMORY. */
SKN_API skn_batcher_t *skn_batcher_new(skn_predictor_slot_t *slot,
                                       uint32_t points, uint32_t wait_us,
                                       skn_error_t *error);

/* Answers the calls that wait, returns when all have returned, frees, and sets
 * *batcher to NULL, which it may be already. No call may begin any more: to
 * make threads leave their loops, empty the slot, and join them first. In a
 * child made by fork() it only frees the handle. */
SKN_API void skn_batcher_destroy(skn_batcher_t **batcher);

/* As skn_predictor_best, with the same answers to the bit, from one predictor
 * for all points of the call. Any number of threads, with any k. Points that
 * are refused spoil no answer of another call. A call of `points` points or
 * more, or of more than a million features, is predicted by itself.
 *
 * *predictor is set to the predictor that answered, whose names belong to these
 * labels even if another one is in the slot by now, with a reference that the
 * caller gives up with skn_predictor_close; to NULL unless the status is
 * SKN_OK. `predictor` may be NULL.
 *
 * SKN_UNAVAILABLE if the slot is empty, and then the results are undefined;
 * SKN_USAGE also in a child made by fork(). */
SKN_API skn_status_t skn_batcher_best(skn_batcher_t *batcher,
                                      const skn_points_t *points, uint32_t k,
                                      uint32_t *label, float *score,
                                      skn_predictor_t **predictor,
                                      skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
