/* deadlines.h - an actor's deadlines, by their keys and by their times.
 *
 * A binary heap in the order of times, and a table of hashes that finds a key
 * in it. Zeroed memory is an empty set. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_QUEUES_DEADLINES_H
#define ACTORS_QUEUES_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct skn_deadline {
    uint64_t key, due_ns;
    uint32_t bucket; /* of the table, which has its place in the heap */
} skn_deadline_t;

typedef struct skn_deadlines {
    skn_deadline_t *heap;
    uint32_t *table;      /* places in the heap plus 1; 0: an empty bucket */
    uint32_t count, room; /* of the heap; the table has 2 * room buckets */
} skn_deadlines_t;

/* Adds `key`, or changes its time. False: memory is short, and the set is as
 * before. */
bool skn_deadlines_set(skn_deadlines_t *set, uint64_t key, uint64_t due_ns);
/* False: there is no such key. */
bool skn_deadlines_clear(skn_deadlines_t *set, uint64_t key);
/* The earliest time; UINT64_MAX: the set is empty. */
uint64_t skn_deadlines_next_ns(const skn_deadlines_t *set);
/* Takes the earliest deadline out, if it is due at `now_ns`. */
bool skn_deadlines_take(skn_deadlines_t *set, uint64_t now_ns, uint64_t *key);
void skn_deadlines_fini(skn_deadlines_t *set);

#endif
