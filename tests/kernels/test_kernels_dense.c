/* test_kernels_dense.c - tests the kernels of dense layers, in every variant
 * that this processor can run: their values against oracles in double, and
 * their gradients against finite differences of these.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#define N (4 * LANES_MAX + 3)
#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
#define STEP 1e-5

static float x[N], y[N], gain[N], bias[N], gradient[N], out[N], other[N];
static double xd[N], yd[N];

static void
fill(size_t n, uint64_t seed)
{
    oracle_random_t random = { seed };
    for (size_t i = 0; i < n; i++) {
        x[i] = 3.0f * oracle_float(&random);
        y[i] = 3.0f * oracle_float(&random);
        gain[i] = 1.0f + oracle_float(&random);
        bias[i] = oracle_float(&random);
        gradient[i] = oracle_float(&random);
        xd[i] = (double)x[i];
        yd[i] = (double)y[i];
    }
}

static void
check(const char *isa, const char *what, size_t n, size_t i, float got,
      double want, double bound)
{
    cr_assert(fabs((double)got - want) <= bound * (1 + fabs(want)),
              "%s, %s of %zu, element %zu: %.9g instead of %.9g", isa, what, n,
              i, (double)got, want);
}

/* --- normalisation -------------------------------------------------------- */

/* The sum of gradient times out of a norm, of `xd`. */
static double
norm_loss(size_t n, const skn_norm_t *norm, double *value)
{
    double mean = 0, square = 0, loss = 0;
    for (size_t i = 0; i < n && norm->centred; i++)
        mean += xd[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (xd[i] - mean) * (xd[i] - mean) / (double)n;
    double scale = 1 / sqrt(square + (double)norm->eps);
    for (size_t i = 0; i < n; i++) {
        double o = (xd[i] - mean) * scale * (double)norm->gain[i] +
                   (norm->bias ? (double)norm->bias[i] : 0);
        if (value)
            value[i] = o;
        loss += o * (double)gradient[i];
    }
    return loss;
}

static void
test_norm(const skn_kernels_t *kernels, size_t n, bool centred)
{
    const skn_norm_t norm = { gain, centred ? bias : NULL, 1e-5f, centred };
    double want[N];
    skn_norm_row_t row;
    fill(n, 100 + n);
    kernels->norm_row(out, x, n, &norm, &row);
    (void)norm_loss(n, &norm, want);
    for (size_t i = 0; i < n; i++)
        check(kernels->isa, "norm_row", n, i, out[i], want[i], 2e-5);
    for (size_t i = 0; i < n; i++)
        out[i] = 1.0f;
    kernels->norm_row_gradient(out, gradient, x, n, &norm, &row);
    for (size_t i = 0; i < n; i++) {
        double kept = xd[i];
        xd[i] = kept + STEP;
        double up = norm_loss(n, &norm, NULL);
        xd[i] = kept - STEP;
        double down = norm_loss(n, &norm, NULL);
        xd[i] = kept;
        /* A row of one number that is centred is all eps. */
        if (n > 2 || !centred)
            check(kernels->isa, "norm_row_gradient", n, i, out[i],
                  1 + (up - down) / (2 * STEP), 1e-4);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = other[i] = 2.0f;
    kernels->norm_gain_gradient(out, centred ? other : NULL, gradient, x, n,
                                &row);
    for (size_t i = 0; i < n; i++) {
        double b = centred ? (double)bias[i] : 0;
        double h = (want[i] - b) / (double)gain[i];
        check(kernels->isa, "norm_gain_gradient", n, i, out[i],
              2 + h * (double)gradient[i], 1e-4);
        check(kernels->isa, "its bias", n, i, other[i],
              centred ? 2 + (double)gradient[i] : 2, 1e-6);
    }
}

Test(kernels_dense, norms_match_the_oracle_and_its_differences)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 1; n <= N; n++) {
        test_norm(kernels, n, true);
        test_norm(kernels, n, false);
    }
}

Test(kernels_dense, a_row_of_zeros_is_normalised_to_its_bias)
{
    const skn_norm_t norm = { gain, bias, 1e-5f, true };
    const skn_kernels_t *kernels;
    skn_norm_row_t row;
    fill(N, 1);
    memset(x, 0, sizeof(x));
    EACH_VARIANT(kernels)
    {
        kernels->norm_row(out, x, N, &norm, &row);
        for (size_t i = 0; i < N; i++)
            cr_assert_eq(oracle_bits(out[i]), oracle_bits(bias[i]));
    }
}

