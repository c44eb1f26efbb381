/* test_coding_numbers.c - tests coded arrays of 32-bit numbers: every form, the
 * choice between them, and invalid bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "transport/message/coding_runs.h"

#define ITEMS_MAX 300u

/* Writes, reads back, compares; returns the bytes, 0 if it is sent as it is. */
static size_t
round_trip(skn_coded_kind_t kind, const uint32_t *x, size_t count, uint8_t *to)
{
    size_t bytes = skn_numbers_write(kind, x, count, to);
    cr_assert(bytes == 0 || bytes < 4 * count);
    if (bytes == 0)
        return 0;
    uint8_t *copy = malloc(bytes);
    uint32_t *back = malloc(4 * count);
    cr_assert(copy && back);
    memcpy(copy, to, bytes);
    cr_assert(skn_numbers_read(copy, bytes, back, count), "form %u", *to);
    cr_assert_arr_eq(back, x, 4 * count, "form %u", *to);
    free(copy);
    free(back);
    return bytes;
}

static void
expect_form(skn_coded_kind_t kind, const uint32_t *x, size_t count,
            skn_number_form_t form, size_t bytes)
{
    uint8_t to[4 * ITEMS_MAX] = { 0 };
    cr_expect_eq(round_trip(kind, x, count, to), bytes);
    cr_expect_eq(to[0], form, "form %u", to[0]);
}

Test(coding_numbers, small_numbers_take_a_byte_each)
{
    static const uint32_t x[] = { 0, 127, 5, 0, 1 };
    expect_form(SKN_CODED_small, x, 5, SKN_NUMBERS_VARINT, 6);
    expect_form(SKN_CODED_ascending, x, 5, SKN_NUMBERS_VARINT, 6);
}

Test(coding_numbers, a_varint_grows_by_a_byte_every_seven_bits)
{
    static const struct {
        uint32_t number;
        size_t bytes;
    } cases[] = { { 0, 1 },         { 127, 1 },       { 128, 2 },
                  { 16383, 2 },     { 16384, 3 },     { 0x1fffff, 3 },
                  { 0x200000, 4 },  { 0xfffffff, 4 }, { 0x10000000, 5 },
                  { UINT32_MAX, 5 } };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        uint32_t x[20] = { 0 };
        x[7] = cases[k].number;
        expect_form(SKN_CODED_small, x, 20, SKN_NUMBERS_VARINT,
                    1 + 19 + cases[k].bytes);
    }
}

Test(coding_numbers, ascending_numbers_are_differences)
{
    static const uint32_t x[] = { 100000, 101000, 101000, 101001, 300000 };
    expect_form(SKN_CODED_ascending, x, 5, SKN_NUMBERS_DELTA,
                1 + 3 + 2 + 1 + 1 + 3);
}

Test(coding_numbers, runs_of_ascending_numbers_are_signed_differences)
{
    static const uint32_t x[] = { 1000000, 1000009, 1000020, 1000003, 1000005 };
    expect_form(SKN_CODED_ascending, x, 5, SKN_NUMBERS_ZIGZAG,
                1 + 3 + 1 + 1 + 1 + 1);
}

Test(coding_numbers, dense_ascending_numbers_are_a_bitmap)
{
    uint32_t x[64];
    for (uint32_t k = 0; k < 64; k++)
        x[k] = 0xffffff00u + 3 * k;
    expect_form(SKN_CODED_ascending, x, 64, SKN_NUMBERS_BITMAP,
                1 + 4 + 3 * 63 / 8 + 1);
    x[63] = UINT32_MAX;
    (void)round_trip(SKN_CODED_ascending, x, 64, (uint8_t[256]){ 0 });
}

Test(coding_numbers, the_forms_are_as_documented)
{
    static const uint32_t varint[] = { 1, 300, 2 };
    static const uint8_t varint_want[] = { 1, 1, 0xac, 2, 2 };
    static const uint32_t delta[] = { 300, 301, 301 };
    static const uint8_t delta_want[] = { 2, 0xac, 2, 1, 0 };
    static const uint32_t zigzag[] = { 300, 299, 301 };
    static const uint8_t zigzag_want[] = { 3, 0xd8, 4, 1, 4 };
    static const uint32_t bitmap[] = { 1000, 1001, 1003, 1004,
                                       1005, 1006, 1009, 1010 };
    static const uint8_t bitmap_want[] = { 4, 0xe8, 3, 0, 0, 0x7b, 6 };
    uint8_t to[64];
    cr_assert_eq(skn_numbers_write(SKN_CODED_small, varint, 3, to), 5);
    cr_expect_arr_eq(to, varint_want, 5);
    cr_assert_eq(skn_numbers_write(SKN_CODED_ascending, delta, 3, to), 5);
    cr_expect_arr_eq(to, delta_want, 5);
    cr_assert_eq(skn_numbers_write(SKN_CODED_ascending, zigzag, 3, to), 5);
    cr_expect_arr_eq(to, zigzag_want, 5);
    cr_assert_eq(skn_numbers_write(SKN_CODED_ascending, bitmap, 8, to), 7);
    cr_expect_arr_eq(to, bitmap_want, 7);
}

