/* test_idle_apply.c - tests that cores of a real process are taken and given
 * back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/support/idle_child.h"
#include "topology/idle/idle_apply.h"

/* Two processors of this machine; one where it has no more. */
static cpu_set_t
two_cpus(int *first, int *second)
{
    cpu_set_t all, two;
    *first = *second = -1;
    CPU_ZERO(&two);
    cr_assert_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int cpu = 0; cpu < 64 && *second < 0; cpu++)
        if (CPU_ISSET((size_t)cpu, &all)) {
            *(*first < 0 ? first : second) = cpu;
            CPU_SET((size_t)cpu, &two);
        }
    return two;
}

static unsigned long
mask_of(pid_t task)
{
    cpu_set_t cpus;
    unsigned long bits = 0;
    cr_assert_eq(sched_getaffinity(task, sizeof(cpus), &cpus), 0);
    for (size_t cpu = 0; cpu < 64; cpu++)
        bits |= (unsigned long)!!CPU_ISSET(cpu, &cpus) << cpu;
    return bits;
}

/* How many threads have this mask. */
static size_t
count_of(const idle_child_t *child, unsigned long mask)
{
    pid_t task[IDLE_CHILD_TASKS_MAX];
    size_t count = idle_child_tasks(child, task), found = 0;
    for (size_t k = 0; k < count; k++)
        found += mask_of(task[k]) == mask;
    return found;
}

/* --- which cores --------------------------------------------------------- */

static unsigned long
last_of(unsigned long bits, const uint16_t *core, uint32_t count)
{
    cpu_set_t cpus, last;
    unsigned long got = 0;
    CPU_ZERO(&cpus);
    for (size_t cpu = 0; cpu < 64; cpu++)
        if (bits >> cpu & 1)
            CPU_SET(cpu, &cpus);
    skn_idle_last_cpus(&cpus, core, count, &last);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &last)) {
            cr_assert_lt(cpu, 64u);
            got |= 1ul << cpu;
        }
    return got;
}

Test(idle_apply, the_last_cores_are_taken_both_threads_of_one_together)
{
    static uint16_t alone[CPU_SETSIZE], halves[CPU_SETSIZE];
    static uint16_t pairs[CPU_SETSIZE];
    for (uint16_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        alone[cpu] = cpu;
        halves[cpu] = cpu < 8 ? cpu % 4 : cpu; /* 0 and 4 are one core */
        pairs[cpu] = (uint16_t)(cpu / 2 * 2);  /* 0 and 1 are */
    }
    cr_expect_eq(last_of(0xff, alone, 3), 0xe0u);
    cr_expect_eq(last_of(0xff, alone, 0), 0u);
    cr_expect_eq(last_of(0xff, alone, 100), 0xffu);
    cr_expect_eq(last_of(0x15, alone, 2), 0x14u);
    cr_expect_eq(last_of(0xff, halves, 1), 0x80u);
    cr_expect_eq(last_of(0xff, halves, 2), 0x88u);
    cr_expect_eq(last_of(0xff, halves, 4), 0xccu);
    cr_expect_eq(last_of(0x7f, halves, 2), 0x48u); /* 7 is not ours */
    cr_expect_eq(last_of(0xff, pairs, 2), 0xc0u);
    cr_expect_eq(last_of(0xff, pairs, 3), 0xe0u);
}

/* --- threads ------------------------------------------------------------- */

typedef struct world {
    idle_child_t child;
    skn_idle_apply_t *apply;
    int first, second; /* processors */
    unsigned long one, other, both;
} world_t;

/* A child of four threads, bound to: both, first, second, both. False: this
 * machine has one processor, which is said. */
static bool
world_open(world_t *world)
{
    skn_error_t error = { 0 };
    cpu_set_t cpus = two_cpus(&world->first, &world->second);
    if (world->second < 0) {
        (void)fprintf(stderr, "LEFT OUT: one processor alone\n");
        return false;
    }
    world->one = 1ul << world->first;
    world->other = 1ul << world->second;
    world->both = world->one | world->other;
    (void)sched_setaffinity(0, sizeof(cpus), &cpus);
    world->child = idle_child_start(true);
    idle_child_order(&world->child, 't');
    idle_child_order(&world->child, world->first);
    idle_child_order(&world->child, 't');
    idle_child_order(&world->child, world->second);
    idle_child_order(&world->child, 't');
    /* Its first thread binds itself last, and then it is free again. */
    cr_assert_eq(sched_setaffinity(world->child.pid, sizeof(cpus), &cpus), 0);
    world->apply = skn_idle_apply_new(&cpus, &error);
    cr_assert(world->apply, "%s", error.text);
    cr_assert_eq(count_of(&world->child, world->both), 2u);
    cr_assert_eq(count_of(&world->child, world->one), 1u);
    cr_assert_eq(count_of(&world->child, world->other), 1u);
    return true;
}

