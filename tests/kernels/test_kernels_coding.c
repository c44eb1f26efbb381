/* test_kernels_coding.c - tests rows in 8 and 4 bits, and rows without zeros.
 *
 * kernels/body/quantize.h and kernels/body/nonzero.h, in the table of
 * kernels/link_kernels.c, too. The oracles are the definitions in kernels.h, an
 * element at a time; every slice starts at an odd offset and is between
 * guards.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "kernels/philox.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

/* 4, 2 and 1 blocks of random bits of the widest vector, and a rest. */
#define LENGTHS (7 * 8 * LANES_MAX + 11)
#define GUARD_BYTE 0xa5u

#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = table_at(rank)); rank++)

/* The variants, and after them the table of libskein-core. */
static const skn_kernels_t *
table_at(unsigned rank)
{
    const skn_kernels_t *kernels = skn_kernels_variant(rank);
    bool is_last = !kernels && rank > 0 && skn_kernels_variant(rank - 1);
    return is_last ? &skn_link_kernels : kernels;
}

/* The 16 bits of element i: see skn_noise_t. */
static uint32_t
noise_bits(const skn_noise_t *noise, size_t i)
{
    skn_philox_t block = skn_philox(
        noise->key, (skn_philox_t){ { noise->first_column / 8 + (uint32_t)i / 8,
                                      noise->row, (uint32_t)noise->stream,
                                      (uint32_t)(noise->stream >> 32) } });
    return block.word[i % 8 / 2] >> (i % 2 ? 16 : 0) & 0xffff;
}

/* x / scale, up or down, as the definition has it; floats as the kernels. */
static int
steps_of(float x, float scale, int limit, uint32_t bits)
{
    if (!(scale > 0.0f && scale <= FLT_MAX))
        return 0;
    float product = x * (1.0f / scale);
    float moved = product + (float)(limit + 1);
    float steps = floorf(moved + (float)bits * 0x1p-16f);
    steps = steps >= 1.0f ? steps : 1.0f;
    steps = steps <= (float)(2 * limit + 1) ? steps : (float)(2 * limit + 1);
    return (int)steps - (limit + 1);
}

static int
half_of(const uint8_t *bytes, size_t i)
{
    return (bytes[i / 2] >> (i % 2 ? 4 : 0) & 15) - 8;
}

/* --- quantize ------------------------------------------------------------- */

static float row[LENGTHS + 3], back[LENGTHS + 3];
static uint8_t bytes_8[LENGTHS + 3], bytes_4[LENGTHS + 3];

static void
check_quantized(const skn_kernels_t *kernels, size_t n, float scale_8,
                float scale_4, const skn_noise_t *noise)
{
    memset(bytes_8, GUARD_BYTE, sizeof bytes_8);
    memset(bytes_4, GUARD_BYTE, sizeof bytes_4);
    kernels->f32_to_i8((int8_t *)bytes_8 + 1, row + 1, n, scale_8, noise);
    kernels->f32_to_i4(bytes_4 + 1, row + 1, n, scale_4, noise);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = noise_bits(noise, i);
        int want_8 = steps_of(row[1 + i], scale_8, 127, bits);
        int want_4 = steps_of(row[1 + i], scale_4, 7, bits);
        cr_assert_eq((int8_t)bytes_8[1 + i], want_8, "%s: %zu of %zu: %d, %d",
                     kernels->isa, i, n, (int8_t)bytes_8[1 + i], want_8);
        if (scale_4 > 0)
            cr_assert_eq(half_of(bytes_4 + 1, i), want_4, "%s: %zu of %zu",
                         kernels->isa, i, n);
        else
            cr_assert_eq(bytes_4[1 + i / 2], 0);
    }
    if (n % 2)
        cr_assert_eq(bytes_4[1 + n / 2] >> 4, 0);
    cr_assert_eq(bytes_8[0], GUARD_BYTE);
    cr_assert_eq(bytes_8[1 + n], GUARD_BYTE);
    cr_assert_eq(bytes_4[0], GUARD_BYTE);
    cr_assert_eq(bytes_4[1 + (n + 1) / 2], GUARD_BYTE);
}

