/* test_coding_values.c - tests coded arrays of floats: the layout of every
 * form, long rows that are cut into pieces, scales at the ends of the range,
 * and invalid bytes. Whole messages: test_coding.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "transport/message/coding_runs.h"

#define KEY 11u
#define STREAM 3u

static const skn_kernels_t *
kernels_of(size_t trial)
{
    const skn_kernels_t *kernels = skn_kernels_variant((unsigned)(trial % 3));
    return kernels ? kernels : skn_kernels_variant(0);
}

static size_t
write_rows(skn_coding_t coding, bool sparse, const skn_coded_rows_t *rows,
           const float *x, size_t count, uint8_t *to)
{
    return skn_values_write(kernels_of(count), coding, sparse, rows, x, count,
                            KEY, STREAM, to);
}

/* Reads `bytes` from memory of just that size; the caller frees what comes,
 * NULL if they are refused. */
static float *
read_rows(bool sparse, const skn_coded_rows_t *rows, const uint8_t *from,
          size_t bytes, size_t count)
{
    uint8_t *copy = malloc(bytes + 1);
    float *x = malloc(count * sizeof(*x) + 1);
    cr_assert(copy && x);
    if (bytes > 0)
        memcpy(copy + 1, from, bytes);
    bool good = skn_values_read(kernels_of(bytes), sparse, rows, copy + 1,
                                bytes, x, count);
    free(copy);
    if (good)
        return x;
    free(x);
    return NULL;
}

/* --- layout --------------------------------------------------------------- */

static const float few[6] = { 1.0f, 0.0f, -7.0f, 0.0f, 0.0f, 3.0f };

Test(coding_values, bf16_is_the_upper_halves)
{
    static const uint8_t want[] = { 1, 0x80, 0x3f, 0, 0,    0xe0, 0xc0,
                                    0, 0,    0,    0, 0x40, 0x40 };
    skn_coded_rows_t rows = { .columns = 3, .row_count = 2 };
    uint8_t to[64];
    cr_assert_eq(write_rows(SKN_CODING_BF16, false, &rows, few, 6, to), 13);
    cr_expect_arr_eq(to, want, 13);
}

Test(coding_values, int8_is_a_scale_and_steps_a_row)
{
    static const float x[] = { 127, -127, 3, 0, 64, 127, 63.5f, 0, 0, 0.5f };
    skn_coded_rows_t rows = { .columns = 5, .row_count = 2 };
    static const uint8_t want[] = { 2, 0,  0, 0x80, 0x3f, 127,  129, 3,
                                    0, 64, 0, 0,    0x80, 0x3f, 127 };
    uint8_t to[64];
    cr_assert_eq(write_rows(SKN_CODING_INT8, false, &rows, x, 10, to), 19);
    cr_expect_arr_eq(to, want, sizeof(want));
    cr_expect(to[15] == 63 || to[15] == 64);
    cr_expect(to[16] == 0 && to[17] == 0);
    cr_expect(to[18] == 0 || to[18] == 1);
}

Test(coding_values, int4_is_a_scale_and_two_steps_a_byte)
{
    static const float x[] = { 7, -7, 3, 0, 1, -1, 5, 6, 7, -2 };
    skn_coded_rows_t rows = { .columns = 5, .row_count = 2 };
    static const uint8_t want[] = { 3, 0, 0,    0x80, 0x3f, 0x1f, 0x8b, 0x09,
                                    0, 0, 0x80, 0x3f, 0xd7, 0xfe, 0x06 };
    uint8_t to[64];
    cr_assert_eq(write_rows(SKN_CODING_INT4, false, &rows, x, 10, to), 15);
    cr_expect_arr_eq(to, want, sizeof(want));
}

