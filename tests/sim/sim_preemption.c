/* sim_preemption.c - simulates days of training on preemptible machines.
 *
 * Usage: sim_preemption [NODES HOURS SEEDS [--trace]]    (8 24 4)
 *
 * Machines live for times drawn by tests/sim/preemption.h, then are away for
 * half an hour on average, and come back empty. Half of the ends have 30 s of
 * notice. The same ends are simulated twice:
 *
 *   skein     by topology/elastic/membership.c, and counted by
 *             topology/elastic/harvest.c; two copies of each part of a
 *             checkpoint, on the nodes' own disks; a death is silent; a
 *             generation takes START_NS to begin.
 *   restart   like tools that restart all workers: on each change, a death or
 *             an arrival, all begin again from the last checkpoint, on a disk
 *             that never fails; deaths are found as fast, and a start and a
 *             checkpoint take as long; notice is not used.
 *
 * A batch takes WORK_S of node time, regardless of the nodes that share it. The
 * test passes if in all worlds the shares sum up, and the useful time is that
 * of the batches that count. If both copies of a part were lost, it reports
 * that the run cannot continue.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/elastic/harvest.h"
#include "topology/elastic/membership.h"
#include "tests/sim/preemption.h"

#define NODES_MAX 64u
#define STEP_NS 250000000ull
#define S 1000000000ull
#define WORK_S 32.0 /* node time of a batch */
#define SAVE_NS (5 * S)
#define START_NS (2 * S)
#define NOTICE_NS (30 * S)
#define AWAY_S 1800.0
#define EVERY_S                                                                \
    150.0 /* between markers when all are there: about sqrt(2 x 5 s
           * x the mean time between ends), Young 1974 */
#define KEPT 8u

typedef struct node {
    bool here, noticed; /* here: the machine is ours */
    bool will_tell;     /* this life ends with notice */
    uint64_t end_ns, back_ns, incarnation;
    /* skein's side */
    uint64_t runs, ready_ns, pulse_ns, ended;
    bool paused, left;
} node_t;

typedef struct checkpoint {
    uint64_t batch, layout, set, incarnation[NODES_MAX];
} checkpoint_t;

typedef struct world {
    uint64_t random, now_ns;
    uint32_t count;
    node_t node[NODES_MAX];
    uint64_t mark; /* batches between markers */
    /* skein */
    skn_membership_t *membership;
    skn_harvest_t *harvest;
    checkpoint_t kept[KEPT];
    uint64_t generation, set, saves_ns, busy_ns;
    bool saved;
    double batch;
    /* restart */
    double again_batch, again_saved, again_useful_s, again_redone_s,
        again_all_s;
    uint64_t again_set, again_until_ns;
    uint64_t deaths;
} world_t;

static bool tracing;

static uint64_t
bit(uint32_t k)
{
    return (uint64_t)1 << k;
}

/* SplitMix64 (Steele, Lea, Flood 2014), in [0, 1). */
static double
draw(world_t *world)
{
    uint64_t value = world->random += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return (double)((value ^ (value >> 31)) >> 11) * 0x1p-53;
}

/* --- machines ------------------------------------------------------------- */

static void
arrive(world_t *world, node_t *node)
{
    double life_s = 3600 * skn_preemption_life(draw(world));
    node->here = true;
    node->noticed = node->paused = node->left = false;
    node->runs = node->ended = node->pulse_ns = 0;
    node->will_tell = draw(world) < 0.5;
    node->incarnation++;
    node->end_ns = world->now_ns + (uint64_t)((life_s + 60) * 1e9);
}

/* Returns whether anything has changed. */
static bool
live(world_t *world)
{
    bool changed = false;
    for (uint32_t k = 0; k < world->count; k++) {
        node_t *node = &world->node[k];
        if (!node->here && world->now_ns >= node->back_ns) {
            arrive(world, node);
            changed = true;
        } else if (node->here && world->now_ns >= node->end_ns) {
            node->here = false;
            node->runs = 0;
            node->back_ns = world->now_ns +
                            (uint64_t)(-log(1 - draw(world)) * AWAY_S * 1e9);
            world->deaths++;
            changed = true;
        }
    }
    return changed;
}

static uint64_t
all_here(const world_t *world)
{
    uint64_t set = 0;
    for (uint32_t k = 0; k < world->count; k++)
        if (world->node[k].here)
            set |= bit(k);
    return set;
}

/* --- skein ---------------------------------------------------------------- */

