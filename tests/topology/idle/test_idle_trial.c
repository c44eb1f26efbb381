/* test_idle_trial.c - tests the trial with two spinning processes on one core
 * of this machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "topology/idle/idle_trial.h"

/* The last way does nothing more for a process than what any user may, so a
 * machine without a working one is one where nobody can be polite: said. */
Test(idle_trial, the_way_that_is_chosen_leaves_the_owner_its_core)
{
    skn_idle_place_t place;
    double share = 7.0;
    skn_idle_choose(&place, &share);
    (void)skn_text_print(stderr, "%s: takes %.1f%% of a busy core\n",
                         skn_idle_way_name(place.way), 100.0 * share);
    cr_expect(place.way < SKN_IDLE_WAY_COUNT);
    cr_expect_leq(share, 1.0);
    if (share > SKN_IDLE_TRIAL_SHARE_MAX)
        (void)fprintf(stderr, "LEFT OUT: nothing works on this machine\n");
    else
        cr_expect_geq(share, 0.0);
    skn_idle_place_close(&place);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
}

Test(idle_trial, every_way_that_can_be_opened_is_measured)
{
    for (skn_idle_way_t way = 0; way < SKN_IDLE_WAY_COUNT; way++) {
        skn_idle_place_t place;
        skn_error_t error = { 0 };
        double share = 7.0;
        if (skn_idle_place_open(&place, way, &error) != SKN_OK)
            continue;
        cr_expect_eq(skn_idle_trial(&place, &share, &error), SKN_OK, "%s",
                     error.text);
        (void)skn_text_print(stderr, "%s: %.1f%%\n", skn_idle_way_name(way),
                             100.0 * share);
        cr_expect(share >= 0.0 && share <= 1.0, "%f", share);
        skn_idle_place_close(&place);
    }
}

Test(idle_trial, a_place_that_refuses_is_reported_and_nothing_is_left)
{
    const skn_idle_place_t nowhere = { .way = SKN_IDLE_WAY_GROUP1,
                                       .path = "/nonexistent/group" };
    skn_error_t error = { 0 };
    double share = 7.0;
    cr_expect_eq(skn_idle_trial(&nowhere, &share, &error), SKN_UNAVAILABLE);
    cr_expect_str_eq(error.text, "/nonexistent/group/cgroup.procs: No such "
                                 "file or directory");
    cr_expect_eq(share, -1.0);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
}
