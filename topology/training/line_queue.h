/* line_queue.h - the lines that a thread of the library has sent and its host
 * has not read, with a descriptor that the host can poll.
 *
 * One thread puts lines and ends the queue, another one takes them; only
 * skn_line_queue_wake may also be called in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_LINE_QUEUE_H
#define TOPOLOGY_TRAINING_LINE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_line {
    struct skn_line *next;
    char text[];
} skn_line_t;

typedef struct skn_line_queue {
    pthread_mutex_t mutex;
    skn_line_t *first, **last;
    uint32_t count;
    bool ended;
    const char *owner; /* "the training", in messages */
    int descriptor;    /* readable: there is a line, or something to look at */
} skn_line_queue_t;

/* `owner` must outlive it. SKN_NO_MEMORY: there is no descriptor. Call
 * skn_line_queue_fini in any case. */
skn_status_t skn_line_queue_init(skn_line_queue_t *queue, const char *owner,
                                 skn_error_t *error);
void skn_line_queue_fini(skn_line_queue_t *queue);

/* Puts a copy of `text`; without memory it is lost. */
void skn_line_queue_put(skn_line_queue_t *queue, const char *text);
/* No more lines follow. */
void skn_line_queue_end(skn_line_queue_t *queue);
/* Makes the descriptor readable once, without a line. */
void skn_line_queue_wake(const skn_line_queue_t *queue);

/* How many lines wait. */
uint32_t skn_line_queue_count(skn_line_queue_t *queue);
/* The bytes that the next line and its NUL need; 0: none waits. */
size_t skn_line_queue_bytes(skn_line_queue_t *queue);
/* Takes the next line; waits at most `timeout_ms` for one (-1: forever). As
 * skn_training_event. */
skn_status_t skn_line_queue_take(skn_line_queue_t *queue, int timeout_ms,
                                 char *line, size_t line_bytes,
                                 skn_error_t *error);

#endif
