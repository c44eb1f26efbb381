/* optimizer.h - one step of an optimizer on one row of weights.
 *
 * Adam: Kingma & Ba 2015, Algorithm 1; weight decay: Loshchilov & Hutter 2019,
 * Algorithm 2. Products and sums stay unfused, so that all instruction sets
 * give the same bits.
 * SPDX-License-Identifier: Apache-2.0 */

static void
adam_row(float *w, float *m, float *v, const float *g, size_t n,
         const skn_adam_t *adam)
{
    vf_t decay1 = vf_set(adam->decay1), decay2 = vf_set(adam->decay2);
    vf_t part1 = vf_set(adam->one_minus_beta1);
    vf_t part2 = vf_set(adam->one_minus_beta2);
    vf_t c1 = vf_set(adam->correction1), c2 = vf_set(adam->correction2);
    vf_t eps = vf_set(adam->eps), rate = vf_set(adam->rate);
    vf_t weight_decay = vf_set(adam->weight_decay);
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t slope = vf_load_n(g + i, lanes), old = vf_load_n(w + i, lanes);
        vf_t m1 = vf_add(vf_mul(decay1, vf_load_n(m + i, lanes)),
                         vf_mul(part1, slope));
        vf_t v1 = vf_add(vf_mul(decay2, vf_load_n(v + i, lanes)),
                         vf_mul(part2, vf_mul(slope, slope)));
        vf_t root = vf_add(vf_sqrt(vf_mul(v1, c2)), eps);
        vf_t step =
            vf_add(vf_div(vf_mul(m1, c1), root), vf_mul(weight_decay, old));
        vf_store_n(m + i, m1, lanes);
        vf_store_n(v + i, v1, lanes);
        vf_store_n(w + i, vf_sub(old, vf_mul(rate, step)), lanes);
    }
}

/* Row-wise Adagrad: the accumulator, and so the divisor, is one a row. */
static void
adagrad_row(float *w, const float *g, size_t n, float rate, float accumulator,
            float eps)
{
    vf_t step = vf_set(rate / (__builtin_sqrtf(accumulator) + eps));
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t change = vf_mul(step, vf_load_n(g + i, lanes));
        vf_store_n(w + i, vf_sub(vf_load_n(w + i, lanes), change), lanes);
    }
}

static void
sgd_row(float *w, const float *g, size_t n, float rate, float weight_decay)
{
    vf_t step = vf_set(rate), decay = vf_set(weight_decay);
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t old = vf_load_n(w + i, lanes);
        vf_t slope = vf_add(vf_load_n(g + i, lanes), vf_mul(decay, old));
        vf_store_n(w + i, vf_sub(old, vf_mul(step, slope)), lanes);
    }
}
