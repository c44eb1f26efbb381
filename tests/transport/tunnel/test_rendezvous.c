/* test_rendezvous.c - tests that two ends of a tunnel meet by their tokens.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "transport/tunnel/rendezvous.h"

static skn_rendezvous_t *rendezvous;

static void
open_book(void)
{
    rendezvous = skn_rendezvous_new(NULL);
    cr_assert_not_null(rendezvous);
}

static void
close_book(void)
{
    skn_rendezvous_destroy(&rendezvous);
    cr_expect_null(rendezvous);
}

TestSuite(rendezvous, .init = open_book, .fini = close_book);

/* Token `number` of the test. */
static const uint8_t *
token(uint32_t number)
{
    static uint8_t bytes[4][SKN_TUNNEL_TOKEN_BYTES];
    static size_t turn;
    uint8_t *at = bytes[turn++ % 4];
    memset(at, 0, SKN_TUNNEL_TOKEN_BYTES);
    memcpy(at, &number, sizeof(number));
    return at;
}

static skn_rendezvous_fate_t
arrive(uint32_t number, int connection, uint64_t now_ms, int *other)
{
    return skn_rendezvous_arrive(rendezvous, token(number), connection, now_ms,
                                 other);
}

Test(rendezvous, two_that_come_with_their_tokens_are_joined)
{
    int other;
    cr_assert(
        skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 100));
    cr_expect_eq(arrive(2, 7, 101, &other), SKN_RENDEZVOUS_WAITS);
    cr_expect_eq(other, SKN_RENDEZVOUS_NOBODY);
    cr_expect_eq(arrive(1, 8, 102, &other), SKN_RENDEZVOUS_JOINED);
    cr_expect_eq(other, 7);
    cr_expect_eq(skn_rendezvous_count(rendezvous), 0u);
}

Test(rendezvous, a_token_serves_once)
{
    int other;
    cr_assert(skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 0));
    cr_expect_eq(arrive(1, 7, 1, &other), SKN_RENDEZVOUS_WAITS);
    cr_expect_eq(arrive(1, 8, 1, &other), SKN_RENDEZVOUS_UNKNOWN);
    cr_expect_eq(arrive(2, 9, 1, &other), SKN_RENDEZVOUS_JOINED);
    cr_expect_eq(arrive(2, 9, 1, &other), SKN_RENDEZVOUS_UNKNOWN);
    cr_expect_eq(arrive(1, 9, 1, &other), SKN_RENDEZVOUS_UNKNOWN);
}

Test(rendezvous, a_token_that_was_never_promised_is_unknown)
{
    int other;
    cr_expect_eq(arrive(1, 7, 0, &other), SKN_RENDEZVOUS_UNKNOWN);
    cr_assert(skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 0));
    cr_expect_eq(arrive(3, 7, 0, &other), SKN_RENDEZVOUS_UNKNOWN);
}

Test(rendezvous, an_end_that_comes_too_late_finds_no_other)
{
    int other, connection = 0;
    cr_assert(skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 5));
    cr_expect_eq(arrive(1, 7, 5 + SKN_RENDEZVOUS_MS - 1, &other),
                 SKN_RENDEZVOUS_WAITS);
    cr_expect_not(skn_rendezvous_expire(rendezvous, 5 + SKN_RENDEZVOUS_MS - 1,
                                        &connection));
    cr_expect_eq(arrive(2, 8, 5 + SKN_RENDEZVOUS_MS, &other),
                 SKN_RENDEZVOUS_UNKNOWN);
    cr_expect(
        skn_rendezvous_expire(rendezvous, 5 + SKN_RENDEZVOUS_MS, &connection));
    cr_expect_eq(connection, 7);
    cr_expect_eq(skn_rendezvous_count(rendezvous), 0u);
}

Test(rendezvous, a_question_that_is_asked_again_has_the_same_tokens)
{
    uint8_t one[SKN_TUNNEL_TOKEN_BYTES];
    int other;
    cr_assert(skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 0));
    cr_assert(skn_rendezvous_again(rendezvous, 1, 3, 9, one));
    cr_expect_arr_eq(one, token(1), SKN_TUNNEL_TOKEN_BYTES);
    cr_expect_not(skn_rendezvous_again(rendezvous, 1, 3, 8, one));
    cr_expect_not(skn_rendezvous_again(rendezvous, 1, 4, 9, one),
                  "to another one");
    cr_expect_not(skn_rendezvous_again(rendezvous, 2, 3, 9, one));
    cr_expect_eq(arrive(1, 7, 0, &other), SKN_RENDEZVOUS_WAITS);
    cr_expect_eq(arrive(2, 8, 0, &other), SKN_RENDEZVOUS_JOINED);
    cr_expect_not(skn_rendezvous_again(rendezvous, 1, 3, 9, one));
}