static uint32_t
next_of(uint64_t set, uint32_t k)
{
    do
        k = (k + 1) % NODES_MAX;
    while (!(set & bit(k)));
    return k;
}

static bool
has(const world_t *world, const checkpoint_t *kept, uint64_t set, uint32_t k)
{
    return (set & bit(k)) && world->node[k].incarnation == kept->incarnation[k];
}

/* Each part lies with its owner and with the next of the set. */
static bool
is_whole(const world_t *world, const checkpoint_t *kept, uint64_t set)
{
    for (uint32_t k = 0; k < world->count; k++)
        if ((kept->set & bit(k)) && !has(world, kept, set, k) &&
            !has(world, kept, set, next_of(kept->set, k)))
            return false;
    return kept->set != 0;
}

static skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    const world_t *world = job;
    const checkpoint_t *best = NULL;
    for (size_t k = 0; k < KEPT; k++)
        if (is_whole(world, &world->kept[k], set) &&
            (!best || world->kept[k].batch > best->batch))
            best = &world->kept[k];
    if (!best)
        return skn_fail(error, SKN_UNAVAILABLE, "parts are missing");
    point->batch = best->batch;
    point->layout = best->layout;
    return SKN_OK;
}

static void
end_worker(world_t *world, uint32_t k, skn_ending_t ending)
{
    node_t *node = &world->node[k];
    const skn_error_t error = { .status = SKN_UNAVAILABLE };
    if (!node->here || node->runs == 0)
        return;
    node->ended = node->runs;
    node->runs = 0;
    skn_membership_ended(world->membership, k, node->ended, ending, &error,
                         world->now_ns);
}

static void
begin(world_t *world, const skn_duty_t *duty)
{
    skn_harvest_begin(world->harvest, duty->generation, duty->set,
                      duty->point.batch, world->now_ns);
    world->generation = duty->generation;
    world->set = duty->set;
    world->batch = (double)duty->point.batch;
    world->saved = duty->point.batch == 0; /* else it writes it again */
    world->saves_ns = 0;
    world->busy_ns = 0;
}

static void
obey(world_t *world)
{
    skn_duty_t duty;
    while (skn_membership_next(world->membership, &duty)) {
        node_t *node = &world->node[duty.member];
        if (duty.kind == SKN_DUTY_RECORD) {
            begin(world, &duty);
        } else if (duty.kind == SKN_DUTY_LIST && node->here) {
            skn_membership_holds(world->membership, duty.member, world->now_ns);
        } else if (duty.kind == SKN_DUTY_START && node->here &&
                   duty.generation > node->ended &&
                   node->runs != duty.generation) {
            node->runs = duty.generation;
            node->ready_ns = world->now_ns + START_NS;
            node->paused = false;
        } else if (duty.kind == SKN_DUTY_PAUSE) {
            node->paused = duty.generation == node->runs;
        } else if (duty.kind == SKN_DUTY_ABORT) {
            end_worker(world, duty.member, SKN_ENDING_FAILED);
        } else if (duty.kind == SKN_DUTY_DISMISS) {
            node->left = true;
        } else if (duty.kind == SKN_DUTY_REPORT && tracing) {
            (void)printf("%9.1f  %s\n", (double)world->now_ns * 1e-9,
                         duty.text);
        }
    }
}

static void
save(world_t *world)
{
    checkpoint_t *oldest = &world->kept[0];
    world->saves_ns += STEP_NS;
    if (world->saves_ns < SAVE_NS)
        return;
    for (size_t k = 1; k < KEPT; k++)
        if (world->kept[k].batch < oldest->batch)
            oldest = &world->kept[k];
    *oldest = (checkpoint_t){ .batch = (uint64_t)world->batch,
                              .layout = world->generation,
                              .set = world->set };
    for (uint32_t k = 0; k < world->count; k++)
        oldest->incarnation[k] = world->node[k].incarnation;
    world->saves_ns = 0;
    world->saved = true;
    skn_membership_saved(world->membership, world->generation, oldest->batch);
}

