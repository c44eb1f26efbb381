/* sim_members.h - the world of sim_membership.c, and the disks in it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_MEMBERS_H
#define TESTS_SIM_MEMBERS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/held.h"
#include "topology/membership.h"

#define STEP_NS 50000000ull
#define MS 1000000ull
#define MEMBERS_MAX 5u
#define TOTAL 600u /* batches of the run */
#define MARK 25u   /* between markers */
#define KEPT 16u   /* checkpoints on a disk */
#define MESSAGES_MAX 512u
#define GENERATIONS_MAX 4096u
/* After the healing: more than every wait that there is. */
#define HEAL_NS (120000 * MS)
#define END_NS (HEAL_NS + 600000 * MS)
#define RUN_ID "0123456789abcdef0123456789abcdef"

/* A checkpoint on one disk: which parts of it lie there. */
typedef struct copy {
    uint64_t batch, layout, set, hash;
    uint64_t parts; /* by owner */
    bool manifest;
} copy_t;

typedef enum say {
    SAY_HELLO,
    SAY_PULSE,
    SAY_HOLDS,
    SAY_ENDED,
    SAY_LEAVING,
    SAY_SAVED,
    SAY_MISSES
} say_t;

typedef struct message {
    uint64_t due_ns;
    bool to_member;
    uint32_t member;
    say_t say;
    skn_duty_t duty;
    bool heard; /* in place of a duty: the pulse that was sent then */
    uint64_t sent_ns;
    uint64_t incarnation, generation, batch, misses;
    skn_ending_t ending;
    skn_status_t status;
    copy_t held[KEPT];
    size_t held_count;
} message_t;

typedef struct member {
    bool alive, connected, greeted, leaving, gone;
    uint64_t incarnation;
    uint64_t back_ns;      /* when it is started again */
    uint64_t stopped_ns;   /* SIGSTOP until then */
    uint64_t cut_ns;       /* its line until then, ... */
    bool cut_up, cut_down; /* ... each way */
    uint64_t dial_ns, pulse_ns, lost_ns;
    uint64_t lease_ns;       /* till then it may work */
    uint64_t seen;           /* the newest generation that it was given */
    uint64_t runs, ready_ns; /* its worker; 0: none */
    /* Packets to each other member are lost until then; from when its worker
     * heard each last, and whether it ever did. */
    uint64_t apart_ns[MEMBERS_MAX], heard_ns[MEMBERS_MAX], met;
    uint64_t misses, probe_ns;
    uint64_t disk_ns; /* till then nothing can be written to its disk */
    bool paused;
    uint64_t ended; /* the generation whose end was its last */
    skn_ending_t ending;
    skn_status_t status; /* of that end */
    uint32_t pulses;
    uint64_t saved, saved_told;
    copy_t disk[KEPT];
    size_t disk_count;
} member_t;

/* What a generation does, as its workers do it together. */
typedef struct generation {
    uint64_t set, batch, hash;
    uint32_t stage; /* of a save; 0: none */
    bool saved;     /* at this batch */
} generation_t;

typedef struct world {
    uint64_t seed, random, now_ns;
    uint32_t count;
    member_t member[MEMBERS_MAX];
    generation_t *generation;
    uint64_t trained; /* the newest generation that trained */
    message_t *message;
    size_t message_count;
    /* The coordinator. */
    skn_membership_t *membership;
    uint64_t coordinator_ns; /* when it is started again; 0: it lives */
    uint64_t journal_generation, journal_members, journal_saved;
    bool done;
    skn_held_t list[MEMBERS_MAX][KEPT];
    skn_held_file_t file[MEMBERS_MAX][KEPT][MEMBERS_MAX];
    size_t list_count[MEMBERS_MAX];
    uint32_t faults;
    uint64_t forever; /* two that are cut off from each other till the end */
    const char *wrong;
} world_t;

static const char *const names[] = { "a", "b", "c", "d", "e" };

static bool tracing;

/* A line about a world that is looked at alone. */
__attribute__((format(printf, 2, 3))) static inline void
trace(const world_t *world, const char *format, ...)
{
    va_list arguments;
    if (!tracing)
        return;
    (void)printf("%8.2f  ", (double)world->now_ns * 1e-9);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
}

static inline uint64_t
draw(world_t *world, uint64_t below)
{
    uint64_t value = world->random += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return (value ^ (value >> 31)) % below;
}

static inline void
wrong(world_t *world, const char *what)
{
    if (!world->wrong)
        world->wrong = what;
}

static inline uint64_t
bit(uint32_t k)
{
    return (uint64_t)1 << k;
}

/* Connections need packets both ways. */
static inline bool
is_cut(const world_t *world, uint32_t a, uint32_t b)
{
    return world->now_ns < world->member[a].apart_ns[b] ||
           world->now_ns < world->member[b].apart_ns[a];
}