/* Its line was cut, and what was said over it may be lost. */
Test(rendezvous, an_end_that_returns_receives_the_requests_for_it)
{
    uint8_t one[SKN_TUNNEL_TOKEN_BYTES];
    uint32_t at = 0, asker;
    int other;
    cr_assert(skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 0));
    cr_assert(skn_rendezvous_open(rendezvous, 2, 4, 9, token(3), token(4), 0));
    cr_assert(skn_rendezvous_open(rendezvous, 5, 3, 9, token(5), token(6), 0));
    cr_assert(skn_rendezvous_open(rendezvous, 6, 3, 9, token(7), token(8), 0));
    cr_expect_eq(arrive(8, 7, 0, &other), SKN_RENDEZVOUS_WAITS);
    cr_expect_eq(arrive(1, 8, 0, &other), SKN_RENDEZVOUS_WAITS);
    cr_assert(skn_rendezvous_wants(rendezvous, 3, &at, &asker, one));
    cr_expect_eq(asker, 1u);
    cr_expect_arr_eq(one, token(2), SKN_TUNNEL_TOKEN_BYTES);
    cr_assert(skn_rendezvous_wants(rendezvous, 3, &at, &asker, one));
    cr_expect_eq(asker, 5u);
    cr_expect_arr_eq(one, token(6), SKN_TUNNEL_TOKEN_BYTES);
    cr_expect_not(skn_rendezvous_wants(rendezvous, 3, &at, &asker, one),
                  "its end for 6 is here");
}

Test(rendezvous, one_that_leaves_takes_its_promise_along)
{
    int other;
    cr_assert(skn_rendezvous_open(rendezvous, 1, 3, 9, token(1), token(2), 0));
    cr_expect_eq(arrive(1, 7, 0, &other), SKN_RENDEZVOUS_WAITS);
    skn_rendezvous_leave(rendezvous, 6);
    cr_expect_eq(skn_rendezvous_count(rendezvous), 1u);
    skn_rendezvous_leave(rendezvous, 7);
    cr_expect_eq(arrive(2, 8, 0, &other), SKN_RENDEZVOUS_UNKNOWN);
}

Test(rendezvous, one_that_asks_cannot_fill_the_book)
{
    uint32_t number = 0;
    while (skn_rendezvous_open(rendezvous, 1, 3, number, token(number),
                               token(number + 1), 0))
        number += 2;
    cr_expect_eq(skn_rendezvous_count(rendezvous), SKN_RENDEZVOUS_MAX_EACH);
    for (uint32_t asker = 2;
         skn_rendezvous_count(rendezvous) < SKN_RENDEZVOUS_MAX; number += 2)
        if (!skn_rendezvous_open(rendezvous, asker, 3, number, token(number),
                                 token(number + 1), 0))
            asker++;
    cr_expect_not(skn_rendezvous_open(rendezvous, 99, 3, number, token(number),
                                      token(number + 1), 0));
}

/* Any order of things: who is joined was promised to each other, once. */
Test(rendezvous, only_ends_that_were_promised_to_each_other_are_joined)
{
    enum {
        PROMISES = 200
    };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t state = seed, now_ms = 0;
        int came[2 * PROMISES], connection = 0;
        memset(came, -1, sizeof(came));
        for (uint32_t opened = 0; opened < PROMISES;) {
            state =
                state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint32_t draw = (uint32_t)(state >> 33);
            now_ms += draw % 300;
            if (draw % 3 == 0) {
                cr_assert(skn_rendezvous_open(rendezvous, draw % 8, 9, opened,
                                              token(2 * opened),
                                              token(2 * opened + 1), now_ms));
                opened++;
            } else if (opened > 0) {
                uint32_t number = draw / 8 % (2 * opened);
                int other;
                skn_rendezvous_fate_t fate =
                    arrive(number, ++connection, now_ms, &other);
                if (fate == SKN_RENDEZVOUS_WAITS)
                    came[number] = connection;
                if (fate == SKN_RENDEZVOUS_JOINED) {
                    cr_assert_geq(other, 0, "seed %llu",
                                  (unsigned long long)seed);
                    cr_expect_eq(other, came[number ^ 1], "seed %llu",
                                 (unsigned long long)seed);
                    came[number ^ 1] = -2;
                }
            }
            int expired;
            while (skn_rendezvous_expire(rendezvous, now_ms, &expired))
                ;
        }
        int expired;
        while (skn_rendezvous_expire(rendezvous, UINT64_MAX, &expired))
            ;
        cr_expect_eq(skn_rendezvous_count(rendezvous), 0u);
    }
}
