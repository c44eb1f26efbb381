/* coding_fixture.h - sends messages through the coding of a link and back, for
 * the tests of the codings.
 *
 * Included by one source of a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CODING_FIXTURE_H
#define TESTS_SUPPORT_CODING_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/coded_messages.h"
#include "tests/support/coding_words.h"
#include "tests/support/oracle.h"
#include "transport/message/coding.h"

#define MIB ((size_t)1 << 20)
#define EACH_CODING(coding)                                                    \
    for (skn_coding_t coding = SKN_CODING_F32; coding < SKN_CODING_COUNT;      \
         coding++)

static skn_pool_t *pool;
static skn_coder_t *coder;

static inline void
set_up(void)
{
    skn_error_t error = { SKN_OK, "", "" };
    pool = skn_pool_new(MIB, &error);
    coder = skn_coder_new(skn_kernels_variant(0), &error);
    cr_assert(pool && coder, "%s", error.text);
}

static inline void
tear_down(void)
{
    skn_pool_destroy(&pool);
    skn_coder_destroy(&coder);
    skn_coder_destroy(&coder);
}

/* Neither success nor refusal keeps a message. */
static inline void
expect_all_home(void)
{
    skn_pool_counts_t counts;
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.out, 0, "%llu messages were never dropped",
                 (unsigned long long)counts.out);
}

/* --- messages to code ----------------------------------------------------- */

/* A value as activations and gradients have them, or a rare odd one. */
static inline float
draw_value(oracle_random_t *random, bool sparse, bool odd)
{
    static const uint32_t odds[] = { 0x80000000u, 0x7fc12345u, 0xff800000u,
                                     1u,          0x7f7fffffu, 0x7f800001u };
    uint32_t draw = oracle_next(random);
    if (sparse && draw % 2)
        return 0.0f;
    if (odd && draw >> 28 == 0)
        return oracle_of_bits(odds[draw >> 4 & 0xff % 6]);
    return ldexpf(oracle_float(random), (int)(draw >> 8 & 15) - 12);
}

static inline void
fill_values(skn_f32s_t run, oracle_random_t *random, bool sparse, bool odd)
{
    for (size_t k = 0; k < run.count; k++)
        run.at[k] = draw_value(random, sparse, odd);
}

/* A message of coded_schema with `rows` rows; `odd`: infinite ones and the
 * like among its values. */
static inline coded_t *
coded_new(uint64_t seed, uint32_t columns, uint32_t rows, bool odd)
{
    oracle_random_t random = { seed };
    size_t sum = 0, rounds = 1 + oracle_next(&random) % 3;
    uint32_t lengths[64];
    cr_assert_leq(rows, 64u);
    for (size_t k = 0; k < rows; k++)
        sum += lengths[k] = oracle_next(&random) % (columns + 1);
    size_t matrix = (size_t)columns * rows;
    size_t counts[] = { matrix,       matrix, rows * 3u, 5,    sum * rounds,
                        sum * rounds, 33,     7,         rows, 2 };
    skn_error_t error = { SKN_OK, "", "" };
    coded_t *coded = skn_payload_new(pool, &coded_schema, counts, &error);
    cr_assert(coded, "%s", error.text);
    coded->columns = columns;
    fill_values(coded->wide, &random, false, odd);
    fill_values(coded->open, &random, true, odd);
    fill_values(coded->ragged, &random, false, odd);
    fill_values(coded->holes, &random, true, odd);
    fill_values(coded->flat, &random, true, odd);
    fill_values(coded->plain, &random, false, odd);
    for (size_t k = 0; k < coded->unit.count; k++)
        coded->unit.at[k] = (k > 0 ? coded->unit.at[k - 1] : 0) +
                            (oracle_next(&random) >> (seed % 31));
    if (rows > 0)
        memcpy(coded->late.at, lengths, rows * sizeof(lengths[0]));
    memset((char *)(uintptr_t)coded->title, 'x', 5);
    coded->norm.at[0] = coded->norm.at[1] = -0.0;
    return coded;
}

/* Whether two runs are bit for bit the same. */
static inline bool
same(skn_f32s_t a, skn_f32s_t b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.at, b.at, 4 * a.count) == 0);
}

static inline bool
same_numbers(skn_u32s_t a, skn_u32s_t b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.at, b.at, 4 * a.count) == 0);
}

/* --- there and back ------------------------------------------------------- */

/* The frames, each in memory of its own length and at an odd address: a
 * sanitizer sees every byte that is read too far. */
typedef struct frames {
    size_t count;
    skn_frame_t at[SKN_FRAMES_MAX];
} frames_t;

static inline skn_frame_t
frame_copy(const void *bytes, size_t byte_count)
{
    char *copy = malloc(byte_count + 1);
    cr_assert(copy);
    if (byte_count > 0)
        memcpy(copy + 1, bytes, byte_count);
    return (skn_frame_t){ copy + 1, byte_count };
}

static inline void
frame_free(skn_frame_t frame)
{
    free((char *)(uintptr_t)frame.at - 1);
}

static inline frames_t
frames_new(const skn_schema_t *schema, const void *message, skn_coding_t coding,
           uint64_t key)
{
    skn_wire_t wire;
    skn_error_t error = { SKN_OK, "", "" };
    frames_t frames;
    cr_assert_eq(
        skn_coding_encode(schema, message, coding, key, coder, &wire, &error),
        SKN_OK, "%s", error.text);
    frames.count = wire.frame_count;
    for (size_t k = 0; k < wire.frame_count; k++)
        frames.at[k] = frame_copy(wire.frame[k].at, wire.frame[k].bytes);
    return frames;
}

static inline void
frames_free(frames_t *frames)
{
    for (size_t k = 0; k < frames->count; k++)
        frame_free(frames->at[k]);
}

static inline size_t
frames_bytes(const frames_t *frames)
{
    size_t bytes = 0;
    for (size_t k = 0; k < frames->count; k++)
        bytes += frames->at[k].bytes;
    return bytes;
}

/* NULL if it was refused; what is accepted must be valid. */
static inline void *
decode(const skn_schema_t *schema, const frames_t *frames)
{
    void *message = NULL;
    skn_error_t error = { SKN_OK, "", "" };
    skn_status_t status =
        skn_coding_decode(schema, frames->at, frames->count, 64 * MIB, coder,
                          pool, &message, &error);
    if (status != SKN_OK) {
        cr_assert_null(message);
        cr_assert_eq(status, SKN_BAD_MESSAGE, "%s", error.text);
        cr_assert_neq(error.text[0], '\0');
        return NULL;
    }
    cr_assert_eq(skn_validate(schema, message, &error), SKN_OK, "%s",
                 error.text);
    return message;
}

static inline void *
over_and_back(const skn_schema_t *schema, const void *message,
              skn_coding_t coding, uint64_t key)
{
    frames_t frames = frames_new(schema, message, coding, key);
    void *got = decode(schema, &frames);
    cr_assert(got, "%s in %s", schema->name, coding_word(coding));
    frames_free(&frames);
    return got;
}

#endif