/* --- activations ---------------------------------------------------------- */

static double
gelu_of(double value)
{
    double inner = value + 0.044715 * value * value * value;
    return value / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * inner));
}

static double
silu_of(double value)
{
    return value / (1 + exp(-value));
}

static double
slope_of(double (*function)(double), double at)
{
    return (function(at + STEP) - function(at - STEP)) / (2 * STEP);
}

Test(kernels_dense, activations_match_the_oracle_and_its_differences)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= N; n++) {
        fill(n, 200 + n);
        kernels->gelu(out, x, n);
        for (size_t i = 0; i < n; i++)
            check(kernels->isa, "gelu", n, i, out[i], gelu_of(xd[i]), 1e-6);
        kernels->gelu_gradient(out, gradient, x, n);
        for (size_t i = 0; i < n; i++)
            check(kernels->isa, "gelu_gradient", n, i, out[i],
                  (double)gradient[i] * slope_of(gelu_of, xd[i]), 2e-6);
        kernels->silu_gate(out, x, y, n);
        for (size_t i = 0; i < n; i++)
            check(kernels->isa, "silu_gate", n, i, out[i],
                  silu_of(xd[i]) * yd[i], 1e-6);
        kernels->silu_gate_gradient(out, other, gradient, x, y, n);
        for (size_t i = 0; i < n; i++) {
            check(kernels->isa, "silu_gate_gradient", n, i, out[i],
                  (double)gradient[i] * yd[i] * slope_of(silu_of, xd[i]), 2e-6);
            check(kernels->isa, "its gate", n, i, other[i],
                  (double)gradient[i] * silu_of(xd[i]), 1e-6);
        }
    }
}

Test(kernels_dense, activations_of_great_numbers_are_finite)
{
    static const float great[] = { -1e4f, -100.0f, 100.0f, 1e4f };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t k = 0; k < 4; k++) {
        float one = 1.0f, got, gate;
        kernels->gelu(&got, &great[k], 1);
        cr_assert_float_eq(got, great[k] > 0 ? great[k] : 0.0f, 0.0f);
        kernels->gelu_gradient(&got, &one, &great[k], 1);
        cr_assert_float_eq(got, great[k] > 0 ? 1.0f : 0.0f, 0.0f);
        kernels->silu_gate_gradient(&got, &gate, &one, &great[k], &one, 1);
        cr_assert_float_eq(got, great[k] > 0 ? 1.0f : 0.0f, 0.0f);
        cr_assert_float_eq(gate, great[k] > 0 ? great[k] : 0.0f, 0.0f);
    }
}

/* --- positions ------------------------------------------------------------ */

Test(kernels_dense, a_rotation_turns_pairs_and_its_inverse_turns_them_back)
{
    const skn_kernels_t *kernels;
    float cosine[N], sine[N];
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= N; n += 2) {
        fill(n, 300 + n);
        for (size_t i = 0; i < n / 2; i++) {
            double angle = 0.7 * (double)(i + 1);
            cosine[i] = (float)cos(angle);
            sine[i] = (float)sin(angle);
        }
        memcpy(out, x, sizeof(out));
        kernels->rotate(out, cosine, sine, n, false);
        for (size_t i = 0; i < n / 2; i++) {
            double c = (double)cosine[i], s = (double)sine[i];
            check(kernels->isa, "rotate", n, i, out[i],
                  xd[i] * c - xd[i + n / 2] * s, 1e-6);
            check(kernels->isa, "rotate", n, i + n / 2, out[i + n / 2],
                  xd[i + n / 2] * c + xd[i] * s, 1e-6);
        }
        kernels->rotate(out, cosine, sine, n, true);
        for (size_t i = 0; i < n; i++)
            check(kernels->isa, "rotate back", n, i, out[i], xd[i], 1e-6);
    }
}

/* --- attention ------------------------------------------------------------ */

#define TOKENS_MAX 61
#define HEAD_MAX 20
#define STRIDE (3 * HEAD_MAX + 5)

static double qkv[TOKENS_MAX * STRIDE];

