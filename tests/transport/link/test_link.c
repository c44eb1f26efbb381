/* test_link.c - tests states, records, time and counters of a link, and two
 * hundred simulated worlds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/link_pair.h"
#include "transport/link/link_internal.h"
#include "tests/sim/sim_world.h"
#include "transport/link/pace.h"

Test(link, options_out_of_range_are_refused)
{
    static const struct {
        size_t offset;
        size_t value;
        const char *text;
    } cases[] = {
        { offsetof(skn_link_options_t, node_name), 0,
          "link: a node has no name" },
        { offsetof(skn_link_options_t, peer_name), 0,
          "link: a node has no name" },
        { offsetof(skn_link_options_t, incarnation), 0,
          "link: the node has no incarnation" },
        { offsetof(skn_link_options_t, fragment_bytes), 65537,
          "link: fragments of 65537 bytes, at most 65536 allowed" },
        { offsetof(skn_link_options_t, window_bytes), 1073741825,
          "link: a window of 1073741825 bytes, at most 1073741824 allowed" },
        { offsetof(skn_link_options_t, record_bytes_max), 1073741825,
          "link: records of 1073741825 bytes, at most 1073741824 allowed" },
    };
    link_pair_t pair;
    skn_error_t error;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        pair_init(&pair);
        memcpy((char *)&pair.options[0] + cases[k].offset, &cases[k].value, 8);
        cr_expect_null(skn_link_new(&pair.options[0], &error));
        cr_expect_eq(error.status, SKN_BAD_CONFIG);
        cr_expect_str_eq(error.text, cases[k].text);
    }
    pair_init(&pair);
    pair.options[0].peer = 0;
    cr_expect_null(skn_link_new(&pair.options[0], &error));
    cr_expect_str_eq(error.text, "link: node 0 cannot link to itself");
    skn_link_t *none = NULL;
    skn_link_destroy(&none);
}

Test(link, records_travel_both_ways_in_order)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    pair_send(&pair, 0, "before the hello");
    (void)pair_carry(&pair);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_expect_state(&pair, 1, SKN_LINK_LIVE);
    pair_send(&pair, 0, "two");
    pair_send(&pair, 1, "three");
    pair_send(&pair, 0, "four");
    (void)pair_carry(&pair);
    pair_expect(&pair, 1, "before the hello");
    pair_expect(&pair, 1, "two");
    pair_expect(&pair, 1, "four");
    pair_expect(&pair, 1, NULL);
    pair_expect(&pair, 0, "three");
    pair_expect(&pair, 0, NULL);
    pair_close(&pair);
}

Test(link, small_records_travel_together)
{
    link_pair_t pair;
    skn_link_counts_t before, counts;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    skn_link_count(pair.link[0], &before);
    for (int k = 0; k < 100; k++)
        pair_send(&pair, 0, "a few bytes");
    (void)pair_carry(&pair);
    skn_link_count(pair.link[0], &counts);
    cr_expect_eq(counts.fragments_sent - before.fragments_sent, 1);
    cr_expect_eq(counts.body_bytes_sent - before.body_bytes_sent, 1200);
    for (int k = 0; k < 100; k++)
        pair_expect(&pair, 1, "a few bytes");
    pair_close(&pair);
}

Test(link, records_of_no_bytes_or_too_many_are_refused)
{
    link_pair_t pair;
    skn_error_t error;
    pair_init(&pair);
    pair_open(&pair);
    skn_frame_t frames[] = { { "x", (size_t)1 << 30 }, { "x", 1 } };
    cr_expect_eq(skn_link_send(pair.link[0], NULL, 0, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "node 'b': a record of 0 bytes, 1 to "
                                 "1073741824 allowed");
    cr_expect_eq(skn_link_send(pair.link[0], frames, 2, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "node 'b': a record of 1073741825 bytes, 1 to "
                                 "1073741824 allowed");
    frames[0].bytes = frames[1].bytes = SIZE_MAX; /* the sum does not wrap */
    cr_expect_eq(skn_link_send(pair.link[0], frames, 2, NULL), SKN_BAD_MESSAGE);
    cr_expect_eq(skn_link_queued_bytes(pair.link[0]), 0);
    pair_close(&pair);
}

Test(link, a_full_queue_is_busy_until_it_is_acked)
{
    link_pair_t pair;
    skn_error_t error;
    pair_init(&pair);
    pair.options[0].queue_bytes_max = 10;
    pair_open(&pair);
    pair_send(&pair, 0, "0123456789"); /* 11 with its length */
    skn_frame_t frame = { "x", 1 };
    cr_expect_eq(skn_link_send(pair.link[0], &frame, 1, &error), SKN_BUSY);
    cr_expect_str_eq(error.text,
                     "node 'b': 11 bytes are queued, at most 10 allowed");
    pair_pass(&pair, 20 * PAIR_MS); /* the ack may take its 5 ms */
    cr_expect_eq(skn_link_queued_bytes(pair.link[0]), 0);
    pair_send(&pair, 0, "x");
    pair_close(&pair);
}

