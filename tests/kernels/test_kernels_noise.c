/* test_kernels_noise.c - tests bf16, and all kernels that use random bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "kernels/philox.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>

#define LENGTHS (4 * LANES_MAX + 3)
/* 4, 2 and 1 blocks of random bits of the widest vector, and a rest. */
#define ROW_MAX (7 * 8 * LANES_MAX + 11)
#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)

static void
check_block(uint64_t key, skn_philox_t counter, skn_philox_t want)
{
    skn_philox_t got = skn_philox(key, counter);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(got.word[i], want.word[i], "word %d is %08x, want %08x", i,
                     got.word[i], want.word[i]);
}

/* kat_vectors of Random123, philox4x32 with 10 rounds. */
Test(kernels_noise, philox_gives_the_published_vectors)
{
    check_block(
        0, (skn_philox_t){ { 0, 0, 0, 0 } },
        (skn_philox_t){ { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } });
    check_block(
        UINT64_MAX,
        (skn_philox_t){ { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX } },
        (skn_philox_t){ { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } });
    check_block(
        0x299f31d0a4093822,
        (skn_philox_t){ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 } },
        (skn_philox_t){ { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } });
}

Test(kernels_noise, philox_halves_are_its_words)
{
    skn_philox_t words = skn_philox(5, (skn_philox_t){ { 1, 2, 3, 4 } });
    skn_philox_t halves = skn_philox_at(5, 2ull << 32 | 1, 4ull << 32 | 3);
    cr_expect_arr_eq(words.word, halves.word, sizeof words.word);
}

Test(kernels_noise, uniform_numbers_stay_below_one)
{
    cr_expect_eq(skn_philox_unit(0), 0.0f);
    cr_expect_eq(skn_philox_unit(UINT32_MAX), 1.0f - 0x1p-24f);
    cr_expect_eq(skn_philox_unit_double(0, 0), 0.0);
    cr_expect_eq(skn_philox_unit_double(UINT32_MAX, UINT32_MAX), 1.0 - 0x1p-53);
}

Test(kernels_noise, bounded_integers_are_uniform)
{
    enum {
        DRAWS = 70000,
        BOUND = 7
    };
    double count[BOUND] = { 0 }, chi_square = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        count[skn_philox_below(11, 3, i, BOUND)]++;
    for (int i = 0; i < BOUND; i++)
        chi_square += pow(count[i] - DRAWS / BOUND, 2) / (DRAWS / BOUND);
    /* 6 degrees of freedom: 27.9 is exceeded once in 10,000 seeds. */
    cr_expect_lt(chi_square, 27.9);
}

Test(kernels_noise, bounded_integers_reach_every_value_and_no_other)
{
    static const uint32_t bounds[] = { 1, 2, 3, 0x80000001u, UINT32_MAX };
    for (size_t b = 0; b < 5; b++) {
        uint32_t greatest = 0;
        for (uint64_t i = 0; i < 1000; i++) {
            uint32_t x = skn_philox_below(1, 2, i, bounds[b]);
            cr_assert_lt(x, bounds[b]);
            greatest = x > greatest ? x : greatest;
        }
        cr_expect(greatest >= bounds[b] - bounds[b] / 50 - 1);
    }
}

Test(kernels_noise, bf16_rounds_to_nearest_ties_to_even)
{
    static const struct {
        uint32_t from;
        uint16_t to;
    } cases[] = {
        { 0x00000000, 0x0000 }, { 0x80000000, 0x8000 }, { 0x3f800000, 0x3f80 },
        { 0x3f807fff, 0x3f80 }, { 0x3f808000, 0x3f80 }, { 0x3f808001, 0x3f81 },
        { 0x3f818000, 0x3f82 }, { 0x3f817fff, 0x3f81 }, { 0x7f7f7fff, 0x7f7f },
        { 0x7f7f8000, 0x7f80 }, { 0x7f800000, 0x7f80 }, { 0xff800000, 0xff80 },
        { 0x7f800001, 0x7fc0 }, { 0xffffffff, 0xffff }, { 0x7fc00000, 0x7fc0 },
        { 0x00008001, 0x0001 }, { 0x00018000, 0x0002 }, { 0xbf808001, 0xbf81 },
    };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 1; n <= LENGTHS; n++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            float from[LENGTHS] = { 0 };
            uint16_t to[LENGTHS + 1] = { 0 };
            from[n - 1] = oracle_of_bits(cases[i].from);
            to[n] = 0x1234;
            kernels->f32_to_bf16(to, from, n);
            cr_assert_eq(to[n - 1], cases[i].to, "%s: %08x gives %04x",
                         kernels->isa, cases[i].from, to[n - 1]);
            cr_assert_eq(to[n], 0x1234);
        }
}

