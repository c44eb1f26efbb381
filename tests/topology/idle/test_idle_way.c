/* test_idle_way.c - tests control groups and sessions, on this machine's
 * kernel. Cases that this machine or this user cannot run are reported, and
 * left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/idle_child.h"
#include "topology/idle/idle_way.h"

/* --- groups -------------------------------------------------------------- */

static bool
is_in_text(const char *path, const char *wanted)
{
    char text[4096] = "";
    FILE *file = fopen(path, "re");
    cr_assert(file, "%s", path);
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    return strstr(text, wanted) != NULL;
}

static bool
has_process(const skn_idle_place_t *place, pid_t pid)
{
    char path[SKN_GROUPS_PATH_BYTES + 32], line[32];
    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", place->path);
    (void)snprintf(line, sizeof(line), "%d\n", (int)pid);
    return is_in_text(path, line);
}

Test(idle_way, a_group_holds_the_process_and_goes_with_it)
{
    int opened = 0;
    for (skn_idle_way_t way = 0; way < SKN_IDLE_WAY_SESSION; way++) {
        skn_idle_place_t place;
        skn_error_t error = { 0 };
        struct stat facts;
        char path[SKN_GROUPS_PATH_BYTES];
        if (skn_idle_place_open(&place, way, &error) != SKN_OK) {
            (void)fprintf(stderr, "left out: %s\n", error.text);
            cr_expect_eq(error.status, SKN_UNAVAILABLE);
            cr_expect_str_eq(place.path, "");
            continue;
        }
        opened++;
        (void)snprintf(path, sizeof(path), "%s", place.path);
        idle_child_t child = idle_child_start(false);
        cr_expect_eq(skn_idle_place_join(&place, child.pid, &error), SKN_OK,
                     "%s", error.text);
        cr_expect(has_process(&place, child.pid));
        /* In use, and ours: nobody cleans it. */
        skn_idle_place_clean();
        cr_expect(has_process(&place, child.pid));
        idle_child_end(&child);
        skn_idle_place_close(&place);
        cr_expect_str_eq(place.path, "");
        cr_expect_neq(stat(path, &facts), 0);
        skn_idle_place_close(&place);
    }
    if (opened == 0)
        (void)fprintf(stderr, "LEFT OUT: no control group can be made here\n");
}

Test(idle_way, groups_of_the_dead_are_removed_and_of_the_living_kept)
{
    for (skn_idle_way_t way = 0; way < SKN_IDLE_WAY_SESSION; way++) {
        skn_idle_place_t place;
        skn_error_t error = { 0 };
        struct stat facts;
        char dead[SKN_GROUPS_PATH_BYTES + 64],
            other[SKN_GROUPS_PATH_BYTES + 64];
        if (skn_idle_place_open(&place, way, &error) != SKN_OK)
            continue;
        int folder = (int)(strrchr(place.path, '/') - place.path);
        /* This process at another time; and nothing of ours. */
        (void)snprintf(dead, sizeof(dead), "%.*s/skein-idle-%d-1-0", folder,
                       place.path, (int)getpid());
        (void)snprintf(other, sizeof(other), "%.*s/skein-test-%d", folder,
                       place.path, (int)getpid());
        cr_assert_eq(mkdir(dead, 0755), 0);
        cr_assert_eq(mkdir(other, 0755), 0);
        skn_idle_place_clean();
        cr_expect_neq(stat(dead, &facts), 0);
        cr_expect_eq(stat(other, &facts), 0);
        cr_expect_eq(stat(place.path, &facts), 0);
        (void)rmdir(other);
        skn_idle_place_close(&place);
    }
}

Test(idle_way, a_process_that_is_gone_cannot_join)
{
    idle_child_t child = idle_child_start(true);
    idle_child_end(&child);
    for (skn_idle_way_t way = 0; way < SKN_IDLE_WAY_COUNT; way++) {
        skn_idle_place_t place;
        skn_error_t error = { 0 };
        if (skn_idle_place_open(&place, way, &error) != SKN_OK)
            continue;
        cr_expect_eq(skn_idle_place_join(&place, child.pid, &error),
                     SKN_UNAVAILABLE);
        cr_expect(error.text[0]);
        skn_idle_place_close(&place);
    }
}

