/* test_balance.c - tests when, how far and how often rows are dealt by measured
 * speed. Covers topology/elastic/balance.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "topology/elastic/balance.h"

enum {
    NODES = 4
};
#define ALL ((uint64_t)15)
#define S 1000000000u

/* A false run: nodes whose cores are as fast as we say, whose rows are dealt by
 * the speeds that the balance has, and who wait for the slowest. */
typedef struct world {
    skn_balance_t *balance;
    double truth[NODES]; /* rows a second of a core */
    double
        fixed[NODES]; /* of a batch, whatever its rows: seconds, at speed 1 */
    double busy_us[NODES];
    uint32_t cores[NODES];
    uint64_t set, now_ns;
    double batches;
    uint32_t moves;
    uint64_t out; /* for whose sake the last move was, and until when */
    uint64_t back_ns;
    double lonely; /* what a batch takes longer with fewer nodes, in fact */
    double noise;  /* of a second's load, up and down */
    uint32_t random;
} world_t;

static world_t world;

static void
set_up(void)
{
    static const double speeds[NODES] = { 1, 1, 1, 1 };
    world = (world_t){ .set = ALL, .random = 1 };
    for (uint32_t n = 0; n < NODES; n++) {
        world.truth[n] = 1;
        world.cores[n] = 1;
    }
    world.balance = skn_balance_new(NODES, 1, world.cores, speeds, NULL);
    cr_assert_not_null(world.balance);
    skn_balance_begin(world.balance, world.set, world.now_ns);
}

static void
tear_down(void)
{
    skn_balance_destroy(&world.balance);
    cr_assert_null(world.balance);
}

TestSuite(balance, .init = set_up, .fini = tear_down);

static bool
in(uint32_t node)
{
    return (world.set >> node & 1) != 0;
}

/* Seconds of a batch that a node has work in hand. */
static double
work(uint32_t node)
{
    double rows = skn_balance_speed(world.balance, node), all = 0;
    for (uint32_t n = 0; n < NODES; n++)
        if (in(n))
            all += skn_balance_speed(world.balance, n) * world.cores[n];
    return (rows / all + world.fixed[node]) / world.truth[node];
}

static double
batch_s(void)
{
    double most = 0;
    for (uint32_t n = 0; n < NODES; n++)
        if (in(n))
            most = fmax(most, work(n));
    return world.set == ALL ? most : most + world.lonely;
}

static double
noise(void)
{
    world.random = world.random * 1664525 + 1013904223;
    return 1 + world.noise * ((double)(world.random >> 8) / (1 << 23) - 1);
}

/* Runs for so many seconds; whoever is due is dealt anew at once. */
static void
run(uint32_t seconds)
{
    for (uint32_t k = 0; k < seconds; k++) {
        if (world.out && world.now_ns >= world.back_ns) {
            world.set |= world.out;
            world.out = 0;
            skn_balance_begin(world.balance, world.set, world.now_ns);
        }
        double whole_s = batch_s();
        world.now_ns += S;
        world.batches += 1000 / whole_s;
        for (uint32_t n = 0; n < NODES; n++) {
            if (!in(n))
                continue;
            world.busy_us[n] += fmin(work(n) / whole_s * noise(), 1) * 1e6;
            skn_balance_load(world.balance, n, (uint64_t)world.busy_us[n],
                             world.now_ns / 1000, (uint64_t)world.batches);
        }
        skn_balance_verdict_t verdict =
            skn_balance_due(world.balance, world.now_ns);
        if (verdict.kind == SKN_BALANCE_GO_ON)
            continue;
        world.moves++;
        if (verdict.kind == SKN_BALANCE_TAKE_BACK)
            world.back_ns = world.now_ns;
        if (verdict.kind == SKN_BALANCE_LEAVE_OUT) {
            world.out |= (uint64_t)1 << verdict.node;
            world.set &= ~((uint64_t)1 << verdict.node);
            world.back_ns = world.now_ns + verdict.for_ms * 1000000;
        }
        skn_balance_begin(world.balance, world.set, world.now_ns);
    }
}

static double
share_of_best(void)
{
    double all = 0;
    for (uint32_t n = 0; n < NODES; n++)
        if (in(n))
            all += world.truth[n] * world.cores[n];
    return 1 / all / batch_s();
}

Test(balance, equal_nodes_stay_as_they_are)
{
    run(3600);
    cr_expect_eq(world.moves, 0);
    cr_expect_lt(skn_balance_gain(world.balance), 0.01);
}

/* "Done when" 4 of what users are promised: one of four at a quarter of the
 * others' speed; 85% of what all can do together, within 30 s. */
