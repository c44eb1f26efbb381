/* background.c - a detached thread for slow work, shared with its owner.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/background.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/socket/thread_start.h"

static void
part(skn_background_t *task)
{
    skn_background_lock(task);
    bool last = --task->users == 0;
    skn_background_unlock(task);
    if (!last)
        return;
    (void)pthread_cond_destroy(&task->news);
    (void)pthread_mutex_destroy(&task->lock);
    free(task);
}

static void *
thread_main(void *argument)
{
    skn_background_t *task = argument;
    task->run(task);
    part(task);
    return NULL;
}

static int
start_thread(skn_background_t *task)
{
    pthread_t thread;
    int code = skn_thread_start(&thread, NULL, thread_main, task);
    if (code == 0)
        (void)pthread_detach(thread);
    return code;
}

skn_status_t
skn_background_begin(skn_background_t *task,
                     void (*run)(skn_background_t *task), const char *what,
                     skn_error_t *error)
{
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&task->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&task->news, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    task->users = 2;
    task->closing = false;
    task->run = run;
    int code = start_thread(task);
    if (code == 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_NO_MEMORY, "no thread %s: %s", what,
                   strerror(code));
    task->users = 1;
    part(task);
    return SKN_NO_MEMORY;
}

void
skn_background_leave(skn_background_t *task)
{
    skn_background_lock(task);
    task->closing = true;
    skn_background_wake(task);
    skn_background_unlock(task);
    part(task);
}
