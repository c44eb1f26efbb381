/* test_load.c - tests the load of a node's busiest core, thread or quota, and
 * with real threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "topology/idle/load.h"

#define S 1000000000ull

static skn_node_load_t load;

static void
add(uint64_t at_ns, uint64_t core_ns, uint64_t cpu_ns, double quota,
    uint64_t thread_ns)
{
    const skn_load_thread_t thread = { 7, thread_ns / 2, thread_ns / 2 };
    skn_node_load_add(&load, &(skn_load_sample_t){ .at_ns = at_ns,
                                                   .core_ns = core_ns,
                                                   .cpu_ns = cpu_ns,
                                                   .quota = quota,
                                                   .threads = &thread,
                                                   .thread_count = 1 });
}

TestSuite(load, .timeout = 60);

Test(load, it_is_the_most_of_three)
{
    add(5 * S, 3 * S, 9 * S, 0, 8 * S);
    cr_expect_eq(load.busy_ns, 0, "the first look is for comparison");
    add(6 * S, 3 * S + S / 2, 9 * S + S / 4, 0, 8 * S);
    cr_expect_eq(load.busy_ns, S / 2, "its core");
    add(7 * S, 3 * S + S / 2, 9 * S + S / 2, 0.5, 8 * S);
    cr_expect_eq(load.busy_ns, S, "half of what it may use");
    add(8 * S, 3 * S + S / 2, 9 * S + S / 2, 0.5, 8 * S + S / 4);
    cr_expect_eq(load.busy_ns, S + S / 4, "a thread of its links");
    add(9 * S, 7 * S, 9 * S, 0, 0);
    cr_expect_eq(load.busy_ns, 2 * S + S / 4, "never more than passed");
    add(9 * S, 8 * S, 99 * S, 0.1, 99 * S);
    cr_expect_eq(load.busy_ns, 2 * S + S / 4);
}

/* 0.6 s of a second it was held back: what it used of the quota counts, and
 * what it waited for others. */
Test(load, what_a_quota_holds_back_is_no_work)
{
    skn_load_thread_t thread = { 7, S, S };
    skn_load_sample_t sample = {
        .at_ns = S, .quota = 0.4, .threads = &thread, .thread_count = 1
    };
    skn_node_load_add(&load, &sample);
    sample.at_ns += S;
    sample.cpu_ns += S * 3 / 10;
    sample.throttled_ns += S * 6 / 10;
    sample.core_ns += S * 9 / 10;
    thread.ran_ns += S * 3 / 10;
    thread.waited_ns += S * 6 / 10;
    skn_node_load_add(&load, &sample);
    cr_expect_leq(load.busy_ns, S * 3 / 4);
    cr_expect_geq(load.busy_ns, S * 3 / 4 - 1);
    sample.at_ns += S;
    thread.ran_ns += S * 3 / 10;
    thread.waited_ns += S * 7 / 10;
    skn_node_load_add(&load, &sample);
    cr_expect_leq(load.busy_ns, S * 7 / 4, "it waited for others");
    cr_expect_geq(load.busy_ns, S * 7 / 4 - 1);
}

static atomic_bool over;

static void *
spin(void *nothing)
{
    while (!atomic_load(&over))
        continue;
    return nothing;
}

static void *
spin_in_background(void *nothing)
{
    (void)setpriority(PRIO_PROCESS, 0, 19);
    return spin(nothing);
}

Test(load, threads_are_reported_without_those_in_the_background)
{
    pthread_t busy, background;
    skn_load_thread_t first[16], second[16];
    size_t before = skn_load_threads(first, 16); /* Criterion has its own */
    cr_assert_eq(pthread_create(&busy, NULL, spin, NULL), 0);
    cr_assert_eq(pthread_create(&background, NULL, spin_in_background, NULL),
                 0);
    while (skn_load_threads(first, 16) != before + 1)
        continue; /* until the one has become nicer */
    (void)nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    cr_assert_eq(skn_load_threads(second, 16), before + 1);
    uint64_t most = 0;
    for (size_t k = 0; k <= before; k++) {
        cr_expect_eq(first[k].id, second[k].id);
        cr_expect_geq(second[k].ran_ns, first[k].ran_ns);
        cr_expect_geq(second[k].waited_ns, first[k].waited_ns);
        uint64_t used = second[k].ran_ns - first[k].ran_ns +
                        second[k].waited_ns - first[k].waited_ns;
        most = used > most ? used : most;
    }
    cr_expect_gt(most, 100000000, "it ran, or waited for a core");
    cr_expect_eq(skn_load_threads(first, 1), 1, "no more than there is room");
    atomic_store(&over, true);
    (void)pthread_join(busy, NULL);
    (void)pthread_join(background, NULL);
}
