/* exp.h - exponentials of logits: the parts of softmax and logistic loss.
 *
 * exp(x) = 2^n e^r with n the integer nearest x / log 2, |r| <= (log 2) / 2.
 * The two parts of log 2 are those of Cody & Waite 1980: the first has 10
 * bits, so that n times it is exact. e^r = 1 + r + r^2 p(r), where p was found
 * by interpolation at Chebyshev's nodes: it is then within 1.1e-8 of itself, a
 * fifth of a rounding unit. Terms are added by twos (Estrin): the processor
 * waits for the chain, not for room.
 * SPDX-License-Identifier: Apache-2.0 */

#define LOG2_HIGH 0.693359375f
#define LOG2_LOW (-2.12194440e-4f)
/* Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. */
#define ROUND_MAGIC 12582912.0f
/* log FLT_MAX and log FLT_MIN, rounded inwards. */
#define EXP_MAX 88.72283f
#define EXP_MIN (-87.33654f)

/* p 2^n, where n is x / log 2 and lies in the low bits of `magic`: infinite,
 * 0 or NaN where exp(x) is. */
VF_WORD vf_t
exp_scaled(vf_t p, vf_t n, vf_t magic, vf_t x)
{
#ifdef VF_SCALE
    (void)magic;
    return vf_scale(vf_not_below(x, vf_set(EXP_MIN)), p, n);
#else
    (void)n;
    vi_t bits = vi_add(vf_bits(p), vi_left(vf_bits(magic), 23));
    vf_t e = vf_of_bits(bits);
    e = vf_choose(vf_above(x, vf_set(EXP_MAX)), vf_set(INFINITY), e);
    e = vf_choose(vf_above(vf_set(EXP_MIN), x), vf_zero(), e);
    return vf_choose(vf_is_nan(x), x, e);
#endif
}

/* -x, and -|x|: of NaN the sign alone. */
VF_WORD vf_t
vf_negative(vf_t x)
{
    return vf_of_bits(vi_xor(vf_bits(x), vi_set(1u << 31)));
}

VF_WORD vf_t
vf_below_zero(vf_t x)
{
    return vf_of_bits(vi_or(vf_bits(x), vi_set(1u << 31)));
}

VF_WORD vf_t
vf_exp(vf_t x)
{
#ifdef VF_SCALE /* infinity less infinity is NaN; vf_min keeps a NaN here */
    x = vf_min(vf_set(EXP_MAX + 1.0f), x);
#endif
    vf_t magic = vf_fma(x, vf_set(1.44269504f), vf_set(ROUND_MAGIC));
    vf_t n = vf_sub(magic, vf_set(ROUND_MAGIC));
    vf_t r = vf_fma(n, vf_set(-LOG2_HIGH), x);
    r = vf_fma(n, vf_set(-LOG2_LOW), r);
    vf_t square = vf_mul(r, r);
    vf_t p0 = vf_fma(r, vf_set(0.16666577f), vf_set(0.5f));
    vf_t p2 = vf_fma(r, vf_set(0.0083631731f), vf_set(0.041666555f));
    vf_t p = vf_fma(vf_set(0.0013926176f), square, p2);
    p = vf_fma(p, square, p0);
    p = vf_add(vf_fma(p, square, r), vf_set(1.0f));
    return exp_scaled(p, n, magic, x);
}

/* log(1 + y) for y in [0, 1], as 2 artanh(u) with u = y / (2 + y) <= 1/3, which
 * is 2 (u + u^3 p(u^2)); p was found like that of exp: 1.6e-8. */
VF_WORD vf_t
vf_log1p(vf_t y)
{
    vf_t u = vf_div(y, vf_add(y, vf_set(2.0f)));
    vf_t square = vf_mul(u, u);
    vf_t fourth = vf_mul(square, square);
    vf_t p0 = vf_fma(square, vf_set(0.2000378032f), vf_set(0.3333332017f));
    vf_t p2 = vf_fma(square, vf_set(0.1342574901f), vf_set(0.141183099f));
    vf_t p = vf_fma(p2, fourth, p0);
    u = vf_add(u, u);
    return vf_fma(vf_mul(p, square), u, u);
}

/* vf_max(a, b) is b when one is NaN: the greatest so far. */
static float
row_max(const float *x, size_t n)
{
    vf_t m[4] = { vf_set(-INFINITY), vf_set(-INFINITY), vf_set(-INFINITY),
                  vf_set(-INFINITY) };
    size_t i = 0;
    for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES)
        for (size_t v = 0; v < 4; v++)
            m[v] = vf_max(vf_load(x + i + v * VF_LANES), m[v]);
    for (; i + VF_LANES <= n; i += VF_LANES)
        m[0] = vf_max(vf_load(x + i), m[0]);
    float greatest =
        vf_greatest(vf_max(vf_max(m[0], m[1]), vf_max(m[2], m[3])));
    for (; i < n; i++)
        greatest = x[i] > greatest ? x[i] : greatest;
    return greatest;
}

