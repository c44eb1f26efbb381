/* random.h - kernels that use random bits: dropout, and rounding to bf16.
 *
 * The bits are those of noise.h.
 * SPDX-License-Identifier: Apache-2.0 */

typedef struct dropout_job {
    float *x;
    vi_t limit;
    vf_t factor;
} dropout_job_t;

VF_WORD void
dropout_step(const void *what, size_t i, vi_t bits, size_t lanes)
{
    const dropout_job_t *job = what;
    vf_t scaled = vf_mul(vf_load_n(job->x + i, lanes), job->factor);
    vf_store_n(job->x + i, vf_keep(vi_below(bits, job->limit), scaled), lanes);
}

VF_WORD void
dropout_pair(const void *job, size_t i, vi_t first, vi_t second)
{
    dropout_step(job, i, first, VF_LANES);
    dropout_step(job, i + VF_LANES, second, VF_LANES);
}

static void
dropout(float *x, size_t n, float keep, const skn_noise_t *noise)
{
    float kept_f = keep * 65536.0f + 0.5f;
    uint32_t kept = kept_f < 1.0f       ? 1
                    : kept_f > 65536.0f ? 65536
                                        : (uint32_t)kept_f;
    dropout_job_t job = { x, vi_set(kept), vf_set(65536.0f / (float)kept) };
    noise_each(dropout_pair, dropout_step, &job, noise, n);
}

typedef struct bf16_job {
    uint16_t *to;
    const float *from;
    vf_t rate, weight_decay;
} bf16_job_t;

/* Rounds two vectors by truncation, which turns some NaN into infinity: these
 * are then stored again. With one lane the check would cost more. */
VF_WORD void
bf16_random_store(uint16_t *to, vf_t a, vf_t b, vi_t first, vi_t second)
{
    if (VF_LANES > 1)
        vi_store_upper(to, vi_add(vf_bits(a), first),
                       vi_add(vf_bits(b), second));
    if (VF_LANES == 1 || vf_any_nan(a, b)) { /* rare */
        vi_store_u16_n(to, bf16_random(a, first), VF_LANES);
        vi_store_u16_n(to + VF_LANES, bf16_random(b, second), VF_LANES);
    }
}

VF_WORD void
bf16_random_step(const void *what, size_t i, vi_t bits, size_t lanes)
{
    const bf16_job_t *job = what;
    vi_t rounded = bf16_random(vf_load_n(job->from + i, lanes), bits);
    vi_store_u16_n(job->to + i, rounded, lanes);
}

VF_WORD void
bf16_random_pair(const void *what, size_t i, vi_t first, vi_t second)
{
    const bf16_job_t *job = what;
    vf_t a = vf_load(job->from + i), b = vf_load(job->from + i + VF_LANES);
    bf16_random_store(job->to + i, a, b, first, second);
}

static void
f32_to_bf16_random(uint16_t *to, const float *from, size_t n,
                   const skn_noise_t *noise)
{
    bf16_job_t job = { .to = to, .from = from };
    noise_each(bf16_random_pair, bf16_random_step, &job, noise, n);
}

/* The new weights of the elements from i on, before rounding. */
VF_WORD vf_t
sgd_bf16(const bf16_job_t *job, size_t i, size_t lanes)
{
    vf_t old = bf16_load_n(job->to + i, lanes);
    vf_t slope =
        vf_add(vf_load_n(job->from + i, lanes), vf_mul(job->weight_decay, old));
    return vf_sub(old, vf_mul(job->rate, slope));
}

VF_WORD void
sgd_bf16_step(const void *what, size_t i, vi_t bits, size_t lanes)
{
    const bf16_job_t *job = what;
    vi_t new = bf16_random(sgd_bf16(job, i, lanes), bits);
    vi_store_u16_n(job->to + i, new, lanes);
}

VF_WORD void
sgd_bf16_pair(const void *what, size_t i, vi_t first, vi_t second)
{
    const bf16_job_t *job = what;
    vf_t a = sgd_bf16(job, i, VF_LANES);
    vf_t b = sgd_bf16(job, i + VF_LANES, VF_LANES);
    bf16_random_store(job->to + i, a, b, first, second);
}

static void
sgd_row_bf16(uint16_t *w, const float *g, size_t n, float rate,
             float weight_decay, const skn_noise_t *noise)
{
    bf16_job_t job = { w, g, vf_set(rate), vf_set(weight_decay) };
    noise_each(sgd_bf16_pair, sgd_bf16_step, &job, noise, n);
}
