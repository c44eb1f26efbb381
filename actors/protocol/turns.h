/* turns.h - the order of forward passes and updates at an owner of rows.
 *
 * Under `order: fixed` batch t is computed from exactly the first max(t + 1 -
 * window, batches at the last marker) updates: equation (50) of
 * docs/concepts/equations.md. So an owner's work is one sequence, the same in
 * every run (window 2, marker after batch 3):
 *
 *     F0 F1 U0 F2 U1 F3 U2 U3 | F4 F5 U4 ...
 *
 * U(s) waits for F(min(s + window - 1, horizon)), F(t) for U(t - window). Under
 * `order: free` an update waits for no forward pass; F(t) waits as before. From
 * the sending of a gradient until its rows return, the rows are away and
 * nothing is computed.
 *
 * With `accumulate` of m, m batches make a step, and the window counts steps:
 * gradients of the batches before the last of a step are only added up, as soon
 * as they are there and in the order of batches, and the rows stay (m = 3,
 * window 1):
 *
 *     F0 F1 u0 F2 u1 U2 | F3 F4 u3 F5 u4 U5 ...
 *
 * At most `flights` batches are between forward pass and update. Pure
 * bookkeeping: no clock, no messages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_TURNS_H
#define ACTORS_PROTOCOL_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/protocol/messages.h"
#include "skein/error.h"

typedef struct skn_turns {
    uint64_t window;     /* steps */
    uint64_t accumulate; /* batches of a step */
    uint64_t flights;
    bool free_order;
    bool begun;          /* the rows have been here */
    bool rows_here;      /* no other actor writes them now */
    uint64_t forwards;   /* next batch to compute */
    uint64_t updates;    /* next batch whose gradient is sent */
    uint64_t returned;   /* batches whose rows have returned */
    uint64_t ranked;     /* batches of an evaluation pass that are done */
    uint64_t floor_max;  /* of the batches that have come */
    uint64_t last_batch; /* of the last span that was halted: no later batch
                          * comes before the marker; UINT64_MAX: none was */
} skn_turns_t;

/* `window`, `accumulate` and `flights` are at least 1; with accumulate of 1
 * there are as many flights as the window has batches. */
void skn_turns_init(skn_turns_t *turns, uint64_t window, uint64_t accumulate,
                    uint64_t flights, bool free_order);

/* Batches that an owner may hold at once: those in flight, and those that have
 * come before their turn, as many at most (source.c). */
static inline uint64_t
skn_turns_held(const skn_turns_t *turns)
{
    return 2 * turns->flights;
}

/* Whether no batch may be computed before another update. */
static inline bool
skn_turns_are_full(const skn_turns_t *turns)
{
    return turns->forwards - turns->updates >= turns->flights;
}

/* Whether batch `batch` is the last of its step. */
static inline bool
skn_turns_ends_step(const skn_turns_t *turns, uint64_t batch)
{
    return (batch + 1) % turns->accumulate == 0;
}

/* True if batch turns->forwards may be computed now, given that it is here and
 * that the last marker before it came after `floor` batches. */
bool skn_turns_forward_allowed(const skn_turns_t *turns, uint64_t floor);
/* True if a batch may be evaluated now, with the rows after `floor` batches. */
bool skn_turns_may_rank(const skn_turns_t *turns, uint64_t floor);
/* True if the gradient of batch turns->updates may be sent now, given that it
 * is complete and that the last batch before the next marker is `horizon`. */
bool skn_turns_update_allowed(const skn_turns_t *turns, uint64_t horizon);

/* SKN_BAD_MESSAGE for a training batch that was computed, or skipped, before:
 * it would wait for its turn forever. `name` is the actor's. */
skn_status_t skn_turns_check_batch(const skn_turns_t *turns, uint64_t batch,
                                   const char *name, skn_error_t *error);

/* The issue of a batch, from a message that passes it on: labels, for one. */
#define SKN_ISSUE_OF(message)                                                  \
    {                                                                          \
        .batch = (message)->batch, .floor = (message)->floor,                  \
        .horizon = (message)->horizon, .purpose = (message)->purpose           \
    }

/* SKN_BAD_MESSAGE for a batch that the source cannot have issued yet: it would
 * wait for its turn forever, or others for it. The source issues a batch when
 * all before its floor, and all but one less than skn_turns_held before it,
 * are done everywhere, so here too. Until the rows are here, the updates are
 * those at the floor; skn_turns_rows_back checks it. */
skn_status_t skn_turns_admit(skn_turns_t *turns, const skn_issue_t *issue,
                             const char *name, skn_error_t *error);

void skn_turns_forward_done(skn_turns_t *turns);
/* A batch of a pass whose last one is `horizon` has been evaluated. */
void skn_turns_rank_done(skn_turns_t *turns, uint64_t horizon);
/* The gradient has been sent: the rows are away if it ended a step, which is
 * the result. */
bool skn_turns_update_sent(skn_turns_t *turns);
/* The rows have returned with all batches below `applied`; when they come for
 * the first time, the sequence begins there. `name` is the actor's, for the
 * message: SKN_BAD_MESSAGE unless these are the batches that were sent, and
 * those that came before the rows can be computed from them. */
skn_status_t skn_turns_rows_back(skn_turns_t *turns, uint64_t applied,
                                 const char *name, skn_error_t *error);

#endif
