/* member_worker.h - the process that works for a member in one generation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_MEMBER_WORKER_H
#define CLI_ELASTIC_MEMBER_WORKER_H

#include <jansson.h>

#include "cli/base/bar.h"
#include "cli/up/up.h"

/* For a worker that was broken off to write what it has: 97 MB took .3 s where
 * a checkpoint of them did (decision 0012), and the coordinator waits for 8 s
 * (SKN_MEMBER_GATHER_MS). */
#define CLI_WORKER_CUT_MS 5000u

typedef struct cli_worker {
    cli_up_node_t node;          /* .process 0: none */
    uint64_t generation;         /* of the newest one */
    uint64_t batch, saved_batch; /* as far as it said; it leads then */
    bool leads, done, stopped;
    bool noticed;      /* the machine will be taken away: idle.notice */
    bool crowded;      /* others need its machine's memory: idle.memory */
    bool ended;        /* was told by cli_worker_turn */
    uint64_t break_ns; /* till when it may write its cut; 0: it need not */
    /* Of those before it, and of it: CPU time and bytes to other nodes. And how
     * long it has trained, as the one who leads says. */
    uint64_t cpu_before_ns, cpu_ns, sent_before_bytes, sent_bytes, busy_ns;
    /* How long its busiest core had work in hand, and when it said so. */
    uint64_t load_us, load_at_us;
    uint64_t misses; /* nodes of the model that it does not hear */
    const skn_model_t *model;
    const cli_call_t *call;
    cli_bar_t *bar;
    char name[SKN_NAME_MAX + 1];
} cli_worker_t;

typedef struct cli_worker_start {
    const cli_call_t *call; /* of `member`, whose options go along */
    const skn_model_t *model;
    const skn_model_node_t *node;
    const char *folder; /* of the node's part of the run */
    cli_bar_t *bar;
} cli_worker_start_t;

void cli_worker_init(cli_worker_t *worker);
void cli_worker_fini(cli_worker_t *worker);

/* Whether an event of this name says of each generation what people want to
 * hear once. */
bool cli_worker_repeats(const char *name);

/* Starts it as the order "start" says. No other one may live. */
skn_status_t cli_worker_begin(cli_worker_t *worker,
                              const cli_worker_start_t *start,
                              const json_t *order, skn_error_t *error);
/* Reads what it says, and prints what is for people. True, once: it has ended,
 * as cli_worker_ending says. */
bool cli_worker_turn(cli_worker_t *worker);
/* "done", "stopped", "well" or "failed" (then its error is set). */
const char *cli_worker_ending(const cli_worker_t *worker);
bool cli_worker_lives(const cli_worker_t *worker);
/* Looks at what it has used; to be called now and then, and before its end. */
void cli_worker_look(cli_worker_t *worker);
/* Renews its lease, to `until_ns` of the monotonic clock. */
void cli_worker_feed(const cli_worker_t *worker, uint64_t until_ns);
/* Has it drop all and write its cut, for CLI_WORKER_CUT_MS at most, if it
 * is told so for the first time. cli_worker_turn sees to it. */
void cli_worker_break(cli_worker_t *worker);
/* Ends it at once and waits for its end; nothing happens if there is none. */
void cli_worker_kill(cli_worker_t *worker);

#endif
