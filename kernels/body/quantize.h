/* quantize.h - kernels that code floats as 8 or 4 bits each, rounded at random.
 *
 * An element's steps are x / scale, shifted above zero so that truncation
 * rounds down: floor(x / scale + u), u uniform below 1, is unbiased (Alistarh
 * et al. 2017, QSGD, section 3.1). Products and sums stay unfused: all
 * instruction sets give the same bits. The bits of u are those of noise.h.
 * SPDX-License-Identifier: Apache-2.0 */

/* As integers, magnitudes are in order: finite, infinite, NaN. */
static float
greatest_abs(const float *x, size_t n)
{
    uint32_t lane[VF_LANES], greatest = 0;
    float magnitude;
    vi_t even = vi_set(0), odd = vi_set(0), sign_less = vi_set(0x7fffffffu);
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        vi_t a = vf_bits(vf_load(x + i));
        vi_t b = vf_bits(vf_load(x + i + VF_LANES));
        even = vi_max(even, vi_and(a, sign_less));
        odd = vi_max(odd, vi_and(b, sign_less));
    }
    for (; i < n; i += VF_LANES) {
        vi_t a = vf_bits(vf_load_n(x + i, vf_lanes(n - i)));
        even = vi_max(even, vi_and(a, sign_less));
    }
    vi_store(lane, vi_max(even, odd));
    for (size_t k = 0; k < VF_LANES; k++)
        greatest = lane[k] > greatest ? lane[k] : greatest;
    memcpy(&magnitude, &greatest, sizeof magnitude);
    return magnitude;
}

/* 1 / scale, or 0 if the scale is not usable. */
VF_WORD float
steps_of(float scale)
{
    return scale > 0.0f && scale <= FLT_MAX ? 1.0f / scale : 0.0f;
}

/* The steps of `x` plus limit + 1: between 1 and 2 limit + 1. */
VF_WORD vi_t
steps_random(vf_t x, vf_t per_step, float limit, vi_t noise)
{
    vf_t u = vf_mul(vf_of_int(noise), vf_set(0x1p-16f));
    vf_t zero = vf_set(limit + 1.0f), most = vf_set(2.0f * limit + 1.0f);
    vf_t steps = vf_add(vf_add(vf_mul(x, per_step), zero), u);
    return vi_of_float(vf_min(vf_max(steps, vf_set(1.0f)), most));
}

typedef struct quantize_job {
    uint8_t *to;
    const float *x;
    vf_t per_step;
} quantize_job_t;

VF_WORD void
i8_step(const void *what, size_t i, vi_t bits, size_t lanes)
{
    const quantize_job_t *job = what;
    vi_t steps =
        steps_random(vf_load_n(job->x + i, lanes), job->per_step, 127.0f, bits);
    vi_store_u8_n(job->to + i, vi_add(steps, vi_set(128)), lanes);
}

VF_WORD void
i8_pair(const void *job, size_t i, vi_t first, vi_t second)
{
    i8_step(job, i, first, VF_LANES);
    i8_step(job, i + VF_LANES, second, VF_LANES);
}

static void
f32_to_i8(int8_t *to, const float *x, size_t n, float scale,
          const skn_noise_t *noise)
{
    quantize_job_t job = { (uint8_t *)to, x, vf_set(steps_of(scale)) };
    if (steps_of(scale) > 0.0f)
        noise_each(i8_pair, i8_step, &job, noise, n);
    else
        memset(to, 0, n);
}

typedef struct steps_job {
    float *to;
    const void *from;
    vf_t scale;
} steps_job_t;

VF_WORD void
i8_to_step(const void *what, size_t i, size_t lanes)
{
    const steps_job_t *job = what;
    vi_t steps = vi_load_i8_n((const int8_t *)job->from + i, lanes);
    vf_store_n(job->to + i, vf_mul(vf_of_int(steps), job->scale), lanes);
}

static void
i8_to_f32(float *to, const int8_t *from, size_t n, float scale)
{
    steps_job_t job = { to, from, vf_set(scale) };
    vf_each(i8_to_step, &job, to, n);
}

VF_WORD void
i4_step(const void *what, size_t i, vi_t bits, size_t lanes)
{
    const quantize_job_t *job = what;
    vi_t steps =
        steps_random(vf_load_n(job->x + i, lanes), job->per_step, 7.0f, bits);
    vi_store_u4_n(job->to, i, steps, lanes);
}

VF_WORD void
i4_pair(const void *job, size_t i, vi_t first, vi_t second)
{
    i4_step(job, i, first, VF_LANES);
    i4_step(job, i + VF_LANES, second, VF_LANES);
}

static void
f32_to_i4(uint8_t *to, const float *x, size_t n, float scale,
          const skn_noise_t *noise)
{
    quantize_job_t job = { to, x, vf_set(steps_of(scale)) };
    if (steps_of(scale) > 0.0f)
        noise_each(i4_pair, i4_step, &job, noise, n);
    else
        memset(to, 0, n / 2 + n % 2);
}

static void
i4_to_f32(float *to, const uint8_t *from, size_t n, float scale)
{
    vf_t step = vf_set(scale);
    vi_t zero = vi_set((uint32_t)-8);
    size_t i = 0;
#pragma GCC unroll 4
    for (; i + VF_LANES <= n; i += VF_LANES) {
        vi_t steps = vi_add(vi_load_u4_n(from, i, VF_LANES), zero);
        vf_store(to + i, vf_mul(vf_of_int(steps), step));
    }
    if (i < n) {
        vi_t steps = vi_add(vi_load_u4_n(from, i, n - i), zero);
        vf_store_n(to + i, vf_mul(vf_of_int(steps), step), n - i);
    }
}
