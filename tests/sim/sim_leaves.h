/* sim_leaves.h - the invariants of members that leave, in sim_membership.c:
 * each is let go after few generations, and nothing is lost with its disk.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SIM_LEAVES_H
#define TESTS_SIM_SIM_LEAVES_H

#include <inttypes.h>

#include "tests/sim/sim_members.h"

/* Whether nothing is lost with the disk of a member that is let go: neither
 * what the newest generation has saved nor, before that, what it began from.
 * What an older one saved, and nobody went on from, does not count; nor does
 * what the coordinator was never told of. */
static inline bool
is_free(const world_t *world, uint32_t number)
{
    world_t *other = calloc(1, sizeof(*other));
    const generation_t *newest = &world->generation[world->journal_generation];
    uint64_t batch = newest->begun, all = 0;
    size_t lists;
    if (!other)
        exit(70);
    other->count = world->count;
    for (uint32_t k = 0; k < world->count; k++) {
        const member_t *member = &world->member[k];
        list_copies(other, k, member->disk, member->disk_count);
        if (!member->released)
            all |= bit(k);
    }
    const skn_held_t *with = choose_of(other, all, &lists, NULL);
    const skn_held_t *without =
        choose_of(other, all & ~bit(number), &lists, NULL);
    if (newest->kept > batch && newest->kept <= world->journal_saved)
        batch = newest->kept;
    bool good = !with || with->batch < batch || batch == 0 ||
                (without && without->batch >= batch);
    free(other);
    return good;
}

/* Something happened that may be why generations follow each other. */
static inline void
note_event(world_t *world)
{
    for (uint32_t k = 0; k < world->count; k++) {
        world->member[k].leave_events++;
        world->member[k].event_ns = world->now_ns;
    }
}

/* Whether a disk, a line or a process fails now: its trouble may end more
 * generations than one. */
static inline bool
is_in_trouble(const world_t *world)
{
    for (uint32_t k = 0; k < world->count; k++) {
        const member_t *member = &world->member[k];
        if (!is_mended(world, k) || world->now_ns < member->stopped_ns ||
            world->now_ns < member->cut_ns)
            return true;
        for (uint32_t other = 0; other < world->count; other++)
            if (is_cut(world, k, other))
                return true;
    }
    return false;
}

/* A generation begins. A leaver sees the one that it serves in, and the first
 * of those who stay; each event may end one or two more. */
static inline void
count_for_leavers(world_t *world)
{
    bool counts = !is_in_trouble(world);
    for (uint32_t k = 0; k < world->count; k++) {
        member_t *member = &world->member[k];
        if (counts && member->alive && member->leaving && !member->released &&
            ++member->leave_begun > 2 + 3 * member->leave_events)
            wrong(world, "generations follow each other, and one who wants to "
                         "leave is not let go");
    }
}

/* Whether a member that wants to leave waits though nothing else happens, and
 * nobody has gone away with parts that those who are here lack. */
static inline bool
waits_in_vain(const world_t *world, uint32_t number)
{
    const member_t *member = &world->member[number];
    for (uint32_t k = 0; k < world->count; k++)
        if (!world->member[k].alive && !world->member[k].released)
            return false;
    return world->calm && member->alive && member->leaving &&
           world->now_ns >= member->event_ns + LET_GO_NS;
}

/* For a world that is looked at alone. */
static inline void
show_disks(const world_t *world)
{
    for (uint32_t k = 0; k < world->count; k++)
        for (size_t c = 0; c < world->member[k].disk_count && c < 3; c++) {
            const copy_t *copy = &world->member[k].disk[c];
            trace(world,
                  "on %s%s: batch %llu of generation %llu, parts %llx of "
                  "%llx%s",
                  names[k],
                  world->member[k].released ? ", which is given away" : "",
                  (unsigned long long)copy->batch,
                  (unsigned long long)copy->layout,
                  (unsigned long long)copy->parts,
                  (unsigned long long)copy->set,
                  copy->manifest ? "" : ", no manifest");
        }
}

/* One who leaves is told that it may. Its disk may go with it, unless there was
 * nobody to hand over to. */
static inline void
release(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    bool others = false, surprise = false;
    for (uint32_t k = 0; k < world->count; k++) {
        /* One is dead, and the coordinator cannot know. */
        surprise = surprise || (world->member[k].died &&
                                skn_membership_hears(world->membership, k));
        others = others || (!(world->told_leaving & bit(k)) &&
                            skn_membership_hears(world->membership, k));
    }
    if (!member->leaving || member->released || !others || surprise)
        return;
    if (!is_free(world, number)) {
        show_disks(world);
        wrong(world, "one who is let go holds what nobody else has");
    }
    member->released = true;
}

#endif
