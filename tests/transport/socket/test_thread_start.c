/* test_thread_start.c - tests which signals a started thread does not block.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/thread_start.h"

#include <criterion/criterion.h>
#include <signal.h>

static void *
note_mask(void *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

Test(thread_start, block_all_signals_but_those_of_faults_and_profilers)
{
    static const int open[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                SIGABRT, SIGTRAP, SIGSYS, SIGPROF };
    static const int closed[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                  SIGUSR2, SIGPIPE, SIGALRM, SIGCHLD, SIGXCPU };
    sigset_t mask, before, after;
    pthread_t thread;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    cr_assert_eq(skn_thread_start(&thread, NULL, note_mask, &mask), 0);
    (void)pthread_join(thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t k = 0; k < sizeof(open) / sizeof(open[0]); k++)
        cr_expect_eq(sigismember(&mask, open[k]), 0, "signal %d", open[k]);
    for (size_t k = 0; k < sizeof(closed) / sizeof(closed[0]); k++)
        cr_expect_eq(sigismember(&mask, closed[k]), 1, "signal %d", closed[k]);
    for (int k = 1; k < SIGRTMAX; k++)
        cr_expect_eq(sigismember(&before, k), sigismember(&after, k));
}
