/* test_tunnel_words.c - tests the messages that open a tunnel.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "transport/tunnel/tunnel_words.h"

static void
fill(uint8_t *bytes, size_t count, uint8_t from)
{
    for (size_t k = 0; k < count; k++)
        bytes[k] = (uint8_t)(from + k);
}

/* A small generator; the seed is printed where something fails. */
static uint64_t
next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* --- the first bytes ----------------------------------------------------- */

Test(tunnel_words, a_preface_is_read_as_it_was_written)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES], got[SKN_TUNNEL_TOKEN_BYTES];
    uint8_t bytes[SKN_PREFACE_BYTES];
    fill(token, sizeof(token), 7);
    skn_preface_write(SKN_PREFACE_TUNNEL, token, bytes);
    cr_expect_eq(skn_preface_read(bytes, sizeof(bytes), got),
                 SKN_PREFACE_TUNNEL);
    cr_expect_arr_eq(got, token, sizeof(token));
    skn_preface_write(SKN_PREFACE_CONTROL, NULL, bytes);
    cr_expect_eq(skn_preface_read(bytes, sizeof(bytes), got),
                 SKN_PREFACE_CONTROL);
}

Test(tunnel_words, a_preface_that_is_cut_short_is_awaited)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES] = { 1 }, bytes[SKN_PREFACE_BYTES];
    skn_preface_write(SKN_PREFACE_TUNNEL, token, bytes);
    for (size_t count = 0; count < sizeof(bytes); count++)
        cr_expect_eq(skn_preface_read(bytes, count, token), SKN_PREFACE_MORE,
                     "%zu", count);
}

Test(tunnel_words, zmtp_is_known_by_its_first_byte)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES];
    const uint8_t greeting[] = { 0xff, 0, 0 };
    for (size_t count = 1; count <= sizeof(greeting); count++)
        cr_expect_eq(skn_preface_read(greeting, count, token),
                     SKN_PREFACE_ZMTP);
}

Test(tunnel_words, a_preface_that_differs_in_a_byte_is_none)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES], bytes[SKN_PREFACE_BYTES];
    for (size_t k = 0; k < SKN_PREFACE_BYTES; k++) {
        skn_preface_write(SKN_PREFACE_CONTROL, NULL, bytes);
        bytes[k] ^= 4;
        cr_expect_eq(skn_preface_read(bytes, sizeof(bytes), token),
                     SKN_PREFACE_NONE, "byte %zu", k);
    }
    const uint8_t *http = (const uint8_t *)"GET / HTTP/1.1";
    for (size_t count = 1; count < 14; count++)
        cr_expect_eq(skn_preface_read(http, count, token), SKN_PREFACE_NONE);
}

Test(tunnel_words, any_first_bytes_are_something_or_nothing)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t state = seed;
        uint8_t token[SKN_TUNNEL_TOKEN_BYTES], bytes[2 * SKN_PREFACE_BYTES];
        size_t count = next(&state) % (sizeof(bytes) + 1);
        for (size_t k = 0; k < count; k++)
            bytes[k] = (uint8_t)next(&state);
        if (next(&state) % 2 && count >= 8)
            memcpy(bytes, "skntun/1", 8);
        skn_preface_kind_t kind = skn_preface_read(bytes, count, token);
        cr_expect(kind != SKN_PREFACE_MORE || count < SKN_PREFACE_BYTES,
                  "seed %llu", (unsigned long long)seed);
    }
}

/* --- words --------------------------------------------------------------- */

static const skn_tunnel_word_t words[] = {
    { .kind = SKN_TUNNEL_HERE },
    { .kind = SKN_TUNNEL_WANT, .node = 3, .number = UINT64_MAX },
    { .kind = SKN_TUNNEL_OPEN, .node = 63, .number = 0, .token = { 1 } },
    { .kind = SKN_TUNNEL_OPEN, .node = 1, .number = 9, .token = { 0, 1 } },
    { .kind = SKN_TUNNEL_NONE, .node = UINT32_MAX, .number = 1 },
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static skn_status_t
read_word(const uint8_t *bytes, size_t count, skn_tunnel_word_t *word)
{
    skn_error_t error = { 0 };
    return skn_tunnel_word_read(bytes, count, word, &error);
}

Test(tunnel_words, every_word_is_read_as_it_was_written)
{
    for (size_t k = 0; k < WORDS; k++) {
        uint8_t bytes[SKN_TUNNEL_WORD_BYTES];
        skn_tunnel_word_t word;
        skn_tunnel_word_write(&words[k], bytes);
        cr_assert_eq(read_word(bytes, sizeof(bytes), &word), SKN_OK, "%zu", k);
        cr_expect_eq(word.kind, words[k].kind);
        cr_expect_eq(word.node, words[k].node);
        cr_expect_eq(word.number, words[k].number);
        cr_expect_arr_eq(word.token, words[k].token, sizeof(word.token));
    }
}

Test(tunnel_words, a_word_of_another_length_is_none)
{
    uint8_t bytes[SKN_TUNNEL_WORD_BYTES + 1] = { 0 };
    skn_tunnel_word_t word;
    skn_tunnel_word_write(&words[1], bytes);
    for (size_t count = 0; count <= sizeof(bytes); count++)
        cr_expect_eq(read_word(bytes, count, &word),
                     count == SKN_TUNNEL_WORD_BYTES ? SKN_OK : SKN_BAD_MESSAGE,
                     "%zu bytes", count);
}

Test(tunnel_words, fields_that_a_kind_has_not_are_refused)
{
    static const skn_tunnel_word_t bad[] = {
        { .kind = SKN_TUNNEL_HERE, .node = 1 },
        { .kind = SKN_TUNNEL_HERE, .number = 1 },
        { .kind = SKN_TUNNEL_HERE, .token = { 1 } },
        { .kind = SKN_TUNNEL_WANT, .node = 1 },
        { .kind = SKN_TUNNEL_WANT, .node = 1, .number = 1, .token = { 1 } },
        { .kind = SKN_TUNNEL_OPEN, .node = 1, .number = 1 },
        { .kind = SKN_TUNNEL_NONE, .node = 1 },
        { .kind = (skn_tunnel_kind_t)0 },
        { .kind = (skn_tunnel_kind_t)5, .number = 1 },
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        uint8_t bytes[SKN_TUNNEL_WORD_BYTES];
        skn_tunnel_word_t word;
        skn_tunnel_word_write(&bad[k], bytes);
        cr_expect_eq(read_word(bytes, sizeof(bytes), &word), SKN_BAD_MESSAGE,
                     "%zu", k);
    }
}

Test(tunnel_words, what_is_read_of_any_bytes_is_written_as_they_were)
{
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        uint64_t state = seed;
        uint8_t bytes[SKN_TUNNEL_WORD_BYTES], again[SKN_TUNNEL_WORD_BYTES];
        skn_tunnel_word_t word;
        skn_tunnel_word_write(&words[seed % WORDS], bytes);
        for (uint64_t k = next(&state) % 4; k > 0; k--)
            bytes[next(&state) % sizeof(bytes)] = (uint8_t)next(&state);
        if (read_word(bytes, sizeof(bytes), &word) != SKN_OK)
            continue;
        skn_tunnel_word_write(&word, again);
        cr_expect_arr_eq(again, bytes, sizeof(bytes), "seed %llu",
                         (unsigned long long)seed);
    }
}
