/* task.h - the part of a training, tuning, coordinator or member that faces its
 * host: copies of the options' texts, orders, events, and the working thread.
 *
 * The host's thread calls every function but skn_task_orders, which is for the
 * task's thread. skn_task_check and skn_task_order may be called by any thread
 * and in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_TASK_H
#define TOPOLOGY_TRAINING_TASK_H

#include <stdatomic.h>

#include "topology/training/line_queue.h"

typedef struct skn_task {
    const char *noun;       /* "the training", in messages */
    void *copies;           /* of texts; the task frees them */
    int orders;             /* an eventfd; readable while an order waits */
    skn_line_queue_t queue; /* its mutex guards what both threads use */
    pthread_t thread;
    bool was_started, has_thread;
    atomic_uint process; /* a skn_process_mark; 0: any process may use it yet */
    skn_error_t failure; /* written by the thread; read after its join */
} skn_task_t;

/* The task is all zeros; `noun` ("the ...") must outlive it.
 * SKN_NO_MEMORY: there are no descriptors. Call skn_task_fini in any case. */
skn_status_t skn_task_init(skn_task_t *task, const char *noun,
                           skn_error_t *error);
/* Call it when the thread has ended, or was never started. */
void skn_task_fini(skn_task_t *task);

/* Replaces each text by a copy, unless it is NULL, and the list of overrides by
 * a copy with copies of its texts. SKN_USAGE: an override is NULL;
 * SKN_NO_MEMORY. */
skn_status_t skn_task_own(skn_task_t *task, const char **const *texts,
                          size_t text_count, const char *const **overrides,
                          uint32_t override_count, skn_error_t *error);

/* SKN_USAGE: `task` is NULL, or fork() made this process from the one that has
 * its thread. The message names `function`, which was called with the task, and
 * calls the task `noun`. */
skn_status_t skn_task_check(const skn_task_t *task, const char *noun,
                            const char *function, skn_error_t *error);

/* Adds `order` to the orders. */
void skn_task_order(const skn_task_t *task, uint64_t order);
/* The sum of the orders since the last call. */
uint64_t skn_task_orders(const skn_task_t *task);

/* Starts the thread, which has to end the queue. SKN_USAGE: it was started
 * already; SKN_NO_MEMORY. */
skn_status_t skn_task_start(skn_task_t *task, void *(*run)(void *),
                            void *argument, skn_error_t *error);
/* As skn_training_event. */
skn_status_t skn_task_event(skn_task_t *task, int timeout_ms, char *line,
                            size_t line_bytes, skn_error_t *error);
/* Waits for the end of the thread, if there is one. Returns its failure. */
skn_status_t skn_task_wait(skn_task_t *task, skn_error_t *error);

#endif
