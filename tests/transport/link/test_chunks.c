/* test_chunks.c - tests a window of a stream in chunks against one long array.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "transport/link/chunks.h"

#define WHOLE (20 * SKN_STREAM_CHUNK_BYTES)

Test(chunks, what_is_written_anywhere_is_read_again)
{
    static uint8_t array[WHOLE], piece[WHOLE];
    skn_chunks_t chunks = { 0 };
    oracle_random_t random = { 11 };
    uint64_t trimmed = 0;
    for (int round = 0; round < 3000; round++) {
        size_t from = trimmed + oracle_next(&random) % (WHOLE - trimmed);
        size_t count = oracle_next(&random) % (3 * SKN_STREAM_CHUNK_BYTES);
        count = count < WHOLE - from ? count : WHOLE - from;
        for (size_t k = 0; k < count; k++)
            array[from + k] = (uint8_t)oracle_next(&random);
        cr_assert_eq(skn_chunks_reserve(&chunks, from, from + count, NULL),
                     SKN_OK);
        skn_chunks_write(&chunks, from, array + from, count);
        skn_chunks_read(&chunks, from, piece, count);
        cr_assert_eq(memcmp(piece, array + from, count), 0);
        if (round % 300 == 299) {
            trimmed += SKN_STREAM_CHUNK_BYTES + 5;
            skn_chunks_trim(&chunks, trimmed);
        }
    }
    cr_expect_leq(chunks.chunk_count, 20u);
    skn_chunks_fini(&chunks);
    cr_expect_eq(skn_chunks_memory_bytes(&chunks), 0);
}

/* A window moves over a stream without end: memory stays what it was. */
Test(chunks, a_window_that_moves_keeps_its_memory)
{
    skn_chunks_t chunks = { 0 };
    uint8_t byte = 0, got = 0;
    uint64_t window = 5 * SKN_STREAM_CHUNK_BYTES, most = 0;
    for (uint64_t at = 0; at < 400 * SKN_STREAM_CHUNK_BYTES; at += 12345) {
        byte = (uint8_t)(at >> 3);
        cr_assert_eq(
            skn_chunks_reserve(&chunks, at + window - 1, at + window, NULL),
            SKN_OK);
        skn_chunks_write(&chunks, at + window - 1, &byte, 1);
        skn_chunks_read(&chunks, at + window - 1, &got, 1);
        cr_assert_eq(got, byte);
        skn_chunks_trim(&chunks, at);
        most = chunks.chunk_count > most ? chunks.chunk_count : most;
    }
    cr_expect_leq(most, 7);
    cr_expect_leq(chunks.slot_count, 8);
    skn_chunks_fini(&chunks);
}

Test(chunks, only_what_is_reserved_takes_memory)
{
    skn_chunks_t chunks = { 0 };
    uint64_t far = 100 * SKN_STREAM_CHUNK_BYTES;
    cr_assert_eq(skn_chunks_reserve(&chunks, 0, 0, NULL), SKN_OK);
    cr_expect_eq(chunks.chunk_count, 0);
    cr_assert_eq(skn_chunks_reserve(&chunks, far, far + 1, NULL), SKN_OK);
    cr_expect_eq(chunks.chunk_count, 1);
    cr_assert_eq(skn_chunks_reserve(&chunks, 0, 1, NULL), SKN_OK);
    cr_expect_eq(chunks.chunk_count, 2);
    cr_assert_eq(skn_chunks_reserve(&chunks, SKN_STREAM_CHUNK_BYTES - 1,
                                    SKN_STREAM_CHUNK_BYTES + 1, NULL),
                 SKN_OK);
    cr_expect_eq(chunks.chunk_count, 3);
    skn_chunks_trim(&chunks,
                    SKN_STREAM_CHUNK_BYTES); /* the first is wholly below */
    cr_expect_eq(chunks.chunk_count, 2);
    skn_chunks_trim(&chunks, far + SKN_STREAM_CHUNK_BYTES);
    cr_expect_eq(chunks.chunk_count, 0);
    skn_chunks_trim(&chunks, 3 * far); /* beyond all of it */
    cr_assert_eq(skn_chunks_reserve(&chunks, 3 * far, 3 * far + 1, NULL),
                 SKN_OK);
    cr_expect_eq(chunks.chunk_count, 1);
    skn_chunks_fini(&chunks);
}

Test(chunks, a_row_ends_with_its_chunk)
{
    skn_chunks_t chunks = { 0 };
    size_t row = 0;
    cr_assert_eq(
        skn_chunks_reserve(&chunks, 0, 2 * SKN_STREAM_CHUNK_BYTES, NULL),
        SKN_OK);
    const uint8_t *first = skn_chunks_at(&chunks, 0, &row);
    cr_expect_eq(row, SKN_STREAM_CHUNK_BYTES);
    cr_expect_eq(skn_chunks_at(&chunks, SKN_STREAM_CHUNK_BYTES - 1, &row),
                 first + SKN_STREAM_CHUNK_BYTES - 1);
    cr_expect_eq(row, 1);
    (void)skn_chunks_at(&chunks, SKN_STREAM_CHUNK_BYTES, &row);
    cr_expect_eq(row, SKN_STREAM_CHUNK_BYTES);
    skn_chunks_fini(&chunks);
}
