/* thread_start.c - the signal mask that every thread of ours begins with.
 *
 * ZeroMQ starts threads of its own, which block every signal; none of our code
 * runs in them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/thread_start.h"

#include <signal.h>
#include <stddef.h>

static const int open_signals[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                    SIGABRT, SIGTRAP, SIGSYS, SIGPROF };

void
skn_thread_mask(sigset_t *before)
{
    sigset_t blocked;
    (void)sigfillset(&blocked);
    for (size_t k = 0; k < sizeof(open_signals) / sizeof(open_signals[0]); k++)
        (void)sigdelset(&blocked, open_signals[k]);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, before);
}

int
skn_thread_start(pthread_t *thread, const pthread_attr_t *attributes,
                 void *(*run)(void *), void *argument)
{
    sigset_t before;
    skn_thread_mask(&before);
    int code = pthread_create(thread, attributes, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}
