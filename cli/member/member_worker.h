/* member_worker.h - starts, reads and ends a member's worker for a generation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MEMBER_MEMBER_WORKER_H
#define CLI_MEMBER_MEMBER_WORKER_H

#include "cli/base/bar.h"
#include "topology/cluster/control_messages.h"
#include "cli/up/up.h"

/* The time for a worker that was broken off to write its salvage: 97 MB took .3
 * s where a checkpoint of them did (decision 0012), and the coordinator waits
 * for 8 s (SKN_MEMBER_GATHER_MS). */
#define CLI_WORKER_SALVAGE_MS 5000u

typedef struct cli_worker {
    cli_up_node_t node;          /* .process 0: none */
    uint64_t generation;         /* of the newest worker */
    uint64_t batch, saved_batch; /* last reported, if it leads */
    bool is_leader, done, stopped;
    bool noticed;      /* the machine will be taken away: idle.notice */
    bool crowded;      /* others need its machine's memory: idle.memory */
    bool ended;        /* cli_worker_turn has reported it */
    uint64_t break_ns; /* deadline for its salvage; 0: none is wanted */
    /* CPU time and bytes to other nodes, of earlier workers and of this one;
     * and how long it has trained, as the lead reports it. */
    uint64_t cpu_before_ns, cpu_ns, sent_before_bytes, sent_bytes, busy_ns;
    /* How long its busiest core had work, and when it reported that. */
    uint64_t load_us, load_at_us;
    uint64_t misses; /* nodes of the model that it does not hear */
    const skn_model_t *model;
    const cli_call_t *call;
    cli_bar_t *bar;
    char name[SKN_NAME_MAX + 1];
} cli_worker_t;

typedef struct cli_worker_start {
    const cli_call_t *call; /* call of `member`, whose options are passed on */
    const skn_model_t *model;
    const skn_model_node_t *node;
    const char *folder; /* folder of the node's part of the run */
    cli_bar_t *bar;
} cli_worker_start_t;

void cli_worker_init(cli_worker_t *worker);
void cli_worker_fini(cli_worker_t *worker);

/* Whether an event of this name repeats in each generation what people need
 * only once. */
bool cli_worker_repeats(const char *name);

/* Starts a worker by the message `start`. No other worker may live. */
skn_status_t cli_worker_begin(cli_worker_t *worker,
                              const cli_worker_start_t *start,
                              const skn_control_start_t *message,
                              skn_error_t *error);
/* Reads the worker's output and prints what is for people. True, once, when it
 * has ended: see cli_worker_ending. */
bool cli_worker_turn(cli_worker_t *worker);
/* How it ended: "done", "stopped", "well" or "failed" (then its error is
 * set). */
const char *cli_worker_ending(const cli_worker_t *worker);
bool cli_worker_lives(const cli_worker_t *worker);
/* Samples what it has used; to be called now and then, and before its end. */
void cli_worker_look(cli_worker_t *worker);
/* Renews its lease, to `until_ns` of the monotonic clock. */
void cli_worker_feed(const cli_worker_t *worker, uint64_t until_ns);
/* Asks it, the first time only, to stop at once and write its salvage, within
 * CLI_WORKER_SALVAGE_MS. cli_worker_turn enforces the time. */
void cli_worker_break(cli_worker_t *worker);
/* Kills it and waits for its end; does nothing if there is none. */
void cli_worker_kill(cli_worker_t *worker);

#endif
