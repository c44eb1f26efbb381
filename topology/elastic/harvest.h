/* harvest.h - accounts for the core time that machines gave to a run.
 *
 *     time of members x their cores
 *       ├─ useful    in batches that count in the end
 *       ├─ redone    in batches that a later generation trained again
 *       └─ waiting   the rest: no generation, its start, checkpoints, a pause,
 *                    a dead node that is not missed yet
 *
 * A member's time counts from its hello until it was last heard from. In a
 * generation it counts as training as far as the lead reports that it trained
 * (`busy_ns`). The time of each stretch of batches is kept in a stack by batch
 * number; a generation that begins at a lower batch removes the entries above
 * it. So the three always add up to all.
 *
 * Pure: no clock, no file. Times never go back. docs/tasks/elastic.md defines
 * the terms for readers of the report.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_HARVEST_H
#define TOPOLOGY_ELASTIC_HARVEST_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* The counters: C(name, meaning). Core time is in nanoseconds of one core.
 * `died` are members that ended without notice, `left` those that gave notice.
 * Time that a generation takes back is booked under the first of died, left,
 * failed that ended the generation before. */
#define SKN_HARVEST_COUNTS(C)                                                  \
    C(useful_ns, "core time in batches that count")                            \
    C(redone_ns, "core time in batches that were trained again")               \
    C(waiting_ns, "core time in no batch")                                     \
    C(cpu_ns, "CPU time of workers, as the system counts it")                  \
    C(sent_bytes, "bytes sent between workers, headers included")              \
    C(batches, "batches that count")                                           \
    C(redone_batches, "batches that were trained again")                       \
    C(died, "members that ended without notice")                               \
    C(died_ns, "core time redone because of those")                            \
    C(died_batches, "batches redone because of those")                         \
    C(left, "members that left with notice")                                   \
    C(left_ns, "core time redone because their notice was too short")          \
    C(left_batches, "batches redone because of those")                         \
    C(failed, "workers that failed")                                           \
    C(failed_ns, "core time redone because of those")                          \
    C(failed_batches, "batches redone because of those")                       \
    C(partials, "times that survivors of a death kept their state")            \
    C(lost_updates, "updates of blocks that were lost in those")               \
    C(generations, "generations that began")

typedef struct skn_harvest_sum {
#define C(name, help) uint64_t name;
    SKN_HARVEST_COUNTS(C)
#undef C
} skn_harvest_sum_t;

/* The figures in a member's pulse. All but `generation` and `batch` count up
 * from the start of the member, `busy_ns` from the start of the generation. */
typedef struct skn_harvest_pulse {
    uint64_t generation, batch; /* the ones that it runs, or ran last */
    uint64_t busy_ns; /* training and evaluation; 0: it does not lead */
    uint64_t cpu_ns, sent_bytes;
} skn_harvest_pulse_t;

typedef struct skn_harvest skn_harvest_t;

/* `before`: the sums that an earlier coordinator wrote; NULL for a new run.
 * SKN_NO_MEMORY, SKN_USAGE. */
skn_harvest_t *skn_harvest_new(uint32_t member_count,
                               const skn_harvest_sum_t *before,
                               skn_error_t *error);
void skn_harvest_destroy(skn_harvest_t **harvest);

/* An earlier coordinator's generation of the members in `set` may still run.
 * The part of it that was not written down is not counted. */
void skn_harvest_goes_on(skn_harvest_t *harvest, uint64_t generation,
                         uint64_t set);

/* The next generation continues from the survivors' state; that loses
 * `lost_updates` updates of blocks. */
void skn_harvest_partial(skn_harvest_t *harvest, uint64_t lost_updates);

/* A process of `member` has connected; it may use `cores`. */
void skn_harvest_hello(skn_harvest_t *harvest, uint32_t member,
                       uint64_t incarnation, uint32_t cores, uint64_t now_ns);
void skn_harvest_pulse(skn_harvest_t *harvest, uint32_t member,
                       const skn_harvest_pulse_t *pulse, uint64_t now_ns);
/* It has announced that it will leave. */
void skn_harvest_notice(skn_harvest_t *harvest, uint32_t member);
/* Its worker of `generation` has failed by itself. */
void skn_harvest_failure(skn_harvest_t *harvest, uint32_t member,
                         uint64_t generation);
/* A generation of the members in `set` begins at `batch`. */
void skn_harvest_begin(skn_harvest_t *harvest, uint64_t generation,
                       uint64_t set, uint64_t batch, uint64_t now_ns);
/* Time passes; the members of `here` are taken to be alive. */
void skn_harvest_tick(skn_harvest_t *harvest, uint64_t here, uint64_t now_ns);
/* The run is over; later events are not counted. */
void skn_harvest_end(skn_harvest_t *harvest, uint64_t now_ns);

/* The sums as of the last tick. */
void skn_harvest_sum(const skn_harvest_t *harvest, skn_harvest_sum_t *sum);

/* Shares of all core time: they add up to 1, or are 0 if there is none. */
typedef struct skn_harvest_shares {
    double core_hours, cpu_hours, useful, redone, waiting;
} skn_harvest_shares_t;
skn_harvest_shares_t skn_harvest_shares(const skn_harvest_sum_t *sum);

#endif