/* The sum of gradient times out, by `qkv`. */
static double
attention_loss(const skn_attention_t *job, const float *by, double *value)
{
    double loss = 0;
    for (size_t i = 0; i < job->tokens; i++) {
        size_t seen = job->causal ? i + 1 : job->tokens;
        double e[TOKENS_MAX], sum = 0, greatest = -1e300;
        for (size_t j = 0; j < seen; j++) {
            e[j] = 0;
            for (size_t c = 0; c < job->head; c++)
                e[j] += qkv[i * STRIDE + c] * qkv[j * STRIDE + job->head + c];
            e[j] *= (double)job->scale;
            greatest = e[j] > greatest ? e[j] : greatest;
        }
        for (size_t j = 0; j < seen; j++)
            sum += e[j] = exp(e[j] - greatest);
        for (size_t c = 0; c < job->head; c++) {
            double o = 0;
            for (size_t j = 0; j < seen; j++)
                o += e[j] / sum * qkv[j * STRIDE + 2 * job->head + c];
            if (value)
                value[i * HEAD_MAX + c] = o;
            loss += o * (double)by[i * HEAD_MAX + c];
        }
    }
    return loss;
}

/* Queries from any one on have the bits that they have with those before. */
static void
test_last_queries(const skn_kernels_t *kernels, const skn_attention_t *whole,
                  const float *wanted, void *scratch)
{
    static float got[TOKENS_MAX * HEAD_MAX];
    float log_sum[TOKENS_MAX];
    skn_attention_t job = *whole;
    for (job.first = 1; job.first < job.tokens; job.first += 7) {
        kernels->attend(&job, got, HEAD_MAX, log_sum, scratch);
        for (size_t i = job.first; i < job.tokens; i++)
            cr_assert_arr_eq(got + (i - job.first) * HEAD_MAX,
                             wanted + i * HEAD_MAX, job.head * sizeof(float),
                             "%s: query %zu from %zu on", kernels->isa, i,
                             job.first);
    }
}

static void
test_attention(const skn_kernels_t *kernels, size_t tokens, size_t head,
               bool causal)
{
    static float rows[TOKENS_MAX * STRIDE], slopes[TOKENS_MAX * STRIDE];
    static float got[TOKENS_MAX * HEAD_MAX], by[TOKENS_MAX * HEAD_MAX];
    static double want[TOKENS_MAX * HEAD_MAX];
    float log_sum[TOKENS_MAX];
    oracle_random_t random = { tokens * 100 + head };
    for (size_t i = 0; i < TOKENS_MAX * STRIDE; i++) {
        rows[i] = 2.0f * oracle_float(&random);
        qkv[i] = (double)rows[i];
    }
    for (size_t i = 0; i < TOKENS_MAX * HEAD_MAX; i++)
        by[i] = oracle_float(&random);
    const skn_attention_t job = { .tokens = tokens,
                                  .head = head,
                                  .q = rows,
                                  .k = rows + head,
                                  .v = rows + 2 * head,
                                  .stride = STRIDE,
                                  .scale = 0.25f,
                                  .causal = causal };
    size_t bytes = kernels->attention_scratch_bytes(tokens, head);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    kernels->attend(&job, got, HEAD_MAX, log_sum, scratch);
    (void)attention_loss(&job, by, want);
    for (size_t i = 0; i < tokens; i++)
        for (size_t c = 0; c < head; c++)
            check(kernels->isa, "attend", tokens, i * HEAD_MAX + c,
                  got[i * HEAD_MAX + c], want[i * HEAD_MAX + c], 1e-5);
    test_last_queries(kernels, &job, got, scratch);
    kernels->attend_gradient(&job, got, by, HEAD_MAX, log_sum, slopes,
                             slopes + head, slopes + 2 * head, STRIDE, scratch);
    for (size_t i = 0; i < tokens; i++)
        for (size_t c = 0; c < 3 * head; c += 1 + i % 31) {
            double *at = &qkv[i * STRIDE + c], kept = *at;
            *at = kept + STEP;
            double up = attention_loss(&job, by, NULL);
            *at = kept - STEP;
            double down = attention_loss(&job, by, NULL);
            *at = kept;
            check(kernels->isa, "attend_gradient", tokens, i * STRIDE + c,
                  slopes[i * STRIDE + c], (up - down) / (2 * STEP), 2e-5);
        }
    free(scratch);
}

Test(kernels_dense, attention_matches_the_oracle_and_its_differences)
{
    static const size_t tokens[] = { 1, 17, TOKENS_MAX };
    static const size_t heads[] = { 1, 16, HEAD_MAX };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t t = 0; t < 3; t++)
        for (size_t h = 0; h < 3; h++) {
            test_attention(kernels, tokens[t], heads[h], true);
            test_attention(kernels, tokens[t], heads[h], false);
        }
}