Test(balance, one_slow_node_of_four_is_relieved_in_time)
{
    world.truth[2] = 0.25;
    run(4);
    cr_expect_lt(share_of_best(), 0.35);
    run(16);
    cr_expect_eq(world.moves, 1);
    cr_expect_gt(share_of_best(), 0.97);
    cr_expect_float_eq(skn_balance_speed(world.balance, 2) /
                           skn_balance_speed(world.balance, 0),
                       0.25, 0.01);
    run(3600);
    cr_expect_eq(world.moves, 1, "and that was it");
}

Test(balance, cores_are_counted)
{
    skn_balance_destroy(&world.balance);
    world.cores[1] = 8;
    world.truth[1] = 0.5;
    world.balance = skn_balance_new(NODES, 1, world.cores,
                                    (const double[]){ 1, 1, 1, 1 }, NULL);
    skn_balance_begin(world.balance, ALL, 0);
    run(150);
    cr_expect_gt(share_of_best(), 0.97);
    cr_expect_float_eq(skn_balance_speed(world.balance, 1) /
                           skn_balance_speed(world.balance, 0),
                       0.5, 0.02);
}

Test(balance, a_small_gain_must_last)
{
    world.truth[0] = 0.8;
    run(55);
    cr_expect_eq(world.moves, 0);
    run(20);
    cr_expect_eq(world.moves, 1);
    cr_expect_gt(share_of_best(), 0.97);
}

Test(balance, less_than_a_twentieth_is_not_worth_it)
{
    world.truth[0] = 0.96;
    run(3600);
    cr_expect_eq(world.moves, 0);
}

Test(balance, noise_moves_nothing)
{
    world.noise = 0.08;
    run(3600);
    cr_expect_eq(world.moves, 0);
}

/* A machine that is needed every other half minute. */
Test(balance, a_node_that_comes_and_goes_does_not_make_it_flutter)
{
    for (uint32_t seconds = 30; seconds <= 120; seconds += 90) {
        tear_down();
        set_up();
        for (uint32_t k = 0; k < 3600 / seconds; k++) {
            world.truth[3] = k % 2 ? 1 : 0.25;
            run(seconds);
        }
        cr_expect_leq(world.moves, 12, "%u moves in an hour of every %u s",
                      world.moves, seconds);
    }
}

/* Work that no rows go with cannot be moved: it is not tried for ever. */
Test(balance, what_cannot_be_moved_is_tried_ever_less)
{
    world.truth[1] = 0.1;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.3;
    run(7200);
    cr_expect_leq(world.moves, 16, "%u moves in two hours", world.moves);
    cr_expect_geq(world.moves, 1);
}

/* At a tenth of the speed even no rows at all take it 1.5 times as long as the
 * others need for all of them. */
Test(balance, a_node_that_only_holds_the_others_up_is_left_out)
{
    world.truth[1] = 0.1;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.06;
    run(16);
    cr_expect_eq(world.moves, 1, "rows are moved first");
    cr_expect_eq(world.out, 0);
    run(14);
    cr_expect_eq(world.out, 2, "within 30 s");
    cr_expect_float_eq(batch_s(), 1.0 / 3 + 0.06, 0.01);
    double best = world.batches, wasted = 0;
    run(4 * 3600); /* it is tried again, and not too often */
    best = (world.batches - best) / 1000 * (1.0 / 3 + 0.06);
    wasted = 1 - best / (4 * 3600);
    cr_expect_lt(wasted, 0.03, "%.3f of the time", wasted);
    cr_expect_geq(world.moves, 4);
    world.truth[1] = 1; /* its owner has gone home */
    run(2 * 3600);
    cr_expect_eq(world.out, 0);
    cr_expect_float_eq(batch_s(), 0.25 + 0.06, 0.02);
}

/* All that a batch costs is fixed, and its machine is a little slower when it
 * has fewer rows: that is no reason to give it fewer still. */
Test(balance, a_node_that_gains_nothing_by_fewer_rows_is_left_out)
{
    world.truth[1] = 0.1;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.1;
    run(16);
    cr_expect_eq(world.moves, 1);
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.4;
    run(14);
    cr_expect_eq(world.out, 2);
}

/* What was hoped for does not come: it is taken back, and that was it. */
Test(balance, a_node_that_was_of_use_takes_part_again)
{
    world.truth[1] = 0.1;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.06;
    world.lonely = 1;
    run(120);
    cr_expect_eq(world.out, 0);
    cr_expect_leq(world.moves, 5, "%u", world.moves);
    run(3600);
    cr_expect_eq(world.set, ALL);
}

Test(balance, a_node_that_is_needed_is_not_left_out)
{
    skn_balance_need(world.balance, 1);
    world.truth[1] = 0.1;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.06;
    run(3600);
    cr_expect_eq(world.out, 0);
    tear_down();
    set_up();
    skn_balance_destroy(&world.balance);
    world.balance = skn_balance_new(NODES, NODES, world.cores,
                                    (const double[]){ 1, 1, 1, 1 }, NULL);
    skn_balance_begin(world.balance, ALL, 0);
    world.truth[1] = 0.1;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.06;
    run(3600);
    cr_expect_eq(world.out, 0, "at least so many are to train");
}