static inline bool
is_mended(const world_t *world, uint32_t number)
{
    return world->now_ns >= world->member[number].disk_ns;
}

/* The sum over batches below `batch` of what each adds when it is applied. */
static inline uint64_t
add_of(uint64_t batch)
{
    return (batch + 1) * 0x9E3779B97F4A7C15u;
}
static inline uint64_t
hash_of(uint64_t batch)
{
    uint64_t hash = 0;
    for (uint64_t k = 0; k < batch; k++)
        hash += add_of(k);
    return hash;
}

/* --- disks --------------------------------------------------------------- */

static inline copy_t *
find_copy(member_t *member, uint64_t batch, uint64_t layout)
{
    for (size_t k = 0; k < member->disk_count; k++)
        if (member->disk[k].batch == batch && member->disk[k].layout == layout)
            return &member->disk[k];
    return NULL;
}

/* Newest first; the oldest goes when there is no room. */
static inline copy_t *
make_copy(member_t *member, uint64_t batch, uint64_t layout)
{
    copy_t *copy = find_copy(member, batch, layout);
    if (copy)
        return copy;
    if (member->disk_count < KEPT)
        member->disk_count++;
    memmove(member->disk + 1, member->disk,
            (member->disk_count - 1) * sizeof(copy_t));
    member->disk[0] = (copy_t){ .batch = batch, .layout = layout };
    return &member->disk[0];
}

/* What a save that failed leaves behind is removed. */
static inline void
drop_half(member_t *member, uint64_t batch, uint64_t layout)
{
    copy_t *copy = find_copy(member, batch, layout);
    if (!copy || copy->manifest)
        return;
    size_t at = (size_t)(copy - member->disk);
    memmove(copy, copy + 1, (--member->disk_count - at) * sizeof(*copy));
}

/* As held.c would list it: with a seal that two copies of one share. */
static inline void
list_copies(world_t *world, uint32_t number, const copy_t *disk, size_t count)
{
    size_t listed = 0;
    for (size_t k = 0; k < count; k++) {
        const copy_t *copy = &disk[k];
        skn_held_t *held = &world->list[number][listed];
        if (!copy->manifest)
            continue;
        *held = (skn_held_t){ .batch = copy->batch,
                              .generation = copy->layout,
                              .file = world->file[number][listed] };
        (void)snprintf(held->seal, sizeof(held->seal), "%016llx%016llx",
                       (unsigned long long)copy->batch,
                       (unsigned long long)copy->layout);
        (void)snprintf(held->run_id, sizeof(held->run_id), RUN_ID);
        for (uint32_t p = 0; p < world->count; p++) {
            if (!(copy->set & bit(p)))
                continue;
            skn_held_file_t *file = &held->file[held->file_count++];
            (void)snprintf(file->name, sizeof(file->name), "%s", names[p]);
            file->here = (copy->parts & bit(p)) != 0;
        }
        listed++;
    }
    world->list_count[number] = listed;
}

/* The newest that `set` holds together. */
static const skn_held_t *
choose_of(world_t *world, uint64_t set, size_t *lists)
{
    skn_holder_t holders[MEMBERS_MAX];
    size_t count = 0;
    *lists = 0;
    for (uint32_t k = 0; k < world->count; k++)
        if (set & bit(k)) {
            holders[count++] =
                (skn_holder_t){ world->list[k], world->list_count[k] };
            *lists += world->list_count[k];
        }
    return skn_held_choose(holders, count, RUN_ID);
}

static inline skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    size_t lists;
    const skn_held_t *held = choose_of(job, set, &lists);
    if (lists == 0)
        return SKN_NO_INPUT;
    if (!held)
        return skn_fail(error, SKN_UNAVAILABLE, "parts are missing");
    point->batch = held->batch;
    point->layout = held->generation;
    return SKN_OK;
}

/* Whether the newest whole checkpoint outlives the disks of `lost`, where those
 * of `apart` cannot be together. What lies on the disks is looked at, whatever
 * was said of it. */
static inline bool
outlives(world_t *world, uint64_t lost, uint64_t apart)
{
    world_t *other = calloc(1, sizeof(*other));
    size_t lists;
    uint64_t all = bit(world->count) - 1;
    bool good = false;
    if (!other)
        exit(70);
    other->count = world->count;
    for (uint32_t k = 0; k < world->count; k++)
        list_copies(other, k, world->member[k].disk,
                    world->member[k].disk_count);
    const skn_held_t *with = choose_of(other, all, &lists);
    uint64_t batch = with ? with->batch : 0;
    for (uint32_t k = 0; k < world->count; k++) {
        if (apart && !(apart & bit(k)))
            continue;
        uint64_t set = all & ~lost & ~(apart & bit(k));
        const skn_held_t *without = choose_of(other, set, &lists);
        good = good || (without && without->batch == batch);
    }
    free(other);
    /* Before the first one is whole, nothing that counts is lost. */
    return !with || good;
}

#endif
