/* exp.h - kernels with exponentials: parts of softmax and logistic loss.
 *
 * exp(x) = 2^n e^r with n the integer nearest x / log 2, |r| <= (log 2) / 2.
 * The two parts of log 2 are those of Cody & Waite 1980: the first has 10 bits,
 * so that n times it is exact. e^r = 1 + r + r^2 p(r), where p was found by
 * interpolation at Chebyshev's nodes: it is then within 1.1e-8 of itself, a
 * fifth of a rounding unit. Terms are added in pairs (Estrin), since latency
 * limits the speed, not throughput.
 * SPDX-License-Identifier: Apache-2.0 */

#define LOG2_HIGH 0.693359375f
#define LOG2_LOW (-2.12194440e-4f)
/* Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. */
#define ROUND_MAGIC 12582912.0f
/* log FLT_MAX and log FLT_MIN, rounded inwards. */
#define EXP_MAX 88.72283f
#define EXP_MIN (-87.33654f)

#ifndef VF_SCALE
/* For numbers beyond +-EXP_MIN, and for NaN, the bits except the sign are
 * greater than those of EXP_MIN: they set the highest bit of the sum. */
#define EXP_SAFE_BITS 0x42aeac4fu

VF_WORD vi_t
exp_doubt(vf_t x)
{
    vi_t size = vi_and(vf_bits(x), vi_set(0x7fffffffu));
    return vi_add(size, vi_set(0x7fffffffu - EXP_SAFE_BITS));
}

/* e, which is exp(x) where its exponent is in range; infinite, 0 or NaN where
 * exp(x) is. */
VF_WORD vf_t
exp_beyond(vf_t e, vf_t x)
{
    e = vf_choose(vf_above(x, vf_set(EXP_MAX)), vf_set(INFINITY), e);
    e = vf_choose(vf_above(vf_set(EXP_MIN), x), vf_zero(), e);
    return vf_choose(vf_is_nan(x), x, e);
}
#endif

/* -x, and -|x|: of NaN only the sign changes. */
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

/* The number of vectors computed side by side. One is a chain of some fifteen
 * operations, each of which waits for the one before: a processor with a window
 * of sixty operations overlaps only two or three such chains, and waits. */
#define EXP_WAYS 4
#define EXP_EACH _Pragma("GCC unroll 4") for (size_t v = 0; v < ways; v++)

VF_WORD void
vf_exp_ways(vf_t *x, size_t ways)
{
    vf_t magic[EXP_WAYS], n[EXP_WAYS], r[EXP_WAYS], square[EXP_WAYS];
    vf_t p0[EXP_WAYS], p[EXP_WAYS];
#ifdef VF_SCALE /* infinity minus infinity is NaN; vf_min keeps a NaN here */
    EXP_EACH x[v] = vf_min(vf_set(EXP_MAX + 1.0f), x[v]);
#endif
    EXP_EACH magic[v] = vf_fma(x[v], vf_set(1.44269504f), vf_set(ROUND_MAGIC));
    EXP_EACH n[v] = vf_sub(magic[v], vf_set(ROUND_MAGIC));
    EXP_EACH r[v] = vf_fma(n[v], vf_set(-LOG2_HIGH), x[v]);
    EXP_EACH r[v] = vf_fma(n[v], vf_set(-LOG2_LOW), r[v]);
    EXP_EACH square[v] = vf_mul(r[v], r[v]);
    EXP_EACH p0[v] = vf_fma(r[v], vf_set(0.16666577f), vf_set(0.5f));
    EXP_EACH p[v] = vf_fma(r[v], vf_set(0.0083631731f), vf_set(0.041666555f));
    EXP_EACH p[v] = vf_fma(vf_set(0.0013926176f), square[v], p[v]);
    EXP_EACH p[v] = vf_fma(p[v], square[v], p0[v]);
    EXP_EACH p[v] = vf_add(vf_fma(p[v], square[v], r[v]), vf_set(1.0f));
#ifdef VF_SCALE
    EXP_EACH x[v] = vf_scale(vf_not_below(x[v], vf_set(EXP_MIN)), p[v], n[v]);
#else /* n is in the low bits of `magic` */
    vi_t doubt = vi_set(0);
    EXP_EACH n[v] = x[v];
    EXP_EACH doubt = vi_or(doubt, exp_doubt(x[v]));
    EXP_EACH x[v] =
        vf_of_bits(vi_add(vf_bits(p[v]), vi_left(vf_bits(magic[v]), 23)));
    if (vm_bits(vi_below(doubt, vi_set(0)))) /* rare */
        EXP_EACH x[v] = exp_beyond(x[v], n[v]);
#endif
}