/* A quarter of the speed with little work beside its rows is worth having. */
Test(balance, a_node_that_helps_though_slow_is_not_left_out)
{
    world.truth[2] = 0.25;
    for (uint32_t n = 0; n < NODES; n++)
        world.fixed[n] = 0.02;
    run(3600);
    cr_expect_eq(world.out, 0);
    cr_expect_gt(world.moves, 0);
    cr_expect_lt(batch_s(), (1 + 0.02 * 4) / 3.25 * 1.1);
}

Test(balance, no_speed_changes_by_more_than_eight_times_in_a_move)
{
    world.truth[1] = 0.01;
    run(15);
    cr_expect_eq(world.moves, 1);
    cr_expect_float_eq(skn_balance_speed(world.balance, 0) /
                           skn_balance_speed(world.balance, 1),
                       8, 0.01);
}

Test(balance, a_node_that_joins_counts_as_the_mean)
{
    world.set = 7; /* without the last */
    world.truth[0] = 4;
    world.truth[1] = 0.5;
    world.truth[2] = 1.5;
    skn_balance_begin(world.balance, world.set, 0);
    run(120);
    double mean = 0;
    for (uint32_t n = 0; n < 3; n++)
        mean += skn_balance_speed(world.balance, n) / 3;
    cr_expect_float_eq(mean, 1, 1e-6);
    cr_expect_eq(skn_balance_speed(world.balance, 3), 1);
}

Test(balance, a_run_that_waits_for_its_links_gains_nothing)
{
    static const double busy[NODES] = { 0.05, 0.02, 0.03, 0.07 };
    for (int k = 1; k < 600; k++) {
        for (uint32_t n = 0; n < NODES; n++)
            skn_balance_load(world.balance, n, (uint64_t)(busy[n] * k * 1e6),
                             (uint64_t)k * 1000000, (uint64_t)k);
        cr_assert_eq(
            skn_balance_due(world.balance, (uint64_t)k * (uint64_t)S).kind,
            SKN_BALANCE_GO_ON);
    }
    cr_expect_float_eq(skn_balance_busy(world.balance, 3), 0.07, 0.01);
}

Test(balance, nothing_is_known_before_all_have_reported)
{
    world.truth[2] = 0.25;
    for (int k = 1; k < 100; k++) {
        for (uint32_t n = 0; n < 3; n++) /* node 3 is silent */
            skn_balance_load(world.balance, n, (uint64_t)k * 1000,
                             (uint64_t)k * 1000000, (uint64_t)k);
        cr_assert_eq(
            skn_balance_due(world.balance, (uint64_t)k * (uint64_t)S).kind,
            SKN_BALANCE_GO_ON);
    }
    cr_expect_eq(skn_balance_busy(world.balance, 2), -1);
}

/* What a peer says may be anything. */
Test(balance, nonsense_is_taken_without_harm)
{
    skn_balance_load(world.balance, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    skn_balance_load(world.balance, 0, 5, 1, 1);
    skn_balance_load(world.balance, 1, 0, 0, 0);
    skn_balance_load(world.balance, 77, 1, 1, 1);
    for (int k = 1; k < 60; k++) {
        for (uint32_t n = 1; n < NODES; n++)
            skn_balance_load(world.balance, n, UINT64_MAX - 100 + (uint64_t)k,
                             (uint64_t)k * 1000000,
                             k % 2 ? UINT64_MAX : (uint64_t)k);
        (void)skn_balance_due(world.balance, (uint64_t)k * (uint64_t)S);
        for (uint32_t n = 0; n < NODES; n++)
            cr_assert(isfinite(skn_balance_speed(world.balance, n)));
    }
    cr_expect_eq(skn_balance_speed(world.balance, 0), 1);
}

Test(balance, shares_go_by_cores_and_speed)
{
    cr_expect_float_eq(skn_balance_share(world.balance, ALL, 0), 0.25, 1e-12);
    skn_balance_destroy(&world.balance);
    world.balance = skn_balance_new(NODES, 1, world.cores,
                                    (const double[]){ 1, 1, 2, 1 }, NULL);
    cr_assert(world.balance);
    cr_expect_float_eq(skn_balance_share(world.balance, ALL, 2), 0.4, 1e-12);
    cr_expect_float_eq(skn_balance_share(world.balance, 6, 2), 2.0 / 3, 1e-12);
    cr_expect_eq(skn_balance_share(world.balance, 0, 2), 0);
}

Test(balance, a_single_node_cannot_give_rows_to_others)
{
    world.set = 2;
    skn_balance_begin(world.balance, 2, 0);
    run(600);
    cr_expect_eq(world.moves, 0);
    cr_expect_null(skn_balance_new(0, 0, world.cores, world.truth, NULL));
    cr_expect_null(skn_balance_new(65, 1, world.cores, world.truth, NULL));
}
