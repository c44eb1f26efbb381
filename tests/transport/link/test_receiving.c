/* test_receiving.c - tests that fragments in any order become records, once and
 * in order.
 *
 * The stream is written by hand here, so that it may be wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "transport/link/receiving.h"

#define WINDOW 1000u

static skn_receiving_t *
receiving_new(size_t window, size_t record_max)
{
    skn_receiving_t *receiving = calloc(1, sizeof(*receiving));
    cr_assert(receiving);
    skn_receiving_init(receiving, window, record_max);
    receiving->granted = skn_receiving_credit(receiving);
    return receiving;
}

static void
receiving_free(skn_receiving_t *receiving)
{
    skn_receiving_fini(receiving);
    free(receiving);
}

static skn_stretch_fate_t
take(skn_receiving_t *receiving, uint64_t offset, const void *bytes,
     size_t count)
{
    return skn_receiving_take(receiving, offset, (skn_frame_t){ bytes, count });
}

static void
expect_record(skn_receiving_t *receiving, const char *want)
{
    skn_frame_t record;
    skn_error_t error = { 0 };
    cr_assert(skn_receiving_record(receiving, &record, &error), "no '%s'",
              want);
    cr_assert_eq(record.bytes, strlen(want));
    cr_expect_eq(memcmp(record.at, want, record.bytes), 0, "not '%s'", want);
}

static void
expect_none(skn_receiving_t *receiving)
{
    skn_frame_t record;
    skn_error_t error = { 0 };
    cr_expect_not(skn_receiving_record(receiving, &record, &error));
    cr_expect_eq(error.status, SKN_OK, "%s", error.text);
}

Test(receiving, records_come_out_in_order)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, 100);
    expect_none(receiving);
    cr_expect_eq(take(receiving, 0, "\3one\3tw", 7), SKN_STRETCH_NEXT);
    expect_record(receiving, "one");
    expect_none(receiving);
    cr_expect_eq(take(receiving, 7, "o\5three\0", 8), SKN_STRETCH_NEXT);
    expect_record(receiving, "two");
    expect_record(receiving, "three");
    cr_expect_neq(receiving->head, SKN_NEXT_RECORD_ENDED);
    expect_none(receiving);
    cr_expect_eq(receiving->head, SKN_NEXT_RECORD_ENDED);
    expect_none(receiving);
    cr_expect_eq(receiving->record_count, 3);
    cr_expect_eq(receiving->record_bytes_total, 11);
    receiving_free(receiving);
}

Test(receiving, gaps_are_kept_open_and_closed)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, 100);
    const char *stream = "\11abcdefghi";
    cr_expect_eq(take(receiving, 4, stream + 4, 2), SKN_STRETCH_EARLY);
    cr_expect_eq(take(receiving, 8, stream + 8, 2), SKN_STRETCH_EARLY);
    cr_expect_eq(take(receiving, 4, stream + 4, 2), SKN_STRETCH_DUPLICATE);
    cr_expect_eq(take(receiving, 5, stream + 5, 1), SKN_STRETCH_DUPLICATE);
    cr_expect_eq(receiving->held_count, 2);
    cr_expect_eq(take(receiving, 2, stream + 2, 3), SKN_STRETCH_EARLY);
    cr_expect_eq(receiving->held_count, 2); /* it joined the first */
    cr_expect_eq(receiving->held[0].from, 2);
    cr_expect_eq(receiving->held[0].to, 6);
    cr_expect_eq(receiving->arrived, 0);
    cr_expect_eq(take(receiving, 0, stream, 2), SKN_STRETCH_NEXT);
    cr_expect_eq(receiving->arrived, 6);
    cr_expect_eq(take(receiving, 0, stream, 6), SKN_STRETCH_DUPLICATE);
    cr_expect_eq(take(receiving, 3, stream + 3, 7), SKN_STRETCH_NEXT);
    cr_expect_eq(receiving->arrived, 10);
    cr_expect_eq(receiving->held_count, 0);
    expect_record(receiving, "abcdefghi");
    receiving_free(receiving);
}