static void
world_close(world_t *world)
{
    idle_child_end(&world->child);
    skn_idle_apply_destroy(&world->apply);
    cr_expect_null(world->apply);
}

Test(idle_apply, fewer_cores_hold_every_thread_and_each_gets_its_own_back)
{
    world_t world;
    if (!world_open(&world))
        return;
    for (int round = 0; round < 3; round++) {
        /* The one that is there already stays. */
        cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 1), 3u);
        cr_expect_eq(count_of(&world.child, world.other), 4u);
        cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 1), 0u);
        (void)skn_idle_apply_cores(world.apply, world.child.pid,
                                   round == 1 ? 0 : 2 + (uint32_t)round);
        cr_expect_eq(count_of(&world.child, world.both), 2u);
        cr_expect_eq(count_of(&world.child, world.one), 1u);
        cr_expect_eq(count_of(&world.child, world.other), 1u);
        cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 2), 0u);
    }
    world_close(&world);
}

Test(idle_apply, threads_that_come_later_are_held_and_may_then_go_anywhere)
{
    world_t world;
    if (!world_open(&world))
        return;
    (void)skn_idle_apply_cores(world.apply, world.child.pid, 1);
    idle_child_order(&world.child, 't'); /* like its maker: held */
    cr_expect_eq(count_of(&world.child, world.other), 5u);
    cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 1), 0u);
    (void)skn_idle_apply_cores(world.apply, world.child.pid, 2);
    cr_expect_eq(count_of(&world.child, world.both), 3u);
    cr_expect_eq(count_of(&world.child, world.one), 1u);
    cr_expect_eq(count_of(&world.child, world.other), 1u);
    world_close(&world);
}

Test(idle_apply, a_thread_that_binds_itself_meanwhile_is_held_and_gets_that)
{
    world_t world;
    if (!world_open(&world))
        return;
    (void)skn_idle_apply_cores(world.apply, world.child.pid, 1);
    idle_child_order(&world.child, world.first); /* its first thread */
    cr_expect_eq(count_of(&world.child, world.one), 1u);
    cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 1), 1u);
    cr_expect_eq(count_of(&world.child, world.other), 4u);
    (void)skn_idle_apply_cores(world.apply, world.child.pid, 2);
    cr_expect_eq(count_of(&world.child, world.one), 2u);
    cr_expect_eq(count_of(&world.child, world.both), 1u);
    world_close(&world);
}

Test(idle_apply, a_process_that_is_gone_is_no_failure)
{
    world_t world;
    if (!world_open(&world))
        return;
    const skn_idle_place_t place = { .way = SKN_IDLE_WAY_SESSION };
    skn_error_t error = { 0 };
    (void)skn_idle_apply_cores(world.apply, world.child.pid, 1);
    idle_child_end(&world.child);
    cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 1), 0u);
    cr_expect_eq(skn_idle_apply_cores(world.apply, world.child.pid, 2), 0u);
    cr_expect_eq(
        skn_idle_apply_begin(world.apply, &place, world.child.pid, 0, &error),
        SKN_UNAVAILABLE);
    skn_idle_apply_destroy(&world.apply);
    skn_idle_apply_destroy(&world.apply);
}

/* ioprio_get(2): of one process; the class is above 13 bits. */
static long
io_class(pid_t task)
{
    return syscall(SYS_ioprio_get, 1, task) >> 13;
}

Test(idle_apply,
     a_process_that_gives_way_is_idle_in_cpu_and_disk_and_killed_first)
{
    world_t world;
    pid_t task[IDLE_CHILD_TASKS_MAX];
    char path[64], text[32] = "";
    const skn_idle_place_t place = { .way = SKN_IDLE_WAY_SESSION };
    skn_error_t error = { 0 };
    if (!world_open(&world))
        return;
    cr_assert_eq(skn_idle_apply_begin(world.apply, &place, world.child.pid,
                                      1 << 30, &error),
                 SKN_OK, "%s", error.text);
    size_t count = idle_child_tasks(&world.child, task);
    for (size_t k = 0; k < count; k++) {
        cr_expect_eq(io_class(task[k]), 3);
        cr_expect_eq(sched_getscheduler(task[k]), SCHED_IDLE);
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj",
                   (int)world.child.pid);
    FILE *file = fopen(path, "re");
    cr_assert(file && fgets(text, sizeof(text), file));
    (void)fclose(file);
    cr_expect_str_eq(text, "1000\n");
    world_close(&world);
}
