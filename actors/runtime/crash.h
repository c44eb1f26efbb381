/* crash.h - says which actor a crash of the process is in.
 *
 * A handler of SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and SIGSYS
 * writes one line, and lets the signal do what it did before: another handler
 * of it runs, or the process ends with it. It uses no memory of the heap, no
 * lock and no stack but its own, so that an actor whose stack is full is named,
 * too. A process has one such handler; nobody has it who did not ask.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_CRASH_H
#define ACTORS_RUNTIME_CRASH_H

#include <signal.h>

#include "actors/runtime/actor.h"

/* As skn_report_crashes of skein/topology.h. */
skn_status_t skn_crash_watch(int descriptor, skn_error_t *error);

/* The calling thread's part: a stack for the handler, and what is said of the
 * thread. `actor` is NULL in a thread of the runtime's own, which has `role`:
 * "the thread of the links". Nothing without skn_crash_watch. Best effort:
 * without memory only a full stack is not told. */
typedef struct skn_crash_thread {
    void *stack;    /* malloc'ed; NULL: none */
    stack_t before; /* the one that the thread had */
} skn_crash_thread_t;
void skn_crash_enter(skn_crash_thread_t *thread, const skn_actor_t *actor,
                     const char *role);
void skn_crash_leave(skn_crash_thread_t *thread);

/* "signal 11 (Segmentation fault) in actor ...", in text[bytes], of the calling
 * thread; async-signal-safe. `at` is the address that was touched, or NULL. */
void skn_crash_describe(int number, const void *at, char *text, size_t bytes);

#endif
