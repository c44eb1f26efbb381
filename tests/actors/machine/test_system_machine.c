/* test_system_machine.c - tests that all users share one description of the
 * machine.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/machine/system_machine.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

static skn_error_t error;

Test(system_machine, is_read_once)
{
    hwloc_topology_t first = skn_machine_keep(&error);
    hwloc_topology_t again = skn_machine_keep(&error);
    cr_assert(first, "%s", error.text);
    cr_expect_eq(first, again);
    skn_machine_drop(again);
    skn_machine_drop(first);
    cr_expect_eq(skn_machine_keep(&error), first, "it stays for the next");
    skn_machine_drop(first);
}

Test(system_machine, is_read_again_with_other_units_and_kept_for_its_users)
{
    cpu_set_t all, one;
    cr_assert_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2)
        cr_skip("one unit only");
    hwloc_topology_t before = skn_machine_keep(&error);
    int units = hwloc_get_nbobjs_by_type(before, HWLOC_OBJ_PU);
    CPU_ZERO(&one);
    for (unsigned k = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; k--)
        if (CPU_ISSET(k, &all))
            CPU_SET(k, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    hwloc_topology_t after = skn_machine_keep(&error);
    cr_assert(after, "%s", error.text);
    cr_expect_neq(after, before);
    cr_expect_eq(hwloc_get_nbobjs_by_type(before, HWLOC_OBJ_PU), units,
                 "its user still has it");
    skn_machine_drop(before);
    skn_machine_drop(after);
    cr_assert_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void *
keep_and_drop(void *unused)
{
    for (int k = 0; k < 50; k++) {
        hwloc_topology_t topology = skn_machine_keep(NULL);
        if (!topology || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) < 1)
            return unused;
        skn_machine_drop(topology);
    }
    return NULL;
}

Test(system_machine, is_for_any_thread)
{
    pthread_t threads[4];
    void *failed = NULL;
    for (int k = 0; k < 4; k++)
        cr_assert_eq(pthread_create(&threads[k], NULL, keep_and_drop, &failed),
                     0);
    for (int k = 0; k < 4; k++) {
        (void)pthread_join(threads[k], &failed);
        cr_expect_null(failed);
    }
}
