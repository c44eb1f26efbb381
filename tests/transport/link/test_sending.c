/* test_sending.c - tests when bytes are sent, and when they are sent again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link/link.h"
#include "transport/link/sending.h"

#define MS UINT64_C(1000000)

static skn_sending_t *
sending_new(uint64_t credit)
{
    skn_sending_t *sending = calloc(1, sizeof(*sending));
    cr_assert(sending);
    cr_assert_eq(skn_sending_init(sending, NULL), SKN_OK);
    sending->credit = credit;
    skn_sending_connected(sending);
    return sending;
}

static void
sending_free(skn_sending_t *sending)
{
    skn_sending_fini(sending);
    free(sending);
}

static void
queue(skn_sending_t *sending, size_t bytes)
{
    static uint8_t zeros[1 << 20];
    skn_frame_t frames[] = { { zeros, bytes / 2 },
                             { zeros, bytes - bytes / 2 } };
    cr_assert_eq(skn_sending_queue(sending, frames, 2, bytes, NULL), SKN_OK);
}

static void
expect_piece(skn_sending_t *sending, uint64_t now_ns, uint64_t offset,
             size_t bytes, size_t again)
{
    skn_stream_piece_t piece;
    cr_assert(skn_sending_next(sending, now_ns, 100, &piece),
              "nothing leaves at %llu", (unsigned long long)offset);
    cr_expect_eq(piece.offset, offset, "%llu, not %llu",
                 (unsigned long long)piece.offset, (unsigned long long)offset);
    cr_expect_eq(piece.body.bytes, bytes, "%zu, not %zu", piece.body.bytes,
                 bytes);
    cr_expect_eq(piece.again_bytes, again);
}

static void
expect_nothing(skn_sending_t *sending, uint64_t now_ns)
{
    skn_stream_piece_t piece;
    cr_expect_not(skn_sending_next(sending, now_ns, 100, &piece));
}

Test(sending, the_stream_is_lengths_and_bytes)
{
    skn_sending_t *sending = sending_new(1000);
    skn_frame_t frames[] = { { "ab", 2 }, { NULL, 0 }, { "c", 1 } };
    skn_stream_piece_t piece;
    cr_assert_eq(skn_sending_queue(sending, frames, 3, 3, NULL), SKN_OK);
    cr_assert_eq(skn_sending_queue(sending, NULL, 0, 0, NULL), SKN_OK);
    cr_expect(sending->finished);
    cr_assert(skn_sending_next(sending, 1, 100, &piece));
    cr_expect_eq(piece.body.bytes, 5);
    cr_expect_eq(memcmp(piece.body.at, "\3abc\0", 5), 0);
    sending_free(sending);
}

Test(sending, lengths_take_seven_bits_a_byte)
{
    static const struct {
        size_t length;
        const char *bytes;
        size_t count;
    } cases[] = {
        { 1, "\1", 1 },
        { 127, "\x7f", 1 },
        { 128, "\x80\1", 2 },
        { 16383, "\xff\x7f", 2 },
        { 16384, "\x80\x80\1", 3 },
        { 1 << 20, "\x80\x80\x40", 3 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_sending_t *sending = sending_new(1000);
        skn_stream_piece_t piece;
        queue(sending, cases[k].length);
        cr_expect_eq(sending->end, cases[k].length + cases[k].count);
        cr_assert(skn_sending_next(sending, 1, 5, &piece));
        cr_expect_eq(memcmp(piece.body.at, cases[k].bytes, cases[k].count), 0);
        sending_free(sending);
    }
}

Test(sending, pieces_follow_each_other_up_to_the_credit)
{
    skn_sending_t *sending = sending_new(250);
    queue(sending, 300); /* 302 with its length */
    expect_piece(sending, 1, 0, 100, 0);
    expect_piece(sending, 1, 100, 100, 0);
    expect_nothing(sending, 1); /* 50 would be a crumb */
    skn_sending_acked(sending, 2, 200, 0);
    expect_piece(sending, 2, 200, 50, 0); /* but not for ever */
    expect_nothing(sending, 2);
    sending->credit = 1000;
    expect_piece(sending, 2, 250, 52, 0);
    expect_nothing(sending, 2);
    cr_expect_eq(skn_sending_in_flight(sending), 102);
    skn_sending_acked(sending, 3, 302, 0);
    cr_expect_eq(skn_sending_in_flight(sending), 0);
    cr_expect_eq(skn_sending_due_ns(sending), UINT64_MAX);
    sending_free(sending);
}

Test(sending, without_credit_or_connection_nothing_leaves)
{
    skn_sending_t *sending = sending_new(0);
    queue(sending, 10);
    expect_nothing(sending, 1);
    sending->credit = 100;
    skn_sending_disconnected(sending);
    expect_nothing(sending, 1);
    skn_sending_connected(sending);
    expect_piece(sending, 1, 0, 11, 0);
    sending_free(sending);
}

Test(sending, a_new_connection_sends_everything_unacked_again)
{
    skn_sending_t *sending = sending_new(1000);
    queue(sending, 298);
    for (uint64_t k = 0; k < 3; k++)
        expect_piece(sending, 1, 100 * k, 100, 0);
    skn_sending_acked(sending, 2, 100, 0);
    skn_sending_disconnected(sending);
    queue(sending, 50);
    skn_sending_connected(sending);
    expect_piece(sending, 3, 100, 100, 100);
    skn_sending_acked(sending, 4, 300, 0); /* the first sending had arrived */
    expect_piece(sending, 4, 300, 51, 0);
    sending_free(sending);
}