static void
check_restored(const skn_kernels_t *kernels, size_t n, float scale)
{
    back[0] = back[1 + n] = 77.0f;
    kernels->i8_to_f32(back + 1, (const int8_t *)bytes_8 + 1, n, scale);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(back[1 + i], (float)(int8_t)bytes_8[1 + i] * scale);
    cr_assert_eq(back[1 + n], 77.0f);
    kernels->i4_to_f32(back + 1, bytes_4 + 1, n, scale);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(back[1 + i], (float)half_of(bytes_4 + 1, i) * scale);
    cr_assert_eq(back[0], 77.0f);
    cr_assert_eq(back[1 + n], 77.0f);
}

Test(kernels_coding, quantized_rows_follow_the_definition_at_every_length)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 5 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        skn_noise_t noise = { n, 7, (uint32_t)n, (uint32_t)n % 5 * 8 };
        for (size_t i = 0; i < n; i++)
            row[1 + i] = oracle_float(&random);
        check_quantized(kernels, n, 1.0f / 127, 1.0f / 7, &noise);
        check_restored(kernels, n, 0.37f);
        /* Too small a scale: everything is clamped, nothing wraps. */
        check_quantized(kernels, n, 1e-6f, 1e-6f, &noise);
    }
}

Test(kernels_coding, every_step_is_kept_by_its_own_scale)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint64_t key = 0; key < 50; key++) {
        skn_noise_t noise = { .key = key };
        for (size_t i = 0; i < 255; i++)
            row[1 + i] = (float)((int)i - 127) * 0.25f;
        kernels->f32_to_i8((int8_t *)bytes_8, row + 1, 255, 0.25f, &noise);
        kernels->f32_to_i4(bytes_4, row + 1 + 120, 15, 0.25f, &noise);
        for (size_t i = 0; i < 255; i++)
            cr_assert_eq((int8_t)bytes_8[i], (int)i - 127);
        for (size_t i = 0; i < 15; i++)
            cr_assert_eq(half_of(bytes_4, i), (int)i - 7);
    }
}

Test(kernels_coding, a_scale_that_is_no_scale_gives_zeros)
{
    static const float scales[] = { 0.0f, -1.0f, NAN, INFINITY };
    static const skn_noise_t noise = { .key = 3 };
    const skn_kernels_t *kernels;
    for (size_t i = 0; i < LENGTHS; i++)
        row[i] = i % 3 ? NAN : (float)i;
    EACH_VARIANT(kernels)
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
        for (size_t n = 0; n < 40; n++) {
            memset(bytes_8, GUARD_BYTE, sizeof bytes_8);
            memset(bytes_4, GUARD_BYTE, sizeof bytes_4);
            kernels->f32_to_i8((int8_t *)bytes_8, row, n, scales[s], &noise);
            kernels->f32_to_i4(bytes_4, row, n, scales[s], &noise);
            for (size_t i = 0; i < n; i++)
                cr_assert(bytes_8[i] == 0 && bytes_4[i / 2] == 0);
            cr_assert_eq(bytes_8[n], GUARD_BYTE);
            cr_assert_eq(bytes_4[(n + 1) / 2], GUARD_BYTE);
            if (!isnan(scales[s]))
                continue;
            kernels->i8_to_f32(back, (const int8_t *)bytes_8, n, scales[s]);
            for (size_t i = 0; i < n; i++)
                cr_assert(isnan(back[i]), "the receiver sees it");
            kernels->i4_to_f32(back, bytes_4, n, scales[s]);
            for (size_t i = 0; i < n; i++)
                cr_assert(isnan(back[i]), "the receiver sees it");
        }
}

Test(kernels_coding, numbers_that_are_none_are_clamped_by_a_scale)
{
    static const float odd[] = {
        NAN, -NAN, INFINITY, -INFINITY, 3e38f, -3e38f
    };
    static const skn_noise_t noise = { .key = 3 };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        for (size_t k = 0; k < 20; k++)
            row[k] = odd[i];
        kernels->f32_to_i8((int8_t *)bytes_8, row, 20, 1.0f, &noise);
        for (size_t k = 0; k < 20; k++)
            cr_assert_eq((int8_t)bytes_8[k], odd[i] > 0 ? 127 : -127);
    }
}

