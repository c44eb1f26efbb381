/* test_system_threads.c - tests the start of many actors' threads at once, and
 * what is left if the system refuses some of what they need.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "tests/support/flow_fixture.h"
#include "tests/support/settle.h"

TestSuite(system_threads, .timeout = 60);

/* So many that helpers start some of them. */
#define ACTORS 50

static flow_t flow;
static skn_error_t error;
static atomic_uint opened[ACTORS];

static skn_status_t
count_open(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    atomic_fetch_add(&opened[skn_actor_index(actor)], 1);
    return SKN_OK;
}
static skn_status_t
finish(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    skn_actor_finish(actor);
    return SKN_OK;
}
static const skn_kind_t opener =
    SKN_KIND(.name = "opener", .options = flow_options, .open = count_open,
             .produce = finish);

Test(system_threads, each_of_many_actors_gets_one_thread)
{
    flow_actors(&flow, &opener, ACTORS, 0, 0);
    for (uint32_t round = 1; round <= 20; round++) {
        cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
        for (int k = 0; k < ACTORS; k++)
            cr_assert_eq(atomic_load(&opened[k]), round, "actor %d", k);
    }
}

/* The number that the next descriptor gets: all below it are in use. */
static rlim_t
next_descriptor(void)
{
    int next = fcntl(0, F_DUPFD_CLOEXEC, 0);
    (void)close(next);
    return (rlim_t)next;
}

/* Each start has room for a few more descriptors than the one before, from none
 * to enough. */
Test(system_threads, without_descriptors_a_start_is_refused_and_leaves_nothing)
{
    struct rlimit limit;
    uint32_t refused = 0, started = 0;
    flow_actors(&flow, &opener, ACTORS, 0, 0);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    size_t threads = settle_stable(SETTLE_THREADS);
    size_t descriptors = settle_stable(SETTLE_DESCRIPTORS);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (rlim_t more = 0; more <= 2 * ACTORS + 14; more += 7) {
        (void)settle_at_most(SETTLE_DESCRIPTORS, descriptors);
        skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
        cr_assert(system, "%s", error.text);
        struct rlimit low = { next_descriptor() + more, limit.rlim_max };
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
        skn_status_t status = skn_system_start(system, NULL, NULL, &error);
        if (status == SKN_OK) {
            status = skn_system_wait(system, &error);
            cr_expect_eq(status, SKN_OK, "%s", error.text);
            started++;
        } else {
            cr_expect_eq(status, SKN_NO_MEMORY, "%s", error.text);
            cr_expect_str_eq(error.text, "cannot create a ZeroMQ socket: Too "
                                         "many open files");
            refused++;
        }
        skn_system_destroy(&system);
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    cr_expect(started > 0 && refused > 0, "%u, %u", started, refused);
    cr_expect_eq(settle_at_most(SETTLE_THREADS, threads), threads);
}
