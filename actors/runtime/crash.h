/* crash.h - reports which actor a crash of the process happened in.
 *
 * A signal handler for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and
 * SIGSYS writes one line and then lets the signal take its previous course: an
 * earlier handler runs, or the process ends. The handler uses no heap, no lock
 * and no stack but its own, so that it can also name an actor whose stack has
 * overflowed. A process has one such handler, installed only on request.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_CRASH_H
#define ACTORS_RUNTIME_CRASH_H

#include <signal.h>

#include "actors/runtime/actor.h"

/* Same as skn_report_crashes of skein/topology.h. */
skn_status_t skn_crash_watch(int descriptor, skn_error_t *error);

/* The state of one thread: a stack for the handler, and a description of the
 * thread. `actor` is NULL in a thread of the runtime itself, which has a `role`
 * instead: "the thread of the links". Does nothing without skn_crash_watch.
 * Best effort: if memory is short, only stack overflows go unreported. */
typedef struct skn_crash_thread {
    void *stack;    /* malloc'ed; NULL: none */
    stack_t before; /* the thread's earlier signal stack */
} skn_crash_thread_t;
void skn_crash_enter(skn_crash_thread_t *thread, const skn_actor_t *actor,
                     const char *role);
void skn_crash_leave(skn_crash_thread_t *thread);

/* Writes "signal 11 (Segmentation fault) in actor ..." about the calling thread
 * into text[bytes]; async-signal-safe. `at` is the address that was accessed,
 * or NULL. */
void skn_crash_describe(int number, const void *at, char *text, size_t bytes);

#endif
