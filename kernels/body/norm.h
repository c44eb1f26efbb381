/* norm.h - kernels for the normalisation of rows, forwards and backwards:
 * LayerNorm (Ba, Kiros & Hinton 2016) and RMSNorm (Zhang & Sennrich 2019).
 *
 * The row of a gradient is needed at once, the gradient of the gain and bias
 * only at the end of a step: two kernels.
 * SPDX-License-Identifier: Apache-2.0 */

/* The sums of four vectors at once hide the latency of the additions. */
#define NORM_WAYS 4
#define NORM_EACH _Pragma("GCC unroll 4") for (size_t v = 0; v < NORM_WAYS; v++)

VF_WORD float
norm_total(const vf_t *sum)
{
    return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

static float
row_sum(const float *x, size_t n)
{
    vf_t sum[NORM_WAYS];
    size_t i = 0;
    NORM_EACH sum[v] = vf_zero();
    for (; i + NORM_WAYS * VF_LANES <= n; i += NORM_WAYS * VF_LANES)
        NORM_EACH sum[v] = vf_add(vf_load(x + i + v * VF_LANES), sum[v]);
    for (; i < n; i += VF_LANES)
        sum[0] = vf_add(vf_load_n(x + i, vf_lanes(n - i)), sum[0]);
    return norm_total(sum);
}

/* The sum of (x[i] - mean)^2. */
static float
row_squares(const float *x, size_t n, float mean)
{
    vf_t sum[NORM_WAYS], m = vf_set(mean);
    size_t i = 0;
    NORM_EACH sum[v] = vf_zero();
    for (; i + NORM_WAYS * VF_LANES <= n; i += NORM_WAYS * VF_LANES)
        NORM_EACH
        {
            vf_t a = vf_sub(vf_load(x + i + v * VF_LANES), m);
            sum[v] = vf_fma(a, a, sum[v]);
        }
    for (; i + VF_LANES <= n; i += VF_LANES) {
        vf_t a = vf_sub(vf_load(x + i), m);
        sum[0] = vf_fma(a, a, sum[0]);
    }
    float rest = 0.0f; /* lanes beyond n would hold mean^2 */
    for (; i < n; i++)
        rest += (x[i] - mean) * (x[i] - mean);
    return norm_total(sum) + rest;
}

typedef struct norm_job {
    float *out;
    const float *x, *gain, *bias, *gradient;
    vf_t mean, scale, offset, slope;
} norm_job_t;

VF_WORD vf_t
norm_value(const norm_job_t *job, size_t i, size_t lanes)
{
    vf_t x = vf_load_n(job->x + i, lanes);
    return vf_mul(vf_sub(x, job->mean), job->scale);
}

/* The gradient by the normalised row; 0 in lanes beyond n. */
VF_WORD vf_t
norm_slope(const norm_job_t *job, size_t i, size_t lanes)
{
    return vf_mul(vf_load_n(job->gradient + i, lanes),
                  vf_load_n(job->gain + i, lanes));
}

VF_WORD void
norm_step(const void *what, size_t i, size_t lanes)
{
    const norm_job_t *job = what;
    vf_t bias = job->bias ? vf_load_n(job->bias + i, lanes) : vf_zero();
    vf_t gain = vf_load_n(job->gain + i, lanes);
    vf_store_n(job->out + i, vf_fma(norm_value(job, i, lanes), gain, bias),
               lanes);
}

static void
norm_row(float *out, const float *x, size_t n, const skn_norm_t *norm,
         skn_norm_row_t *row)
{
    row->mean = norm->centred ? row_sum(x, n) / (float)n : 0.0f;
    row->scale =
        1.0f /
        __builtin_sqrtf(row_squares(x, n, row->mean) / (float)n + norm->eps);
    norm_job_t job = { .out = out,
                       .x = x,
                       .gain = norm->gain,
                       .bias = norm->bias,
                       .mean = vf_set(row->mean),
                       .scale = vf_set(row->scale) };
    vf_each(norm_step, &job, out, n);
}

/* With h = (x - mean) scale and u = gradient gain:
 *     dx += scale (u - mean of u - h mean of (u h)),
 * where the mean of u is left out if the norm does not centre. */
VF_WORD void
norm_gradient_step(const void *what, size_t i, size_t lanes)
{
    const norm_job_t *job = what;
    vf_t u = norm_slope(job, i, lanes);
    vf_t h = norm_value(job, i, lanes);
    vf_t inner = vf_sub(vf_sub(u, job->offset), vf_mul(h, job->slope));
    vf_t old = vf_load_n(job->out + i, lanes);
    vf_store_n(job->out + i, vf_fma(inner, job->scale, old), lanes);
}

/* Adds u and u h, which are 0 in lanes beyond n. */
VF_WORD void
norm_sums(const norm_job_t *job, size_t i, size_t lanes, vf_t *sum,
          vf_t *product)
{
    vf_t u = norm_slope(job, i, lanes);
    *sum = vf_add(*sum, u);
    *product = vf_fma(u, norm_value(job, i, lanes), *product);
}

static void
norm_row_gradient(float *dx, const float *gradient, const float *x, size_t n,
                  const skn_norm_t *norm, const skn_norm_row_t *row)
{
    norm_job_t job = { .out = dx,
                       .x = x,
                       .gain = norm->gain,
                       .gradient = gradient,
                       .mean = vf_set(row->mean),
                       .scale = vf_set(row->scale) };
    vf_t sum[NORM_WAYS], product[NORM_WAYS];
    size_t i = 0;
    NORM_EACH sum[v] = product[v] = vf_zero();
    for (; i + NORM_WAYS * VF_LANES <= n; i += NORM_WAYS * VF_LANES)
        NORM_EACH norm_sums(&job, i + v * VF_LANES, VF_LANES, &sum[v],
                            &product[v]);
    for (; i < n; i += VF_LANES)
        norm_sums(&job, i, vf_lanes(n - i), &sum[0], &product[0]);
    job.offset = norm->centred ? vf_set(norm_total(sum) / (float)n) : vf_zero();
    job.slope = vf_set(norm_total(product) / (float)n);
    vf_each(norm_gradient_step, &job, dx, n);
}

VF_WORD void
norm_gain_step(const void *what, size_t i, size_t lanes)
{
    const norm_job_t *job = what;
    vf_t old = vf_load_n(job->out + i, lanes);
    vf_t gradient = vf_load_n(job->gradient + i, lanes);
    vf_store_n(job->out + i, vf_fma(gradient, norm_value(job, i, lanes), old),
               lanes);
}

static void
norm_gain_gradient(float *gain, float *bias, const float *gradient,
                   const float *x, size_t n, const skn_norm_row_t *row)
{
    norm_job_t job = { .out = gain,
                       .x = x,
                       .gradient = gradient,
                       .mean = vf_set(row->mean),
                       .scale = vf_set(row->scale) };
    vf_each(norm_gain_step, &job, gain, n);
    if (bias)
        add(bias, bias, gradient, n);
}
