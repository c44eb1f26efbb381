/* lateness.h - when a part of a batch is late, and what is still to come.
 *
 * With `late: stale` an actor whose window is full, so that it could do nothing
 * but wait for a part of its oldest batch, waits for a share of the time
 * between two batches, and goes on without. A sender that still owes a part is
 * known to be late, and not waited for again until it has caught up: one pause
 * costs the others one such wait, not one a batch. A sender that owes
 * `owed_max` parts is waited for however long it takes: nothing is more than so
 * many batches behind, and nothing is lost.
 *
 * Where something less good stands for a part, a sender is gone on without for
 * a share of the batches only, with up to owed_max of them saved up: a pause is
 * hidden, and one that is slow for good is waited for, as its pace is that of
 * all in any case.
 *
 * An output shard with a full window is idle: it waits for a tenth of a batch.
 * A hidden shard with a full window has computed ahead for those above, who
 * have window - 1 batches to work at: it waits for half as many.
 *
 * Pure: no clock, no messages.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_LATENESS_H
#define ACTORS_PROTOCOL_LATENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/limits.h"

/* Batches that may be lost to a wait, of an output and of a hidden shard. */
#define SKN_LATENESS_IDLE 0.1
#define SKN_LATENESS_AHEAD(window) (((double)(window)-1) / 2)
/* Of the batches, that have estimates; and of those whose parts are added. */
#define SKN_LATENESS_ESTIMATED 0.05
#define SKN_LATENESS_ADDED 1.0

typedef struct skn_lateness {
    uint32_t senders, owed_max;
    uint32_t owed[SKN_SHARD_MAX]; /* parts that were not waited for, and have
                                   * not come */
    double saved[SKN_SHARD_MAX];  /* parts that it may still be late with */
    double share;                 /* ... more with each batch */
    double patience;              /* batches */
    double interval_ns; /* between two batches, smoothed; 0: unknown */
    uint64_t moved_ns;  /* when the last one was done */
    uint64_t since_ns;  /* ... of a wait; 0: there is none */
} skn_lateness_t;

/* Nobody is waited for, nothing is known. senders <= SKN_SHARD_MAX. `share` of
 * the batches, at most, go on without a sender's part; 1: all may. */
void skn_lateness_init(skn_lateness_t *lateness, uint32_t senders,
                       uint32_t owed_max, double patience, double share);
/* A batch is done, or there is something else to do: no wait. `done` counts
 * for the time between two. */
void skn_lateness_moved(skn_lateness_t *lateness, bool done, uint64_t now_ns);
/* Nothing is left to do but to wait for the parts of a batch that `here` does
 * not have ([senders]). Till when: now or earlier means that they are late;
 * UINT64_MAX: for ever, since no two batches have been done yet, or somebody
 * owes too much, or was late too often. */
uint64_t skn_lateness_wait(skn_lateness_t *lateness, const bool *here,
                           uint64_t now_ns);
/* The batch goes on without those that are not `here`; returns how many. */
uint32_t skn_lateness_leave(skn_lateness_t *lateness, const bool *here);
/* A part that was left has come. False: none was owed. */
bool skn_lateness_came(skn_lateness_t *lateness, uint32_t sender);

#endif
