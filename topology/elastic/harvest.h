/* harvest.h - what a run made of the time that machines gave to it.
 *
 *     time of members x their cores
 *       ├─ useful    in batches that count in the end
 *       ├─ redone    in batches that a later generation trained again
 *       └─ waiting   the rest: no generation, its start, checkpoints, a pause,
 *                    a dead node that is not missed yet
 *
 * A member's time counts from when it is there until it was heard last. In a
 * generation it is training as far as the one who leads says that it was
 * (`busy_ns`): what was done of batch after batch is kept in a stack by the
 * number of the batch, and a generation that begins at a lower one takes what
 * lies above off it. So the three sum up to all, whatever happens.
 *
 * Pure: no clock, no file. Times never go back. Definitions for readers of the
 * report: docs/elastic.md.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_HARVEST_H
#define TOPOLOGY_ELASTIC_HARVEST_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* What is counted: C(name, meaning). Core time is in nanoseconds of one core.
 * `died` are ends of members without notice, `left` those with it. What a
 * generation takes back is booked under the first of died, left, failed that
 * ended the one before. */
#define SKN_HARVEST_COUNTS(C)                                                  \
    C(useful_ns, "core time in batches that count")                            \
    C(redone_ns, "core time in batches that were trained again")               \
    C(waiting_ns, "core time in no batch")                                     \
    C(cpu_ns, "CPU time of workers, as the system counts it")                  \
    C(sent_bytes, "between workers, headers included")                         \
    C(batches, "that count")                                                   \
    C(redone_batches, "trained again")                                         \
    C(died, "members that ended without notice")                               \
    C(died_ns, "core time redone for them")                                    \
    C(died_batches, "redone for them")                                         \
    C(left, "members that left with notice")                                   \
    C(left_ns, "core time redone for those whose notice was too short")        \
    C(left_batches, "redone for them")                                         \
    C(failed, "workers that failed")                                           \
    C(failed_ns, "core time redone for them")                                  \
    C(failed_batches, "redone for them")                                       \
    C(partials, "times that survivors of a death kept what they had")          \
    C(lost_updates, "of blocks, that were lost then")                          \
    C(generations, "begun")

typedef struct skn_harvest_sum {
#define C(name, help) uint64_t name;
    SKN_HARVEST_COUNTS(C)
#undef C
} skn_harvest_sum_t;

/* What a member's pulse says; all but `generation` and `batch` count up from
 * when the member was started, `busy_ns` from the generation's start. */
typedef struct skn_harvest_pulse {
    uint64_t generation, batch; /* that it runs, or has run last */
    uint64_t busy_ns; /* of training and evaluation; 0: it does not lead */
    uint64_t cpu_ns, sent_bytes;
} skn_harvest_pulse_t;

typedef struct skn_harvest skn_harvest_t;

/* `before`: what an earlier coordinator wrote down; NULL for a new run.
 * SKN_NO_MEMORY, SKN_USAGE. */
skn_harvest_t *skn_harvest_new(uint32_t member_count,
                               const skn_harvest_sum_t *before,
                               skn_error_t *error);
void skn_harvest_destroy(skn_harvest_t **harvest);

/* An earlier coordinator's generation may still run, of the members in `set`:
 * what was not written down of it is not counted. */
void skn_harvest_goes_on(skn_harvest_t *harvest, uint64_t generation,
                         uint64_t set);

/* The generation that begins next goes on from what survivors kept; so many
 * updates of blocks are lost by it. */
void skn_harvest_partial(skn_harvest_t *harvest, uint64_t lost_updates);

/* A process of `member` is there, which may use `cores`. */
void skn_harvest_hello(skn_harvest_t *harvest, uint32_t member,
                       uint64_t incarnation, uint32_t cores, uint64_t now_ns);
void skn_harvest_pulse(skn_harvest_t *harvest, uint32_t member,
                       const skn_harvest_pulse_t *pulse, uint64_t now_ns);
/* It has said that it will go. */
void skn_harvest_notice(skn_harvest_t *harvest, uint32_t member);
/* Its worker of `generation` has ended by itself, and not well. */
void skn_harvest_failure(skn_harvest_t *harvest, uint32_t member,
                         uint64_t generation);
/* A generation of the members in `set` begins at `batch`. */
void skn_harvest_begin(skn_harvest_t *harvest, uint64_t generation,
                       uint64_t set, uint64_t batch, uint64_t now_ns);
/* Time passes; those in the set `here` are taken to live. */
void skn_harvest_tick(skn_harvest_t *harvest, uint64_t here, uint64_t now_ns);
/* The run is over: what comes then is not counted. */
void skn_harvest_end(skn_harvest_t *harvest, uint64_t now_ns);

/* As of the last tick. */
void skn_harvest_sum(const skn_harvest_t *harvest, skn_harvest_sum_t *sum);

/* Shares of all core time: they sum up to 1, or are 0 where there is none. */
typedef struct skn_harvest_shares {
    double core_hours, cpu_hours, useful, redone, waiting;
} skn_harvest_shares_t;
skn_harvest_shares_t skn_harvest_shares(const skn_harvest_sum_t *sum);

#endif
