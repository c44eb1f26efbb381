/* finder.c - one thread that asks where names lead.
 *
 * This file owns: the thread, and what it and its owner share, which the last
 * of the two frees, as in reach.c.  SPDX-License-Identifier: Apache-2.0 */
#include "transport/finder.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct skn_finder {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t news;
    uint32_t users; /* the owner, the thread */
    bool closing;
    uint64_t wanted; /* a bit each; while it is asked for, too */
    skn_conduit_place_t place[SKN_FINDER_MAX];       /* 0 bytes: not found */
    char address[SKN_FINDER_MAX][SKN_ADDRESS_BYTES]; /* never changed */
};

static void
leave(skn_finder_t *finder)
{
    (void)pthread_mutex_lock(&finder->lock);
    bool last = --finder->users == 0;
    (void)pthread_mutex_unlock(&finder->lock);
    if (!last)
        return;
    (void)pthread_cond_destroy(&finder->news);
    (void)pthread_mutex_destroy(&finder->lock);
    free(finder);
}

static uint32_t
lowest(uint64_t set)
{
    uint32_t k = 0;
    while (!(set >> k & 1u))
        k++;
    return k;
}

static void *
thread_main(void *argument)
{
    skn_finder_t *finder = argument;
    (void)pthread_mutex_lock(&finder->lock);
    while (!finder->closing) {
        if (!finder->wanted) {
            (void)pthread_cond_wait(&finder->news, &finder->lock);
            continue;
        }
        skn_conduit_place_t place;
        uint32_t k = lowest(finder->wanted);
        (void)pthread_mutex_unlock(&finder->lock);
        bool found = skn_conduit_find(finder->address[k], &place);
        (void)pthread_mutex_lock(&finder->lock);
        finder->wanted &= ~((uint64_t)1 << k);
        if (found)
            finder->place[k] = place;
    }
    (void)pthread_mutex_unlock(&finder->lock);
    leave(finder);
    return NULL;
}

/* Signals are for the owner's threads. */
static int
start_thread(skn_finder_t *finder)
{
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&thread, NULL, thread_main, finder);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        (void)pthread_detach(thread);
    return code;
}

skn_finder_t *
skn_finder_new(const char *const *address, uint32_t count, skn_error_t *error)
{
    skn_finder_t *finder = calloc(1, sizeof(*finder));
    if (!finder) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for addresses");
        return NULL;
    }
    for (uint32_t k = 0; k < count && k < SKN_FINDER_MAX; k++)
        (void)snprintf(finder->address[k], SKN_ADDRESS_BYTES, "%s", address[k]);
    (void)pthread_mutex_init(&finder->lock, NULL);
    (void)pthread_cond_init(&finder->news, NULL);
    finder->users = 2;
    int code = start_thread(finder);
    if (code == 0)
        return finder;
    (void)skn_fail(error, SKN_NO_MEMORY, "no thread to ask for names: %s",
                   strerror(code));
    finder->users = 1;
    leave(finder);
    return NULL;
}

void
skn_finder_destroy(skn_finder_t **finder)
{
    if (!*finder)
        return;
    (void)pthread_mutex_lock(&(*finder)->lock);
    (*finder)->closing = true;
    (void)pthread_cond_signal(&(*finder)->news);
    (void)pthread_mutex_unlock(&(*finder)->lock);
    leave(*finder);
    *finder = NULL;
}

void
skn_finder_ask(skn_finder_t *finder, uint32_t k)
{
    (void)pthread_mutex_lock(&finder->lock);
    finder->wanted |= (uint64_t)1 << k;
    (void)pthread_cond_signal(&finder->news);
    (void)pthread_mutex_unlock(&finder->lock);
}

bool
skn_finder_found(skn_finder_t *finder, uint32_t k, skn_conduit_place_t *place)
{
    (void)pthread_mutex_lock(&finder->lock);
    bool found = finder->place[k].bytes > 0;
    if (found)
        *place = finder->place[k];
    (void)pthread_mutex_unlock(&finder->lock);
    return found;
}