typedef struct exp_job {
    float *out;
    const float *o, *weight;
    vf_t shift;
} exp_job_t;

VF_WORD vf_t
exp_step(const exp_job_t *job, size_t i, size_t lanes)
{
    vf_t power = vf_exp(vf_sub(vf_load_n(job->o + i, lanes), job->shift));
    power = vf_mul(power, vf_load_weight(job->weight, i, lanes));
    vf_store_n(job->out + i, power, lanes);
    /* Lanes beyond n are not 0 yet. */
    return lanes == VF_LANES ? power : vf_load_n(job->out + i, lanes);
}

static float
exp_weight_sum(float *e, const float *o, const float *weight, size_t n, float m)
{
    exp_job_t job = { e, o, weight, vf_set(m) };
    vf_t sum = vf_zero();
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        sum = vf_add(sum, exp_step(&job, i, VF_LANES));
    if (i < n)
        sum = vf_add(sum, exp_step(&job, i, n - i));
    return vf_sum(sum);
}

/* vf_max(a, b) is b when one is NaN. */
static void
raise(float *greatest, const float *x, size_t n)
{
    size_t i = 0;
#pragma GCC unroll 4
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(greatest + i, vf_max(vf_load(x + i), vf_load(greatest + i)));
    if (i < n) {
        vf_t m = vf_load_n(greatest + i, n - i);
        vf_store_n(greatest + i, vf_max(vf_load_n(x + i, n - i), m), n - i);
    }
}

VF_WORD vf_t
exp_part(const float *o, const float *m, vf_t weight, float *sum, size_t lanes)
{
    vf_t x = vf_sub(vf_load_n(o, lanes), vf_load_n(m, lanes));
    vf_t power = vf_mul(vf_exp(x), weight);
    vf_store_n(sum, vf_add(vf_load_n(sum, lanes), power), lanes);
    return power;
}

static void
exp_each(float *e, uint16_t *half, const float *o, const float *m, float weight,
         float *sum, size_t n)
{
    vf_t factor = vf_set(weight);
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n && half; i += 2 * VF_LANES) {
        size_t j = i + VF_LANES;
        vf_t a = exp_part(o + i, m + i, factor, sum + i, VF_LANES);
        vf_t b = exp_part(o + j, m + j, factor, sum + j, VF_LANES);
        bf16_store_two(half + i, a, b);
    }
    for (; i + VF_LANES <= n && !half; i += VF_LANES)
        vf_store(e + i, exp_part(o + i, m + i, factor, sum + i, VF_LANES));
    for (; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t power = exp_part(o + i, m + i, factor, sum + i, lanes);
        if (half)
            vi_store_u16_n(half + i, bf16_nearest(power), lanes);
        else
            vf_store_n(e + i, power, lanes);
    }
}

VF_WORD void
sigmoid_step(const void *what, size_t i, size_t lanes)
{
    const exp_job_t *job = what;
    vf_t power = vf_exp(vf_negative(vf_load_n(job->o + i, lanes)));
    vf_t weight = vf_load_weight(job->weight, i, lanes);
    vf_t share = vf_div(weight, vf_add(vf_set(1.0f), power));
    vf_store_n(job->out + i, share, lanes);
}

static void
sigmoid_weight(float *d, const float *o, const float *weight, size_t n)
{
    exp_job_t job = { .out = d, .o = o, .weight = weight };
    vf_each(sigmoid_step, &job, d, n);
}

/* log(1 + e^o) = max(o, 0) + log(1 + e^-|o|): no term overflows. The maximum
 * takes o last, since vf_max is its second argument when one is NaN. */
VF_WORD vf_t
softplus_step(const exp_job_t *job, size_t i, size_t lanes)
{
    vf_t x = vf_load_n(job->o + i, lanes);
    vf_t term = vf_log1p(vf_exp(vf_below_zero(x)));
    term = vf_add(vf_max(vf_zero(), x), term);
    return vf_mul(term, vf_load_weight(job->weight, i, lanes));
}

static float
softplus_sum(const float *o, const float *weight, size_t n)
{
    exp_job_t job = { .o = o, .weight = weight };
    vf_t sum = vf_zero();
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        sum = vf_add(sum, softplus_step(&job, i, VF_LANES));
    if (i < n) { /* lanes beyond n are not 0 */
        float kept[VF_LANES];
        vf_store(kept, softplus_step(&job, i, n - i));
        sum = vf_add(sum, vf_load_n(kept, n - i));
    }
    return vf_sum(sum);
}
