/* test_kernels_exp.c - tests exponentials, and the losses computed from them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#define LENGTHS (4 * LANES_MAX + 3)
#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)

static const float log_float_max = 88.72283f, log_float_min = -87.33654f;

/* exp of one number; it must not matter in which lane. */
static float
power(const skn_kernels_t *kernels, float x)
{
    float o[LANES_MAX], e[LANES_MAX];
    for (size_t i = 0; i < LANES_MAX; i++)
        o[i] = x;
    float sum = kernels->exp_weight_sum(e, o, NULL, 1, 0.0f);
    cr_assert(oracle_bits(sum) == oracle_bits(e[0]) || isnan(x));
    kernels->exp_weight_sum(e, o, NULL, LANES_MAX, 0.0f);
    for (size_t i = 1; i < LANES_MAX; i++)
        cr_assert_eq(oracle_bits(e[i]), oracle_bits(e[0]));
    return e[0];
}

Test(kernels_exp, exp_is_within_two_units_in_the_last_place)
{
    enum {
        N = 4096
    };
    const skn_kernels_t *kernels;
    float o[N], e[N];
    EACH_VARIANT(kernels)
    {
        double worst = 0;
        float low = log_float_min, high = log_float_max;
        float step = (high - low) / 400 / N;
        for (size_t block = 0; block < 400; block++) {
            for (size_t i = 0; i < N; i++)
                o[i] = low + (float)(block * N + i) * step;
            kernels->exp_weight_sum(e, o, NULL, N, 0.0f);
            for (size_t i = 0; i < N; i++) {
                if (o[i] > log_float_max)
                    continue;
                double ulps = oracle_ulps(e[i], exp((double)o[i]));
                cr_assert(ulps <= 2, "%s: exp(%.9g) = %.9g, off by %.2f",
                          kernels->isa, (double)o[i], (double)e[i], ulps);
                worst = ulps > worst ? ulps : worst;
            }
        }
        cr_log_info("%s: exp is off by at most %.2f units", kernels->isa,
                    worst);
    }
}

Test(kernels_exp, exp_near_zero_is_within_two_units)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint32_t bits = 0; bits < 0x3f800000u; bits += 0x10001u) {
        float x = oracle_of_bits(bits);
        cr_assert(oracle_ulps(power(kernels, x), exp((double)x)) <= 2);
        cr_assert(oracle_ulps(power(kernels, -x), exp(-(double)x)) <= 2);
    }
}

Test(kernels_exp, exp_saturates_at_both_ends)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    {
        cr_expect_eq(power(kernels, INFINITY), INFINITY);
        cr_expect_eq(power(kernels, -INFINITY), 0.0f);
        cr_expect_eq(power(kernels, FLT_MAX), INFINITY);
        cr_expect_eq(power(kernels, -FLT_MAX), 0.0f);
        cr_expect_eq(power(kernels, 0.0f), 1.0f);
        cr_expect_eq(power(kernels, -0.0f), 1.0f);
        cr_expect_eq(power(kernels, nextafterf(log_float_max, 100)), INFINITY);
        cr_expect(isfinite(power(kernels, log_float_max)));
        cr_expect_eq(power(kernels, nextafterf(log_float_min, -100)), 0.0f);
        cr_expect(power(kernels, log_float_min) > 0.0f);
    }
}

Test(kernels_exp, nan_stays_nan_whatever_its_payload)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint32_t bits = 0x7fc00000u; bits < 0x7fc00400u; bits++) {
        cr_assert(isnan(power(kernels, oracle_of_bits(bits))));
        cr_assert(isnan(power(kernels, oracle_of_bits(bits | 1u << 31))));
    }
}

