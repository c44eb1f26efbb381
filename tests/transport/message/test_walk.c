/* test_walk.c - tests what the bounded walk accepts, and its messages.
 *
 * Oracles: a recursive reader written from the msgpack specification, and
 * msgpack-c itself. SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <msgpack.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "skein/limits.h"
#include "tests/support/oracle.h"
#include "transport/message/walk.h"

#define BYTES(...)                                                             \
    (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static void
expect_ok(const uint8_t *bytes, size_t byte_count)
{
    skn_error_t error = { SKN_OK, "", "" };
    cr_expect_eq(skn_walk_check(bytes, byte_count, &error), SKN_OK, "%s",
                 error.text);
}

static void
expect_text(const uint8_t *bytes, size_t byte_count, const char *want)
{
    skn_error_t error = { SKN_OK, "", "" };
    cr_expect_eq(skn_walk_check(bytes, byte_count, &error), SKN_BAD_MESSAGE,
                 "accepted, but: %s", want);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_walk_check(bytes, byte_count, NULL), SKN_BAD_MESSAGE);
}

Test(walk, one_value_of_every_type_passes)
{
    expect_ok(BYTES(0x00)); /* numbers */
    expect_ok(BYTES(0x7f));
    expect_ok(BYTES(0xe0));
    expect_ok(BYTES(0xff));
    expect_ok(BYTES(0xcc, 1));
    expect_ok(BYTES(0xcd, 1, 2));
    expect_ok(BYTES(0xce, 1, 2, 3, 4));
    expect_ok(BYTES(0xcf, 1, 2, 3, 4, 5, 6, 7, 8));
    expect_ok(BYTES(0xd0, 1));
    expect_ok(BYTES(0xd1, 1, 2));
    expect_ok(BYTES(0xd2, 1, 2, 3, 4));
    expect_ok(BYTES(0xd3, 1, 2, 3, 4, 5, 6, 7, 8));
    expect_ok(BYTES(0xca, 1, 2, 3, 4));
    expect_ok(BYTES(0xcb, 1, 2, 3, 4, 5, 6, 7, 8));
    expect_ok(BYTES(0xc0)); /* nil, false, true */
    expect_ok(BYTES(0xc2));
    expect_ok(BYTES(0xc3));
    expect_ok(BYTES(0xa0)); /* texts */
    expect_ok(BYTES(0xa2, 'h', 'i'));
    expect_ok(BYTES(0xd9, 1, 'x'));
    expect_ok(BYTES(0xda, 0, 1, 'x'));
    expect_ok(BYTES(0xdb, 0, 0, 0, 1, 'x'));
    expect_ok(BYTES(0xc4, 1, 0)); /* bytes */
    expect_ok(BYTES(0xc5, 0, 1, 0));
    expect_ok(BYTES(0xc6, 0, 0, 0, 1, 0));
    expect_ok(BYTES(0x90)); /* arrays */
    expect_ok(BYTES(0x92, 1, 2));
    expect_ok(BYTES(0xdc, 0, 2, 1, 2));
    expect_ok(BYTES(0xdd, 0, 0, 0, 2, 1, 2));
    expect_ok(BYTES(0x80)); /* maps */
    expect_ok(BYTES(0x81, 1, 2));
    expect_ok(BYTES(0xde, 0, 1, 1, 2));
    expect_ok(BYTES(0xdf, 0, 0, 0, 1, 1, 2));
    expect_ok(BYTES(0x93, 0x91, 1, 0x90, 0x81, 0xa1, 'k', 0x92, 1, 2));
}

Test(walk, broken_headers_say_where_and_why)
{
    expect_text((const uint8_t *)"", 0, "header: truncated after 0 bytes");
    expect_text(BYTES(0xce, 1, 2, 3),
                "header byte 0: 4 bytes announced, 3 bytes left");
    expect_text(BYTES(0xdb, 1, 2), "header: truncated after 3 bytes");
    expect_text(BYTES(0xc1), "header byte 0: 0xc1 is not valid msgpack");
    expect_text(BYTES(0x92, 1, 0xc1), "header byte 2: 0xc1 is not valid "
                                      "msgpack");
    expect_text(BYTES(0x92, 1),
                "header byte 0: 2 values announced, 1 bytes left");
    expect_text(BYTES(0x92, 0xa1, 'x'), "header: truncated after 3 bytes");
    expect_text(BYTES(1, 2, 3), "header: 2 bytes after its end");
    expect_text(BYTES(0x81, 1),
                "header byte 0: 2 values announced, 1 bytes left");
}

