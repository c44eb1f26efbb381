/* exp.h - exponentials of logits: the parts of softmax and logistic loss.
 *
 * exp(x) = 2^n e^r with n the integer nearest x / log 2, |r| <= (log 2) / 2.
 * The two parts of log 2 are those of Cody & Waite 1980: the first has 10
 * bits, so that n times it is exact. e^r is its series up to r^7 / 7!: the
 * next term, .3466^8 / 8! = 5e-9, is a tenth of a rounding unit.
 * SPDX-License-Identifier: Apache-2.0 */

#define LOG2_HIGH 0.693359375f
#define LOG2_LOW (-2.12194440e-4f)
/* Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. */
#define ROUND_MAGIC 12582912.0f
/* log FLT_MAX and log FLT_MIN, rounded inwards. */
#define EXP_MAX 88.72283f
#define EXP_MIN (-87.33654f)

VF_WORD vf_t
vf_exp(vf_t x)
{
    vf_t magic = vf_fma(x, vf_set(1.44269504f), vf_set(ROUND_MAGIC));
    vf_t n = vf_sub(magic, vf_set(ROUND_MAGIC));
    vf_t r = vf_fma(n, vf_set(-LOG2_HIGH), x);
    r = vf_fma(n, vf_set(-LOG2_LOW), r);
    vf_t p = vf_set(1.0f / 5040);
    p = vf_fma(p, r, vf_set(1.0f / 720));
    p = vf_fma(p, r, vf_set(1.0f / 120));
    p = vf_fma(p, r, vf_set(1.0f / 24));
    p = vf_fma(p, r, vf_set(1.0f / 6));
    p = vf_fma(p, r, vf_set(0.5f));
    p = vf_add(vf_fma(p, vf_mul(r, r), r), vf_set(1.0f));
    vi_t bits = vi_add(vf_bits(p), vi_left(vf_bits(magic), 23));
    vf_t e = vf_of_bits(bits);
    e = vf_choose(vf_above(x, vf_set(EXP_MAX)), vf_set(INFINITY), e);
    e = vf_choose(vf_above(vf_set(EXP_MIN), x), vf_zero(), e);
    return vf_choose(vf_is_nan(x), x, e);
}

/* log(1 + y) for y in [0, 1], as 2 artanh(u) with u = y / (2 + y) <= 1/3:
 * u + u^3/3 + ... + u^15/15; the rest is below (1/9)^8 / 15 = 2e-9. */
VF_WORD vf_t
vf_log1p(vf_t y)
{
    vf_t u = vf_div(y, vf_add(y, vf_set(2.0f)));
    vf_t square = vf_mul(u, u);
    vf_t p = vf_set(1.0f / 15);
    p = vf_fma(p, square, vf_set(1.0f / 13));
    p = vf_fma(p, square, vf_set(1.0f / 11));
    p = vf_fma(p, square, vf_set(1.0f / 9));
    p = vf_fma(p, square, vf_set(1.0f / 7));
    p = vf_fma(p, square, vf_set(1.0f / 5));
    p = vf_fma(p, square, vf_set(1.0f / 3));
    u = vf_add(u, u);
    return vf_fma(vf_mul(p, square), u, u);
}

/* vf_max(a, b) is b when one is NaN: the greatest so far. */
static float
row_max(const float *x, size_t n)
{
    vf_t m = vf_set(-INFINITY);
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        m = vf_max(vf_load(x + i), m);
    float greatest = vf_greatest(m);
    for (; i < n; i++)
        greatest = x[i] > greatest ? x[i] : greatest;
    return greatest;
}

static float
exp_weight_sum(float *e, const float *o, const float *weight, size_t n, float m)
{
    vf_t sum = vf_zero(), shift = vf_set(m);
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t power = vf_exp(vf_sub(vf_load_n(o + i, lanes), shift));
        power = vf_mul(power, vf_load_weight(weight, i, lanes));
        vf_store_n(e + i, power, lanes);
        if (lanes == VF_LANES)
            sum = vf_add(sum, power);
        else /* lanes beyond n are not 0 */
            sum = vf_add(sum, vf_load_n(e + i, lanes));
    }
    return vf_sum(sum);
}

static void
sigmoid_weight(float *d, const float *o, const float *weight, size_t n)
{
    vf_t one = vf_set(1.0f);
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t power = vf_exp(vf_sub(vf_zero(), vf_load_n(o + i, lanes)));
        vf_t share =
            vf_div(vf_load_weight(weight, i, lanes), vf_add(one, power));
        vf_store_n(d + i, share, lanes);
    }
}

/* log(1 + e^o) = max(o, 0) + log(1 + e^-|o|): no term overflows. The maximum
 * takes o last, since vf_max is its second argument when one is NaN. */
static float
softplus_sum(const float *o, const float *weight, size_t n)
{
    vf_t sum = vf_zero();
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t x = vf_load_n(o + i, lanes);
        vf_t small = vf_exp(vf_sub(vf_zero(), vf_abs(x)));
        vf_t term = vf_add(vf_max(vf_zero(), x), vf_log1p(small));
        vf_t part = vf_mul(term, vf_load_weight(weight, i, lanes));
        if (lanes < VF_LANES) { /* lanes beyond n are not 0 */
            float kept[VF_LANES];
            vf_store(kept, part);
            part = vf_load_n(kept, lanes);
        }
        sum = vf_add(sum, part);
    }
    return vf_sum(sum);
}