/* Vectors go through one another: what one lane needs is no other's. */
Test(kernels_exp, a_lane_beyond_leaves_the_others_alone)
{
    static const float odd[] = { NAN,    INFINITY, -INFINITY, 88.8f,
                                 -87.4f, 88.0f,    1e30f,     -1e30f };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
        float usual = power(kernels, 0.5f), other = power(kernels, odd[k]);
        for (size_t at = 0; at < LENGTHS; at++) {
            float o[LENGTHS], m[LENGTHS] = { 0 }, sum[LENGTHS] = { 0 };
            float e[LENGTHS], each[LENGTHS], share[LENGTHS];
            for (size_t i = 0; i < LENGTHS; i++)
                o[i] = i == at ? odd[k] : 0.5f;
            (void)kernels->exp_weight_sum(e, o, NULL, LENGTHS, 0.0f);
            kernels->exp_each(each, NULL, o, m, 1.0f, sum, LENGTHS);
            kernels->sigmoid_weight(share, o, NULL, LENGTHS);
            for (size_t i = 0; i < LENGTHS; i++) {
                float want = i == at ? other : usual;
                cr_assert(isnan(want) ? isnan(e[i]) && isnan(each[i])
                                      : e[i] == want && each[i] == want);
                want = 1 / (1 + power(kernels, -o[i]));
                cr_assert(isnan(want) ? isnan(share[i])
                                      : oracle_ulps(share[i], want) <= 1);
            }
        }
    }
}

Test(kernels_exp, exp_weight_sum_matches_the_oracle)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 1 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++)
        for (int weighted = 0; weighted < 2; weighted++) {
            float *o = oracle_floats(&random, n + 1, 9.0f);
            float *weight = oracle_floats(&random, n + 1, 2.0f);
            float *e = oracle_floats(&random, n + 2, 1.0f), end = e[n + 1];
            double want = 0, magnitude = 0;
            float got = kernels->exp_weight_sum(
                e + 1, o + 1, weighted ? weight + 1 : NULL, n, 3.0f);
            for (size_t i = 1; i <= n; i++) {
                double factor = weighted ? (double)weight[i] : 1;
                double term = factor * exp((double)(o[i] - 3.0f));
                cr_assert(oracle_ulps(fabsf(e[i]), fabs(term)) <= 3);
                want += term;
                magnitude += fabs(term);
            }
            double bound = ((double)n + 3) * FLT_EPSILON * magnitude;
            cr_assert(fabs((double)got - want) <= bound,
                      "%s, n %zu: got %.9g, want %.9g +- %.2g", kernels->isa, n,
                      (double)got, want, bound);
            cr_assert_eq(oracle_bits(e[n + 1]), oracle_bits(end));
            free(o);
            free(weight);
            free(e);
        }
}

Test(kernels_exp, exp_weight_sum_works_in_place_with_the_same_bits)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 2 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        float e[LENGTHS], *o = oracle_floats(&random, n, 5.0f);
        float apart = kernels->exp_weight_sum(e, o, NULL, n, 1.0f);
        float in_place = kernels->exp_weight_sum(o, o, NULL, n, 1.0f);
        cr_assert_eq(oracle_bits(apart), oracle_bits(in_place));
        cr_assert_arr_eq(o, e, n * sizeof *o);
        free(o);
    }
}

/* Each with an m of its own; in bf16 the same powers, rounded once. */
Test(kernels_exp, exp_each_gives_the_powers_of_exp_weight_sum)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 4 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        float *o = oracle_floats(&random, n, 9.0f);
        float *m = oracle_floats(&random, n, 9.0f);
        float *start = oracle_floats(&random, n, 1.0f);
        float e[LENGTHS + 1], sum[LENGTHS + 1], again[LENGTHS + 1];
        uint16_t half[LENGTHS + 1], rounded[LENGTHS];
        e[n] = sum[n] = again[n] = 7.0f;
        half[n] = 7;
        for (size_t i = 0; i < n; i++)
            sum[i] = again[i] = start[i];
        kernels->exp_each(e, NULL, o, m, 0.75f, sum, n);
        kernels->exp_each(NULL, half, o, m, 0.75f, again, n);
        kernels->f32_to_bf16(rounded, e, n);
        for (size_t i = 0; i < n; i++) {
            float factor = 0.75f, want;
            (void)kernels->exp_weight_sum(&want, o + i, &factor, 1, m[i]);
            cr_assert_eq(oracle_bits(e[i]), oracle_bits(want));
            cr_assert_eq(oracle_bits(sum[i]), oracle_bits(start[i] + e[i]));
            cr_assert_eq(oracle_bits(again[i]), oracle_bits(sum[i]));
            cr_assert_eq(half[i], rounded[i]);
        }
        cr_assert(e[n] == 7.0f && sum[n] == 7.0f && again[n] == 7.0f);
        cr_assert_eq(half[n], 7);
        free(o);
        free(m);
        free(start);
    }
}

