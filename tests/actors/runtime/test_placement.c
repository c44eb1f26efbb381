/* test_placement.c - tests the placement of actors on synthetic machines, and
 * on this one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "actors/runtime/placement.h"
#include "tests/support/word_kinds.h"

TestSuite(placement, .timeout = 60);

static skn_error_t error;
static const skn_kind_t computer =
    SKN_KIND(.name = "computer", .is_compute_bound = true);

#define ACTORS 20u
static skn_wired_actor_t actors[ACTORS];
static int32_t units[ACTORS];

/* All actors on "pack:2 core:4 pu:2"; every fifth floats. */
static void
plan(int core)
{
    skn_wiring_t wiring = { .actors = actors, .actor_count = ACTORS };
    skn_placement_t *placement =
        skn_placement_new("pack:2 core:4 pu:2", &error);
    cr_assert(placement, "%s", error.text);
    cr_expect_eq(skn_placement_unit_count(placement), 16);
    for (uint32_t k = 0; k < ACTORS; k++)
        actors[k] = (skn_wired_actor_t){
            .name = "a", .kind = k % 5 == 4 ? &hermit : &computer, .core = core
        };
    skn_placement_plan(placement, &wiring, 0, units);
    skn_placement_destroy(&placement);
    cr_expect_null(placement);
}

Test(placement, kinds_that_compute_get_a_unit_each_in_turn)
{
    plan(SKN_CORE_AUTO);
    int32_t next = 0;
    for (uint32_t k = 0; k < ACTORS; k++)
        cr_expect_eq(units[k], k % 5 == 4 ? SKN_CORE_FLOAT : next++ % 16);
    cr_expect_eq(next, 16);
}

Test(placement, a_given_core_is_kept_within_what_there_is)
{
    plan(15);
    for (uint32_t k = 0; k < ACTORS; k++)
        cr_expect_eq(units[k], 15);
    plan(16);
    for (uint32_t k = 0; k < ACTORS; k++)
        cr_expect_eq(units[k], 0);
    plan(SKN_CORE_FLOAT);
    for (uint32_t k = 0; k < ACTORS; k++)
        cr_expect_eq(units[k], SKN_CORE_FLOAT);
}

Test(placement, each_node_places_its_own_actors_only)
{
    skn_wiring_t wiring = { .actors = actors, .actor_count = ACTORS };
    skn_placement_t *placement = skn_placement_new("core:4 pu:1", &error);
    cr_assert(placement, "%s", error.text);
    for (uint32_t k = 0; k < ACTORS; k++)
        actors[k] = (skn_wired_actor_t){ .name = "a",
                                         .kind = &computer,
                                         .core = k < 8 ? SKN_CORE_AUTO : 3,
                                         .node = k % 2 };
    for (uint32_t node = 0; node < 3; node++) {
        int32_t next = 0;
        skn_placement_plan(placement, &wiring, node, units);
        for (uint32_t k = 0; k < ACTORS; k++)
            cr_expect_eq(units[k], k % 2 != node ? SKN_UNIT_UNBOUND
                                   : k < 8       ? next++
                                                 : 3);
        cr_expect_eq(next, node < 2 ? 4 : 0);
    }
    skn_placement_destroy(&placement);
}

/* Reading the machine is most of what a start costs. */
Test(placement, no_machine_is_needed_where_no_actor_is_bound)
{
    skn_wiring_t wiring = { .actors = actors, .actor_count = 2 };
    for (uint32_t k = 0; k < 2; k++)
        actors[k] = (skn_wired_actor_t){ .name = "a",
                                         .kind = &hermit,
                                         .core = SKN_CORE_AUTO };
    cr_expect_not(skn_placement_is_needed(&wiring, 0));
    actors[1].core = SKN_CORE_FLOAT;
    cr_expect_not(skn_placement_is_needed(&wiring, 0));
    actors[1].core = 0;
    cr_expect(skn_placement_is_needed(&wiring, 0));
    cr_expect_not(skn_placement_is_needed(&wiring, 1));
    actors[1].core = SKN_CORE_AUTO;
    actors[1].kind = &computer;
    cr_expect(skn_placement_is_needed(&wiring, 0));
}

Test(placement, a_machine_of_one_unit_takes_everybody)
{
    skn_placement_t *placement =
        skn_placement_new("pack:1 core:1 pu:1", &error);
    cr_assert(placement);
    cr_expect_eq(skn_placement_unit_count(placement), 1);
    cr_expect_eq(skn_placement_os_index(placement, 0), 0);
    cr_expect_eq(skn_placement_os_index(placement, 5), 0);
    skn_placement_destroy(&placement);
}

Test(placement, a_wrong_drawing_is_refused)
{
    cr_expect_null(skn_placement_new("pack:0 nonsense", &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(
        error.text,
        "'pack:0 nonsense' is not an hwloc description of a machine");
}

Test(placement, binding_on_a_drawn_machine_does_nothing)
{
    cpu_set_t before, after;
    skn_placement_t *placement =
        skn_placement_new("pack:2 core:4 pu:2", &error);
    cr_assert(placement);
    cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    cr_expect_eq(skn_placement_bind(placement, 9, "drawn", 0, &error), SKN_OK);
    cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
    cr_expect(CPU_EQUAL(&before, &after));
    skn_placement_destroy(&placement);
}

/* Leaves all threads (the test library has its own) the last allowed unit
 * only, as taskset would; returns it. */
static unsigned
restrict_to_one(void)
{
    cpu_set_t mask;
    unsigned last = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
    for (unsigned k = 0; k < CPU_SETSIZE; k++)
        if (CPU_ISSET(k, &mask))
            last = k;
    CPU_ZERO(&mask);
    CPU_SET(last, &mask);
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    cr_assert(tasks);
    while ((task = readdir(tasks)))
        if (task->d_name[0] != '.')
            cr_assert_eq(
                sched_setaffinity((pid_t)strtol(task->d_name, NULL, 10),
                                  sizeof(mask), &mask),
                0);
    closedir(tasks);
    return last;
}

Test(placement, units_that_were_taken_away_do_not_count)
{
    unsigned only = restrict_to_one();
    skn_placement_t *placement = skn_placement_new(NULL, &error);
    cr_assert(placement, "%s", error.text);
    cr_expect_eq(skn_placement_unit_count(placement), 1);
    cr_expect_eq(skn_placement_os_index(placement, 0), only);
    cr_expect_eq(skn_placement_bind(placement, 0, "bound", 0, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(
        skn_placement_bind(placement, SKN_CORE_FLOAT, "floats", 0, &error),
        SKN_OK);
    cpu_set_t mask;
    cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
    cr_expect_eq(CPU_COUNT(&mask), 1);
    cr_expect(CPU_ISSET(only, &mask));
    skn_placement_destroy(&placement);
}

Test(placement, an_unbound_thread_gets_its_name_only)
{
    char name[16];
    cpu_set_t before, after;
    skn_placement_t *placement = skn_placement_new(NULL, &error);
    cr_assert(placement);
    cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    cr_expect_eq(skn_placement_bind(placement, SKN_UNIT_UNBOUND,
                                    "output.12345678901", 0, &error),
                 SKN_OK);
    cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
    cr_expect(CPU_EQUAL(&before, &after));
    cr_assert_eq(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
    cr_expect_str_eq(name, "output.12345678");
    skn_placement_destroy(&placement);
}
