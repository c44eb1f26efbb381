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

void
skn_turns_hold(skn_turns_t *turns, uint64_t flights)
{
    assert(turns->window == 2);
    turns->holds = true;
    turns->flights = flights;
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

/* The last forward pass that reads the rows from before the update of `batch`,
 * the last of its step. */
static uint64_t
last_before(const skn_turns_t *turns, uint64_t batch, uint64_t horizon)
{
    uint64_t last = batch + (turns->window - 1) * turns->accumulate;
    if (last > horizon)
        last = horizon;
    /* A halt may be older than the marker before this batch. */
    if (batch <= turns->last_batch && last > turns->last_batch)
        last = turns->last_batch;
    return last;
}

bool
skn_turns_update_allowed(const skn_turns_t *turns, uint64_t horizon)
{
    uint64_t batch = turns->updates;
    bool waits =
        turns->holds
            ? turns->arrived < batch - batch % turns->accumulate
            : !turns->free_order && skn_turns_ends_step(turns, batch) &&
                  turns->forwards <= last_before(turns, batch, horizon);
    return turns->rows_here && batch < turns->forwards && !waits;
}

bool
skn_turns_rows_due(const skn_turns_t *turns)
{
    return turns->arrived > turns->returned &&
           turns->forwards >
               last_before(turns, turns->arrived - 1, turns->horizon);
}

void
skn_turns_rows_taken(skn_turns_t *turns)
{
    turns->returned = turns->arrived;
}

void
skn_turns_forward_done(skn_turns_t *turns)
{
    assert(turns->rows_here && !skn_turns_are_full(turns));
    turns->forwards++;
}

bool
skn_turns_update_sent(skn_turns_t *turns, uint64_t horizon)
{
    assert(turns->rows_here && turns->updates < turns->forwards);
    if (!skn_turns_ends_step(turns, turns->updates++))
        return false;
    turns->horizon = horizon;
    turns->rows_here = turns->holds;
    return !turns->rows_here;
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
    turns->arrived = applied;
    if (!turns->holds || !turns->begun)
        turns->returned = applied;
    turns->begun = turns->rows_here = true;
    return SKN_OK;
}
