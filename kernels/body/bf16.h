/* bf16.h - kernels that round floats to bf16, their upper half, and back.
 * SPDX-License-Identifier: Apache-2.0 */

/* A NaN with its payload in the lower half would become infinity: bit 22 keeps
 * it a (quiet) NaN. */
VF_WORD vi_t
bf16_or_nan(vf_t x, vi_t rounded)
{
    vi_t quiet = vi_or(vf_bits(x), vi_set(0x00400000u));
    return vi_right(vi_choose(vf_is_nan(x), quiet, rounded), 16);
}

/* The upper halves are the result, unless x is NaN. */
VF_WORD vi_t
bf16_rounded(vf_t x)
{
    vi_t odd = vi_and(vi_right(vf_bits(x), 16), vi_set(1));
    return vi_add(vf_bits(x), vi_add(odd, vi_set(0x7fffu)));
}

VF_WORD vi_t
bf16_nearest(vf_t x)
{
    return bf16_or_nan(x, bf16_rounded(x));
}

/* `noise` is uniform below 2^16: it carries with a probability equal to the
 * lower half, read as a fraction. */
VF_WORD vi_t
bf16_random(vf_t x, vi_t noise)
{
    return bf16_or_nan(x, vi_add(vf_bits(x), noise));
}

VF_WORD vf_t
bf16_load_n(const uint16_t *x, size_t n)
{
    return vf_of_bits(vi_left(vi_load_u16_n(x, n), 16));
}

VF_WORD void
bf16_store_two(uint16_t *to, vf_t a, vf_t b)
{
    vi_store_upper(to, bf16_rounded(a), bf16_rounded(b));
    if (vf_any_nan(a, b)) { /* hardly ever */
        vi_store_u16_n(to, bf16_nearest(a), VF_LANES);
        vi_store_u16_n(to + VF_LANES, bf16_nearest(b), VF_LANES);
    }
}

static void
f32_to_bf16(uint16_t *to, const float *from, size_t n)
{
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES)
        bf16_store_two(to + i, vf_load(from + i), vf_load(from + i + VF_LANES));
    for (; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vi_store_u16_n(to + i, bf16_nearest(vf_load_n(from + i, lanes)), lanes);
    }
}

typedef struct wide_job {
    float *to;
    const uint16_t *from;
} wide_job_t;

VF_WORD void
wide_step(const void *what, size_t i, size_t lanes)
{
    const wide_job_t *job = what;
    vf_store_n(job->to + i, bf16_load_n(job->from + i, lanes), lanes);
}

static void
bf16_to_f32(float *to, const uint16_t *from, size_t n)
{
    wide_job_t job = { to, from };
    vf_each(wide_step, &job, to, n);
}
