/* turns.c - the order of forward passes and updates at an owner of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/turns.h"

#include <assert.h>
#include <string.h>

void
skn_turns_init(skn_turns_t *turns, uint64_t window, uint64_t accumulate,
               uint64_t flights, bool free_order)
{
    memset(turns, 0, sizeof(*turns));
    turns->window = window;
    turns->accumulate = accumulate;
    turns->flights = accumulate == 1 ? window : flights;
    turns->free_order = free_order;
    turns->last_batch = UINT64_MAX;
}

bool
skn_turns_forward_allowed(const skn_turns_t *turns, uint64_t floor)
{
    /* Updates that batch t must have seen: those below step - window + 1. */
    uint64_t step = turns->forwards / turns->accumulate;
    uint64_t needed = step + 1 > turns->window
                          ? (step + 1 - turns->window) * turns->accumulate
                          : 0;
    if (needed < floor)
        needed = floor;
    return turns->rows_here && turns->returned >= needed &&
           !skn_turns_are_full(turns);
}

bool
skn_turns_may_rank(const skn_turns_t *turns, uint64_t floor)
{
    return turns->rows_here && turns->returned >= floor;
}

bool
skn_turns_update_allowed(const skn_turns_t *turns, uint64_t horizon)
{
    uint64_t waits_for =
        turns->updates + (turns->window - 1) * turns->accumulate;
    if (waits_for > horizon)
        waits_for = horizon;
    /* A halt may be older than the marker before this batch. */
    if (turns->updates <= turns->last_batch && waits_for > turns->last_batch)
        waits_for = turns->last_batch;
    return turns->rows_here && turns->updates < turns->forwards &&
           (turns->free_order || turns->forwards > waits_for ||
            !skn_turns_ends_step(turns, turns->updates));
}

skn_status_t
skn_turns_admit(skn_turns_t *turns, const skn_issue_t *issue, const char *name,
                skn_error_t *error)
{
    bool trains = issue->purpose == SKN_PURPOSE_TRAIN;
    uint64_t first = turns->begun ? turns->updates : issue->floor;
    uint64_t floor_max = first;
    if (!trains)
        first = turns->ranked;
    else if (floor_max > issue->batch)
        floor_max = issue->batch;
    uint64_t last = first + skn_turns_held(turns) - 2;
    if (issue->batch > last || issue->batch > issue->horizon ||
        issue->floor > floor_max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu with floor %llu and horizon %llu is "
                        "out of turn: one of %llu to %llu can come, with a "
                        "floor of at most %llu",
                        name, (unsigned long long)issue->batch,
                        (unsigned long long)issue->floor,
                        (unsigned long long)issue->horizon,
                        (unsigned long long)first, (unsigned long long)last,
                        (unsigned long long)floor_max);
    if (turns->floor_max < issue->floor)
        turns->floor_max = issue->floor;
    return SKN_OK;
}

void
skn_turns_rank_done(skn_turns_t *turns, uint64_t horizon)
{
    turns->ranked = turns->ranked < horizon ? turns->ranked + 1 : 0;
}

void
skn_turns_forward_done(skn_turns_t *turns)
{
    assert(turns->rows_here && !skn_turns_are_full(turns));
    turns->forwards++;
}

bool
skn_turns_update_sent(skn_turns_t *turns)
{
    assert(turns->rows_here && turns->updates < turns->forwards);
    bool ends = skn_turns_ends_step(turns, turns->updates++);
    turns->rows_here = !ends;
    return ends;
}

skn_status_t
skn_turns_check_batch(const skn_turns_t *turns, uint64_t batch,
                      const char *name, skn_error_t *error)
{
    return batch >= turns->forwards
               ? SKN_OK
               : skn_fail(error, SKN_BAD_MESSAGE,
                          "%s: unexpected batch %llu, batch %llu is the next",
                          name, (unsigned long long)batch,
                          (unsigned long long)turns->forwards);
}

skn_status_t
skn_turns_rows_back(skn_turns_t *turns, uint64_t applied, const char *name,
                    skn_error_t *error)
{
    if (!turns->begun)
        turns->forwards = turns->updates = applied;
    if (applied != turns->updates)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the rows returned after %llu batches, but the "
                        "gradients of %llu were sent",
                        name, (unsigned long long)applied,
                        (unsigned long long)turns->updates);
    if (turns->floor_max > applied)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the rows returned after %llu batches, but a "
                        "batch with floor %llu has come",
                        name, (unsigned long long)applied,
                        (unsigned long long)turns->floor_max);
    turns->begun = turns->rows_here = true;
    turns->returned = applied;
    return SKN_OK;
}