Test(walk, five_bytes_that_reserve_eight_gib_are_refused)
{
    expect_text(BYTES(0xdd, 0x10, 0, 0, 0),
                "header byte 0: 268435456 values announced, 0 bytes left");
    expect_text(BYTES(0xdf, 0xff, 0xff, 0xff, 0xff),
                "header byte 0: 8589934590 values announced, 0 bytes left");
    expect_text(BYTES(0xdb, 0xff, 0xff, 0xff, 0xff),
                "header byte 0: 4294967295 bytes announced, 0 bytes left");
    expect_text(BYTES(0x91, 0xdd, 0x10, 0, 0, 0),
                "header byte 1: 268435456 values announced, 0 bytes left");
}

Test(walk, extension_types_are_refused)
{
    static const uint8_t firsts[] = { 0xc7, 0xc8, 0xc9, 0xd4,
                                      0xd5, 0xd6, 0xd7, 0xd8 };
    for (size_t k = 0; k < sizeof(firsts); k++) {
        uint8_t bytes[32] = { firsts[k], 1 };
        expect_text(bytes, sizeof(bytes),
                    "header byte 0: extension types are not allowed");
    }
}

Test(walk, depth_is_bounded_at_eight)
{
    static const size_t depths[] = { 1, 2, 7, 8, 9, 10, 33, 65000 };
    static uint8_t bytes[65001];
    for (size_t k = 0; k < sizeof(depths) / sizeof(depths[0]); k++) {
        skn_error_t error = { SKN_OK, "", "" };
        memset(bytes, 0x91, depths[k]);
        bytes[depths[k]] = 0xc0;
        skn_status_t status = skn_walk_check(bytes, depths[k] + 1, &error);
        cr_expect_eq(status == SKN_OK, depths[k] <= SKN_HEADER_DEPTH_MAX,
                     "depth %zu", depths[k]);
        if (status != SKN_OK)
            cr_expect_str_eq(error.text, "header byte 8: nested deeper than 8");
        bytes[depths[k] - 1] = 0x80; /* an empty map is a level too */
        status = skn_walk_check(bytes, depths[k], &error);
        cr_expect_eq(status == SKN_OK, depths[k] <= SKN_HEADER_DEPTH_MAX);
    }
}

Test(walk, values_are_bounded_at_4096)
{
    static uint8_t bytes[3 + 5000];
    for (size_t count = 4090; count < 4100; count++) {
        skn_error_t error = { SKN_OK, "", "" };
        memset(bytes, 0xc0, sizeof(bytes));
        bytes[0] = 0xdc;
        bytes[1] = (uint8_t)(count >> 8);
        bytes[2] = (uint8_t)count;
        skn_status_t status = skn_walk_check(bytes, 3 + count, &error);
        /* The array is a value as well. */
        cr_expect_eq(status == SKN_OK, count + 1 <= SKN_HEADER_NODES_MAX);
        if (status != SKN_OK)
            cr_expect_str_eq(error.text,
                             "header byte 4098: more than 4096 values");
    }
}

Test(walk, bytes_are_bounded_at_65536)
{
    static uint8_t bytes[SKN_HEADER_BYTES_MAX + 1];
    uint32_t length = SKN_HEADER_BYTES_MAX - 5;
    bytes[0] = 0xdb;
    bytes[2] = (uint8_t)(length >> 16);
    bytes[3] = (uint8_t)(length >> 8);
    bytes[4] = (uint8_t)length;
    expect_ok(bytes, SKN_HEADER_BYTES_MAX);
    expect_text(bytes, SKN_HEADER_BYTES_MAX + 1,
                "header: 65537 bytes, at most 65536 allowed");
}

/* --- against the oracles -------------------------------------------------- */

