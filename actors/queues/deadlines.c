/* deadlines.c - a heap of deadlines, and a table that finds them by key.
 *
 * The table is open addressing with linear probing; a removal moves later
 * entries of the run back (Knuth, TAOCP 3, 6.4, algorithm R).
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/queues/deadlines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINES_FIRST 16u
#define DEADLINES_MAX (1u << 28)

static uint32_t
bucket_mask(const skn_deadlines_t *set)
{
    return 2 * set->room - 1;
}

/* The bucket where a search for `key` begins: every bit of the key counts (the
 * finalizer of MurmurHash3), as actors choose keys of all forms. */
static uint32_t
home_of(const skn_deadlines_t *set, uint64_t key)
{
    key = (key ^ key >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    key = (key ^ key >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return (uint32_t)(key ^ key >> 33) & bucket_mask(set);
}

/* The bucket of `key`, or the empty one where it would be. */
static uint32_t
find(const skn_deadlines_t *set, uint64_t key)
{
    uint32_t bucket = home_of(set, key);
    while (set->table[bucket] > 0 &&
           set->heap[set->table[bucket] - 1].key != key)
        bucket = (bucket + 1) & bucket_mask(set);
    return bucket;
}

static void
place(skn_deadlines_t *set, uint32_t at, skn_deadline_t deadline)
{
    set->heap[at] = deadline;
    set->table[deadline.bucket] = at + 1;
}

/* Moves the deadline at `at` to where its time belongs. */
static void
settle(skn_deadlines_t *set, uint32_t at)
{
    skn_deadline_t moved = set->heap[at];
    while (at > 0 && set->heap[(at - 1) / 2].due_ns > moved.due_ns) {
        place(set, at, set->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < set->count &&
            set->heap[child + 1].due_ns < set->heap[child].due_ns)
            child++;
        if (child >= set->count || set->heap[child].due_ns >= moved.due_ns)
            break;
        place(set, at, set->heap[child]);
        at = child;
    }
    place(set, at, moved);
}

static bool
grow(skn_deadlines_t *set)
{
    uint32_t room = set->room > 0 ? 2 * set->room : DEADLINES_FIRST;
    skn_deadline_t *heap =
        room <= DEADLINES_MAX ? realloc(set->heap, room * sizeof(*heap)) : NULL;
    set->heap = heap ? heap : set->heap;
    uint32_t *table = heap ? calloc(2 * (size_t)room, sizeof(*table)) : NULL;
    if (!table)
        return false;
    free(set->table);
    set->table = table;
    set->room = room;
    for (uint32_t k = 0; k < set->count; k++) {
        skn_deadline_t *deadline = &set->heap[k];
        deadline->bucket = find(set, deadline->key);
        table[deadline->bucket] = k + 1;
    }
    return true;
}

bool
skn_deadlines_set(skn_deadlines_t *set, uint64_t key, uint64_t due_ns)
{
    if (set->room == 0 && !grow(set))
        return false;
    uint32_t bucket = find(set, key);
    if (set->table[bucket] == 0) {
        if (set->count == set->room) {
            if (!grow(set))
                return false;
            bucket = find(set, key);
        }
        place(set, set->count, (skn_deadline_t){ key, due_ns, bucket });
        set->count++;
    }
    uint32_t at = set->table[bucket] - 1;
    set->heap[at].due_ns = due_ns;
    settle(set, at);
    return true;
}

/* Empties a bucket, and moves later ones of the run back that a search would no
 * longer reach. */
static void
empty_bucket(skn_deadlines_t *set, uint32_t hole)
{
    uint32_t mask = bucket_mask(set), bucket = hole;
    set->table[hole] = 0;
    while (set->table[bucket = (bucket + 1) & mask] > 0) {
        uint32_t at = set->table[bucket] - 1;
        uint32_t home = home_of(set, set->heap[at].key);
        if (((bucket - home) & mask) < ((bucket - hole) & mask))
            continue;
        set->table[hole] = at + 1;
        set->heap[at].bucket = hole;
        set->table[bucket] = 0;
        hole = bucket;
    }
}

static void
take_out(skn_deadlines_t *set, uint32_t at)
{
    assert(at < set->count);
    empty_bucket(set, set->heap[at].bucket);
    skn_deadline_t last = set->heap[--set->count];
    if (at == set->count)
        return;
    place(set, at, last);
    settle(set, at);
}

bool
skn_deadlines_clear(skn_deadlines_t *set, uint64_t key)
{
    uint32_t bucket = set->room > 0 ? find(set, key) : 0;
    if (set->room == 0 || set->table[bucket] == 0)
        return false;
    take_out(set, set->table[bucket] - 1);
    return true;
}

uint64_t
skn_deadlines_next_ns(const skn_deadlines_t *set)
{
    return set->count > 0 ? set->heap[0].due_ns : UINT64_MAX;
}

bool
skn_deadlines_take(skn_deadlines_t *set, uint64_t now_ns, uint64_t *key)
{
    if (set->count == 0 || set->heap[0].due_ns > now_ns)
        return false;
    *key = set->heap[0].key;
    take_out(set, 0);
    return true;
}

void
skn_deadlines_fini(skn_deadlines_t *set)
{
    free(set->heap);
    free(set->table);
    memset(set, 0, sizeof(*set));
}