VF_WORD vf_t
vf_exp(vf_t x)
{
    vf_exp_ways(&x, 1);
    return x;
}

/* log(1 + y) for y in [0, 1], as 2 artanh(u) with u = y / (2 + y) <= 1/3, which
 * is 2 (u + u^3 p(u^2)); p was found like that of exp: error 1.6e-8. */
VF_WORD void
vf_log1p_ways(vf_t *y, size_t ways)
{
    vf_t u[EXP_WAYS], square[EXP_WAYS], fourth[EXP_WAYS], p0[EXP_WAYS];
    vf_t p[EXP_WAYS];
    EXP_EACH u[v] = vf_div(y[v], vf_add(y[v], vf_set(2.0f)));
    EXP_EACH square[v] = vf_mul(u[v], u[v]);
    EXP_EACH fourth[v] = vf_mul(square[v], square[v]);
    EXP_EACH p0[v] =
        vf_fma(square[v], vf_set(0.2000378032f), vf_set(0.3333332017f));
    EXP_EACH p[v] =
        vf_fma(square[v], vf_set(0.1342574901f), vf_set(0.141183099f));
    EXP_EACH p[v] = vf_fma(p[v], fourth[v], p0[v]);
    EXP_EACH u[v] = vf_add(u[v], u[v]);
    EXP_EACH y[v] = vf_fma(vf_mul(p[v], square[v]), u[v], u[v]);
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

VF_WORD void
exp_step(const exp_job_t *job, size_t i, size_t ways, size_t lanes, vf_t *power)
{
    EXP_EACH power[v] =
        vf_sub(vf_load_n(job->o + i + v * VF_LANES, lanes), job->shift);
    vf_exp_ways(power, ways);
    EXP_EACH power[v] =
        vf_mul(power[v], vf_load_weight(job->weight, i + v * VF_LANES, lanes));
    EXP_EACH vf_store_n(job->out + i + v * VF_LANES, power[v], lanes);
    if (lanes < VF_LANES) /* those beyond n are not 0 yet */
        power[0] = vf_load_n(job->out + i, lanes);
}

static float
exp_weight_sum(float *e, const float *o, const float *weight, size_t n, float m)
{
    const size_t ways = EXP_WAYS;
    exp_job_t job = { e, o, weight, vf_set(m) };
    vf_t sum = vf_zero(), power[EXP_WAYS];
    size_t i = 0;
    for (; i + EXP_WAYS * VF_LANES <= n; i += EXP_WAYS * VF_LANES) {
        exp_step(&job, i, EXP_WAYS, VF_LANES, power);
        EXP_EACH sum = vf_add(sum, power[v]);
    }
    for (; i < n; i += VF_LANES) {
        exp_step(&job, i, 1, vf_lanes(n - i), power);
        sum = vf_add(sum, power[0]);
    }
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

typedef struct part_job {
    float *e;       /* the powers, unless `half` is set */
    uint16_t *half; /* the powers rounded to bf16; NULL: use `e` */
    const float *o, *m;
    float *sum;
    vf_t weight;
} part_job_t;

VF_WORD void
exp_part(const part_job_t *job, size_t i, size_t ways, size_t lanes)
{
    vf_t x[EXP_WAYS];
    float *sum = job->sum + i;
    EXP_EACH x[v] = vf_sub(vf_load_n(job->o + i + v * VF_LANES, lanes),
                           vf_load_n(job->m + i + v * VF_LANES, lanes));
    vf_exp_ways(x, ways);
    EXP_EACH x[v] = vf_mul(x[v], job->weight);
    EXP_EACH vf_store_n(sum + v * VF_LANES,
                        vf_add(vf_load_n(sum + v * VF_LANES, lanes), x[v]),
                        lanes);
    if (!job->half) {
        EXP_EACH vf_store_n(job->e + i + v * VF_LANES, x[v], lanes);
    } else if (ways == 1) {
        vi_store_u16_n(job->half + i, bf16_nearest(x[0]), lanes);
    } else {
#pragma GCC unroll 4
        for (size_t v = 0; v < ways; v += 2)
            bf16_store_two(job->half + i + v * VF_LANES, x[v], x[v + 1]);
    }
}

static void
exp_each(float *e, uint16_t *half, const float *o, const float *m, float weight,
         float *sum, size_t n)
{
    part_job_t job = { e, half, o, m, sum, vf_set(weight) };
    size_t i = 0;
    for (; i + EXP_WAYS * VF_LANES <= n; i += EXP_WAYS * VF_LANES)
        exp_part(&job, i, EXP_WAYS, VF_LANES);
    for (; i < n; i += VF_LANES)
        exp_part(&job, i, 1, vf_lanes(n - i));
}

VF_WORD void
sigmoid_step(const exp_job_t *job, size_t i, size_t ways, size_t lanes)
{
    vf_t x[EXP_WAYS];
    EXP_EACH x[v] = vf_negative(vf_load_n(job->o + i + v * VF_LANES, lanes));
    vf_exp_ways(x, ways);
    EXP_EACH x[v] = vf_div(vf_load_weight(job->weight, i + v * VF_LANES, lanes),
                           vf_add(vf_set(1.0f), x[v]));
    EXP_EACH vf_store_n(job->out + i + v * VF_LANES, x[v], lanes);
}

static void
sigmoid_weight(float *d, const float *o, const float *weight, size_t n)
{
    exp_job_t job = { .out = d, .o = o, .weight = weight };
    size_t i = 0;
    for (; i + EXP_WAYS * VF_LANES <= n; i += EXP_WAYS * VF_LANES)
        sigmoid_step(&job, i, EXP_WAYS, VF_LANES);
    for (; i < n; i += VF_LANES)
        sigmoid_step(&job, i, 1, vf_lanes(n - i));
}

/* log(1 + e^o) = max(o, 0) + log(1 + e^-|o|): no term overflows. The maximum
 * takes o last, since vf_max is its second argument when one is NaN. */
VF_WORD void
softplus_step(const exp_job_t *job, size_t i, size_t ways, size_t lanes,
              vf_t *term)
{
    vf_t x[EXP_WAYS];
    EXP_EACH x[v] = vf_load_n(job->o + i + v * VF_LANES, lanes);
    EXP_EACH term[v] = vf_below_zero(x[v]);
    vf_exp_ways(term, ways);
    vf_log1p_ways(term, ways);
    EXP_EACH term[v] = vf_add(vf_max(vf_zero(), x[v]), term[v]);
    EXP_EACH term[v] =
        vf_mul(term[v], vf_load_weight(job->weight, i + v * VF_LANES, lanes));
}

static float
softplus_sum(const float *o, const float *weight, size_t n)
{
    const size_t ways = EXP_WAYS;
    exp_job_t job = { .o = o, .weight = weight };
    vf_t sum = vf_zero(), term[EXP_WAYS];
    size_t i = 0;
    for (; i + EXP_WAYS * VF_LANES <= n; i += EXP_WAYS * VF_LANES) {
        softplus_step(&job, i, EXP_WAYS, VF_LANES, term);
        EXP_EACH sum = vf_add(sum, term[v]);
    }
    for (; i + VF_LANES <= n; i += VF_LANES) {
        softplus_step(&job, i, 1, VF_LANES, term);
        sum = vf_add(sum, term[0]);
    }
    if (i < n) { /* lanes beyond n are not 0 */
        float kept[VF_LANES];
        softplus_step(&job, i, 1, n - i, term);
        vf_store(kept, term[0]);
        sum = vf_add(sum, vf_load_n(kept, n - i));
    }
    return vf_sum(sum);
}
