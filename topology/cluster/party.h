/* party.h - the half of a coordinator or a member that faces its host: the
 * config, orders, events and the thread that does the work.
 *
 * The host's thread calls every function but skn_party_keep,
 * skn_party_complain, skn_party_orders and skn_party_end, which are for the
 * thread of the party once that has begun.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_PARTY_H
#define TOPOLOGY_CLUSTER_PARTY_H

#include <sys/types.h>

#include "topology/model/model.h"
#include "topology/training/line_queue.h"

/* Orders add up in the counter of a descriptor: a signal handler may give one,
 * and the threads have to share nothing else. */
#define SKN_PARTY_LEAVE UINT64_C(1)
#define SKN_PARTY_BREAK (UINT64_C(1) << 32)

typedef struct skn_party {
    const char *noun; /* "the coordinator", in messages */
    char *path, **overrides;
    uint32_t override_count;
    uint32_t process; /* that made it, a skn_process_mark */
    int orders;
    skn_line_queue_t queue; /* its mutex guards what both threads use */
    bool works;             /* it has started, and has not ended */
    bool is_ending;         /* the thread's: no event is dropped any more */
    bool was_started, has_thread;
    pthread_t thread;
    skn_model_t *model;
    skn_error_t failure; /* valid when the thread is joined */
} skn_party_t;

/* Copies the path of a config and its overrides. `noun` must outlive the party.
 * SKN_USAGE, SKN_NO_MEMORY. Call skn_party_fini in any case. */
skn_status_t skn_party_init(skn_party_t *party, const char *noun,
                            const char *path, const char *const *overrides,
                            uint32_t override_count, skn_error_t *error);
/* The thread has ended. */
void skn_party_fini(skn_party_t *party);

/* SKN_USAGE: `party` is NULL, or this process is not the one that made it.
 * `function` was called with it. */
skn_status_t skn_party_check(const skn_party_t *party, const char *noun,
                             const char *function, skn_error_t *error);

/* Gives an order; also from a signal handler. */
void skn_party_order(const skn_party_t *party, uint64_t order);
/* The orders since the last call: a sum. */
uint64_t skn_party_orders(const skn_party_t *party);

/* The start: reads the config, opens with `open`, which may set `is_done`
 * (there is nothing to do), and begins a thread that runs `run`. A failure is
 * an event, too, or one for each problem of the config. */
typedef struct skn_party_start {
    skn_status_t (*open)(void *job, bool *is_done, skn_error_t *error);
    void (*close)(void *job); /* after a failure, or nothing to do */
    void *(*run)(void *job);  /* ends with skn_party_end */
    void *job;
} skn_party_start_t;
skn_status_t skn_party_begin(skn_party_t *party, const skn_party_start_t *start,
                             skn_error_t *error);

/* Keeps an event for the host. A party must not wait for its host, or others
 * would take it for dead: with SKN_EVENTS_MAX events unread, the event is lost
 * unless the party is ending. `party` is a skn_party_t. */
void skn_party_keep(void *party, const char *line);
/* Keeps an event `error`, or with the code 0 a `warning`. */
void skn_party_complain(skn_party_t *party, int code, const char *message,
                        const char *hint);
/* Ends the events; `works` is false from then on. */
void skn_party_end(skn_party_t *party);

/* As skn_coordinator_event and skn_coordinator_wait. */
skn_status_t skn_party_event(skn_party_t *party, int timeout_ms, char *line,
                             size_t line_bytes, skn_error_t *error);
skn_status_t skn_party_wait(skn_party_t *party, skn_error_t *error);

#endif