/* --- sessions ------------------------------------------------------------ */

static void
expect_idle_threads(const idle_child_t *child, size_t want)
{
    pid_t task[IDLE_CHILD_TASKS_MAX];
    size_t count = idle_child_tasks(child, task);
    cr_expect_eq(count, want);
    for (size_t k = 0; k < count; k++)
        cr_expect_eq(sched_getscheduler(task[k]), SCHED_IDLE, "%zu", k);
}

Test(idle_way, a_session_of_its_own_is_nice_and_all_threads_are_idle)
{
    skn_idle_place_t place;
    skn_error_t error = { 0 };
    struct stat facts;
    char path[64];
    idle_child_t child = idle_child_start(true);
    for (int k = 0; k < 3; k++)
        idle_child_order(&child, 't');
    cr_assert_eq(skn_idle_place_open(&place, SKN_IDLE_WAY_SESSION, &error),
                 SKN_OK);
    cr_assert_eq(skn_idle_place_join(&place, child.pid, &error), SKN_OK, "%s",
                 error.text);
    expect_idle_threads(&child, 4);
    idle_child_order(&child, 't'); /* like who makes it */
    expect_idle_threads(&child, 5);
    (void)snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)child.pid);
    if (stat(path, &facts) == 0)
        cr_expect(is_in_text(path, "nice 19\n"));
    else
        (void)fprintf(stderr, "left out: a kernel without autogroup\n");
    idle_child_end(&child);
    skn_idle_place_close(&place);
}

/* What a group says of itself; "" for a way without one. */
static void
expect_group(const skn_idle_place_t *place, const char *idle,
             const char *shares)
{
    bool weighs = place->way == SKN_IDLE_WAY_SHARES;
    char path[SKN_GROUPS_PATH_BYTES + 32];
    if (place->way == SKN_IDLE_WAY_SESSION)
        return;
    (void)snprintf(path, sizeof(path), "%s/%s", place->path,
                   weighs ? "cpu.shares" : "cpu.idle");
    cr_expect(is_in_text(path, weighs ? shares : idle), "%s", path);
}

Test(idle_way, a_hurrying_process_is_like_any_other_until_it_joins_again)
{
    for (skn_idle_way_t way = 0; way < SKN_IDLE_WAY_COUNT; way++) {
        skn_idle_place_t place;
        skn_error_t error = { 0 };
        if (skn_idle_place_open(&place, way, &error) != SKN_OK)
            continue;
        idle_child_t child = idle_child_start(true);
        idle_child_order(&child, 't');
        for (int round = 0; round < 2; round++) {
            cr_expect_eq(skn_idle_place_join(&place, child.pid, &error), SKN_OK,
                         "%s", error.text);
            expect_group(&place, "1", "2\n");
            skn_idle_place_hurry(&place, child.pid);
            expect_group(&place, "0", "1024");
            if (geteuid() == 0) /* others may need leave to go back */
                cr_expect_eq(sched_getscheduler(child.pid), SCHED_OTHER);
        }
        idle_child_end(&child);
        skn_idle_place_close(&place);
    }
}

Test(idle_way, the_session_of_the_caller_is_left_as_it_is)
{
    skn_idle_place_t place;
    skn_error_t error = { 0 };
    struct stat facts;
    idle_child_t child = idle_child_start(false);
    cr_assert_eq(skn_idle_place_open(&place, SKN_IDLE_WAY_SESSION, &error),
                 SKN_OK);
    cr_assert_eq(skn_idle_place_join(&place, child.pid, &error), SKN_OK, "%s",
                 error.text);
    expect_idle_threads(&child, 1);
    if (stat("/proc/self/autogroup", &facts) == 0)
        cr_expect_not(is_in_text("/proc/self/autogroup", "nice 19\n"));
    idle_child_end(&child);
}

Test(idle_way, every_way_has_a_name)
{
    for (skn_idle_way_t way = 0; way < SKN_IDLE_WAY_COUNT; way++)
        cr_expect_gt(strlen(skn_idle_way_name(way)), 10u);
    cr_expect_str_eq(skn_idle_way_name(SKN_IDLE_WAY_COUNT), "nothing");
}
