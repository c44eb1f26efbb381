/* batcher_internal.h - the fields of a batcher, for its source and its test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_BATCHER_INTERNAL_H
#define TOPOLOGY_PREDICT_BATCHER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "skein/batcher.h"

typedef struct skn_predict_call skn_predict_call_t;

/* Calls that are predicted together, in the order of their arrival. */
typedef struct skn_predict_batch {
    skn_predict_call_t *first, *last;
    size_t point_count;
    uint32_t call_count;
} skn_predict_batch_t;

/* Futexes on which calls sleep: the calls of a batch share one, and rarely are
 * more than this many batches predicted at once. */
#define SKN_BATCHER_FUTEXES 16u

/* `lock` guards all fields behind it. */
struct skn_batcher {
    skn_predictor_slot_t *slot;
    size_t points_max;
    uint64_t wait_ns;
    uint32_t process; /* skn_process_mark of the process that made it */
    atomic_uint futex[SKN_BATCHER_FUTEXES]; /* counts its wake-ups */
    pthread_mutex_t lock;
    pthread_cond_t left;         /* the last call has returned */
    skn_predict_batch_t forming; /* waits for more calls */
    uint32_t batch_count;        /* batches that began to form */
    uint32_t call_count;         /* calls that have not returned */
};

#endif