Test(kernels_noise, bf16_to_f32_and_back_is_the_identity)
{
    enum {
        N = 65536
    };
    const skn_kernels_t *kernels;
    static uint16_t from[N], nearest[N], random[N];
    static float wide[N + 1];
    skn_noise_t noise = { 1, 2, 3, 8 };
    for (uint32_t i = 0; i < N; i++)
        from[i] = (uint16_t)i;
    EACH_VARIANT(kernels)
    {
        wide[N - 1] = 5.0f;
        kernels->bf16_to_f32(wide, from, N - 1);
        cr_expect_eq(wide[N - 1], 5.0f);
        kernels->bf16_to_f32(wide, from, N);
        kernels->f32_to_bf16(nearest, wide, N);
        kernels->f32_to_bf16_random(random, wide, N, &noise);
        for (uint32_t i = 0; i < N; i++) {
            uint16_t want = isnan(oracle_of_bf16(from[i]))
                                ? (uint16_t)(from[i] | 0x40)
                                : from[i];
            cr_assert_eq(oracle_bits(wide[i]), i << 16);
            cr_assert_eq(nearest[i], want);
            cr_assert_eq(random[i], want);
        }
    }
}

Test(kernels_noise, random_rounding_has_the_right_mean)
{
    enum {
        N = 40000
    };
    const skn_kernels_t *kernels;
    static float x[N];
    static uint16_t rounded[N];
    static const float values[] = { 1.001f, -1.0077f, 3.1e-5f, 0.3f };
    EACH_VARIANT(kernels)
    for (size_t v = 0; v < 4; v++) {
        skn_noise_t noise = { 99, v, 7, 0 };
        double sum = 0;
        for (size_t i = 0; i < N; i++)
            x[i] = values[v];
        kernels->f32_to_bf16_random(rounded, x, N, &noise);
        for (size_t i = 0; i < N; i++)
            sum += (double)oracle_of_bf16(rounded[i]);
        uint32_t bits = oracle_bits(values[v]);
        double low = (double)oracle_of_bits(bits & 0xffff0000u);
        double high = (double)oracle_of_bits((bits & 0xffff0000u) + 0x10000);
        double share = (bits & 0xffffu) / 65536.0;
        double sigma = fabs(high - low) * sqrt(share * (1 - share) / N);
        double error = sum / N - (double)values[v];
        cr_expect(fabs(error) <= 4 * sigma,
                  "%s, %.9g: mean off by %.3g, "
                  "sigma %.3g",
                  kernels->isa, (double)values[v], error, sigma);
    }
}

/* Element i's 16 bits, straight from the definition. */
static uint32_t
bits_of(const skn_noise_t *noise, size_t i)
{
    size_t column = noise->first_column + i;
    skn_philox_t counter = { { (uint32_t)(column / 8), noise->row,
                               (uint32_t)noise->stream,
                               (uint32_t)(noise->stream >> 32) } };
    uint32_t word = skn_philox(noise->key, counter).word[column % 8 / 2];
    return column % 2 ? word >> 16 : word & 0xffffu;
}

Test(kernels_noise, dropout_follows_the_definition_at_every_length)
{
    static const float keeps[] = { 0.5f, 0.25f, 0.7f, 1.0f, 1e-9f };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= ROW_MAX; n++)
        for (size_t k = 0; k < 5; k++) {
            skn_noise_t noise = { 0x123456789abcdefull, 1ull << 40 | n, 17,
                                  24 };
            uint32_t kept = (uint32_t)fmaxf(1, keeps[k] * 65536 + 0.5f);
            float x[ROW_MAX + 1];
            for (size_t i = 0; i <= n; i++)
                x[i] = (float)i + 1;
            kernels->dropout(x, n, keeps[k], &noise);
            for (size_t i = 0; i < n; i++) {
                float want = bits_of(&noise, i) < kept
                                 ? ((float)i + 1) * (65536.0f / (float)kept)
                                 : 0.0f;
                cr_assert_eq(x[i], want, "%s, n %zu, element %zu, keep %g",
                             kernels->isa, n, i, (double)keeps[k]);
            }
            cr_assert_eq(x[n], (float)n + 1);
        }
}

