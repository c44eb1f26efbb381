/* vector.h - kernels for elementwise sums and products of rows, and for sums.
 * SPDX-License-Identifier: Apache-2.0 */

/* Four sums hide the latency of the additions. */
static float
dot(const float *a, const float *b, size_t n)
{
    vf_t s0 = vf_zero(), s1 = vf_zero(), s2 = vf_zero(), s3 = vf_zero();
    size_t i = 0;
    for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
        const float *x = a + i, *y = b + i;
        s0 = vf_fma(vf_load(x), vf_load(y), s0);
        s1 = vf_fma(vf_load(x + VF_LANES), vf_load(y + VF_LANES), s1);
        s2 = vf_fma(vf_load(x + 2 * VF_LANES), vf_load(y + 2 * VF_LANES), s2);
        s3 = vf_fma(vf_load(x + 3 * VF_LANES), vf_load(y + 3 * VF_LANES), s3);
    }
    for (; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        s0 = vf_fma(vf_load_n(a + i, lanes), vf_load_n(b + i, lanes), s0);
    }
    return vf_sum(vf_add(vf_add(s0, s1), vf_add(s2, s3)));
}

/* A row that is computed from others and a number. */
typedef struct row_job {
    float *out;
    const float *a, *b;
    vf_t factor;
} row_job_t;

VF_WORD void
axpy_step(const void *what, size_t i, size_t lanes)
{
    const row_job_t *job = what;
    vf_t old = vf_load_n(job->out + i, lanes);
    vf_t sum = vf_fma(job->factor, vf_load_n(job->a + i, lanes), old);
    vf_store_n(job->out + i, sum, lanes);
}

static void
axpy(float *y, float a, const float *x, size_t n)
{
    row_job_t job = { .out = y, .a = x, .factor = vf_set(a) };
    vf_each(axpy_step, &job, job.out, n);
}

VF_WORD void
scale_step(const void *what, size_t i, size_t lanes)
{
    const row_job_t *job = what;
    vf_t old = vf_load_n(job->out + i, lanes);
    vf_store_n(job->out + i, vf_mul(job->factor, old), lanes);
}

static void
scale(float *x, float a, size_t n)
{
    row_job_t job = { .out = x, .factor = vf_set(a) };
    vf_each(scale_step, &job, job.out, n);
}

VF_WORD void
add_step(const void *what, size_t i, size_t lanes)
{
    const row_job_t *job = what;
    vf_t a = vf_load_n(job->a + i, lanes), b = vf_load_n(job->b + i, lanes);
    vf_store_n(job->out + i, vf_add(a, b), lanes);
}

static void
add(float *out, const float *a, const float *b, size_t n)
{
    row_job_t job = { .out = out, .a = a, .b = b };
    vf_each(add_step, &job, job.out, n);
}

VF_WORD void
mul_step(const void *what, size_t i, size_t lanes)
{
    const row_job_t *job = what;
    vf_t a = vf_load_n(job->a + i, lanes), b = vf_load_n(job->b + i, lanes);
    vf_store_n(job->out + i, vf_mul(a, b), lanes);
}

static void
mul(float *out, const float *a, const float *b, size_t n)
{
    row_job_t job = { .out = out, .a = a, .b = b };
    vf_each(mul_step, &job, job.out, n);
}

VF_WORD void
relu_step(const void *what, size_t i, size_t lanes)
{
    const row_job_t *job = what;
    vf_t x = vf_load_n(job->out + i, lanes);
    vf_store_n(job->out + i, vf_max(x, vf_zero()), lanes);
}

static void
relu(float *x, size_t n)
{
    row_job_t job = { .out = x };
    vf_each(relu_step, &job, job.out, n);
}

VF_WORD void
relu_mask_step(const void *what, size_t i, size_t lanes)
{
    const row_job_t *job = what;
    vm_t open = vf_above(vf_load_n(job->a + i, lanes), vf_zero());
    vf_t g = vf_load_n(job->out + i, lanes);
    vf_store_n(job->out + i, vf_keep(open, g), lanes);
}

static void
relu_mask_mul(float *g, const float *activation, size_t n)
{
    row_job_t job = { .out = g, .a = activation };
    vf_each(relu_mask_step, &job, job.out, n);
}

/* x * 0 is 0 for finite x and NaN for all others; NaN stays in the sum. */
static bool
finite_all(const float *x, size_t n)
{
    vf_t sum[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() };
    size_t i = 0;
    for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES)
        for (size_t v = 0; v < 4; v++)
            sum[v] = vf_fma(vf_load(x + i + v * VF_LANES), vf_zero(), sum[v]);
    for (; i < n; i += VF_LANES)
        sum[0] = vf_fma(vf_load_n(x + i, vf_lanes(n - i)), vf_zero(), sum[0]);
    return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]))) ==
           0.0f;
}

/* A float lane adds at most 32 squares before they are added to the double:
 * each lane's error is then at most 33 rounding units, and adding the lanes
 * five more. Two sums hide some of the latency. */
static double
sum_squares(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n;) {
        size_t block = n - i < 64 * VF_LANES ? n - i : 64 * VF_LANES, j = 0;
        vf_t even = vf_zero(), odd = vf_zero();
        for (; j + 2 * VF_LANES <= block; j += 2 * VF_LANES) {
            vf_t a = vf_load(x + i + j), b = vf_load(x + i + j + VF_LANES);
            even = vf_fma(a, a, even);
            odd = vf_fma(b, b, odd);
        }
        for (; j < block; j += VF_LANES) {
            vf_t a = vf_load_n(x + i + j, vf_lanes(block - j));
            even = vf_fma(a, a, even);
        }
        sum += (double)vf_sum(vf_add(even, odd));
        i += block;
    }
    return sum;
}