/* Whatever lies between two steps comes out as itself on average. */
Test(kernels_coding, random_rounding_is_unbiased)
{
    enum {
        N = 4000
    };
    static float x[N];
    static int8_t to[N];
    static uint8_t halves[N / 2];
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (int part = 1; part < 16; part++) {
        double value = -3.0 + 0.4 * part, sum_8 = 0, sum_4 = 0;
        skn_noise_t noise = { .key = (uint64_t)part, .row = 4 };
        for (size_t i = 0; i < N; i++)
            x[i] = (float)value;
        kernels->f32_to_i8(to, x, N, 1.0f, &noise);
        kernels->f32_to_i4(halves, x, N, 1.0f, &noise);
        for (size_t i = 0; i < N; i++) {
            sum_8 += to[i];
            sum_4 += half_of(halves, i);
            cr_assert(fabs((double)to[i] - value) < 1.0);
        }
        double share = value - floor(value);
        double sigma = sqrt(share * (1 - share) / N);
        cr_expect(fabs(sum_8 / N - value) <= 4 * sigma + 1e-4, "%s: %g is %g",
                  kernels->isa, value, sum_8 / N);
        cr_expect(fabs(sum_4 / N - value) <= 4 * sigma + 1e-4, "%s: %g is %g",
                  kernels->isa, value, sum_4 / N);
    }
}

Test(kernels_coding, the_greatest_magnitude_is_found_anywhere)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 9 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= 70; n++) {
        float greatest = 0;
        row[0] = row[1 + n] = 1e9f;
        for (size_t i = 0; i < n; i++) {
            row[1 + i] = oracle_float(&random);
            greatest = fmaxf(greatest, fabsf(row[1 + i]));
        }
        cr_assert_eq(kernels->greatest_abs(row + 1, n), greatest);
        for (size_t i = 0; i < n; i++) {
            float old = row[1 + i];
            row[1 + i] = -2.0f;
            cr_assert_eq(kernels->greatest_abs(row + 1, n), 2.0f);
            row[1 + i] = -INFINITY;
            cr_assert(isinf(kernels->greatest_abs(row + 1, n)));
            row[1 + i] = -NAN;
            cr_assert(isnan(kernels->greatest_abs(row + 1, n)));
            row[1 + i] = old;
        }
    }
}

/* --- nonzero -------------------------------------------------------------- */

/* A row with a share of zeros; -0.0, NaN and denormals are values. */
static void
fill_sparse(float *x, size_t n, uint32_t share, oracle_random_t *random)
{
    static const uint32_t odd[] = { 0x80000000u, 0x7fc00001u, 1u, 0xff800000u };
    for (size_t i = 0; i < n; i++) {
        uint32_t draw = oracle_next(random);
        x[i] = draw % 256 >= share ? 0.0f
               : draw >> 28 == 0   ? oracle_of_bits(odd[draw >> 8 & 3])
                                   : oracle_float(random);
    }
}

static void
check_nonzero(const skn_kernels_t *kernels, const float *x, size_t n)
{
    float packed[LENGTHS + 2], whole[LENGTHS + 2];
    uint8_t bits[LENGTHS / 8 + 3];
    size_t count = 0, bit_bytes = (n + 7) / 8;
    memset(bits, GUARD_BYTE, sizeof bits);
    packed[n + 1] = whole[0] = whole[n + 1] = 77.0f;
    size_t found = kernels->nonzero_bits(bits + 1, x, n, UINT32_MAX);
    for (size_t i = 0; i < 8 * bit_bytes; i++) {
        bool set = bits[1 + i / 8] >> i % 8 & 1;
        cr_assert_eq(set, i < n && oracle_bits(x[i]) != 0, "%s: bit %zu of %zu",
                     kernels->isa, i, n);
        count += set;
    }
    cr_assert_eq(found, count);
    cr_assert(bits[0] == GUARD_BYTE && bits[1 + bit_bytes] == GUARD_BYTE);
    cr_assert_eq(kernels->pack_nonzero(packed + 1, x, bits + 1, n), count);
    cr_assert_eq(packed[n + 1], 77.0f, "written behind its room");
    for (size_t i = 0, next = 1; i < n; i++)
        if (oracle_bits(x[i]))
            cr_assert_eq(oracle_bits(packed[next++]), oracle_bits(x[i]));
    /* Exactly as many items as there are: no sanitizer may complain. */
    float *exact = malloc((count + 1) * sizeof *exact);
    cr_assert(exact);
    memcpy(exact + 1, packed + 1, count * sizeof *exact);
    kernels->unpack_nonzero(whole + 1, exact + 1, count, bits + 1, n);
    free(exact);
    cr_assert_arr_eq(whole + 1, x, n * sizeof *x, "%s: %zu", kernels->isa, n);
    cr_assert(whole[0] == 77.0f && whole[n + 1] == 77.0f);
}

