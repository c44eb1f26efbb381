/* test_idle_policy.c - tests decisions on synthetic samples, with a synthetic
 * clock.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "topology/idle/idle_policy.h"

#define SECOND UINT64_C(1000000000)

typedef struct world {
    skn_idle_policy_t policy;
    skn_idle_sample_t sample;
    skn_idle_decision_t decision;
    unsigned changed; /* by the samples since `seconds` was called */
    char threads_reason[SKN_IDLE_REASON_BYTES];
} world_t;

static world_t
world_of(uint32_t cores, int64_t reserve, double share, uint64_t grace_ns)
{
    const skn_idle_limits_t limits = { cores, reserve, share, grace_ns };
    world_t world = { .sample = { .now_ns = 100 * SECOND,
                                  .memory_free = 0.5 } };
    skn_idle_policy_init(&world.policy, &limits);
    return world;
}

/* One sample a second, all alike. */
static void
seconds(world_t *world, int count)
{
    world->changed = 0;
    for (int k = 0; k < count; k++) {
        skn_idle_policy_step(&world->policy, &world->sample, &world->decision);
        world->changed |= world->decision.changed;
        if (world->decision.changed & SKN_IDLE_THREADS)
            memcpy(world->threads_reason, world->decision.threads_reason,
                   sizeof(world->threads_reason));
        world->sample.now_ns += SECOND;
    }
}

/* --- threads ------------------------------------------------------------- */

static uint32_t
threads_at(uint32_t cores, int64_t reserve, double share, double outside)
{
    world_t world = world_of(cores, reserve, share, 0);
    world.sample.outside = outside;
    seconds(&world, 1);
    return world.decision.threads;
}

Test(idle_policy, the_number_of_threads_is_that_of_the_rule)
{
    static const uint32_t cores[] = { 1, 2, 3, 4, 8, 64 };
    for (size_t c = 0; c < sizeof(cores) / sizeof(cores[0]); c++)
        for (int64_t reserve = 0; reserve <= 3; reserve++)
            for (int tenth = 0; tenth <= (int)cores[c] * 10 + 5; tenth++) {
                double outside = tenth / 10.0, left = cores[c] - outside;
                double want =
                    floor(0.9 * (left > 0 ? left : 0) + 0.5) - (double)reserve;
                uint32_t got = threads_at(cores[c], reserve, 1.0, outside);
                cr_expect_eq(got, want > 1 ? (uint32_t)want : 1u,
                             "%u cores, %d free, %.1f outside: %u", cores[c],
                             (int)reserve, outside, got);
            }
}

Test(idle_policy, two_unused_cores_are_used_and_a_busy_one_is_left_alone)
{
    cr_expect_eq(threads_at(2, 0, 1.0, 0.0), 2u);
    cr_expect_eq(threads_at(2, 0, 1.0, 0.3), 2u);
    cr_expect_eq(threads_at(2, 0, 1.0, 1.0), 1u);
    cr_expect_eq(threads_at(2, 0, 1.0, 2.0), 1u);
    cr_expect_eq(threads_at(0, 0, 1.0, 0.0), 1u);
}

Test(idle_policy, the_share_of_cores_is_a_ceiling_and_one_always_stays)
{
    cr_expect_eq(threads_at(8, 0, 0.5, 0.0), 4u);
    cr_expect_eq(threads_at(8, 0, 0.5, 6.0), 2u);
    cr_expect_eq(threads_at(8, 0, 0.01, 0.0), 1u);
    cr_expect_eq(threads_at(8, 100, 1.0, 0.0), 1u);
}

Test(idle_policy, a_core_stays_free_while_a_user_is_there)
{
    world_t world = world_of(4, -1, 1.0, 0);
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 4u);
    world.sample.somebody = true;
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 3u);
    cr_expect_str_eq(world.threads_reason,
                     "other work uses 0.0 of 4 cores, 1 stay free");
    world.sample.somebody = false;
    seconds(&world, 11);
    cr_expect_eq(world.decision.threads, 4u);
}

