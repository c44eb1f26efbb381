/* test_link_lanes.c - tests the order in which a link sends, and what it
 * refuses.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "tests/support/link_pair.h"
#include "transport/link/link_internal.h"

/* Node 0 takes `header` with `body`, as if from node 1; counted under `want`
 * (COUNT: used). */
static void
expect_taken(link_pair_t *pair, const skn_fragment_header_t *header,
             skn_frame_t body, skn_link_reason_t want)
{
    uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX];
    skn_link_counts_t before, after;
    skn_link_count(pair->link[0], &before);
    size_t count = skn_fragment_write(header, bytes);
    skn_status_t status = skn_link_take(
        pair->link[0], pair->now_ns, (skn_frame_t){ bytes, count }, body, NULL);
    skn_link_count(pair->link[0], &after);
    for (size_t k = 0; k < SKN_LINK_REASON_COUNT; k++)
        cr_expect_eq(after.refused[k] - before.refused[k], k == want,
                     "reason %s", skn_link_reason_name((skn_link_reason_t)k));
    cr_expect_eq(status,
                 want == SKN_LINK_REASON_COUNT ? SKN_OK : SKN_BAD_MESSAGE);
    cr_expect_eq(after.fragments_taken - before.fragments_taken,
                 want == SKN_LINK_REASON_COUNT);
}

static skn_fragment_header_t
header_of(skn_fragment_type_t type)
{
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = type,
        .node = 1,
        .incarnation = 101,
        .peer = 100,
    };
    memset(header.run, 7, sizeof(header.run));
    return header;
}

Test(link_lanes, everything_that_does_not_belong_is_refused_by_its_reason)
{
    link_pair_t pair;
    const skn_frame_t none = { NULL, 0 }, one = { "x", 1 };
    pair_init(&pair);
    pair.options[0].window_bytes = 100;
    pair_start(&pair, 0);
    skn_fragment_header_t header = header_of(SKN_FRAGMENT_DATA);
    expect_taken(&pair, &header, one, SKN_LINK_REASON_EARLY);
    pair_start(&pair, 1);
    (void)pair_carry(&pair);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    header.node = 2;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_NODE);
    header = header_of(SKN_FRAGMENT_DATA);
    header.run[15]++;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_RUN);
    header = header_of(SKN_FRAGMENT_DATA);
    header.incarnation++;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_INCARNATION);
    header = header_of(SKN_FRAGMENT_DATA);
    header.peer++;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_INCARNATION);
    header.peer = 0;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_INCARNATION);
    header = header_of(SKN_FRAGMENT_ACK);
    header.ack = 1;
    expect_taken(&pair, &header, none, SKN_LINK_REASON_ACK);
    header.ack = 0;
    header.held = 1;
    expect_taken(&pair, &header, none, SKN_LINK_REASON_ACK);
    header = header_of(SKN_FRAGMENT_DATA);
    header.offset = 100;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_CREDIT);
    header.offset = 99;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_COUNT);
    expect_taken(&pair, &header, none, SKN_LINK_REASON_BODY);
    header.version++;
    expect_taken(&pair, &header, one, SKN_LINK_REASON_VERSION);
    header = header_of((skn_fragment_type_t)99);
    expect_taken(&pair, &header, none, SKN_LINK_REASON_TYPE);
    header = header_of(SKN_FRAGMENT_ACK);
    header.incarnation = 0;
    expect_taken(&pair, &header, none, SKN_LINK_REASON_HEADER);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_INTERNAL, "x");
    skn_link_die_of(pair.link[0], SKN_REFUSAL_GAVE_UP, &error);
    header = header_of(SKN_FRAGMENT_ACK);
    expect_taken(&pair, &header, none, SKN_LINK_REASON_DEAD);
    pair_close(&pair);
}

Test(link_lanes, more_gaps_than_can_be_kept_are_refused)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    skn_fragment_header_t header = header_of(SKN_FRAGMENT_DATA);
    for (uint64_t k = 0; k < 256; k++) {
        header.offset = 10 + 2 * k;
        expect_taken(&pair, &header, (skn_frame_t){ "x", 1 },
                     SKN_LINK_REASON_COUNT);
    }
    header.offset += 2;
    expect_taken(&pair, &header, (skn_frame_t){ "x", 1 }, SKN_LINK_REASON_GAPS);
    pair_close(&pair);
}