Test(sending, bytes_that_are_sent_again_may_be_cut_differently)
{
    skn_sending_t *sending = sending_new(1000);
    skn_stream_piece_t piece;
    queue(sending, 199);
    expect_piece(sending, 1, 0, 100, 0);
    skn_sending_connected(sending);
    cr_assert(skn_sending_next(sending, 1, 70, &piece));
    cr_expect_eq(piece.again_bytes, 70);
    cr_assert(skn_sending_next(sending, 1, 70, &piece));
    cr_expect_eq(piece.offset, 70);
    cr_expect_eq(piece.again_bytes, 30); /* half old, half new */
    cr_expect_eq(piece.body.bytes, 70);
    sending_free(sending);
}

Test(sending, a_gap_is_filled_once_when_it_lasts)
{
    skn_sending_t *sending = sending_new(10000);
    uint64_t now = 1000 * MS;
    skn_pace_round_trip(&sending->pace, 40 * MS);
    queue(sending, 900);
    for (uint64_t k = 0; k < 9; k++)
        expect_piece(sending, now, 100 * k, 100, 0);
    expect_piece(sending, now, 900, 2, 0);
    skn_sending_acked(sending, now, 100, 400);
    skn_sending_tick(sending, now + 10 * MS - 1);
    expect_nothing(sending, now + 10 * MS - 1);
    cr_expect_eq(skn_sending_due_ns(sending), now + 10 * MS);
    skn_sending_tick(sending, now + 10 * MS);
    expect_piece(sending, now, 100, 100, 100);
    expect_piece(sending, now, 200, 100, 100);
    expect_piece(sending, now, 300, 100, 100);
    expect_nothing(sending, now);
    now += 20 * MS;
    skn_sending_acked(sending, now, 200, 400); /* still the same gap */
    skn_sending_tick(sending, now + 100 * MS);
    expect_nothing(sending, now + 100 * MS);
    skn_sending_acked(sending, now, 400, 700); /* another one */
    skn_sending_tick(sending, now + 100 * MS);
    expect_piece(sending, now, 400, 100, 100);
    sending_free(sending);
}

Test(sending, a_gap_that_closes_in_time_is_mere_disorder)
{
    skn_sending_t *sending = sending_new(10000);
    queue(sending, 298);
    for (uint64_t k = 0; k < 3; k++)
        expect_piece(sending, 1, 100 * k, 100, 0);
    skn_sending_acked(sending, 2, 100, 200);
    skn_sending_acked(sending, 3, 300, 0);
    skn_sending_tick(sending, 100 * MS);
    expect_nothing(sending, 100 * MS);
    sending_free(sending);
}

Test(sending, a_timeout_starts_over_slowly)
{
    skn_sending_t *sending = sending_new(1 << 20);
    queue(sending, 1 << 19);
    skn_stream_piece_t piece;
    uint64_t now = 1;
    while (skn_sending_next(sending, now, 4096, &piece))
        continue;
    uint64_t sent = sending->sent;
    cr_expect_eq(sent, SKN_FLIGHT_BYTES_FIRST);
    uint64_t due = skn_sending_due_ns(sending);
    skn_sending_tick(sending, due - 1);
    cr_expect_eq(sending->timeout_count, 0);
    skn_sending_tick(sending, due);
    cr_expect_eq(sending->timeout_count, 1);
    size_t pieces = 0;
    for (; skn_sending_next(sending, due, 4096, &piece); pieces++)
        cr_expect_eq(piece.again_bytes, piece.body.bytes);
    cr_expect_eq(pieces, 1);
    cr_expect_gt(skn_sending_due_ns(sending), 2 * due - 10); /* backs off */
    skn_sending_acked(sending, due + 1, 4096, 0);
    for (pieces = 0; skn_sending_next(sending, due + 1, 4096, &piece);)
        pieces++;
    cr_expect_eq(pieces, 2);
    skn_sending_acked(sending, due + 2, sent, 0); /* it was only late */
    cr_assert(skn_sending_next(sending, due + 2, 4096, &piece));
    cr_expect_eq(piece.offset, sent);
    cr_expect_eq(sending->pace.bytes_per_second, 0.0); /* and says nothing */
    sending_free(sending);
}

Test(sending, an_older_ack_changes_nothing)
{
    skn_sending_t *sending = sending_new(1000);
    queue(sending, 298);
    for (uint64_t k = 0; k < 3; k++)
        expect_piece(sending, 1, 100 * k, 100, 0);
    skn_sending_acked(sending, 2, 200, 0);
    skn_sending_acked(sending, 3, 100, 150);
    cr_expect_eq(sending->acked, 200);
    skn_sending_tick(sending, 400 * MS);
    expect_nothing(sending, 400 * MS);
    sending_free(sending);
}

Test(sending, memory_goes_with_the_acks)
{
    skn_sending_t *sending = sending_new(1 << 24);
    skn_stream_piece_t piece;
    uint64_t now = 1;
    for (int k = 0; k < 20; k++) {
        queue(sending, 1 << 18);
        while (skn_sending_next(sending, now, 65536, &piece)) {
            now += MS;
            skn_sending_acked(sending, now, sending->sent, 0);
        }
        cr_expect_leq(sending->chunks.chunk_count, 1);
    }
    sending_free(sending);
}
