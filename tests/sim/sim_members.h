/* sim_members.h - the simulated world of sim_membership.c: its members and
 * their disks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SIM_MEMBERS_H
#define TESTS_SIM_SIM_MEMBERS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint/held.h"
#include "tests/sim/sim_partial.h"
#include "topology/elastic/membership.h"

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
/* Of one who leaves. */
#define GRACE_NS (20000 * MS)
/* In which it is let go where nothing else happens: two generations, one of
 * which may have to be begun once more. */
#define LET_GO_NS (12000 * MS)
#define RUN_ID "0123456789abcdef0123456789abcdef"

/* A checkpoint on one disk: which parts of it lie there. */
typedef struct copy {
    uint64_t batch, layout, set;
    uint64_t parts; /* by owner */
    uint32_t state;
    bool manifest;
} copy_t;

/* What a member wrote of its blocks when a generation was broken off. */
typedef struct salvage {
    uint64_t generation, set, batch; /* 0: none */
    uint32_t state;                  /* of which its own blocks count */
} salvage_t;

/* What the coordinator has composed of cuts and a checkpoint. */
typedef struct composed {
    uint64_t batch, layout, set;
    uint64_t
        salvage; /* whose parts are those of the salvages; else the base's */
    uint64_t base_batch, base_layout;
    uint32_t state;
} composed_t;

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
    salvage_t salvage;
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
    uint64_t saved, saved_in, saved_told;
    /* Since it wants to leave: generations begun, and what else happened that
     * may have been the reason of some of them. */
    uint32_t leave_begun, leave_events;
    uint64_t event_ns; /* the last of them, or when it wanted to */
    bool died;         /* and its coordinator has not heard of it since */
    bool released; /* it was told that it may: its disk is somebody else's */
    copy_t disk[KEPT];
    size_t disk_count;
    salvage_t salvage; /* on its disk */
    uint64_t
        cutting_ns; /* its worker has one written then; 0: it writes none */
} member_t;

/* What a generation does, as its workers do it together. */
typedef struct generation {
    uint64_t set, batch, begun; /* it began there, in that state */
    uint64_t serving;           /* of the set: these only hand over */
    uint32_t state, saving;     /* ... and the one that is being saved */
    composed_t composed;        /* it was, for this one; .set 0: it was not */
    uint64_t even;              /* the last batch at which no block lagged */
    uint32_t stage;             /* of a save; 0: none */
    bool saved;                 /* at this batch */
    uint64_t kept;              /* batch of the last save that was complete */
    bool trained;
} generation_t;

