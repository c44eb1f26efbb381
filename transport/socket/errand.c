/* errand.c - a detached thread for slow work, shared with its owner.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/errand.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/socket/thread_start.h"

static void
part(skn_errand_t *errand)
{
    skn_errand_lock(errand);
    bool last = --errand->users == 0;
    skn_errand_unlock(errand);
    if (!last)
        return;
    (void)pthread_cond_destroy(&errand->news);
    (void)pthread_mutex_destroy(&errand->lock);
    free(errand);
}

static void *
thread_main(void *argument)
{
    skn_errand_t *errand = argument;
    errand->run(errand);
    part(errand);
    return NULL;
}

static int
start_thread(skn_errand_t *errand)
{
    pthread_t thread;
    int code = skn_thread_start(&thread, NULL, thread_main, errand);
    if (code == 0)
        (void)pthread_detach(thread);
    return code;
}

skn_status_t
skn_errand_begin(skn_errand_t *errand, void (*run)(skn_errand_t *errand),
                 const char *what, skn_error_t *error)
{
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&errand->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&errand->news, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    errand->users = 2;
    errand->closing = false;
    errand->run = run;
    int code = start_thread(errand);
    if (code == 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_NO_MEMORY, "no thread %s: %s", what,
                   strerror(code));
    errand->users = 1;
    part(errand);
    return SKN_NO_MEMORY;
}

void
skn_errand_leave(skn_errand_t *errand)
{
    skn_errand_lock(errand);
    errand->closing = true;
    skn_errand_tell(errand);
    skn_errand_unlock(errand);
    part(errand);
}
