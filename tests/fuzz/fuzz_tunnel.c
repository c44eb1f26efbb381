/* fuzz_tunnel.c - feeds any bytes to the code that opens tunnels, as if a
 * stranger or a node had sent them.
 *
 * The input is read three ways: as the first bytes of a connection, in pieces
 * of any size; as words of a line; and as events for a hub's table of tunnels,
 * in any order. Accepted input is written as it was read, refused input stays
 * refused, and only ends that were promised to each other are joined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transport/tunnel/rendezvous.h"
#include "transport/tunnel/tunnel_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

/* A byte more never makes something else of what was known already. */
static void
read_preface(const uint8_t *bytes, size_t byte_count)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES], again[SKN_PREFACE_BYTES];
    skn_preface_kind_t before = SKN_PREFACE_MORE;
    for (size_t count = 0; count <= byte_count && count < 64; count++) {
        skn_preface_kind_t kind = skn_preface_read(bytes, count, token);
        assert(before == SKN_PREFACE_MORE || kind == before);
        assert(kind != SKN_PREFACE_MORE || count < SKN_PREFACE_BYTES);
        before = kind;
    }
    if (before != SKN_PREFACE_CONTROL && before != SKN_PREFACE_TUNNEL)
        return;
    skn_preface_write(before, token, again);
    assert(memcmp(again, bytes, sizeof(again)) == 0);
}

static void
read_words(const uint8_t *bytes, size_t byte_count)
{
    uint8_t again[SKN_TUNNEL_WORD_BYTES];
    skn_tunnel_word_t word;
    skn_error_t error;
    if (skn_tunnel_word_read(bytes, byte_count, &word, &error) == SKN_OK) {
        skn_tunnel_word_write(&word, again);
        assert(memcmp(again, bytes, sizeof(again)) == 0);
    }
    for (; byte_count >= SKN_TUNNEL_WORD_BYTES;
         bytes += SKN_TUNNEL_WORD_BYTES, byte_count -= SKN_TUNNEL_WORD_BYTES)
        (void)skn_tunnel_word_read(bytes, SKN_TUNNEL_WORD_BYTES, &word, &error);
}

/* Token k of the book: its first byte is its number. */
static const uint8_t *
token_of(uint8_t number, uint8_t token[SKN_TUNNEL_TOKEN_BYTES])
{
    memset(token, 0, SKN_TUNNEL_TOKEN_BYTES);
    token[0] = number;
    return token;
}

/* Pairs of tokens are 2 k and 2 k + 1; a connection's number names its token,
 * so that who meets can be looked at. */
static void
play(skn_rendezvous_t *reports, const uint8_t *bytes, size_t byte_count)
{
    uint64_t now_ms = 0;
    uint8_t one[SKN_TUNNEL_TOKEN_BYTES], two[SKN_TUNNEL_TOKEN_BYTES];
    for (size_t k = 0; k + 1 < byte_count; k += 2) {
        uint8_t what = bytes[k], number = bytes[k + 1];
        int other;
        switch (what % 4) {
        case 0:
            (void)skn_rendezvous_open(reports, what / 4, number / 2, number,
                                      token_of(number & ~1, one),
                                      token_of(number | 1, two), now_ms);
            break;
        case 1:
            if (skn_rendezvous_arrive(reports, token_of(number, one), number,
                                      now_ms, &other) == SKN_RENDEZVOUS_JOINED)
                assert(other == (number ^ 1));
            break;
        case 2:
            skn_rendezvous_leave(reports, number);
            break;
        default:
            now_ms += number * 64u;
            while (skn_rendezvous_expire(reports, now_ms, &other))
                ;
        }
        assert(skn_rendezvous_count(reports) <= SKN_RENDEZVOUS_MAX);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    skn_rendezvous_t *reports = skn_rendezvous_new(NULL);
    read_preface(bytes, byte_count);
    read_words(bytes, byte_count);
    if (reports)
        play(reports, bytes, byte_count);
    skn_rendezvous_destroy(&reports);
    return 0;
}