/* Bytes that the value at `at` takes, or 0 if it is not allowed. */
static size_t
oracle_value(const uint8_t *at, size_t left, unsigned depth)
{
    if (left == 0)
        return 0;
    uint8_t first = *at;
    size_t width = 0, body = 0, children = 0;
    bool nested = false;
    if (first <= 0x7f || first >= 0xe0 || first == 0xc0 || first == 0xc2 ||
        first == 0xc3)
        return 1;
    if (first <= 0x8f)
        children = (first & 15u) * 2, nested = true;
    else if (first <= 0x9f)
        children = first & 15u, nested = true;
    else if (first <= 0xbf)
        body = first & 31u;
    else if (first >= 0xc4 && first <= 0xc6)
        width = (size_t)1 << (first - 0xc4);
    else if (first >= 0xd9 && first <= 0xdb)
        width = (size_t)1 << (first - 0xd9);
    else if (first == 0xdc || first == 0xde)
        width = 2, nested = true;
    else if (first == 0xdd || first == 0xdf)
        width = 4, nested = true;
    else if (first == 0xca)
        body = 4;
    else if (first == 0xcb)
        body = 8;
    else if (first >= 0xcc && first <= 0xcf)
        body = (size_t)1 << (first - 0xcc);
    else if (first >= 0xd0 && first <= 0xd3)
        body = (size_t)1 << (first - 0xd0);
    else
        return 0;
    if (1 + width > left)
        return 0;
    size_t length = 0;
    for (size_t k = 0; k < width; k++)
        length = length * 256 + at[1 + k];
    if (!nested)
        return 1 + width + body + length <= left ? 1 + width + body + length
                                                 : 0;
    children += length * (first >= 0xde ? 2 : 1);
    if (depth == 8 || children > left - 1 - width)
        return 0;
    size_t used = 1 + width;
    for (; children > 0; children--) {
        size_t more = oracle_value(at + used, left - used, depth + 1);
        if (more == 0)
            return 0;
        used += more;
    }
    return used;
}

Test(walk, random_bytes_are_judged_like_the_oracle_does)
{
    size_t accepted_count = 0;
    for (uint64_t seed = 1; seed <= 200000; seed++) {
        oracle_random_t random = { seed };
        uint8_t bytes[24];
        size_t byte_count = oracle_next(&random) % (sizeof(bytes) + 1);
        for (size_t k = 0; k < byte_count; k++) {
            uint32_t number = oracle_next(&random);
            /* Openers and small lengths more often than by chance. */
            static const uint8_t openers[] = { 0x91, 0x92, 0x81, 0xa1, 0xd9,
                                               0xdc, 0xc4, 0xcc, 0x00, 0x01 };
            bytes[k] = number & 0x100 ? (uint8_t)number
                                      : openers[number % sizeof(openers)];
        }
        bool want =
            byte_count > 0 && oracle_value(bytes, byte_count, 0) == byte_count;
        bool got = skn_walk_check(bytes, byte_count, NULL) == SKN_OK;
        cr_assert_eq(got, want, "seed %llu", (unsigned long long)seed);
        if (!got)
            continue;
        accepted_count++;
        msgpack_unpacked unpacked;
        msgpack_unpacked_init(&unpacked);
        size_t offset = 0;
        cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)bytes,
                                         byte_count, &offset),
                     MSGPACK_UNPACK_SUCCESS, "seed %llu",
                     (unsigned long long)seed);
        cr_assert_eq(offset, byte_count);
        msgpack_unpacked_destroy(&unpacked);
    }
    cr_assert_gt(accepted_count, 1000, "only %zu", accepted_count);
}

Test(walk, every_truncation_of_a_header_is_refused)
{
    static const uint8_t bytes[] = { 0x95, 0xcd, 0x03, 0xe8, 0xa2, 'h', 'i',
                                     0x91, 0x05, 0xcb, 0,    0,    0,   0,
                                     0,    0,    0,    0,    0xcc, 0xff };
    expect_ok(bytes, sizeof(bytes));
    for (size_t byte_count = 0; byte_count < sizeof(bytes); byte_count++) {
        /* A heap copy of this length: the sanitizer sees a byte too far. */
        uint8_t *cut = malloc(byte_count + 1);
        cr_assert(cut);
        uint8_t *start = cut + 1;
        memcpy(start, bytes, byte_count);
        cr_expect_eq(skn_walk_check(start, byte_count, NULL), SKN_BAD_MESSAGE);
        free(cut);
    }
}