Test(idle_policy, what_is_not_known_holds_nothing_back)
{
    world_t world = world_of(4, 0, 1.0, 0);
    world.sample.outside = -1.0;
    world.sample.memory_pressure = world.sample.io_pressure = -1.0;
    world.sample.memory_free = -1.0;
    seconds(&world, 100);
    cr_expect_eq(world.decision.threads, 4u);
    cr_expect(!world.decision.pause && !world.decision.give_memory);
    cr_expect_eq(world.changed, 0u);
}

Test(idle_policy, it_goes_down_at_once_and_up_by_one_in_ten_seconds)
{
    world_t world = world_of(4, 0, 1.0, 0);
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 4u);
    world.sample.outside = 4.0;
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 1u);
    cr_expect_eq(world.decision.changed, SKN_IDLE_THREADS);
    cr_expect_str_eq(world.decision.threads_reason,
                     "other work uses 4.0 of 4 cores");
    world.sample.outside = 0.0;
    seconds(&world, 9);
    cr_expect_eq(world.decision.threads, 1u);
    for (uint32_t threads = 2; threads <= 4; threads++) {
        seconds(&world, 1);
        cr_expect_eq(world.decision.threads, threads);
        seconds(&world, 9);
        cr_expect_eq(world.decision.threads, threads);
        cr_expect_eq(world.changed, 0u);
    }
    seconds(&world, 30);
    cr_expect_eq(world.decision.threads, 4u);
}

Test(idle_policy, load_that_comes_again_and_again_keeps_it_low)
{
    world_t world = world_of(2, 0, 1.0, 0);
    world.sample.outside = 2.0;
    seconds(&world, 1);
    for (int round = 0; round < 10; round++) {
        world.sample.outside = 0.0;
        seconds(&world, 8);
        cr_expect_eq(world.changed, 0u, "round %d", round);
        world.sample.outside = 2.0;
        seconds(&world, 1);
    }
    cr_expect_eq(world.decision.threads, 1u);
}

Test(idle_policy, others_that_use_half_for_five_seconds_leave_it_one)
{
    world_t world = world_of(8, 0, 1.0, 0);
    world.sample.outside = 4.0; /* not more than half */
    seconds(&world, 30);
    cr_expect_eq(world.decision.threads, 4u);
    world.sample.outside = 4.1;
    seconds(&world, 5);
    cr_expect_eq(world.decision.threads, 4u);
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 1u);
}

Test(idle_policy, tight_memory_and_busy_disks_leave_it_one)
{
    world_t world = world_of(4, 0, 1.0, 0);
    world.sample.memory_pressure = 5.0;
    world.sample.io_pressure = 10.0;
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 4u);
    world.sample.memory_pressure = 5.1;
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 1u);
    cr_expect_str_eq(world.threads_reason,
                     "tasks wait for memory 5% of the time");
    world.sample.memory_pressure = 0.0;
    seconds(&world, 30);
    cr_expect_eq(world.decision.threads, 4u);
    world.sample.io_pressure = 12.0;
    seconds(&world, 1);
    cr_expect_eq(world.decision.threads, 1u);
    cr_expect_str_eq(world.threads_reason,
                     "tasks wait for disks 12% of the time");
}

/* --- memory -------------------------------------------------------------- */

Test(idle_policy, memory_is_given_back_after_three_seconds_of_pressure)
{
    world_t world = world_of(2, 0, 1.0, 0);
    world.sample.memory_pressure = 20.0;
    seconds(&world, 60);
    cr_expect_not(world.decision.give_memory);
    world.sample.memory_pressure = 21.0;
    seconds(&world, 3);
    cr_expect_not(world.decision.give_memory);
    seconds(&world, 1);
    cr_expect(world.decision.give_memory);
    cr_expect_eq(world.decision.changed, SKN_IDLE_MEMORY);
    cr_expect_str_eq(world.decision.memory_reason,
                     "tasks wait for memory 21% of the time");
    cr_expect_eq(world.decision.threads, 1u);
}

Test(idle_policy, memory_is_given_back_where_little_is_available)
{
    world_t world = world_of(2, 0, 1.0, 0);
    world.sample.memory_free = 0.10;
    seconds(&world, 60);
    cr_expect_not(world.decision.give_memory);
    world.sample.memory_free = 0.09;
    seconds(&world, 4);
    cr_expect(world.decision.give_memory);
    cr_expect_str_eq(world.decision.memory_reason,
                     "9% of the memory is available");
    cr_expect_eq(world.decision.threads, 1u);
    /* Only when it has been there for a minute is it there again. */
    world.sample.memory_free = 0.5;
    seconds(&world, 60);
    cr_expect(world.decision.give_memory);
    seconds(&world, 1);
    cr_expect_not(world.decision.give_memory);
    cr_expect_str_eq(world.decision.memory_reason, "memory is available again");
}

