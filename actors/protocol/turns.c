/* turns.c - the order of forward passes and updates at an owner of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/turns.h"

#include <assert.h>
#include <string.h>

void
skn_turns_init(skn_turns_t *turns, uint64_t window, bool free_order)
{
    memset(turns, 0, sizeof(*turns));
    turns->window = window;
    turns->free_order = free_order;
    turns->last_batch = UINT64_MAX;
}

bool
skn_turns_forward_allowed(const skn_turns_t *turns, uint64_t floor)
{
    /* Updates that batch t must have seen: those below t - window + 1. */
    uint64_t needed = turns->forwards + 1 > turns->window
                          ? turns->forwards + 1 - turns->window
                          : 0;
    if (needed < floor)
        needed = floor;
    return turns->rows_here && turns->returned >= needed;
}

bool
skn_turns_may_rank(const skn_turns_t *turns, uint64_t floor)
{
    return turns->rows_here && turns->returned >= floor;
}

bool
skn_turns_update_allowed(const skn_turns_t *turns, uint64_t horizon)
{
    uint64_t waits_for = turns->updates + turns->window - 1;
    if (waits_for > horizon)
        waits_for = horizon;
    /* A halt may be older than the marker before this batch. */
    if (turns->updates <= turns->last_batch && waits_for > turns->last_batch)
        waits_for = turns->last_batch;
    return turns->rows_here && turns->updates < turns->forwards &&
           (turns->free_order || turns->forwards > waits_for);
}

void
skn_turns_forward_done(skn_turns_t *turns)
{
    assert(turns->rows_here &&
           turns->forwards - turns->updates < turns->window);
    turns->forwards++;
}

void
skn_turns_update_sent(skn_turns_t *turns)
{
    assert(turns->rows_here && turns->updates < turns->forwards);
    turns->updates++;
    turns->rows_here = false;
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
    turns->begun = turns->rows_here = true;
    turns->returned = applied;
    return SKN_OK;
}