Test(receiving, at_most_256_stretches_are_held)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, 999);
    uint8_t stream[WINDOW];
    memset(stream, 'x', sizeof(stream));
    stream[0] = 0x80 | 998 % 128;
    stream[1] = 998 / 128;
    for (uint64_t k = 0; k < SKN_STRETCHES_MAX; k++)
        cr_assert_eq(take(receiving, 2 * k + 1, stream + 2 * k + 1, 1),
                     SKN_STRETCH_EARLY);
    cr_expect_eq(take(receiving, 2 * SKN_STRETCHES_MAX + 1, stream, 1),
                 SKN_STRETCH_GAPS);
    /* One that joins two is still welcome, and makes room. */
    cr_expect_eq(take(receiving, 2, stream + 2, 1), SKN_STRETCH_EARLY);
    cr_expect_eq(receiving->held_count, SKN_STRETCHES_MAX - 1);
    cr_expect_eq(take(receiving, 0, stream, WINDOW), SKN_STRETCH_NEXT);
    cr_expect_eq(receiving->held_count, 0);
    cr_expect_eq(receiving->arrived, WINDOW);
    receiving_free(receiving);
}

Test(receiving, nothing_beyond_the_credit_is_kept)
{
    skn_receiving_t *receiving = receiving_new(4, 100);
    cr_expect_eq(take(receiving, 0, "\5abcd", 5), SKN_STRETCH_CREDIT);
    cr_expect_eq(take(receiving, 4, "d", 1), SKN_STRETCH_CREDIT);
    cr_expect_eq(take(receiving, 0, "\5abc", 4), SKN_STRETCH_NEXT);
    cr_expect_eq(skn_receiving_credit(receiving), 4);
    expect_none(receiving); /* moves them into the record at the head */
    cr_expect_eq(skn_receiving_credit(receiving), 8);
    cr_expect_eq(take(receiving, 4, "d", 1), SKN_STRETCH_CREDIT); /* not told */
    receiving->granted = 8;
    cr_expect_eq(take(receiving, 4, "de\1x", 4), SKN_STRETCH_NEXT);
    expect_record(receiving, "abcde");
    /* A record that is lent lets nothing behind it move. */
    cr_expect(skn_receiving_fill(receiving, NULL));
    cr_expect_eq(skn_receiving_credit(receiving), 10);
    expect_record(receiving, "x");
    cr_expect_eq(skn_receiving_credit(receiving), 12);
    receiving_free(receiving);
}

/* Even a window of one byte, smaller than the length of the record. */
Test(receiving, a_record_larger_than_the_window_gets_through)
{
    static uint8_t stream[20000];
    for (size_t window = 1; window < 300; window = window * 3 + 1) {
        skn_receiving_t *receiving = receiving_new(window, sizeof(stream));
        size_t bytes = sizeof(stream) - 3;
        memset(stream, 'y', sizeof(stream));
        stream[0] = (uint8_t)(0x80 | bytes % 128);
        stream[1] = (uint8_t)(0x80 | bytes / 128 % 128);
        stream[2] = (uint8_t)(bytes / 16384);
        skn_frame_t record;
        size_t at = 0;
        while (!skn_receiving_record(receiving, &record, NULL)) {
            cr_assert_lt(at, sizeof(stream));
            receiving->granted = skn_receiving_credit(receiving);
            size_t count = receiving->granted - at;
            count = count < sizeof(stream) - at ? count : sizeof(stream) - at;
            cr_assert_gt(count, 0, "stuck at %zu", at);
            cr_assert_eq(take(receiving, at, stream + at, count),
                         SKN_STRETCH_NEXT);
            cr_assert(skn_receiving_fill(receiving, NULL));
            at += count;
        }
        cr_expect_eq(record.bytes, bytes);
        cr_expect_eq(memcmp(record.at, stream + 3, bytes), 0);
        cr_expect_leq(receiving->capacity, bytes);
        receiving_free(receiving);
    }
}