static void
train(world_t *world)
{
    uint32_t lead = skn_membership_lead(world->set);
    double before = world->batch;
    for (uint32_t k = 0; k < world->count; k++) {
        const node_t *node = &world->node[k];
        if ((world->set & bit(k)) &&
            (!node->here || node->runs != world->generation ||
             world->now_ns < node->ready_ns))
            return;
    }
    if (world->set == 0)
        return;
    if (!world->saved) {
        save(world);
        return;
    }
    if (world->node[lead].paused && fmod(before, (double)world->mark) == 0) {
        for (uint32_t k = 0; k < world->count; k++)
            if (world->set & bit(k))
                end_worker(world, k,
                           k == lead ? SKN_ENDING_STOPPED : SKN_ENDING_WELL);
        return;
    }
    world->busy_ns += STEP_NS;
    world->batch += (double)STEP_NS * 1e-9 *
                    (double)__builtin_popcountll(world->set) / WORK_S;
    double mark =
        (floor(before / (double)world->mark) + 1) * (double)world->mark;
    if (world->batch >= mark) {
        world->batch = mark;
        world->saved = false;
    }
}

static void
speak(world_t *world)
{
    uint32_t lead = world->set ? skn_membership_lead(world->set) : 0;
    for (uint32_t k = 0; k < world->count; k++) {
        node_t *node = &world->node[k];
        if (!node->here || node->left)
            continue;
        if (node->pulse_ns == 0) {
            skn_membership_hello(world->membership, k, node->incarnation, 0,
                                 world->now_ns);
            skn_harvest_hello(world->harvest, k, node->incarnation, 1,
                              world->now_ns);
        }
        if (node->will_tell && !node->noticed &&
            world->now_ns + NOTICE_NS >= node->end_ns) {
            node->noticed = true;
            skn_membership_leaving(world->membership, k, world->now_ns);
            skn_harvest_notice(world->harvest, k);
        }
        if (world->now_ns - node->pulse_ns < S / 2)
            continue;
        node->pulse_ns = world->now_ns;
        skn_membership_pulse(world->membership, k, node->runs,
                             (uint64_t)world->batch, world->now_ns);
        const skn_harvest_pulse_t pulse = {
            .generation = node->runs ? node->runs : node->ended,
            .batch = (uint64_t)world->batch,
            .busy_ns = k == lead ? world->busy_ns : 0,
        };
        if (k == lead)
            skn_harvest_pulse(world->harvest, k, &pulse, world->now_ns);
        else
            skn_harvest_pulse(world->harvest, k, &(skn_harvest_pulse_t){ 0 },
                              world->now_ns);
    }
}

/* It was given back with time left on it: that is not ours any more. */
static uint64_t
heard(const world_t *world)
{
    uint64_t here = 0;
    for (uint32_t k = 0; k < world->count; k++)
        if (skn_membership_hears(world->membership, k) && !world->node[k].left)
            here |= bit(k);
    return here;
}

static void
lead_on(world_t *world)
{
    speak(world);
    obey(world);
    train(world);
    for (uint32_t k = 0; k < world->count; k++)
        if (world->node[k].left && world->node[k].here)
            skn_membership_lost(world->membership, k, world->now_ns);
    skn_membership_tick(world->membership, world->now_ns);
    skn_harvest_tick(world->harvest, heard(world), world->now_ns);
    obey(world);
}

/* --- all are restarted ---------------------------------------------------- */

static void
restart_all(world_t *world, bool changed)
{
    uint64_t here = all_here(world);
    double step_s = (double)STEP_NS * 1e-9;
    uint32_t count = (uint32_t)__builtin_popcountll(here);
    world->again_all_s += step_s * count;
    if (changed) {
        bool died = (world->again_set & ~here) != 0;
        double redone = world->again_batch - world->again_saved;
        world->again_redone_s += redone * WORK_S;
        world->again_batch = world->again_saved;
        world->again_set = here;
        world->again_until_ns = world->now_ns + START_NS +
                                (died ? SKN_MEMBER_SILENCE_MS * 1000000ull : 0);
        return;
    }
    if (world->now_ns < world->again_until_ns || count == 0)
        return;
    double mark = (floor(world->again_batch / (double)world->mark) + 1) *
                  (double)world->mark;
    world->again_batch += step_s * count / WORK_S;
    if (world->again_batch >= mark) {
        world->again_batch = world->again_saved = mark;
        world->again_until_ns = world->now_ns + SAVE_NS;
    }
}

/* --- worlds --------------------------------------------------------------- */

