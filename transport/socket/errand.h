/* errand.h - a thread that does what may take long, such as to ask a name
 * server, for an owner who never waits for it.
 *
 * What both of them know lies behind one lock, in a structure that begins with
 * an errand and comes from calloc; the last of the two frees it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_ERRAND_H
#define TRANSPORT_SOCKET_ERRAND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_errand {
    pthread_mutex_t lock; /* of all that follows, and of what is around it */
    pthread_cond_t news;  /* CLOCK_MONOTONIC */
    uint32_t users;       /* the owner, the thread */
    bool closing;         /* the owner is gone: the thread should end */
    void (*run)(struct skn_errand *errand);
} skn_errand_t;

/* Starts a thread, without signals, that runs `run` once; `what` says what for.
 * SKN_NO_MEMORY: the structure is freed. */
skn_status_t skn_errand_begin(skn_errand_t *errand,
                              void (*run)(skn_errand_t *errand),
                              const char *what, skn_error_t *error);
/* The owner leaves, and does not wait for the thread. */
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

/* With the lock: the thread looks again at what it waits for. */
static inline void
skn_errand_tell(skn_errand_t *errand)
{
    (void)pthread_cond_signal(&errand->news);
}

#endif