Test(coding_values, sparse_rows_are_bits_and_the_others)
{
    skn_coded_rows_t rows = { .columns = 3, .row_count = 2 };
    static const uint8_t f32[] = { 0x10, 5,    4,    0, 0, 0x80, 0x3f, 0,
                                   0,    0xe0, 0xc0, 0, 0, 0x40, 0x40 };
    static const uint8_t bf16[] = { 0x11, 5,    4,    0x80, 0x3f,
                                    0xe0, 0xc0, 0x40, 0x40 };
    uint8_t to[64];
    cr_assert_eq(write_rows(SKN_CODING_F32, true, &rows, few, 6, to), 15);
    cr_expect_arr_eq(to, f32, 15);
    cr_assert_eq(write_rows(SKN_CODING_BF16, true, &rows, few, 6, to), 9);
    cr_expect_arr_eq(to, bf16, 9);
    /* In rounded forms wherever there is a zero, even if it is not smaller. */
    static const float almost[6] = { 7, 0, 7, 7, 7, 7 };
    static const uint8_t int4[] = { 0x13, 5, 7, 0,    0,    0x80, 0x3f,
                                    0xff, 0, 0, 0x80, 0x3f, 0xff, 0x0f };
    cr_assert_eq(write_rows(SKN_CODING_INT4, true, &rows, almost, 6, to), 14);
    cr_expect_arr_eq(to, int4, 14);
    float wide[40] = { [7] = 1.0f, [9] = -7.0f };
    rows = (skn_coded_rows_t){ .columns = 20, .row_count = 2 };
    cr_assert_eq(write_rows(SKN_CODING_INT4, true, &rows, wide, 40, to), 12);
    static const uint8_t skipped[] = { 0x13, 0x80, 2, 0,    0,    0,
                                       0,    0,    0, 0x80, 0x3f, 0x19 };
    cr_expect_arr_eq(to, skipped, 12, "a row of zeros has no scale");
}

Test(coding_values, rows_of_no_items_take_no_bytes)
{
    static const uint32_t lengths[] = { 0, 2, 0, 4, 0 };
    skn_coded_rows_t rows = { .length = lengths,
                              .length_count = 5,
                              .row_count = 5 };
    uint8_t to[64];
    cr_assert_eq(write_rows(SKN_CODING_INT8, false, &rows, few, 6, to), 15);
    float *x = read_rows(false, &rows, to, 15, 6);
    cr_assert(x);
    cr_expect(x[0] == 1.0f && fabsf(x[2] + 7.0f) < 1e-5f);
    free(x);
}

Test(coding_values, what_does_not_shrink_is_sent_as_it_is)
{
    skn_coded_rows_t one = { .columns = 1, .row_count = 6 };
    uint8_t to[64];
    cr_expect_eq(write_rows(SKN_CODING_INT8, false, &one, few, 6, to), 0);
    cr_expect_eq(write_rows(SKN_CODING_INT4, false, &one, few, 6, to), 0);
    cr_expect_eq(write_rows(SKN_CODING_F32, false, &one, few, 6, to), 0);
    cr_expect_eq(write_rows(SKN_CODING_F32, true, &one, few, 0, to), 0);
    static const float full[6] = { 1, 2, 3, 4, 5, 6 };
    skn_coded_rows_t rows = { .columns = 3, .row_count = 2 };
    cr_expect_eq(write_rows(SKN_CODING_F32, true, &rows, full, 6, to), 0);
}

/* --- lengths and ranges --------------------------------------------------- */

/* Rows around the length of a piece, with and without zeros. */
Test(coding_values, long_rows_are_cut_into_pieces)
{
    oracle_random_t random = { 12 };
    size_t count = 5 * SKN_PIECE_ITEMS;
    float *x = oracle_floats(&random, count, 3.0f);
    uint8_t *to = malloc(4 * count + 1);
    cr_assert(x && to);
    for (size_t k = 0; k < count; k++)
        if (oracle_next(&random) % 3)
            x[k] = 0.0f;
    for (size_t trial = 0; trial < 40; trial++) {
        size_t length = SKN_PIECE_ITEMS * (1 + trial / 2 % 2) - 5 + trial / 4;
        skn_coded_rows_t rows = { .columns = length, .row_count = 2 };
        for (skn_coding_t c = SKN_CODING_F32; c < SKN_CODING_COUNT; c++) {
            bool sparse = trial % 2;
            size_t bytes = write_rows(c, sparse, &rows, x, 2 * length, to);
            if (bytes == 0)
                continue;
            cr_assert_eq(to[0], c | (sparse ? SKN_FORM_SPARSE : 0));
            float *back = read_rows(sparse, &rows, to, bytes, 2 * length);
            cr_assert(back, "%u, %zu", c, length);
            double step = c == SKN_CODING_F32    ? 0
                          : c == SKN_CODING_BF16 ? 3 * 0x1p-8
                          : c == SKN_CODING_INT8 ? 3.001 / 127
                                                 : 3.001 / 7;
            for (size_t k = 0; k < 2 * length; k++) {
                cr_assert(fabs((double)back[k] - (double)x[k]) <= step);
                cr_assert(x[k] != 0 || back[k] == 0);
            }
            free(back);
        }
    }
    free(x);
    free(to);
}