Test(link, the_end_comes_when_all_is_acked_and_taken)
{
    link_pair_t pair;
    skn_error_t error;
    pair_init(&pair);
    pair_open(&pair);
    pair_send(&pair, 0, "last");
    skn_link_finish(pair.link[0]);
    skn_link_finish(pair.link[0]); /* twice is once */
    skn_frame_t frame = { "x", 1 };
    cr_expect_eq(skn_link_send(pair.link[0], &frame, 1, &error),
                 SKN_UNAVAILABLE);
    cr_expect_str_eq(error.text, "the link to node 'b' is already finished");
    pair_pass(&pair, 20 * PAIR_MS);
    cr_expect_not(skn_link_ended(pair.link[1])); /* not taken yet */
    pair_expect(&pair, 1, "last");
    pair_expect(&pair, 1, NULL);
    cr_expect(skn_link_ended(pair.link[1]));
    pair_send(&pair, 1, "still"); /* the other way goes on */
    skn_link_finish(pair.link[1]);
    pair_pass(&pair, 20 * PAIR_MS);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_expect(&pair, 0, "still");
    pair_expect(&pair, 0, NULL);
    pair_expect_state(&pair, 0, SKN_LINK_DONE);
    pair_expect_state(&pair, 1, SKN_LINK_DONE);
    /* For ever, whatever the silence. */
    pair.deaf[0] = pair.deaf[1] = true;
    pair_pass(&pair, 60 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_DONE);
    cr_expect_eq(skn_link_due_ns(pair.link[0], pair.now_ns), UINT64_MAX);
    pair_close(&pair);
}

Test(link, a_lost_last_ack_is_said_again)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    skn_link_finish(pair.link[0]);
    skn_link_finish(pair.link[1]);
    (void)pair_carry(&pair);
    pair_expect(&pair, 0, NULL);
    pair_expect(&pair, 1, NULL);
    pair.deaf[1] = true;
    pair_pass(&pair, 100 * PAIR_MS);
    pair_expect_state(&pair, 0, SKN_LINK_DONE);
    pair_expect_state(&pair, 1, SKN_LINK_LIVE);
    pair.deaf[1] = false;
    pair_pass(&pair, 3 * PAIR_S);
    pair_expect_state(&pair, 1, SKN_LINK_DONE);
    pair_close(&pair);
}

Test(link, silence_makes_suspect_and_then_dead)
{
    link_pair_t pair;
    skn_link_counts_t counts;
    pair_init(&pair);
    pair.options[1].silence_ns = 60 * PAIR_S;
    pair_open(&pair);
    pair_pass(&pair, 100 * PAIR_MS);
    pair.deaf[0] = true; /* b hears a, but that is of no use to a */
    pair_pass(&pair, 3 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_pass(&pair, PAIR_S + 200 * PAIR_MS);
    pair_expect_state(&pair, 0, SKN_LINK_SUSPECT);
    skn_link_count(pair.link[0], &counts);
    cr_expect_geq(counts.silent_ns, 4 * PAIR_S);
    pair.deaf[0] = false;
    pair_pass(&pair, 1500 * PAIR_MS);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair.deaf[0] = true;
    pair_pass(&pair, 11 * PAIR_S);
    pair_expect_dead(&pair, 0, "node 'b' has not answered for 10.0 s",
                     "check its log and the network, then continue with "
                     "--resume");
    pair_expect_dead(&pair, 1,
                     "node 'a' refused the link: this node did not answer "
                     "for too long",
                     "check its log and the network, then continue with "
                     "--resume");
    pair_close(&pair);
}

Test(link, a_partition_is_no_death_where_silence_may_last)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[0].silence_ns = pair.options[1].silence_ns = UINT64_MAX;
    pair_open(&pair);
    (void)pair_carry(&pair);
    pair_send(&pair, 0, "through the night");
    pair.deaf[0] = pair.deaf[1] = true;
    pair_pass(&pair, 3600 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_SUSPECT);
    pair.deaf[0] = pair.deaf[1] = false;
    pair_pass(&pair, 6 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_expect(&pair, 1, "through the night");
    pair_close(&pair);
}

/* SIGSTOP for a minute: we, not the peer, were silent. */
Test(link, our_own_sleep_is_not_the_peers_silence)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    pair_pass(&pair, 100 * PAIR_MS);
    pair.now_ns += 60 * PAIR_S;
    skn_link_tick(pair.link[0], pair.now_ns);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_pass(&pair, 2 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_close(&pair);
}

Test(link, a_clock_that_goes_back_stands_still)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    pair.now_ns -= 3 * PAIR_S;
    pair_send(&pair, 0, "x");
    (void)pair_carry(&pair);
    pair_expect(&pair, 1, "x");
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_close(&pair);
}

