/* test_stream_pair.c - tests two streams joined into one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tunnel/stream_pair.h"

/* outer[k] talks to side k of the pair. */
static int outer[2];
static skn_stream_pair_t *pair;

static void
open_pair(void)
{
    int inner[2];
    for (size_t k = 0; k < 2; k++) {
        int ends[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends),
                     0);
        outer[k] = ends[0];
        inner[k] = ends[1];
    }
    pair = skn_stream_pair_new(inner[0], inner[1], NULL);
    cr_assert_not_null(pair);
}

static void
close_pair(void)
{
    skn_stream_pair_destroy(&pair);
    cr_expect_null(pair);
    for (size_t k = 0; k < 2; k++)
        if (outer[k] >= 0)
            (void)close(outer[k]);
}

TestSuite(stream_pair, .init = open_pair, .fini = close_pair);

/* Turns until nothing is ready any more; false: it is over. */
static bool
settle(void)
{
    struct pollfd polled[2];
    for (;;) {
        skn_stream_pair_wait(pair, polled);
        if (poll(polled, 2, 0) <= 0)
            return true;
        if (!skn_stream_pair_turn(pair, polled))
            return false;
    }
}

Test(stream_pair, what_comes_in_at_one_side_leaves_at_the_other)
{
    char got[16];
    cr_assert_eq(write(outer[0], "there", 5), 5);
    cr_assert_eq(write(outer[1], "back!!", 6), 6);
    cr_expect(settle());
    cr_expect_eq(read(outer[1], got, sizeof(got)), 5);
    cr_expect_arr_eq(got, "there", 5);
    cr_expect_eq(read(outer[0], got, sizeof(got)), 6);
    cr_expect_arr_eq(got, "back!!", 6);
    cr_expect_eq(skn_stream_pair_bytes(pair), 11u);
}

Test(stream_pair, what_is_said_first_comes_first)
{
    char got[16];
    skn_stream_pair_say(pair, 1, (const uint8_t *)"preface ", 8);
    cr_assert_eq(write(outer[0], "there", 5), 5);
    cr_expect(settle());
    cr_expect_eq(read(outer[1], got, sizeof(got)), 13);
    cr_expect_arr_eq(got, "preface there", 13);
}

Test(stream_pair, an_end_is_passed_on_behind_the_last_byte)
{
    char got[16];
    cr_assert_eq(write(outer[0], "last", 4), 4);
    cr_assert_eq(shutdown(outer[0], SHUT_WR), 0);
    cr_expect_not(skn_stream_pair_ending(pair));
    cr_expect(settle(), "the other way is open");
    cr_expect(skn_stream_pair_ending(pair));
    cr_expect_eq(read(outer[1], got, sizeof(got)), 4);
    cr_expect_eq(read(outer[1], got, sizeof(got)), 0);
    cr_assert_eq(write(outer[1], "more", 4), 4);
    cr_expect(settle());
    cr_expect_eq(read(outer[0], got, sizeof(got)), 4);
    cr_assert_eq(shutdown(outer[1], SHUT_WR), 0);
    cr_expect_not(settle(), "both ways have ended");
}

Test(stream_pair, it_is_over_when_a_side_is_gone)
{
    (void)close(outer[1]);
    outer[1] = -1;
    cr_assert_eq(write(outer[0], "to nobody", 9), 9);
    cr_expect_not(settle());
}

Test(stream_pair, a_reader_that_sleeps_stops_the_writer)
{
    static char block[1 << 16];
    size_t written = 0;
    for (int quiet = 0; quiet < 3;) {
        ssize_t put = write(outer[0], block, sizeof(block));
        written += put > 0 ? (size_t)put : 0;
        quiet = put > 0 ? 0 : quiet + 1;
        cr_expect(settle());
        cr_assert_lt(written, 64u << 20, "nothing stops it");
    }
    size_t taken = 0;
    for (ssize_t got = 1; got > 0; taken += got > 0 ? (size_t)got : 0) {
        got = read(outer[1], block, sizeof(block));
        cr_expect(settle());
    }
    cr_expect_eq(taken, written);
}

/* Both ways at once, in pieces of any size. */
Test(stream_pair, any_bytes_pass_unchanged)
{
    enum {
        TOTAL = 3 << 20
    };
    uint8_t *sent[2], *got[2];
    size_t put[2] = { 0 }, taken[2] = { 0 };
    uint64_t state = 42;
    for (size_t k = 0; k < 2; k++) {
        sent[k] = malloc(TOTAL);
        got[k] = malloc(TOTAL);
        cr_assert(sent[k] && got[k]);
        for (size_t j = 0; j < TOTAL; j++)
            sent[k][j] = (uint8_t)((j * (k + 3)) >> (j % 7));
    }
    while (taken[0] < TOTAL || taken[1] < TOTAL) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t k = state >> 63, bytes = 1 + (state >> 33) % 100000;
        size_t left = TOTAL - put[k] < bytes ? TOTAL - put[k] : bytes;
        ssize_t moved = left ? write(outer[k], sent[k] + put[k], left) : 0;
        put[k] += moved > 0 ? (size_t)moved : 0;
        cr_assert(settle());
        left = TOTAL - taken[k] < bytes ? TOTAL - taken[k] : bytes;
        moved = left ? read(outer[1 - k], got[k] + taken[k], left) : 0;
        taken[k] += moved > 0 ? (size_t)moved : 0;
    }
    for (size_t k = 0; k < 2; k++) {
        cr_expect_eq(memcmp(sent[k], got[k], TOTAL), 0);
        free(sent[k]);
        free(got[k]);
    }
}
