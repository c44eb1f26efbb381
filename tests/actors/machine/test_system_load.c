/* test_system_load.c - tests the busy time of a core. Covers
 * actors/machine/system_load.c, and its use by the actors of a system.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "actors/machine/system_load.h"

static skn_load_t load;

static void
set_up(void)
{
    skn_load_init(&load, 0);
}

TestSuite(system_load, .init = set_up);

/* In ticks of 16 ns. */
#define TICKS(count) ((uint64_t)(count)*16)

static void
expect_busy(uint64_t ticks, uint64_t now)
{
    cr_expect_eq(skn_load_busy_ns(&load, TICKS(now)), TICKS(ticks));
}

Test(system_load, one_actor_counts_when_it_does_not_wait)
{
    expect_busy(0, 50);
    skn_load_enter(&load, TICKS(100));
    expect_busy(30, 130);
    skn_load_leave(&load, TICKS(140));
    expect_busy(40, 900);
    skn_load_enter(&load, TICKS(1000));
    skn_load_leave(&load, TICKS(1001));
    expect_busy(41, 2000);
}

Test(system_load, two_at_once_count_once)
{
    skn_load_enter(&load, TICKS(10));
    skn_load_enter(&load, TICKS(20));
    skn_load_leave(&load, TICKS(30));
    expect_busy(25, 35);
    skn_load_leave(&load, TICKS(40));
    expect_busy(30, 100);
}

Test(system_load, a_clock_that_was_read_too_early_takes_nothing_away)
{
    skn_load_enter(&load, TICKS(10));
    skn_load_leave(&load, TICKS(9));
    expect_busy(0, 8);
    skn_load_enter(&load, TICKS(20));
    expect_busy(0, 19);
    expect_busy(1, 21);
}

/* A year of uptime, and a century of use. */
Test(system_load, clocks_may_be_far_on)
{
    uint64_t far = (uint64_t)1 << 50;
    skn_load_enter(&load, TICKS(far));
    skn_load_leave(&load, TICKS(far + 5));
    expect_busy(5, far + 9);
}

/* Four threads that take turns: none is at work in the end, and what each has
 * had alone is there. */
enum {
    THREADS = 4,
    TURNS = 20000
};

static void *
take_turns(void *argument)
{
    uint64_t at = (uint64_t)(uintptr_t)argument * 1000000;
    for (int k = 0; k < TURNS; k++, at += 10) {
        skn_load_enter(&load, TICKS(at));
        skn_load_leave(&load, TICKS(at + 1));
    }
    return NULL;
}

Test(system_load, all_have_left_after_any_number_of_turns)
{
    pthread_t threads[THREADS];
    for (uintptr_t k = 0; k < THREADS; k++)
        cr_assert_eq(pthread_create(&threads[k], NULL, take_turns, (void *)k),
                     0);
    for (int k = 0; k < THREADS; k++)
        cr_assert_eq(pthread_join(threads[k], NULL), 0);
    uint64_t busy_ns = skn_load_busy_ns(&load, TICKS(1));
    cr_expect_gt(busy_ns, 0);
    cr_expect_eq(skn_load_busy_ns(&load, TICKS(1000)), busy_ns,
                 "nobody is at work");
}