Test(kernels_exp, raise_keeps_the_greater_and_takes_no_nan)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    {
        float greatest[3] = { -INFINITY, 2.0f, 3.0f };
        const float x[3] = { -1.0f, NAN, 2.5f };
        kernels->raise(greatest, x, 3);
        cr_expect(greatest[0] == -1.0f && greatest[1] == 2.0f &&
                  greatest[2] == 3.0f);
    }
}

Test(kernels_exp, sigmoid_weight_matches_the_oracle)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 3 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++)
        for (int weighted = 0; weighted < 2; weighted++) {
            float *o = oracle_floats(&random, n, 60.0f);
            float *weight = oracle_floats(&random, n, 2.0f);
            float d[LENGTHS + 1];
            d[n] = 7.0f;
            kernels->sigmoid_weight(d, o, weighted ? weight : NULL, n);
            for (size_t i = 0; i < n; i++) {
                double want = (weighted ? (double)weight[i] : 1) /
                              (1 + exp(-(double)o[i]));
                cr_assert(oracle_ulps(fabsf(d[i]), fabs(want)) <= 4,
                          "%s: "
                          "sigmoid(%.9g) is %.9g",
                          kernels->isa, (double)o[i], (double)d[i]);
            }
            cr_assert_eq(d[n], 7.0f);
            free(o);
            free(weight);
        }
}

Test(kernels_exp, sigmoid_saturates_and_keeps_nan)
{
    const skn_kernels_t *kernels;
    float o[5] = { INFINITY, -INFINITY, 200.0f, -200.0f, NAN }, d[5];
    EACH_VARIANT(kernels)
    {
        kernels->sigmoid_weight(d, o, NULL, 5);
        cr_expect(d[0] == 1 && d[1] == 0 && d[2] == 1 && d[3] == 0);
        cr_expect(isnan(d[4]));
    }
}

Test(kernels_exp, softplus_of_one_number_is_within_four_units)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (float x = -80.0f; x < 80.0f; x += 0.0137f) {
        double want =
            x > 0 ? (double)x + log1p(exp(-(double)x)) : log1p(exp((double)x));
        float got = kernels->softplus_sum(&x, NULL, 1);
        cr_assert(oracle_ulps(got, want) <= 4,
                  "%s: softplus(%.9g) = %.9g, "
                  "want %.9g",
                  kernels->isa, (double)x, (double)got, want);
    }
}

Test(kernels_exp, softplus_sum_matches_the_oracle)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 4 };
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++)
        for (int weighted = 0; weighted < 2; weighted++) {
            float *o = oracle_floats(&random, n, 20.0f);
            float *weight = oracle_floats(&random, n, 2.0f);
            double want = 0, magnitude = 0;
            for (size_t i = 0; i < n; i++) {
                double term = log1p(exp((double)o[i])) *
                              (weighted ? (double)weight[i] : 1);
                want += term;
                magnitude += fabs(term);
            }
            double got =
                (double)kernels->softplus_sum(o, weighted ? weight : NULL, n);
            double bound = ((double)n + 4) * FLT_EPSILON * magnitude;
            cr_assert(fabs(got - want) <= bound,
                      "%s, n %zu: got %.9g, want "
                      "%.9g +- %.2g",
                      kernels->isa, n, got, want, bound);
            free(o);
            free(weight);
        }
}

Test(kernels_exp, softplus_does_not_overflow_and_keeps_nan)
{
    const skn_kernels_t *kernels;
    float big = 1e30f, low = -1e30f, nan = NAN, infinite = INFINITY;
    EACH_VARIANT(kernels)
    {
        cr_expect_eq(kernels->softplus_sum(&big, NULL, 1), 1e30f);
        cr_expect_eq(kernels->softplus_sum(&low, NULL, 1), 0.0f);
        cr_expect_eq(kernels->softplus_sum(&infinite, NULL, 1), INFINITY);
        cr_expect(isnan(kernels->softplus_sum(&nan, NULL, 1)));
    }
}