typedef struct world {
    uint64_t seed, random, now_ns;
    uint32_t count, least; /* members, and how many at least are to train */
    member_t member[MEMBERS_MAX];
    generation_t *generation;
    uint64_t trained; /* the newest generation that trained */
    message_t *message;
    size_t message_count;
    /* The coordinator. */
    skn_membership_t *membership;
    uint64_t coordinator_ns; /* when it is started again; 0: it lives */
    uint64_t journal_generation, journal_members, journal_serving;
    uint64_t journal_saved, journal_saved_in;
    uint64_t told_leaving; /* those that it knows want to leave */
    bool done;
    skn_held_t list[MEMBERS_MAX][KEPT];
    skn_held_file_t file[MEMBERS_MAX][KEPT][MEMBERS_MAX];
    size_t list_count[MEMBERS_MAX];
    bool calm;    /* nothing happens but that members leave, and come back */
    bool partial; /* survivors keep what they have */
    states_t states;
    salvage_t salvage[MEMBERS_MAX]; /* as they said */
    composed_t composed;            /* last */
    uint32_t leaves, joint;         /* in all; those of several at once */
    uint64_t chosen_batch;
    uint32_t chosen, composed_count;
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

static inline uint32_t
next_of(uint64_t set, uint32_t number)
{
    do
        number = (number + 1) % MEMBERS_MAX;
    while (!(set & bit(number)));
    return number;
}

static inline uint32_t
nth_of(uint64_t set, uint32_t nth)
{
    uint32_t k = 0;
    for (; k < MEMBERS_MAX; k++)
        if ((set & bit(k)) && nth-- == 0)
            break;
    return k;
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
        (void)snprintf(held->seal, sizeof(held->seal), "%08x%08llx%016llx",
                       copy->state, (unsigned long long)copy->batch,
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

/* The newest that `set` holds together, and how many copies of each part. */
static const skn_held_t *
choose_of(world_t *world, uint64_t set, size_t *lists, size_t *copies)
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
    const skn_held_t *held = skn_held_choose(holders, count, RUN_ID, NULL, 0);
    if (held && copies)
        *copies = skn_held_copies(holders, count, held);
    return held;
}

static inline uint32_t
state_of(const skn_held_t *held)
{
    char digits[9] = { 0 };
    memcpy(digits, held->seal, 8);
    return (uint32_t)strtoul(digits, NULL, 16);
}

static inline uint64_t
set_of(const skn_held_t *held)
{
    uint64_t set = 0;
    for (size_t f = 0; f < held->file_count; f++)
        for (uint32_t k = 0; k < MEMBERS_MAX; k++)
            if (strcmp(held->file[f].name, names[k]) == 0)
                set |= bit(k);
    return set;
}

/* Lays the cuts that those of `set` made of the last generation over `held`, as
 * topology/cluster/composing.c and formats/checkpoint/salvage.c do. */
static inline void
compose(world_t *world, uint64_t set, const skn_held_t *held,
        skn_point_t *point)
{
    uint64_t number = skn_membership_generation(world->membership);
    composed_t composed = { .batch = held->batch,
                            .layout = number,
                            .set = set_of(held),
                            .base_batch = held->batch,
                            .base_layout = held->generation };
    state_t state = world->states.at[state_of(held)];
    for (uint32_t k = 0; k < world->count; k++) {
        const salvage_t *salvage = &world->salvage[k];
        /* Files of another layout are others. */
        if (!(set & bit(k)) || salvage->generation != number ||
            salvage->set != composed.set || salvage->batch < held->batch)
            continue;
        composed.salvage |= bit(k);
        if (salvage->batch > composed.batch)
            composed.batch = salvage->batch;
        for (uint32_t b = 0; b < BLOCKS; b++)
            if (owner_of(salvage->set, b) == k)
                state.block[b] = world->states.at[salvage->state].block[b];
    }
    if (composed.batch == held->batch)
        return;
    for (uint32_t b = 0; b < BLOCKS; b++)
        set_off(&state.block[b], composed.batch);
    composed.state = keep_state(&world->states, &state);
    world->composed = composed;
    world->chosen = composed.state;
    *point = (skn_point_t){ .saved = true,
                            .batch = composed.batch,
                            .layout = number,
                            .composed = true,
                            .lost = (uint64_t)__builtin_popcountll(
                                composed.set & ~composed.salvage) };
}

static inline skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    size_t lists, copies = 0;
    const skn_held_t *held = choose_of(job, set, &lists, &copies);
    if (lists == 0)
        return SKN_NO_INPUT;
    if (!held)
        return skn_fail(error, SKN_UNAVAILABLE, "parts are missing");
    world_t *world = job;
    *point = (skn_point_t){ .batch = held->batch,
                            .layout = held->generation,
                            .copies = (uint32_t)copies };
    world->chosen = state_of(held);
    if (world->partial && skn_membership_keeps(world->membership))
        compose(world, set, held, point);
    return SKN_OK;
}

/* Whether the newest whole checkpoint outlives the disks of `lost`, and those
 * that are given away, where those of `apart` cannot be together. What lies on
 * the disks is looked at, whatever was said of it. */
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
    for (uint32_t k = 0; k < world->count; k++) {
        list_copies(other, k, world->member[k].disk,
                    world->member[k].disk_count);
        if (world->member[k].released)
            all &= ~bit(k);
    }
    const skn_held_t *with = choose_of(other, all, &lists, NULL);
    uint64_t batch = with ? with->batch : 0;
    for (uint32_t k = 0; k < world->count; k++) {
        if (apart && !(apart & bit(k)))
            continue;
        uint64_t set = all & ~lost & ~(apart & bit(k));
        const skn_held_t *without = choose_of(other, set, &lists, NULL);
        good = good || (without && without->batch == batch);
    }
    free(other);
    /* Before the first one is whole, nothing that counts is lost. */
    return !with || good;
}

/* Two members do not reach each other, for a while or for ever. */
static inline void
cut_off(world_t *world, uint32_t number)
{
    uint32_t other = (uint32_t)draw(world, world->count);
    uint64_t until_ns = world->now_ns + draw(world, 70000) * MS;
    bool out = draw(world, 3) != 0, in = !out || draw(world, 2);
    if (other == number)
        return;
    uint64_t pair = bit(number) | bit(other);
    if (!world->forever && world->least < world->count && draw(world, 8) == 0 &&
        outlives(world, 0, pair)) {
        world->forever = pair;
        until_ns = END_NS;
    }
    trace(world, "%s and %s are cut off till %.2f, out %d, in %d",
          names[number], names[other], (double)until_ns * 1e-9, out, in);
    uint64_t *there = &world->member[number].apart_ns[other];
    uint64_t *back = &world->member[other].apart_ns[number];
    if (out && until_ns > *there)
        *there = until_ns;
    if (in && until_ns > *back)
        *back = until_ns;
}