Test(link_lanes, a_record_that_cannot_be_ends_the_link_at_both_ends)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[0].record_bytes_max = 9;
    pair_open(&pair);
    (void)pair_carry(&pair);
    pair_send(&pair, 1, "0123456789");
    (void)pair_carry(&pair);
    pair_expect_dead(&pair, 0,
                     "node 'b': a record of 10 bytes, at most 9 allowed",
                     "this is a bug or a hostile node: keep both logs");
    pair_expect_dead(&pair, 1,
                     "node 'a' refused the link: it received a malformed "
                     "record from this node",
                     "this is a bug or a hostile node: keep both logs");
    pair_close(&pair);
}

Test(link_lanes, nothing_leaves_before_the_lane_is_connected)
{
    link_pair_t pair;
    skn_fragment_t fragment;
    pair_init(&pair);
    pair.link[0] = skn_link_new(&pair.options[0], NULL);
    cr_assert(pair.link[0]);
    cr_expect_not(skn_link_next(pair.link[0], 1, &fragment));
    cr_expect_eq(skn_link_due_ns(pair.link[0], 1), UINT64_MAX);
    pair_open(&pair);
    (void)pair_carry(&pair);
    skn_link_disconnected(pair.link[0], pair.now_ns);
    pair_send(&pair, 0, "x");
    cr_expect_not(skn_link_next(pair.link[0], pair.now_ns, &fragment));
    skn_link_connected(pair.link[0], pair.now_ns);
    (void)pair_carry(&pair);
    pair_expect(&pair, 1, "x");
    pair_close(&pair);
}

Test(link_lanes, an_ack_waits_five_milliseconds_for_company)
{
    link_pair_t pair;
    skn_fragment_t fragment;
    skn_fragment_header_t header;
    skn_link_reason_t reason;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    pair_send(&pair, 0, "x");
    (void)pair_carry(&pair);
    cr_expect_not(skn_link_next(pair.link[1], pair.now_ns, &fragment));
    cr_expect_eq(skn_link_due_ns(pair.link[1], pair.now_ns),
                 pair.now_ns + 5 * PAIR_MS);
    pair_send(&pair, 1, "y"); /* company */
    cr_assert(skn_link_next(pair.link[1], pair.now_ns, &fragment));
    cr_assert_eq(skn_fragment_read(fragment.header, fragment.body.bytes,
                                   &header, &reason, NULL),
                 SKN_OK);
    cr_expect_eq(header.type, SKN_FRAGMENT_DATA);
    cr_expect_eq(header.ack, 2);
    cr_expect_gt(header.echo, 0);
    cr_expect_gt(skn_link_due_ns(pair.link[1], pair.now_ns),
                 pair.now_ns + 5 * PAIR_MS);
    pair_close(&pair);
}

Test(link_lanes, a_quarter_of_the_window_is_acked_at_once)
{
    link_pair_t pair;
    skn_fragment_t fragment;
    char text[256];
    memset(text, 't', sizeof(text));
    text[255] = '\0';
    pair_init(&pair);
    pair.options[1].window_bytes = 1024;
    pair_open(&pair);
    (void)pair_carry(&pair);
    text[253] = '\0'; /* 255 bytes with the length */
    pair_send(&pair, 0, text);
    while (skn_link_next(pair.link[0], pair.now_ns, &fragment))
        (void)skn_link_take(pair.link[1], pair.now_ns, fragment.header,
                            fragment.body, NULL);
    bool at_once = skn_link_next(pair.link[1], pair.now_ns, &fragment);
    cr_expect_not(at_once);
    pair_send(&pair, 0, "x");
    while (skn_link_next(pair.link[0], pair.now_ns, &fragment))
        (void)skn_link_take(pair.link[1], pair.now_ns, fragment.header,
                            fragment.body, NULL);
    cr_expect(skn_link_next(pair.link[1], pair.now_ns, &fragment));
    pair_close(&pair);
}