Test(coding_values, equal_pieces_are_rounded_apart)
{
    static float x[2 * SKN_PIECE_ITEMS];
    static uint8_t to[sizeof(x)];
    for (size_t k = 0; k < SKN_PIECE_ITEMS; k++)
        x[k] = x[k + SKN_PIECE_ITEMS] = k == 0 ? 127.0f : 0.5f;
    skn_coded_rows_t rows = { .columns = 2 * SKN_PIECE_ITEMS, .row_count = 1 };
    size_t bytes =
        write_rows(SKN_CODING_INT8, false, &rows, x, rows.columns, to);
    cr_assert_eq(bytes, 5 + rows.columns);
    cr_expect(memcmp(to + 5, to + 5 + SKN_PIECE_ITEMS, SKN_PIECE_ITEMS) != 0);
}

/* A row whose greatest magnitude is at an end of what floats hold. */
Test(coding_values, scales_work_from_the_smallest_to_the_greatest)
{
    static const float greatests[] = { FLT_MAX,          FLT_MAX / 2, 1.0f,
                                       0x1p-119f,        0x1p-120f,   FLT_MIN,
                                       0x1.fffffep-120f, 0x1p-149f };
    skn_coded_rows_t rows = { .columns = 8, .row_count = 1 };
    uint8_t to[64];
    for (size_t k = 0; k < sizeof(greatests) / sizeof(greatests[0]); k++)
        for (skn_coding_t c = SKN_CODING_INT8; c < SKN_CODING_COUNT; c++) {
            float greatest = greatests[k];
            float least = c == SKN_CODING_INT8 ? 0x1p-119f : 0x1p-123f;
            float levels = c == SKN_CODING_INT8 ? 127.0f : 7.0f;
            float row[8] = { greatest,      -greatest,      0, greatest / 2,
                             -greatest / 3, greatest / 200, 0, greatest };
            size_t bytes = write_rows(c, false, &rows, row, 8, to);
            float *back = read_rows(false, &rows, to, bytes, 8);
            cr_assert(back);
            for (size_t i = 0; i < 8; i++) {
                cr_assert(isfinite(back[i]), "%a: %a", (double)greatest,
                          (double)back[i]);
                if (greatest < least)
                    cr_assert_eq(back[i], 0.0f);
                else
                    cr_assert(fabs((double)back[i] - (double)row[i]) <=
                                  (double)greatest / (double)levels * 1.0001,
                              "%a: %a is %a", (double)greatest, (double)row[i],
                              (double)back[i]);
            }
            free(back);
        }
}

Test(coding_values, negative_zero_is_a_value)
{
    float row[32] = { [3] = -0.0f, [30] = 2.0f };
    skn_coded_rows_t rows = { .columns = 32, .row_count = 1 };
    uint8_t to[128];
    size_t bytes = write_rows(SKN_CODING_F32, true, &rows, row, 32, to);
    cr_assert_eq(bytes, 1 + 4 + 2 * 4);
    float *back = read_rows(true, &rows, to, bytes, 32);
    cr_assert(back);
    cr_expect_arr_eq(back, row, sizeof(row));
    free(back);
}

/* --- bytes that are no run ------------------------------------------------ */