Test(link, a_failure_of_our_own_is_reported)
{
    link_pair_t pair;
    skn_error_t error = { 0 };
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    (void)skn_fail(&error, SKN_BAD_MESSAGE, "message id 77 is unknown");
    cr_expect_null(skn_link_failure(pair.link[0]));
    skn_link_die_of(pair.link[0], SKN_REFUSAL_GAVE_UP, &error);
    (void)pair_carry(&pair);
    pair_expect_dead(&pair, 0, "message id 77 is unknown",
                     "its own log says why");
    pair_expect_dead(&pair, 1, "node 'a' refused the link: it gave up",
                     "its own log says why");
    skn_frame_t frame = { "x", 1 };
    cr_expect_eq(skn_link_send(pair.link[0], &frame, 1, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "message id 77 is unknown");
    pair_close(&pair);
}

Test(link, what_came_before_the_death_can_be_taken)
{
    link_pair_t pair;
    skn_error_t error = { 0 };
    pair_init(&pair);
    pair_open(&pair);
    pair_send(&pair, 0, "one");
    pair_send(&pair, 0, "two");
    (void)pair_carry(&pair);
    (void)skn_fail(&error, SKN_INTERNAL, "x");
    skn_link_die_of(pair.link[1], SKN_REFUSAL_GAVE_UP, &error);
    pair_expect(&pair, 1, "one");
    pair_expect(&pair, 1, "two");
    pair_expect(&pair, 1, NULL);
    pair_expect_state(&pair, 1, SKN_LINK_DEAD);
    pair_close(&pair);
}

Test(link, round_trips_and_counters_are_kept)
{
    link_pair_t pair;
    skn_link_counts_t counts;
    pair_init(&pair);
    pair_open(&pair);
    pair_send(&pair, 0, "12345");
    pair_pass(&pair, 2500 * PAIR_MS);
    pair_expect(&pair, 1, "12345");
    skn_link_count(pair.link[0], &counts);
    cr_expect_eq(counts.records_sent, 1);
    cr_expect_eq(counts.record_bytes_sent, 5);
    cr_expect_eq(counts.connects, 1);
    cr_expect_eq(counts.queue_bytes, 0);
    cr_expect_eq(counts.in_flight_bytes, 0);
    cr_expect_gt(counts.rtt_ns, 0);
    cr_expect_gt(counts.pulse_rtt_ns, 0);
    cr_expect_lt(counts.silent_ns, PAIR_S);
    cr_expect_geq(counts.credit_bytes, ((size_t)8 << 20) - 6);
    cr_expect_eq(counts.fragment_bytes, SKN_FRAGMENT_BYTES_FIRST);
    skn_link_count(pair.link[1], &counts);
    cr_expect_eq(counts.records_taken, 1);
    cr_expect_eq(counts.record_bytes_taken, 5);
    cr_expect_gt(counts.fragments_taken, 4);
    cr_expect_gt(counts.header_bytes_taken, 4 * 40);
    cr_expect_eq(counts.body_bytes_taken % 32, 6); /* hellos, and 1 + 5 */
    pair_close(&pair);
}

Test(link, names_and_sentences_are_in_their_tables)
{
    for (size_t k = 0; k < SKN_LINK_REASON_COUNT; k++) {
        cr_expect(*skn_link_reason_text((skn_link_reason_t)k));
        cr_expect(*skn_link_reason_name((skn_link_reason_t)k));
    }
    cr_expect_null(skn_link_reason_text(SKN_LINK_REASON_COUNT));
    cr_expect_null(skn_link_reason_name(SKN_LINK_REASON_COUNT));
    cr_expect_str_eq(skn_link_reason_name(SKN_LINK_REASON_RUN), "run");
}

Test(link, a_record_of_three_windows_gets_through)
{
    link_pair_t pair;
    skn_frame_t record;
    size_t bytes = 3 << 16;
    char *text = malloc(bytes + 1);
    cr_assert(text);
    memset(text, 'r', bytes);
    text[bytes] = '\0';
    pair_init(&pair);
    pair.options[1].window_bytes = 1 << 16;
    pair_open(&pair);
    pair_send(&pair, 0, text);
    pair_send(&pair, 0, "next");
    for (int k = 0; k < 20 && !skn_link_record(pair.link[1], &record); k++)
        pair_pass(&pair, 10 * PAIR_MS);
    cr_expect_eq(record.bytes, bytes);
    pair_pass(&pair, 10 * PAIR_MS);
    pair_expect(&pair, 1, "next");
    free(text);
    pair_close(&pair);
}

Test(link, two_hundred_false_worlds_come_to_their_ends)
{
    sim_tally_t tally = { 0 };
    for (uint64_t seed = 1000000; seed < 1000200; seed++) {
        const char *wrong = sim_run(seed, false, &tally);
        cr_expect_null(wrong, "sim_link --seed %" PRIu64 ": %s", seed, wrong);
    }
    cr_expect_gt(tally.done, 200);
    cr_expect_gt(tally.resent, 100);
}

/* The same seed gives the same world, to the last fragment. */
Test(link, a_seed_replays)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        sim_tally_t one = { 0 }, two = { 0 };
        (void)sim_run(seed, false, &one);
        (void)sim_run(seed, false, &two);
        cr_expect_eq(memcmp(&one, &two, sizeof(one)), 0);
    }
}