Test(link_lanes, duplicates_and_disorder_are_counted_and_harmless)
{
    link_pair_t pair;
    skn_fragment_t fragment;
    skn_link_counts_t counts;
    uint8_t headers[64][SKN_FRAGMENT_HEADER_BYTES_MAX], bodies[64][8];
    size_t header_bytes[64], body_bytes[64];
    pair_init(&pair);
    pair.options[0].fragment_bytes = 8;
    pair_open(&pair);
    (void)pair_carry(&pair);
    for (int k = 0; k < 64; k++)
        pair_send(&pair, 0, "7 bytes");
    for (size_t k = 0; k < 64; k++) {
        cr_assert(skn_link_next(pair.link[0], pair.now_ns, &fragment));
        header_bytes[k] = fragment.header.bytes;
        body_bytes[k] = fragment.body.bytes;
        memcpy(headers[k], fragment.header.at, header_bytes[k]);
        memcpy(bodies[k], fragment.body.at, body_bytes[k]);
    }
    for (size_t k = 64; k-- > 0;) /* the last comes first, and each twice */
        for (int twice = 0; twice < 2; twice++)
            cr_expect_eq(
                skn_link_take(pair.link[1], pair.now_ns,
                              (skn_frame_t){ headers[k], header_bytes[k] },
                              (skn_frame_t){ bodies[k], body_bytes[k] }, NULL),
                SKN_OK);
    for (int k = 0; k < 64; k++)
        pair_expect(&pair, 1, "7 bytes");
    pair_expect(&pair, 1, NULL);
    skn_link_count(pair.link[1], &counts);
    cr_expect_eq(counts.duplicate_fragments, 64);
    cr_expect_eq(counts.out_of_order_fragments, 63);
    pair_close(&pair);
}

Test(link_lanes, credit_that_was_lost_comes_with_the_pulse)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[1].window_bytes = 8;
    pair_open(&pair);
    (void)pair_carry(&pair);
    pair_send(&pair, 0, "0123456");
    pair_send(&pair, 0, "89abcde");
    (void)pair_carry(&pair);
    pair_pass(&pair, 10 * PAIR_MS);
    pair.deaf[0] = true;
    pair_expect(&pair, 1, "0123456"); /* gives credit, which gets lost */
    (void)pair_carry(&pair);
    pair.deaf[0] = false;
    pair_pass(&pair, 1100 * PAIR_MS);
    pair_expect(&pair, 1, "89abcde");
    pair_close(&pair);
}

/* The lane for the pulse carries no records, whatever waits on the other. */
Test(link_lanes, pulses_are_answered_when_nothing_else_moves)
{
    link_pair_t pair;
    skn_fragment_t fragment;
    skn_link_counts_t counts;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    skn_link_disconnected(pair.link[0], pair.now_ns);
    skn_link_disconnected(pair.link[1], pair.now_ns);
    pair_pass(&pair, 30 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_expect_state(&pair, 1, SKN_LINK_LIVE);
    cr_expect_not(skn_link_next_pulse(pair.link[0], pair.now_ns, &fragment));
    skn_link_count(pair.link[0], &counts);
    cr_expect(counts.fragments_sent >= 60 && counts.fragments_sent <= 66);
    pair_close(&pair);
}

Test(link_lanes, any_header_bytes_at_all_are_safe)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    skn_fragment_header_t header = header_of(SKN_FRAGMENT_ACK);
    uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX];
    size_t count = skn_fragment_write(&header, bytes);
    for (size_t k = 0; k < count; k++)
        for (unsigned value = 0; value < 256; value++) {
            uint8_t kept = bytes[k];
            bytes[k] = (uint8_t)value;
            (void)skn_link_take(pair.link[0], pair.now_ns,
                                (skn_frame_t){ bytes, count },
                                (skn_frame_t){ NULL, 0 }, NULL);
            bytes[k] = kept;
        }
    (void)skn_link_take(pair.link[0], pair.now_ns, (skn_frame_t){ NULL, 0 },
                        (skn_frame_t){ NULL, 0 }, NULL);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_send(&pair, 1, "still here");
    (void)pair_carry(&pair);
    pair_expect(&pair, 0, "still here");
    pair_close(&pair);
}
