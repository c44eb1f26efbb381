/* background.h - a detached thread for slow work, such as asking a name server.
 *
 * The owner never waits for the thread. Their shared data is behind one lock,
 * in a structure that begins with an errand and comes from calloc; the last of
 * the two to leave frees it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_BACKGROUND_H
#define TRANSPORT_SOCKET_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_background {
    pthread_mutex_t lock; /* of this and of the structure around it */
    pthread_cond_t news;  /* CLOCK_MONOTONIC */
    uint32_t users;       /* owner and thread, until each leaves */
    bool closing;         /* the owner has left: the thread should end */
    void (*run)(struct skn_background *task);
} skn_background_t;

/* Starts a thread, without signals, that runs `run` once; `what` names its
 * purpose for the error. SKN_NO_MEMORY: the structure is freed. */
skn_status_t skn_background_begin(skn_background_t *task,
                                  void (*run)(skn_background_t *task),
                                  const char *what, skn_error_t *error);
/* The owner leaves, without waiting for the thread. */
void skn_background_leave(skn_background_t *task);

static inline void
skn_background_lock(skn_background_t *task)
{
    (void)pthread_mutex_lock(&task->lock);
}

static inline void
skn_background_unlock(skn_background_t *task)
{
    (void)pthread_mutex_unlock(&task->lock);
}

/* With the lock: wakes the thread, which checks again what it waits for. */
static inline void
skn_background_wake(skn_background_t *task)
{
    (void)pthread_cond_signal(&task->news);
}

#endif
