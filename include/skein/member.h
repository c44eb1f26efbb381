/* member.h - takes part in a run whose machines join, leave and die, as
 * `skein member` does, and coordinates one, as `skein coordinator` does.
 *
 *     skn_member_options_t options = SKN_ZERO;
 *     options.struct_bytes = sizeof(options);
 *     options.path = "run.yaml";
 *     options.node = "b";
 *     member = skn_member_new(&options, &error);
 *     status = skn_member_start(member, &error);
 *     while (skn_member_event(member, -1, line, sizeof line, &error) == SKN_OK)
 *         puts(line);
 *     status = skn_member_wait(member, &error);
 *     skn_member_destroy(&member);
 *
 * A member joins the run at the address under `coordinator` of a config, as one
 * of the nodes in it, and keeps its part in checkpoint.path/NODE. For each
 * generation in which it takes part, it starts a process that trains, the
 * command `skein node`, and ends it when the lease of the coordinator ends.
 *
 * A coordinator listens at that address, decides which of the nodes train, and
 * keeps a journal in checkpoint.path: after its end, or the death of its
 * process, another one with the same config continues the run. It trains
 * nothing, holds no weights and starts no process.
 *
 * Both work on a thread of their own, call nothing of the host there, and do
 * not wait for it: with SKN_EVENTS_MAX events unread, later ones are lost,
 * except those of the end. Each is for one thread at a time, except its
 * functions leave and stop; several of a process are independent. They install
 * no signal handlers and write to no stream. The host may wait for children of
 * any number, or ignore SIGCHLD: then only the exit code of a worker is lost.
 * In a child that fork() made, nothing may be done with them. A NULL where none
 * is allowed is SKN_USAGE (a function that returns no status then does
 * nothing).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_MEMBER_H
#define SKEIN_MEMBER_H

#include <stdbool.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "skein/training.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- members -------------------------------------------------------------- */

typedef struct skn_member skn_member_t;

/* Everything is copied. Zeros and NULL are the defaults. */
typedef struct skn_member_options {
    uint32_t struct_bytes; /* sizeof(skn_member_options_t) */
    uint32_t override_count;
    const char *const
        *overrides;   /* such as "checkpoint.path=/srv/run", over the
                                   * config; the last one of a key counts */
    const char *path; /* the config's file, which workers read, too. Required */
    const char *node; /* which of its nodes this machine is. Required */
    const char
        *program;     /* the command; NULL: "skein", looked for on the PATH */
    uint32_t wait_s;  /* for the coordinator at the start; 0: 120 */
    uint32_t grace_s; /* from skn_member_leave to the end, at most; 0: 25 */
    uint32_t
        patience_s; /* of a worker that pauses, to the next marker; 0: 2, or
                          * with train.reduction `fixed` as long as it takes */
    bool progress;  /* events `progress` of the worker, if it leads */
} skn_member_options_t;

/* A member that is not yet started. NULL and SKN_USAGE for wrong options, or
 * SKN_NO_MEMORY, also for a lack of descriptors. */
SKN_API skn_member_t *skn_member_new(const skn_member_options_t *options,
                                     skn_error_t *error);
/* Ends a member that has not ended, as skn_member_stop does. Frees, sets
 * *member to NULL, which it may be already. */
SKN_API void skn_member_destroy(skn_member_t **member);

/* Reads the config and starts the thread, which connects to the coordinator. A
 * failure is also an event `error`, or one for each problem of the config.
 * SKN_BAD_CONFIG; SKN_BUSY: another process is this node; SKN_USAGE: the config
 * has no such node, no coordinator or no checkpoint.path, or a second start;
 * SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_CANNOT_CREATE: the keys or the folder
 * cannot be used; SKN_NO_MEMORY. */
SKN_API skn_status_t skn_member_start(skn_member_t *member, skn_error_t *error);

/* A file descriptor that is readable when skn_member_event has an event, and
 * after the end; level triggered. For the host's own poll loop. */
SKN_API int skn_member_fd(const skn_member_t *member);

/* The next event, one line of JSON without its newline: `member`, `part`,
 * `warning`, `error`, `stderr`, those of the worker if it leads, and at the end
 * `over` or `left` (docs/reference/events.md). Otherwise as
 * skn_coordinator_event. */
SKN_API skn_status_t skn_member_event(skn_member_t *member, int timeout_ms,
                                      char *line, size_t line_bytes,
                                      skn_error_t *error);

/* Asks to leave the run: the worker trains to the next marker, and its state is
 * handed over, within `grace_s`. From any thread, and safe in a signal handler,
 * from new to destroy. */
SKN_API void skn_member_leave(skn_member_t *member);
/* Kills the worker and ends, without handing over: to the others, this node has
 * died. As skn_member_leave otherwise. */
SKN_API void skn_member_stop(skn_member_t *member);

/* Waits until it has ended. SKN_OK if the run is done, or the member has left;
 * SKN_UNAVAILABLE: no coordinator has answered; SKN_NO_PERMISSION: it refuses
 * this node; otherwise the failure of the worker or of the run. All unread
 * events are kept. */
SKN_API skn_status_t skn_member_wait(skn_member_t *member, skn_error_t *error);

typedef struct skn_member_info_s {
    uint32_t struct_bytes;      /* set by the caller before the call */
    const char *name, *address; /* of the run and of the coordinator; "" before
                                 * the start */
    const skn_training_idle_t *idle; /* of the config, for a host that returns
                                      * after it `left` for want of memory; NULL
                                      * before the start */
    uint64_t generation; /* in which its worker trains; 0: it has none */
    size_t event_bytes;  /* that the next event and its NUL need; 0: there is
                          * none yet */
    bool works;          /* it has started, and has not ended */
    bool is_connected;   /* to the coordinator */
} skn_member_info_t;

/* Describes the member as it stands. The texts live as long as the member.
 * SKN_USAGE for struct_bytes that no version of Skein had. */
SKN_API skn_status_t skn_member_info(skn_member_t *member,
                                     skn_member_info_t *info,
                                     skn_error_t *error);

/* A member writes numbers into the standard input of its worker, `skein node
 * --lease`: the end of the lease, a uint64_t of nanoseconds of CLOCK_MONOTONIC,
 * or this number: stop at once, and write the salvage. */
#define SKN_LEASE_BREAK UINT64_MAX

/* --- coordinators --------------------------------------------------------- */

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
 * skn_coordinator_info has the bytes that it needs. */
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

typedef struct skn_coordinator_info_s {
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

/* --- keys ----------------------------------------------------------------- */

/* The public half of a key pair as text, with its NUL. */
#define SKN_PUBLIC_KEY_BYTES 41u
/* Added to the path of the public half, for that of the secret half. */
#define SKN_SECRET_KEY_SUFFIX "_secret"

/* Makes the key pair of a node or a coordinator, as `skein keygen` does
 * (docs/tasks/keys.md): the public half in the file `path`, both halves beside
 * it, for the owner's eyes only. `name` is stored in both; it may be NULL.
 * `public_key` is filled. SKN_USAGE: `name` cannot name a node;
 * SKN_CANNOT_CREATE: a file exists already, and is not changed, or cannot be
 * written. */
SKN_API skn_status_t skn_keygen(const char *path, const char *name,
                                char public_key[SKN_PUBLIC_KEY_BYTES],
                                skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