static void
expect_broken(const char *stream, size_t count, const char *want)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, 100);
    skn_frame_t record;
    skn_error_t error = { 0 };
    cr_assert_eq(take(receiving, 0, stream, count), SKN_STRETCH_NEXT);
    cr_expect_not(skn_receiving_record(receiving, &record, &error));
    cr_expect_eq(error.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(receiving->head, SKN_NEXT_RECORD_BROKEN);
    cr_expect_not(skn_receiving_record(receiving, &record, &error));
    receiving_free(receiving);
}

Test(receiving, streams_that_make_no_sense_are_broken_off)
{
    expect_broken("\x65", 1, "a record of 101 bytes, at most 100 allowed");
    expect_broken("\xff\xff\xff\xff\xff", 5,
                  "a record of 34359738367 bytes or more, at most 100 allowed");
    expect_broken("\0x", 2, "bytes after the end of the stream");
}

Test(receiving, bytes_held_behind_the_end_break_the_stream)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, 100);
    skn_error_t error = { 0 };
    cr_assert_eq(take(receiving, 5, "x", 1), SKN_STRETCH_EARLY);
    cr_assert_eq(take(receiving, 0, "", 1), SKN_STRETCH_NEXT);
    cr_expect_not(skn_receiving_fill(receiving, &error));
    cr_expect_str_eq(error.text, "bytes after the end of the stream");
    receiving_free(receiving);
}

Test(receiving, the_longest_record_is_100_bytes_when_that_is_the_limit)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, 100);
    char stream[102] = "\x64", want[101] = "";
    memset(stream + 1, 'z', 100);
    memset(want, 'z', 100);
    cr_assert_eq(take(receiving, 0, stream, 101), SKN_STRETCH_NEXT);
    expect_record(receiving, want);
    receiving_free(receiving);
}

/* Five bytes that announce a gigabyte take no more than a few. */
Test(receiving, an_announced_length_takes_no_memory)
{
    skn_receiving_t *receiving = receiving_new(WINDOW, (size_t)1 << 30);
    cr_assert_eq(take(receiving, 0, "\x80\x80\x80\x80\4x", 6),
                 SKN_STRETCH_NEXT);
    cr_expect(skn_receiving_fill(receiving, NULL));
    cr_expect_eq(receiving->record_bytes, (size_t)1 << 30);
    cr_expect_leq(receiving->capacity, 4096);
    receiving_free(receiving);
}

/* Any cutting, repeating and shuffling within the window: the same records. */
Test(receiving, disorder_changes_nothing)
{
    static uint8_t stream[40000];
    size_t bytes = 0, records = 0;
    oracle_random_t random = { 3 };
    while (bytes < sizeof(stream) - 200) {
        size_t length = 1 + oracle_next(&random) % 127;
        stream[bytes++] = (uint8_t)length;
        for (size_t k = 0; k < length; k++)
            stream[bytes++] = (uint8_t)(records + k);
        records++;
    }
    for (int round = 0; round < 20; round++) {
        skn_receiving_t *receiving = receiving_new(WINDOW, 200);
        skn_frame_t record;
        size_t taken = 0, at = 0;
        while (taken < records) {
            receiving->granted = skn_receiving_credit(receiving);
            size_t from = receiving->arrived + oracle_next(&random) % 700;
            from = oracle_next(&random) % 2 ? receiving->arrived : from;
            from = from < 50 ? 0 : from - oracle_next(&random) % 50;
            size_t count = 1 + oracle_next(&random) % 100;
            if (from >= bytes)
                from = bytes - 1;
            count = count < bytes - from ? count : bytes - from;
            (void)take(receiving, from, stream + from, count);
            while (skn_receiving_record(receiving, &record, NULL)) {
                cr_assert_eq(record.bytes, stream[at]);
                cr_assert_eq(memcmp(record.at, stream + at + 1, record.bytes),
                             0);
                at += record.bytes + 1;
                taken++;
            }
        }
        receiving_free(receiving);
    }
}
