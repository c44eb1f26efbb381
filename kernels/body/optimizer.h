/* optimizer.h - kernels for one step of an optimizer on one row of weights.
 *
 * Adam: Kingma & Ba 2015, Algorithm 1; weight decay: Loshchilov & Hutter 2019,
 * Algorithm 2. Products and sums stay unfused, so that all instruction sets
 * give the same bits.
 * SPDX-License-Identifier: Apache-2.0 */

typedef struct adam_job {
    float *w, *m, *v;
    const float *g;
    vf_t decay1, decay2, part1, part2, c1, c2, eps, rate, weight_decay;
} adam_job_t;

VF_WORD void
adam_step(const void *what, size_t i, size_t lanes)
{
    const adam_job_t *job = what;
    vf_t slope = vf_load_n(job->g + i, lanes);
    vf_t old = vf_load_n(job->w + i, lanes);
    vf_t m1 = vf_add(vf_mul(job->decay1, vf_load_n(job->m + i, lanes)),
                     vf_mul(job->part1, slope));
    vf_t v1 = vf_add(vf_mul(job->decay2, vf_load_n(job->v + i, lanes)),
                     vf_mul(job->part2, vf_mul(slope, slope)));
    vf_t root = vf_add(vf_sqrt(vf_mul(v1, job->c2)), job->eps);
    vf_t step = vf_add(vf_div(vf_mul(m1, job->c1), root),
                       vf_mul(job->weight_decay, old));
    vf_store_n(job->m + i, m1, lanes);
    vf_store_n(job->v + i, v1, lanes);
    vf_store_n(job->w + i, vf_sub(old, vf_mul(job->rate, step)), lanes);
}

static void
adam_row(float *w, float *m, float *v, const float *g, size_t n,
         const skn_adam_t *adam)
{
    adam_job_t job = {
        .w = w,
        .m = m,
        .v = v,
        .g = g,
        .decay1 = vf_set(adam->decay1),
        .decay2 = vf_set(adam->decay2),
        .part1 = vf_set(adam->one_minus_beta1),
        .part2 = vf_set(adam->one_minus_beta2),
        .c1 = vf_set(adam->correction1),
        .c2 = vf_set(adam->correction2),
        .eps = vf_set(adam->eps),
        .rate = vf_set(adam->rate),
        .weight_decay = vf_set(adam->weight_decay),
    };
    vf_each(adam_step, &job, w, n);
}

typedef struct sgd_job {
    float *w;
    const float *g;
    vf_t rate, weight_decay;
} sgd_job_t;

VF_WORD void
adagrad_step(const void *what, size_t i, size_t lanes)
{
    const sgd_job_t *job = what;
    vf_t change = vf_mul(job->rate, vf_load_n(job->g + i, lanes));
    vf_t old = vf_load_n(job->w + i, lanes);
    vf_store_n(job->w + i, vf_sub(old, change), lanes);
}

/* Row-wise Adagrad: one accumulator, and so one divisor, for each row. */
static void
adagrad_row(float *w, const float *g, size_t n, float rate, float accumulator,
            float eps)
{
    vf_t step = vf_set(rate / (__builtin_sqrtf(accumulator) + eps));
    sgd_job_t job = { .w = w, .g = g, .rate = step };
    vf_each(adagrad_step, &job, w, n);
}

/* The mean of the squares of `columns` numbers, at most 8, in a fixed order. */
VF_WORD float
mean_square(const float *g, size_t columns)
{
    float part[4] = { 0.0f };
    for (size_t c = 0; c < 4 && c < columns; c++)
        part[c] = g[c] * g[c];
    for (size_t c = 4; c < columns; c++)
        part[c - 4] += g[c] * g[c];
    return ((part[0] + part[2]) + (part[1] + part[3])) / (float)columns;
}

/* Adds the mean squares of `count` groups of columns to their sums. */
VF_WORD void
add_mean_squares(float *sum, const float *g, size_t count)
{
    const size_t each = SKN_ADAGRAD_COLUMNS;
    size_t k = 0;
#ifdef VF_EIGHT_SUMS /* in the order of mean_square */
    for (; k + 8 <= count; k += 8) {
        vf_t square[8];
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; j++) {
            vf_t x = vf_load(g + (k + j) * each);
            square[j] = vf_mul(x, x);
        }
        vf_t mean = vf_mul(vf_eight_sums(square), vf_set(1.0f / (float)each));
        vf_store(sum + k, vf_add(vf_load(sum + k), mean));
    }
#endif
    for (; k < count; k++)
        sum[k] += mean_square(g + k * each, each);
}

/* w -= step g, with a step for each of `count` groups of columns. */
VF_WORD void
step_groups(float *w, const float *step, const float *g, size_t count)
{
    const size_t each = SKN_ADAGRAD_COLUMNS;
#ifdef VF_EIGHT_SUMS
#pragma GCC unroll 4
    for (size_t k = 0; k < count; k++, w += each, g += each)
        vf_store(w, vf_sub(vf_load(w), vf_mul(vf_set(step[k]), vf_load(g))));
#else
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < each; c++)
            w[k * each + c] -= step[k] * g[k * each + c];
#endif
}

/* Adagrad with an accumulator for every 8 columns. Sums first, then all their
 * roots at once, then the weights: one root takes as long as a vector of
 * them. */
static void
adagrad_columns(float *w, float *sum, const float *g, size_t n, float rate,
                float eps)
{
    const size_t each = SKN_ADAGRAD_COLUMNS;
    float step[16];
    for (size_t i = 0; i < n; i += 16 * each) {
        size_t left = n - i < 16 * each ? n - i : 16 * each;
        size_t whole = left / each, rest = left % each;
        size_t sums = whole + (rest > 0);
        add_mean_squares(sum, g, whole);
        if (rest > 0)
            sum[whole] += mean_square(g + whole * each, rest);
        for (size_t k = 0; k < sums; k += VF_LANES) {
            vf_t root = vf_sqrt(vf_load_n(sum + k, vf_lanes(sums - k)));
            vf_store_n(step + k,
                       vf_div(vf_set(rate), vf_add(root, vf_set(eps))),
                       vf_lanes(sums - k));
        }
        step_groups(w, step, g, whole);
        for (size_t c = whole * each; c < left; c++)
            w[c] -= step[whole] * g[c];
        w += left;
        g += left;
        sum += sums;
    }
}

VF_WORD void
sgd_step(const void *what, size_t i, size_t lanes)
{
    const sgd_job_t *job = what;
    vf_t old = vf_load_n(job->w + i, lanes);
    vf_t slope =
        vf_add(vf_load_n(job->g + i, lanes), vf_mul(job->weight_decay, old));
    vf_store_n(job->w + i, vf_sub(old, vf_mul(job->rate, slope)), lanes);
}

static void
sgd_row(float *w, const float *g, size_t n, float rate, float weight_decay)
{
    sgd_job_t job = { w, g, vf_set(rate), vf_set(weight_decay) };
    vf_each(sgd_step, &job, w, n);
}
