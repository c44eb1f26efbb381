/* member.h - coordinates a run whose machines join, leave and die, as
 * `skein coordinator` does.
 *
 *     skn_coordinator_options_t options = SKN_ZERO;
 *     options.struct_bytes = sizeof(options);
 *     options.path = "run.yaml";
 *     coordinator = skn_coordinator_new(&options, &error);
 *     status = skn_coordinator_start(coordinator, &error);
 *     while (skn_coordinator_event(coordinator, -1, line, sizeof line,
 *                                  &error) == SKN_OK)
 *         puts(line);
 *     status = skn_coordinator_wait(coordinator, &error);
 *     skn_coordinator_destroy(&coordinator);
 *
 * A coordinator listens at the address under `coordinator` of a config, decides
 * which of the nodes in it train, and keeps a journal in checkpoint.path: after
 * its end, or the death of its process, another one with the same config
 * continues the run. It trains nothing and holds no weights. It works on a
 * thread of its own and calls nothing of the host there.
 *
 * A coordinator is for one thread at a time, except skn_coordinator_stop;
 * several of a process are independent. It installs no signal handlers, starts
 * no process and writes to no stream. In a child that fork() made, nothing may
 * be done with it. A NULL where none is allowed is SKN_USAGE (a function that
 * returns no status then does nothing).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_MEMBER_H
#define SKEIN_MEMBER_H

#include <stdbool.h>

#include "skein/error.h"
#include "skein/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_coordinator skn_coordinator_t;

/* Everything is copied. Zeros and NULL are the defaults. */
typedef struct skn_coordinator_options {
    uint32_t struct_bytes; /* sizeof(skn_coordinator_options_t) */
    uint32_t override_count;
    const char *const *overrides; /* such as "train.epochs=3", over the config;
                                   * the last one of a key counts */
    const char *path; /* the config's file; "-": standard input. Required */
    uint32_t wait_s;  /* for all listed nodes to connect at the start; 0: 15 */
    bool progress;    /* events `nodes`, twice a second */
} skn_coordinator_options_t;

/* A coordinator that is not yet started. NULL and SKN_USAGE for wrong options,
 * or SKN_NO_MEMORY, also for a lack of descriptors. */
SKN_API skn_coordinator_t *skn_coordinator_new(
    const skn_coordinator_options_t *options, skn_error_t *error);
/* Ends a coordinator that has not ended at once: the members train on, until
 * another one continues the run. Frees, sets *coordinator to NULL, which it may
 * be already. */
SKN_API void skn_coordinator_destroy(skn_coordinator_t **coordinator);

/* Reads the config, listens, opens the journal, and starts the thread. A
 * failure is also an event `error`, or one for each problem of the config.
 * SKN_BAD_CONFIG; SKN_BUSY: another process coordinates this run; SKN_USAGE:
 * the config names no coordinator or no checkpoint.path, or a second start;
 * SKN_UNAVAILABLE, SKN_NO_PERMISSION: the address or the folder cannot be used;
 * SKN_NO_MEMORY. A run that is done is SKN_OK, and an event `warning`. */
SKN_API skn_status_t skn_coordinator_start(skn_coordinator_t *coordinator,
                                           skn_error_t *error);

/* A file descriptor that is readable when skn_coordinator_event has an event,
 * and after the end; level triggered. For the host's own poll loop. */
SKN_API int skn_coordinator_fd(const skn_coordinator_t *coordinator);

/* The next event, one line of JSON without its newline: `membership`,
 * `partial`, `nodes`, `warning`, `error`, and at the end `harvest`
 * (docs/reference/events.md). Waits at most `timeout_ms` (-1: forever, 0: not
 * at all); before the start it does not wait. SKN_BUSY: none yet.
 * SKN_UNAVAILABLE: it has ended, and there are no more events. SKN_TOO_SMALL:
 * skn_coordinator_info has the bytes that it needs. A coordinator does not wait
 * for its host: with SKN_EVENTS_MAX events unread, later ones are lost, except
 * those of its end. */
SKN_API skn_status_t skn_coordinator_event(skn_coordinator_t *coordinator,
                                           int timeout_ms, char *line,
                                           size_t line_bytes,
                                           skn_error_t *error);

/* Asks for the end of the run: its members save and end, then the coordinator
 * does. The run can be continued. From any thread, and safe in a signal
 * handler, from new to destroy. */
SKN_API void skn_coordinator_stop(skn_coordinator_t *coordinator);

/* Waits until it has ended; SKN_OK also after a stop, or if it was not started,
 * otherwise the failure. All unread events are kept. */
SKN_API skn_status_t skn_coordinator_wait(skn_coordinator_t *coordinator,
                                          skn_error_t *error);

typedef struct skn_coordinator_info {
    uint32_t struct_bytes;      /* set by the caller before the call */
    uint32_t node_count;        /* of the config; 0 before the start */
    const char *const *nodes;   /* their names */
    const char *name, *address; /* of the run and of the coordinator; "" before
                                 * the start */
    size_t event_bytes; /* that the next event and its NUL need; 0: there is
                         * none yet */
    bool leads;         /* it has started, and has not ended */
    bool was_stopped;   /* the run is over before it was done; set before the
                         * event that says so */
} skn_coordinator_info_t;

/* Describes the run as it stands. The texts live as long as the coordinator.
 * SKN_USAGE for struct_bytes that no version of Skein had. */
SKN_API skn_status_t skn_coordinator_info(skn_coordinator_t *coordinator,
                                          skn_coordinator_info_t *info,
                                          skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
