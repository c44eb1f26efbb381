/* test_link_rate.c - tests how well a link fills a slow wire, in simulated
 * time.
 *
 * Two links of transport/link/link.h and a wire of a given rate and delay
 * without faults; the sender's lane takes half a second's worth, like a socket.
 * Covers transport/link/pace.c in the cases that matter: nothing is sent twice,
 * fragments fit the wire, and the wire is busy.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "tests/sim/sim_world.h"

typedef struct wire {
    double bytes_per_second;
    uint64_t round_trip_ns;
    size_t record_bytes;
    unsigned record_count;
    bool both_ways;
} wire_t;

typedef struct outcome {
    uint64_t elapsed_ns;
    double share; /* of the wire's rate, in records' bytes */
    skn_link_counts_t counts;
} outcome_t;

static outcome_t
run_wire(const wire_t *wire)
{
    static sim_world_t world;
    outcome_t outcome = { 0 };
    sim_open(&world, 1, false);
    for (unsigned k = 0; k < 2; k++) {
        skn_link_options_t *options = &world.node[k].options;
        options->fragment_bytes = 0;
        options->ack_delay_ns = 0;
        options->queue_bytes_max = 16 << 20;
        options->window_bytes = 8 << 20;
        options->silence_ns = 0;
        options->config_hash = 1;
        memset(options->run, 7, sizeof(options->run));
        sim_start(&world, k);
        world.node[k].wanted =
            k == 0 || wire->both_ways ? wire->record_count : 0;
    }
    world.drop = world.twice = world.late = world.garbage = 0;
    world.cut = world.dark = world.pause = world.slow = 0;
    world.restart_ns = 0;
    world.misfit = 0;
    world.fault_ns = world.heal_ns = UINT64_MAX;
    world.end_ns = world.now_ns + 3600 * SIM_S;
    world.delay_ns = wire->round_trip_ns / 2;
    world.jitter_ns = 0;
    world.buffer_ns = SIM_S / 2;
    world.bytes_per_ns = wire->bytes_per_second / 1e9;
    world.record_max = (uint32_t)wire->record_bytes;
    uint64_t start_ns = world.now_ns;
    while (!world.wrong && !sim_is_over(&world) && world.now_ns < world.end_ns)
        sim_step(&world);
    cr_expect_null(world.wrong, "%s", world.wrong);
    cr_expect_eq(skn_link_state(world.node[0].link), SKN_LINK_DONE);
    skn_link_count(world.node[1].link, &outcome.counts);
    uint64_t taken = outcome.counts.record_bytes_taken;
    skn_link_count(world.node[0].link, &outcome.counts);
    outcome.elapsed_ns = world.now_ns - start_ns;
    outcome.share = (double)taken / ((double)outcome.elapsed_ns / 1e9) /
                    wire->bytes_per_second;
    sim_close(&world);
    return outcome;
}

static void
expect_filled(const wire_t *wire, double least)
{
    outcome_t outcome = run_wire(wire);
    const skn_link_counts_t *counts = &outcome.counts;
    cr_expect(outcome.share >= least && counts->resent_bytes == 0 &&
                  counts->timeouts == 0,
              "%.0f bytes/s, %.1f ms, %s: share %.3f (want %.2f) in %.2f s, "
              "rate %" PRIu64 ", sent twice %" PRIu64 ", timeouts %" PRIu64,
              wire->bytes_per_second, (double)wire->round_trip_ns / 1e6,
              wire->both_ways ? "both ways" : "one way", outcome.share, least,
              (double)outcome.elapsed_ns / 1e9, counts->bytes_per_second,
              counts->resent_bytes, counts->timeouts);
    cr_expect_leq((double)counts->fragment_bytes,
                  wire->bytes_per_second * 0.75 + SKN_FRAGMENT_BYTES_MIN);
}

/* What fills the wire for some seconds, start and last acks included. */
static void
expect_rates(double rate, bool both_ways, double least, double least_far)
{
    static const uint64_t trips_ns[] = { SIM_MS / 5, 20 * SIM_MS,
                                         100 * SIM_MS };
    for (size_t k = 0; k < 3; k++) {
        wire_t wire = {
            .bytes_per_second = rate,
            .round_trip_ns = trips_ns[k],
            .record_bytes = 1 << 17,
            .record_count = rate > 1e7 ? 600 : (unsigned)(rate / 8e3),
            .both_ways = both_ways,
        };
        expect_filled(&wire, k < 2 ? least : least_far);
    }
}

Test(link_rate, a_wire_of_256_kbit_is_filled)
{
    expect_rates(32e3, false, 0.9, 0.85);
    expect_rates(32e3, true, 0.85, 0.8);
}

Test(link_rate, a_wire_of_1_mbit_is_filled)
{
    expect_rates(125e3, false, 0.95, 0.9);
    expect_rates(125e3, true, 0.95, 0.85);
}

Test(link_rate, a_wire_of_10_mbit_is_filled)
{
    expect_rates(1.25e6, false, 0.95, 0.9);
    expect_rates(1.25e6, true, 0.9, 0.75);
}

Test(link_rate, a_wire_of_100_mbit_is_filled)
{
    expect_rates(12.5e6, false, 0.9, 0.7);
    expect_rates(12.5e6, true, 0.8, 0.6);
}

Test(link_rate, a_wire_of_1_gbit_is_filled)
{
    /* 40 MB last a third of a second: at 100 ms that is all start. */
    expect_rates(125e6, false, 0.6, 0.15);
    expect_rates(125e6, true, 0.55, 0.15);
}
