/* sim_partial.h - the batches that each block has had, in the world of
 * sim_membership.c.
 *
 * The model is BLOCKS blocks; with n members in a generation, each owns every
 * n-th block. A state records, for each block, the batches that it has had, as
 * their number and the sum of what each adds (like
 * formats/checkpoint/ledger.h), and those that it has missed. States are stored
 * by number, as long as the world exists: a checkpoint, a salvage and a
 * composed checkpoint refer to one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SIM_PARTIAL_H
#define TESTS_SIM_SIM_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCKS 12u
/* How far two owners may be apart: a window. */
#define WINDOW 4u

typedef struct block {
    uint64_t had, had_sum, missed, missed_sum;
} block_t;

typedef struct state {
    block_t block[BLOCKS];
} state_t;

typedef struct states {
    state_t *at;
    uint32_t count, room;
} states_t;

/* The sum over batches below `batch` of what each adds when it is applied. */
static inline uint64_t
add_of(uint64_t batch)
{
    return (batch + 1) * 0x9E3779B97F4A7C15u;
}

static inline uint64_t
sum_of(uint64_t first, uint64_t end)
{
    uint64_t sum = 0;
    for (uint64_t k = first; k < end; k++)
        sum += add_of(k);
    return sum;
}

/* The number of a new state; that of the seed is 0. */
static inline uint32_t
keep_state(states_t *states, const state_t *state)
{
    if (states->count == states->room) {
        states->room = states->room ? 2 * states->room : 64;
        states->at = realloc(states->at, states->room * sizeof(state_t));
        if (!states->at)
            exit(70);
    }
    states->at[states->count] = *state;
    return states->count++;
}

/* It has had or missed all batches below that. */
static inline uint64_t
passed(const block_t *block)
{
    return block->had + block->missed;
}

/* It is given all batches from `from` to `to`, whatever it has had. */
static inline void
train_block(block_t *block, uint64_t from, uint64_t to)
{
    if (to <= from)
        return;
    block->had += to - from;
    block->had_sum += sum_of(from, to);
}

/* What it has not passed by `batch` it misses. */
static inline void
set_off(block_t *block, uint64_t batch)
{
    if (passed(block) >= batch)
        return;
    block->missed_sum += sum_of(passed(block), batch);
    block->missed += batch - passed(block);
}

/* Each batch below `batch` once, had or missed. */
static inline bool
is_good(const state_t *state, uint64_t batch, bool may_miss)
{
    for (uint32_t k = 0; k < BLOCKS; k++) {
        const block_t *block = &state->block[k];
        if (passed(block) != batch ||
            block->had_sum + block->missed_sum != sum_of(0, batch) ||
            (block->missed > 0 && !may_miss))
            return false;
    }
    return true;
}

/* Who of `set` owns block `k`. */
static inline uint32_t
owner_of(uint64_t set, uint32_t k)
{
    uint32_t nth = k % (uint32_t)__builtin_popcountll(set);
    for (; nth > 0; nth--)
        set &= set - 1;
    return (uint32_t)__builtin_ctzll(set);
}

#endif
