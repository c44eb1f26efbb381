/* test_verdict.c - tests the sentence that names the bottleneck, for figures of
 * such runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "topology/host/verdict.h"

TestSuite(verdict, .timeout = 60);

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static skn_actor_figures_t actors[2][4];
static skn_link_figures_t links[2];
static skn_figures_t nodes[2];
static const skn_figures_t *const both[] = { &nodes[0], &nodes[1] };

/* 10 s on two cores, four actors that do little, one handler each. */
static void
quiet_node(size_t n)
{
    static const char *const names[] = { "source", "embedding.0", "output.0",
                                         "keeper" };
    static const char *const kinds[] = { "source", "embedding", "output",
                                         "keeper" };
    nodes[n] = (skn_figures_t){ .run_ns = 10 * SECOND,
                                .units = 2,
                                .others_known = true,
                                .actors = actors[n],
                                .actor_count = 4 };
    for (size_t k = 0; k < 4; k++) {
        skn_actor_figures_t *actor = &actors[n][k];
        *actor = (skn_actor_figures_t){ .core = -1,
                                        .busy_ns = SECOND / 2,
                                        .ran_ns = SECOND / 2,
                                        .handler_count = 1 };
        (void)snprintf(actor->name, sizeof(actor->name), "%s", names[k]);
        (void)snprintf(actor->kind, sizeof(actor->kind), "%s", kinds[k]);
        actor->handler[0] = (skn_handler_figures_t){ .message = "batch",
                                                     .count = 100,
                                                     .sum_ns = SECOND / 2,
                                                     .p50_ns = 5 * MS };
        actor->wakeups = 100;
    }
}

static void
work(skn_actor_figures_t *actor, uint64_t busy_ns, uint64_t queued_ns)
{
    actor->busy_ns = busy_ns + queued_ns;
    actor->ran_ns = busy_ns;
    actor->queued_ns = queued_ns;
    actor->handler[0].sum_ns = busy_ns;
}

static bool one_machine;

static void
expect_bound(size_t count, skn_bound_t bound, const char *named)
{
    skn_verdict_t verdict = { 0 };
    skn_verdict_find(both, count, one_machine, &verdict);
    cr_expect_eq(verdict.bound, bound, "%s", verdict.text);
    cr_expect(strstr(verdict.text, named), "%s", verdict.text);
    cr_expect_eq(strncmp(verdict.text, "bound by ", 9), 0);
    cr_expect(verdict.cost >= 0 && verdict.cost <= 1, "%d permille",
              (int)(1000 * verdict.cost));
}

Test(verdict, a_slow_actor)
{
    quiet_node(0);
    work(&actors[0][2], 9 * SECOND, 0);
    expect_bound(1, SKN_BOUND_ACTOR,
                 "the actor output.0 (output), which works 90% of the run, "
                 "mostly in its handler of 'batch'");
    /* Some of others' load, as there always is, changes nothing. */
    work(&actors[0][2], 7 * SECOND, 2 * SECOND);
    nodes[0].others_ns = 6 * SECOND;
    expect_bound(1, SKN_BOUND_ACTOR, "output.0");
    /* One that sleeps in its handler is as slow as one that computes. */
    work(&actors[0][2], SECOND, 0);
    actors[0][2].busy_ns = 9 * SECOND;
    expect_bound(1, SKN_BOUND_ACTOR, "output.0");
}

Test(verdict, reading)
{
    quiet_node(0);
    work(&actors[0][0], 8 * SECOND, 0);
    expect_bound(1, SKN_BOUND_READING, "reading the data (source works 80%");
    quiet_node(0);
    actors[0][0].busy_ns = actors[0][0].open_ns = 6 * SECOND;
    expect_bound(1, SKN_BOUND_READING,
                 "the actor source, whose start takes 60%");
    quiet_node(0);
    nodes[0].prepare_ns = 30 * SECOND;
    expect_bound(1, SKN_BOUND_READING, "before the run (75% of the whole)");
}

Test(verdict, a_slow_start)
{
    quiet_node(0);
    actors[0][2].busy_ns = actors[0][2].open_ns = 6 * SECOND;
    expect_bound(1, SKN_BOUND_START,
                 "the actor output.0, whose start takes 60%");
}

Test(verdict, scarce_credit)
{
    quiet_node(0);
    work(&actors[0][1], 4 * SECOND, 0);
    work(&actors[0][2], 4 * SECOND, 0);
    actors[0][1].full_ns = 5 * SECOND;
    actors[0][1].full_credit = 1;
    (void)snprintf(actors[0][1].full_message, 16, "activation");
    (void)snprintf(actors[0][1].full_receiver, 16, "output.0");
    expect_bound(1, SKN_BOUND_CREDIT,
                 "the credit of activation from embedding.0 to output.0, 1");
    /* Not where the receiver is what is slow. */
    work(&actors[0][2], 9 * SECOND, 0);
    actors[0][1].full_ns = 9 * SECOND;
    expect_bound(1, SKN_BOUND_ACTOR, "output.0");
}

Test(verdict, messages_that_are_too_small)
{
    quiet_node(0);
    for (size_t k = 0; k < 4; k++) {
        work(&actors[0][k], 2 * SECOND, 0);
        actors[0][k].ran_ns = 3 * SECOND;
        actors[0][k].handler[0].count = 150000;
    }
    expect_bound(1, SKN_BOUND_BATCHES,
                 "(600000 were handled in 13 us each, and 33% of the CPU time "
                 "went into passing them)");
}