Test(kernels_coding, rows_without_zeros_come_back_bit_for_bit)
{
    static const uint32_t shares[] = { 0, 3, 40, 128, 220, 256 };
    const skn_kernels_t *kernels;
    float x[LENGTHS + 1];
    oracle_random_t random = { 21 };
    EACH_VARIANT(kernels)
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++)
        for (size_t n = 0; n <= LENGTHS; n++) {
            fill_sparse(x + 1, n, shares[s], &random);
            check_nonzero(kernels, x + 1, n);
        }
}

/* Every pattern of two widest groups of eight, at the end of a row too. */
Test(kernels_coding, every_pattern_of_zeros_is_kept)
{
    const skn_kernels_t *kernels;
    float x[LANES_MAX];
    EACH_VARIANT(kernels)
    for (uint32_t pattern = 0; pattern < 65536;
         pattern += pattern < 600 ? 1 : 7)
        for (size_t n = LANES_MAX - 1; n <= LANES_MAX; n++) {
            for (size_t i = 0; i < n; i++)
                x[i] = pattern >> i & 1 ? (float)i + 1 : 0.0f;
            check_nonzero(kernels, x, n);
        }
}

Test(kernels_coding, a_mask_without_the_sign_takes_both_zeros_for_one)
{
    const skn_kernels_t *kernels;
    float x[LENGTHS];
    uint8_t bits[LENGTHS / 8 + 1];
    oracle_random_t random = { 22 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        size_t count = 0;
        fill_sparse(x, n, 128, &random);
        for (size_t i = 0; i < n; i += 3)
            x[i] = -0.0f;
        size_t found = kernels->nonzero_bits(bits, x, n, INT32_MAX);
        for (size_t i = 0; i < n; i++) {
            bool set = bits[i / 8] >> i % 8 & 1;
            cr_assert_eq(set, x[i] != 0, "%s: %zu of %zu", kernels->isa, i, n);
            count += set;
        }
        cr_assert_eq(found, count);
    }
}

Test(kernels_coding, zeros_are_raised_and_nothing_else)
{
    static const float from[] = { 0.0f,  -0.0f, 0x1p-149f, -0x1p-127f, FLT_MIN,
                                  -1.0f, NAN,   INFINITY,  -FLT_MIN,   3.0f };
    static const float to[] = { FLT_MIN, -FLT_MIN, FLT_MIN,  -FLT_MIN, FLT_MIN,
                                -1.0f,   NAN,      INFINITY, -FLT_MIN, 3.0f };
    const skn_kernels_t *kernels;
    float x[LENGTHS + 2];
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        for (size_t i = 0; i < n; i++)
            x[1 + i] = from[i % 10];
        x[0] = x[1 + n] = 0.0f;
        kernels->raise_zeros(x + 1, n);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(oracle_bits(x[1 + i]), oracle_bits(to[i % 10]),
                         "%s: %zu of %zu", kernels->isa, i, n);
        cr_assert(x[0] == 0 && x[1 + n] == 0);
    }
}

Test(kernels_coding, the_table_of_the_core_has_what_links_need_and_no_more)
{
    size_t missing = 0, found = 0;
#define K(type, name, parameters) missing += !skn_link_kernels.name;
    SKN_LINK_KERNELS(K)
#undef K
#define K(type, name, parameters) found += skn_link_kernels.name != NULL;
    SKN_KERNELS(K)
#undef K
    cr_expect_eq(missing, 0u);
    cr_expect_eq(found, 11u);
}

Test(kernels_coding, the_table_of_the_core_rounds_to_bf16_like_the_others)
{
    const skn_kernels_t *scalar = skn_kernels_named("scalar");
    uint16_t one[LENGTHS], two[LENGTHS];
    float x[LENGTHS], wide_one[LENGTHS], wide_two[LENGTHS];
    oracle_random_t random = { 23 };
    fill_sparse(x, LENGTHS, 128, &random);
    scalar->f32_to_bf16(one, x, LENGTHS);
    skn_link_kernels.f32_to_bf16(two, x, LENGTHS);
    cr_expect_eq(memcmp(one, two, sizeof(one)), 0);
    scalar->bf16_to_f32(wide_one, one, LENGTHS);
    skn_link_kernels.bf16_to_f32(wide_two, one, LENGTHS);
    cr_expect_eq(memcmp(wide_one, wide_two, sizeof(wide_one)), 0);
}