Test(coding_values, forms_that_are_none_are_refused)
{
    skn_coded_rows_t rows = { .columns = 3, .row_count = 2 };
    uint8_t to[64] = { 0 };
    for (unsigned form = 0; form < 256; form++)
        for (size_t bytes = 0; bytes < 40; bytes++) {
            static const size_t dense[] = { 0, 13, 15, 13 };
            static const size_t sparse[] = { 3, 3, 3, 3 };
            to[0] = (uint8_t)form;
            size_t want = form >= 1 && form < 4         ? dense[form]
                          : form >= 0x10 && form < 0x14 ? sparse[form & 3]
                                                        : 0;
            float *x = read_rows(true, &rows, to, bytes, 6);
            cr_assert_eq(x != NULL, want > 0 && bytes == want, "%x, %zu bytes",
                         form, bytes);
            free(x);
        }
}

Test(coding_values, bits_behind_a_row_are_refused)
{
    skn_coded_rows_t rows = { .columns = 3, .row_count = 2 };
    static const uint8_t good[] = { 0x11, 5, 4, 1, 2, 3, 4, 5, 6 };
    uint8_t to[sizeof(good)];
    for (unsigned bit = 0; bit < 8; bit++) {
        memcpy(to, good, sizeof(good));
        to[2] = (uint8_t)(1u << bit);
        float *x = read_rows(true, &rows, to, sizeof(to), 6);
        cr_expect_eq(x != NULL, bit < 3, "bit %u", bit);
        free(x);
    }
}

Test(coding_values, any_bytes_are_read_or_refused)
{
    oracle_random_t random = { 2 };
    static const uint32_t lengths[] = { 9, 0, 3, 17 };
    uint8_t bytes[80];
    size_t good = 0;
    for (size_t trial = 0; trial < 200000; trial++) {
        size_t byte_count = oracle_next(&random) % sizeof(bytes);
        skn_coded_rows_t rows = { .columns = 1 + trial % 29, .row_count = 1 };
        size_t count = rows.columns;
        if (trial % 2) {
            rows = (skn_coded_rows_t){ .length = lengths,
                                       .length_count = 4,
                                       .row_count = 4 };
            count = 29;
        }
        for (size_t k = 0; k < byte_count; k++)
            bytes[k] = (uint8_t)(oracle_next(&random) & oracle_next(&random));
        bytes[0] = (uint8_t)(oracle_next(&random) & 0x13);
        float *x = read_rows(trial % 3, &rows, bytes, byte_count, count);
        good += x != NULL;
        free(x);
    }
    cr_expect(good > 100, "%zu", good);
}

/* --- zeros and what is rounded to them ------------------------------------ */

/* Receivers pack gradients by the zeros of an activation: its sender and they
 * must see the same ones. */
Test(coding_values, zeros_and_the_others_can_be_told_apart)
{
    oracle_random_t random = { 31 };
    uint8_t to[4 * 512 + 1];
    for (size_t trial = 0; trial < 300; trial++)
        for (skn_coding_t c = SKN_CODING_F32; c < SKN_CODING_COUNT; c++) {
            float row[512];
            size_t length = 1 + trial % 128, count = 4 * length;
            for (size_t k = 0; k < count; k++) {
                uint32_t draw = oracle_next(&random);
                row[k] = draw % 128 < trial % 130 ? (draw >> 31 ? 0.0f : -0.0f)
                         : draw >> 8 & 1
                             ? ldexpf(oracle_float(&random) + 1.001f, -160)
                             : ldexpf(oracle_float(&random) + 1.001f, -10);
            }
            skn_coded_rows_t rows = { .columns = length, .row_count = 4 };
            size_t bytes = write_rows(c, true, &rows, row, count, to);
            if (bytes == 0)
                continue;
            float *back = read_rows(true, &rows, to, bytes, count);
            cr_assert(back);
            for (size_t k = 0; k < count; k++) {
                cr_assert_eq(back[k] == 0, row[k] == 0, "%u: %a became %a", c,
                             (double)row[k], (double)back[k]);
                cr_assert(row[k] != 0 || c == SKN_CODING_F32 ||
                          !signbit(back[k]));
            }
            free(back);
        }
}

Test(coding_values, runs_of_another_kind_leave_no_zeros_out)
{
    skn_coded_rows_t rows = { .columns = 8, .row_count = 1 };
    static const uint8_t bytes[] = { 0x10, 0 };
    float *x = read_rows(true, &rows, bytes, 2, 8);
    cr_expect(x);
    free(x);
    cr_expect_null(read_rows(false, &rows, bytes, 2, 8));
}