Test(kernels_noise, an_element_has_one_fate_in_every_slice)
{
    enum {
        N = 256
    };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint32_t start = 0; start < N; start += 8)
        for (uint32_t end = start + 1; end <= N; end += 13) {
            float whole[N], slice[N];
            skn_noise_t noise = { 4, 5, 6, 1024 };
            for (size_t i = 0; i < N; i++)
                whole[i] = slice[i] = 1.0f;
            kernels->dropout(whole, N, 0.4f, &noise);
            noise.first_column += start;
            kernels->dropout(slice + start, end - start, 0.4f, &noise);
            cr_assert_arr_eq(whole + start, slice + start,
                             (end - start) * sizeof *whole);
        }
}

Test(kernels_noise, dropout_keeps_the_given_share)
{
    enum {
        N = 100000
    };
    static float x[N];
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    static const float keeps[] = { 0.1f, 0.5f, 0.9f };
    for (size_t k = 0; k < 3; k++) {
        double sum = 0, keep = (double)keeps[k];
        skn_noise_t noise = { 21, 22, 23, 0 };
        for (size_t i = 0; i < N; i++)
            x[i] = 1.0f;
        kernels->dropout(x, N, keeps[k], &noise);
        for (size_t i = 0; i < N; i++)
            sum += (double)x[i];
        double sigma = sqrt((1 - keep) / keep / N);
        cr_expect(fabs(sum / N - 1) <= 4 * sigma, "keep %g: mean %g", keep,
                  sum / N);
    }
}

Test(kernels_noise, rows_streams_and_keys_have_fates_of_their_own)
{
    enum {
        N = 4096
    };
    static float first[N], second[N];
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    skn_noise_t others[] = { { 2, 1, 1, 0 },
                             { 1, 2, 1, 0 },
                             { 1, 1, 2, 0 },
                             { 1ull << 32 | 1, 1, 1, 0 },
                             { 1, 1ull << 32 | 1, 1, 0 },
                             { 1, 1, 1, N } };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        skn_noise_t noise = { 1, 1, 1, 0 };
        size_t same = 0;
        for (size_t i = 0; i < N; i++)
            first[i] = second[i] = 1.0f;
        kernels->dropout(first, N, 0.5f, &noise);
        kernels->dropout(second, N, 0.5f, &others[k]);
        for (size_t i = 0; i < N; i++)
            same += first[i] == second[i];
        /* Half agree by chance; 5 sigma = 160. */
        cr_expect(same > N / 2 - 160 && same < N / 2 + 160, "%zu", same);
    }
}

Test(kernels_noise, sgd_row_bf16_follows_the_definition)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 8 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= ROW_MAX; n++) {
        skn_noise_t noise = { 31, n, 33, 16 };
        float *g = oracle_floats(&random, n, 1.0f);
        uint16_t w[ROW_MAX + 1], old[ROW_MAX + 1];
        for (size_t i = 0; i <= n; i++)
            w[i] = old[i] =
                (uint16_t)(oracle_bits(oracle_float(&random)) >> 16);
        kernels->sgd_row_bf16(w, g, n, 0.05f, 0.01f, &noise);
        for (size_t i = 0; i < n; i++) {
            float from = oracle_of_bf16(old[i]);
            float slope = g[i] + 0.01f * from, new = from - 0.05f * slope;
            uint32_t want = (oracle_bits(new) + bits_of(&noise, i)) >> 16;
            cr_assert_eq(w[i], want, "%s, n %zu, element %zu", kernels->isa, n,
                         i);
        }
        cr_assert_eq(w[n], old[n]);
        free(g);
    }
}

Test(kernels_noise, sgd_row_bf16_moves_by_less_than_a_step_on_average)
{
    enum {
        N = 20000
    };
    static uint16_t w[N];
    static float g[N];
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        w[i] = 0x3f80; /* 1; its neighbours are 2^-7 away */
        g[i] = 1.0f;
    }
    skn_noise_t noise = { 1, 1, 1, 0 };
    kernels->sgd_row_bf16(w, g, N, 1e-4f, 0.0f, &noise);
    for (size_t i = 0; i < N; i++)
        sum += 1.0 - (double)oracle_of_bf16(w[i]);
    double unit = 0x1p-8, share = 1e-4 / unit;
    double sigma = unit * sqrt(share * (1 - share) / N);
    cr_expect(fabs(sum / N - 1e-4) <= 4 * sigma, "moved by %g", sum / N);
}
