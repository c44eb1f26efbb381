/* party.h - what coordinators and members have in common beside their task: a
 * config, a start, and events that never block their thread.
 *
 * The host's thread calls every function but skn_party_keep,
 * skn_party_complain and skn_party_end, which are for the thread of the party
 * once that has begun.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_PARTY_H
#define TOPOLOGY_CLUSTER_PARTY_H

#include "topology/model/model.h"
#include "topology/training/task.h"

/* Orders of a party's task. They add up, so that a signal handler can give one
 * and the threads share nothing else. */
#define SKN_PARTY_LEAVE UINT64_C(1)
#define SKN_PARTY_BREAK (UINT64_C(1) << 32)

typedef struct skn_party {
    skn_task_t task;
    const char *path, *const *overrides; /* owned by the task */
    uint32_t override_count;
    bool works;     /* it has started, and has not ended; both threads use it */
    bool is_ending; /* the thread's: no event is dropped any more */
    bool has_begun; /* skn_party_begin was called */
    skn_model_t *model;
    /* Brings what the host may ask up to date, before it reads an event; or
     * NULL. */
    void (*note)(struct skn_party *party);
} skn_party_t;

/* Copies the path of a config and its overrides. `noun` must outlive the party.
 * SKN_USAGE, SKN_NO_MEMORY. Call skn_party_fini in any case. */
skn_status_t skn_party_init(skn_party_t *party, const char *noun,
                            const char *path, const char *const *overrides,
                            uint32_t override_count, skn_error_t *error);
/* The thread has ended. */
void skn_party_fini(skn_party_t *party);

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

#endif