Test(coding_numbers, what_does_not_shrink_is_sent_as_it_is)
{
    static const uint32_t x[] = { 0x80000000u, 1, 0x80000000u, 3, UINT32_MAX };
    uint8_t to[sizeof(x)];
    cr_expect_eq(round_trip(SKN_CODED_small, x, 1, to), 0);
    cr_expect_eq(round_trip(SKN_CODED_ascending, x, 1, to), 0);
    cr_expect_eq(round_trip(SKN_CODED_small, x, 0, to), 0);
}

Test(coding_numbers, random_runs_come_back)
{
    oracle_random_t random = { 4 };
    uint32_t x[ITEMS_MAX];
    uint8_t to[4 * ITEMS_MAX];
    size_t seen[5] = { 0 };
    for (size_t trial = 0; trial < 20000; trial++) {
        size_t count = oracle_next(&random) % (ITEMS_MAX + 1);
        uint32_t shift = oracle_next(&random) % 32, base = oracle_next(&random);
        uint32_t rise = oracle_next(&random) % 3;
        uint32_t reset = 2 + oracle_next(&random) % 100;
        for (size_t k = 0; k < count; k++) {
            uint32_t draw = oracle_next(&random) >> shift;
            uint32_t last = k > 0 ? x[k - 1] : base >> shift;
            x[k] = rise == 0                   ? draw
                   : k % reset == reset - 1    ? base
                   : last >= UINT32_MAX - draw ? last
                                               : last + draw + rise - 1;
        }
        skn_coded_kind_t kind =
            trial % 2 ? SKN_CODED_small : SKN_CODED_ascending;
        seen[round_trip(kind, x, count, to) > 0 ? to[0] : 0]++;
    }
    for (size_t form = 0; form < 5; form++)
        cr_expect(seen[form] > 30, "form %zu: %zu", form, seen[form]);
}

/* --- bytes that are no run ------------------------------------------------ */

static bool
reads(const uint8_t *bytes, size_t byte_count, size_t count)
{
    uint8_t *copy = malloc(byte_count + 1);
    uint32_t *x = malloc(4 * count + 1);
    cr_assert(copy && x);
    if (byte_count > 0)
        memcpy(copy + 1, bytes, byte_count);
    bool good = skn_numbers_read(copy + 1, byte_count, x, count);
    free(copy);
    free(x);
    return good;
}

#define READS(count, ...)                                                      \
    reads((const uint8_t[]){ __VA_ARGS__ },                                    \
          sizeof((const uint8_t[]){ __VA_ARGS__ }), count)

Test(coding_numbers, only_whole_and_known_forms_are_read)
{
    cr_expect(READS(1, 1, 7));
    cr_expect_not(reads(NULL, 0, 0));
    cr_expect_not(READS(1, 0, 7));
    cr_expect_not(READS(1, 5, 7));
    cr_expect_not(READS(1, 0xff, 7));
    cr_expect_not(READS(1, 1));
    cr_expect_not(READS(2, 1, 7));
    cr_expect_not(READS(1, 1, 7, 7));
    cr_expect(READS(1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f));
    cr_expect_not(READS(1, 1, 0xff, 0xff, 0xff, 0xff, 0x1f), "33 bits");
    cr_expect_not(READS(1, 1, 0xff, 0xff, 0xff, 0xff, 0x8f, 0), "6 bytes");
    cr_expect_not(READS(1, 1, 0xff), "more is announced");
    cr_expect(READS(2, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0));
    cr_expect_not(READS(2, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1), "2^32");
    cr_expect(READS(2, 3, 0, 1), "-1 is UINT32_MAX");
}

Test(coding_numbers, a_bitmap_has_its_first_and_last_byte)
{
    cr_expect(READS(1, 4, 9, 0, 0, 0, 1));
    cr_expect_not(READS(1, 4, 9, 0, 0, 0));
    cr_expect_not(READS(0, 4, 9, 0, 0, 0));
    cr_expect_not(READS(1, 4, 9, 0, 0));
    cr_expect_not(READS(1, 4, 9, 0, 0, 0, 2), "the first is the first");
    cr_expect_not(READS(1, 4, 9, 0, 0, 0, 1, 0), "the last is the last");
    cr_expect_not(READS(2, 4, 9, 0, 0, 0, 1), "too few");
    cr_expect_not(READS(1, 4, 9, 0, 0, 0, 3), "too many");
    cr_expect(READS(2, 4, 0xf8, 0xff, 0xff, 0xff, 0x81));
    cr_expect_not(READS(2, 4, 0xf9, 0xff, 0xff, 0xff, 0x81), "2^32");
}

Test(coding_numbers, any_bytes_are_read_or_refused)
{
    oracle_random_t random = { 6 };
    uint8_t bytes[32];
    size_t good = 0;
    for (size_t trial = 0; trial < 100000; trial++) {
        size_t byte_count = oracle_next(&random) % sizeof(bytes);
        for (size_t k = 0; k < byte_count; k++)
            bytes[k] = (uint8_t)(oracle_next(&random) & 0x8f);
        bytes[0] = (uint8_t)(oracle_next(&random) % 6);
        good += reads(bytes, byte_count, oracle_next(&random) % 32);
    }
    cr_expect(good > 100, "%zu", good);
}
