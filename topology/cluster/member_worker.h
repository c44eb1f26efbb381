/* member_worker.h - starts, reads and ends a member's worker for a generation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_MEMBER_WORKER_H
#define TOPOLOGY_CLUSTER_MEMBER_WORKER_H

#include "topology/cluster/control_messages.h"
#include "topology/cluster/party.h"
#include "topology/cluster/worker_process.h"

/* The time for a worker that was broken off to write its salvage: 97 MB took .3
 * s where a checkpoint of them did (decision 0012), and the coordinator waits
 * for 8 s (SKN_MEMBER_GATHER_MS). */
#define SKN_WORKER_SALVAGE_MS 5000u

/* The settings of all workers of a member; they outlive these. */
typedef struct skn_worker_settings {
    skn_party_t *party; /* its config is the worker's, and it gets events */
    const skn_model_node_t *node;
    const char *folder;  /* of the node's part of the run */
    const char *program; /* the command, `skein` */
    uint32_t patience_s; /* to the next marker, when pausing; 0: the default */
    bool progress;       /* events `progress` */
} skn_worker_settings_t;

typedef struct skn_worker {
    const skn_worker_settings_t *settings;
    skn_worker_process_t process;
    skn_error_t error;           /* the error that it reported */
    uint64_t generation;         /* of the newest worker */
    uint64_t batch, saved_batch; /* last reported, if it leads */
    bool is_leader, done, stopped;
    bool failed;       /* it ended with a failure */
    bool noticed;      /* the machine will be taken away: idle.notice */
    bool crowded;      /* others need its machine's memory: idle.memory */
    bool signalled;    /* a signal has asked it to stop, or its CPU time ends */
    bool ended;        /* skn_worker_turn has reported it */
    uint64_t break_ns; /* deadline for its salvage; 0: none is wanted */
    /* CPU time and bytes to other nodes, of earlier workers and of this one;
     * and how long it has trained, as the lead reports it. */
    uint64_t cpu_before_ns, cpu_ns, sent_before_bytes, sent_bytes, busy_ns;
    /* How long its busiest core had work, and when it reported that. */
    uint64_t load_us, load_at_us;
    uint64_t misses; /* nodes of the model that it does not hear */
} skn_worker_t;

void skn_worker_init(skn_worker_t *worker,
                     const skn_worker_settings_t *settings);
/* The worker has ended. */
void skn_worker_fini(skn_worker_t *worker);

/* Starts a worker by the message `start`. No other worker may live. */
skn_status_t skn_worker_begin(skn_worker_t *worker,
                              const skn_control_start_t *message,
                              skn_error_t *error);
/* Reads the worker's output and passes on the events that are for people. True,
 * once, when it has ended: see skn_worker_ending. */
bool skn_worker_turn(skn_worker_t *worker);
/* How it ended: "done", "stopped", "well" or "failed" (then its error is
 * set). */
const char *skn_worker_ending(const skn_worker_t *worker);
bool skn_worker_lives(const skn_worker_t *worker);
/* Samples what it has used; to be called now and then, and before its end. */
void skn_worker_look(skn_worker_t *worker);
/* Renews its lease, to `until_ns` of the monotonic clock. */
void skn_worker_feed(const skn_worker_t *worker, uint64_t until_ns);
/* Asks it to save at the next marker, and to end. */
void skn_worker_stop(skn_worker_t *worker);
/* Asks it, the first time only, to stop at once and write its salvage, within
 * SKN_WORKER_SALVAGE_MS. skn_worker_turn enforces the time. */
void skn_worker_break(skn_worker_t *worker);
/* Kills it and waits for its end; does nothing if there is none. */
void skn_worker_kill(skn_worker_t *worker);

#endif
