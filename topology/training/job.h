/* job.h - the half of a job that faces its host: copies of the texts in its
 * options, orders, events, and the thread that does the work.
 *
 * The host's thread calls every function but skn_job_orders, which is for the
 * job's. skn_job_check and skn_job_order may be called by any thread and in a
 * signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_JOB_H
#define TOPOLOGY_TRAINING_JOB_H

#include <stdatomic.h>

#include "topology/training/line_queue.h"

typedef struct skn_job {
    const char *noun;       /* "the training", in messages */
    void *copies;           /* that it owns */
    int orders;             /* a descriptor; readable if one was given */
    skn_line_queue_t queue; /* its mutex guards what both threads use */
    pthread_t thread;
    bool was_started, has_thread;
    atomic_uint process; /* has the thread, a skn_process_mark; 0: none yet */
    skn_error_t failure; /* the thread's until it is joined */
} skn_job_t;

/* The job is all zeros; `noun` ("the ...") must outlive it.
 * SKN_NO_MEMORY: there are no descriptors. Call skn_job_fini in any case. */
skn_status_t skn_job_init(skn_job_t *job, const char *noun, skn_error_t *error);
/* The thread has ended. */
void skn_job_fini(skn_job_t *job);

/* Replaces each text by a copy, unless it is NULL, and the list of overrides by
 * a copy with copies of its texts. SKN_USAGE: an override is NULL;
 * SKN_NO_MEMORY. */
skn_status_t skn_job_own(skn_job_t *job, const char **const *texts,
                         size_t text_count, const char *const **overrides,
                         uint32_t override_count, skn_error_t *error);

/* SKN_USAGE: `job` is NULL, or this process is a child, made by fork(), of the
 * one that has its thread. `function` was called with it, a `noun`. */
skn_status_t skn_job_check(const skn_job_t *job, const char *noun,
                           const char *function, skn_error_t *error);

/* Adds `order` to the orders. */
void skn_job_order(const skn_job_t *job, uint64_t order);
/* The sum of the orders since the last call. */
uint64_t skn_job_orders(const skn_job_t *job);

/* Starts the thread, which ends the queue. SKN_USAGE: it was started already;
 * SKN_NO_MEMORY. */
skn_status_t skn_job_start(skn_job_t *job, void *(*run)(void *), void *argument,
                           skn_error_t *error);
/* As skn_training_event. */
skn_status_t skn_job_event(skn_job_t *job, int timeout_ms, char *line,
                           size_t line_bytes, skn_error_t *error);
/* Waits for the end of the thread, if there is one. Returns its failure. */
skn_status_t skn_job_wait(skn_job_t *job, skn_error_t *error);

#endif
