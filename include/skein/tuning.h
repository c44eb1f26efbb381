/* tuning.h - searches for a better config than `auto` chooses, as `skein tune`
 * does.
 *
 *     skn_tuning_options_t options = SKN_ZERO;
 *     options.struct_bytes = sizeof(options);
 *     options.path = "model.yaml";
 *     tuning = skn_tuning_new(&options, &error);
 *     status = skn_tuning_start(tuning, &error);
 *     while (skn_tuning_event(tuning, -1, line, sizeof line, &error) == SKN_OK)
 *         puts(line);
 *     status = skn_tuning_wait(tuning, &error);
 *     skn_tuning_destroy(&tuning);
 *
 * A tuning draws configs around the choice of `auto`, trains each for a short
 * time, keeps the best, and trains those longer (successive halving). It scores
 * on training points that it holds back; the test file is not opened. It writes
 * the best config to FOLDER/tune.yaml, and the results of all trials to
 * FOLDER/tune.journal, from which `resume` continues. docs/tasks/tune.md.
 *
 * It does all of this on a thread of its own and calls nothing of the host
 * there. A trial is a training in this process (skein/training.h): a bug, or a
 * lack of memory that the system answers by ending the process, ends the host,
 * too. A host that wants to survive runs the tuning in a child process, and
 * after its death continues with `resume` and `died`, as the command does.
 *
 * A tuning is for one thread at a time, except skn_tuning_stop; several of a
 * process are independent, but disturb each other's forecasts. It installs no
 * signal handlers, starts no process and writes to no stream. In a child that
 * fork() made, a tuning that was started before can only be destroyed. A NULL
 * where none is allowed is SKN_USAGE (a function that returns no status then
 * does nothing).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_TUNING_H
#define SKEIN_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "skein/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_tuning skn_tuning_t;

/* Everything is copied. Zeros and NULL are the defaults. */
typedef struct skn_tuning_options {
    uint32_t struct_bytes; /* sizeof(skn_tuning_options_t) */
    uint32_t override_count;
    const char *const *overrides; /* such as "train.epochs=3", over the config;
                                   * the last one of a key counts, and no key
                                   * of them is varied */
    const char *path;             /* the config's file, not "-". Required */
    const char *folder; /* of the tuning; NULL: that of the run with "-tune" at
                         * its end */
    bool resume; /* continue the tuning in the folder, which was begun with the
                  * same options, after the last trial that was done */
    const char *died; /* with `resume`: why the process before this one died in
                       * a trial, which counts as failed then; NULL: it did not,
                       * and a trial that it had begun is repeated */
    const char *metric;  /* p1, p3, p5, psp1, psp3, psp5, ndcg3 or ndcg5;
                         * NULL: p1 */
    uint32_t candidates; /* configs to try, 1 to 256; 0: 16 */
    uint32_t rounds;     /* until trials have their full length, 1 to 8; 0: 3 */
    double keep;     /* the share of a round's candidates that enters the next,
                      * above 0 and below 1; 0: 1/3 */
    double budget_s; /* for all trials, also those before a `resume`, at
                      * most 9.5e8 (30 years); 0: no limit */
    uint32_t seed;   /* of the choice of candidates; 0: 1 */
} skn_tuning_options_t;

/* A tuning that is not yet started. NULL and SKN_USAGE for wrong options, or
 * SKN_NO_MEMORY, also for a lack of descriptors. */
SKN_API skn_tuning_t *skn_tuning_new(const skn_tuning_options_t *options,
                                     skn_error_t *error);
/* Ends a tuning that has not ended: as skn_tuning_stop, then skn_tuning_wait.
 * Frees, sets *tuning to NULL, which it may be already. */
SKN_API void skn_tuning_destroy(skn_tuning_t **tuning);

/* Starts the tuning's thread, which reads the config and the data. Whatever
 * fails there is an event `error`, and the status of skn_tuning_wait. SKN_USAGE
 * for a second start; SKN_NO_MEMORY: there is no thread. */
SKN_API skn_status_t skn_tuning_start(skn_tuning_t *tuning, skn_error_t *error);

/* A file descriptor that is readable when skn_tuning_event has an event or
 * skn_tuning_info may have changed, and after the end; level triggered. For the
 * host's own poll loop. */
SKN_API int skn_tuning_fd(const skn_tuning_t *tuning);

/* The next event, one line of JSON without its newline: `tune`, `forecast`,
 * `trial`, `warning`, `error`, and at the end `tuned` or `stopped`
 * (docs/reference/events.md). Waits at most `timeout_ms` (-1: forever, 0: not
 * at all); before the start it does not wait. SKN_BUSY: none yet.
 * SKN_UNAVAILABLE: the tuning has ended, and there are no more events.
 * SKN_TOO_SMALL: `line_bytes` do not suffice, which SKN_EVENT_BYTES_MAX always
 * do; the event is kept. */
SKN_API skn_status_t skn_tuning_event(skn_tuning_t *tuning, int timeout_ms,
                                      char *line, size_t line_bytes,
                                      skn_error_t *error);

/* Ends the tuning soon: the trial that runs is broken off and gets no result;
 * `resume` repeats it. From any thread, and safe in a signal handler, from new
 * to destroy. */
SKN_API void skn_tuning_stop(skn_tuning_t *tuning);

/* Waits until the tuning has ended; SKN_OK also after a stop, or if it was not
 * started, otherwise the failure. All unread events are kept. */
SKN_API skn_status_t skn_tuning_wait(skn_tuning_t *tuning, skn_error_t *error);

typedef struct skn_tuning_info_s {
    uint32_t struct_bytes; /* set by the caller before the call */
    uint32_t trial_count;  /* that are done, also before a `resume` */
    const char *folder;    /* of the tuning; "" until it is known */
    bool has_begun;   /* the folder has a journal: a `resume` is possible */
    bool is_over;     /* it has ended */
    bool was_stopped; /* before it was done, without a failure */
    uint32_t round, candidate; /* of the trial that runs, or ran last; rounds
                                * count from 1, candidate 0 is auto; 0 and 0:
                                * none was begun */
    const skn_training_idle_t *idle; /* of the config; NULL until it is read */
} skn_tuning_info_t;

/* Describes the tuning as it stands. The texts live as long as the tuning.
 * SKN_USAGE for struct_bytes that no version of Skein had. */
SKN_API skn_status_t skn_tuning_info(const skn_tuning_t *tuning,
                                     skn_tuning_info_t *info,
                                     skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