/* Tells what became of the time, and whether it sums up. */
static bool
judge(const world_t *world, uint64_t seed, double hours, double mean[5])
{
    skn_harvest_sum_t sum;
    skn_harvest_sum(world->harvest, &sum);
    skn_harvest_shares_t shares = skn_harvest_shares(&sum);
    double useful = world->again_batch * WORK_S / world->again_all_s;
    double redone = world->again_redone_s / world->again_all_s;
    (void)printf(
        "seed %llu: %llu ends of machines in %.0f h of %u; skein: %llu "
        "generations, %.0f machine hours, %.2f%% useful, %.2f%% redone, "
        "%.2f%% waiting; restart of all: %.0f machine hours, %.2f%% useful, "
        "%.2f%% redone\n",
        (unsigned long long)seed, (unsigned long long)world->deaths, hours,
        world->count, (unsigned long long)sum.generations, shares.core_hours,
        100 * shares.useful, 100 * shares.redone, 100 * shares.waiting,
        world->again_all_s / 3600, 100 * useful, 100 * redone);
    double done = world->batch * WORK_S / (double)3600;
    bool stands = skn_membership_members(world->membership) == 0;
    bool good =
        fabs(shares.useful + shares.redone + shares.waiting - 1) < 1e-9 &&
        fabs(done - shares.useful * shares.core_hours) < 0.02 * done;
    if (!good)
        (void)printf("seed %llu: NOT as it should be: %.2f h in batches\n",
                     (unsigned long long)seed, done);
    if (stands)
        (void)printf("seed %llu: both copies of a part are lost; the run "
                     "stands\n",
                     (unsigned long long)seed);
    mean[4] += stands;
    mean[0] += stands ? 0 : shares.useful;
    mean[1] += stands ? 0 : shares.redone;
    mean[2] += stands ? 0 : useful;
    mean[3] += stands ? 0 : redone;
    return good;
}

static bool
play(uint64_t seed, uint32_t count, double hours, double mean[5])
{
    static const char *names[NODES_MAX];
    static char text[NODES_MAX][8];
    world_t *world = calloc(1, sizeof(*world));
    skn_error_t error = { 0 };
    if (!world)
        return false;
    world->random = seed;
    world->count = count;
    world->mark = (uint64_t)(EVERY_S * count / WORK_S);
    for (uint32_t k = 0; k < count; k++) {
        (void)snprintf(text[k], sizeof(text[k]), "n%u", k);
        names[k] = text[k];
        world->node[k].back_ns = (uint64_t)(draw(world) * 600e9);
    }
    const skn_membership_options_t options = {
        .count = count,
        .least = 1,
        .first_wait_ns = 10 * S,
        .choose = choose,
        .job = world,
    };
    world->membership = skn_membership_new(&options, names, &error);
    world->harvest = skn_harvest_new(count, NULL, &error);
    while (world->membership && world->harvest &&
           (double)world->now_ns < hours * 3600e9 &&
           skn_membership_phase(world->membership) != SKN_MEMBERSHIP_OVER) {
        world->now_ns += STEP_NS;
        restart_all(world, live(world));
        lead_on(world);
    }
    bool good = judge(world, seed, hours, mean);
    skn_harvest_destroy(&world->harvest);
    skn_membership_destroy(&world->membership);
    free(world);
    return good;
}

int
main(int argc, char **argv)
{
    unsigned long count = 8, hours = 24, seeds = 4;
    double mean[5] = { 0 };
    bool good = true;
    if (argc >= 4) {
        count = strtoul(argv[1], NULL, 10);
        hours = strtoul(argv[2], NULL, 10);
        seeds = strtoul(argv[3], NULL, 10);
    }
    tracing = argc == 5 && strcmp(argv[4], "--trace") == 0;
    if ((argc != 1 && argc != 4 && !tracing) || count < 2 ||
        count > NODES_MAX - 1 || hours == 0 || seeds == 0) {
        (void)fputs("usage: sim_preemption [NODES HOURS SEEDS [--trace]]\n",
                    stderr);
        return 64;
    }
    for (unsigned long seed = 1; seed <= seeds; seed++)
        good = play(seed, (uint32_t)count, (double)hours, mean) && good;
    double rest = (double)seeds > mean[4] ? (double)seeds - mean[4] : 1;
    (void)printf("%lu machines, %lu h, %lu worlds: %.0f stand; in the others "
                 "useful %.2f%% (redone %.2f%%); restart of all: useful "
                 "%.2f%% (redone %.2f%%)\n",
                 count, hours, seeds, mean[4], 100 * mean[0] / rest,
                 100 * mean[1] / rest, 100 * mean[2] / rest,
                 100 * mean[3] / rest);
    return good ? 0 : 1;
}
