/* thread_start.h - starts threads that leave signals to the host's threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_THREAD_START_H
#define TRANSPORT_SOCKET_THREAD_START_H

#include <pthread.h>
#include <signal.h>

/* Like pthread_create. The thread blocks all signals but those that report a
 * fault of its own (SEGV, BUS, FPE, ILL, ABRT, TRAP, SYS), which would end the
 * process without the host's handler if they were blocked, and PROF, so that a
 * profiler of the host sees the thread. */
int skn_thread_start(pthread_t *thread, const pthread_attr_t *attributes,
                     void *(*run)(void *), void *argument);
/* Gives the calling thread that mask, which threads that it starts inherit; the
 * caller sets `before` again. */
void skn_thread_mask(sigset_t *before);

#endif