/* --- what survivors keep ------------------------------------------------- */

/* What all have had when the window is empty. */
static inline uint32_t
even_state(world_t *world, const generation_t *generation)
{
    state_t state = world->states.at[generation->state];
    for (uint32_t b = 0; b < BLOCKS; b++)
        train_block(&state.block[b], generation->begun, generation->batch);
    return keep_state(&world->states, &state);
}

/* A worker writes what its blocks have had, before it ends: up to a window less
 * than others, but for what all had when the window was empty last. */
static inline void
write_cut(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    const generation_t *generation = &world->generation[member->runs];
    uint64_t room = generation->batch - generation->even;
    if (!generation->trained || generation->serving ||
        !is_mended(world, number) || draw(world, 6) == 0)
        return;
    state_t state = world->states.at[generation->state];
    uint64_t batch = generation->batch -
                     draw(world, (room < WINDOW ? room : WINDOW - 1) + 1);
    for (uint32_t b = 0; b < BLOCKS; b++)
        if (owner_of(generation->set, b) == number)
            train_block(&state.block[b], generation->begun, batch);
    member->salvage =
        (salvage_t){ .generation = member->runs,
                     .set = generation->set,
                     .batch = batch,
                     .state = keep_state(&world->states, &state) };
}

/* Those parts of what was composed that lie on this disk get their names. */
static inline void
put_composed(world_t *world, uint32_t number, const composed_t *composed)
{
    member_t *member = &world->member[number];
    const copy_t *base =
        find_copy(member, composed->base_batch, composed->base_layout);
    uint64_t parts = base ? base->parts & ~composed->salvage : 0;
    if (!is_mended(world, number))
        return;
    if ((composed->salvage & bit(number)) &&
        member->salvage.generation == composed->layout)
        parts |= bit(number);
    *make_copy(member, composed->batch, composed->layout) =
        (copy_t){ .batch = composed->batch,
                  .layout = composed->layout,
                  .set = composed->set,
                  .parts = parts,
                  .state = composed->state,
                  .manifest = true };
}

/* Whether all parts of what was composed lie with those of `set`, and not by a
 * mistake of whoever chose: a disk may have gone since. */
static inline bool
is_there(world_t *world, const composed_t *composed, uint64_t set)
{
    uint64_t parts = 0;
    if (composed->salvage & ~set)
        wrong(world, "a cut of one who takes no part is gone on from");
    for (uint32_t k = 0; k < world->count; k++) {
        const copy_t *base = find_copy(&world->member[k], composed->base_batch,
                                       composed->base_layout);
        if (!(set & bit(k)))
            continue;
        parts |= base ? base->parts & ~composed->salvage : 0;
        if (world->member[k].salvage.generation == composed->layout)
            parts |= bit(k) & composed->salvage;
    }
    return parts == composed->set;
}

/* --- generations --------------------------------------------------------- */

/* Whether all members of the generation work in it now. */
static inline bool
all_work(const world_t *world, uint64_t number, uint64_t set)
{
    for (uint32_t k = 0; k < world->count; k++) {
        const member_t *member = &world->member[k];
        if ((set & bit(k)) &&
            (!member->alive || member->runs != number ||
             world->now_ns < member->stopped_ns || member->cutting_ns ||
             world->now_ns < member->ready_ns))
            return false;
        for (uint32_t p = 0; (set & bit(k)) && p < k; p++)
            if ((set & bit(p)) && is_cut(world, k, p))
                return false;
    }
    return true;
}

/* The state that a generation begins with: that of its checkpoint. */
static inline void
begin_generation(world_t *world, const skn_duty_t *duty)
{
    generation_t *generation = &world->generation[duty->generation];
    bool found = false;
    *generation = (generation_t){ .set = duty->set, .serving = duty->serving };
    if (!duty->point.saved)
        return;
    generation->batch = generation->begun = generation->even =
        duty->point.batch;
    generation->state = world->chosen;
    if (duty->point.composed) {
        generation->composed = world->composed;
        found = is_there(world, &world->composed, duty->set);
        world->composed_count++;
    }
    for (uint32_t k = 0; k < world->count; k++) {
        const copy_t *copy =
            find_copy(&world->member[k], duty->point.batch, duty->point.layout);
        found = found || (copy && copy->state == world->chosen);
    }
    if (!found) /* a disk went since it was told of: it cannot begin */
        generation->set = 0;
    else if (!is_good(&world->states.at[world->chosen], generation->batch,
                      world->partial))
        wrong(world, "a checkpoint in which a batch is not applied once");
}

#endif