Test(verdict, one_core_too_few)
{
    quiet_node(0);
    nodes[0].units = 1;
    for (size_t k = 0; k < 4; k++) {
        actors[0][k].core = 0;
        work(&actors[0][k], 24 * SECOND / 10, 6 * SECOND);
    }
    expect_bound(1, SKN_BOUND_CORES,
                 "(4 actors keep 1 core busy 96% of the run, none of "
                 "them more than 24%)");
    /* Nobody is bound: the same. */
    for (size_t k = 0; k < 4; k++)
        actors[0][k].core = -1;
    expect_bound(1, SKN_BOUND_CORES, "too few cores");
    /* Busy, and nobody waits: another core would change little. */
    for (size_t k = 0; k < 4; k++)
        work(&actors[0][k], 24 * SECOND / 10, SECOND / 2);
    expect_bound(1, SKN_BOUND_READING, "(source works 24% of the run)");
}

Test(verdict, the_load_of_others)
{
    quiet_node(0);
    work(&actors[0][2], 3 * SECOND, 6 * SECOND);
    nodes[0].others_ns = 15 * SECOND;
    expect_bound(1, SKN_BOUND_OTHERS,
                 "other programs on its cores (of 2 cores they took 75%");
    nodes[0].others_known = false;
    expect_bound(1, SKN_BOUND_OTHERS, "other programs");
    /* Nobody else was there. */
    nodes[0].others_known = true;
    nodes[0].others_ns = 0;
    expect_bound(1, SKN_BOUND_ACTOR, "output.0");
}

Test(verdict, a_quota)
{
    quiet_node(0);
    work(&actors[0][2], 45 * SECOND / 10, 5 * SECOND);
    nodes[0].quota_milli = 500;
    nodes[0].throttled_ns = 5 * SECOND;
    nodes[0].cpu_ns = 5 * SECOND;
    expect_bound(1, SKN_BOUND_QUOTA, "(0.50 cores; it was held back 50%");
}

Test(verdict, checkpoints)
{
    quiet_node(0);
    nodes[0].saves = 200;
    nodes[0].saving_ns = 7 * SECOND;
    expect_bound(1, SKN_BOUND_CHECKPOINTS,
                 "frequent checkpoints (200 of them took 70% of the run, 0.03 "
                 "s each)");
    nodes[0].saves = 7;
    actors[0][3].busy_ns = 7 * SECOND;
    expect_bound(1, SKN_BOUND_DISK, "the disk that checkpoints are written to");
}

static void
two_nodes(void)
{
    for (size_t n = 0; n < 2; n++) {
        quiet_node(n);
        nodes[n].node[0] = (char)('a' + n);
        nodes[n].links = &links[n];
        nodes[n].link_count = 1;
        links[n] = (skn_link_figures_t){ .bytes_sent = 1000000,
                                         .rtt_ns = 300000,
                                         .rtt_min_ns = 200000 };
        links[n].peer[0] = (char)('b' - n);
        actors[n][2].remote_ns = 8 * SECOND;
    }
}

Test(verdict, a_thin_link)
{
    two_nodes();
    links[1].bytes_sent = 2000000;
    links[0].rtt_ns = links[1].rtt_ns = 300 * MS;
    expect_bound(2, SKN_BOUND_RATE, "the link from ");
    /* A node alone knows it, too. */
    expect_bound(1, SKN_BOUND_RATE, "the link from a to b");
    /* A checkpoint that comes over the link waits for that, not for a disk. */
    nodes[0].saves = 1;
    nodes[0].saving_ns = 9 * SECOND;
    actors[0][3].remote_ns = 9 * SECOND;
    expect_bound(1, SKN_BOUND_RATE, "the link from a to b");
    /* The rate may be one that was set. */
    links[0].rtt_ns = 300000;
    nodes[0].capped_ns = 7 * SECOND;
    expect_bound(1, SKN_BOUND_RATE, "the rate that was set");
}

Test(verdict, a_link_that_is_long)
{
    two_nodes();
    for (size_t n = 0; n < 2; n++)
        links[n].rtt_ns = links[n].rtt_min_ns = 101 * MS;
    expect_bound(2, SKN_BOUND_LATENCY, "a round trip of 101 ms");
}

Test(verdict, a_slow_node)
{
    two_nodes();
    nodes[1].core_busy_ns = 95 * SECOND / 10;
    nodes[0].core_busy_ns = 3 * SECOND;
    expect_bound(2, SKN_BOUND_NODE, "node b, the slowest one");
    one_machine = true;
    expect_bound(2, SKN_BOUND_READING, "source of node a");
}

Test(verdict, too_short_a_run)
{
    quiet_node(0);
    nodes[0].run_ns = MS;
    expect_bound(1, SKN_BOUND_NONE, "nothing that was measured");
    expect_bound(0, SKN_BOUND_NONE, "nothing that was measured");
}

Test(verdict, what_comes_next_is_named_too)
{
    skn_verdict_t verdict = { 0 };
    quiet_node(0);
    work(&actors[0][2], 6 * SECOND, 0);
    nodes[0].saves = 200;
    nodes[0].saving_ns = 4 * SECOND;
    skn_verdict_find(both, 1, false, &verdict);
    cr_expect_eq(verdict.bound, SKN_BOUND_ACTOR);
    cr_expect(strstr(verdict.text, "; then by frequent checkpoints (200"), "%s",
              verdict.text);
    cr_expect_str_eq(skn_bound_word(verdict.bound), "actor");
}