Test(idle_policy, a_moment_of_pressure_gives_nothing_back)
{
    world_t world = world_of(2, 0, 1.0, 0);
    for (int round = 0; round < 20; round++) {
        world.sample.memory_free = 0.05;
        seconds(&world, 3);
        world.sample.memory_free = 0.5;
        seconds(&world, 1);
        cr_expect_not(world.decision.give_memory);
    }
}

/* --- pauses -------------------------------------------------------------- */

Test(idle_policy, a_battery_pauses_it_after_the_grace_and_power_resumes_it)
{
    world_t world = world_of(2, 0, 1.0, 3 * SECOND);
    world.sample.on_battery = true;
    seconds(&world, 3);
    cr_expect_not(world.decision.pause);
    seconds(&world, 1);
    cr_expect(world.decision.pause);
    cr_expect_eq(world.decision.changed, SKN_IDLE_PAUSE);
    cr_expect_str_eq(world.decision.pause_reason,
                     "the machine runs on its battery");
    cr_expect_eq(world.decision.threads, 2u);
    world.sample.on_battery = false;
    seconds(&world, 60);
    cr_expect(world.decision.pause);
    world.sample.on_battery = true; /* the plug was loose */
    seconds(&world, 1);
    world.sample.on_battery = false;
    seconds(&world, 60);
    cr_expect(world.decision.pause);
    seconds(&world, 1);
    cr_expect_not(world.decision.pause);
    cr_expect_str_eq(world.decision.pause_reason,
                     "the machine is on mains power again");
}

Test(idle_policy, without_grace_a_battery_pauses_it_at_once)
{
    world_t world = world_of(2, 0, 1.0, 0);
    world.sample.on_battery = true;
    seconds(&world, 1);
    cr_expect(world.decision.pause);
}

Test(idle_policy, after_a_gap_what_lasts_must_last_again)
{
    world_t world = world_of(2, 0, 1.0, 3 * SECOND);
    world.sample.on_battery = true;
    world.sample.memory_free = 0.01;
    world.sample.outside = 1.5;
    seconds(&world, 2);
    world.sample.now_ns += 600 * SECOND; /* the lid was closed */
    seconds(&world, 3);
    cr_expect_not(world.decision.pause);
    cr_expect_not(world.decision.give_memory);
    seconds(&world, 1);
    cr_expect(world.decision.pause && world.decision.give_memory);
}

Test(idle_policy, every_change_is_reported)
{
    oracle_random_t random = { 7 };
    world_t world = world_of(8, -1, 1.0, 2 * SECOND);
    uint32_t threads = 8;
    bool pause = false, memory = false;
    for (int k = 0; k < 20000; k++) {
        uint64_t bits = oracle_next(&random);
        if (bits % 5 == 0) {
            world.sample.outside = (double)(bits >> 8 & 0xff) / 25.0 - 1.0;
            world.sample.memory_pressure = (double)(bits >> 16 & 31);
            world.sample.io_pressure = (double)(bits >> 24 & 15);
            world.sample.memory_free = (double)(bits >> 32 & 31) / 31.0;
            world.sample.on_battery = (bits >> 40 & 7) == 0;
            world.sample.somebody = bits >> 48 & 1;
        }
        seconds(&world, 1);
        const skn_idle_decision_t *now = &world.decision;
        cr_assert(now->threads >= 1 && now->threads <= 8);
        cr_assert_leq(now->threads, threads + 1);
        cr_expect_eq(!!(now->changed & SKN_IDLE_THREADS),
                     now->threads != threads);
        cr_expect_eq(!!(now->changed & SKN_IDLE_PAUSE), now->pause != pause);
        cr_expect_eq(!!(now->changed & SKN_IDLE_MEMORY),
                     now->give_memory != memory);
        threads = now->threads;
        pause = now->pause;
        memory = now->give_memory;
    }
}
