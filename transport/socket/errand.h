/* errand.h - a detached thread for slow work, such as asking a name server.
 *
 * The owner never waits for the thread. Their shared data is behind one lock,
 * in a structure that begins with an errand and comes from calloc; the last of
 * the two to leave frees it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_ERRAND_H
#define TRANSPORT_SOCKET_ERRAND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_errand {
    pthread_mutex_t lock; /* of this and of the structure around it */
    pthread_cond_t news;  /* CLOCK_MONOTONIC */
    uint32_t users;       /* owner and thread, until each leaves */
    bool closing;         /* the owner has left: the thread should end */
    void (*run)(struct skn_errand *errand);
} skn_errand_t;

/* Starts a thread, without signals, that runs `run` once; `what` names its
 * purpose for the error. SKN_NO_MEMORY: the structure is freed. */
skn_status_t skn_errand_begin(skn_errand_t *errand,
                              void (*run)(skn_errand_t *errand),
                              const char *what, skn_error_t *error);
/* The owner leaves, without waiting for the thread. */
void skn_errand_leave(skn_errand_t *errand);

static inline void
skn_errand_lock(skn_errand_t *errand)
{
    (void)pthread_mutex_lock(&errand->lock);
}

static inline void
skn_errand_unlock(skn_errand_t *errand)
{
    (void)pthread_mutex_unlock(&errand->lock);
}

/* With the lock: wakes the thread, which checks again what it waits for. */
static inline void
skn_errand_tell(skn_errand_t *errand)
{
    (void)pthread_cond_signal(&errand->news);
}

#endif
