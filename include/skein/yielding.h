/* yielding.h - keeps a worker process out of the way of other work on its
 * machine, as `skein train` does with `idle.enabled`.
 *
 *     skn_yielding_options_t options = SKN_ZERO;
 *     options.struct_bytes = sizeof(options);
 *     options.idle = &idle;
 *     yielding = skn_yielding_new(&options, &error);
 *     status = skn_yielding_begin(yielding, worker, &error);
 *     several times a second, while the worker runs:
 *         wish = skn_yielding_step(yielding);
 *     skn_yielding_end(yielding);
 *     skn_yielding_destroy(&yielding);
 *
 * The worker is another process, such as a child of the host that trains. Once
 * a second a step measures what other processes use. It then moves the worker's
 * threads to fewer or more cores, halts the worker for a pause, looks for a
 * notice that the machine will be taken away, and says what the host should do
 * about the worker. docs/tasks/idle.md has the rules. Whatever the system
 * refuses is left as it is.
 *
 * A yielding object is for one thread at a time; it has no thread of its own,
 * and several of a process are independent. It sends the worker SIGSTOP and
 * SIGCONT, installs no signal handlers and writes to no stream. It starts
 * processes only to measure, in skn_yielding_new, and to run `notice_command`,
 * and waits for each by its number: a host that ignores SIGCHLD gets no answer
 * from them. A NULL where none is allowed is SKN_USAGE (a function that returns
 * no status then does nothing).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_YIELDING_H
#define SKEIN_YIELDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "skein/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_yielding skn_yielding_t;

/* Everything is copied. */
typedef struct skn_yielding_options {
    uint32_t struct_bytes; /* sizeof(skn_yielding_options_t) */
    bool may_stop; /* the worker may be halted for a pause, as no other process
                    * waits for it; otherwise it keeps one core */
    /* How to give way: as skn_training_info describes the config of the worker,
     * or filled by the host. `enabled` is not read; `share` and `memory` are
     * above 0 and at most 1. Required */
    const skn_training_idle_t *idle;
    const char *root; /* stands before /proc, /sys and /dev where the machine is
                       * measured: for the tests of a host; NULL: "" */
} skn_yielding_options_t;

/* The action that the host should take on the worker. */
typedef enum skn_yielding_wish {
    SKN_YIELDING_STAY,
    SKN_YIELDING_LEAVE, /* the machine will be taken away: stop the worker, and
                         * do not start it again */
    SKN_YIELDING_GIVE_MEMORY /* others need the memory: stop the worker, and
                              * start it again when the wish has changed */
} skn_yielding_wish_t;

/* Measures on one core which way of giving way works on this machine, with two
 * processes that spin for 0.2 s, and longer on a busy machine (3 s at most for
 * each way); an event `idle` reports it. NULL and SKN_USAGE for wrong options,
 * or SKN_NO_MEMORY, also for a lack of descriptors. */
SKN_API skn_yielding_t *skn_yielding_new(const skn_yielding_options_t *options,
                                         skn_error_t *error);
/* As skn_yielding_end, whose event is lost then. Frees, sets *yielding to NULL,
 * which it may be already. */
SKN_API void skn_yielding_destroy(skn_yielding_t **yielding);

/* Confines the process `worker`, which has begun, in place of the one before;
 * 0: there is none now, and steps only measure. A worker in a session of its
 * own (setsid(2)) gives way better: see docs/tasks/idle.md. SKN_UNAVAILABLE or
 * SKN_NO_PERMISSION: the worker gives way less than it should, and the steps
 * do what is left. */
SKN_API skn_status_t skn_yielding_begin(skn_yielding_t *yielding, pid_t worker,
                                        skn_error_t *error);

/* Measures once a second, and acts on the worker. Call it about five times a
 * second; it does not wait. A wish holds until another one replaces it;
 * SKN_YIELDING_LEAVE is the last. SKN_YIELDING_STAY if `yielding` is NULL. */
SKN_API skn_yielding_wish_t skn_yielding_step(skn_yielding_t *yielding);

/* The worker was asked to end, for a wish or by the host: gives it its cores,
 * its weight and, if it is halted, its turn back, so that it does not take
 * longer than the notice. The steps leave it alone until the next begin. */
SKN_API void skn_yielding_hurry(skn_yielding_t *yielding);

/* The next event `idle`, one line of JSON without its newline
 * (docs/reference/events.md). Does not wait. SKN_BUSY: none yet.
 * SKN_UNAVAILABLE: skn_yielding_end was called, and there are no more events.
 * SKN_TOO_SMALL: `line_bytes` do not suffice, which SKN_EVENT_BYTES_MAX always
 * do; the event is kept. */
SKN_API skn_status_t skn_yielding_event(skn_yielding_t *yielding, char *line,
                                        size_t line_bytes, skn_error_t *error);

/* Nothing gives way any more: the worker has ended, or gets its cores back.
 * The last event reports how much time the worker and others used. */
SKN_API void skn_yielding_end(skn_yielding_t *yielding);

#ifdef __cplusplus
}
#endif

#endif
